#include "providers/base/cleanup.h"
#include "providers/base/harmless.h"
#include "providers/helper/apply.h"
#include "providers/helper/fence.h"
#include "providers/helper/helper.h"
#include "providers/helper/once.h"
#include "providers/helper/staging.h"

#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

static bool is_needed_missing(
	const struct apply_request *request, const struct change_result *results, size_t index)
{
	uint32_t needs = request->changes[index].needs;

	return needs && (needs > index || results[needs - 1].err != ERR_OK);
}

static void refuse(struct change_result *result, enum err err, const char *why)
{
	result->err = err;
	harmless_fit(result->why, sizeof result->why, why);
}

/* Fills in the result of a change that was made. */
static void tell_present(struct work *w, const struct fate *fate)
{
	w->result->err = ERR_OK;
	w->result->was_over = true;
	w->result->left = fate->left;
	w->result->over = fate->over;
	work_describe(w);
}

/* An absent name, in a directory that is there, may be what was wanted: now as then. */
static void tell_refused(struct work *w, enum err err, const char *why)
{
	refuse(w->result, err, why);
	if (err == ERR_NOT_FOUND)
		work_tell_parents(w);
}

/* Was it refused, it still is; was it done, the present can be told. */
static void tell_again(struct sequence *s, uint64_t number, struct work *w)
{
	struct fate fate = sequence_fate(s, number);

	if (fate.err) {
		tell_refused(w, fate.err, fate.why);
		return;
	}
	tell_present(w, &fate);
}

/* Gives the error of a change that is refused before anything was begun. */
static enum err prepare(const struct apply_request *request, const struct change_result *results,
	size_t index, struct work *w, struct error *e)
{
	if (is_needed_missing(request, results, index))
		return error_set(e, ERR_SKIPPED, "a change before it failed");
	return work_prepare(w, e);
}

static enum err note_left(
	struct sequence *s, uint64_t number, const struct change_result *r, struct error *e)
{
	struct fate fate = { .over = r->over };

	if (r->has_attr && S_ISREG(r->attr.mode))
		fate.left = (struct version){
			.size = r->attr.size, .mtime = r->attr.mtime, .ctime = r->attr.ctime
		};
	if (!fate.left.ctime.tv_sec && !fate.over.ctime.tv_sec)
		return ERR_OK;
	return sequence_leave(s, number, &fate, e);
}

/* Fails only where the record cannot be kept. */
static enum err apply_one(struct sequence *s, const struct apply_request *request,
	struct change_result *results, size_t index, struct work *w, struct copied *copied,
	struct error *e)
{
	uint64_t number = request->first_sequence + index;
	struct error why = { 0 };
	enum err refusal, k = ERR_OK;

	w->is_again = s->begun && s->begun == number;
	w->before = w->is_again ? s->before : (struct before){ 0 };
	refusal = prepare(request, results, index, w, &why);
	if (refusal == ERR_OK) {
		k = sequence_begin(s, number, &w->before, e);
		if (k != ERR_OK)
			return k;
		refusal = work_carry_out(w, &why);
	}
	w->result->err = refusal;
	if (refusal == ERR_OK)
		copied_note(copied, w->change, &w->found, w->result);
	if (refusal == ERR_OK)
		return note_left(s, number, w->result, e);
	refuse(w->result, refusal, why.text);
	k = sequence_refuse(s, number, refusal, w->result->why, e);
	if (k == ERR_OK)
		work_refused(w);
	return k;
}

static enum err apply_all(const struct root *r, struct sequence *s,
	const struct apply_request *request, struct change_result *results, struct error *e)
{
	AUTO_COPIED struct copied copied = { 0 };
	struct writer writer = WRITER_NONE;
	struct follow follow = { .root = r, .left = FOLLOW_ENTRIES_MAX };
	bool stays = false;
	enum err k = ERR_OK;

	for (size_t i = 0; i < request->changes_count && k == ERR_OK; i++) {
		uint64_t number = request->first_sequence + i;
		struct work w = WORK_ON(r, &request->changes[i], &results[i]);

		w.copied = &copied;
		w.writer = &writer;
		w.follow = &follow;
		w.stays = stays;
		/*
		 * The writer closes before another kind of change, in the order of the programs'
		 * calls.
		 */
		if (!change_is_writing(w.change))
			writer_close(&writer);
		if (sequence_is_over(s, number))
			tell_again(s, number, &w);
		else
			k = apply_one(s, request, results, i, &w, &copied, e);
		stays |= results[i].err && request->changes[i].op < CHANGE_SETATTR;
		work_release(&w);
	}
	writer_close(&writer);
	return k;
}

static enum err apply_recorded(const struct root *r, const struct call *call,
	const struct apply_request *request, struct change_result *results, struct error *e)
{
	AUTO_SEQUENCE struct sequence s = SEQUENCE_NONE;
	enum err k = sequence_open(r, call, request->journal, request->first_sequence, &s, e);
	uint64_t last = request->first_sequence + request->changes_count - 1;

	/* Runs once for each mount, at its beginning, when no small save is pending yet. */
	if (s.is_new && !(request->first_sequence & SEQUENCE_ASIDE))
		staging_clean(r, time(NULL));
	if (k == ERR_OK)
		k = apply_all(r, &s, request, results, e);
	if (k != ERR_OK || !request->changes_count || sequence_is_over(&s, last))
		return k;
	return sequence_end(&s, last, e);
}

static void tell_became(const struct root *r, const struct apply_request *request, enum err became,
	struct change_result *result)
{
	struct work w = WORK_ON(r, request->changes, result);

	if (became)
		tell_refused(&w, became, "");
	else
		tell_present(&w, &(struct fate){ 0 });
	work_release(&w);
}

static enum err apply_plain(const struct root *r, const struct call *call,
	const struct apply_request *request, struct change_result *results, struct error *e)
{
	struct sequence none = SEQUENCE_NONE;
	AUTO_CLOSE int lock = -1;
	enum err became, k = once_begin(r, call, request, &lock, e);

	if (k == ERR_OK && once_is_over(lock, request->once, &became)) {
		tell_became(r, request, became, results);
		return ERR_OK;
	}
	if (k == ERR_OK)
		k = apply_all(r, &none, request, results, e);
	if (k == ERR_OK && request->changes_count)
		once_end(lock, request->once, results->err);
	return k;
}

enum err helper_apply(const struct root *r, const struct call *call,
	const struct apply_request *request, struct change_result *results, struct error *e)
{
	AUTO_CLOSE int fence = -1;
	enum err k = fence_pass(r, call, request, &fence, e);

	for (size_t i = 0; i < request->changes_count; i++)
		results[i] = (struct change_result){ .err = ERR_SKIPPED };
	if (k != ERR_OK)
		return k;
	return request->is_plain ? apply_plain(r, call, request, results, e)
				 : apply_recorded(r, call, request, results, e);
}
