/* The file of the vendor's own program (daytonaio/daytona, apps/cli/config/config.go). */
#include "providers/daytona/account.h"

#include "providers/base/cleanup.h"
#include "providers/home.h"
#include "providers/rest/login.h"
#include "providers/variables.h"

#include <stdio.h>
#include <string.h>

static char *find_path(void)
{
	const char *given = variable("DAYTONA_CONFIG_DIR");
	AUTO_FREE char *config = config_dir();
	char *path;

	if (!given && !config)
		return NULL;
	return asprintf(&path, "%s%s/config.json", given ? given : config,
		       given ? "" : "/daytona") < 0
		? NULL
		: path;
}

/* NULL: nobody is logged in. */
static struct json_object *active_profile(struct json_object *file)
{
	struct json_object *profiles = rest_member(file, "profiles"), *profile;
	const char *active = rest_text(file, "activeProfile", "");

	for (size_t i = 0; (profile = rest_item(profiles, i)); i++)
		if (!strcmp(rest_text(profile, "id", ""), active))
			return profile;
	return NULL;
}

/* A token is used where the profile has no key. A key belongs to its organization by itself. */
static enum err take_token(
	struct login *out, struct json_object *profile, struct json_object *token, struct error *e)
{
	enum err kind = login_take(&out->key, token, "accessToken", e);

	if (kind || !out->key)
		return kind;
	out->is_token = true;
	kind = login_check_time(rest_text(token, "expiresAt", ""), e);
	return kind ? kind : login_take(&out->tenant, profile, "activeOrganizationId", e);
}

static enum err read_login(struct login *out, const char *text, size_t len, struct error *e)
{
	AUTO_JSON struct json_object *file = NULL;
	struct json_object *profile, *api;
	enum err kind = login_json(&file, text, len, e);

	if (kind)
		return kind;
	profile = active_profile(file);
	api = rest_member(profile, "api");
	kind = login_take(&out->key, api, "key", e);
	if (!kind && !out->key)
		kind = take_token(out, profile, rest_member(api, "token"), e);
	return kind ? kind : login_take(&out->url, api, "url", e);
}

const struct login_format daytona_login = {
	.path = find_path,
	.read = read_login,
	.command = "daytona login",
	.tenant_header = "X-Daytona-Organization-ID",
};
