#include "providers/e2b/account.h"

#include "providers/plain_http.h"

void account_close(struct account *a)
{
	if (a->http && !a->plane)
		http_free(a->http);
	plane_free(a->plane);
	e2b_settings_release(&a->settings);
	*a = (struct account){ 0 };
}

static enum err open_plane(struct account *a, const struct provider_config *cfg, struct error *e)
{
	enum err kind = plane_new(&a->plane, &a->settings, cfg, e);

	if (!kind)
		a->http = plane_http(a->plane);
	return kind;
}

enum err account_open(struct account *a, const struct provider_config *cfg, struct error *e)
{
	struct account opened = { 0 };
	enum err kind = e2b_settings_read(&opened.settings, e);

	if (kind)
		return kind;
	kind = opened.settings.is_debug ? http_new(&opened.http, "sandboxfs/" SANDBOXFS_VERSION, e)
					: open_plane(&opened, cfg, e);
	if (!kind && opened.settings.sandbox_url)
		kind = plain_http_allow(opened.http, opened.settings.sandbox_url, false, e);
	if (kind)
		account_close(&opened);
	else
		*a = opened;
	return kind;
}
