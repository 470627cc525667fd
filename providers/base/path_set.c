#include "providers/base/path_set.h"

#include <stdlib.h>
#include <string.h>

void path_set_release(struct path_set *s)
{
	for (size_t n = 0; n < s->count; n++)
		free(s->all[n]);
	free(s->all);
	*s = (struct path_set){ 0 };
}

/* The index of the first path that `path` is not after: where `path` is, or belongs. */
static size_t position(const struct path_set *s, const char *path)
{
	size_t low = 0, high = s->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(s->all[middle], path) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_at(const struct path_set *s, size_t at, const char *path)
{
	return at < s->count && !strcmp(s->all[at], path);
}

bool path_set_has(const struct path_set *s, const char *path)
{
	return is_at(s, position(s, path), path);
}

static bool make_room(struct path_set *s)
{
	size_t room = s->room ? s->room * 2 : 16;
	char **grown;

	if (s->count < s->room)
		return true;
	grown = reallocarray(s->all, room, sizeof *grown);
	if (!grown)
		return false;
	s->all = grown;
	s->room = room;
	return true;
}

bool path_set_put(struct path_set *s, const char *path)
{
	size_t at = position(s, path);

	if (is_at(s, at, path))
		return true;
	char *copy = make_room(s) ? strdup(path) : NULL;

	if (!copy)
		return false;
	memmove(&s->all[at + 1], &s->all[at], (s->count - at) * sizeof *s->all);
	s->all[at] = copy;
	s->count++;
	return true;
}

static char *take_at(struct path_set *s, size_t at)
{
	char *path = s->all[at];

	s->count--;
	memmove(&s->all[at], &s->all[at + 1], (s->count - at) * sizeof *s->all);
	return path;
}

char *path_set_take(struct path_set *s, const char *path)
{
	size_t at = position(s, path);

	return is_at(s, at, path) ? take_at(s, at) : NULL;
}

/* The index of the first path that begins with `path` and a slash: all of them stand together. */
static size_t first_below(const struct path_set *s, const char *path)
{
	size_t low = 0, high = s->count, len = strlen(path);

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const char *other = s->all[middle];
		int order = strncmp(other, path, len);

		if (order < 0 || (!order && (unsigned char)other[len] < '/'))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

char *path_set_take_below(struct path_set *s, const char *path)
{
	size_t at = path ? first_below(s, path) : 0, len = path ? strlen(path) : 0;

	if (at >= s->count || (path && (strncmp(s->all[at], path, len) || s->all[at][len] != '/')))
		return NULL;
	return take_at(s, at);
}
