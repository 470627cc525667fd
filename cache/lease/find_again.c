/*
 * Finds an inode in use that others renamed: the sandbox is asked where it is, and the tree learns
 * the way there.
 */
#include "cache/lease/find_again.h"

#include "cache/session/session.h"

#include "providers/base/cleanup.h"
#include "providers/base/path.h"

#include <string.h>
#include <sys/stat.h>

/* ---- Where the inode is ---- */

struct where {
	struct buf path;
	enum err err;
};

static enum err take_where(void *context, const struct fetch_piece *piece, struct error *e)
{
	struct where *w = context;

	if (piece->kind == FETCH_DONE)
		w->err = piece->err;
	else
		buf_add(&w->path, piece->bytes, piece->len);
	return buf_check(&w->path, "a path", e);
}

/* ERR_OK: *out is the path of `i`. ERR_NOT_FOUND: it has none. */
static enum err ask_where(struct cache *c, const struct call *call, struct inode *i,
	const char *was_at, struct buf *out)
{
	const struct fetch_item item = { .kind = FETCH_WHERE,
		.path = was_at,
		.target = tree_expect(c->tree, i),
		.length = PATH_LENGTH_MAX };
	struct where w = { .path = BUF_INIT(PATH_LENGTH_MAX + 1), .err = ERR_IO };
	enum err kind = counted_fetch(&c->counted, call, &item, 1, take_where, &w, NULL);
	bool is_path = !w.err && w.path.len && !memchr(w.path.bytes, 0, w.path.len) &&
		!path_check(buf_text(&w.path), NULL) && !path_is_staged(buf_text(&w.path));

	*out = w.path;
	return kind || is_path ? kind : ERR_NOT_FOUND;
}

/* ---- The way there ---- */

/* The directories on the way and the inode itself, as one question. */
struct way {
	struct cache *cache;
	struct inode *dir; /* pinned: the end of the known way */
	bool is_dir;       /* `dir` is a directory, into which a step may lead */
	const char *const *starts;
	uint64_t seen;
	bool is_lost;
};

static enum err take_step(void *context, const struct list_item *item, struct error *e)
{
	struct way *w = context;
	struct cache *c = w->cache;
	struct tree_news news = { .attr = item->attr,
		.link = item->link,
		.until_ms = cache_attr_until(c),
		.name_until_ms = cache_name_until(c) };
	bool changed;

	(void)e;
	w->is_lost |= item->kind == LIST_SELF && (item->err || !w->is_dir);
	if (item->kind != LIST_SELF || w->is_lost)
		return ERR_OK;
	struct inode *i = tree_learn_name(
		c->tree, w->dir, path_name(w->starts[item->start]), w->seen, &news, &changed);

	if (!i)
		return error_set(e, ERR_NO_MEMORY, "%s", w->starts[item->start]);
	if (changed)
		cache_tell_inode(c, i, true);
	tree_unpin(c->tree, w->dir);
	w->dir = i;
	w->is_dir = S_ISDIR(item->attr.mode);
	return ERR_OK;
}

#define STEPS_MAX 256

static size_t split(const char *path, char *starts[STEPS_MAX])
{
	size_t count = 0;

	for (const char *end = path; end && count < STEPS_MAX;) {
		end = strchr(end, '/');
		starts[count] = end ? strndup(path, (size_t)(end - path)) : strdup(path);
		if (!starts[count++])
			break;
		end = end ? end + 1 : NULL;
	}
	return count;
}

static bool learn_way(struct cache *c, const struct call *call, struct inode *i, const char *path)
{
	char *starts[STEPS_MAX] = { 0 };
	const struct list_request request = { .starts = (const char *const *)starts,
		.starts_count = split(path, starts) };
	struct way w = { .cache = c,
		.dir = tree_root(c->tree),
		.is_dir = true,
		.starts = request.starts,
		.seen = tree_seen(c->tree) };

	tree_pin(c->tree, w.dir);
	bool is_whole = request.starts_count && starts[request.starts_count - 1] &&
		!strcmp(starts[request.starts_count - 1], path);
	enum err kind = is_whole ? counted_list(&c->counted, call, &request, take_step, &w, NULL)
				 : ERR_NO_MEMORY;
	bool is_known = !kind && !w.is_lost && w.dir == i;

	tree_unpin(c->tree, w.dir);
	for (size_t n = 0; n < request.starts_count; n++)
		free(starts[n]);
	return is_known;
}

bool find_again(struct cache *c, struct inode *i)
{
	const struct call call = { .progress_ms = cache_progress_ms(c) };
	AUTO_FREE char *was_at = tree_was_at(c->tree, i);
	AUTO_BUF struct buf path = { 0 };

	if (!was_at)
		return false;
	enum err kind = ask_where(c, &call, i, was_at, &path);
	bool is_found = !kind && learn_way(c, &call, i, buf_text(&path));

	/* The next use does not wait for the same answer. */
	if (!is_found && !cache_is_no_answer(kind))
		tree_looked_in_vain(c->tree, i);
	return is_found;
}
