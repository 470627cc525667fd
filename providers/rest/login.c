#include "providers/rest/login.h"

#include "providers/base/cleanup.h"
#include "providers/key.h"

#include <string.h>
#include <time.h>

enum err login_json(struct json_object **out, const char *text, size_t len, struct error *e)
{
	AUTO_BUF struct buf body = BUF_INIT(LOGIN_FILE_MAX);

	buf_add(&body, text, len);
	*out = NULL;
	if (!body.failed && rest_parse(&body, out) && json_object_is_type(*out, json_type_object))
		return ERR_OK;
	rest_put(out);
	return body.failed ? error_set(e, ERR_NO_MEMORY, "a login")
			   : error_set(e, ERR_INVALID, "it is no JSON object");
}

enum err login_take(char **out, struct json_object *o, const char *name, struct error *e)
{
	const char *text = rest_text(o, name, "");

	if (!*text)
		return ERR_OK;
	key_free(*out);
	*out = strdup(text);
	return *out ? ERR_OK : error_set(e, ERR_NO_MEMORY, "a login");
}

enum err login_check_time(const char *time_text, struct error *e)
{
	return rest_seconds_until(time_text, time(NULL)) == 0
		? error_set(e, ERR_AUTH, "the login there has run out")
		: ERR_OK;
}
