#include "cache/stored.h"

#include "cache/block_memory.h"
#include "cache/partial.h"
#include "cache/versions.h"
#include "providers/base/cleanup.h"

#include <string.h>

#define MEMORY_MAX ((size_t)32 * 1024 * 1024)

struct stored {
	struct block_memory *memory;
	struct versions *versions;
	struct partial *partial;
};

enum err stored_new(struct stored **out, struct error *e)
{
	struct stored *s = calloc(1, sizeof *s);

	if (!s)
		return error_set(e, ERR_NO_MEMORY, "cache");
	enum err kind = block_memory_new(&s->memory, MEMORY_MAX, e);

	if (!kind)
		kind = versions_new(&s->versions, e);
	if (!kind)
		kind = partial_new(&s->partial, e);
	if (kind)
		stored_free(s);
	else
		*out = s;
	return kind;
}

void stored_free(struct stored *s)
{
	if (!s)
		return;
	partial_free(s->partial);
	versions_free(s->versions);
	block_memory_free(s->memory);
	free(s);
}

/* What a read or a write has to do with one block. */
struct share {
	struct block_place place;
	size_t block_len;
	size_t at, len; /* within it */
};

/* The share of [offset, offset + len), which lies within the file and is not empty, in its first block. */
static struct share first_share(const struct attr *version, uint64_t offset, size_t len)
{
	uint64_t index = offset / BLOCK_SIZE;
	struct share share = { .place = block_place(version, index),
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

static bool read_part(
	struct stored *s, const struct share *share, const struct block_name *name, void *out)
{
	AUTO_FREE unsigned char *block = malloc(share->block_len);

	if (!block || !block_memory_get(s->memory, name, block, share->block_len))
		return false;
	memcpy(out, block + share->at, share->len);
	return true;
}

static bool read_share(struct stored *s, const struct share *share, void *out)
{
	struct block_name name;

	if (!versions_find(s->versions, &share->place, &name))
		return partial_read(s->partial, &share->place, share->at, out, share->len);
	if (share->len == share->block_len)
		return block_memory_get(s->memory, &name, out, share->len);
	return read_part(s, share, &name, out);
}

bool stored_read(struct stored *s, const struct attr *version, uint64_t offset, void *out,
	size_t len, size_t *got)
{
	size_t wanted = within_file(version, offset, len);

	*got = 0;
	if (!s)
		return false;
	while (*got < wanted) {
		struct share share = first_share(version, offset + *got, wanted - *got);

		if (!read_share(s, &share, (unsigned char *)out + *got))
			return false;
		*got += share.len;
	}
	return true;
}

bool stored_has(struct stored *s, const struct attr *version)
{
	for (uint64_t n = 0; s && n < block_count(version->size); n++) {
		struct block_place place = block_place(version, n);
		struct block_name name;

		if (!versions_find(s->versions, &place, &name) ||
			!block_memory_has(s->memory, &name))
			return false;
	}
	return s;
}

/* ---- Keeping ---- */

static void keep_block(struct stored *s, const struct share *share, const void *bytes)
{
	struct block_name name = block_name(bytes, share->block_len);

	block_memory_put(s->memory, &name, bytes, share->block_len);
	versions_note(s->versions, &share->place, &name);
}

static void keep_share(struct stored *s, const struct share *share, const void *bytes)
{
	AUTO_FREE unsigned char *whole = NULL;

	if (share->len < share->block_len) {
		whole = partial_add(
			s->partial, &share->place, share->block_len, share->at, bytes, share->len);
		bytes = whole;
	}
	if (bytes)
		keep_block(s, share, bytes);
}

void stored_keep(struct stored *s, const struct attr *version, uint64_t offset, const void *bytes,
	size_t len)
{
	size_t wanted = within_file(version, offset, len), kept = 0;

	while (s && kept < wanted) {
		struct share share = first_share(version, offset + kept, wanted - kept);

		keep_share(s, &share, (const unsigned char *)bytes + kept);
		kept += share.len;
	}
}
