#include "providers/key.h"
#include "providers/runloop/devbox_api.h"

#include <string.h>

/* Of RUNLOOP_CUSTOM_HEADERS. */
#define CUSTOM_MAX 31

/* Adds the headers of "Name: value" lines, which `text` is cut into. */
static enum err add_custom(
	struct http_header headers[CUSTOM_MAX], size_t *count, char *text, struct error *e)
{
	char *rest = NULL;

	for (char *line = strtok_r(text, "\r\n", &rest); line;
		line = strtok_r(NULL, "\r\n", &rest)) {
		char *colon = strchr(line, ':');

		if (!colon || colon == line || *count == CUSTOM_MAX)
			return error_set(e, ERR_INVALID,
				"RUNLOOP_CUSTOM_HEADERS wants at most %d lines of NAME: VALUE",
				CUSTOM_MAX);
		*colon++ = 0;
		colon += strspn(colon, " \t");
		headers[(*count)++] =
			(struct http_header){ .name = line, .value = colon, .is_secret = true };
	}
	return ERR_OK;
}

enum err devbox_api_open(
	struct rest_account *out, const struct provider_config *cfg, struct error *e)
{
	const char *given = variable("RUNLOOP_CUSTOM_HEADERS");
	char *custom = given ? strdup(given) : NULL;
	struct http_header more[CUSTOM_MAX];
	struct rest_account_facts facts = { .vendor = "runloop",
		.header = "Authorization",
		.scheme = "Bearer ",
		.more = more,
		.judge = devbox_judge,
		.frame = &devbox_frame };
	enum err kind = given && !custom ? error_set(e, ERR_NO_MEMORY, "runloop") : ERR_OK;

	if (custom)
		kind = add_custom(more, &facts.more_count, custom, e);
	if (!kind)
		kind = rest_account_open(out, &facts, cfg, e);
	key_free(custom);
	return kind;
}
