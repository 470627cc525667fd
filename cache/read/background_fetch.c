#include "cache/read/background_fetch.h"

#include "cache/blocks/block_store.h"
#include "cache/lease/path_request.h"
#include "cache/read/fetch.h"
#include "cache/session/clocks.h"
#include "cache/session/counted_provider.h"
#include "cache/session/session.h"
#include "cache/tree/tree.h"

#include "providers/base/cleanup.h"
#include "providers/base/thread.h"

#include <stdlib.h>
#include <string.h>

/*
 * This many reads that were asked for alone, no further apart than this, make a fetch worth while
 * once they took so long. Over a link without distance they are faster without the rest of the file
 * beside them.
 */
#define READS_MIN    8
#define ASKED_MIN_MS 300
#define READS_GAP_MS 1000
/* A larger file takes longer than most readers go on: 20 s of 100 Mbit/s. */
#define FILE_MAX ((uint64_t)256 * 1024 * 1024)
/* The items of one call: enough for the largest file. */
#define ITEMS_MAX 256

struct background_fetch {
	struct cache *cache;
	struct cancel cancel;
	pthread_mutex_t lock; /* guards what follows */
	/*
	 * The file that is read so. It is pinned while it is being fetched, else only to be
	 * compared with.
	 */
	struct inode *inode;
	unsigned reads;   /* the number of such reads in a row */
	int64_t asked_ms; /* the time that they took together */
	int64_t read_ms;
	bool is_running;
	pthread_t thread;
	bool has_thread;
};

/* One call, and the item that is arriving. */
struct filling {
	struct background_fetch *fill;
	struct asked asked;
	struct fetch_item items[ITEMS_MAX];
	size_t count, len;
	unsigned char bytes[VERB_DATA_MAX];
};

/* ---- The answer ---- */

static int64_t now_ms(const struct background_fetch *f)
{
	return clocks_awake_ms(f->cache->options.clocks);
}

static bool is_urgent(struct background_fetch *f)
{
	pthread_mutex_lock(&f->lock);
	bool is = now_ms(f) - f->read_ms <= READS_GAP_MS;

	pthread_mutex_unlock(&f->lock);
	return is;
}

static enum err keep_item(struct filling *g, const struct fetch_piece *piece, struct error *e)
{
	const struct fetch_item *item = &g->items[piece->item];
	struct background_fetch *f = g->fill;

	if (piece->err || !tree_still(f->cache->tree, f->inode, g->asked.seen, &piece->attr))
		return error_set(e, ERR_INTERRUPTED, "changed while it was read");
	fetch_keep(f->cache, item->path, &g->asked, &piece->attr, item->offset, g->bytes, g->len);
	g->len = 0;
	return is_urgent(f) ? ERR_OK : error_set(e, ERR_INTERRUPTED, "nobody reads on");
}

static enum err take_piece(void *context, const struct fetch_piece *piece, struct error *e)
{
	struct filling *g = context;

	if (piece->item >= g->count)
		return error_set(e, ERR_PROTOCOL, "an item that was not asked for");
	if (piece->kind == FETCH_DONE)
		return keep_item(g, piece, e);
	if (piece->len > sizeof g->bytes - g->len)
		return error_set(e, ERR_PROTOCOL, "more bytes than were asked for");
	memcpy(g->bytes + g->len, piece->bytes, piece->len);
	g->len += piece->len;
	return ERR_OK;
}

/* ---- Asking ---- */

/* Plans the parts that are not stored, as far as one call may bring them. */
static void plan(struct filling *g, const char *path, const struct attr *version)
{
	struct cache *c = g->fill->cache;
	uint64_t room = provider_fetch_max(c->provider);

	g->count = g->len = 0;
	for (uint64_t at = 0; at < version->size && g->count < ITEMS_MAX && room >= VERB_DATA_MAX;
		at += VERB_DATA_MAX) {
		if (block_store_has_at(c->block_store, version, at))
			continue;
		g->items[g->count++] = (struct fetch_item){ .kind = FETCH_BYTES,
			.path = path,
			.target = tree_expect(c->tree, g->fill->inode),
			.offset = at,
			.length = VERB_DATA_MAX,
			.flags = CHANGE_BY_HANDLE };
		room -= VERB_DATA_MAX;
	}
}

static enum err ask(
	struct cache *c, const char *path, const char *path2, void *context, struct error *e)
{
	(void)path2;
	struct filling *g = context;
	const struct call call = cache_call_of_ours(c, &g->fill->cancel);
	struct attr version;

	g->asked = asked_now(c);
	if (!tree_version(c->tree, g->fill->inode, monotonic_ms(), &version))
		return ERR_OK;
	plan(g, path, &version);
	return g->count ? counted_fetch(&c->counted, &call, g->items, g->count, take_piece, g, e)
			: ERR_OK;
}

static void *run(void *context)
{
	struct background_fetch *f = context;
	AUTO_FREE struct filling *g = malloc(sizeof *g);
	struct error e = { 0 };

	if (g) {
		g->fill = f;
		cache_with_path(f->cache, f->inode, NULL, ask, g, &e);
	}
	tree_unpin(f->cache->tree, f->inode);
	pthread_mutex_lock(&f->lock);
	f->inode = NULL;
	f->is_running = false;
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

/* ---- When it is worth while ---- */

static void join(struct background_fetch *f)
{
	if (f->has_thread)
		pthread_join(f->thread, NULL);
	f->has_thread = false;
}

static void start_locked(struct background_fetch *f)
{
	join(f);
	tree_pin(f->cache->tree, f->inode);
	f->has_thread = f->is_running = !thread_start(&f->thread, run, f);
	if (!f->has_thread)
		tree_unpin(f->cache->tree, f->inode);
	f->reads = 0;
}

static bool is_worth(struct background_fetch *f, struct inode *i)
{
	struct attr version;

	return f->cache->block_store && tree_version(f->cache->tree, i, monotonic_ms(), &version) &&
		version.size <= FILE_MAX;
}

static void note_locked(struct background_fetch *f, struct inode *i, int64_t asked_ms)
{
	bool goes_on = f->inode == i && now_ms(f) - f->read_ms <= READS_GAP_MS;

	if (f->is_running && f->inode != i)
		return;
	if (!f->is_running)
		f->inode = i; /* a running thread reads this field without the lock */
	f->read_ms = now_ms(f);
	if (!goes_on)
		f->reads = 0, f->asked_ms = 0;
	if (asked_ms >= 0)
		f->reads++, f->asked_ms += asked_ms;
	if (!f->is_running && f->reads >= READS_MIN && f->asked_ms >= ASKED_MIN_MS &&
		is_worth(f, i))
		start_locked(f);
}

void background_fetch_note(struct background_fetch *f, struct inode *i, int64_t asked_ms)
{
	if (!f)
		return;
	pthread_mutex_lock(&f->lock);
	note_locked(f, i, asked_ms);
	pthread_mutex_unlock(&f->lock);
}

/* ---- Life ---- */

enum err background_fetch_new(struct background_fetch **out, struct cache *c, struct error *e)
{
	AUTO_FREE struct background_fetch *f = calloc(1, sizeof *f);
	enum err kind = f ? cancel_init(&f->cancel, e) : error_set(e, ERR_NO_MEMORY, "cache");

	if (kind)
		return kind;
	f->cache = c;
	pthread_mutex_init(&f->lock, NULL);
	*out = take(f);
	return ERR_OK;
}

void background_fetch_free(struct background_fetch *f)
{
	if (!f)
		return;
	cancel_throw(&f->cancel);
	join(f);
	cancel_release(&f->cancel);
	pthread_mutex_destroy(&f->lock);
	free(f);
}
