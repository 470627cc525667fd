/* The helper's verbs on a disk that has no room for two of a file. */
#include "tests/support/changes.h"
#include "tests/support/scratch.h"

#include "providers/base/cleanup.h"
#include "providers/helper/helper.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

static struct scratch scratch;
static struct root root;

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
	/* The old descriptor lies in the mounts from before. */
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

Test(helper_room, a_file_is_as_it_was_where_the_disk_has_no_room_for_what_is_written)
{
	write_file("tree/file", 1000, 3);
	write_file("tree/.staging/n-1", 4 * MIB, 5);
	struct change_result result = apply_over();

	cr_expect(eq(int, result.err, ERR_NO_SPACE), "%s", result.why);
	expect_file("tree/file", 1000, 3);
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

Test(helper_room, a_write_that_found_no_room_is_not_done_to_an_emptied_file_when_it_comes_again)
{
	static const char bytes[1 << 20];
	const struct change write =
		CHANGE_ROW(WRITE, "/n-2", .data = bytes, .data_len = sizeof bytes);
	const struct apply_request request = { .changes = &write, .changes_count = 1 };
	struct change_result result = { 0 };
	struct error e = { 0 };

	write_file("tree/.staging/n-2", 100, 3);
	write_file("tree/other", 7 * MIB + 512 * 1024, 7);
	cr_assert(eq(int, helper_apply(&root, NULL, &request, &result, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(int, result.err, ERR_NO_SPACE));
	unlinkat(scratch.fd, "tree/other", 0);
	cr_assert(eq(int, helper_apply(&root, NULL, &request, &result, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(int, result.err, ERR_NOT_FOUND));
}
