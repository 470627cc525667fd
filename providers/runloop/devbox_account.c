#include "providers/base/cleanup.h"
#include "providers/key.h"
#include "providers/provider.h"
#include "providers/runloop/devbox_api.h"

#include <stdio.h>
#include <string.h>

/* The key's, and those of RUNLOOP_CUSTOM_HEADERS. */
#define HEADERS_MAX 32

/* Adds the headers of "Name: value" lines, which `text` is cut into. */
static enum err add_custom(
	struct http_header headers[HEADERS_MAX], size_t *count, char *text, struct error *e)
{
	char *rest = NULL;

	for (char *line = strtok_r(text, "\r\n", &rest); line;
		line = strtok_r(NULL, "\r\n", &rest)) {
		char *colon = strchr(line, ':');

		if (!colon || colon == line || *count == HEADERS_MAX)
			return error_set(e, ERR_INVALID,
				"RUNLOOP_CUSTOM_HEADERS wants at most %d lines of NAME: VALUE",
				HEADERS_MAX - 1);
		*colon++ = 0;
		colon += strspn(colon, " \t");
		headers[(*count)++] =
			(struct http_header){ .name = line, .value = colon, .is_secret = true };
	}
	return ERR_OK;
}

static enum err init_rest(
	struct devbox_api *a, const char *authorization, char *custom, struct error *e)
{
	struct http_header headers[HEADERS_MAX] = {
		{ .name = "Authorization", .value = authorization, .is_secret = true },
	};
	size_t count = 1;
	enum err kind = custom ? add_custom(headers, &count, custom, e) : ERR_OK;

	if (kind)
		return kind;
	return rest_init(&a->rest, a->http, "runloop", variable_first("runloop", VARIABLE_URL),
		headers, count, devbox_judge, e);
}

static enum err open_with_key(struct devbox_api *a, const char *key, struct error *e)
{
	const char *given = variable("RUNLOOP_CUSTOM_HEADERS");
	char *custom = given ? strdup(given) : NULL, *authorization = NULL;
	enum err kind;

	if ((given && !custom) || asprintf(&authorization, "Bearer %s", key) < 0)
		authorization = NULL;
	kind = authorization ? init_rest(a, authorization, custom, e)
			     : error_set(e, ERR_NO_MEMORY, "runloop");
	key_free(authorization);
	key_free(custom);
	return kind;
}

enum err devbox_api_open(struct devbox_api *out, const struct provider_config *cfg, struct error *e)
{
	struct devbox_api a = { 0 };
	char *key;
	enum err kind = key_read(&key, cfg->key_file, "runloop", VARIABLE_KEY, e);

	if (kind)
		return kind;
	kind = http_new(&a.http, "sandboxfs/" SANDBOXFS_VERSION, e);
	if (!kind)
		kind = open_with_key(&a, key, e);
	key_free(key);
	if (kind)
		devbox_api_close(&a);
	else
		*out = a;
	return kind;
}

void devbox_api_close(struct devbox_api *a)
{
	rest_release(&a->rest);
	if (a->http)
		http_free(a->http);
	*a = (struct devbox_api){ 0 };
}
