/*
 * Failed ops of an earlier mount. No call of this mount made them, and their inodes are unknown. So
 * they are reported by path: to the first close or fsync of such a file, to the first barrier, and
 * at the end of the mount.
 */
#include "cache/write/writeback_inside.h"

#include "cache/session/session.h"
#include "cache/tree/tree.h"

#include "providers/base/log.h"
#include "providers/base/path.h"

#include <stdlib.h>
#include <string.h>

static struct untold *find_path(const struct inherited *h, const char *path)
{
	struct untold *u;

	TAILQ_FOREACH(u, &h->untold, link)
	if (!strcmp(u->path, path))
		return u;
	return NULL;
}

/* Without memory only barriers report the failure. */
static void add_path(struct inherited *h, const char *path, const struct error *why)
{
	struct untold *known = path ? find_path(h, path) : NULL;

	/*
	 * The last failure of a path counts: where the other name was refused as well, this failure
	 * says so.
	 */
	if (known)
		known->why = *why;
	if (!path || path_is_staged(path) || h->untold_count == UNTOLD_MAX || known)
		return;
	struct untold *u = calloc(1, sizeof *u);

	if (!u)
		return;
	u->path = strdup(path);
	u->why = *why;
	if (!u->path) {
		free(u);
		return;
	}
	TAILQ_INSERT_TAIL(&h->untold, u, link);
	h->untold_count++;
}

static void forget(struct inherited *h, struct untold *u)
{
	TAILQ_REMOVE(&h->untold, u, link);
	h->untold_count--;
	free(u->path);
	free(u);
}

void inherited_refused_locked(struct writeback *p, const struct op *q, const struct error *why)
{
	struct inherited *h = &p->inherited;

	if (!h->refused++ || (q->conflicts && h->refused == 2))
		h->first = *why;
	h->for_barrier = true;
	add_path(h, q->change.path, why);
	add_path(h, q->change.path2, why);
}

void inherited_find_locked(struct writeback *p, struct inode *i)
{
	struct inherited *h = &p->inherited;
	AUTO_TREE_PATH struct tree_path path = { 0 };
	struct untold *u = TAILQ_FIRST(&h->untold);

	if (!u || tree_path(p->cache->tree, i, NULL, &path, NULL))
		return;
	while (u && strcmp(u->path, path.text) != 0)
		u = TAILQ_NEXT(u, link);
	struct inode_ops *b = u ? inode_ops_of_locked(p, i) : NULL;

	if (!b)
		return;
	if (!b->for_handle)
		b->refused = u->why;
	b->for_handle = true;
	forget(h, u);
}

enum err inherited_report_locked(struct writeback *p, struct error *e)
{
	struct inherited *h = &p->inherited;

	if (!h->for_barrier)
		return ERR_OK;
	h->for_barrier = false;
	return error_set(e, h->first.kind, "%s", h->first.text);
}

void inherited_log_locked(struct writeback *p)
{
	const struct inherited *h = &p->inherited;

	if (h->refused)
		log_warn(LOG_CACHE,
			"the sandbox refused %llu change%s of an earlier mount, the first: %s",
			(unsigned long long)h->refused, h->refused == 1 ? "" : "s", h->first.text);
}

void inherited_release(struct inherited *h)
{
	while (!TAILQ_EMPTY(&h->untold))
		forget(h, TAILQ_FIRST(&h->untold));
}
