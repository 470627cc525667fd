/*
 * The helper's verbs in the layers of a container: overlayfs copies a file of a lower layer at its
 * first change.
 */
#include "tests/support/changes.h"
#include "tests/support/scratch.h"

#include "providers/base/cleanup.h"
#include "providers/helper/helper.h"
#include "providers/helper/sys.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static struct scratch scratch;
static struct root root;

static bool mount_layers(void)
{
	char options[512], tree[128];

	snprintf(options, sizeof options,
		"lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work,index=off,redirect_dir=off",
		scratch.path, scratch.path, scratch.path);
	snprintf(tree, sizeof tree, "%s/tree", scratch.path);
	return mount("overlay", tree, "overlay", 0, options) == 0;
}

/* The mounts are this process' alone, and end with it. */
static bool has_layers(void)
{
	return geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
		mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 && mount_layers();
}

static void fill_lower(void)
{
	scratch_mkdir(&scratch, "lower/dir", 0755);
	scratch_write_text(&scratch, "lower/dir/file", "text");
	scratch_write_text(&scratch, "lower/file", "text");
	scratch_write_text(&scratch, "lower/one", "text");
	cr_assert(linkat(scratch.fd, "lower/one", scratch.fd, "lower/other", 0) == 0);
}

static void open_shown(void)
{
	char tree[128], staging[160];
	struct error e = { 0 };

	snprintf(tree, sizeof tree, "%s/tree", scratch.path);
	snprintf(staging, sizeof staging, "%s/tree/.staging", scratch.path);
	cr_assert(eq(int, root_open(&root, tree, staging, &e), ERR_OK), "%s", e.text);
}

static void set_up(void)
{
	static const char *const directories[] = { "lower", "upper", "work", "tree", "between" };

	umask(0);
	scratch_make(&scratch);
	for (size_t n = 0; n < sizeof directories / sizeof *directories; n++)
		scratch_mkdir(&scratch, directories[n], 0755);
	fill_lower();
	if (!has_layers()) {
		scratch_remove(&scratch);
		cr_skip_test("no layers can be mounted here");
	}
	/* The old descriptor lies in the mounts from before. */
	close(scratch.fd);
	scratch.fd = open(scratch.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	open_shown();
}

static void leave(const char *name)
{
	char path[128];

	snprintf(path, sizeof path, "%s/%s", scratch.path, name);
	umount2(path, MNT_DETACH);
}

static void tear_down(void)
{
	root_close(&root);
	leave("tree");
	leave("between");
	scratch_remove(&scratch);
}

TestSuite(helper_layers, .init = set_up, .fini = tear_down, .timeout = 300);

static struct attr attr_at(const char *path)
{
	AUTO_PLACE struct place p = PLACE_NONE;
	struct attr attr = { 0 };
	struct error e = { 0 };

	cr_assert(eq(int, root_place(&root, path, NULL, &p, &e), ERR_OK), "%s", e.text);
	cr_assert(eq(int, place_stat(&p, &attr, path, &e), ERR_OK), "%s", e.text);
	return attr;
}

static struct expect same_as(const char *path)
{
	struct attr attr = attr_at(path);

	return expect_of(&attr);
}

static struct version version_of(const char *path)
{
	struct attr attr = attr_at(path);

	return (struct version){ .size = attr.size, .mtime = attr.mtime, .ctime = attr.ctime };
}

static void apply(const struct change *changes, size_t count, struct change_result *results)
{
	const struct apply_request request = { .changes = changes, .changes_count = count };
	struct error e = { 0 };

	cr_assert(eq(int, helper_apply(&root, NULL, &request, results, &e), ERR_OK), "%s", e.text);
}

static struct change_result apply_one(const struct change *change)
{
	struct change_result result;

	apply(change, 1, &result);
	return result;
}

static void expect_text(const char *path, const char *want)
{
	AUTO_FREE char *text = scratch_read(&scratch, path, NULL);

	cr_expect(eq(str, text, (char *)want), "%s", path);
}

static enum err ignore_piece(void *context, const struct fetch_piece *piece, struct error *e)
{
	(void)e;
	if (piece->kind == FETCH_DONE)
		*(enum err *)context = piece->err;
	return ERR_OK;
}

static enum err fetch(const char *path, struct expect target)
{
	const struct fetch_item item = {
		.kind = FETCH_BYTES, .path = path, .target = target, .length = 10
	};
	enum err done = ERR_IO;

	cr_assert(eq(int, helper_fetch(&root, &item, 1, ignore_piece, &done, NULL), ERR_OK));
	return done;
}

/* A program of the sandbox opens the file for writing, and that is all. */
static void copy_up(const char *path)
{
	AUTO_CLOSE int fd = openat(scratch.fd, path, O_WRONLY | O_CLOEXEC);

	cr_assert(fd >= 0, "%s: %s", path, strerror(errno));
}

Test(helper_layers, a_file_is_the_same_after_its_first_change)
{
	const struct expect file = same_as("file");
	struct change_result r =
		apply_one(&CHANGE(SETATTR, "file", .target = file, .set = SET_MODE, .mode = 0600));

	cr_assert(eq(int, r.err, ERR_OK), "%s", r.why);
	cr_expect(expect_met(&file, &r.attr));
	r = apply_one(&CHANGE(APPEND, "file", .target = file, TEXT("+")));
	cr_expect(eq(int, r.err, ERR_OK), "%s", r.why);
	cr_expect(eq(int, fetch("file", file), ERR_OK));
	expect_text("tree/file", "text+");
}

/* As where a container starts again and another mount has the number of its layers meanwhile. */
static void mount_again(void)
{
	char between[128];

	snprintf(between, sizeof between, "%s/between", scratch.path);
	root_close(&root);
	leave("tree");
	cr_assert(eq(int, mount("none", between, "tmpfs", 0, NULL), 0), "%s", strerror(errno));
	cr_assert(mount_layers(), "%s", strerror(errno));
	open_shown();
}

Test(helper_layers, a_file_is_the_same_where_the_layers_are_mounted_again)
{
	const struct expect dir = same_as("dir");
	const struct expect file = same_as("dir/file"), other = same_as("file");
	struct change_result r;

	mount_again();
	cr_assert(ne(u64, same_as("dir/file").dev, file.dev));
	r = apply_one(&CHANGE(APPEND, "dir/file", .parent = dir, .target = file, TEXT("+")));
	cr_expect(eq(int, r.err, ERR_OK), "%s", r.why);
	cr_expect(eq(int, fetch("dir/file", file), ERR_OK));
	cr_expect(eq(int, fetch("dir/file", other), ERR_STALE));
	expect_text("tree/dir/file", "text+");
}

Test(helper_layers, a_directory_is_the_same_after_the_first_change_in_it)
{
	const struct expect dir = same_as("dir");
	struct change_result r = apply_one(&CHANGE(CREATE, "dir/new", .parent = dir, .mode = 0644));

	cr_assert(eq(int, r.err, ERR_OK), "%s", r.why);
	r = apply_one(&CHANGE(CREATE, "dir/newer", .parent = dir, .mode = 0644));
	cr_expect(eq(int, r.err, ERR_OK), "%s", r.why);
}

Test(helper_layers, a_directory_of_a_lower_layer_is_not_renamed)
{
	struct change_result r =
		apply_one(&CHANGE(RENAME, "dir", .path2 = "moved", .target = same_as("dir")));

	cr_expect(eq(int, r.err, ERR_CROSS_DEVICE), "%s", r.why);
	cr_expect(eq(int, apply_one(&CHANGE(MKDIR, "made", .mode = 0755)).err, ERR_OK));
	r = apply_one(&CHANGE(RENAME, "made", .path2 = "moved"));
	cr_expect(eq(int, r.err, ERR_OK), "%s", r.why);
}

Test(helper_layers, a_file_that_was_only_opened_for_writing_has_its_version)
{
	const struct version version = version_of("file");
	const struct expect file = same_as("file");

	copy_up("tree/file");
	struct change_result r =
		apply_one(&CHANGE(WRITE, "file", .target = file, .version = version, TEXT("TEXT")));

	cr_expect(eq(int, r.err, ERR_OK), "%s", r.why);
	r = apply_one(&CHANGE(WRITE, "file", .target = file, .version = version, TEXT("again")));
	cr_expect(eq(int, r.err, ERR_CONFLICT), "%s", r.why);
	expect_text("tree/file", "TEXT");
}

/* A file with several names gets another inode number when it is copied up. */
Test(helper_layers, a_linked_file_that_was_only_opened_for_writing_has_its_version)
{
	const struct version version = version_of("one");
	const struct expect file = same_as("one");

	copy_up("tree/one");
	cr_assert(ne(u64, attr_at("one").ino, file.ino));
	struct change_result r =
		apply_one(&CHANGE(WRITE, "one", .target = file, .version = version, TEXT("TEXT")));

	cr_expect(eq(int, r.err, ERR_OK), "%s", r.why);
	expect_text("tree/other", "text");
}

Test(helper_layers, what_follows_in_a_batch_finds_a_linked_file_that_was_copied)
{
	const struct expect file = same_as("one");
	const struct change batch[] = {
		CHANGE(SETATTR, "one", .target = file, .set = SET_MODE, .mode = 0600),
		CHANGE(APPEND, "one", .target = file, TEXT("+")),
		CHANGE(RENAME, "one", .path2 = "moved"),
		CHANGE(APPEND, "moved", .target = file, TEXT("+")),
		CHANGE(APPEND, "other", .target = file, TEXT("-")),
	};
	struct change_result results[5];

	apply(batch, 5, results);
	for (size_t n = 0; n < 5; n++)
		cr_expect(eq(int, results[n].err, ERR_OK), "%zu: %s", n, results[n].why);
	expect_text("tree/moved", "text++");
	expect_text("tree/other", "text-");
}

Test(helper_layers, another_file_of_that_name_is_not_the_linked_one)
{
	const struct expect file = same_as("one");

	scratch_write_text(&scratch, "tree/new", "new");
	cr_assert(renameat(scratch.fd, "tree/new", scratch.fd, "tree/one") == 0);
	cr_expect(eq(
		int, apply_one(&CHANGE(APPEND, "one", .target = file, TEXT("+"))).err, ERR_STALE));
	expect_text("tree/one", "new");
}

Test(helper_layers, a_linked_file_that_is_kept_is_read_as_what_it_was)
{
	const struct expect file = same_as("one");
	struct change_result r =
		apply_one(&CHANGE(UNLINK, "one", .path2 = "/u-kept", .target = file));

	cr_assert(eq(int, r.err, ERR_OK), "%s", r.why);
	cr_expect(eq(int, fetch("/u-kept", file), ERR_OK));
	cr_expect(not(faccessat(scratch.fd, "tree/other", F_OK, 0)));
}

Test(helper_layers, a_linked_file_that_is_replaced_is_kept_as_what_it_was)
{
	const struct expect file = same_as("other");

	scratch_write_text(&scratch, "tree/new", "new");
	struct change_result r = apply_one(
		&CHANGE(RENAME, "new", .path2 = "other", .keep = "/u-kept", .target2 = file));

	cr_assert(eq(int, r.err, ERR_OK), "%s", r.why);
	cr_expect(eq(int, fetch("/u-kept", file), ERR_OK));
	expect_text("tree/other", "new");
	expect_text("tree/one", "text");
}

Test(helper_layers, a_linked_file_gets_one_more_name)
{
	struct change_result r =
		apply_one(&CHANGE(LINK, "one", .path2 = "third", .target = same_as("one")));

	cr_assert(eq(int, r.err, ERR_OK), "%s", r.why);
	cr_expect(eq(u64, r.attr.ino, attr_at("third").ino));
	cr_expect(eq(int, apply_one(&CHANGE(APPEND, "third", TEXT("+"))).err, ERR_OK));
	expect_text("tree/one", "text+");
	expect_text("tree/other", "text");
}
