#include "cache/blocks/block_store.h"
#include "cache/lease/walk.h"
#include "cache/read/prefetch_inside.h"
#include "cache/session/session.h"
#include "cache/session/wait.h"

#include "providers/base/condition.h"

#include <stdlib.h>
#include <string.h>

/* Reads of one walk are no further apart: a compiler is at work between two of its files. */
#define GAP_MS 5000

/*
 * The first files of a directory: as much as comes in a round trip, and at least as much as 100
 * Mbit/s bring in the usual 40 ms.
 */
#define NEAR_FILES     64
#define NEAR_BYTES     ((uint64_t)512 * 1024)
#define NEAR_BYTES_MAX ((uint64_t)2 * 1024 * 1024)
/* One file, and its close neighbours. */
#define ALONE_FILES 5
/* The rest of the directory, when most of the first files were read. */
#define MORE_FILES 1024
#define MORE_BYTES ((uint64_t)4 * 1024 * 1024)
/*
 * The files of a walk: 1.3 s of 100 Mbit/s, and a request no longer than goes up in the time of a
 * round trip.
 */
#define FAR_FILES 25000
#define FAR_BYTES ((uint64_t)16 * 1024 * 1024)
/* Files that a walk may never come to: a few round trips. */
#define BEYOND_BYTES ((uint64_t)2 * 1024 * 1024)

/* This many files that came along, or this many calls, show how the reader reads. */
#define WALK_FILES 4
#define WALK_CALLS 3

/*
 * A wait of this length for the names of more files is worth while: listings take less, or bring
 * more than one call may fetch.
 */
#define LISTING_MS     100
#define FAR_LISTING_MS 500

/*
 * A reader waits for a file that is at most this many bytes away: 0.3 s of 100 Mbit/s. Otherwise it
 * asks for the file alone.
 */
#define DISTANCE_MAX ((uint64_t)4 * 1024 * 1024)

/* One read under way. */
struct wish {
	const struct call *call;
	struct inode *inode;
	uint64_t offset;
	unsigned char *out;
	size_t len, got;
};

/* ---- The files that come along ---- */

static bool is_going_locked(const struct prefetch *b)
{
	return b->latest.number && monotonic_ms() - b->latest.used_ms <= GAP_MS;
}

static bool was_wasteful(const struct prefetch_latest *l)
{
	return l->used < l->files / 4;
}

static bool was_read(const struct prefetch_latest *l)
{
	return l->used >= l->files - l->files / 4;
}

/* Whether most files were read, of some files at once or of few files several times. */
static bool is_walk(const struct prefetch_latest *l)
{
	return was_read(l) && (l->files >= WALK_FILES || l->streak >= WALK_CALLS);
}

static enum tree_reach reach_locked(const struct prefetch *b, const struct inode *dir)
{
	const struct prefetch_latest *l = &b->latest;
	bool is_alone = was_wasteful(l) || l->reach == TREE_ALONE;

	if (!is_going_locked(b) || dir == l->dir)
		return TREE_NEAR;
	return is_alone ? TREE_ALONE : is_walk(l) ? TREE_FAR : TREE_NEAR;
}

/* Whether most files of the same directory were read, and more are wanted. */
static bool goes_on_locked(const struct prefetch *b, const struct inode *dir)
{
	const struct prefetch_latest *l = &b->latest;

	return is_going_locked(b) && dir == l->dir && l->files >= WALK_FILES && was_read(l);
}

/* Files that may be larger than others have room of their own. */
static uint64_t near_bytes(const struct prefetch *b, const struct inode *first)
{
	struct cache *c = b->cache;

	return bandwidth_delay_product(&c->bandwidth, NEAR_BYTES, NEAR_BYTES_MAX) +
		tree_whole_max(c->tree, first) - TREE_WHOLE_MAX;
}

static struct tree_file_query limits_locked(
	const struct prefetch *b, const struct inode *first, const struct inode *dir)
{
	uint64_t call_max = provider_fetch_max(b->cache->provider);
	struct tree_file_query g = { .reach = reach_locked(b, dir),
		.files_max = NEAR_FILES,
		.bytes_max = near_bytes(b, first) };

	if (g.reach == TREE_NEAR && goes_on_locked(b, dir)) {
		g.files_max = MORE_FILES;
		g.bytes_max = MORE_BYTES;
	} else if (g.reach == TREE_FAR) {
		g.files_max = FAR_FILES;
		/* Without a block store only as much comes as there is room for in memory. */
		g.bytes_max = b->cache->block_store ? FAR_BYTES : PREFETCH_MEMORY_MAX;
		g.before = b->latest.dir;
		g.beyond_max = BEYOND_BYTES;
	} else if (g.reach == TREE_ALONE) {
		g.files_max = ALONE_FILES;
	}
	if (g.bytes_max > call_max)
		g.bytes_max = call_max;
	return g;
}

static void drop_latest_locked(struct prefetch *b)
{
	tree_unpin(b->cache->tree, b->latest.dir);
	b->latest = (struct prefetch_latest){ 0 };
}

static void begin_locked(struct prefetch *b, struct inode *i, bool no_atime)
{
	struct inode *dir = tree_parent(b->cache->tree, i);
	const struct tree_file_query limits = limits_locked(b, i, dir);
	const struct prefetch_call *call = prefetch_call_begin_locked(b, i, &limits, no_atime);
	unsigned streak = is_going_locked(b) && was_read(&b->latest) ? b->latest.streak + 1 : 0;

	if (!call) {
		tree_unpin(b->cache->tree, dir);
		return;
	}
	stats_add(&b->cache->stats, STATS_BULK_FILES, call->count);
	drop_latest_locked(b);
	b->latest = (struct prefetch_latest){ .number = call->number,
		.dir = dir,
		.reach = limits.reach,
		.files = (unsigned)call->count - 1,
		.streak = streak,
		.used_ms = monotonic_ms() };
}

/* ---- One read ---- */

/* The first file of a call does not count: it was asked for anyway. */
static void note_read_locked(struct prefetch *b, struct prefetch_file *f)
{
	bool is_latest = f->number == b->latest.number;

	if (is_latest)
		b->latest.used_ms = monotonic_ms();
	if (f->was_read)
		return;
	f->was_read = true;
	stats_add(&b->cache->stats, STATS_BULK_USED, 1);
	if (is_latest && f->before)
		b->latest.used++;
}

static bool is_current(const struct prefetch *b, const struct prefetch_file *f)
{
	return tree_still(b->cache->tree, f->inode, f->seen, &f->version);
}

static void copy_locked(const struct prefetch_file *f, struct wish *w)
{
	uint64_t skip = w->offset - f->offset;
	size_t at = skip < f->len ? (size_t)skip : f->len;

	w->got = w->len < f->len - at ? w->len : f->len - at;
	memcpy(w->out, f->bytes + at, w->got);
}

/*
 * A call that ended early because the sandbox could not be reached: asking again would only take
 * the same time again.
 */
static enum err end_of_call(const struct prefetch_call *call, struct error *e)
{
	switch (call->error.kind) {
	case ERR_TIMEOUT:
	case ERR_UNREACHABLE:
	case ERR_GONE:
	case ERR_AUTH: return error_set(e, call->error.kind, "%s", call->error.text);
	default: return ERR_OK;
	}
}

static bool is_near_locked(const struct prefetch_file *f)
{
	return f->before <= f->call->arrived + DISTANCE_MAX;
}

/* Waits until the file is here, or not awaited any more. */
static enum err wait_locked(struct prefetch *b, const struct wish *w, struct error *e)
{
	struct prefetch_file *f = prefetch_find_locked(b, w->inode, w->offset, w->len);
	struct prefetch_call *call = f->call;
	enum err kind = ERR_OK;

	call->readers++;
	while (!kind && f && f->call == call) {
		kind = wait_for_other_locked(&b->changed, &b->lock, w->call, &call->progress, e);
		f = prefetch_find_locked(b, w->inode, w->offset, w->len);
	}
	if (!kind && !f)
		kind = end_of_call(call, e);
	call->readers--;
	return kind;
}

/* The file, if it is awaited or here. One that is here in an old version is dropped. */
static struct prefetch_file *find_current_locked(struct prefetch *b, const struct wish *w)
{
	struct prefetch_file *f = prefetch_find_locked(b, w->inode, w->offset, w->len);

	if (!f || f->call || is_current(b, f))
		return f;
	prefetch_forget_locked(b, f);
	return NULL;
}

/* Reads from a file that is here or under way. */
static enum err read_locked(struct prefetch *b, struct wish *w, bool *served, struct error *e)
{
	struct prefetch_file *f = find_current_locked(b, w);
	enum err kind = ERR_OK;

	if (f)
		note_read_locked(b, f);
	if (f && f->call && is_near_locked(f)) {
		kind = wait_locked(b, w, e);
		f = find_current_locked(b, w);
	}
	*served = kind || (f && !f->call);
	if (kind || !*served)
		return kind;
	prefetch_use_locked(b, f);
	copy_locked(f, w);
	return ERR_OK;
}

static enum err fetch_locked(struct prefetch *b, struct wish *w, bool *served, struct error *e)
{
	if (!prefetch_find_locked(b, w->inode, w->offset, w->len))
		begin_locked(b, w->inode, w->call && w->call->no_atime);
	return read_locked(b, w, served, e);
}

static bool read_stored(struct prefetch *b, struct wish *w)
{
	struct cache *c = b->cache;
	struct attr version;

	return fetch_version(c, w->call, w->inode, w->offset, &version) &&
		block_store_read(c->block_store, &version, w->offset, w->out, w->len, &w->got);
}

static bool is_small(const struct prefetch *b, struct inode *i)
{
	struct attr attr;

	tree_attr(b->cache->tree, i, &attr);
	return attr.size && attr.size <= tree_whole_max(b->cache->tree, i);
}

typedef enum err (*reader_locked)(
	struct prefetch *b, struct wish *w, bool *served, struct error *e);

static enum err with_lock(
	struct prefetch *b, reader_locked read, struct wish *w, bool *served, struct error *e)
{
	pthread_mutex_lock(&b->lock);
	enum err kind = read(b, w, served, e);

	pthread_mutex_unlock(&b->lock);
	return kind;
}

static bool goes_far(struct prefetch *b, const struct inode *i)
{
	const struct inode *dir = tree_place(b->cache->tree, i);

	pthread_mutex_lock(&b->lock);
	bool is_far = reach_locked(b, dir) == TREE_FAR;

	pthread_mutex_unlock(&b->lock);
	return is_far;
}

static enum err read_small(struct prefetch *b, struct wish *w, bool *served, struct error *e)
{
	if (tree_is_gits(b->cache->tree, w->inode))
		walk_announce(b->cache->walk);
	*served = read_stored(b, w);
	if (*served)
		return ERR_OK;
	walk_wait_idle(
		b->cache->walk, w->call, goes_far(b, w->inode) ? FAR_LISTING_MS : LISTING_MS);
	return with_lock(b, fetch_locked, w, served, e);
}

enum err prefetch_read(struct prefetch *b, const struct call *call, struct inode *i,
	uint64_t offset, void *out, size_t len, size_t *got, bool *served, struct error *e)
{
	struct wish w = { .call = call, .inode = i, .offset = offset, .out = out, .len = len };

	*served = false;
	if (!b)
		return ERR_OK;
	enum err kind = with_lock(b, read_locked, &w, served, e);

	if (!kind && !*served && is_small(b, i))
		kind = read_small(b, &w, served, e);
	*got = w.got;
	return kind;
}

void prefetch_drop(struct prefetch *b, struct inode *i)
{
	if (!b)
		return;
	pthread_mutex_lock(&b->lock);
	prefetch_forget_all_locked(b, i);
	pthread_mutex_unlock(&b->lock);
}

void prefetch_drop_unused(struct prefetch *b)
{
	if (!b)
		return;
	pthread_mutex_lock(&b->lock);
	prefetch_drop_over_locked(b);
	prefetch_forget_unused_locked(b);
	if (b->latest.dir && !tree_may_be_read(b->cache->tree, b->latest.dir))
		drop_latest_locked(b);
	pthread_mutex_unlock(&b->lock);
}

/* ---- Life ---- */

enum err prefetch_new(struct prefetch **out, struct cache *c, struct error *e)
{
	struct prefetch *b = calloc(1, sizeof *b);
	enum err kind = b ? cancel_init(&b->cancel, e) : error_set(e, ERR_NO_MEMORY, "cache");

	if (kind) {
		free(b);
		return kind;
	}
	b->cache = c;
	pthread_mutex_init(&b->lock, NULL);
	condition_init(&b->changed);
	TAILQ_INIT(&b->by_use);
	*out = b;
	return ERR_OK;
}

void prefetch_free(struct prefetch *b)
{
	if (!b)
		return;
	cancel_throw(&b->cancel);
	while (!LIST_EMPTY(&b->calls))
		prefetch_call_free(LIST_FIRST(&b->calls));
	while (!TAILQ_EMPTY(&b->by_use))
		prefetch_forget_locked(b, TAILQ_FIRST(&b->by_use));
	drop_latest_locked(b);
	pthread_cond_destroy(&b->changed);
	pthread_mutex_destroy(&b->lock);
	cancel_release(&b->cancel);
	free(b);
}
