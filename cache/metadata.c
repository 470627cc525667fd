#include "cache/metadata.h"

#include "cache/lease/entries.h"
#include "cache/lease/hand_out.h"
#include "cache/lease/path_request.h"
#include "cache/lease/retry.h"
#include "cache/lease/validity.h"
#include "cache/session/counted_provider.h"
#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/write/remote.h"
#include "cache/write/writeback.h"

#include "providers/base/cleanup.h"
#include "providers/base/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct inode *cache_root(struct cache *c)
{
	return tree_root(c->tree);
}

void cache_forget(struct cache *c, struct inode *i, uint64_t count)
{
	tree_pin(c->tree, i);
	remote_drop_staged(c, i, tree_kernel_forget(c->tree, i, count));
	tree_unpin(c->tree, i);
}

void cache_keep(struct cache *c, struct inode *i)
{
	tree_pin(c->tree, i);
}

void cache_let_go(struct cache *c, struct inode *i)
{
	tree_unpin(c->tree, i);
}

struct tree_depth cache_depth_in(struct cache *c, const struct inode *dir)
{
	return tree_depth_in(c->tree, dir);
}

void cache_climbs(struct cache *c)
{
	tree_climbs(c->tree);
}

int64_t cache_move_answer_waits(struct cache *c)
{
	return tree_move_answer_waits(c->tree);
}

void cache_move_answered(struct cache *c)
{
	tree_move_answered(c->tree);
}

uint64_t cache_seen(struct cache *c)
{
	return tree_seen(c->tree);
}

bool cache_has_risen(struct cache *c, const struct inode *dir, uint64_t since)
{
	return tree_has_risen(c->tree, dir, since);
}

static int64_t left_ms(int64_t until_ms)
{
	int64_t left = until_ms == INT64_MAX ? INT64_MAX : until_ms - monotonic_ms();

	return left > 0 ? left : 0;
}

/* ---- One entry ---- */

/* The answer to a list of a single start. */
struct self {
	struct cache *cache;
	const struct call *call;
	/* The inode that the answer must be about; NULL: a name, for any inode. */
	struct inode *inode;
	uint32_t flags;
	uint64_t seen; /* when the question was asked */
	enum err err;
	struct tree_news news;
	char link[VERB_LINK_MAX + 1];
	const char *xattr_name; /* with LIST_XATTRS: the name of one value, or NULL for all names */
	struct buf *xattr_out;
	bool xattr_found;
};

static bool keep_xattrs(struct self *s, const struct list_item *item)
{
	for (size_t n = 0; n < item->xattrs_count; n++) {
		const struct xattr *x = &item->xattrs[n];

		if (!s->xattr_name && !buf_add(s->xattr_out, x->name, strlen(x->name) + 1))
			return false;
		if (!s->xattr_name || strcmp(s->xattr_name, x->name))
			continue;
		s->xattr_found = true;
		if (!buf_add(s->xattr_out, x->value, x->value_len))
			return false;
	}
	return true;
}

static enum err take_self(void *context, const struct list_item *item, struct error *e)
{
	struct self *s = context;

	if (item->kind == LIST_END) {
		s->news.now = item->now;
		cache_note_space(s->cache, &item->space);
		cache_note_clock(s->cache, &item->now);
	}
	if (item->kind != LIST_SELF)
		return ERR_OK;
	s->err = item->err;
	s->news.attr = item->attr;
	s->news.link = NULL;
	if (!item->err && item->link) {
		snprintf(s->link, sizeof s->link, "%s", item->link);
		s->news.link = s->link;
	}
	if (s->xattr_out && !keep_xattrs(s, item))
		return buf_check(s->xattr_out, "extended attributes", e);
	return ERR_OK;
}

static enum err ask_self(
	struct cache *c, const char *path, const char *path2, void *context, struct error *e)
{
	(void)path2;
	struct self *s = context;
	struct list_request request = { .starts = &path, .starts_count = 1, .flags = s->flags };

	s->seen = tree_seen(c->tree);
	s->news.until_ms = cache_attr_until(c);
	s->news.name_until_ms = cache_name_until(c);
	s->xattr_found = false;
	if (s->xattr_out)
		buf_reset(s->xattr_out);
	enum err kind = counted_list(&c->counted, s->call, &request, take_self, s, e);

	if (kind)
		return kind;
	if (s->err)
		return error_set(e, s->err, "%s: %s", path, error_words(s->err));
	/* The root is whatever its path leads to. */
	if (s->inode && s->inode != tree_root(c->tree) &&
		!tree_is(c->tree, s->inode, &s->news.attr))
		return error_set(e, ERR_STALE, "%s: is not the file it was", path);
	return ERR_OK;
}

bool cache_take_outdated(struct cache *c, struct tree_outdated *out, size_t room, size_t *count)
{
	return tree_take_outdated(c->tree, out, room, count);
}

bool cache_is_nameless(struct cache *c, const struct inode *dir, const char *name)
{
	return tree_is_nameless(c->tree, dir, name);
}

bool cache_listed_entry(struct cache *c, struct inode *dir, const struct tree_entry *listed,
	struct cache_entry *out)
{
	struct inode *now;

	if (tree_find(c->tree, dir, listed->name, monotonic_ms(), &now, NULL) != TREE_KNOWN)
		return false;
	bool is_same = now == listed->inode;

	if (is_same)
		cache_hand_out(c, dir, listed->name, now, out);
	tree_unpin(c->tree, now);
	return is_same;
}

/* A lookup of one name. */
struct looking {
	const struct call *call;
	struct inode *dir;
	const char *name;
	struct cache_entry *out;
	int64_t *negative_ms;
	bool is_last; /* any answer is good enough */
	bool again;   /* the answer is not what is known of the name */
};

static enum err learn_lookup(
	struct cache *c, struct looking *l, const struct self *s, struct error *e)
{
	bool changed;
	struct inode *i = tree_learn_name(c->tree, l->dir, l->name, s->seen, &s->news, &changed);

	if (!i)
		return error_set(e, ERR_NO_MEMORY, "%s", l->name);
	if (changed)
		cache_tell_inode(c, i, true);
	l->again = !l->is_last && !tree_is_named(c->tree, i, &s->news.attr);
	if (!l->again)
		cache_hand_out(c, l->dir, l->name, i, l->out);
	tree_unpin(c->tree, i);
	return ERR_OK;
}

/* How long the kernel may keep a negative entry. */
static int64_t negative_entry_ms(
	struct cache *c, struct inode *dir, const char *name, int64_t until_ms)
{
	int64_t left = left_ms(until_ms);

	return left && tree_give_negative(c->tree, dir, name, until_ms) ? left : 0;
}

/* The answer from memory. */
static enum tree_answer find_name(struct cache *c, const struct looking *l)
{
	struct inode *known;
	int64_t absent_until_ms;
	enum tree_answer answer =
		tree_find(c->tree, l->dir, l->name, monotonic_ms(), &known, &absent_until_ms);

	if (answer == TREE_KNOWN) {
		cache_hand_out(c, l->dir, l->name, known, l->out);
		tree_unpin(c->tree, known);
	}
	if (answer == TREE_ABSENT)
		*l->negative_ms = negative_entry_ms(c, l->dir, l->name, absent_until_ms);
	return answer;
}

static enum err ask_alone(struct cache *c, struct looking *l, struct error *e)
{
	AUTO_FREE struct self *s = calloc(1, sizeof *s);

	if (!s)
		return error_set(e, ERR_NO_MEMORY, "%s", l->name);
	s->cache = c;
	s->call = l->call;
	enum err kind = cache_ask_name(c, l->dir, l->name, ask_self, s, e);

	if (kind == ERR_NOT_FOUND && tree_learn_absent(c->tree, l->dir, l->name, s->seen))
		*l->negative_ms = negative_entry_ms(c, l->dir, l->name, s->news.name_until_ms);
	return kind ? kind : learn_lookup(c, l, s, e);
}

static enum err look_up(struct cache *c, struct looking *l, struct error *e)
{
	enum tree_answer answer = find_name(c, l);
	enum err kind = ERR_OK;

	if (answer == TREE_INVALID) {
		kind = validity_restore(c->validity, l->call, e);
		if (!kind)
			answer = find_name(c, l);
	}
	if (!kind && answer >= TREE_INVALID)
		kind = writeback_drain(c->writeback, l->call, l->dir, e);
	if (!kind && answer >= TREE_INVALID) {
		kind = entries_ask_for_one(c, l->call, l->dir, e);
		if (!kind)
			answer = find_name(c, l);
	}
	if (kind)
		return kind;
	switch (answer) {
	case TREE_KNOWN: return ERR_OK;
	case TREE_ABSENT: return error_set(e, ERR_NOT_FOUND, "%s", l->name);
	default: return ask_alone(c, l, e);
	}
}

/* A file that is looked up again, because it was replaced, is to be found at the next step, too. */
static bool is_kept(struct cache *c, const struct looking *l)
{
	return !S_ISREG(l->out->attr.mode) || retry_finds(c, l->call, l->out->inode);
}

/* Each try is in vain because this name changed during the question. */
#define LOOKUP_TRIES 8

enum err cache_lookup(struct cache *c, const struct call *call, struct inode *dir, const char *name,
	struct cache_entry *out, int64_t *negative_ms, struct error *e)
{
	struct looking l = {
		.call = call, .dir = dir, .name = name, .out = out, .negative_ms = negative_ms
	};
	enum err kind = ERR_OK;
	int tries = 0;

	*negative_ms = 0;
	if (strlen(name) > PATH_NAME_MAX)
		return error_set(e, ERR_NAME_TOO_LONG, "a name of %zu bytes", strlen(name));
	kind = writeback_await_replay(c->writeback, call, e);
	if (kind)
		return kind;
	do {
		l.is_last = ++tries == LOOKUP_TRIES;
		l.again = false;
		kind = look_up(c, &l, e);
		if (!kind && !l.again && !is_kept(c, &l)) {
			cache_forget(c, out->inode, 1);
			l.again = !l.is_last;
			kind = l.again ? ERR_OK : error_set(e, ERR_STALE, "%s: replaced", name);
		}
	} while (!kind && l.again);
	if (kind == ERR_NOT_FOUND)
		retry_finds_none(c, call);
	return kind;
}

/*
 * A question about the root has a short deadline, after which what is known is shown (root_attr()):
 * a late answer is no error to report. The root's path never moves.
 */
static enum err ask_root(struct cache *c, struct self *s, struct error *e)
{
	struct error why = { 0 };
	/* An answer from before the changes of an earlier mount would be taken for news. */
	enum err kind = writeback_drain_path(c->writeback, s->call, tree_root(c->tree), &why);

	if (!kind)
		kind = ask_self(c, "", "", s, &why);
	if (kind && kind != ERR_TIMEOUT)
		cache_note_error(c, "", &why);
	return kind ? error_set(e, kind, "%s", why.text) : ERR_OK;
}

/* Asks for the attributes of `i` and brings them into the tree. */
static enum err refresh(struct cache *c, struct inode *i, struct self *s, struct error *e)
{
	bool changed = false;

	s->inode = i;
	enum err kind = i == tree_root(c->tree) ? ask_root(c, s, e)
						: cache_with_path(c, i, NULL, ask_self, s, e);

	if (!kind)
		kind = tree_learn_attr(c->tree, i, s->seen, &s->news, &changed, e);
	if (changed)
		cache_tell_inode(c, i, true);
	return kind;
}

/* Asks for the attributes of everything in the same directory, if that is due. */
static enum err refresh_together(
	struct cache *c, const struct call *call, struct inode *i, struct error *e)
{
	struct inode *dir = c->walk ? tree_parent(c->tree, i) : NULL;
	enum err kind = dir ? entries_ask_for_one(c, call, dir, e) : ERR_OK;

	tree_unpin(c->tree, dir);
	return kind;
}

/* Returns for how long the attributes are delegated. */
static int64_t delegate(
	struct cache *c, const struct call *call, struct inode *i, bool ahead, struct attr *out)
{
	const struct tree_delegation how = { .ahead = ahead, .asker = call ? call->asker : 0 };

	return left_ms(tree_delegate(c->tree, i, &how, out));
}

static bool attr_is_known(struct cache *c, const struct call *call, struct inode *i, bool ahead,
	struct attr *out, int64_t *valid_ms)
{
	*valid_ms = delegate(c, call, i, ahead, out);
	return *valid_ms || tree_local_attr(c->tree, i, out);
}

static enum err ask_attr(struct cache *c, const struct call *call, struct inode *i, bool ahead,
	struct attr *out, int64_t *valid_ms, struct error *e)
{
	AUTO_FREE struct self *s = NULL;
	struct error why = { 0 };

	if (attr_is_known(c, call, i, ahead, out, valid_ms) || retry_found(c, call, i))
		return ERR_OK;
	enum err kind = tree_attr_is_invalid(c->tree, i, monotonic_ms())
		? validity_restore(c->validity, call, e)
		: ERR_OK;

	if (kind || attr_is_known(c, call, i, ahead, out, valid_ms))
		return kind;
	/* While writes are pending only the sandbox can tell the file's attributes after them. */
	kind = writeback_drain(c->writeback, call, i, e);
	*valid_ms = delegate(c, call, i, ahead, out);
	if (kind || *valid_ms)
		return kind;
	kind = refresh_together(c, call, i, e);
	*valid_ms = delegate(c, call, i, ahead, out);
	if (kind || *valid_ms)
		return kind;
	s = calloc(1, sizeof *s);
	if (!s)
		return error_set(e, ERR_NO_MEMORY, "attributes");
	s->cache = c;
	s->call = call;
	/* An inode that was removed here meanwhile lives on in memory, and is no error. */
	if (refresh(c, i, s, &why) && !tree_is_gone(c->tree, i))
		return error_set(e, why.kind, "%s", why.text);
	*valid_ms = delegate(c, call, i, ahead, out);
	if (!*valid_ms) {
		/*
		 * A local change goes on meanwhile: this answer is as good as any, but only for
		 * now.
		 */
		*out = s->news.attr;
		tree_show(c->tree, i, out);
	}
	return ERR_OK;
}

/*
 * The way to `.sandbox` leads through the root, and is wanted most where the sandbox is offline, or
 * while the changes of an earlier mount are sent.
 * Some vendors send a command's output once a second. A sandbox that did not answer is asked again
 * a little later.
 */
#define ROOT_WAIT_MS  3000
#define ROOT_AGAIN_MS 1000

static void root_attr(struct cache *c, const struct call *call, struct inode *root, bool ahead,
	struct attr *out, int64_t *valid_ms)
{
	struct call brief = call ? *call : (struct call){ 0 };
	int64_t limit_ms = call_progress_ms(call);

	brief.progress_ms = limit_ms < 0 || limit_ms > ROOT_WAIT_MS ? ROOT_WAIT_MS : limit_ms;
	if (writeback_is_recovering(c->writeback) ||
		ask_attr(c, &brief, root, ahead, out, valid_ms, NULL)) {
		tree_attr(c->tree, root, out);
		*valid_ms = ROOT_AGAIN_MS;
	}
}

static enum err attr_of(struct cache *c, const struct call *call, struct inode *i, bool ahead,
	struct attr *out, int64_t *valid_ms, struct error *e)
{
	if (i != tree_root(c->tree))
		return retry_answer(c, call, ask_attr(c, call, i, ahead, out, valid_ms, e), e);
	root_attr(c, call, i, ahead, out, valid_ms);
	return ERR_OK;
}

enum err cache_attr(struct cache *c, const struct call *call, struct inode *i, struct attr *out,
	int64_t *valid_ms, struct error *e)
{
	return attr_of(c, call, i, false, out, valid_ms, e);
}

enum err cache_delegate_attr(struct cache *c, const struct call *call, struct inode *i,
	struct attr *out, int64_t *valid_ms, struct error *e)
{
	return attr_of(c, call, i, true, out, valid_ms, e);
}

struct timespec cache_shown_ctime(struct cache *c, struct inode *i, const struct attr *attr)
{
	return tree_shown_ctime(c->tree, i, attr);
}

enum err cache_readlink(struct cache *c, const struct call *call, struct inode *i,
	char out[VERB_LINK_MAX + 1], bool *is_ours, struct error *e)
{
	struct attr attr;
	int64_t valid_ms;
	enum err kind = cache_attr(c, call, i, &attr, &valid_ms, e);

	if (!kind && !tree_link_text(c->tree, i, out, VERB_LINK_MAX + 1, is_ours)) {
		tree_invalidate(c->tree, i);
		kind = cache_attr(c, call, i, &attr, &valid_ms, e);
		if (!kind && !tree_link_text(c->tree, i, out, VERB_LINK_MAX + 1, is_ours))
			kind = error_set(e, ERR_INVALID, "not a symbolic link");
	}
	return kind;
}

bool cache_link_known(struct cache *c, struct inode *i, char out[VERB_LINK_MAX + 1], bool *is_ours)
{
	return tree_link_text(c->tree, i, out, VERB_LINK_MAX + 1, is_ours);
}

/*
 * ls(1) asks every file for the names, for the system's access list, as often as for the
 * attributes. A file that is known to have none costs no request then, and needs no sandbox.
 */
static bool has_no_xattrs(struct cache *c, const struct call *call, struct inode *i)
{
	struct attr attr;
	bool is_known = left_ms(tree_attr(c->tree, i, &attr)) ||
		tree_local_attr(c->tree, i, &attr) || retry_found(c, call, i);

	return is_known && attr.no_xattrs;
}

static enum err ask_xattrs(struct cache *c, const struct call *call, struct inode *i,
	const char *name, struct buf *out, struct error *e)
{
	AUTO_FREE struct self *s = calloc(1, sizeof *s);

	if (!s)
		return error_set(e, ERR_NO_MEMORY, "extended attributes");
	s->cache = c;
	s->call = call;
	s->flags = LIST_XATTRS;
	s->xattr_name = name;
	s->xattr_out = out;
	/*
	 * A caller that looked the name up twice gets the answer for the file that has it now,
	 * whichever that is.
	 */
	enum err kind = retry_found(c, call, i) ? cache_with_path(c, i, NULL, ask_self, s, e)
						: refresh(c, i, s, e);

	if (!kind && name && !s->xattr_found)
		kind = error_set(e, ERR_NO_XATTR, "%s", name);
	return kind;
}

static enum err xattr_of(struct cache *c, const struct call *call, struct inode *i,
	const char *name, struct buf *out, struct error *e)
{
	bool has_none = tree_is_gone(c->tree, i) || has_no_xattrs(c, call, i);

	if (!has_none && tree_attr_is_invalid(c->tree, i, monotonic_ms())) {
		enum err kind = validity_restore(c->validity, call, e);

		if (kind)
			return kind;
		has_none = has_no_xattrs(c, call, i);
	}
	if (!has_none)
		return ask_xattrs(c, call, i, name, out, e);
	return name ? error_set(e, ERR_NO_XATTR, "%s", name) : ERR_OK;
}

enum err cache_xattr(struct cache *c, const struct call *call, struct inode *i, const char *name,
	struct buf *out, struct error *e)
{
	return retry_last_answer(c, call, xattr_of(c, call, i, name, out, e), e);
}

void cache_known_attr(struct cache *c, struct inode *i, struct attr *out)
{
	tree_attr(c->tree, i, out);
}

void cache_dot_attrs(struct cache *c, struct inode *dir, struct attr *self, struct attr *above)
{
	tree_dot_attrs(c->tree, dir, self, above);
}
