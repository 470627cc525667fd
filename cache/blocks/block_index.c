#include "cache/blocks/block_index.h"

#include "cache/blocks/records.h"

#include "providers/base/cleanup.h"

#include <string.h>

struct block_index {
	struct records *records;
};

_Static_assert(sizeof(struct block_place) == RECORDS_KEY_SIZE, "a place is a key");

struct block_place block_place(
	const struct block_name *sandbox, const struct attr *version, uint64_t index)
{
	uint64_t facts[11] = { version->dev, version->ino, attr_lasting_birth(version),
		version->size, (uint64_t)version->mtime.tv_sec, (uint64_t)version->mtime.tv_nsec,
		(uint64_t)version->ctime.tv_sec, (uint64_t)version->ctime.tv_nsec, index };
	struct block_place place;

	memcpy(&facts[9], sandbox, sizeof *sandbox);
	struct block_name hash = block_name(facts, sizeof facts);

	memcpy(&place, &hash, sizeof place);
	return place;
}

enum err block_index_open(struct block_index **out, int fd, uint64_t bytes, struct error *e)
{
	struct block_index *v = calloc(1, sizeof *v);

	if (!v) {
		close(fd);
		return error_set(e, ERR_NO_MEMORY, "cache");
	}
	enum err kind = records_open(&v->records, fd, bytes, sizeof(struct block_name), e);

	if (kind)
		block_index_free(v);
	else
		*out = v;
	return kind;
}

void block_index_free(struct block_index *v)
{
	if (!v)
		return;
	records_free(v->records);
	free(v);
}

bool block_index_find(
	struct block_index *v, const struct block_place *place, struct block_name *out)
{
	return records_find(v->records, place->bytes, out);
}

bool block_index_note(
	struct block_index *v, const struct block_place *place, const struct block_name *name)
{
	return records_note(v->records, place->bytes, name);
}
