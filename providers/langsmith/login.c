/* The file of the vendor's own program and SDK (npm langsmith 0.12.0, lib/utils/profiles.js). */
#include "providers/langsmith/account.h"

#include "providers/rest/login.h"
#include "providers/variables.h"

#include <string.h>

static char *find_path(void)
{
	const char *path = variable("LANGSMITH_CONFIG_FILE");

	if (path && !strncmp(path, "~/", 2))
		return login_home_path(path + 2);
	return path ? strdup(path) : login_home_path(".langsmith/config.json");
}

static struct json_object *active_profile(struct json_object *file)
{
	const char *chosen = variable("LANGSMITH_PROFILE");

	return rest_member(rest_member(file, "profiles"),
		chosen ? chosen : rest_text(file, "current_profile", "default"));
}

/* The vendor's program renews tokens, since the new token has to be written to the file. */
static enum err take_token(struct login *out, struct json_object *oauth, struct error *e)
{
	enum err kind = login_take(&out->key, oauth, "access_token", e);

	if (kind || !out->key)
		return kind;
	out->is_token = true;
	return login_check_time(rest_text(oauth, "expires_at", ""), e);
}

static enum err take_key(struct login *out, struct json_object *profile, struct error *e)
{
	enum err kind = login_take(&out->key, profile, "api_key", e);

	if (kind || out->key)
		return kind;
	return *rest_text(profile, "api_key_env", "") || *rest_text(profile, "api_key_cmd", "")
		? error_set(e, ERR_INVALID,
			  "its profile keeps the key elsewhere (api_key_env, api_key_cmd); set "
			  "LANGSMITH_API_KEY")
		: ERR_OK;
}

/* A token takes precedence over a key. */
static enum err read_login(struct login *out, const char *text, size_t len, struct error *e)
{
	AUTO_JSON struct json_object *file = NULL;
	struct json_object *profile;
	enum err kind = login_json(&file, text, len, e);

	if (kind)
		return kind;
	profile = active_profile(file);
	kind = take_token(out, rest_member(profile, "oauth"), e);
	if (!kind && !out->key)
		kind = take_key(out, profile, e);
	if (!kind)
		kind = login_take(&out->tenant, profile, "workspace_id", e);
	return kind ? kind : login_take(&out->url, profile, "api_url", e);
}

const struct login_format langsmith_login = {
	.path = find_path,
	.read = read_login,
	.command = "langsmith auth login",
	.tenant_header = "X-Tenant-Id",
};
