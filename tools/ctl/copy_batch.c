/* Batches of changes, and their results. */
#include "tools/ctl/copy_inside.h"

#include "providers/base/cleanup.h"

#include <string.h>

/*
 * Contents and changes of one batch. 2,000 files of 16 MB in all fit in one, which is in memory
 * several times on its way. A directory of this machine applies each change by itself.
 */
#define BATCH_BYTES        ((size_t)20 * 1024 * 1024)
#define BATCH_CHANGES      ((size_t)16384)
#define BATCH_BYTES_HERE   ((size_t)2 * 1024 * 1024)
#define BATCH_CHANGES_HERE ((size_t)256)
/* Paths can be as long as contents; a request holds 64 MiB (helper/wire.h). */
#define PATHS_MAX  ((size_t)16 * 1024 * 1024)
#define ROOM_FIRST ((size_t)256)

_Static_assert(BATCH_BYTES_HERE >= VERB_DATA_MAX, "a piece of contents finds room");

/* ---- Memory of a batch ---- */

static bool is_here(const struct copying *c)
{
	return c->copy->to->ops->caps & PROVIDER_EMBEDDED;
}

enum err copy_batch_new(struct copying *c, struct error *e)
{
	struct copy_batch *b = &c->batch;

	b->data_max = is_here(c) ? BATCH_BYTES_HERE : BATCH_BYTES;
	b->data = malloc(b->data_max);
	return b->data ? ERR_OK : copy_no_memory(e);
}

void copy_batch_release(struct copy_batch *b)
{
	free(b->changes);
	free(b->results);
	free(b->owners);
	free(b->data);
}

static bool grow(struct copy_batch *b)
{
	size_t room = b->room ? 2 * b->room : ROOM_FIRST;

	if (b->count < b->room)
		return true;
	struct change *changes = realloc(b->changes, room * sizeof *changes);

	if (changes)
		b->changes = changes;
	struct change_result *results = realloc(b->results, room * sizeof *results);

	if (results)
		b->results = results;
	struct copy_entry **owners = realloc(b->owners, room * sizeof(struct copy_entry *));

	if (owners)
		b->owners = owners;
	if (changes && results && owners)
		b->room = room;
	return b->room == room;
}

/* ---- Results ---- */

/* An existing directory is used, and keeps its attributes. */
static bool is_fine(struct copy_entry *owner, const struct change *change, enum err result)
{
	if (change->op == CHANGE_MKDIR && result == ERR_EXISTS)
		owner->is_there = true;
	return result == ERR_OK || owner->is_there;
}

static void count_done(struct copying *c, struct copy_entry *owner, const struct change *change)
{
	if (owner->parent)
		c->list.entries[owner->parent - 1].is_entered = true;
	switch (change->op) {
	case CHANGE_MKDIR: c->counts->directories++; break;
	case CHANGE_WRITE: c->counts->bytes += change->data_len; break;
	case CHANGE_RENAME:
		*(owner->link ? &c->counts->links : &c->counts->files) += 1;
		free(take(owner->staged));
		break;
	default: break;
	}
}

/* The first refusal counts: changes that needed it were only skipped. */
static void take_result(struct copying *c, size_t n)
{
	const struct change *change = &c->batch.changes[n];
	const struct change_result *result = &c->batch.results[n];
	struct copy_entry *owner = c->batch.owners[n];

	if (!owner)
		return;
	owner->step = 0;
	if (is_fine(owner, change, result->err))
		count_done(c, owner, change);
	else
		copy_fail(c, owner, result->err,
			*result->why ? result->why : error_words(result->err));
}

/* The progress of a batch that is being sent. */
struct leaving {
	struct progress progress; /* first */
	struct copying *copying;
};

static void tell_progress(const struct copying *c, uint64_t leaving)
{
	if (c->copy->progress)
		c->copy->progress(c->copy->context, c->counts->bytes + leaving, c->list.bytes);
}

/* More bytes are sent than the contents, or fewer where they are compressed. */
static void tell_leaving(struct progress *p)
{
	const struct copying *c = ((struct leaving *)p)->copying;
	uint64_t sent = p->sent, most = c->batch.data_len;

	tell_progress(c, sent < most ? sent : most);
}

static enum err send_batch(struct copying *c, const struct apply_request *request, struct error *e)
{
	struct leaving leaving = { .progress = progress_now(), .copying = c };
	struct call call = c->call ? *c->call : (struct call){ 0 };

	leaving.progress.also = call.progress;
	leaving.progress.on_sent = tell_leaving;
	call.progress = &leaving.progress;
	return provider_apply(c->copy->to, &call, request, c->batch.results, e);
}

enum err copy_flush(struct copying *c, struct error *e)
{
	struct copy_batch *b = &c->batch;
	const struct apply_request request = { .changes = b->changes, .changes_count = b->count };
	enum err kind = copy_check(c, e);

	if (kind == ERR_OK && b->count) {
		memset(b->results, 0, b->count * sizeof *b->results);
		kind = send_batch(c, &request, e);
	}
	for (size_t n = 0; kind == ERR_OK && n < b->count; n++)
		take_result(c, n);
	b->count = b->data_len = b->paths_len = 0;
	if (kind == ERR_OK)
		tell_progress(c, 0);
	return kind;
}

/* ---- Filling a batch ---- */

static enum err make_room(struct copying *c, size_t data_len, struct error *e)
{
	struct copy_batch *b = &c->batch;
	size_t changes_max = is_here(c) ? BATCH_CHANGES_HERE : BATCH_CHANGES;
	bool fits = b->count < changes_max && b->paths_len < PATHS_MAX &&
		data_len <= b->data_max - b->data_len;
	enum err kind = fits ? ERR_OK : copy_flush(c, e);

	if (kind == ERR_OK && !grow(b))
		return copy_no_memory(e);
	return kind;
}

static void add(struct copying *c, struct copy_entry *owner, struct change change)
{
	struct copy_batch *b = &c->batch;

	change.uid = change.gid = CHANGE_NO_OWNER;
	change.needs = owner ? (uint32_t)owner->step : 0;
	b->paths_len += strlen(change.path) + (change.path2 ? strlen(change.path2) : 0);
	b->changes[b->count] = change;
	b->owners[b->count++] = owner;
	if (owner)
		owner->step = b->count;
}

enum err copy_add(
	struct copying *c, struct copy_entry *owner, struct change change, struct error *e)
{
	enum err kind = make_room(c, 0, e);

	if (kind == ERR_OK && !(owner && (owner->is_failed || owner->is_there)))
		add(c, owner, change);
	return kind;
}

enum err copy_add_bytes(struct copying *c, struct copy_entry *owner, uint64_t offset,
	const void *bytes, size_t len, struct error *e)
{
	struct copy_batch *b = &c->batch;
	enum err kind = make_room(c, len, e);

	if (kind != ERR_OK || owner->is_failed)
		return kind;
	unsigned char *place = b->data + b->data_len;

	memcpy(place, bytes, len);
	b->data_len += len;
	add(c, owner,
		(struct change){ .op = CHANGE_WRITE,
			.flags = CHANGE_BY_HANDLE,
			.path = owner->staged,
			.offset = offset,
			.data = place,
			.data_len = len });
	return ERR_OK;
}
