#include "cache/stored.h"

#include "cache/block.h"
#include "tests/cache/distant.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)

static struct stored *stored;
static unsigned char *file, *got_bytes;

static void setup(void)
{
	struct error e = { 0 };

	cr_assert(eq(int, stored_new(&stored, &e), ERR_OK), "%s", e.text);
	file = malloc(MIB);
	got_bytes = malloc(MIB);
	for (size_t n = 0; n < MIB; n++)
		file[n] = (unsigned char)(n * 2654435761u >> 13);
}

static void teardown(void)
{
	stored_free(stored);
	free(file);
	free(got_bytes);
}

TestSuite(stored, .init = setup, .fini = teardown, .timeout = 120);

/* A version of a file of `size` bytes; `number` tells versions apart. */
static struct attr version(uint64_t size, int number)
{
	return (struct attr){
		.dev = 1, .ino = 2, .size = size, .mode = 0100644, .mtime = { .tv_sec = number }
	};
}

static bool reads(const struct attr *v, uint64_t offset, size_t len)
{
	size_t got;
	size_t expected = offset >= v->size ? 0 : v->size - offset < len ? v->size - offset : len;

	memset(got_bytes, 0xee, MIB);
	if (!stored_read(stored, v, offset, got_bytes, len, &got))
		return false;
	cr_assert(eq(sz, got, expected));
	cr_assert(not(memcmp(got_bytes, file + offset, got)));
	return true;
}

Test(stored, what_was_kept_is_read_in_any_part)
{
	struct attr v = version(700001, 1);

	cr_expect(not(stored_has(stored, &v)));
	cr_expect(not(reads(&v, 0, 1)));
	stored_keep(stored, &v, 0, file, 700001);
	cr_expect(stored_has(stored, &v));
	cr_expect(reads(&v, 0, 700001));
	cr_expect(reads(&v, 0, MIB));
	cr_expect(reads(&v, 131071, 2));
	cr_expect(reads(&v, 699999, 4096));
	cr_expect(reads(&v, 700001, 4096));
	cr_expect(reads(&v, 800000, 4096));
}

Test(stored, another_version_has_other_bytes)
{
	struct attr one = version(4096, 1), other = version(4096, 2);

	stored_keep(stored, &one, 0, file, 4096);
	cr_expect(not(stored_has(stored, &other)));
	cr_expect(not(reads(&other, 0, 4096)));
	other = one;
	other.ctime.tv_nsec = 1;
	cr_expect(not(reads(&other, 0, 1)));
	other = one;
	other.ino = 3;
	cr_expect(not(reads(&other, 0, 1)));
}

Test(stored, pieces_in_any_order_make_a_block)
{
	struct attr v = version(300 * KIB, 1);

	stored_keep(stored, &v, 200 * KIB, file + 200 * KIB, 100 * KIB);
	cr_expect(reads(&v, 256 * KIB, 44 * KIB));
	cr_expect(reads(&v, 200 * KIB, 100 * KIB), "the end of a block that is not whole");
	cr_expect(not(reads(&v, 196 * KIB, 8 * KIB)));
	cr_expect(not(stored_has(stored, &v)));
	stored_keep(stored, &v, 0, file, 200 * KIB);
	cr_expect(stored_has(stored, &v));
	cr_expect(reads(&v, 0, 300 * KIB));
}

Test(stored, pieces_that_are_no_pages_count_by_the_pages_in_them)
{
	struct attr v = version(128 * KIB, 1);

	stored_keep(stored, &v, 100, file + 100, 10000);
	cr_expect(not(reads(&v, 100, 100)));
	cr_expect(reads(&v, 4096, 4096));
	cr_expect(not(reads(&v, 8192, 4096)));
}

Test(stored, an_empty_file_is_always_there)
{
	struct attr v = version(0, 1);

	cr_expect(stored_has(stored, &v));
	cr_expect(reads(&v, 0, 4096));
}

Test(stored, nothing_stored_has_nothing)
{
	struct attr v = version(10, 1);
	size_t got;

	stored_keep(NULL, &v, 0, file, 10);
	cr_expect(not(stored_has(NULL, &v)));
	cr_expect(not(stored_read(NULL, &v, 0, got_bytes, 10, &got)));
	stored_free(NULL);
}

Test(stored, memory_has_an_end_and_what_is_used_stays)
{
	struct attr used = version(MIB, 1), unused = version(MIB, 2);

	memset(file, 1, MIB);
	stored_keep(stored, &used, 0, file, MIB);
	memset(file, 2, MIB);
	stored_keep(stored, &unused, 0, file, MIB);
	for (int n = 3; n < 600; n++) {
		struct attr v = version(MIB, n);

		for (size_t at = 0; at < MIB; at += 128 * KIB)
			memcpy(file + at, &(uint64_t){ (uint64_t)n << 32 | at }, 8);
		stored_keep(stored, &v, 0, file, MIB);
		stored_read(stored, &used, 0, got_bytes, MIB, &(size_t){ 0 });
	}
	cr_expect(stored_has(stored, &used));
	cr_expect(not(stored_has(stored, &unused)));
	cr_expect(lt(long, distant_peak_kb(), 100 * 1024));
}
