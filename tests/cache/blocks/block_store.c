#include "cache/blocks/block_store.h"

#include "cache/blocks/block.h"
#include "tests/cache/distant.h"
#include "tests/support/scratch.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#define KIB         ((size_t)1024)
#define MIB         (1024 * KIB)
#define PATIENCE_MS 60000

static struct block_store *stored;
static unsigned char *file, *got_bytes;

static void setup(void)
{
	struct error e = { 0 };

	const struct block_store_options memory = { .provider = "e2b", .sandbox = "one" };

	cr_assert(eq(int, block_store_new(&stored, &memory, &e), ERR_OK), "%s", e.text);
	file = malloc(MIB);
	got_bytes = malloc(MIB);
	for (size_t n = 0; n < MIB; n++)
		file[n] = (unsigned char)(n * 2654435761u >> 13);
}

static void teardown(void)
{
	block_store_free(stored);
	free(file);
	free(got_bytes);
}

TestSuite(stored, .init = setup, .fini = teardown, .timeout = 300);

/* A version of a file of `size` bytes; versions differ by `number`. */
static struct attr version(uint64_t size, int number)
{
	return (struct attr){
		.dev = 1, .ino = 2, .size = size, .mode = 0100644, .mtime = { .tv_sec = number }
	};
}

static struct version met(const struct attr *v)
{
	return (struct version){ .size = v->size, .mtime = v->mtime, .ctime = v->ctime };
}

/* A change that left the contents alone. */
static void keep_as(const struct attr *from, const struct attr *to)
{
	block_store_keep_as(stored,
		&(struct block_store_change){
			.path = "f", .path2 = "f", .met = met(from), .left = *to });
}

static bool reads(const struct attr *v, uint64_t offset, size_t len)
{
	size_t got;
	size_t expected = offset >= v->size ? 0 : v->size - offset < len ? v->size - offset : len;

	memset(got_bytes, 0xee, MIB);
	if (!block_store_read(stored, v, offset, got_bytes, len, &got))
		return false;
	cr_assert(eq(sz, got, expected));
	cr_assert(not(memcmp(got_bytes, file + offset, got)));
	return true;
}

Test(stored, what_was_kept_is_read_in_any_part)
{
	struct attr v = version(700001, 1);

	cr_expect(not(stored_whole(stored, &v)));
	cr_expect(not(reads(&v, 0, 1)));
	block_store_keep(stored, &v, 0, file, 700001);
	cr_expect(stored_whole(stored, &v));
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

	block_store_keep(stored, &one, 0, file, 4096);
	cr_expect(not(stored_whole(stored, &other)));
	cr_expect(not(reads(&other, 0, 4096)));
	other = one;
	other.ctime.tv_nsec = 1;
	cr_expect(not(reads(&other, 0, 1)));
	other = one;
	other.ino = 3;
	cr_expect(not(reads(&other, 0, 1)));
}

Test(stored, a_file_that_has_other_attributes_now_keeps_its_bytes)
{
	struct attr one = version(700001, 1), other = one;

	other.ctime.tv_sec += 10;
	block_store_keep(stored, &one, 0, file, 700001);
	keep_as(&one, &other);
	cr_expect(reads(&other, 0, 700001));
	cr_expect(reads(&one, 0, 700001));
	other.ino++;
	cr_expect(not(reads(&other, 0, 1)));
}

/* ---- Written here ---- */

static struct attr stable_version(uint64_t size, int number)
{
	struct attr v = version(size, number);

	v.ctime.tv_sec = 1000 + number;
	return v;
}

/* Keeps the blocks of version `to`, which a write of [offset, offset + len) made of `from`. */
static void write_at(const char *path, const struct attr *from, const struct attr *to,
	uint64_t offset, size_t len)
{
	block_store_keep_written(stored,
		&(struct block_store_change){ .path = path,
			.path2 = path,
			.met = met(from),
			.left = *to,
			.offset = offset,
			.bytes = file + offset,
			.len = len });
}

static void move_to(
	const char *path, const struct attr *from, const char *path2, const struct attr *to)
{
	block_store_keep_as(stored,
		&(struct block_store_change){
			.path = path, .path2 = path2, .met = met(from), .left = *to });
}

Test(stored, a_file_that_is_written_in_pieces_is_read)
{
	struct attr empty = stable_version(0, 1), part = stable_version(300001, 2);
	struct attr whole = stable_version(700001, 3);

	write_at("f", &empty, &part, 0, 300001);
	cr_expect(reads(&part, 0, 300001));
	write_at("f", &part, &whole, 300001, 400000);
	cr_expect(reads(&whole, 0, 700001));
	cr_expect(stored_whole(stored, &whole));
	cr_expect(not(reads(&part, 0, 1)));
}

/* No other process writes in staging, so versions of one tick may follow each other. */
Test(stored, what_has_left_staging_is_read_by_its_version_there)
{
	struct attr empty = version(0, 1), part = version(300001, 2), whole = version(700001, 2);
	struct attr placed = stable_version(700001, 2);

	placed.ino = 77;
	part.ctime = whole.ctime = part.mtime;
	write_at("/n-1", &empty, &part, 0, 300001);
	write_at("/n-1", &part, &whole, 300001, 400000);
	move_to("/n-1", &whole, "f", &placed);
	cr_expect(reads(&placed, 0, 700001));
}

Test(stored, a_write_goes_on_with_what_is_kept)
{
	struct attr one = stable_version(200001, 1), other = stable_version(200001, 2);
	struct attr third = stable_version(300001, 3);

	file[1000] ^= 1;
	block_store_keep(stored, &one, 0, file, 200001);
	file[1000] ^= 1;
	write_at("f", &one, &other, 1000, 1);
	cr_expect(reads(&other, 0, 200001));
	write_at("f", &other, &third, 200001, 100000);
	cr_expect(reads(&third, 0, 300001));
}

Test(stored, a_hole_before_what_is_written_is_read)
{
	struct attr one = stable_version(10, 1), other = stable_version(500001, 2);

	memset(file + 10, 0, 400000 - 10);
	block_store_keep(stored, &one, 0, file, 10);
	write_at("f", &one, &other, 400000, 100001);
	cr_expect(reads(&other, 0, 500001));
}

Test(stored, what_is_not_known_of_a_block_stays_unknown)
{
	struct attr one = stable_version(200001, 1), other = stable_version(300001, 2);

	write_at("f", &one, &other, 200001, 100000);
	cr_expect(not(reads(&other, 0, 1)));
	cr_expect(not(reads(&other, 200001, 1)));
	cr_expect(reads(&other, 256 * KIB, 1000));
}

Test(stored, a_file_to_which_others_wrote_meanwhile_is_not_read)
{
	struct attr one = stable_version(1000, 1), other = stable_version(2001, 2);

	block_store_keep(stored, &one, 0, file, 1000);
	write_at("f", &one, &other, 1000, 1000);
	cr_expect(not(reads(&other, 0, 1)));
}

Test(stored, another_file_that_took_the_path_is_not_read_for_the_one_that_grew)
{
	struct attr empty = stable_version(0, 1), one = stable_version(1000, 2);
	struct attr other = one, more = stable_version(2000, 3);

	write_at("f", &empty, &one, 0, 1000);
	other.ino = more.ino = 3;
	write_at("f", &other, &more, 1000, 1000);
	cr_expect(not(reads(&more, 0, 1)));
}

/* More files than have a record. */
static void write_many(void)
{
	for (int n = 0; n < 64; n++) {
		struct attr empty = stable_version(0, 100), full = stable_version(10, 101);

		empty.ino = full.ino = (uint64_t)(100 + n);
		write_at("g", &empty, &full, 0, 10);
	}
}

Test(stored, a_file_that_does_not_grow_any_more_is_read)
{
	struct attr empty = stable_version(0, 1), one = stable_version(1000, 2);

	write_at("f", &empty, &one, 0, 1000);
	write_many();
	cr_expect(reads(&one, 0, 1000));
}

Test(stored, a_version_that_others_may_have_is_recorded_nowhere)
{
	struct attr empty = version(0, 1), one = version(1000, 2);

	one.ctime = one.mtime;
	write_at("/n-1", &empty, &one, 0, 1000);
	cr_expect(reads(&one, 0, 1000));
	write_many();
	cr_expect(not(reads(&one, 0, 1000)));
}

Test(stored, pieces_in_any_order_make_a_block)
{
	struct attr v = version(300 * KIB, 1);

	block_store_keep(stored, &v, 200 * KIB, file + 200 * KIB, 100 * KIB);
	cr_expect(reads(&v, 256 * KIB, 44 * KIB));
	cr_expect(reads(&v, 200 * KIB, 100 * KIB), "the end of a block that is not whole");
	cr_expect(not(reads(&v, 196 * KIB, 8 * KIB)));
	cr_expect(not(stored_whole(stored, &v)));
	block_store_keep(stored, &v, 0, file, 200 * KIB);
	cr_expect(stored_whole(stored, &v));
	cr_expect(reads(&v, 0, 300 * KIB));
}

Test(stored, pieces_that_are_no_pages_count_by_the_pages_in_them)
{
	struct attr v = version(128 * KIB, 1);

	block_store_keep(stored, &v, 100, file + 100, 10000);
	cr_expect(not(reads(&v, 100, 100)));
	cr_expect(reads(&v, 4096, 4096));
	cr_expect(not(reads(&v, 8192, 4096)));
}

Test(stored, an_empty_file_is_always_there)
{
	struct attr v = version(0, 1);

	cr_expect(stored_whole(stored, &v));
	cr_expect(reads(&v, 0, 4096));
}

Test(stored, nothing_stored_has_nothing)
{
	struct attr v = version(10, 1);
	size_t got;

	block_store_keep(NULL, &v, 0, file, 10);
	cr_expect(not(stored_whole(NULL, &v)));
	cr_expect(not(block_store_read(NULL, &v, 0, got_bytes, 10, &got)));
	block_store_free(NULL);
}

Test(stored, says_what_it_takes_of_memory)
{
	struct attr v = version(MIB, 1);

	cr_expect(eq(u64, block_store_room(stored).used, 0));
	block_store_keep(stored, &v, 0, file, MIB);
	struct block_store_room room = block_store_room(stored);

	cr_expect(eq(ptr, (void *)room.dir, NULL));
	cr_expect(room.used > 0);
	cr_expect(ge(u64, room.max, room.used));
	cr_expect(eq(u64, block_store_room(NULL).max, 0), "nothing is stored");
}

Test(stored, memory_has_an_end_and_what_is_used_stays)
{
	struct attr used = version(MIB, 1), unused = version(MIB, 2);

	memset(file, 1, MIB);
	block_store_keep(stored, &used, 0, file, MIB);
	memset(file, 2, MIB);
	block_store_keep(stored, &unused, 0, file, MIB);
	for (int n = 3; n < 600; n++) {
		struct attr v = version(MIB, n);

		for (size_t at = 0; at < MIB; at += 128 * KIB)
			memcpy(file + at, &(uint64_t){ (uint64_t)n << 32 | at }, 8);
		block_store_keep(stored, &v, 0, file, MIB);
		block_store_read(stored, &used, 0, got_bytes, MIB, &(size_t){ 0 });
	}
	cr_expect(stored_whole(stored, &used));
	cr_expect(not(stored_whole(stored, &unused)));
	cr_expect(lt(long, distant_peak_kb(), 100 * 1024));
}

/* ---- In a directory ---- */

static struct scratch scratch;
static struct stats stats;

static struct block_store *open_dir(const char *sandbox)
{
	struct error e = { 0 };
	char dir[128];
	struct block_store *s;

	snprintf(dir, sizeof dir, "%s/cache", scratch.path);
	const struct block_store_options options = { .dir = dir,
		.size_max = 64 * MIB,
		.provider = "e2b",
		.sandbox = sandbox,
		.stats = &stats };

	cr_assert(eq(int, block_store_new(&s, &options, &e), ERR_OK), "%s", e.text);
	return s;
}

static void reopen(const char *sandbox)
{
	block_store_free(stored);
	stored = open_dir(sandbox);
}

static void setup_dir(void)
{
	setup();
	scratch_make(&scratch);
	reopen("one");
}

static void teardown_dir(void)
{
	teardown();
	scratch_remove(&scratch);
}

TestSuite(stored_dir, .init = setup_dir, .fini = teardown_dir, .timeout = 300);

/* Does something to every block file. */
static void to_blocks_now(const char *what)
{
	char command[256];

	snprintf(command, sizeof command, "find %s/cache/blocks -type f -exec %s \\;", scratch.path,
		what);
	cr_assert(not(system(command)));
}

/* When all are on the disk. */
static void to_blocks(const char *what)
{
	reopen("one");
	to_blocks_now(what);
}

Test(stored_dir, what_is_on_the_disk_does_not_stay_in_memory)
{
	struct attr v = version(4096, 1);
	int64_t end_ms = monotonic_ms() + PATIENCE_MS;

	block_store_keep(stored, &v, 0, file, 4096);
	while (!stats.counters[STATS_BLOCKS_KEPT]) {
		cr_assert(lt(i64, monotonic_ms(), end_ms), "nothing is written");
		usleep(1000);
	}
	cr_expect(reads(&v, 0, 4096));
	to_blocks_now("rm {}");
	cr_expect(not(reads(&v, 0, 4096)));
}

Test(stored_dir, the_next_mount_of_the_sandbox_has_it_and_another_has_not)
{
	struct attr v = version(700001, 1);

	block_store_keep(stored, &v, 0, file, 700001);
	reopen("one");
	cr_expect(stored_whole(stored, &v));
	cr_expect(block_store_has_at(stored, &v, 400000));
	cr_expect(reads(&v, 0, 700001));
	cr_expect(eq(u64, stats.counters[STATS_BLOCKS_KEPT], 6));
	cr_expect(eq(u64, stats.counters[STATS_BLOCK_HITS], 6));
	reopen("two");
	cr_expect(not(stored_whole(stored, &v)));
	cr_expect(not(block_store_has_at(stored, &v, 0)));
	cr_expect(not(reads(&v, 0, 1)));
}

Test(stored_dir, the_next_mount_has_what_grew)
{
	struct attr empty = stable_version(0, 1), part = stable_version(300001, 2);
	struct attr whole = stable_version(700001, 3);

	write_at("f", &empty, &part, 0, 300001);
	write_at("f", &part, &whole, 300001, 400000);
	reopen("one");
	cr_expect(reads(&whole, 0, 700001));
}

Test(stored_dir, the_next_mount_has_what_has_other_attributes_now)
{
	struct attr one = version(700001, 1), other = one, third = one;

	other.ctime.tv_sec += 10;
	third.ctime.tv_sec += 20;
	block_store_keep(stored, &one, 0, file, 700001);
	keep_as(&one, &other);
	reopen("one");
	cr_expect(reads(&other, 0, 700001));
	keep_as(&other, &third);
	reopen("one");
	cr_expect(reads(&third, 0, 700001));
}

Test(stored_dir, says_what_the_directory_takes)
{
	struct attr v = version(700001, 1);

	cr_expect(eq(u64, block_store_room(stored).used, 0));
	for (size_t at = 0; at < 700001; at++)
		file[at] = (unsigned char)(at >> 9 ^ at >> 17);
	block_store_keep(stored, &v, 0, file, 700001);
	reopen("one");
	struct block_store_room room = block_store_room(stored);

	cr_expect(eq(str, strrchr(room.dir, '/'), "/cache"));
	cr_expect(ge(u64, room.used, 700001), "%llu", (unsigned long long)room.used);
	cr_expect(lt(u64, room.used, MIB), "in whole pages, and no more");
	cr_expect(eq(u64, room.max, 64 * MIB));
}

Test(stored_dir, damaged_blocks_are_missed_and_kept_anew)
{
	const char *const damages[] = { "truncate -s 100 {}", "rm {}", "truncate -s +1 {}",
		"sh -c 'printf x | dd of={} bs=1 seek=9 conv=notrunc status=none'" };
	struct attr v = version(700001, 1);

	for (size_t n = 0; n < sizeof damages / sizeof *damages; n++) {
		block_store_keep(stored, &v, 0, file, 700001);
		cr_expect(reads(&v, 0, 700001), "%s", damages[n]);
		to_blocks(damages[n]);
		for (size_t at = 0; at < 700001; at += 128 * KIB)
			cr_expect(not(reads(&v, at, 128 * KIB)), "%s", damages[n]);
	}
	cr_expect(eq(u64, stats.counters[STATS_BLOCKS_BAD], 18));
}

/*
 * All writes wait behind a large one. While `one` is on the disk already, only the name of `two` is
 * known.
 */
Test(stored_dir, two_files_of_the_same_bytes_are_both_there_all_the_time)
{
	const struct attr large = version(7 * MIB, 1), one = version(4096, 2),
			  two = version(4096, 3);

	for (uint64_t at = 0; at < large.size; at += 128 * KIB)
		block_store_keep(stored, &large, at, file + at / 8 % MIB, 128 * KIB);
	block_store_keep(stored, &one, 0, file, 4096);
	for (int n = 4; n < 24; n++) {
		const struct attr between = version(4096, n);

		block_store_keep(stored, &between, 0, file + 100 * n, 4096);
	}
	block_store_keep(stored, &two, 0, file, 4096);
	for (int look = 0; look < 20000; look++)
		cr_assert(reads(&two, 0, 4096) && stored_whole(stored, &two), "%d", look);
}

Test(stored_dir, the_hashes_of_another_sandbox_find_what_is_here)
{
	struct attr v = version(300 * KIB, 1);
	struct block_name names[3];

	for (size_t n = 0; n < 3; n++)
		names[n] = block_name(file + n * 128 * KIB, n < 2 ? 128 * KIB : 44 * KIB);
	block_store_keep(stored, &v, 0, file, 300 * KIB);
	block_store_note_name(stored, "main.c", v.size);
	reopen("two");
	v.ino = 77;
	cr_expect(block_store_may_have(stored, "main.c", v.size));
	cr_expect(not(block_store_may_have(stored, "main.h", v.size)));
	cr_expect(not(block_store_may_have(stored, "main.c", v.size + 1)));
	names[1].bytes[0] ^= 1;
	block_store_adopt(stored, &v, 0, names, 3);
	cr_expect(not(stored_whole(stored, &v)));
	cr_expect(reads(&v, 0, 128 * KIB));
	cr_expect(not(reads(&v, 128 * KIB, 1)));
	names[1].bytes[0] ^= 1;
	block_store_adopt(stored, &v, 1, names + 1, 2);
	cr_expect(reads(&v, 0, 300 * KIB));
}

/* The second version claims that a short file is made of a long block that is here. */
Test(stored_dir, hashes_that_lie_give_no_bytes_and_cost_nobody_any)
{
	struct attr v = version(128 * KIB, 1), lie = version(1000, 2);
	struct block_name name = block_name(file, 128 * KIB);

	block_store_keep(stored, &v, 0, file, 128 * KIB);
	reopen("one");
	block_store_adopt(stored, &lie, 0, &name, 1);
	block_store_adopt(stored, &lie, 1, &name, 1);
	cr_expect(not(reads(&lie, 0, 1000)));
	cr_expect(reads(&v, 0, 128 * KIB));
}

Test(stored_dir, without_a_directory_there_is_memory)
{
	struct attr v = version(MIB, 1);

	block_store_free(stored);
	scratch_remove(&scratch);
	scratch_make(&scratch);
	scratch_write_text(&scratch, "cache", "no directory");
	stored = open_dir("one");
	block_store_keep(stored, &v, 0, file, MIB);
	cr_expect(reads(&v, 0, MIB));
	cr_expect(not(block_store_may_have(stored, "f", 1)));
}

/* A file system of 640 KiB for this process alone, where that is allowed. */
static bool mount_small(void)
{
	if (unshare(CLONE_NEWNS) && unshare(CLONE_NEWUSER | CLONE_NEWNS))
		return false;
	return !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
		!mount("small", scratch.path, "tmpfs", 0, "size=640k,mode=700");
}

Test(stored_dir, a_full_disk_leaves_memory_and_what_it_has)
{
	struct attr one = version(256 * KIB, 1), other = version(MIB, 2);

	block_store_free(stored);
	stored = NULL;
	if (!mount_small())
		cr_skip("no file system may be mounted here");
	stored = open_dir("one");
	block_store_keep(stored, &one, 0, file, 256 * KIB);
	reopen("one");
	cr_expect(eq(u64, stats.counters[STATS_BLOCKS_KEPT], 2));
	block_store_keep(stored, &other, 256 * KIB, file + 256 * KIB, 768 * KIB);
	cr_expect(reads(&one, 0, 256 * KIB));
	cr_expect(reads(&other, 256 * KIB, 768 * KIB));
	reopen("one");
	cr_expect(lt(u64, stats.counters[STATS_BLOCKS_KEPT], 8), "the disk is full");
	cr_expect(reads(&one, 0, 256 * KIB));
	block_store_free(stored);
	stored = NULL;
	umount2(scratch.path, MNT_DETACH);
}
