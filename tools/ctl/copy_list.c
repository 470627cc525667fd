/* The names to copy: one list of all sources. */
#include "tools/ctl/copy_inside.h"

#include "providers/base/cleanup.h"
#include "providers/base/path.h"

#include <string.h>
#include <sys/stat.h>

/* A tree must not choose our memory use; this many entries take a few GB. */
#define ENTRIES_MAX ((uint64_t)10 * 1000 * 1000)
#define ROOM_FIRST  256

struct listing {
	struct copying *copying;
	const struct copy_source *sources;
};

/* ---- Entries ---- */

static bool make_room(struct copy_list *l)
{
	size_t room = l->room ? 2 * l->room : ROOM_FIRST;

	if (l->count < l->room)
		return true;
	struct copy_entry *entries = realloc(l->entries, room * sizeof *entries);

	if (!entries)
		return false;
	l->entries = entries;
	l->room = room;
	return true;
}

/* Takes both paths, NULL where there was no memory for one. */
static enum err add_entry(
	struct copying *c, char *path, char *target, const struct list_item *item, struct error *e)
{
	struct copy_list *l = &c->list;
	struct copy_entry entry = {
		.path = path, .target = target, .link = item->link ? strdup(item->link) : NULL
	};

	if (!path || !target || (item->link && !entry.link) || !make_room(l)) {
		free(path);
		free(target);
		free(entry.link);
		return copy_no_memory(e);
	}
	entry.attr = item->attr;
	l->entries[l->count++] = entry;
	if (S_ISREG(item->attr.mode))
		l->bytes += item->attr.size;
	return ERR_OK;
}

void copy_list_release(struct copy_list *l)
{
	for (size_t n = 0; n < l->count; n++) {
		free(l->entries[n].path);
		free(l->entries[n].target);
		free(l->entries[n].link);
		free(l->entries[n].staged);
	}
	free(l->entries);
}

/* The directory that receives everything, and those above it. */
static enum err add_base(struct copying *c, const char *base, struct error *e)
{
	const struct list_item item = { .attr.mode = S_IFDIR | (0755 & ~c->copy->base_mask) };
	enum err kind = ERR_OK;

	for (size_t len = 0; kind == ERR_OK && base[len];) {
		len += strcspn(base + len + 1, "/") + 1;
		kind = add_entry(c, strndup(base, len), strndup(base, len), &item, e);
		if (kind == ERR_OK)
			c->list.entries[c->list.count - 1].is_above =
				c->list.entries[c->list.count - 1].is_listed = true;
	}
	return kind;
}

/* ---- Items of the list ---- */

static enum err take_self(struct listing *g, const struct list_item *item, struct error *e)
{
	const struct copy_source *source = &g->sources[item->start];
	struct copy_entry missing = { .path = (char *)source->path };

	if (item->err == ERR_OK)
		return add_entry(g->copying, strdup(source->path), strdup(source->target), item, e);
	copy_fail(g->copying, &missing, item->err, error_words(item->err));
	return ERR_OK;
}

static bool is_awaited(const struct copy_entry *entry, const char *path)
{
	return S_ISDIR(entry->attr.mode) && !entry->is_listed && !strcmp(entry->path, path);
}

/* Directories come in the order in which they were named: the next is not far behind the last. */
static enum err take_dir(struct copying *c, const char *path, struct error *e)
{
	struct copy_list *l = &c->list;

	for (size_t n = 0; n < l->count; n++) {
		size_t index = (l->dir + n) % l->count;

		if (!is_awaited(&l->entries[index], path))
			continue;
		l->dir = index;
		l->entries[index].is_listed = true;
		return copy_check(c, e);
	}
	return error_set(e, ERR_PROTOCOL, "a directory that nobody named is listed");
}

static enum err take_entry(struct copying *c, const struct list_item *item, struct error *e)
{
	struct copy_list *l = &c->list;
	const struct copy_entry *dir = &l->entries[l->dir];
	enum err kind = add_entry(
		c, path_join(dir->path, item->name), path_join(dir->target, item->name), item, e);

	if (kind == ERR_OK)
		l->entries[l->count - 1].parent = l->dir + 1;
	return kind;
}

static enum err take_item(void *context, const struct list_item *item, struct error *e)
{
	struct listing *g = context;
	struct copying *c = g->copying;

	switch (item->kind) {
	case LIST_SELF: return take_self(g, item, e);
	case LIST_DIR: return take_dir(c, item->path, e);
	case LIST_ENTRY: return take_entry(c, item, e);
	case LIST_DIR_END:
		if (item->err)
			copy_fail(c, &c->list.entries[c->list.dir], item->err,
				error_words(item->err));
		return ERR_OK;
	case LIST_END: break;
	}
	return ERR_OK;
}

/* A directory that was not listed was beyond the limit of the listing side. */
static void complain_of_unlisted(struct copying *c)
{
	for (size_t n = 0; n < c->list.count; n++) {
		struct copy_entry *entry = &c->list.entries[n];

		if (S_ISDIR(entry->attr.mode) && !entry->is_listed)
			copy_fail(c, entry, ERR_IO, "could not be listed; copy it alone");
	}
}

enum err copy_list(
	struct copying *c, const struct copy_source *sources, size_t count, struct error *e)
{
	AUTO_FREE const char **starts = calloc(count ? count : 1, sizeof *starts);
	struct listing g = { .copying = c, .sources = sources };
	enum err kind;

	if (!starts)
		return copy_no_memory(e);
	for (size_t n = 0; n < count; n++)
		starts[n] = sources[n].path;
	kind = add_base(c, c->copy->base, e);
	if (kind != ERR_OK)
		return kind;
	kind = provider_list(c->copy->from, c->call,
		&(struct list_request){ .starts = starts,
			.starts_count = count,
			.depth = LIST_DEPTH_ALL,
			.flags = LIST_CROSS_DEVICES,
			.entries_max = ENTRIES_MAX },
		take_item, &g, e);
	if (kind == ERR_OK)
		complain_of_unlisted(c);
	return kind;
}
