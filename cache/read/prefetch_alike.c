/*
 * Files of a call whose contents are stored as those of another sandbox, or of another version:
 * their hashes show that.
 */
#include "cache/read/prefetch_inside.h"

#include "cache/blocks/block_store.h"
#include "cache/read/hashes.h"
#include "cache/session/session.h"

#include "providers/base/cleanup.h"

#include <stdlib.h>

/*
 * This much travels in half of a usual round trip of 40 ms, by 100 Mbit/s: for less no hashes are
 * asked for.
 */
#define WORTH_BYTES ((uint64_t)256 * 1024)

/* The answer to a hash: the attributes of the file, and the bytes around them. */
#define ANSWER_BYTES 160

struct alike {
	struct prefetch_call *call;
	bool *is_here; /* for each file of the call */
	size_t *files; /* the file of each item */
	size_t count;
	uint64_t saved; /* bytes saved, if all these files are here */
};

static void choose(struct alike *a)
{
	const struct prefetch_call *call = a->call;

	for (size_t n = 0; n < call->count; n++) {
		const struct tree_file *f = &call->files[n];

		bool is_all = !f->offset && f->has_end;

		if (!is_all || !hashes_may_help(call->prefetch->cache, f->path, f->size))
			continue;
		a->files[a->count++] = n;
		a->saved += f->size > ANSWER_BYTES ? f->size - ANSWER_BYTES : 0;
	}
}

/*
 * Where all files may be here no contents need be asked for. In other calls much must be here: in
 * any large tree some files have the name and the size of others.
 */
static bool is_worth_it(const struct alike *a)
{
	bool is_much = a->saved >= WORTH_BYTES && a->saved >= a->call->planned / 4;

	return is_much || (a->count > 1 && a->count == a->call->count);
}

static void take_one(void *context, size_t item, const struct attr *version)
{
	struct alike *a = context;
	struct prefetch_call *call = a->call;
	size_t n = a->files[item];

	free(call->filling);
	call->filling =
		version->size <= prefetch_call_room(call, n) ? malloc(version->size + 1) : NULL;
	if (!call->filling ||
		!block_store_read(call->prefetch->cache->block_store, version, 0, call->filling,
			(size_t)version->size, &call->filled))
		return;
	a->is_here[n] = true;
	prefetch_call_took(call, n, version);
}

static void ask_hashes(struct alike *a, const struct call *limits)
{
	const struct prefetch_call *call = a->call;
	AUTO_FREE struct fetch_item *items = calloc(a->count, sizeof *items);

	for (size_t n = 0; items && n < a->count; n++)
		items[n] = (struct fetch_item){ .path = call->files[a->files[n]].path,
			.target = call->files[a->files[n]].target,
			.flags = a->files[n] ? 0 : CHANGE_BY_HANDLE };
	/* Files that are not found in this way are fetched. */
	if (items)
		hashes_adopt(call->prefetch->cache, limits, items, a->count, take_one, a, NULL);
}

enum err prefetch_take_alike(struct prefetch_call *call, const struct call *limits, struct error *e)
{
	AUTO_FREE bool *is_here = calloc(call->count, sizeof *is_here);
	AUTO_FREE size_t *files = calloc(call->count, sizeof *files);
	struct alike a = { .call = call, .is_here = is_here, .files = files };

	call->asked_files = calloc(call->count, sizeof *call->asked_files);
	if (!is_here || !files || !call->asked_files)
		return error_set(e, ERR_NO_MEMORY, "reading small files");
	choose(&a);
	if (a.count && is_worth_it(&a))
		ask_hashes(&a, limits);
	for (size_t n = 0; n < call->count; n++)
		if (!is_here[n])
			call->asked_files[call->asked_count++] = n;
	return ERR_OK;
}
