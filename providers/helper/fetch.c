#include "providers/base/cleanup.h"
#include "providers/base/harmless.h"
#include "providers/helper/follow.h"
#include "providers/helper/helper.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* How often a file that changes while it is read is read again. */
#define TRIES_MAX 8
/* Hashes are sent in pieces of so many bytes. */
#define HASHES_SIZE ((size_t)64 * 1024)
#define HASH_SIZE   sizeof(XXH128_canonical_t)

/* One item that is being read. */
struct reading {
	const struct fetch_item *item;
	uint32_t index;
	fetch_sink sink;
	void *context;
	int fd;
	struct attr before;
	unsigned char *room; /* owned by the batch */
	size_t room_size;
	uint64_t found; /* the result of a seek */
	char *where;    /* owned: the path, where the inode has moved */
	bool has_delivered;
	bool is_last_try;
	bool is_stopped; /* set by the sink: the whole batch ends */
};

/* Compares the attributes, and keeps those after the read: reading changes the access time. */
static enum err check_unchanged(struct reading *g, struct error *e)
{
	struct attr now;
	enum err k = attr_of_fd(g->fd, &now, e);

	if (k != ERR_OK)
		return k;
	bool is_same = attr_is_same_version(&now, &g->before);

	g->before = now;
	return is_same ? ERR_OK
		       : error_set(e, ERR_CONFLICT, "%s: changed while it was read", g->item->path);
}

/*
 * The client never gets bytes from before and after a change together. But a file that changes
 * during every try of its first piece is read as read(2) here would read it.
 */
static enum err deliver(
	struct reading *g, uint64_t offset, const void *bytes, size_t len, struct error *e)
{
	const struct fetch_piece piece = {
		.kind = FETCH_DATA, .item = g->index, .offset = offset, .bytes = bytes, .len = len
	};
	enum err k = check_unchanged(g, e);

	if (k != ERR_OK && !(k == ERR_CONFLICT && g->is_last_try && !g->has_delivered))
		return k;
	g->has_delivered = true;
	k = g->sink(g->context, &piece, e);
	g->is_stopped = k != ERR_OK;
	return k;
}

/* Reads up to `len` bytes: fewer at the end of the file. */
static enum err read_full(const struct reading *g, uint64_t offset, void *dst, size_t len,
	size_t *got, struct error *e)
{
	*got = 0;
	while (*got < len) {
		ssize_t n = pread(g->fd, (char *)dst + *got, len - *got, (off_t)(offset + *got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_errno(e, errno, "%s", g->item->path);
		if (n == 0)
			break;
		*got += (size_t)n;
	}
	return ERR_OK;
}

static uint64_t end_of_range(const struct fetch_item *item)
{
	return item->length > INT64_MAX - item->offset ? INT64_MAX : item->offset + item->length;
}

static size_t smaller(uint64_t a, size_t b)
{
	return a < b ? (size_t)a : b;
}

static enum err read_bytes(struct reading *g, struct error *e)
{
	uint64_t at = g->item->offset, end = end_of_range(g->item);

	while (at < end) {
		size_t want = smaller(end - at, g->room_size), got;
		enum err k = read_full(g, at, g->room, want, &got, e);

		if (k == ERR_OK && got)
			k = deliver(g, at, g->room, got, e);
		if (k != ERR_OK)
			return k;
		if (got < want)
			break;
		at += got;
	}
	return g->has_delivered ? ERR_OK : check_unchanged(g, e);
}

/* The hash of the block at `at`, or *len == 0 at the end of the file. */
static enum err hash_block(const struct reading *g, uint64_t at, uint64_t block_end,
	unsigned char out[HASH_SIZE], uint64_t *len, struct error *e)
{
	XXH3_state_t state;
	XXH128_canonical_t canonical;

	*len = 0;
	XXH3_128bits_reset(&state);
	while (at < block_end) {
		size_t want = smaller(block_end - at, g->room_size), got;
		enum err k = read_full(g, at, g->room, want, &got, e);

		if (k != ERR_OK)
			return k;
		XXH3_128bits_update(&state, g->room, got);
		*len += got;
		at += got;
		if (got < want)
			break;
	}
	XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state));
	memcpy(out, &canonical, HASH_SIZE);
	return ERR_OK;
}

/* The offset of a piece is that of its first block. */
static enum err read_hashes(struct reading *g, struct error *e)
{
	const uint64_t size = g->item->block_size, end = end_of_range(g->item);
	AUTO_FREE unsigned char *hashes = malloc(HASHES_SIZE);
	uint64_t at = g->item->offset, len = size;

	if (!hashes)
		return error_set(e, ERR_NO_MEMORY, "hashes");
	while (at < end && len == size) {
		const uint64_t first = at;
		size_t used = 0;
		enum err k = ERR_OK;

		while (k == ERR_OK && at < end && len == size && used < HASHES_SIZE) {
			k = hash_block(
				g, at, end - at < size ? end : at + size, hashes + used, &len, e);
			used += k == ERR_OK && len ? HASH_SIZE : 0;
			at += size;
		}
		if (k == ERR_OK && used)
			k = deliver(g, first, hashes, used, e);
		if (k != ERR_OK)
			return k;
	}
	return g->has_delivered ? ERR_OK : check_unchanged(g, e);
}

static enum err seek(struct reading *g, struct error *e)
{
	int whence = g->item->kind == FETCH_SEEK_DATA ? SEEK_DATA : SEEK_HOLE;
	off_t found = lseek(g->fd, (off_t)g->item->offset, whence);

	if (found < 0)
		return error_errno(e, errno, "%s: lseek", g->item->path);
	g->found = (uint64_t)found;
	return g->has_delivered ? ERR_OK : check_unchanged(g, e);
}

static enum err say_where(struct reading *g, struct error *e)
{
	const char *path = g->where ? g->where : g->item->path;

	return deliver(g, 0, path, strlen(path), e);
}

static enum err (*const readers[])(struct reading *, struct error *) = {
	[FETCH_BYTES] = read_bytes,
	[FETCH_HASHES] = read_hashes,
	[FETCH_SEEK_DATA] = seek,
	[FETCH_SEEK_HOLE] = seek,
	[FETCH_WHERE] = say_where,
	[FETCH_CHANGEABLE] = check_unchanged,
};

static enum err check_item(const struct fetch_item *item, struct error *e)
{
	if (item->kind < FETCH_BYTES || item->kind > FETCH_CHANGEABLE)
		return error_set(e, ERR_INVALID, "%s: no such kind of fetch", item->path);
	if (item->offset > INT64_MAX)
		return error_set(e, ERR_INVALID, "%s: no such offset", item->path);
	if (item->kind == FETCH_HASHES && (!item->block_size || item->offset % item->block_size))
		return error_set(e, ERR_INVALID, "%s: hashes start at a block", item->path);
	return ERR_OK;
}

/* Holds the item without reading. */
static enum err hold_item(const struct place *p, struct reading *g, int *fd, struct error *e)
{
	struct attr attr;

	if (p->moved) {
		g->where = strdup(p->moved);
		if (!g->where)
			return error_set(e, ERR_NO_MEMORY, "%s", g->item->path);
	}
	return place_pin(p, &g->item->target, fd, &attr, g->item->path, e);
}

/* Two mounts of one file system may differ, so the way to the file decides. */
static enum err check_changeable(
	const struct place *p, const struct fetch_item *item, int *fd, struct error *e)
{
	struct attr attr;
	enum err k = place_pin(p, &item->target, fd, &attr, item->path, e);

	if (k == ERR_OK && faccessat(p->fd, p->name, W_OK, 0) && errno == EROFS)
		return error_errno(e, EROFS, "%s", item->path);
	return k;
}

static enum err open_to_read(
	const struct place *p, const struct fetch_item *item, int *fd, struct error *e)
{
	bool by_handle = item->flags & CHANGE_BY_HANDLE;

	/* O_NOATIME is refused for a file of another owner. */
	if (item->flags & FETCH_NOATIME &&
		place_open(p, O_RDONLY | O_NOATIME, &item->target, by_handle, fd, item->path,
			NULL) == ERR_OK)
		return ERR_OK;
	return place_open(p, O_RDONLY, &item->target, by_handle, fd, item->path, e);
}

static enum err open_item(struct follow *f, struct reading *g, int *fd, struct error *e)
{
	const struct fetch_item *item = g->item;
	AUTO_PLACE struct place p = PLACE_NONE;
	struct attr attr;
	enum err k = root_place(f->root, item->path, NULL, &p, e);

	k = follow_place(f, item->path, &item->target, NULL, k, &p, e);
	if (k == ERR_OK && item->kind == FETCH_WHERE)
		return hold_item(&p, g, fd, e);
	if (k == ERR_OK)
		k = place_stat(&p, &attr, item->path, e);
	if (k == ERR_OK && S_ISDIR(attr.mode))
		return error_set(e, ERR_IS_DIR, "%s: is a directory", item->path);
	if (k != ERR_OK)
		return k;
	if (item->kind == FETCH_CHANGEABLE)
		return check_changeable(&p, item, fd, e);
	return open_to_read(&p, item, fd, e);
}

static enum err read_item(struct follow *f, struct reading *g, struct error *e)
{
	AUTO_CLOSE int fd = -1;
	enum err k = check_item(g->item, e);

	if (k == ERR_OK)
		k = open_item(f, g, &fd, e);
	if (k != ERR_OK)
		return k;
	g->fd = fd;
	for (int tries = 1;; tries++) {
		g->is_last_try = tries == TRIES_MAX;
		k = attr_of_fd(fd, &g->before, e);
		if (k == ERR_OK)
			k = readers[g->item->kind](g, e);
		if (k != ERR_CONFLICT || g->has_delivered || g->is_stopped || g->is_last_try)
			return k;
	}
}

static enum err fetch_item(struct follow *f, struct reading *g, struct error *e)
{
	struct error why = { 0 };
	struct fetch_piece done = { .kind = FETCH_DONE, .item = g->index };

	done.err = read_item(f, g, &why);
	if (g->is_stopped)
		return error_set(e, done.err, "%s", why.text);
	if (done.err == ERR_OK) {
		done.attr = g->before;
		done.offset = g->found;
	} else {
		harmless_fit(done.why, sizeof done.why, why.text);
	}
	return g->sink(g->context, &done, e);
}

/* The room for the largest piece of any item. */
static size_t room_for(const struct fetch_item *items, size_t count)
{
	uint64_t largest = 1;

	for (size_t i = 0; i < count; i++) {
		uint64_t piece =
			items[i].kind == FETCH_HASHES ? items[i].block_size : items[i].length;

		largest = piece > largest ? piece : largest;
	}
	return smaller(largest, VERB_DATA_MAX);
}

enum err helper_fetch(const struct root *r, const struct fetch_item *items, size_t items_count,
	fetch_sink sink, void *context, struct error *e)
{
	const size_t room_size = room_for(items, items_count);
	struct follow follow = { .root = r, .left = FOLLOW_ENTRIES_MAX };
	AUTO_FREE unsigned char *room = malloc(room_size);
	enum err k = ERR_OK;

	if (!room)
		return error_set(e, ERR_NO_MEMORY, "fetch");
	for (size_t i = 0; i < items_count && k == ERR_OK; i++) {
		struct reading g = { .item = &items[i],
			.index = (uint32_t)i,
			.sink = sink,
			.context = context,
			.room = room,
			.room_size = room_size };

		k = fetch_item(&follow, &g, e);
		free(g.where);
	}
	return k;
}
