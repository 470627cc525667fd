#include "cache/blocks/block.h"

#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

struct block_name block_name(const void *bytes, size_t len)
{
	struct block_name name;
	XXH128_canonical_t canonical;

	XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes, len));
	_Static_assert(sizeof canonical == sizeof name, "128 bits");
	memcpy(&name, &canonical, sizeof name);
	return name;
}

bool block_names_equal(const struct block_name *a, const struct block_name *b)
{
	return !memcmp(a, b, sizeof *a);
}

uint64_t block_name_number(const struct block_name *name)
{
	uint64_t number;

	memcpy(&number, name, sizeof number);
	return number;
}

uint64_t block_count(uint64_t size)
{
	return size / BLOCK_SIZE + (size % BLOCK_SIZE != 0);
}

size_t block_len(uint64_t size, uint64_t index)
{
	uint64_t rest = size - index * BLOCK_SIZE;

	return rest < BLOCK_SIZE ? (size_t)rest : BLOCK_SIZE;
}
