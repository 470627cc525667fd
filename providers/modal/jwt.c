#include "providers/modal/jwt.h"

#include "providers/base/base64.h"
#include "providers/base/buf.h"

#include <json-c/json.h>
#include <string.h>

#define JWT_MAX 8192

int64_t jwt_expires_s(const char *jwt)
{
	const char *body = strchr(jwt, '.');
	AUTO_BUF struct buf text = BUF_INIT(JWT_MAX), bytes = BUF_INIT(JWT_MAX);
	struct json_object *claims = NULL, *exp = NULL;
	int64_t expires_s = 0;

	for (size_t i = 1; body && body[i] && body[i] != '.'; i++)
		buf_add_byte(&text,
			body[i] == '-'           ? '+'
				: body[i] == '_' ? '/'
						 : (unsigned char)body[i]);
	while (!text.failed && text.len % 4)
		buf_add_byte(&text, '=');
	if (!text.failed && text.len &&
		base64_decode(&bytes, (const char *)text.bytes, text.len, NULL) == ERR_OK)
		claims = json_tokener_parse(buf_text(&bytes));
	if (json_object_object_get_ex(claims, "exp", &exp))
		expires_s = json_object_get_int64(exp);
	json_object_put(claims);
	return expires_s;
}
