#include "cache/read/block_read.h"

#include "cache/blocks/block_store.h"
#include "cache/read/background_fetch.h"
#include "cache/read/fetch.h"
#include "cache/read/hashes.h"
#include "cache/session/session.h"
#include "cache/session/wait.h"
#include "cache/tree/tree.h"

#include "providers/base/cleanup.h"
#include "providers/base/condition.h"

#include <string.h>
#include <sys/queue.h>

/* For a larger file its hashes are worth a question: the contents take longer. */
#define HASHED_MIN ((uint64_t)512 * 1024)
#define HASHED_MAX 16

/* Blocks of a file that are being fetched. */
struct gap {
	LIST_ENTRY(gap) link;
	const struct inode *inode;
	uint64_t start, end;
	/* The progress of the call that fetches them; NULL: not known. */
	const struct progress *progress;
};

struct block_read {
	struct cache *cache;
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t changed;
	LIST_HEAD(, gap) gaps;
	/* Versions whose hashes were asked for lately, and are not asked for again. */
	uint64_t hashed[HASHED_MAX];
	unsigned hashed_count;
};

/* One read under way. */
struct wish {
	const struct call *call;
	struct inode *inode;
	struct attr version;
	uint64_t offset;
	unsigned char *out;
	size_t len, got;
};

enum err block_read_new(struct block_read **out, struct cache *c, struct error *e)
{
	struct block_read *r = calloc(1, sizeof *r);

	if (!r)
		return error_set(e, ERR_NO_MEMORY, "cache");
	r->cache = c;
	pthread_mutex_init(&r->lock, NULL);
	condition_init(&r->changed);
	*out = r;
	return ERR_OK;
}

void block_read_free(struct block_read *r)
{
	if (!r)
		return;
	pthread_cond_destroy(&r->changed);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

static bool read_stored(struct block_read *r, struct wish *w)
{
	return block_store_read(
		r->cache->block_store, &w->version, w->offset, w->out, w->len, &w->got);
}

/* ---- A block that is missing ---- */

static uint64_t next_block(uint64_t offset)
{
	return (offset + BLOCK_SIZE - 1) / BLOCK_SIZE * BLOCK_SIZE;
}

/* Whether the block after the read is stored, or the read ends the file. */
static bool is_gap(struct block_read *r, const struct wish *w)
{
	return block_store_has_at(
		r->cache->block_store, &w->version, next_block(w->offset + w->len));
}

/* Waits until no call fetches any of these blocks; *waited: one did. */
static enum err await_locked(struct block_read *r, const struct wish *w, const struct gap *wanted,
	bool *waited, struct error *e)
{
	struct gap *one = LIST_FIRST(&r->gaps);
	enum err kind = ERR_OK;

	*waited = false;
	while (!kind && one) {
		bool is_same = one->inode == wanted->inode && one->start < wanted->end &&
			one->end > wanted->start;

		if (is_same)
			kind = wait_for_other_locked(
				&r->changed, &r->lock, w->call, one->progress, e);
		*waited |= is_same;
		one = is_same ? LIST_FIRST(&r->gaps) : LIST_NEXT(one, link);
	}
	return kind;
}

/* Fetches all blocks that the read touches, and stores them. */
static enum err fetch_blocks(
	struct block_read *r, struct wish *w, const struct gap *gap, struct error *e)
{
	size_t skip = (size_t)(w->offset - gap->start), len = (size_t)(gap->end - gap->start);
	AUTO_FREE unsigned char *bytes = malloc(len);
	struct reading reading = {
		.item = { .kind = FETCH_BYTES, .offset = gap->start, .length = len },
		.out = bytes,
		.room = len
	};
	enum err kind = bytes ? fetch_do(r->cache, w->call, w->inode, &reading, e)
			      : error_set(e, ERR_NO_MEMORY, "a read");

	w->got = 0;
	if (kind || reading.got <= skip)
		return kind;
	w->got = reading.got - skip < w->len ? reading.got - skip : w->len;
	memcpy(w->out, bytes + skip, w->got);
	return ERR_OK;
}

static enum err fill_gap(struct block_read *r, struct wish *w, struct error *e)
{
	struct gap gap = { .inode = w->inode,
		.start = w->offset / BLOCK_SIZE * BLOCK_SIZE,
		.end = next_block(w->offset + w->len),
		.progress = w->call ? w->call->progress : NULL };
	bool waited;

	pthread_mutex_lock(&r->lock);
	enum err kind = await_locked(r, w, &gap, &waited, e);

	if (!kind)
		LIST_INSERT_HEAD(&r->gaps, &gap, link);
	pthread_mutex_unlock(&r->lock);
	if (kind)
		return kind;
	if (!waited || !read_stored(r, w))
		kind = fetch_blocks(r, w, &gap, e);
	pthread_mutex_lock(&r->lock);
	LIST_REMOVE(&gap, link);
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
	return kind;
}

/* ---- A file that may be stored under another name ---- */

/*
 * Whether the hashes of this version were not asked for lately. From now on they count as asked
 * for.
 */
static bool is_new_locked(struct block_read *r, const struct attr *version)
{
	const uint64_t facts[] = { version->ino, version->size, (uint64_t)version->ctime.tv_sec,
		(uint64_t)version->ctime.tv_nsec };
	struct block_name name = block_name(facts, sizeof facts);
	uint64_t mark = block_name_number(&name);

	for (size_t n = 0; n < HASHED_MAX; n++)
		if (r->hashed[n] == mark)
			return false;
	r->hashed[r->hashed_count++ % HASHED_MAX] = mark;
	return true;
}

static bool adopt(struct block_read *r, const struct wish *w)
{
	if (w->version.size <= HASHED_MIN)
		return false;
	pthread_mutex_lock(&r->lock);
	bool is_new = is_new_locked(r, &w->version);

	pthread_mutex_unlock(&r->lock);
	return is_new && hashes_adopt_one(r->cache, w->call, w->inode, &w->version);
}

/* ---- Reading ---- */

static enum err serve(struct block_read *r, struct wish *w, bool *served, struct error *e)
{
	*served = true;
	if (read_stored(r, w))
		return ERR_OK;
	if (is_gap(r, w))
		return fill_gap(r, w, e);
	*served = adopt(r, w) && read_stored(r, w);
	return ERR_OK;
}

enum err block_read_read(struct block_read *r, const struct call *call, struct inode *i,
	uint64_t offset, void *out, size_t len, size_t *got, bool *served, struct error *e)
{
	struct wish w = { .call = call, .inode = i, .offset = offset, .out = out, .len = len };

	*served = false;
	*got = 0;
	if (!r || !fetch_version(r->cache, call, i, offset, &w.version))
		return ERR_OK;
	enum err kind = serve(r, &w, served, e);

	*got = *served ? w.got : 0;
	return kind;
}
