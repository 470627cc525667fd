#include "providers/answer_check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

/* A kernel's clock ends in 2232; nanoseconds since 1970 end in 2262. */
#define CLOCK_MAX_S ((int64_t)8277292036)
/* No file system has larger blocks than huge pages; some programs divide by the size. */
#define BLOCK_SIZE_MAX ((uint64_t)1 << 30)
#define NAMES_FIRST    ((size_t)64)

static enum err is_lie(const char *what, struct error *e)
{
	return error_set(e, ERR_PROTOCOL, "the sandbox answers with %s", what);
}

/* ---- Attributes ---- */

static bool is_clock(struct timespec t)
{
	return t.tv_sec >= -CLOCK_MAX_S && t.tv_sec <= CLOCK_MAX_S;
}

enum err check_attr(const struct attr *a, struct error *e)
{
	if (!a->ino)
		return is_lie("an inode of number 0", e);
	if (a->size > INT64_MAX || a->blocks > INT64_MAX)
		return is_lie("a size beyond all files", e);
	if (!is_clock(a->ctime))
		return is_lie("a time of change beyond all clocks", e);
	return ERR_OK;
}

static enum err check_directory(const struct attr *a, struct error *e)
{
	return S_ISDIR(a->mode) ? check_attr(a, e) : is_lie("a directory that is none", e);
}

static enum err check_space(const struct space *s, struct error *e)
{
	if (!s->block_size || s->block_size > BLOCK_SIZE_MAX)
		return is_lie("a file system without a size of blocks", e);
	return ERR_OK;
}

enum err check_root_facts(const struct root_facts *facts, struct error *e)
{
	enum err kind = check_directory(&facts->attr, e);

	if (!kind)
		kind = check_space(&facts->space, e);
	return kind || is_clock(facts->now) ? kind : is_lie("a time beyond all clocks", e);
}

/* ---- list ---- */

/* Doubles the room of the table of names; false: there is no memory, and the table is as before. */
static bool names_grow(struct list_check *c)
{
	size_t room = c->names_room ? c->names_room * 2 : NAMES_FIRST;
	uint64_t *grown = calloc(room, sizeof *grown);

	if (!grown)
		return false;
	for (size_t n = 0; n < c->names_room; n++) {
		size_t at = c->names[n] & (room - 1);

		while (c->names[n] && grown[at])
			at = (at + 1) & (room - 1);
		if (c->names[n])
			grown[at] = c->names[n];
	}
	free(c->names);
	c->names = grown;
	c->names_room = room;
	return true;
}

static enum err note_name(struct list_check *c, const char *name, struct error *e)
{
	uint64_t hash = XXH3_64bits_withSeed(name, strlen(name), (uintptr_t)c) | 1;

	if (++c->entries > LIST_ENTRIES_MAX)
		return error_set(
			e, ERR_TOO_LARGE, "a directory of more than %d entries", LIST_ENTRIES_MAX);
	if (c->names_count * 2 >= c->names_room && !names_grow(c))
		return error_set(e, ERR_NO_MEMORY, "the names of a directory");
	size_t at = hash & (c->names_room - 1);

	while (c->names[at] && c->names[at] != hash)
		at = (at + 1) & (c->names_room - 1);
	c->is_repeated |= c->names[at] == hash;
	c->names_count += !c->names[at];
	c->names[at] = hash;
	return ERR_OK;
}

static void begin_dir(struct list_check *c)
{
	c->is_repeated = false;
	c->entries = c->names_count = 0;
	/* A table that a large directory left is not emptied for each small one. */
	if (c->names_room > NAMES_FIRST * 16)
		list_check_release(c);
	if (c->names)
		memset(c->names, 0, c->names_room * sizeof *c->names);
}

void list_check_release(struct list_check *c)
{
	free(c->names);
	c->names = NULL;
	c->names_room = 0;
}

/* Whether the directory is one of those that were asked for. */
static bool is_asked_for(const struct list_check *c, const struct list_item *item)
{
	const char *start = c->request->starts[item->start];
	size_t len = strlen(start);

	if (!strcmp(item->path, start))
		return c->request->depth > 0;
	if (c->request->depth <= 1)
		return false;
	return !len || (strncmp(item->path, start, len) == 0 && item->path[len] == '/');
}

/* Whether the item may come here. */
static bool is_due(const struct list_check *c, const struct list_item *item)
{
	if (c->is_over)
		return false;
	if (item->kind != LIST_END && item->start >= c->request->starts_count)
		return false;
	switch (item->kind) {
	case LIST_SELF: return !c->is_in_dir && item->start == c->selves;
	case LIST_DIR: return !c->is_in_dir && item->start < c->selves && is_asked_for(c, item);
	case LIST_ENTRY:
	case LIST_DIR_END: return c->is_in_dir;
	case LIST_END: return !c->is_in_dir;
	}
	return false;
}

static enum err check_values(const struct list_item *item, struct error *e)
{
	if (item->kind == LIST_ENTRY || (item->kind == LIST_SELF && !item->err))
		return check_attr(&item->attr, e);
	if (item->kind != LIST_END)
		return ERR_OK;
	return is_clock(item->now) ? check_space(&item->space, e)
				   : is_lie("a time beyond all clocks", e);
}

enum err check_list_item(struct list_check *c, struct list_item *item, struct error *e)
{
	enum err kind;

	if (!is_due(c, item))
		return error_set(e, ERR_PROTOCOL, "list: item %d out of order", item->kind);
	kind = check_values(item, e);
	c->selves += item->kind == LIST_SELF;
	c->is_in_dir = item->kind == LIST_DIR || item->kind == LIST_ENTRY;
	c->is_over = item->kind == LIST_END;
	if (item->kind == LIST_DIR)
		begin_dir(c);
	if (!kind && item->kind == LIST_ENTRY)
		kind = note_name(c, item->name, e);
	if (item->kind == LIST_DIR_END && c->is_repeated)
		item->complete = false;
	return kind;
}

/* ---- fetch ---- */

static bool is_seek(const struct fetch_item *item)
{
	return item->kind == FETCH_SEEK_DATA || item->kind == FETCH_SEEK_HOLE;
}

enum err check_fetch_done(
	const struct fetch_item *item, const struct fetch_piece *piece, struct error *e)
{
	if (piece->err)
		return ERR_OK;
	if (item->kind != FETCH_WHERE && !S_ISREG(piece->attr.mode))
		return is_lie("contents of what has none", e);
	if (is_seek(item) && (piece->offset > INT64_MAX || piece->offset < item->offset))
		return is_lie("a place before the one that was asked from", e);
	return check_attr(&piece->attr, e);
}

/* ---- apply ---- */

/* The type of file that a change leaves at its path; 0: any. */
static uint32_t type_left(const struct change *c)
{
	switch (c->op) {
	case CHANGE_MKDIR: return S_IFDIR;
	case CHANGE_SYMLINK: return S_IFLNK;
	case CHANGE_MKNOD: return c->mode & S_IFMT ? c->mode & S_IFMT : S_IFREG;
	case CHANGE_CREATE:
	case CHANGE_WRITE:
	case CHANGE_APPEND:
	case CHANGE_FALLOCATE:
	case CHANGE_COPY:
	case CHANGE_PLACE: return S_IFREG;
	default: return 0;
	}
}

/* A change that was done before may have been followed by another client's: any attributes fit. */
static bool fits(const struct change *c, const struct change_result *r)
{
	uint32_t type = r->attr.mode & S_IFMT, left = type_left(c);

	if (r->was_over)
		return true;
	if (c->op == CHANGE_LINK || c->op == CHANGE_UNLINK)
		return type != S_IFDIR;
	return !left || type == left;
}

static uint64_t count_max(const struct change *c)
{
	if (c->op == CHANGE_WRITE || c->op == CHANGE_APPEND)
		return c->data_len;
	return c->op == CHANGE_COPY ? c->length : UINT64_MAX;
}

enum err check_change_result(
	const struct change *change, const struct change_result *result, struct error *e)
{
	enum err kind = ERR_OK;

	if (result->offset > INT64_MAX)
		return is_lie("an offset beyond all files", e);
	if (!result->err && result->count > count_max(change))
		return is_lie("more bytes than it was given", e);
	if (result->has_attr && !fits(change, result))
		return is_lie("a file of another type than was made", e);
	if (result->has_attr)
		kind = check_attr(&result->attr, e);
	if (!kind && result->has_parent)
		kind = check_directory(&result->parent, e);
	if (!kind && result->has_parent2)
		kind = check_directory(&result->parent2, e);
	return kind;
}

/* ---- watch ---- */

enum err check_watch_event(const struct watch_event *event, struct error *e)
{
	if (!event->has_attr)
		return ERR_OK;
	return *event->path ? check_attr(&event->attr, e) : check_directory(&event->attr, e);
}
