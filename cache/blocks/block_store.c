#include "cache/blocks/block_store.h"

#include "cache/blocks/async_writer.h"
#include "cache/blocks/block_index.h"
#include "cache/blocks/files.h"
#include "cache/blocks/filter.h"
#include "cache/blocks/growing.h"
#include "cache/blocks/memory.h"
#include "cache/blocks/partial_blocks.h"

#include "providers/base/cleanup.h"
#include "providers/base/log.h"
#include "providers/base/path.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define MEMORY_MAX ((size_t)32 * 1024 * 1024)
/*
 * The table of versions has one record for this many bytes of the budget: files are small, and have
 * old versions.
 */
#define FILE_BYTES ((uint64_t)8 * 1024)

struct block_store {
	struct block_name sandbox;
	struct block_files *files; /* NULL: there is no directory; nor are the three below */
	struct block_index *on_disk;
	struct filter *filter;
	struct async_writer *writer; /* writes blocks from memory to the directory */
	struct block_memory *memory; /* blocks that are about to be written, or cannot be */
	struct block_index *in_memory;
	struct partial_blocks *partial;
	struct growing *growing; /* files whose blocks are in memory, and in neither table */
	struct stats *stats;
	_Atomic bool is_bypassed; /* the directory did not take a block, and this was logged */
};

/* The part that a read or a write has in one block. */
struct share {
	struct block_place place;
	const struct attr *version;
	uint64_t index;
	size_t block_len;
	size_t at, len; /* within the block */
};

/*
 * The share of [offset, offset + len), which lies within the file and is not empty, in its first
 * block.
 */
static struct share first_share(
	const struct block_store *s, const struct attr *version, uint64_t offset, size_t len)
{
	uint64_t index = offset / BLOCK_SIZE;
	struct share share = { .place = block_place(&s->sandbox, version, index),
		.version = version,
		.index = index,
		.block_len = block_len(version->size, index),
		.at = (size_t)(offset % BLOCK_SIZE) };
	size_t rest = share.block_len - share.at;

	share.len = len < rest ? len : rest;
	return share;
}

static size_t within_file(const struct attr *version, uint64_t offset, size_t len)
{
	if (offset >= version->size)
		return 0;
	return version->size - offset < len ? (size_t)(version->size - offset) : len;
}

/* ---- Reading ---- */

/*
 * Memory comes first: a block that is written just now is in both places, and then on the disk
 * alone.
 */
static bool read_named(struct block_store *s, const struct block_name *name, void *out, size_t len)
{
	return block_memory_get(s->memory, name, out, len) ||
		(s->files && block_files_get(s->files, name, out, len));
}

/* A block in the table for memory may be on the disk already, as a block of another file. */
static bool read_indexed(struct block_store *s, const struct share *share, void *out)
{
	struct block_name name;

	if (block_index_find(s->in_memory, &share->place, &name) &&
		read_named(s, &name, out, share->block_len))
		return true;
	return s->files && block_index_find(s->on_disk, &share->place, &name) &&
		block_files_get(s->files, &name, out, share->block_len);
}

static bool read_block(struct block_store *s, const struct share *share, void *out)
{
	struct block_name name;

	if (read_indexed(s, share, out))
		return true;
	return growing_find(s->growing, share->version, share->index, &name) &&
		read_named(s, &name, out, share->block_len);
}

static bool read_part(struct block_store *s, const struct share *share, void *out)
{
	AUTO_FREE unsigned char *block = malloc(share->block_len);
	bool found = block && read_block(s, share, block);

	if (found)
		memcpy(out, block + share->at, share->len);
	return found;
}

static bool read_share(struct block_store *s, const struct share *share, void *out)
{
	bool found = share->len == share->block_len
		? read_block(s, share, out)
		: partial_blocks_read(s->partial, &share->place, share->at, out, share->len) ||
			read_part(s, share, out);

	stats_add(s->stats, found ? STATS_BLOCK_HITS : STATS_BLOCK_MISSES, 1);
	return found;
}

bool block_store_read(struct block_store *s, const struct attr *version, uint64_t offset, void *out,
	size_t len, size_t *got)
{
	size_t wanted = within_file(version, offset, len);

	*got = 0;
	if (!s)
		return false;
	while (*got < wanted) {
		struct share share = first_share(s, version, offset + *got, wanted - *got);

		if (!read_share(s, &share, (unsigned char *)out + *got))
			return false;
		*got += share.len;
	}
	return true;
}

static bool has_named(struct block_store *s, const struct block_name *name, size_t len)
{
	return block_memory_has(s->memory, name) ||
		(s->files && block_files_has(s->files, name, len));
}

static bool has_block(struct block_store *s, const struct attr *version, uint64_t index)
{
	struct block_place place = block_place(&s->sandbox, version, index);
	size_t len = block_len(version->size, index);
	struct block_name name;

	if (block_index_find(s->in_memory, &place, &name) && has_named(s, &name, len))
		return true;
	if (s->files && block_index_find(s->on_disk, &place, &name) &&
		block_files_has(s->files, &name, len))
		return true;
	return growing_find(s->growing, version, index, &name) && has_named(s, &name, len);
}

bool block_store_has_at(struct block_store *s, const struct attr *version, uint64_t offset)
{
	return s && (offset >= version->size || has_block(s, version, offset / BLOCK_SIZE));
}

/* ---- Keeping ---- */

static void bypass(struct block_store *s, const char *why)
{
	if (!atomic_exchange(&s->is_bypassed, true))
		log_warn(LOG_CACHE, "contents are kept in memory for now: %s", why);
}

/* `bytes` NULL: the block is on the disk, as one of another file. */
static enum err write_block(struct block_store *s, const struct async_writer_block *b,
	const void *bytes, struct error *e)
{
	enum err kind = bytes ? block_files_put(s->files, &b->name, bytes, b->len, e) : ERR_OK;

	if (!kind && !block_index_note(s->on_disk, &b->place, &b->name))
		kind = error_set(e, ERR_IO, "the table of file versions cannot be written");
	return kind;
}

/* Writes a block from memory. On failure the block stays there. */
static void write_kept(void *context, const struct async_writer_block *b)
{
	struct block_store *s = context;
	AUTO_FREE unsigned char *bytes = malloc(b->len);
	bool is_here = bytes && block_memory_get(s->memory, &b->name, bytes, b->len);
	struct error e = { 0 };

	if (!is_here && !block_files_has(s->files, &b->name, b->len))
		return;
	if (write_block(s, b, is_here ? bytes : NULL, &e)) {
		bypass(s, e.text);
		return;
	}
	block_memory_drop(s->memory, &b->name);
	stats_add(s->stats, STATS_BLOCKS_KEPT, 1);
}

/* The block is in memory, or on the disk as one of another version. */
static void note_kept(struct block_store *s, const struct async_writer_block *b)
{
	block_index_note(s->in_memory, &b->place, &b->name);
	if (s->files && !async_writer_add(s->writer, b))
		write_kept(s, b);
}

static void keep_block(struct block_store *s, const struct share *share, const void *bytes)
{
	const struct async_writer_block b = { .place = share->place,
		.name = block_name(bytes, share->block_len),
		.len = share->block_len };

	block_memory_put(s->memory, &b.name, bytes, b.len);
	note_kept(s, &b);
}

static void keep_share(struct block_store *s, const struct share *share, const void *bytes)
{
	AUTO_FREE unsigned char *whole = NULL;

	if (share->len < share->block_len) {
		whole = partial_blocks_add(
			s->partial, &share->place, share->block_len, share->at, bytes, share->len);
		bytes = whole;
	}
	if (bytes)
		keep_block(s, share, bytes);
}

void block_store_keep(struct block_store *s, const struct attr *version, uint64_t offset,
	const void *bytes, size_t len)
{
	size_t wanted = within_file(version, offset, len), kept = 0;

	while (s && kept < wanted) {
		struct share share = first_share(s, version, offset + kept, wanted - kept);

		keep_share(s, &share, (const unsigned char *)bytes + kept);
		kept += share.len;
	}
}

/* ---- Contents written here ---- */

static bool find_name(
	struct block_store *s, const struct block_place *place, struct block_name *out)
{
	return block_index_find(s->in_memory, place, out) ||
		(s->files && block_index_find(s->on_disk, place, out));
}

static struct attr version_met(const struct block_store_change *c)
{
	struct attr met = c->left;

	met.size = c->met.size;
	met.mtime = c->met.mtime;
	met.ctime = c->met.ctime;
	return met;
}

/* Without this a change may follow within the tick, and the next version may look like this one. */
static bool is_stable(const struct attr *version)
{
	return version->mtime.tv_sec != version->ctime.tv_sec ||
		version->mtime.tv_nsec != version->ctime.tv_nsec;
}

static void note_grown(struct block_store *s, struct growing_file *f)
{
	bool is_indexed = f && is_stable(&f->version);

	for (uint64_t n = 0; is_indexed && n < block_count(f->version.size); n++)
		if (growing_is_known(&f->names[n]))
			note_kept(s,
				&(struct async_writer_block){
					.place = block_place(&s->sandbox, &f->version, n),
					.name = f->names[n],
					.len = block_len(f->version.size, n) });
	growing_file_free(f);
}

/* The record must be of the same file, by its number. A name in staging is of one file alone. */
static struct growing_file *take_growing(struct block_store *s, const struct block_store_change *c)
{
	struct growing_file *f = growing_take(s->growing, c->path, &c->met);

	if (!f || path_is_staged(c->path) || f->version.ino == c->left.ino)
		return f;
	growing_file_free(f);
	return NULL;
}

static struct growing_file *begin_growing(struct block_store *s, const struct block_store_change *c)
{
	const struct attr met = version_met(c);
	struct growing_file *f = growing_file_new(c->path, &met, met.size);

	for (uint64_t n = 0; f && n < block_count(met.size); n++) {
		struct block_place place = block_place(&s->sandbox, &met, n);

		find_name(s, &place, &f->names[n]);
	}
	return f;
}

/*
 * The part of the block that is not overwritten is read. Behind the former end there was nothing.
 */
static bool merge_block(struct block_store *s, const struct block_store_change *c,
	const struct block_name *was, uint64_t index, unsigned char *out)
{
	uint64_t begin = index * BLOCK_SIZE, len = block_len(c->left.size, index);
	uint64_t from = c->offset > begin ? c->offset - begin : 0;
	uint64_t to = c->offset + c->len - begin < len ? c->offset + c->len - begin : len;
	size_t had = index < block_count(c->met.size) ? block_len(c->met.size, index) : 0;
	bool is_covered = !from && to >= had;

	memset(out, 0, (size_t)len);
	if (had && !is_covered && !(growing_is_known(was) && read_named(s, was, out, had)))
		return false;
	if (from < to)
		memcpy(out + from, (const unsigned char *)c->bytes + (begin + from - c->offset),
			(size_t)(to - from));
	return true;
}

/* Where the write leaves a hole the blocks change from the old end on. */
static bool write_blocks(
	struct block_store *s, struct growing_file *f, const struct block_store_change *c)
{
	uint64_t first = (c->met.size < c->offset ? c->met.size : c->offset) / BLOCK_SIZE;
	uint64_t last = (c->offset + c->len - 1) / BLOCK_SIZE;
	AUTO_FREE unsigned char *block = malloc(BLOCK_SIZE);

	if (!block || !growing_file_resize(f, c->left.size))
		return false;
	for (uint64_t n = first; n <= last; n++) {
		struct block_name *name = &f->names[n];
		size_t len = block_len(c->left.size, n);

		if (!merge_block(s, c, name, n, block)) {
			*name = (struct block_name){ 0 };
			continue;
		}
		*name = block_name(block, len);
		block_memory_put(s->memory, name, block, len);
	}
	f->version = c->left;
	return true;
}

/* Whether the size fits this write alone: others may have written meanwhile. */
static bool is_as_written(const struct block_store_change *c)
{
	uint64_t end = c->offset + c->len;

	return c->len && c->left.size == (end > c->met.size ? end : c->met.size);
}

void block_store_keep_written(struct block_store *s, const struct block_store_change *c)
{
	if (!s || !is_as_written(c) || c->left.size > GROWING_SIZE_MAX)
		return;
	struct growing_file *f = take_growing(s, c);

	if (!f)
		f = begin_growing(s, c);
	if (f && write_blocks(s, f, c))
		note_grown(s, growing_put(s->growing, f));
	else
		growing_file_free(f);
}

/* A file that has left staging is not going to grow any more. */
static void move_growing(struct block_store *s, const struct block_store_change *c)
{
	struct growing_file *f = take_growing(s, c);

	if (!f)
		return;
	growing_file_move(f, c->path2, &c->left);
	if (path_is_staged(c->path) && !path_is_staged(c->path2))
		note_grown(s, f);
	else
		note_grown(s, growing_put(s->growing, f));
}

/*
 * After this many blocks in a row that are not here, 8 GiB, the rest of the file is not looked for.
 */
#define MISSED_MAX 65536

void block_store_keep_as(struct block_store *s, const struct block_store_change *c)
{
	if (!s)
		return;
	const struct attr met = version_met(c);
	uint64_t count = is_stable(&c->left) ? block_count(c->left.size) : 0;

	move_growing(s, c);
	for (uint64_t n = 0, missed = 0; n < count && missed < MISSED_MAX; n++) {
		struct block_place was = block_place(&s->sandbox, &met, n);
		struct async_writer_block b = { .place = block_place(&s->sandbox, &c->left, n),
			.len = block_len(c->left.size, n) };

		missed = find_name(s, &was, &b.name) ? 0 : missed + 1;
		if (!missed)
			note_kept(s, &b);
	}
}

/* ---- Hashes ---- */

void block_store_note_name(struct block_store *s, const char *name, uint64_t size)
{
	if (s && s->filter)
		filter_add(s->filter, name, size);
}

bool block_store_may_have(struct block_store *s, const char *name, uint64_t size)
{
	return s && s->filter && filter_may_have(s->filter, name, size);
}

void block_store_adopt(struct block_store *s, const struct attr *version, uint64_t first,
	const struct block_name *names, size_t count)
{
	if (!s || !s->files)
		return;
	for (size_t n = 0; n < count && first + n < block_count(version->size); n++) {
		struct block_place place = block_place(&s->sandbox, version, first + n);

		if (block_files_has(s->files, &names[n], block_len(version->size, first + n)))
			block_index_note(s->on_disk, &place, &names[n]);
	}
}

/* ---- Life ---- */

static uint64_t table_bytes(uint64_t size)
{
	return size / FILE_BYTES * VERSIONS_RECORD_BYTES;
}

static enum err open_extra(struct block_store *s,
	enum err (*opened)(struct block_store *s, int fd, struct error *e), const char *name,
	struct error *e)
{
	int fd = block_files_open_extra(s->files, name);

	return fd < 0 ? error_errno(e, errno, "%s", name) : opened(s, fd, e);
}

static enum err open_versions(struct block_store *s, int fd, struct error *e)
{
	return block_index_open(&s->on_disk, fd, table_bytes(block_files_max(s->files)), e);
}

static enum err open_filter(struct block_store *s, int fd, struct error *e)
{
	return filter_open(&s->filter, fd, e);
}

static void close_files(struct block_store *s)
{
	filter_free(take(s->filter));
	block_index_free(take(s->on_disk));
	block_files_free(take(s->files));
}

static enum err open_files(
	struct block_store *s, const struct block_store_options *options, struct error *e)
{
	enum err kind =
		block_files_open(&s->files, options->dir, options->size_max, options->stats, e);

	if (!kind)
		kind = open_extra(s, open_versions, "versions", e);
	if (!kind)
		kind = open_extra(s, open_filter, "names", e);
	if (kind)
		close_files(s);
	return kind;
}

static enum err open_memory(struct block_store *s, struct error *e)
{
	int fd = memfd_create("sandboxfs-versions", MFD_CLOEXEC);

	if (fd < 0)
		return error_errno(e, errno, "memfd_create");
	enum err kind = block_index_open(&s->in_memory, fd, table_bytes(MEMORY_MAX), e);

	return kind ? kind : block_memory_new(&s->memory, MEMORY_MAX, e);
}

static void name_sandbox(struct block_store *s, const struct block_store_options *options)
{
	char text[256];
	int len = snprintf(text, sizeof text, "%s:%s", options->provider, options->sandbox);

	s->sandbox = block_name(text, (size_t)len < sizeof text ? (size_t)len : sizeof text - 1);
}

enum err block_store_new(
	struct block_store **out, const struct block_store_options *options, struct error *e)
{
	struct block_store *s = calloc(1, sizeof *s);
	struct error why = { 0 };

	if (!s)
		return error_set(e, ERR_NO_MEMORY, "cache");
	s->stats = options->stats;
	name_sandbox(s, options);
	if (options->dir && open_files(s, options, &why))
		log_warn(LOG_CACHE, "contents are kept in memory only: %s", why.text);
	enum err kind = open_memory(s, e);

	if (!kind)
		kind = partial_blocks_new(&s->partial, e);
	if (!kind)
		kind = growing_new(&s->growing, e);
	if (!kind && s->files)
		kind = async_writer_new(&s->writer, write_kept, s, e);
	if (kind)
		block_store_free(s);
	else
		*out = s;
	return kind;
}

void block_store_free(struct block_store *s)
{
	if (!s)
		return;
	for (struct growing_file *f; s->growing && (f = growing_take_any(s->growing));)
		note_grown(s, f);
	growing_free(s->growing);
	async_writer_free(s->writer);
	close_files(s);
	partial_blocks_free(s->partial);
	block_index_free(s->in_memory);
	block_memory_free(s->memory);
	free(s);
}

struct block_store_room block_store_room(struct block_store *s)
{
	if (!s)
		return (struct block_store_room){ 0 };
	if (s->files)
		return (struct block_store_room){ .dir = block_files_dir(s->files),
			.used = block_files_used(s->files),
			.max = block_files_max(s->files) };
	return (struct block_store_room){ .used = block_memory_used(s->memory), .max = MEMORY_MAX };
}
