/* Reads of blocks that are stored, through a cache and with a sandbox whose calls are counted. */
#include "cache/session/session.h"
#include "cache/blocks/block_store.h"
#include "cache/tree/tree.h"
#include "cache/lease/hand_out.h"
#include "cache/lease/invalidate.h"
#include "cache/contents.h"
#include "cache/lease/entries.h"
#include "cache/metadata.h"
#include "cache/read/fetch.h"
#include "providers/base/cleanup.h"
#include "tests/cache/distant.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB ((size_t)1024 * 1024)

static struct distant far;
static struct scratch disk;
static char dir[96];
static unsigned char *bytes, *expected;

static void setup(void)
{
	distant_start_trusting(&far);
	scratch_make(&disk);
	snprintf(dir, sizeof dir, "%s/cache", disk.path);
	distant_remount(&far, dir);
	bytes = malloc(MIB);
	expected = malloc(MIB);
}

static void teardown(void)
{
	distant_stop(&far);
	scratch_remove(&disk);
	free(bytes);
	free(expected);
}

TestSuite(stored_reads, .init = setup, .fini = teardown, .timeout = 300);

/* Every 8 bytes say where they are, and which file they are of. */
static void fill(unsigned char *out, uint64_t offset, size_t len, uint64_t mark)
{
	for (size_t n = 0; n < len; n += 8)
		memcpy(out + n, &(uint64_t){ mark << 32 | (offset + n) }, 8);
}

static void make(const char *name, uint64_t size, uint64_t mark)
{
	AUTO_CLOSE int fd = openat(far.scratch.fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	for (uint64_t at = 0; at < size; at += MIB) {
		size_t len = size - at < MIB ? size - at : MIB;

		fill(expected, at, len, mark);
		cr_assert(eq(sz, (size_t)pwrite(fd, expected, len, (off_t)at), len));
	}
}

/* Makes all files old by the sandbox's clock, as a new cache knows it. */
static void pass_tick(void)
{
	distant_remount(&far, dir);
	distant_pass_tick(&far);
}

static size_t read_at(struct inode *i, uint64_t offset, size_t len, uint64_t mark)
{
	struct error e = { 0 };
	size_t got;

	cr_assert(eq(int, cache_read(far.cache, NULL, i, offset, bytes, len, &got, &e), ERR_OK),
		"%s", e.text);
	fill(expected, offset, len, mark);
	cr_assert(not(memcmp(bytes, expected, got)), "at %llu", (unsigned long long)offset);
	return got;
}

/* Opens the file, reads all of it in pieces and closes it. Returns the number of fetches. */
static unsigned read_file(const char *name, uint64_t size, uint64_t mark, size_t piece)
{
	unsigned before = distant_fetches(&far);
	struct inode *i = distant_open(&far, name);
	uint64_t at = 0;

	for (size_t got; (got = read_at(i, at, piece, mark));)
		at += got;
	cr_assert(eq(u64, at, size));
	distant_close(&far, i);
	return distant_fetches(&far) - before;
}

static void to_blocks(const char *what)
{
	char command[256];

	distant_remount(&far, dir);
	snprintf(command, sizeof command, "find %s/blocks -type f | sort | %s", dir, what);
	cr_assert(not(system(command)));
}

Test(stored_reads, a_file_is_fetched_once_whatever_the_sizes_of_reads)
{
	const uint64_t sizes[] = { 10, 4096, 128 * 1024, 200000, 5 * MIB + 123 };
	char name[16];

	for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
		snprintf(name, sizeof name, "f%zu", n);
		make(name, sizes[n] / 8 * 8, n);
	}
	pass_tick();
	for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
		snprintf(name, sizeof name, "f%zu", n);
		read_file(name, sizes[n] / 8 * 8, n, 64 * 1024);
		cr_expect(eq(uint, read_file(name, sizes[n] / 8 * 8, n, MIB), 0), "%s", name);
		cr_expect(eq(uint, read_file(name, sizes[n] / 8 * 8, n, 32 * 1024), 0), "%s", name);
	}
}

Test(stored_reads, the_next_mount_fetches_nothing)
{
	make("f", 3 * MIB, 1);
	pass_tick();
	read_file("f", 3 * MIB, 1, 128 * 1024);
	cr_expect(ge(uint, distant_fetches(&far), 1));
	distant_remount(&far, dir);
	cr_expect(eq(uint, read_file("f", 3 * MIB, 1, 128 * 1024), 0));
}

Test(stored_reads, a_file_that_changed_is_fetched_anew)
{
	make("f", MIB, 1);
	pass_tick();
	read_file("f", MIB, 1, 128 * 1024);
	make("f", MIB, 2);
	pass_tick();
	cr_expect(ge(uint, read_file("f", MIB, 2, 128 * 1024), 1));
	cr_expect(eq(uint, read_file("f", MIB, 2, 128 * 1024), 0));
}

Test(stored_reads, an_open_file_that_a_command_changed_is_fetched_anew)
{
	struct inode *i;

	make("f", MIB, 1);
	pass_tick();
	i = distant_open(&far, "f");
	read_at(i, 0, 4096, 1);
	make("f", MIB, 2);
	cache_invalidate_all(far.cache);
	read_at(i, 0, 4096, 2);
	distant_close(&far, i);
}

/*
 * A file that changed within a tick of the sandbox's clock may change again without another time.
 */
Test(stored_reads, a_file_that_may_still_change_is_not_kept)
{
	const struct attr v = { .ino = 9, .size = 4096, .ctime = { .tv_sec = 1000 } };
	const struct asked early = { .clock = { .tv_sec = 1000, .tv_nsec = 10000000 } },
			   late = { .clock = { .tv_sec = 1000, .tv_nsec = 30000000 } };

	fetch_keep(far.cache, "d/f", &(struct asked){ 0 }, &v, 0, bytes, 4096);
	fetch_keep(far.cache, "d/f", &early, &v, 0, bytes, 4096);
	cr_expect(not(stored_whole(far.cache->block_store, &v)));
	cr_expect(not(block_store_may_have(far.cache->block_store, "f", 4096)));
	fetch_keep(far.cache, "d/f", &late, &v, 0, bytes, 4096);
	cr_expect(stored_whole(far.cache->block_store, &v));
	cr_expect(block_store_may_have(far.cache->block_store, "f", 4096));
}

static void overwrite(const char *name, const char *text)
{
	AUTO_CLOSE int fd = openat(far.scratch.fd, name, O_WRONLY | O_CLOEXEC);

	cr_assert(eq(sz, (size_t)pwrite(fd, text, strlen(text), 0), strlen(text)));
}

/* Opens, reads and closes a file. Attributes and names are valid for 60 s. */
static void expect_read(const char *name, const char *wanted)
{
	size_t len = strlen(wanted), got = 0;
	struct cache_entry entry;
	int64_t absent_ms;
	bool keep;

	cr_assert(not(cache_lookup(
		far.cache, NULL, cache_root(far.cache), name, &entry, &absent_ms, NULL)));
	cr_assert(not(cache_open(far.cache, NULL, entry.inode, O_RDONLY, &keep, NULL)));
	cr_expect(not(keep), "pages of what may have changed since");
	cr_assert(not(cache_read(far.cache, NULL, entry.inode, 0, bytes, len, &got, NULL)));
	cr_assert(eq(sz, got, len));
	bytes[len] = 0;
	cr_expect(eq(str, (char *)bytes, (char *)wanted));
	distant_close(&far, entry.inode);
}

Test(stored_reads, a_second_change_within_one_tick_of_the_clock_is_read)
{
	scratch_write_text(&far.scratch, "f", "first");
	far.shows_one_time = true;
	far.belief_ms = 60000;
	distant_remount(&far, dir);
	expect_read("f", "first");
	overwrite("f", "other");
	expect_read("f", "other");
	overwrite("f", "third");
	expect_read("f", "third");
}

Test(stored_reads, a_write_of_ours_is_read_back)
{
	struct inode *i;

	make("f", MIB, 1);
	pass_tick();
	read_file("f", MIB, 1, 128 * 1024);
	i = distant_open(&far, "f");
	distant_write(&far, i, 4096, "something else");
	read_at(i, 0, 4096, 1);
	size_t got;

	cr_assert(not(cache_read(far.cache, NULL, i, 4096, bytes, 14, &got, NULL)));
	cr_expect(not(memcmp(bytes, "something else", 14)));
	distant_close(&far, i);
}

Test(stored_reads, a_damaged_block_costs_one_fetch_and_the_bytes_are_right)
{
	const char *const damages[] = {
		"sed -n 5p | xargs rm",
		"sed -n 5p | xargs truncate -s 1000",
		"sed -n 5p | xargs truncate -s 0",
		"sed -n 5p | xargs shred -n 1 -x",
	};

	make("f", 2 * MIB, 1);
	pass_tick();
	read_file("f", 2 * MIB, 1, 128 * 1024);
	for (size_t n = 0; n < sizeof damages / sizeof *damages; n++) {
		to_blocks(damages[n]);
		cr_expect(eq(uint, read_file("f", 2 * MIB, 1, 32 * 1024), 1), "%s", damages[n]);
		cr_expect(eq(uint, read_file("f", 2 * MIB, 1, 32 * 1024), 0), "%s", damages[n]);
	}
}

Test(stored_reads, all_damaged_is_as_if_nothing_was_stored)
{
	make("f", 2 * MIB, 1);
	pass_tick();
	unsigned cold = read_file("f", 2 * MIB, 1, 128 * 1024);

	to_blocks("xargs truncate -s 5");
	/* One fetch more asks for the hashes of blocks that seem to be here. */
	cr_expect(le(uint, read_file("f", 2 * MIB, 1, 128 * 1024), cold + 1));
	cr_expect(eq(uint, read_file("f", 2 * MIB, 1, 128 * 1024), 0));
}

Test(stored_reads, a_stream_goes_on_while_what_it_brings_is_stored)
{
	make("f", 30 * MIB, 1);
	cr_expect(le(uint, read_file("f", 30 * MIB, 1, 128 * 1024), 3));
}

/* ---- Equal bytes of another file ---- */

static uint64_t received(void)
{
	return far.cache->stats.calls[STATS_FETCH].received;
}

/* Another inode with other times. */
static void make_anew(const char *name, uint64_t size, uint64_t mark)
{
	cr_assert(not(unlinkat(far.scratch.fd, name, 0)));
	make(name, size, mark);
}

Test(stored_reads, a_large_file_written_anew_costs_its_hashes)
{
	make("f", 5 * MIB, 1);
	pass_tick();
	read_file("f", 5 * MIB, 1, 128 * 1024);
	make_anew("f", 5 * MIB, 1);
	pass_tick();
	cr_expect(eq(uint, read_file("f", 5 * MIB, 1, 128 * 1024), 1));
	cr_expect(eq(u64, received(), 40 * 16));
	cr_expect(eq(uint, read_file("f", 5 * MIB, 1, 128 * 1024), 0));
}

Test(stored_reads, blocks_that_do_not_differ_are_not_fetched)
{
	make("f", 5 * MIB, 1);
	pass_tick();
	read_file("f", 5 * MIB, 1, 128 * 1024);
	make_anew("f", 5 * MIB, 1);
	AUTO_CLOSE int fd = openat(far.scratch.fd, "f", O_WRONLY);

	cr_assert(eq(int, (int)pwrite(fd, &(uint64_t){ 2 }, 8, 3 * MIB), 8));
	pass_tick();
	struct inode *i = distant_open(&far, "f");
	size_t got;

	for (uint64_t at = 0; at < 5 * MIB; at += 128 * 1024)
		cr_assert(not(cache_read(far.cache, NULL, i, at, bytes, 128 * 1024, &got, NULL)));
	cr_assert(not(cache_read(far.cache, NULL, i, 3 * MIB, bytes, 8, &got, NULL)));
	cr_expect(not(memcmp(bytes, &(uint64_t){ 2 }, 8)));
	cr_expect(eq(u64, received(), 40 * 16 + 128 * 1024));
	distant_close(&far, i);
}

Test(stored_reads, small_files_written_anew_cost_their_hashes_together)
{
	char name[16];

	for (int round = 0; round < 2; round++) {
		for (uint64_t n = 0; n < 30; n++) {
			snprintf(name, sizeof name, "f%llu", (unsigned long long)n);
			if (round)
				unlinkat(far.scratch.fd, name, 0);
			make(name, 8000 + 8 * n, n);
		}
		pass_tick();
		for (uint64_t n = 0; n < 30; n++) {
			snprintf(name, sizeof name, "f%llu", (unsigned long long)n);
			read_file(name, 8000 + 8 * n, n, 128 * 1024);
		}
	}
	cr_expect(eq(u64, received(), 30 * 16));
}

/* The size of a file: one file of ten has another size in the second round. */
static uint64_t tiny_size(unsigned n, unsigned round)
{
	return 400 + (n % 10 ? 0 : 8 * round);
}

/* Reads the files in the order in which a walk comes to them. */
static void read_tiny(unsigned round)
{
	struct tree_entry *entries;
	size_t count;

	cr_assert(
		not(cache_entries(far.cache, NULL, cache_root(far.cache), &entries, &count, NULL)));
	for (size_t e = 0; e < count; e++) {
		unsigned n = (unsigned)strtoul(entries[e].name + 1, NULL, 10);

		read_file(entries[e].name, tiny_size(n, round), n + round, 4096);
	}
	cache_entries_free(far.cache, entries, count);
}

/* The hashes of a tiny file cost as much as its bytes, and one request more. */
Test(stored_reads, of_tiny_files_nobody_asks_for_hashes)
{
	unsigned fetches = 0;
	char name[16];

	for (unsigned round = 0; round < 2; round++) {
		for (unsigned n = 0; n < 2000; n++) {
			snprintf(name, sizeof name, "f%u", n);
			make(name, tiny_size(n, round), n + round);
		}
		pass_tick();
		fetches = distant_fetches(&far);
		read_tiny(round);
	}
	cr_expect(le(uint, distant_fetches(&far) - fetches, 3));
}

Test(stored_reads, a_file_of_the_same_name_and_size_has_its_own_bytes)
{
	make("f", 3 * MIB, 1);
	make("g", 8000, 1);
	pass_tick();
	read_file("f", 3 * MIB, 1, 128 * 1024);
	read_file("g", 8000, 1, 128 * 1024);
	make_anew("f", 3 * MIB, 2);
	make_anew("g", 8000, 2);
	pass_tick();
	read_file("f", 3 * MIB, 2, 128 * 1024);
	read_file("g", 8000, 2, 128 * 1024);
	cr_expect(ge(u64, received(), 3 * MIB + 8000));
}
