#include "providers/e2b/account.h"

#include "providers/key.h"

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
	struct plane_options options = { .base_url = a->settings.api_url };
	char *key;
	enum err kind = key_read(&key, cfg->key_file, "e2b", VARIABLE_KEY, e);

	if (kind)
		return kind;
	options.key = key;
	kind = plane_new(&a->plane, a->http, &options, e);
	key_free(key);
	return kind;
}

enum err account_open(struct account *a, const struct provider_config *cfg, struct error *e)
{
	struct account opened = { 0 };
	enum err kind = e2b_settings_read(&opened.settings, e);

	if (kind)
		return kind;
	/* Not like a browser's, for which the vendor's edge would write its errors in HTML. */
	kind = http_new(&opened.http, "sandboxfs/" SANDBOXFS_VERSION, e);
	if (!kind && !opened.settings.is_debug)
		kind = open_plane(&opened, cfg, e);
	if (kind) {
		account_close(&opened);
		return kind;
	}
	*a = opened;
	return ERR_OK;
}
