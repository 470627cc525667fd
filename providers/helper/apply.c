#include "providers/helper/apply.h"

#include "providers/helper/helper.h"
#include "providers/helper/sequence.h"

#include <fcntl.h>
#include <stdio.h>

enum second_path { ONE_PATH, MAYBE_TWO_PATHS, TWO_PATHS };

static const struct kind {
	enum err (*run)(struct work *w, struct error *e);
	enum second_path second;
} kinds[CHANGE_OP_END] = {
	[CHANGE_MKDIR] = { .run = change_mkdir },
	[CHANGE_CREATE] = { .run = change_create },
	[CHANGE_MKNOD] = { .run = change_mknod },
	[CHANGE_SYMLINK] = { .run = change_symlink },
	[CHANGE_LINK] = { .run = change_link, .second = TWO_PATHS },
	[CHANGE_UNLINK] = { .run = change_unlink, .second = MAYBE_TWO_PATHS },
	[CHANGE_RMDIR] = { .run = change_rmdir },
	[CHANGE_RENAME] = { .run = change_rename, .second = TWO_PATHS },
	[CHANGE_SETATTR] = { .run = change_setattr },
	[CHANGE_WRITE] = { .run = change_write },
	[CHANGE_APPEND] = { .run = change_append },
	[CHANGE_FALLOCATE] = { .run = change_fallocate },
	[CHANGE_COPY] = { .run = change_copy, .second = TWO_PATHS },
	[CHANGE_PLACE] = { .run = change_place, .second = TWO_PATHS },
	[CHANGE_SETXATTR] = { .run = change_setxattr },
	[CHANGE_REMOVEXATTR] = { .run = change_removexattr },
	[CHANGE_SYNC] = { .run = change_sync },
};

/* ---- For the kinds ---- */

enum err work_done(struct work *w, int fd, struct error *e)
{
	enum err k = attr_of_fd(fd, &w->result->attr, e);

	w->result->has_attr = k == ERR_OK;
	return k;
}

enum err work_open(struct work *w, int flags, int *out_fd, struct error *e)
{
	const struct change *c = w->change;

	return place_open(
		&w->at, flags, &c->target, c->flags & CHANGE_BY_HANDLE, out_fd, c->path, e);
}

enum err work_open2(struct work *w, int flags, int *out_fd, struct error *e)
{
	const struct change *c = w->change;

	return place_open(
		&w->at2, flags, &c->target2, c->flags & CHANGE_BY_HANDLE, out_fd, c->path2, e);
}

/* ---- One change ---- */

static enum err check_change(const struct change *c, struct error *e)
{
	if (c->op < CHANGE_MKDIR || c->op >= CHANGE_OP_END)
		return error_set(e, ERR_INVALID, "no such change: %d", (int)c->op);
	if (!c->path || (kinds[c->op].second == TWO_PATHS && !c->path2))
		return error_set(e, ERR_INVALID, "a change without its path");
	if (c->offset > INT64_MAX || c->offset2 > INT64_MAX)
		return error_set(e, ERR_INVALID, "%s: no such offset", c->path);
	return ERR_OK;
}

static bool has_second(const struct change *c)
{
	return kinds[c->op].second != ONE_PATH && c->path2;
}

static enum err find_places(struct work *w, struct error *e)
{
	const struct change *c = w->change;
	enum err k = root_place(w->root, c->path, &c->parent, &w->at, e);

	if (k != ERR_OK || !has_second(c))
		return k;
	return root_place(w->root, c->path2, &c->parent2, &w->at2, e);
}

static bool stat_dir(const struct place *p, struct attr *out)
{
	return p->fd >= 0 && !p->is_staged && attr_of_fd(p->fd, out, NULL) == ERR_OK;
}

/* The directories afterwards: nobody outside needs staging's. */
static void describe_parents(struct work *w)
{
	struct change_result *r = w->result;

	r->has_parent = stat_dir(&w->at, &r->parent);
	r->has_parent2 = stat_dir(&w->at2, &r->parent2);
	if (r->has_parent && r->has_parent2 && r->parent.dev == r->parent2.dev &&
		r->parent.ino == r->parent2.ino)
		r->has_parent2 = false;
}

static void release_places(struct work *w)
{
	place_release(&w->at);
	place_release(&w->at2);
}

static enum err apply_change(struct work *w, struct error *e)
{
	enum err k = check_change(w->change, e);

	if (k == ERR_OK)
		k = find_places(w, e);
	if (k == ERR_OK)
		k = kinds[w->change->op].run(w, e);
	if (k == ERR_OK)
		describe_parents(w);
	release_places(w);
	return k;
}

/* The name that a change leaves behind. */
static bool is_about_second(enum change_op op)
{
	return op == CHANGE_LINK || op == CHANGE_RENAME || op == CHANGE_PLACE || op == CHANGE_COPY;
}

/* Of a change done earlier only the present can be told, and perhaps its name is gone again. */
static void describe_done(struct work *w)
{
	const struct change *c = w->change;
	const struct place *p;

	w->result->err = ERR_OK;
	if (check_change(c, NULL) != ERR_OK)
		return;
	root_place(w->root, c->path, NULL, &w->at, NULL);
	if (has_second(c))
		root_place(w->root, c->path2, NULL, &w->at2, NULL);
	p = is_about_second(c->op) || (c->op == CHANGE_UNLINK && c->path2) ? &w->at2 : &w->at;
	w->result->has_attr = p->fd >= 0 && place_stat(p, &w->result->attr, "", NULL) == ERR_OK;
	describe_parents(w);
	release_places(w);
}

/* ---- The batch ---- */

static bool is_needed_missing(
	const struct apply_request *request, const struct change_result *results, size_t index)
{
	uint32_t needs = request->changes[index].needs;

	return needs && (needs > index || results[needs - 1].err != ERR_OK);
}

static void apply_one(const struct root *r, const struct apply_request *request,
	struct change_result *results, size_t index)
{
	struct change_result *result = &results[index];
	struct error why = { 0 };
	struct work w = { .root = r,
		.change = &request->changes[index],
		.result = result,
		.at = PLACE_NONE,
		.at2 = PLACE_NONE };

	if (is_needed_missing(request, results, index))
		result->err = error_set(&why, ERR_SKIPPED, "a change before it failed");
	else
		result->err = apply_change(&w, &why);
	if (result->err != ERR_OK)
		snprintf(result->why, sizeof result->why, "%.*s", (int)sizeof result->why - 1,
			why.text);
}

enum err helper_apply(const struct root *r, const struct apply_request *request,
	struct change_result *results, struct error *e)
{
	AUTO_SEQUENCE struct sequence done = SEQUENCE_NONE;
	enum err k = sequence_open(r, request->journal, &done, e);

	for (size_t i = 0; i < request->changes_count; i++)
		results[i] = (struct change_result){ .err = ERR_SKIPPED };
	for (size_t i = 0; i < request->changes_count && k == ERR_OK; i++) {
		uint64_t number = request->first_sequence + i;

		if (sequence_is_done(&done, number)) {
			describe_done(&(struct work){ .root = r,
				.change = &request->changes[i],
				.result = &results[i],
				.at = PLACE_NONE,
				.at2 = PLACE_NONE });
			continue;
		}
		apply_one(r, request, results, i);
		/* Without its record a change could be done twice: then none follows. */
		k = sequence_record(&done, number, e);
	}
	return k;
}
