#include "cache/write/remote.h"

#include "cache/session/counted_provider.h"
#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/write/local.h"
#include "cache/write/state.h"
#include "cache/write/word.h"
#include "cache/write/writeback.h"

#include "providers/asking.h"
#include "providers/base/log.h"
#include "providers/change_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct change remote_creation(const struct cache *c, const struct create_args *m)
{
	bool owned = c->options.owners_from_caller;

	return (struct change){ .op = m->op,
		.flags = m->exclusive ? CHANGE_EXCL : 0,
		.mode = m->mode,
		.rdev = m->rdev,
		.uid = owned ? m->uid : CHANGE_NO_OWNER,
		.gid = owned ? m->gid : CHANGE_NO_OWNER,
		.data = m->text,
		.data_len = m->text ? strlen(m->text) : 0 };
}

char *remote_staged_name(struct cache *c)
{
	uint64_t number = atomic_fetch_add(&c->staged_names, 1);
	char word[CACHE_WORD_SIZE];
	uint64_t mount;
	char *name;

	cache_word(c, word);
	memcpy(&mount, c->journal, sizeof mount);
	if (asprintf(&name, "/" STAGED_UNLINKED "%s-%016llx-%llu", word, (unsigned long long)mount,
		    (unsigned long long)number) < 0)
		return NULL;
	return name;
}

/* The attributes of directory `dir`, from either place in the result. */
static void adopt_dir(struct cache *c, struct change_about *about, struct inode *dir,
	const struct change_result *r)
{
	struct expect x;

	if (!dir)
		return;
	x = tree_expect(c->tree, dir);
	if (r->has_parent && r->parent.ino == x.ino && r->parent.dev == x.dev)
		tree_adopt(c->tree, &about->scope, dir, &r->parent, cache_attr_until(c));
	else if (r->has_parent2 && r->parent2.ino == x.ino && r->parent2.dev == x.dev)
		tree_adopt(c->tree, &about->scope, dir, &r->parent2, cache_attr_until(c));
	else
		tree_invalidate(c->tree, dir);
}

void remote_check_copied(
	struct cache *c, struct inode *i, const struct change *sent, const struct change_result *r)
{
	const struct expect *x = i ? change_keeps_inode(sent) : NULL;

	if (!x || !x->ino || !r->has_attr || r->was_over || x->ino == r->attr.ino)
		return;
	struct expect now = tree_expect_replaced(c->tree, i);
	/* A linked file may be reported by either name as if it were two files. */
	bool is_link = sent->op == CHANGE_LINK;
	const char *path = is_link ? sent->path2 : sent->path;

	if (now.dev == x->dev && now.ino == x->ino)
		tree_copied_up(c->tree, i, path, is_link ? NULL : sent->path2,
			sent->op < CHANGE_SETATTR, &r->attr);
}

static void adopt(struct cache *c, struct change_about *about, const struct change_result *r)
{
	if (r->has_attr)
		cache_note_clock(c, &r->attr.ctime);
	if (about->target && r->has_attr)
		tree_adopt(c->tree, &about->scope, about->target, &r->attr, cache_attr_until(c));
	else if (about->target)
		tree_invalidate(c->tree, about->target);
	adopt_dir(c, about, about->dir, r);
	if (about->dir2 != about->dir)
		adopt_dir(c, about, about->dir2, r);
}

/* Without an answer it is unknown whether the change was applied. */
static void invalidate_touched(struct cache *c, const struct change_about *about)
{
	struct inode *const touched[] = { about->target, about->dir, about->dir2 };

	for (size_t n = 0; n < sizeof touched / sizeof *touched; n++)
		if (touched[n])
			tree_invalidate(c->tree, touched[n]);
}

/* The time for repeated requests, in ms: other requests for the same names wait meanwhile. */
#define ASKED_AGAIN_MS 3000

/*
 * A change with a number of its own is applied once, however often the request is sent. A removal
 * repeats its request by itself (names.c), for the file that it was of.
 */
static enum err ask(struct cache *c, const struct call *call, struct change_about *about,
	const struct apply_request *request, struct change_result *result, struct error *e)
{
	struct asking asking = { .call = call,
		.limit_ms = ASKED_AGAIN_MS,
		.is_answered = !request->once || about->number };
	struct error why;
	enum err kind;

	do {
		why = (struct error){ 0 };
		*result = (struct change_result){ 0 };
		kind = counted_apply(&c->counted, call, request, result, &why);
	} while (asking_goes_on(&asking, &kind));
	return kind ? error_set(e, kind, "%s", why.text) : ERR_OK;
}

enum err remote_change(struct cache *c, const struct call *call, struct change *change,
	struct change_about *about, struct change_result *result, struct error *e)
{
	struct apply_request request = { .changes = change, .changes_count = 1 };
	enum err kind;

	writeback_number_asked(c->writeback, about->number, &request);
	kind = ask(c, call, about, &request, result, e);
	if (kind)
		invalidate_touched(c, about);
	else if (result->err)
		kind = error_set(e, result->err, "%s: %s", change->path,
			result->why[0] ? result->why : error_words(result->err));
	log_debug(LOG_WRITE, "%s %s, asked for at once: %s", change_word(change->op),
		op_path(change), kind ? error_name(kind) : "done");
	if (!kind) {
		remote_check_copied(c, about->target, change, result);
		adopt(c, about, result);
	}
	return kind;
}

enum err remote_drop_staged(struct cache *c, struct inode *i, char *staged)
{
	struct change change = { .op = CHANGE_UNLINK, .path = staged };
	struct change_about about = { .scope.inodes = { i }, .target = i };
	struct change_result result;
	struct error e = { 0 };

	if (!staged)
		return ERR_OK;
	if (c->writeback && i)
		return local_drop_staged(c, i, staged);
	tree_change_begins(c->tree, &about.scope);
	if (remote_change(c, NULL, &change, &about, &result, &e))
		cache_note_error(c, staged, &e);
	tree_change_ends(c->tree, &about.scope);
	free(staged);
	return e.kind;
}
