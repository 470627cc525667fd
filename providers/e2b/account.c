#include "providers/e2b/account.h"

#include "providers/key.h"
#include "providers/more_headers.h"
#include "providers/plain_http.h"

void account_close(struct account *a)
{
	plane_free(a->plane);
	if (a->http)
		http_free(a->http);
	e2b_settings_release(&a->settings);
	*a = (struct account){ 0 };
}

static enum err open_plane(struct account *a, const struct provider_config *cfg, struct error *e)
{
	AUTO_MORE_HEADERS struct more_headers more = { 0 };
	AUTO_LOGIN struct login login = { 0 };
	struct error why = { 0 };
	enum err kind = key_find(&login, cfg->key_file, "e2b", VARIABLE_KEY, &e2b_login, e);

	if (kind)
		return kind;
	kind = login_check_url(&login, e2b_own_url(&a->settings), a->settings.api_url, &why);
	if (kind)
		return error_set(e, kind, "e2b: %s", why.text);
	kind = plain_http_allow(a->http, a->settings.api_url, false, e);
	if (!kind)
		kind = more_headers_read(&more, "E2B_API_HEADERS", e);
	if (kind)
		return kind;
	const struct plane_options options = { .base_url = a->settings.api_url,
		.key = login.key,
		.more = more.headers,
		.more_count = more.count };

	return plane_new(&a->plane, a->http, &options, e);
}

enum err account_open(struct account *a, const struct provider_config *cfg, struct error *e)
{
	struct account opened = { 0 };
	enum err kind = e2b_settings_read(&opened.settings, e);

	if (kind)
		return kind;
	/* The vendor's edge would write errors in HTML for a name like a browser's. */
	kind = http_new(&opened.http, "sandboxfs/" SANDBOXFS_VERSION, e);
	if (!kind && opened.settings.sandbox_url)
		kind = plain_http_allow(opened.http, opened.settings.sandbox_url, false, e);
	if (!kind && !opened.settings.is_debug)
		kind = open_plane(&opened, cfg, e);
	if (kind) {
		account_close(&opened);
		return kind;
	}
	*a = opened;
	return ERR_OK;
}
