#include "cache/blocks/budget.h"
#include "cache/blocks/files.h"
#include "providers/base/cleanup.h"
#include "tests/support/scratch.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((uint64_t)1024 * 1024)

static struct scratch scratch;
static struct stats stats;
static char dir[128];

static void setup(void)
{
	scratch_make(&scratch);
	snprintf(dir, sizeof dir, "%s/cache/of/one", scratch.path);
}

static void teardown(void)
{
	scratch_remove(&scratch);
}

TestSuite(blocks, .init = setup, .fini = teardown, .timeout = 300);

static struct block_files *open_with(uint64_t max)
{
	struct error e = { 0 };
	struct block_files *f;

	cr_assert(eq(int, block_files_open(&f, dir, max, &stats, &e), ERR_OK), "%s", e.text);
	return f;
}

/* One whole block for each number. */
static struct block_name fill(int number, unsigned char bytes[BLOCK_SIZE])
{
	memset(bytes, number, BLOCK_SIZE);
	memcpy(bytes, &number, sizeof number);
	return block_name(bytes, BLOCK_SIZE);
}

static enum err put(struct block_files *f, int number)
{
	unsigned char bytes[BLOCK_SIZE];
	struct block_name name = fill(number, bytes);

	return block_files_put(f, &name, bytes, BLOCK_SIZE, NULL);
}

/* Whether the store has the block; the bytes of a stored block must be right. */
static bool gets(struct block_files *f, int number)
{
	unsigned char bytes[BLOCK_SIZE], got[BLOCK_SIZE];
	struct block_name name = fill(number, bytes);

	if (!block_files_get(f, &name, got, BLOCK_SIZE))
		return false;
	cr_assert(not(memcmp(bytes, got, BLOCK_SIZE)));
	return true;
}

/* The place of the block, from the scratch directory; `folder`: of its folder only. */
static const char *path_of(int number, bool folder)
{
	static char path[128];
	unsigned char bytes[BLOCK_SIZE];
	struct block_name name = fill(number, bytes);
	size_t len = (size_t)snprintf(path, sizeof path, "cache/of/one/blocks/%02x", name.bytes[0]);

	for (size_t n = 1; n < sizeof name.bytes && !folder; n++)
		len += (size_t)snprintf(
			path + len, sizeof path - len, "%s%02x", n == 1 ? "/" : "", name.bytes[n]);
	return path;
}

static void set_use(int number, time_t when)
{
	const struct timespec times[2] = { { .tv_sec = when }, { .tv_sec = when } };

	cr_assert(not(utimensat(scratch.fd, path_of(number, false), times, 0)));
}

static uint64_t bytes_on_disk(void)
{
	char command[256];
	char line[64] = "";

	snprintf(command, sizeof command,
		"find %s/blocks -type f -printf '%%s\\n' | awk '{n += $1} END {printf \"%%d\", n}'",
		dir);
	FILE *out = popen(command, "r");

	cr_assert(fgets(line, sizeof line, out) != NULL);
	pclose(out);
	return strtoull(line, NULL, 10);
}

Test(blocks, what_was_put_is_there_for_the_next_as_well)
{
	struct block_files *f = open_with(0), *other = open_with(0);

	cr_expect(not(gets(f, 1)));
	cr_expect(eq(int, put(f, 1), ERR_OK));
	cr_expect(gets(f, 1));
	cr_expect(gets(other, 1));
	block_files_free(f);
	block_files_free(other);
	f = open_with(0);
	cr_expect(gets(f, 1));
	cr_expect(not(gets(f, 2)));
	cr_expect(block_files_max(f) > 0);
	block_files_free(f);
}

static void flip(int fd)
{
	unsigned char byte;

	cr_assert(eq(int, (int)pread(fd, &byte, 1, 70000), 1));
	byte ^= 4;
	cr_assert(eq(int, (int)pwrite(fd, &byte, 1, 70000), 1));
}

static void cut(int fd)
{
	cr_assert(not(ftruncate(fd, 70000)));
}

static void empty(int fd)
{
	cr_assert(not(ftruncate(fd, 0)));
}

static void lengthen(int fd)
{
	cr_assert(not(ftruncate(fd, (off_t)1 << 40)));
}

Test(blocks, a_damaged_one_is_a_miss_and_goes)
{
	void (*const damages[])(int fd) = { flip, cut, empty, lengthen };
	struct block_files *f = open_with(100 * MIB);

	for (size_t n = 0; n < sizeof damages / sizeof *damages; n++) {
		put(f, 1);
		AUTO_CLOSE int fd = openat(scratch.fd, path_of(1, false), O_RDWR);

		cr_assert(ge(int, fd, 0));
		uint64_t used = block_files_used(f);

		damages[n](fd);
		cr_expect(not(gets(f, 1)), "damage %zu", n);
		cr_expect(eq(u64, stats.counters[STATS_BLOCKS_BAD], n + 1));
		cr_expect(ne(int, faccessat(scratch.fd, path_of(1, false), F_OK, 0), 0));
		cr_expect(eq(int, put(f, 1), ERR_OK));
		cr_expect(damages[n] != flip || block_files_used(f) == used);
		cr_expect(gets(f, 1));
	}
	cr_assert(not(unlinkat(scratch.fd, path_of(1, false), 0)));
	cr_expect(not(gets(f, 1)));
	block_files_free(f);
}

Test(blocks, a_block_of_another_length_than_expected_stays)
{
	struct block_files *f = open_with(100 * MIB);
	unsigned char bytes[BLOCK_SIZE];
	struct block_name name = fill(1, bytes);

	put(f, 1);
	cr_expect(not(block_files_get(f, &name, bytes, 100)));
	cr_expect(gets(f, 1));
	cr_expect(eq(u64, stats.counters[STATS_BLOCKS_BAD], 0));
	block_files_free(f);
}

Test(blocks, links_lead_nowhere)
{
	struct block_files *f = open_with(100 * MIB);
	unsigned char bytes[BLOCK_SIZE];

	fill(1, bytes);
	scratch_write(&scratch, "outside", bytes, BLOCK_SIZE);
	put(f, 1);
	cr_assert(not(unlinkat(scratch.fd, path_of(1, false), 0)));
	cr_assert(not(symlinkat("../../../../../outside", scratch.fd, path_of(1, false))));
	cr_expect(not(gets(f, 1)));
	cr_assert(not(unlinkat(scratch.fd, path_of(1, false), 0)));
	cr_assert(not(unlinkat(scratch.fd, path_of(1, true), AT_REMOVEDIR)));
	scratch_mkdir(&scratch, "elsewhere", 0755);
	cr_assert(not(symlinkat("../../../../elsewhere", scratch.fd, path_of(1, true))));
	cr_expect(ne(int, put(f, 1), ERR_OK));
	cr_expect(not(gets(f, 1)));
	cr_expect(eq(int, unlinkat(scratch.fd, "elsewhere", AT_REMOVEDIR), 0), "it is empty");
	block_files_free(f);
}

Test(blocks, the_least_recently_used_go_first)
{
	struct block_files *f = open_with(16 * BLOCK_SIZE);

	for (int n = 0; n < 14; n++) {
		put(f, n);
		set_use(n, 1000000 + n);
	}
	cr_expect(gets(f, 2), "and is used now");
	for (int n = 14; n < 17; n++)
		put(f, n);
	cr_expect(not(gets(f, 0)));
	cr_expect(not(gets(f, 1)));
	cr_expect(gets(f, 2));
	cr_expect(not(gets(f, 3)));
	for (int n = 6; n < 17; n++)
		cr_expect(gets(f, n), "%d", n);
	cr_expect(le(u64, bytes_on_disk(), 16 * BLOCK_SIZE));
	cr_expect(eq(u64, stats.counters[STATS_BLOCKS_EVICTED], 17 - bytes_on_disk() / BLOCK_SIZE));
	block_files_free(f);
}

Test(blocks, a_wrong_sum_is_counted_anew)
{
	struct block_files *f = open_with(16 * BLOCK_SIZE);
	uint64_t wrong = 1 << 30;

	put(f, 1);
	scratch_write(&scratch, "cache/of/one/usage", &wrong, sizeof wrong);
	put(f, 2);
	cr_expect(gets(f, 1));
	cr_expect(gets(f, 2));
	scratch_write(&scratch, "cache/of/one/usage", "", 0);
	for (int n = 3; n < 40; n++)
		cr_expect(eq(int, put(f, n), ERR_OK));
	cr_expect(le(u64, bytes_on_disk(), 16 * BLOCK_SIZE));
	block_files_free(f);
}

Test(blocks, what_is_larger_than_the_budget_is_not_taken)
{
	struct block_files *f = open_with(BLOCK_SIZE);

	cr_expect(eq(int, put(f, 1), ERR_NO_SPACE));
	cr_expect(eq(u64, bytes_on_disk(), 0));
	block_files_free(f);
}

/* Each process puts and gets its own and the others' blocks. */
static void work(int process)
{
	struct block_files *f = open_with(40 * BLOCK_SIZE);

	for (int n = 0; n < 200; n++) {
		put(f, (n * 7 + process * 13) % 60);
		gets(f, (n * 11 + process) % 60);
	}
	block_files_free(f);
}

Test(blocks, several_processes_share_it_and_its_budget)
{
	enum { PROCESSES = 4 };
	pid_t children[PROCESSES];

	for (int n = 0; n < PROCESSES; n++) {
		children[n] = fork();
		if (!children[n]) {
			work(n);
			_exit(0);
		}
	}
	for (int n = 0; n < PROCESSES; n++) {
		int status;

		cr_assert(eq(int, waitpid(children[n], &status, 0), children[n]));
		cr_expect(eq(int, status, 0));
	}
	/* The blocks that a process was writing while another one made room are counted by then. */
	struct block_files *f = open_with(40 * BLOCK_SIZE);

	for (int n = 100; n < 140; n++)
		cr_expect(eq(int, put(f, n), ERR_OK));
	cr_expect(le(u64, bytes_on_disk(), 40 * BLOCK_SIZE));
	block_files_free(f);
}

Test(blocks, what_was_left_half_written_goes_with_the_old)
{
	struct block_files *f = open_with(8 * BLOCK_SIZE);
	const struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };

	put(f, 0);
	scratch_write(&scratch, "left", "half", 4);
	AUTO_FREE char *folder = strdup(path_of(0, true));
	char left[160];

	snprintf(left, sizeof left, "%s/%s0", folder, BLOCK_ASIDE);
	cr_assert(not(renameat(scratch.fd, "left", scratch.fd, left)));
	cr_assert(not(utimensat(scratch.fd, left, old, 0)));
	for (int n = 1; n < 10; n++)
		put(f, n);
	cr_expect(ne(int, faccessat(scratch.fd, left, F_OK, 0), 0));
	block_files_free(f);
}

Test(blocks, a_disk_that_takes_no_more_says_so_and_keeps_what_it_has)
{
	struct block_files *f = open_with(100 * MIB);

	put(f, 1);
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 4096, RLIM_INFINITY });
	cr_expect(ne(int, put(f, 2), ERR_OK));
	cr_expect(gets(f, 1));
	cr_expect(eq(u64, bytes_on_disk(), BLOCK_SIZE), "nothing half written stays");
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){ RLIM_INFINITY, RLIM_INFINITY });
	cr_expect(eq(int, put(f, 2), ERR_OK));
	block_files_free(f);
}

static void expect_refused(const char *why)
{
	struct error e = { 0 };
	struct block_files *f;

	cr_expect(ne(int, block_files_open(&f, dir, 0, NULL, &e), ERR_OK));
	cr_expect(strstr(e.text, why) != NULL, "%s", e.text);
	cr_expect(strstr(e.text, scratch.path) != NULL, "%s", e.text);
}

Test(blocks, a_directory_that_others_can_change_is_refused)
{
	block_files_free(open_with(0));
	chmod(dir, 0777);
	expect_refused("chmod 700");
	chmod(dir, 0700);
	if (!geteuid()) {
		cr_assert(not(chown(dir, 65534, 65534)));
		expect_refused("another user");
	}
}

Test(blocks, what_is_no_directory_is_refused)
{
	scratch_write_text(&scratch, "cache", "a file");
	expect_refused("irectory");
}

Test(blocks, nobody_else_may_look)
{
	struct block_files *f = open_with(0);
	struct stat st;

	put(f, 1);
	cr_assert(not(stat(dir, &st)));
	cr_expect(eq(uint, st.st_mode & 0777, 0700));
	cr_assert(not(fstatat(scratch.fd, path_of(1, false), &st, 0)));
	cr_expect(eq(uint, st.st_mode & 0777, 0600));
	block_files_free(f);
}

/* Root may write anywhere, so the test acts as another user then. */
Test(blocks, a_directory_that_cannot_be_written_is_refused)
{
	char command[256];

	block_files_free(open_with(0));
	if (!geteuid()) {
		cr_assert(not(chmod(scratch.path, 0755)));
		snprintf(command, sizeof command, "chown -R 65534 %s/cache", scratch.path);
		cr_assert(not(system(command)));
		cr_assert(not(seteuid(65534)));
	}
	cr_assert(not(fchmodat(scratch.fd, "cache/of/one/usage", 0400, 0)));
	expect_refused("Permission denied");
	cr_expect(eq(int, seteuid(getuid()), 0));
}
