/* The helper's verbs on a disk that has no room for two of a file. */
#include "tests/support/changes.h"
#include "tests/support/scratch.h"

#include "providers/base/cleanup.h"
#include "providers/helper/helper.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

static struct scratch scratch;
static struct root root;

/* Of the child that is to be killed; 0: of none. */
static int holes_left;

/* In the place of the C library's. */
int fallocate(int fd, int mode, off_t offset, off_t len)
{
	if (holes_left && !--holes_left)
		raise(SIGKILL);
	return (int)syscall(SYS_fallocate, fd, mode, offset, len);
}

/* A disk of 8 MiB, of this process alone. */
static bool has_disk(const char *tree)
{
	return geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
		mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
		mount("none", tree, "tmpfs", 0, "size=8M") == 0;
}

static void set_up(void)
{
	char tree[128], staging[160];
	struct error e = { 0 };

	umask(0);
	scratch_make(&scratch);
	scratch_mkdir(&scratch, "tree", 0755);
	snprintf(tree, sizeof tree, "%s/tree", scratch.path);
	snprintf(staging, sizeof staging, "%s/.staging", tree);
	if (!has_disk(tree)) {
		scratch_remove(&scratch);
		cr_skip_test("no disk can be mounted here");
	}
	/* Of the mounts from before. */
	close(scratch.fd);
	scratch.fd = open(scratch.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	scratch_mkdir(&scratch, "tree/.staging", 0700);
	cr_assert(eq(int, root_open(&root, tree, staging, &e), ERR_OK), "%s", e.text);
}

static void tear_down(void)
{
	char tree[128];

	root_close(&root);
	snprintf(tree, sizeof tree, "%s/tree", scratch.path);
	umount2(tree, MNT_DETACH);
	scratch_remove(&scratch);
}

TestSuite(helper_room, .init = set_up, .fini = tear_down, .timeout = 300);

/* Bytes that differ from place to place. */
static void fill(unsigned char *bytes, size_t len, unsigned seed)
{
	for (size_t n = 0; n < len; n++)
		bytes[n] = (unsigned char)((n >> 8) * 31 + n * seed + 1);
}

static void write_file(const char *path, size_t len, unsigned seed)
{
	AUTO_FREE unsigned char *bytes = malloc(len);
	AUTO_CLOSE int fd = openat(scratch.fd, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	fill(bytes, len, seed);
	cr_assert(eq(sz, (size_t)write(fd, bytes, len), len), "%s", path);
}

static void expect_file(const char *path, size_t len, unsigned seed)
{
	AUTO_FREE unsigned char *wanted = malloc(len);
	size_t got_len;
	AUTO_FREE char *got = scratch_read(&scratch, path, &got_len);

	fill(wanted, len, seed);
	cr_assert(eq(sz, got_len, len));
	cr_expect(memcmp(got, wanted, len) == 0, "%s", path);
}

static const struct change over =
	CHANGE_ROW(PLACE, "/n-1", .path2 = "file", .flags = CHANGE_REPLACE | CHANGE_BY_HANDLE);

static struct change_result apply_over(void)
{
	const struct apply_request request = {
		.journal = { 0x6a }, .first_sequence = 1, .changes = &over, .changes_count = 1
	};
	struct change_result result = { 0 };
	struct error e = { 0 };

	cr_assert(eq(int, helper_apply(&root, NULL, &request, &result, &e), ERR_OK), "%s", e.text);
	return result;
}

static ino_t inode_of(const char *path)
{
	struct stat st;

	cr_assert(fstatat(scratch.fd, path, &st, 0) == 0);
	return st.st_ino;
}

Test(helper_room, a_small_file_becomes_a_large_one_on_a_disk_that_has_no_room_for_two)
{
	write_file("tree/file", 1000, 3);
	write_file("tree/.staging/n-1", 5 * MIB + 77, 5);
	ino_t before = inode_of("tree/file");
	struct change_result result = apply_over();

	cr_expect(eq(int, result.err, ERR_OK), "%s", result.why);
	cr_expect(eq(u64, result.count, 5 * MIB + 77));
	expect_file("tree/file", 5 * MIB + 77, 5);
	cr_expect(eq(u64, inode_of("tree/file"), before));
	cr_expect(faccessat(scratch.fd, "tree/.staging/n-1", F_OK, 0) != 0);
}

Test(helper_room, a_file_is_as_it_was_where_the_disk_has_no_room_for_what_is_written)
{
	write_file("tree/file", 1000, 3);
	write_file("tree/.staging/n-1", 4 * MIB, 5);
	/* So that not even a piece can be moved. */
	write_file("tree/other", 3 * MIB + 100 * 1024, 7);
	struct change_result result = apply_over();

	cr_expect(eq(int, result.err, ERR_NO_SPACE), "%s", result.why);
	expect_file("tree/file", 1000, 3);
}

Test(helper_room, a_move_goes_on_wherever_the_run_was_killed)
{
	int status, nth = 1;

	do {
		write_file("tree/file", 1000, 3);
		write_file("tree/.staging/n-1", 5 * MIB + 77, 5);
		unlinkat(scratch.fd, "tree/.staging/seq-6a000000000000000000000000000000", 0);
		pid_t child = fork();

		cr_assert(child >= 0);
		if (!child) {
			holes_left = nth;
			apply_over();
			_exit(0);
		}
		cr_assert(eq(int, waitpid(child, &status, 0), child));
		if (!WIFSIGNALED(status))
			break;
		struct change_result result = apply_over();

		cr_expect(eq(int, result.err, ERR_OK), "killed at %d: %s", nth, result.why);
		expect_file("tree/file", 5 * MIB + 77, 5);
	} while (nth++ < 100);
	/* One makes room for the record, one tries whether holes are told, and each piece has one. */
	cr_expect(eq(int, nth, 1 + 1 + 21 + 1));
}

Test(helper_room, a_new_file_that_does_not_fit_leaves_its_room_to_what_is_behind_it)
{
	static const char bytes[1 << 20], small[100];
	struct change changes[10] = { CHANGE_ROW(
		CREATE, "/n-2", .flags = CHANGE_EXCL, .mode = 0600) };
	struct change_result results[10] = { 0 };
	struct error e = { 0 };
	struct apply_request request = {
		.journal = { 0x6a }, .first_sequence = 1, .changes = changes, .changes_count = 10
	};

	for (uint32_t n = 1; n < 8; n++)
		changes[n] = (struct change)CHANGE_ROW(WRITE, "/n-2", .offset = (n - 1) * MIB,
			.data = bytes, .data_len = sizeof bytes, .needs = n);
	changes[8] = (struct change)CHANGE_ROW(CREATE, "small", .mode = 0600);
	changes[9] =
		(struct change)CHANGE_ROW(WRITE, "small", .data = small, .data_len = sizeof small);
	write_file("tree/other", 3 * MIB, 7);
	cr_assert(eq(int, helper_apply(&root, NULL, &request, results, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(int, results[1].err, ERR_OK));
	cr_expect(eq(int, results[5].err, ERR_NO_SPACE));
	cr_expect(eq(int, results[7].err, ERR_SKIPPED));
	cr_expect(eq(int, results[9].err, ERR_OK), "%s", results[9].why);
}
