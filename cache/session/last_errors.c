#include "cache/session/last_errors.h"

#include <stdio.h>
#include <string.h>

/* `back`: 1 is the newest. */
static const struct cache_error *before(const struct last_errors *l, size_t back)
{
	return &l->ring[(l->count - back) % CACHE_ERRORS_KEPT];
}

bool last_errors_add(struct last_errors *l, const char *path, const struct error *e, int64_t now_ms)
{
	bool is_said = e->kind == ERR_GONE && l->count && !strcmp(before(l, 1)->text, e->text);
	struct cache_error *new = &l->ring[l->count++ % CACHE_ERRORS_KEPT];

	snprintf(new->path, sizeof new->path, "%.*s", (int)sizeof new->path - 1, path);
	memcpy(new->text, e->text, sizeof new->text);
	new->age_ms = now_ms;
	return !is_said;
}

size_t last_errors_get(
	const struct last_errors *l, int64_t now_ms, struct cache_error out[CACHE_ERRORS_KEPT])
{
	size_t count = l->count < CACHE_ERRORS_KEPT ? (size_t)l->count : CACHE_ERRORS_KEPT;

	for (size_t i = 0; i < count; i++) {
		out[i] = *before(l, i + 1);
		out[i].age_ms = now_ms - out[i].age_ms;
	}
	return count;
}
