/* The file of the vendor's own program (@e2b/cli 2.x, src/user.ts). */
#include "providers/e2b/account.h"

#include "providers/rest/login.h"

static char *find_path(void)
{
	return login_home_path(".e2b/config.json");
}

/* The file's second version has projects in place of teams; the key is the same. */
static enum err read_login(struct login *out, const char *text, size_t len, struct error *e)
{
	AUTO_JSON struct json_object *file = NULL;
	enum err kind = login_json(&file, text, len, e);

	if (!kind)
		kind = login_take(&out->key, file, "teamApiKey", e);
	if (!kind)
		kind = login_take(&out->key, file, "projectApiKey", e);
	return kind;
}

const struct login_format e2b_login = {
	.path = find_path,
	.read = read_login,
	.command = "e2b auth login",
};
