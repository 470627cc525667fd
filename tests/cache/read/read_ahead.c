#include "tests/cache/distant.h"

#include "providers/base/cleanup.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MIB ((size_t)1024 * 1024)

static struct distant far;
static unsigned char *bytes;

static void setup(void)
{
	distant_start_trusting(&far);
	bytes = malloc(MIB);
}

static void teardown(void)
{
	distant_hold_fetches(&far, false);
	distant_stop(&far);
	free(bytes);
}

TestSuite(ahead, .init = setup, .fini = teardown, .timeout = 300);

/* A file in the sandbox: each MiB begins with its offset, and the rest are zeroes. */
static struct inode *with_file(const char *name, uint64_t size)
{
	int fd = openat(far.scratch.fd, name, O_WRONLY | O_CREAT, 0644);

	cr_assert(not(ftruncate(fd, (off_t)size)));
	for (uint64_t at = 0; at + sizeof at <= size; at += MIB)
		cr_assert(eq(int, (int)pwrite(fd, &at, sizeof at, (off_t)at), sizeof at));
	close(fd);
	cache_invalidate_all(far.cache); /* drops the negative entry of the name */
	return distant_open(&far, name);
}

static size_t read_at(struct inode *i, uint64_t offset, size_t len)
{
	struct error e = { 0 };
	size_t got;

	cr_assert(eq(int, cache_read(far.cache, NULL, i, offset, bytes, len, &got, &e), ERR_OK),
		"%s", e.text);
	return got;
}

static void expect_mark(uint64_t offset)
{
	uint64_t mark;

	memcpy(&mark, bytes, sizeof mark);
	cr_assert(eq(u64, mark, offset));
}

Test(ahead, a_large_file_is_read_in_few_calls_and_little_memory)
{
	struct inode *i = with_file("f", 100 * MIB);
	long idle_kb = distant_peak_kb();

	for (uint64_t at = 0; at < 100 * MIB; at += MIB) {
		cr_assert(eq(sz, read_at(i, at, MIB), MIB));
		expect_mark(at);
	}
	cr_expect(eq(sz, read_at(i, 100 * MIB, MIB), 0));
	cr_expect(le(uint, distant_fetches(&far), 2));
	cr_expect(lt(long, distant_peak_kb() - idle_kb, 64 * 1024));
	distant_close(&far, i);
}

Test(ahead, reads_in_any_size_give_the_same_bytes)
{
	struct inode *i = with_file("f", 5 * MIB + 123);
	uint64_t at = 0;
	size_t got;

	while ((got = read_at(i, at, 100000))) {
		uint64_t mark = (at + MIB - 1) / MIB * MIB;

		if (mark + sizeof mark <= at + got) {
			memmove(bytes, bytes + (mark - at), sizeof mark);
			expect_mark(mark);
		}
		at += got;
	}
	cr_expect(eq(u64, at, 5 * MIB + 123));
	cr_expect(le(uint, distant_fetches(&far), 2));
	distant_close(&far, i);
}

Test(ahead, a_small_file_is_read_whole_by_its_first_read)
{
	struct inode *i = with_file("f", 100000);

	for (uint64_t at = 0; at < 100000; at += 4096)
		read_at(i, at, 4096);
	cr_expect(eq(sz, read_at(i, 99990, 4096), 10));
	cr_expect(eq(uint, distant_fetches(&far), 1));
	distant_close(&far, i);
}

Test(ahead, random_reads_ask_for_what_they_want)
{
	/*
	 * The size is larger than that of files that are fetched whole after some reads
	 * (cache/read/background_fetch.c).
	 */
	struct inode *i = with_file("f", 300 * MIB);

	for (uint64_t n = 0; n < 20; n++) {
		uint64_t at = (n * 37 + 11) % 300 * MIB;

		cr_assert(eq(sz, read_at(i, at, 4096), 4096));
		expect_mark(at);
	}
	cr_expect(eq(uint, distant_fetches(&far), 20));
	cr_expect(eq(uint, far.items, 20));
	distant_close(&far, i);
}

Test(ahead, a_jump_within_the_window_uses_it)
{
	struct inode *i = with_file("f", 4 * MIB);

	read_at(i, 0, MIB);
	read_at(i, MIB, MIB / 2);
	read_at(i, 2 * MIB, 4096);
	expect_mark(2 * MIB);
	read_at(i, MIB, 4096);
	expect_mark(MIB);
	cr_expect(eq(uint, distant_fetches(&far), 2));
	distant_close(&far, i);
}

Test(ahead, parallel_reads_in_any_order_use_the_stream)
{
	struct inode *i = with_file("f", 8 * MIB);

	read_at(i, 0, MIB / 2);
	for (uint64_t at = MIB / 2; at < 8 * MIB - MIB / 2; at += MIB) {
		read_at(i, at + MIB / 2, MIB / 2);
		expect_mark(at + MIB / 2);
		read_at(i, at, MIB / 2);
	}
	cr_expect(le(uint, distant_fetches(&far), 5));
	distant_close(&far, i);
}

Test(ahead, bytes_of_two_versions_are_never_mixed)
{
	struct inode *i = with_file("f", 16 * MIB);
	bool is_new = false;

	/* Without a tick both versions may have the same times. */
	distant_pass_tick(&far);
	far.changing = "f";
	far.change_after = 6; /* while the reader is still in the first MiBs */
	for (uint64_t at = 0; at < 16 * MIB; at += MIB) {
		read_at(i, at, MIB);
		if (at)
			expect_mark(at);
	}
	/* The kernel, which has the first MiB of the old version, was told to forget it. */
	is_new = distant_page_reports(&far) > 0;
	cr_expect(is_new);
	read_at(i, 0, 4);
	cr_expect(not(memcmp(bytes, "NEW", 3)));
	distant_close(&far, i);
}

Test(ahead, a_local_write_ends_the_stream)
{
	struct inode *i = with_file("f", 8 * MIB);

	read_at(i, 0, MIB);
	read_at(i, MIB, MIB);
	distant_write(&far, i, 2 * MIB + 8, "mine");
	read_at(i, 2 * MIB, 100);
	cr_expect(not(memcmp(bytes + 8, "mine", 4)));
	distant_close(&far, i);
}

Test(ahead, an_invalidation_ends_the_stream)
{
	struct inode *i = with_file("f", 8 * MIB);

	read_at(i, 0, MIB);
	read_at(i, MIB, MIB);
	scratch_write_text(&far.scratch, "f", "short");
	cache_invalidate_all(far.cache);
	cr_expect(eq(sz, read_at(i, 0, 100), 5));
	cr_expect(not(memcmp(bytes, "short", 5)));
	distant_close(&far, i);
}

Test(ahead, who_waits_for_bytes_can_be_killed)
{
	struct cancel cancel;
	struct call call = { .cancel = &cancel };
	struct inode *i = with_file("f", 8 * MIB);
	size_t got;

	cancel_init(&cancel, NULL);
	read_at(i, 0, MIB);
	distant_hold_fetches(&far, true);
	cancel_throw(&cancel);
	cr_expect(eq(int, cache_read(far.cache, &call, i, MIB, bytes, MIB, &got, NULL),
		ERR_INTERRUPTED));
	distant_hold_fetches(&far, false);
	cr_expect(eq(sz, read_at(i, MIB, MIB), MIB));
	cancel_release(&cancel);
	distant_close(&far, i);
}

Test(ahead, a_sandbox_that_stalls_is_given_up_once)
{
	struct inode *i = with_file("f", 8 * MIB);
	size_t got;

	read_at(i, 0, MIB);
	far.hasty_ms = 50;
	distant_hold_fetches(&far, true);
	cr_expect(
		eq(int, cache_read(far.cache, NULL, i, MIB, bytes, MIB, &got, NULL), ERR_TIMEOUT));
	cr_expect(eq(uint, distant_fetches(&far), 2));
	distant_hold_fetches(&far, false);
	distant_close(&far, i);
}

Test(ahead, a_stream_that_nobody_reads_waits_with_a_window_at_most)
{
	struct inode *i = with_file("f", 100 * MIB);

	read_at(i, 0, MIB);
	read_at(i, MIB, MIB);
	distant_close(&far, i);
	cr_expect(le(uint, far.items, 12));
}

Test(ahead, many_files_at_once_are_all_read_right)
{
	struct inode *i[40];
	char name[16];

	for (int n = 0; n < 40; n++) {
		snprintf(name, sizeof name, "f%d", n);
		i[n] = with_file(name, 4 * MIB);
	}
	for (uint64_t at = 0; at < 4 * MIB; at += MIB)
		for (int n = 0; n < 40; n++) {
			cr_assert(eq(sz, read_at(i[n], at, MIB), MIB));
			expect_mark(at);
		}
	for (int n = 0; n < 40; n++)
		distant_close(&far, i[n]);
}
