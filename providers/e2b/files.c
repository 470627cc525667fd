/*
 * Whole files. Large files go to names of their own in staging by the upload of the daemon, which
 * writes in place. One apply tells how many bytes arrived, another puts the file where the file
 * belongs. Small files share applies.
 */
#include "providers/base/cleanup.h"
#include "providers/e2b/e2b.h"
#include "providers/remote_names.h"
#include "providers/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* From here on an upload of its own costs less than the copies an apply makes. */
#define LARGE_SIZE ((uint64_t)VERB_DATA_MAX)

static enum err no_memory(struct error *e)
{
	return error_set(e, ERR_NO_MEMORY, "storing files");
}

/* ---- Uploads ---- */

static enum err upload_step(
	struct envd *d, const struct call *call, void *context, bool *is_done, struct error *e)
{
	*is_done = false;
	return envd_store(d, call, context, e);
}

enum err e2b_upload(
	struct e2b *b, const struct call *call, const struct envd_upload *upload, struct error *e)
{
	return e2b_reach(b, call, upload_step, (void *)upload, e);
}

/* ---- A large one ---- */

/* An item's contents, and why they could not be read. */
struct reader {
	const struct store_item *item;
	enum err err;
	struct error why;
};

static enum err read_item(void *context, uint64_t offset, void *dst, size_t len, struct error *e)
{
	struct reader *r = context;

	r->err = r->item->read(r->item->context, offset, dst, len, &r->why);
	return r->err ? error_set(e, r->err, "%s", r->why.text) : ERR_OK;
}

static void set_result(struct store_result *result, enum err kind, const char *why)
{
	result->err = kind;
	snprintf(result->why, sizeof result->why, "%.*s", (int)sizeof result->why - 1, why);
}

/* One batch, whose first refusal is the item's. */
static enum err apply_changes(struct e2b *b, const struct call *call, const struct change *changes,
	size_t count, struct store_result *result, struct error *e)
{
	const struct apply_request request = { .changes = changes, .changes_count = count };
	struct change_result results[2] = { 0 };
	enum err kind = provider_apply(&b->base, call, &request, results, e);

	for (size_t i = 0; !kind && i < count && !result->err; i++) {
		set_result(result, results[i].err, results[i].why);
		result->attr = results[i].attr;
	}
	return kind;
}

/* Nobody else may read the file before the file has its mode, which may forbid us to. */
static enum err close_staged(struct e2b *b, const struct call *call, const char *staged,
	const struct store_item *item, struct store_result *result, struct error *e)
{
	const struct change change = {
		.op = CHANGE_SETATTR, .path = staged, .set = SET_MODE, .mode = 0600
	};
	enum err kind = apply_changes(b, call, &change, 1, result, e);
	char why[160];

	if (kind || result->err || result->attr.size == item->size)
		return kind;
	snprintf(why, sizeof why, "%" PRIu64 " of %" PRIu64 " bytes arrived at E2B",
		result->attr.size, item->size);
	set_result(result, ERR_IO, why);
	return ERR_OK;
}

static enum err put_in_place(struct e2b *b, const struct call *call, const char *staged,
	const struct store_item *item, struct store_result *result, struct error *e)
{
	const struct change changes[] = {
		{ .op = CHANGE_PLACE,
			.flags = CHANGE_BY_HANDLE,
			.path = staged,
			.path2 = item->path },
		{ .op = CHANGE_SETATTR,
			.needs = 1,
			.path = item->path,
			.set = SET_MODE,
			.mode = item->mode },
	};

	return apply_changes(b, call, changes, 2, result, e);
}

/* Best effort: what stays goes with the staging directory. */
static void remove_staged(struct e2b *b, const struct call *call, const char *staged)
{
	const struct change change = { .op = CHANGE_UNLINK, .path = staged };
	const struct apply_request request = { .changes = &change, .changes_count = 1 };
	struct change_result result = { 0 };

	provider_apply(&b->base, call, &request, &result, NULL);
}

static enum err store_large(struct e2b *b, const struct call *call, const struct store_item *item,
	struct store_result *result, struct error *e)
{
	struct reader reader = { .item = item };
	struct envd_upload upload = {
		.len = item->size, .source = read_item, .source_context = &reader
	};
	AUTO_FREE char *path = NULL;
	char staged[REMOTE_NAME_SIZE];
	enum err kind = remote_new_name("/store-", staged, e);

	if (kind)
		return kind;
	if (asprintf(&path, "%s%s", b->base.staging, staged) < 0)
		return no_memory(e);
	upload.path = path;
	kind = e2b_upload(b, call, &upload, e);
	if (!kind)
		kind = close_staged(b, call, staged, item, result, e);
	if (!kind && !result->err)
		kind = put_in_place(b, call, staged, item, result, e);
	if (reader.err) {
		set_result(result, reader.err, reader.why.text);
		kind = ERR_OK;
	}
	if (!kind && result->err)
		remove_staged(b, call, staged);
	return kind;
}

/* ---- A batch ---- */

/* The small ones among `items`, and where each comes from. */
struct small {
	struct store_item *items;
	struct store_result *results;
	size_t *from;
	size_t count;
};

static void small_release(struct small *s)
{
	free(s->items);
	free(s->results);
	free(s->from);
}

static bool choose_small(struct small *s, const struct store_item *items, size_t items_count)
{
	s->items = calloc(items_count, sizeof *s->items);
	s->results = calloc(items_count, sizeof *s->results);
	s->from = calloc(items_count, sizeof *s->from);
	if (!s->items || !s->results || !s->from)
		return false;
	for (size_t i = 0; i < items_count; i++)
		if (items[i].size < LARGE_SIZE) {
			s->items[s->count] = items[i];
			s->from[s->count++] = i;
		}
	return true;
}

static enum err store_small(struct e2b *b, const struct call *call, const struct store_item *items,
	size_t items_count, struct store_result *results, struct error *e)
{
	__attribute__((cleanup(small_release))) struct small s = { 0 };
	enum err kind;

	if (!choose_small(&s, items, items_count))
		return no_memory(e);
	kind = s.count ? store_by_apply(&b->base, call, s.items, s.count, s.results, e) : ERR_OK;
	for (size_t i = 0; !kind && i < s.count; i++)
		results[s.from[i]] = s.results[i];
	return kind;
}

enum err e2b_store(struct provider *p, const struct call *call, const struct store_item *items,
	size_t items_count, struct store_result *results, struct error *e)
{
	enum err kind = ERR_OK;

	if (!items_count)
		return ERR_OK;
	memset(results, 0, items_count * sizeof *results);
	kind = store_small(e2b_of(p), call, items, items_count, results, e);
	for (size_t i = 0; !kind && i < items_count; i++)
		if (items[i].size >= LARGE_SIZE)
			kind = store_large(e2b_of(p), call, &items[i], &results[i], e);
	return kind;
}
