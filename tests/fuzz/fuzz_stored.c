/*
 * Files on the local disk next to the blocks, damaged in any way: the table of file versions, the
 * filter of names and the sum of the blocks' sizes.
 *
 * Whatever their contents were, a record that is added from then on is found, and no other record
 * is found in its place.
 */
#include "cache/blocks/budget.h"
#include "cache/blocks/filter.h"
#include "cache/blocks/block_index.h"
#include "providers/base/cleanup.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int file_of(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	return fd;
}

static struct block_place place_of(uint64_t ino)
{
	static const struct block_name sandbox = { "fuzz" };

	return block_place(&sandbox, &(struct attr){ .ino = ino, .size = 1 }, 0);
}

static void use_table(const uint8_t *data, size_t size)
{
	struct block_index *v;
	struct block_name found, stored = block_name(data, size);

	if (block_index_open(&v, file_of(data, size), 8192, NULL))
		return;
	for (uint64_t n = 0; n < 20; n++) {
		struct block_place place = place_of(n);

		block_index_find(v, &place, &found);
		if (!block_index_note(v, &place, &stored) || !block_index_find(v, &place, &found) ||
			!block_names_equal(&found, &stored))
			abort();
	}
	block_index_free(v);
}

static void use_filter(const uint8_t *data, size_t size)
{
	struct filter *f;

	if (filter_open(&f, file_of(data, size), NULL))
		return;
	filter_may_have(f, "a", size);
	filter_add(f, "b", size);
	if (!filter_may_have(f, "b", size))
		abort();
	filter_free(f);
}

static void use_sum(const uint8_t *data, size_t size)
{
	AUTO_CLOSE int blocks = open("/proc/self/fdinfo", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct block_budget *b;

	if (block_budget_new(&b, blocks, file_of(data, size), NULL, NULL))
		return;
	if (!block_budget_take(b, 100, 1 << 20) || block_budget_used(b) > 1 << 20)
		abort();
	block_budget_give(b, 100);
	block_budget_free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	use_table(data, size);
	use_filter(data, size);
	use_sum(data, size);
	return 0;
}
