#include "providers/helper/watch_table.h"

#include <stdlib.h>
#include <string.h>

void watch_table_release(struct watch_table *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->all[i].path);
	free(t->all);
	*t = (struct watch_table){ 0 };
}

/* The index of `wd`, or of its place. */
static size_t position(const struct watch_table *t, int wd)
{
	size_t low = 0, high = t->count;

	if (t->count && t->all[t->count - 1].wd < wd)
		return t->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->all[middle].wd < wd)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_at(const struct watch_table *t, size_t at, int wd)
{
	return at < t->count && t->all[at].wd == wd;
}

static bool make_room(struct watch_table *t)
{
	size_t room = t->room ? t->room * 2 : 64;
	struct watched *grown;

	if (t->count < t->room)
		return true;
	grown = realloc(t->all, room * sizeof *grown);
	if (!grown)
		return false;
	t->all = grown;
	t->room = room;
	return true;
}

/*
 * The numbers wrap around after two thousand million watches; only then is a new entry not the
 * last.
 */
static void insert(struct watch_table *t, size_t at, int wd, char *path)
{
	memmove(&t->all[at + 1], &t->all[at], (t->count - at) * sizeof *t->all);
	t->all[at] = (struct watched){ .wd = wd, .path = path };
	t->count++;
}

bool watch_table_put(struct watch_table *t, int wd, char *path)
{
	size_t at = position(t, wd);

	if (is_at(t, at, wd)) {
		t->holes -= !t->all[at].path;
		free(t->all[at].path);
		t->all[at].path = path;
		return true;
	}
	if (!make_room(t)) {
		free(path);
		return false;
	}
	insert(t, at, wd, path);
	return true;
}

const char *watch_table_path(const struct watch_table *t, int wd)
{
	size_t at = position(t, wd);

	return is_at(t, at, wd) ? t->all[at].path : NULL;
}

static void close_holes(struct watch_table *t)
{
	size_t kept = 0;

	if (t->holes <= t->count / 2)
		return;
	for (size_t i = 0; i < t->count; i++)
		if (t->all[i].path)
			t->all[kept++] = t->all[i];
	t->count = kept;
	t->holes = 0;
}

static void make_hole(struct watch_table *t, struct watched *entry)
{
	free(entry->path);
	entry->path = NULL;
	t->holes++;
}

void watch_table_remove(struct watch_table *t, int wd)
{
	size_t at = position(t, wd);

	if (!is_at(t, at, wd) || !t->all[at].path)
		return;
	make_hole(t, &t->all[at]);
	close_holes(t);
}

static bool is_below(const char *path, const char *top, size_t top_len)
{
	return !strncmp(path, top, top_len) && (!path[top_len] || path[top_len] == '/');
}

void watch_table_remove_below(struct watch_table *t, const char *path,
	void (*forget)(void *context, int wd), void *context)
{
	size_t len = strlen(path);

	for (size_t i = 0; i < t->count; i++) {
		struct watched *entry = &t->all[i];

		if (!entry->path || !is_below(entry->path, path, len))
			continue;
		forget(context, entry->wd);
		make_hole(t, entry);
	}
	close_holes(t);
}
