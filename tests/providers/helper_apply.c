#include "tests/support/shown.h"

#include "providers/base/cleanup.h"
#include "providers/helper/sequence.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

static struct shown shown;

static void set_up(void)
{
	shown_make(&shown, false);
}

static void tear_down(void)
{
	shown_remove(&shown);
}

TestSuite(helper_apply, .init = set_up, .fini = tear_down, .timeout = 300);

/* ---- Changes as one line each ---- */

#define NO_OWNER .uid = CHANGE_NO_OWNER, .gid = CHANGE_NO_OWNER

/* An owner is named in full. */
#define applied_with_owner(...) shown_apply(&shown, &(struct change){ __VA_ARGS__ })
#define applied(...)            applied_with_owner(NO_OWNER, __VA_ARGS__)

#define expect_ok(...)                                                                             \
	do {                                                                                       \
		struct change_result result_ = applied(__VA_ARGS__);                               \
		cr_assert(eq(int, result_.err, ERR_OK), "%s", result_.why);                        \
	} while (0)

#define expect_err(want, ...)                                                                      \
	do {                                                                                       \
		struct change_result result_ = applied(__VA_ARGS__);                               \
		cr_expect(eq(int, result_.err, want), "%s", result_.why);                          \
		cr_expect(ne(str, result_.why, (char *)""));                                       \
	} while (0)

#define DATA(text) .data = (text), .data_len = sizeof(text) - 1

static void expect_text(const char *path, const char *want)
{
	AUTO_FREE char *text = scratch_read(&shown.scratch, path, NULL);

	cr_expect(eq(str, text, (char *)want), "%s", path);
}

static struct expect expect_at(const char *path)
{
	struct attr attr = shown_attr(&shown, path);

	return expect_of(&attr);
}

static uint64_t ino_of(const char *path)
{
	return shown_attr(&shown, path).ino;
}

/* ---- Names ---- */

Test(helper_apply, mkdir_makes_the_directory_with_its_mode)
{
	struct change_result made = applied(.op = CHANGE_MKDIR, .path = "d", .mode = 01773);

	cr_assert(eq(int, made.err, ERR_OK), "%s", made.why);
	cr_expect(eq(uint, shown_attr(&shown, "tree/d").mode, S_IFDIR | 01773));
	cr_expect(made.has_attr && made.has_parent && !made.has_parent2);
	cr_expect(eq(u64, made.attr.ino, ino_of("tree/d")));
	cr_expect(eq(u64, made.parent.ino, ino_of("tree")));
	cr_expect(eq(uint, made.parent.nlink, shown_attr(&shown, "tree").nlink));
	expect_err(ERR_EXISTS, .op = CHANGE_MKDIR, .path = "d", .mode = 0755);
	expect_err(ERR_EXISTS, .op = CHANGE_MKDIR, .path = "", .mode = 0755);
	expect_err(ERR_NOT_FOUND, .op = CHANGE_MKDIR, .path = "no/d", .mode = 0755);
}

Test(helper_apply, create_makes_or_takes_a_file)
{
	struct change_result made =
		applied(.op = CHANGE_CREATE, .path = "f", .mode = 04640, .flags = CHANGE_EXCL);
	struct change_result taken = applied(.op = CHANGE_CREATE, .path = "f", .mode = 0600);

	cr_assert(eq(int, made.err, ERR_OK), "%s", made.why);
	cr_expect(eq(uint, made.attr.mode, S_IFREG | 04640));
	cr_assert(eq(int, taken.err, ERR_OK), "%s", taken.why);
	cr_expect(eq(u64, taken.attr.ino, made.attr.ino));
	cr_expect(eq(uint, taken.attr.mode, made.attr.mode));
	expect_err(ERR_EXISTS, .op = CHANGE_CREATE, .path = "f", .flags = CHANGE_EXCL);
}

Test(helper_apply, create_takes_nothing_else)
{
	const struct expect other = { .dev = 1, .ino = 1 };

	scratch_mkdir(&shown.scratch, "tree/d", 0755);
	scratch_write_text(&shown.scratch, "tree/f", "");
	cr_assert(symlinkat("../outside/new", shown.scratch.fd, "tree/l") == 0);
	cr_assert(mkfifoat(shown.scratch.fd, "tree/fifo", 0644) == 0);
	expect_err(ERR_IS_DIR, .op = CHANGE_CREATE, .path = "d");
	expect_err(ERR_STALE, .op = CHANGE_CREATE, .path = "l");
	expect_err(ERR_EXISTS, .op = CHANGE_CREATE, .path = "fifo");
	expect_err(ERR_STALE, .op = CHANGE_CREATE, .path = "f", .target = other);
	cr_expect(not(shown_exists(&shown, "outside/new")));
}

Test(helper_apply, mknod_makes_fifos_sockets_and_devices)
{
	expect_ok(.op = CHANGE_MKNOD, .path = "fifo", .mode = S_IFIFO | 0622);
	cr_expect(eq(uint, shown_attr(&shown, "tree/fifo").mode, S_IFIFO | 0622));
	expect_ok(.op = CHANGE_MKNOD, .path = "sock", .mode = S_IFSOCK | 0700);
	cr_expect(eq(uint, shown_attr(&shown, "tree/sock").mode, S_IFSOCK | 0700));
	expect_ok(.op = CHANGE_MKNOD, .path = "file", .mode = S_IFREG | 0600);
	expect_err(ERR_EXISTS, .op = CHANGE_MKNOD, .path = "fifo", .mode = S_IFIFO | 0622);
	if (geteuid() != 0)
		return;
	expect_ok(.op = CHANGE_MKNOD, .path = "null", .mode = S_IFCHR | 0600,
		.rdev = makedev(1, 300));
	cr_expect(eq(u64, shown_attr(&shown, "tree/null").rdev, makedev(1, 300)));
}

Test(helper_apply, symlinks_hold_their_text_to_the_byte)
{
	char text[4096], got[4097];
	struct change_result made;

	memset(text, 't', sizeof text);
	made = applied(.op = CHANGE_SYMLINK, .path = "l", .data = text, .data_len = 4095);
	cr_assert(eq(int, made.err, ERR_OK), "%s", made.why);
	cr_expect(eq(long, readlinkat(shown.scratch.fd, "tree/l", got, sizeof got), 4095));
	cr_expect(eq(u64, made.attr.size, 4095));
	expect_err(ERR_NAME_TOO_LONG, .op = CHANGE_SYMLINK, .path = "m", .data = text,
		.data_len = 4096);
	expect_err(ERR_INVALID, .op = CHANGE_SYMLINK, .path = "m", DATA("a\0b"));
	expect_err(ERR_NOT_FOUND, .op = CHANGE_SYMLINK, .path = "m", DATA(""));
	expect_err(ERR_EXISTS, .op = CHANGE_SYMLINK, .path = "l", DATA("x"));
}

Test(helper_apply, link_adds_a_name_and_follows_nothing)
{
	scratch_mkdir(&shown.scratch, "tree/d", 0755);
	scratch_write_text(&shown.scratch, "tree/f", "");
	cr_assert(symlinkat("../outside/secret", shown.scratch.fd, "tree/l") == 0);
	struct change_result made = applied(.op = CHANGE_LINK, .path = "f", .path2 = "d/g");

	cr_assert(eq(int, made.err, ERR_OK), "%s", made.why);
	cr_expect(eq(uint, made.attr.nlink, 2));
	cr_expect(made.has_parent && made.has_parent2);
	cr_expect(eq(u64, made.parent2.ino, ino_of("tree/d")));
	expect_ok(.op = CHANGE_LINK, .path = "l", .path2 = "m");
	cr_expect(eq(u64, ino_of("tree/m"), ino_of("tree/l")));
	expect_err(ERR_EXISTS, .op = CHANGE_LINK, .path = "f", .path2 = "d");
	expect_err(ERR_NOT_OWNER, .op = CHANGE_LINK, .path = "d", .path2 = "e");
	expect_err(ERR_STALE, .op = CHANGE_LINK, .path = "f", .path2 = "h",
		.target = expect_at("tree/d"));
	expect_err(ERR_INVALID, .op = CHANGE_LINK, .path = "f");
}

Test(helper_apply, unlink_says_how_many_names_are_left)
{
	scratch_write_text(&shown.scratch, "tree/f", "");
	scratch_mkdir(&shown.scratch, "tree/d", 0755);
	cr_assert(linkat(shown.scratch.fd, "tree/f", shown.scratch.fd, "tree/g", 0) == 0);
	cr_expect(eq(uint, applied(.op = CHANGE_UNLINK, .path = "f").attr.nlink, 1));
	struct change_result last = applied(.op = CHANGE_UNLINK, .path = "g");

	cr_expect(last.has_attr);
	cr_expect(eq(uint, last.attr.nlink, 0));
	expect_err(ERR_NOT_FOUND, .op = CHANGE_UNLINK, .path = "f");
	expect_err(ERR_IS_DIR, .op = CHANGE_UNLINK, .path = "d");
	expect_err(ERR_IS_DIR, .op = CHANGE_UNLINK, .path = "d", .path2 = "/t");
}

Test(helper_apply, unlink_of_a_link_leaves_what_it_names)
{
	cr_assert(symlinkat("../outside/secret", shown.scratch.fd, "tree/l") == 0);
	expect_ok(.op = CHANGE_UNLINK, .path = "l");
	cr_expect(not(shown_exists(&shown, "tree/l")));
	expect_text("outside/secret", "secret");
}

Test(helper_apply, unlink_keeps_the_inode_in_staging)
{
	uint64_t ino;

	scratch_write_text(&shown.scratch, "tree/f", "kept");
	ino = ino_of("tree/f");
	struct change_result kept = applied(.op = CHANGE_UNLINK, .path = "f", .path2 = "/o-1");

	cr_assert(eq(int, kept.err, ERR_OK), "%s", kept.why);
	cr_expect(eq(u64, kept.attr.ino, ino));
	cr_expect(eq(uint, kept.attr.nlink, 1));
	cr_expect(kept.has_parent && !kept.has_parent2);
	cr_expect(not(shown_exists(&shown, "tree/f")));
	cr_expect(eq(u64, ino_of("staging/o-1"), ino));
	expect_ok(.op = CHANGE_WRITE, .path = "/o-1", .flags = CHANGE_BY_HANDLE, DATA("K"));
	expect_text("staging/o-1", "Kept");
	expect_ok(.op = CHANGE_UNLINK, .path = "/o-1");
}

/* rename(2) between two names of one inode does nothing, and the name would stay. */
Test(helper_apply, unlink_of_a_second_name_of_what_is_kept_removes_it)
{
	scratch_write_text(&shown.scratch, "tree/f", "kept");
	cr_assert(linkat(shown.scratch.fd, "tree/f", shown.scratch.fd, "tree/g", 0) == 0);
	expect_ok(.op = CHANGE_UNLINK, .path = "f", .path2 = "/o-1");
	expect_ok(.op = CHANGE_UNLINK, .path = "g", .path2 = "/o-1");
	cr_expect(not(shown_exists(&shown, "tree/g")));
	cr_expect(eq(uint, shown_attr(&shown, "staging/o-1").nlink, 1));
	scratch_write_text(&shown.scratch, "tree/h", "other");
	expect_err(ERR_EXISTS, .op = CHANGE_UNLINK, .path = "h", .path2 = "/o-1");
	expect_text("tree/h", "other");
	expect_err(ERR_INVALID, .op = CHANGE_UNLINK, .path = "h", .path2 = "elsewhere");
}

Test(helper_apply, rmdir_removes_empty_directories_only)
{
	scratch_mkdir(&shown.scratch, "tree/d", 0755);
	scratch_mkdir(&shown.scratch, "tree/d/e", 0755);
	scratch_write_text(&shown.scratch, "tree/f", "");
	cr_assert(symlinkat("d/e", shown.scratch.fd, "tree/l") == 0);
	expect_err(ERR_NOT_EMPTY, .op = CHANGE_RMDIR, .path = "d");
	expect_err(ERR_NOT_DIR, .op = CHANGE_RMDIR, .path = "f");
	expect_err(ERR_NOT_DIR, .op = CHANGE_RMDIR, .path = "l");
	expect_err(ERR_STALE, .op = CHANGE_RMDIR, .path = "d/e", .target = expect_at("tree"));
	expect_ok(.op = CHANGE_RMDIR, .path = "d/e", .target = expect_at("tree/d/e"));
	expect_ok(.op = CHANGE_RMDIR, .path = "d");
	expect_err(ERR_INVALID, .op = CHANGE_RMDIR, .path = "");
}

/* ---- rename ---- */

static void make_two(void)
{
	scratch_write_text(&shown.scratch, "tree/a", "a");
	scratch_write_text(&shown.scratch, "tree/b", "b");
	scratch_mkdir(&shown.scratch, "tree/d", 0755);
	scratch_mkdir(&shown.scratch, "tree/d/full", 0755);
}

Test(helper_apply, rename_replaces_and_describes_both_directories)
{
	make_two();
	scratch_write_text(&shown.scratch, "tree/d/b", "old");
	struct change_result moved = applied(.op = CHANGE_RENAME, .path = "a", .path2 = "d/b");

	cr_assert(eq(int, moved.err, ERR_OK), "%s", moved.why);
	cr_expect(eq(u64, moved.attr.ino, ino_of("tree/d/b")));
	cr_expect(eq(u64, moved.parent.ino, ino_of("tree")));
	cr_expect(eq(u64, moved.parent2.ino, ino_of("tree/d")));
	expect_text("tree/d/b", "a");
	cr_expect(not(shown_exists(&shown, "tree/a")));
}

Test(helper_apply, rename_gives_the_errors_of_rename)
{
	make_two();
	expect_err(ERR_NOT_FOUND, .op = CHANGE_RENAME, .path = "none", .path2 = "b");
	expect_err(ERR_IS_DIR, .op = CHANGE_RENAME, .path = "a", .path2 = "d");
	expect_err(ERR_NOT_DIR, .op = CHANGE_RENAME, .path = "d", .path2 = "a");
	expect_err(ERR_NOT_DIR, .op = CHANGE_RENAME, .path = "d", .path2 = "a", .keep = "/o-1");
	expect_err(ERR_INVALID, .op = CHANGE_RENAME, .path = "d", .path2 = "d/full/d");
	expect_err(ERR_EXISTS, .op = CHANGE_RENAME, .path = "a", .path2 = "b",
		.flags = CHANGE_NOREPLACE);
	expect_err(ERR_NOT_FOUND, .op = CHANGE_RENAME, .path = "a", .path2 = "none",
		.flags = CHANGE_EXCHANGE);
	expect_err(ERR_INVALID, .op = CHANGE_RENAME, .path = "a", .path2 = "b",
		.flags = CHANGE_EXCHANGE | CHANGE_NOREPLACE);
	expect_err(ERR_STALE, .op = CHANGE_RENAME, .path = "a", .path2 = "b",
		.target = expect_at("tree/b"));
	expect_err(ERR_STALE, .op = CHANGE_RENAME, .path = "a", .path2 = "b",
		.target2 = expect_at("tree/a"));
	expect_err(ERR_STALE, .op = CHANGE_RENAME, .path = "a", .path2 = "none",
		.target2 = expect_at("tree/a"));
	cr_expect(not(shown_exists(&shown, "staging/o-1")));
	expect_text("tree/a", "a");
	expect_text("tree/b", "b");
}

Test(helper_apply, rename_exchanges)
{
	make_two();
	expect_ok(.op = CHANGE_RENAME, .path = "a", .path2 = "b", .flags = CHANGE_EXCHANGE);
	expect_text("tree/a", "b");
	expect_text("tree/b", "a");
	expect_ok(.op = CHANGE_RENAME, .path = "d/full", .path2 = "a", .flags = CHANGE_EXCHANGE);
	expect_text("tree/d/full", "b");
}

Test(helper_apply, rename_between_names_of_one_inode_does_nothing)
{
	make_two();
	cr_assert(linkat(shown.scratch.fd, "tree/a", shown.scratch.fd, "tree/c", 0) == 0);
	expect_ok(.op = CHANGE_RENAME, .path = "a", .path2 = "c", .keep = "/o-1");
	cr_expect(shown_exists(&shown, "tree/a") && shown_exists(&shown, "tree/c"));
	cr_expect(not(shown_exists(&shown, "staging/o-1")));
	expect_err(ERR_EXISTS, .op = CHANGE_RENAME, .path = "a", .path2 = "c",
		.flags = CHANGE_NOREPLACE);
}

Test(helper_apply, rename_keeps_the_replaced_inode)
{
	uint64_t replaced;

	make_two();
	replaced = ino_of("tree/b");
	expect_ok(.op = CHANGE_RENAME, .path = "a", .path2 = "b", .keep = "/o-1");
	expect_text("tree/b", "a");
	expect_text("staging/o-1", "b");
	cr_expect(eq(u64, ino_of("staging/o-1"), replaced));
	/* Nothing is there: nothing to keep. */
	expect_ok(.op = CHANGE_RENAME, .path = "b", .path2 = "free", .keep = "/o-2");
	cr_expect(not(shown_exists(&shown, "staging/o-2")));
	scratch_write_text(&shown.scratch, "tree/b", "b");
	expect_err(ERR_INVALID, .op = CHANGE_RENAME, .path = "free", .path2 = "b", .keep = "k");
	expect_text("tree/b", "b");
}

static int rename_over_foreign(struct shown *s)
{
	struct change c = { NO_OWNER, .op = CHANGE_RENAME, .path = "mine", .path2 = "roots",
		.keep = "/o-1" };
	AUTO_CLOSE int fd = openat(s->scratch.fd, "tree/mine", O_CREAT | O_WRONLY, 0644);

	if (fd < 0 || write(fd, "mine", 4) != 4)
		return 1;
	if (shown_apply(s, &c).err != ERR_OK)
		return 2;
	return shown_attr(s, "staging/o-1").uid == 0 && shown_attr(s, "tree/roots").uid != 0 ? 0
											     : 3;
}

/* link(2) of a file that is not one's own is refused under protected_hardlinks, rename(2) over it is not. */
Test(helper_apply, rename_keeps_a_foreign_file_too)
{
	if (geteuid() != 0)
		shown_skip(&shown, "needs a foreign file");
	scratch_write_text(&shown.scratch, "tree/roots", "root's");
	shown_as_nobody(&shown, rename_over_foreign);
	expect_text("staging/o-1", "root's");
	expect_text("tree/roots", "mine");
}

static int rename_in_vain(struct shown *s)
{
	const struct change create = { NO_OWNER, .op = CHANGE_CREATE, .path = "g", .mode = 0644 };
	const struct change c = { NO_OWNER, .op = CHANGE_RENAME, .path = "ro/f", .path2 = "g",
		.keep = "/o-1" };

	if (shown_apply(s, &create).err != ERR_OK)
		return 1;
	return shown_apply(s, &c).err == ERR_DENIED ? 0 : 2;
}

/* What would have been replaced has its second name by then. */
Test(helper_apply, a_rename_that_fails_keeps_nothing)
{
	if (geteuid() != 0)
		shown_skip(&shown, "needs a foreign directory");
	scratch_mkdir(&shown.scratch, "tree/ro", 0755);
	scratch_write_text(&shown.scratch, "tree/ro/f", "root's");
	shown_as_nobody(&shown, rename_in_vain);
	cr_expect(not(shown_exists(&shown, "staging/o-1")));
	expect_text("tree/g", "");
	expect_text("tree/ro/f", "root's");
}

/* ---- Owners ---- */

static int give_in_vain(struct shown *s)
{
	const struct change file = {
		.uid = 12345, .gid = 12345, .op = CHANGE_CREATE, .path = "f", .mode = 0644
	};
	const struct change dir = {
		.uid = 12345, .gid = 12345, .op = CHANGE_MKDIR, .path = "d", .mode = 0755
	};

	if (shown_apply(s, &file).err == ERR_OK || shown_apply(s, &dir).err == ERR_OK)
		return 1;
	return shown_exists(s, "tree/f") || shown_exists(s, "tree/d") ? 2 : 0;
}

Test(helper_apply, what_cannot_be_given_to_its_owner_is_not_made)
{
	shown_as_nobody(&shown, give_in_vain);
}

Test(helper_apply, new_inodes_belong_to_whom_is_asked_for)
{
	struct change_result made;

	if (geteuid() != 0)
		shown_skip(&shown, "only root gives files away");
	made = applied_with_owner(.op = CHANGE_CREATE, .path = "f", .mode = 06755, .uid = 1234,
		.gid = 5678);
	cr_assert(eq(int, made.err, ERR_OK), "%s", made.why);
	cr_expect(eq(uint, made.attr.uid, 1234));
	cr_expect(eq(uint, made.attr.gid, 5678));
	cr_expect(eq(uint, made.attr.mode, S_IFREG | 06755));
	made = applied_with_owner(.op = CHANGE_SYMLINK, .path = "l", DATA("../outside/secret"),
		.uid = 1234, .gid = 5678);
	cr_expect(eq(uint, made.attr.uid, 1234));
	cr_expect(eq(uint, shown_attr(&shown, "outside/secret").uid, geteuid()));
	made = applied_with_owner(.op = CHANGE_MKNOD, .path = "p", .mode = S_IFIFO | 0600,
		.uid = 1234, .gid = 5678);
	cr_expect(eq(uint, made.attr.gid, 5678));
	made = applied_with_owner(.op = CHANGE_MKDIR, .path = "d", .mode = 01777, .uid = 1234,
		.gid = 5678);
	cr_expect(eq(uint, made.attr.uid, 1234));
	cr_expect(eq(uint, made.attr.mode, S_IFDIR | 01777));
}

Test(helper_apply, a_set_group_id_directory_gives_its_group)
{
	struct change_result made;

	if (geteuid() != 0)
		shown_skip(&shown, "only root gives files away");
	scratch_mkdir(&shown.scratch, "tree/d", 0755);
	cr_assert(fchownat(shown.scratch.fd, "tree/d", 0, 4321, 0) == 0);
	cr_assert(fchmodat(shown.scratch.fd, "tree/d", 02755, 0) == 0);
	made = applied_with_owner(.op = CHANGE_MKDIR, .path = "d/e", .mode = 0755, .uid = 1234,
		.gid = 5678);
	cr_expect(eq(uint, made.attr.gid, 4321));
	cr_expect(eq(uint, made.attr.uid, 1234));
	cr_expect(eq(uint, made.attr.mode, S_IFDIR | 02755));
	made = applied_with_owner(.op = CHANGE_CREATE, .path = "d/f", .mode = 0644, .uid = 1234,
		.gid = 5678);
	cr_expect(eq(uint, made.attr.gid, 4321));
	scratch_write_text(&shown.scratch, "staging/t", "placed");
	expect_ok(.op = CHANGE_PLACE, .path = "/t", .path2 = "d/g");
	cr_expect(eq(uint, shown_attr(&shown, "tree/d/g").gid, 4321));
}

/* ---- setattr ---- */

Test(helper_apply, setattr_sets_what_is_named)
{
	const struct timespec then = { .tv_sec = 1234567890, .tv_nsec = 123456789 };
	struct attr before, after;

	scratch_write_text(&shown.scratch, "tree/f", "0123456789");
	before = shown_attr(&shown, "tree/f");
	expect_ok(.op = CHANGE_SETATTR, .path = "f", .set = SET_MODE, .mode = 04711);
	cr_expect(eq(uint, shown_attr(&shown, "tree/f").mode, S_IFREG | 04711));
	expect_ok(.op = CHANGE_SETATTR, .path = "f", .set = SET_MTIME, .mtime = then);
	after = shown_attr(&shown, "tree/f");
	cr_expect(eq(long, after.mtime.tv_sec, then.tv_sec));
	cr_expect(eq(long, after.mtime.tv_nsec, then.tv_nsec));
	cr_expect(eq(long, after.atime.tv_nsec, before.atime.tv_nsec));
	expect_ok(.op = CHANGE_SETATTR, .path = "f", .set = SET_ATIME | SET_SIZE | SET_MODE,
		.atime = then, .size = 4, .mode = 0600);
	after = shown_attr(&shown, "tree/f");
	cr_expect(eq(long, after.atime.tv_sec, then.tv_sec));
	cr_expect(eq(uint, after.mode, S_IFREG | 0600));
	expect_text("tree/f", "0123");
	expect_ok(.op = CHANGE_SETATTR, .path = "f", .set = SET_SIZE, .size = 6);
	cr_expect(eq(u64, shown_attr(&shown, "tree/f").size, 6));
}

Test(helper_apply, setattr_refuses_as_the_kernel_does)
{
	scratch_mkdir(&shown.scratch, "tree/d", 0755);
	scratch_write_text(&shown.scratch, "tree/f", "text");
	expect_err(ERR_IS_DIR, .op = CHANGE_SETATTR, .path = "d", .set = SET_SIZE, .size = 1);
	expect_err(ERR_TOO_LARGE, .op = CHANGE_SETATTR, .path = "f", .set = SET_SIZE,
		.size = (uint64_t)INT64_MAX + 1);
	expect_err(ERR_STALE, .op = CHANGE_SETATTR, .path = "f", .set = SET_MODE, .mode = 0,
		.target = expect_at("tree/d"));
	expect_err(ERR_INVALID, .op = CHANGE_SETATTR, .path = "f", .set = SET_MTIME,
		.mtime = { .tv_nsec = 2000000000 });
	expect_text("tree/f", "text");
}

Test(helper_apply, setattr_of_a_link_is_the_links_own)
{
	const struct timespec then = { .tv_sec = 1234567890, .tv_nsec = 5 };
	struct attr secret = shown_attr(&shown, "outside/secret");

	cr_assert(symlinkat("../outside/secret", shown.scratch.fd, "tree/l") == 0);
	expect_err(ERR_UNSUPPORTED, .op = CHANGE_SETATTR, .path = "l", .set = SET_MODE, .mode = 0);
	expect_err(ERR_STALE, .op = CHANGE_SETATTR, .path = "l", .set = SET_SIZE, .size = 0);
	expect_ok(.op = CHANGE_SETATTR, .path = "l", .set = SET_MTIME | SET_ATIME, .mtime = then,
		.atime = then);
	cr_expect(eq(long, shown_attr(&shown, "tree/l").mtime.tv_sec, then.tv_sec));
	if (geteuid() == 0) {
		applied_with_owner(.op = CHANGE_SETATTR, .path = "l", .set = SET_UID | SET_GID,
			.uid = 77, .gid = 78);
		cr_expect(eq(uint, shown_attr(&shown, "tree/l").uid, 77));
		/* Not even in part. */
		cr_expect(eq(int,
			applied_with_owner(.op = CHANGE_SETATTR, .path = "l",
				.set = SET_UID | SET_MODE, .uid = 79, .mode = 0)
				.err,
			ERR_UNSUPPORTED));
		cr_expect(eq(uint, shown_attr(&shown, "tree/l").uid, 77));
	}
	cr_expect(eq(uint, shown_attr(&shown, "outside/secret").uid, secret.uid));
	cr_expect(eq(uint, shown_attr(&shown, "outside/secret").mode, secret.mode));
	cr_expect(eq(long, shown_attr(&shown, "outside/secret").mtime.tv_sec, secret.mtime.tv_sec));
}

Test(helper_apply, setattr_of_devices_does_not_open_them)
{
	cr_assert(mkfifoat(shown.scratch.fd, "tree/fifo", 0644) == 0);
	expect_ok(.op = CHANGE_SETATTR, .path = "fifo", .set = SET_MODE | SET_MTIME, .mode = 0600,
		.mtime = { .tv_nsec = UTIME_NOW });
	cr_expect(eq(uint, shown_attr(&shown, "tree/fifo").mode, S_IFIFO | 0600));
	expect_err(ERR_INVALID, .op = CHANGE_SETATTR, .path = "fifo", .set = SET_SIZE);
}

/* ---- Contents ---- */

Test(helper_apply, write_and_append_tell_how_much_and_where)
{
	struct change_result r;

	scratch_write_text(&shown.scratch, "tree/f", "0123456789");
	r = applied(.op = CHANGE_WRITE, .path = "f", .offset = 8, DATA("abcd"));
	cr_expect(eq(u64, r.count, 4));
	cr_expect(eq(u64, r.attr.size, 12));
	expect_text("tree/f", "01234567abcd");
	r = applied(.op = CHANGE_APPEND, .path = "f", DATA("end"));
	cr_expect(eq(u64, r.count, 3));
	cr_expect(eq(u64, r.offset, 12));
	expect_text("tree/f", "01234567abcdend");
	r = applied(.op = CHANGE_APPEND, .path = "f");
	cr_expect(eq(u64, r.offset, 15));
	expect_err(ERR_NOT_FOUND, .op = CHANGE_WRITE, .path = "none", DATA("x"));
	expect_err(ERR_IS_DIR, .op = CHANGE_WRITE, .path = "", DATA("x"));
	expect_err(ERR_INVALID, .op = CHANGE_WRITE, .path = "f", .offset = UINT64_MAX, DATA("x"));
	expect_err(
		ERR_STALE, .op = CHANGE_WRITE, .path = "f", .target = expect_at("tree"), DATA("x"));
}

Test(helper_apply, a_write_leaves_the_time_it_was_given)
{
	const struct timespec then = { .tv_sec = 1234567890, .tv_nsec = 123456789 };
	struct change_result r;

	scratch_write_text(&shown.scratch, "tree/f", "0123456789");
	r = applied(.op = CHANGE_WRITE, .path = "f", .set = SET_MTIME, .mtime = then, DATA("x"));
	cr_assert(eq(int, r.err, ERR_OK), "%s", r.why);
	cr_expect(eq(long, r.attr.mtime.tv_sec, then.tv_sec));
	cr_expect(eq(long, r.attr.mtime.tv_nsec, then.tv_nsec));
	r = applied(.op = CHANGE_WRITE, .path = "f", DATA("y"));
	cr_expect(ne(long, r.attr.mtime.tv_sec, then.tv_sec));
}

Test(helper_apply, fallocate_does_as_its_mode_says)
{
	scratch_write_text(&shown.scratch, "tree/f", "text");
	expect_ok(.op = CHANGE_FALLOCATE, .path = "f", .length = 100);
	cr_expect(eq(u64, shown_attr(&shown, "tree/f").size, 100));
	expect_ok(.op = CHANGE_FALLOCATE, .path = "f", .mode = FALLOC_FL_KEEP_SIZE, .length = 9000);
	cr_expect(eq(u64, shown_attr(&shown, "tree/f").size, 100));
	expect_err(
		ERR_UNSUPPORTED, .op = CHANGE_FALLOCATE, .path = "f", .mode = 0x8000, .length = 1);
	expect_err(ERR_INVALID, .op = CHANGE_FALLOCATE, .path = "f", .length = 0);
}

Test(helper_apply, copy_copies_ranges_between_and_within_files)
{
	struct change_result r;

	scratch_write_text(&shown.scratch, "tree/f", "0123456789");
	scratch_write_text(&shown.scratch, "tree/g", "----------");
	r = applied(.op = CHANGE_COPY, .path = "f", .path2 = "g", .offset = 2, .offset2 = 4,
		.length = 3);
	cr_expect(eq(u64, r.count, 3));
	cr_expect(eq(u64, r.attr.ino, ino_of("tree/g")));
	expect_text("tree/g", "----234---");
	r = applied(.op = CHANGE_COPY, .path = "f", .path2 = "g", .offset = 8,
		.length = UINT64_MAX);
	cr_expect(eq(u64, r.count, 2));
	expect_text("tree/g", "89--234---");
	r = applied(.op = CHANGE_COPY, .path = "f", .path2 = "f", .offset2 = 5, .length = 5);
	cr_expect(eq(u64, r.count, 5));
	expect_text("tree/f", "0123401234");
	r = applied(.op = CHANGE_COPY, .path = "f", .path2 = "g", .offset = 100, .length = 5);
	cr_expect(eq(int, r.err, ERR_OK));
	cr_expect(eq(u64, r.count, 0));
	expect_err(ERR_INVALID, .op = CHANGE_COPY, .path = "f", .path2 = "f", .offset2 = 4,
		.length = 5);
}

/* No copy_file_range(2) between a file and another file system's: bytes go by hand. */
Test(helper_apply, copy_crosses_file_systems)
{
	char path[128], *bytes = calloc(1, 100000);

	snprintf(path, sizeof path, "%s/tree/m", shown.scratch.path);
	scratch_mkdir(&shown.scratch, "tree/m", 0755);
	if (mount("none", path, "tmpfs", 0, NULL)) {
		free(bytes);
		shown_skip(&shown, "no right to mount");
	}
	memset(bytes, 'x', 99999);
	scratch_write_text(&shown.scratch, "tree/f", bytes);
	scratch_write_text(&shown.scratch, "tree/m/g", "");
	struct change_result copied =
		applied(.op = CHANGE_COPY, .path = "f", .path2 = "m/g", .length = UINT64_MAX);
	struct change_result moved = applied(.op = CHANGE_RENAME, .path = "f", .path2 = "m/f");
	struct change_result kept = applied(.op = CHANGE_UNLINK, .path = "m/g", .path2 = "/o-1");

	cr_expect(eq(u64, copied.count, 99999));
	cr_expect(eq(int, moved.err, ERR_CROSS_DEVICE));
	cr_expect(eq(int, kept.err, ERR_CROSS_DEVICE));
	expect_text("tree/m/g", bytes);
	free(bytes);
	cr_assert(umount(path) == 0);
}

Test(helper_apply, place_renames_where_nothing_is)
{
	uint64_t staged;

	scratch_write_text(&shown.scratch, "staging/t", "new");
	staged = ino_of("staging/t");
	expect_ok(.op = CHANGE_PLACE, .path = "/t", .path2 = "f", .flags = CHANGE_EXCL);
	cr_expect(eq(u64, ino_of("tree/f"), staged));
	cr_expect(not(shown_exists(&shown, "staging/t")));
	expect_text("tree/f", "new");
}

Test(helper_apply, place_crosses_file_systems)
{
	char path[128];

	snprintf(path, sizeof path, "%s/tree/m", shown.scratch.path);
	scratch_mkdir(&shown.scratch, "tree/m", 0755);
	if (mount("none", path, "tmpfs", 0, NULL))
		shown_skip(&shown, "no right to mount");
	scratch_write_text(&shown.scratch, "staging/t", "new");
	scratch_write_text(&shown.scratch, "staging/u", "another");
	struct change_result placed =
		applied(.op = CHANGE_PLACE, .path = "/t", .path2 = "m/f", .flags = CHANGE_EXCL);
	struct change_result taken =
		applied(.op = CHANGE_PLACE, .path = "/u", .path2 = "m/f", .flags = CHANGE_EXCL);

	cr_expect(eq(int, placed.err, ERR_OK), "%s", placed.why);
	cr_expect(eq(u64, placed.attr.ino, ino_of("tree/m/f")));
	cr_expect(eq(uint, placed.attr.mode, S_IFREG | 0644));
	cr_expect(not(shown_exists(&shown, "staging/t")));
	cr_expect(eq(int, taken.err, ERR_EXISTS));
	expect_text("tree/m/f", "new");
	expect_text("staging/u", "another");
	cr_expect(not(shown_exists(&shown, "tree/m/.sandboxfs-u")));
	cr_assert(umount(path) == 0);
}

Test(helper_apply, place_over_a_file_keeps_its_inode_mode_and_links)
{
	uint64_t old;

	scratch_write_text(&shown.scratch, "tree/f", "a longer old text");
	cr_assert(fchmodat(shown.scratch.fd, "tree/f", 0640, 0) == 0);
	cr_assert(linkat(shown.scratch.fd, "tree/f", shown.scratch.fd, "tree/g", 0) == 0);
	old = ino_of("tree/f");
	scratch_write_text(&shown.scratch, "staging/t", "new");
	struct change_result r = applied(.op = CHANGE_PLACE, .path = "/t", .path2 = "f",
		.target2 = expect_at("tree/f"));

	cr_assert(eq(int, r.err, ERR_OK), "%s", r.why);
	cr_expect(eq(u64, r.attr.ino, old));
	cr_expect(eq(uint, r.attr.nlink, 2));
	cr_expect(eq(uint, r.attr.mode, S_IFREG | 0640));
	cr_expect(r.has_parent2 && !r.has_parent);
	expect_text("tree/g", "new");
	cr_expect(not(shown_exists(&shown, "staging/t")));
}

/* ---- Over what was made empty for it ---- */

/* tree/f, of mode 0640, and what is to take its place. */
static void make_for_placing(const char *there)
{
	scratch_write_text(&shown.scratch, "tree/f", there);
	cr_assert(fchmodat(shown.scratch.fd, "tree/f", 0640, 0) == 0);
	scratch_write_text(&shown.scratch, "staging/t", "new");
	cr_assert(fchmodat(shown.scratch.fd, "staging/t", 0600, 0) == 0);
}

#define place_over_made(...)                                                                       \
	applied(.op = CHANGE_PLACE, .path = "/t", .path2 = "f",                                    \
		.flags = CHANGE_REPLACE | CHANGE_EXCHANGE | CHANGE_BY_HANDLE, __VA_ARGS__)

Test(helper_apply, what_was_made_empty_is_replaced_in_one_step)
{
	make_for_placing("");
	uint64_t staged = ino_of("staging/t");
	struct change_result r = place_over_made(.target2 = expect_at("tree/f"));

	cr_assert(eq(int, r.err, ERR_OK), "%s", r.why);
	cr_expect(eq(u64, r.attr.ino, staged));
	cr_expect(eq(u64, ino_of("tree/f"), staged));
	cr_expect(eq(uint, r.attr.mode, S_IFREG | 0640));
	cr_expect(eq(uint, r.attr.nlink, 1));
	cr_expect(r.has_parent2 && !r.has_parent);
	expect_text("tree/f", "new");
	cr_expect(not(shown_exists(&shown, "staging/t")));
}

Test(helper_apply, its_owner_and_group_stay)
{
	if (geteuid())
		shown_skip(&shown, "only root gives files away");
	make_for_placing("");
	cr_assert(fchownat(shown.scratch.fd, "tree/f", 1234, 2345, 0) == 0);
	struct change_result r = place_over_made(.target2 = expect_at("tree/f"));

	cr_assert(eq(int, r.err, ERR_OK), "%s", r.why);
	cr_expect(eq(uint, r.attr.uid, 1234));
	cr_expect(eq(uint, r.attr.gid, 2345));
	cr_expect(eq(uint, r.attr.mode, S_IFREG | 0640));
	expect_text("tree/f", "new");
}

static void expect_copied_over(const char *what)
{
	uint64_t ino = ino_of("tree/f");
	struct change_result r = place_over_made(.target2 = expect_at("tree/f"));

	cr_assert(eq(int, r.err, ERR_OK), "%s: %s", what, r.why);
	cr_expect(eq(u64, r.attr.ino, ino), "%s", what);
	cr_expect(eq(u64, ino_of("tree/f"), ino), "%s", what);
	cr_expect(not(shown_exists(&shown, "staging/t")), "%s", what);
}

Test(helper_apply, what_others_have_made_something_of_keeps_its_inode)
{
	char path[128];

	make_for_placing("theirs, and longer");
	expect_copied_over("contents");
	expect_text("tree/f", "new");
	make_for_placing("");
	cr_assert(linkat(shown.scratch.fd, "tree/f", shown.scratch.fd, "tree/g", 0) == 0);
	expect_copied_over("another name");
	expect_text("tree/g", "new");
	cr_assert(unlinkat(shown.scratch.fd, "tree/g", 0) == 0);
	make_for_placing("");
	cr_assert(fchmodat(shown.scratch.fd, "tree/f", 04750, 0) == 0);
	expect_copied_over("a set-ID bit");
	make_for_placing("");
	snprintf(path, sizeof path, "%s/tree/f", shown.scratch.path);
	cr_assert(setxattr(path, "user.x", "x", 1, 0) == 0);
	expect_copied_over("an extended attribute");
	cr_expect(eq(long, getxattr(path, "user.x", NULL, 0), 1));
}

Test(helper_apply, nothing_in_the_place_of_nothing_keeps_the_inode)
{
	make_for_placing("");
	scratch_write_text(&shown.scratch, "staging/t", "");
	expect_copied_over("nothing was written");
}

Test(helper_apply, what_was_made_empty_and_is_another_file_stays)
{
	struct attr made;

	make_for_placing("");
	made = shown_attr(&shown, "tree/f");
	struct expect target = expect_at("tree/f");
	const struct version version = {
		.size = 0, .mtime = made.mtime, .ctime = { .tv_sec = 1, .tv_nsec = 2 }
	};

	cr_expect(
		eq(int, place_over_made(.target2 = target, .version2 = version).err, ERR_CONFLICT));
	cr_assert(renameat(shown.scratch.fd, "tree/f", shown.scratch.fd, "tree/g") == 0);
	cr_expect(eq(int, place_over_made(.target2 = target).err, ERR_STALE));
	cr_expect(not(shown_exists(&shown, "tree/f")));
	scratch_write_text(&shown.scratch, "tree/f", "");
	cr_expect(eq(int, place_over_made(.target2 = target).err, ERR_STALE));
	expect_text("tree/f", "");
	expect_text("staging/t", "new");
}

Test(helper_apply, what_was_made_empty_is_replaced_across_file_systems)
{
	const uint32_t flags = CHANGE_REPLACE | CHANGE_EXCHANGE;
	char path[128];

	snprintf(path, sizeof path, "%s/tree/m", shown.scratch.path);
	scratch_mkdir(&shown.scratch, "tree/m", 0755);
	if (mount("none", path, "tmpfs", 0, NULL))
		shown_skip(&shown, "no right to mount");
	make_for_placing("");
	scratch_write_text(&shown.scratch, "tree/m/f", "");
	cr_assert(fchmodat(shown.scratch.fd, "tree/m/f", 0604, 0) == 0);
	uint64_t made = ino_of("tree/m/f");
	struct change_result r = applied(.op = CHANGE_PLACE, .path = "/t", .path2 = "m/f",
		.flags = flags, .target2 = expect_at("tree/m/f"));

	cr_expect(eq(int, r.err, ERR_OK), "%s", r.why);
	cr_expect(ne(u64, r.attr.ino, made));
	cr_expect(eq(u64, r.attr.ino, ino_of("tree/m/f")));
	cr_expect(eq(uint, r.attr.mode, S_IFREG | 0604));
	expect_text("tree/m/f", "new");
	cr_expect(not(shown_exists(&shown, "staging/t")));
	cr_expect(not(shown_exists(&shown, "tree/m/.sandboxfs-t")));
	cr_assert(umount(path) == 0);
}

static int exchange_files(const char *one, const char *other)
{
	return renameat2(shown.scratch.fd, one, shown.scratch.fd, other, RENAME_EXCHANGE);
}

static bool holds(const char *path, const char *want)
{
	AUTO_FREE char *text =
		shown_exists(&shown, path) ? scratch_read(&shown.scratch, path, NULL) : NULL;

	return text && !strcmp(text, want);
}

/* Theirs comes to the name, and goes, all the time. */
Test(helper_apply, what_comes_to_the_name_meanwhile_is_never_replaced)
{
	scratch_write_text(&shown.scratch, "tree/g", "theirs");
	uint64_t theirs = ino_of("tree/g");

	for (int i = 0; i < 300; i++) {
		make_for_placing("");
		struct expect target = expect_at("tree/f");
		struct swapper *other = shown_swap_start(&shown, "tree/f", "tree/g");
		struct change_result r = place_over_made(.target2 = target);

		shown_swap_stop(other);
		cr_assert(r.err == ERR_OK || r.err == ERR_STALE, "%s", r.why);
		if (ino_of("tree/f") == theirs)
			cr_assert(exchange_files("tree/f", "tree/g") == 0);
		cr_assert(eq(u64, ino_of("tree/g"), theirs));
		expect_text("tree/g", "theirs");
		cr_assert(holds("tree/f", "new") || holds("staging/t", "new"));
		cr_assert(r.err || holds("tree/f", "new"));
		cr_assert(unlinkat(shown.scratch.fd, "tree/f", 0) == 0);
	}
}

Test(helper_apply, place_that_is_refused_leaves_both)
{
	scratch_write_text(&shown.scratch, "staging/t", "new");
	scratch_write_text(&shown.scratch, "tree/f", "old");
	scratch_mkdir(&shown.scratch, "tree/d", 0755);
	cr_assert(symlinkat("../outside/secret", shown.scratch.fd, "tree/l") == 0);
	expect_err(
		ERR_EXISTS, .op = CHANGE_PLACE, .path = "/t", .path2 = "f", .flags = CHANGE_EXCL);
	expect_err(ERR_STALE, .op = CHANGE_PLACE, .path = "/t", .path2 = "f",
		.target2 = expect_at("tree/d"));
	expect_err(ERR_STALE, .op = CHANGE_PLACE, .path = "/t", .path2 = "gone",
		.target2 = expect_at("tree/f"));
	expect_err(ERR_IS_DIR, .op = CHANGE_PLACE, .path = "/t", .path2 = "d");
	expect_err(ERR_STALE, .op = CHANGE_PLACE, .path = "/t", .path2 = "l");
	expect_err(ERR_INVALID, .op = CHANGE_PLACE, .path = "f", .path2 = "g");
	expect_err(ERR_NOT_FOUND, .op = CHANGE_PLACE, .path = "/none", .path2 = "g");
	cr_assert(symlinkat("../outside/secret", shown.scratch.fd, "staging/l") == 0);
	expect_err(ERR_INVALID, .op = CHANGE_PLACE, .path = "/l", .path2 = "g");
	cr_expect(not(shown_exists(&shown, "tree/g")));
	expect_text("staging/t", "new");
	expect_text("tree/f", "old");
	expect_text("outside/secret", "secret");
}

/* ---- Extended attributes, sync ---- */

Test(helper_apply, xattrs_of_the_user_are_set_and_removed)
{
	char path[128], value[16];

	snprintf(path, sizeof path, "%s/tree/f", shown.scratch.path);
	scratch_write_text(&shown.scratch, "tree/f", "");
	cr_assert(symlinkat("f", shown.scratch.fd, "tree/l") == 0);
	expect_ok(.op = CHANGE_SETXATTR, .path = "f", .name = "user.a", DATA("one"));
	cr_expect(eq(long, getxattr(path, "user.a", value, sizeof value), 3));
	expect_err(ERR_EXISTS, .op = CHANGE_SETXATTR, .path = "f", .name = "user.a",
		.flags = CHANGE_EXCL, DATA("two"));
	expect_err(ERR_NO_XATTR, .op = CHANGE_SETXATTR, .path = "f", .name = "user.b",
		.flags = CHANGE_REPLACE, DATA("two"));
	expect_ok(.op = CHANGE_SETXATTR, .path = "f", .name = "user.a", .flags = CHANGE_REPLACE,
		.data = "", .data_len = 0);
	cr_expect(eq(long, getxattr(path, "user.a", value, sizeof value), 0));
	expect_ok(.op = CHANGE_REMOVEXATTR, .path = "f", .name = "user.a");
	expect_err(ERR_NO_XATTR, .op = CHANGE_REMOVEXATTR, .path = "f", .name = "user.a");
	expect_err(ERR_UNSUPPORTED, .op = CHANGE_SETXATTR, .path = "f", .name = "trusted.a",
		DATA("x"));
	expect_err(ERR_UNSUPPORTED, .op = CHANGE_REMOVEXATTR, .path = "f", .name = "security.x");
	expect_err(ERR_UNSUPPORTED, .op = CHANGE_SETXATTR, .path = "f", DATA("x"));
	expect_err(ERR_UNSUPPORTED, .op = CHANGE_SETXATTR, .path = "f", .name = "user.", DATA("x"));
	expect_err(ERR_NOT_OWNER, .op = CHANGE_SETXATTR, .path = "l", .name = "user.a", DATA("x"));
}

Test(helper_apply, the_result_tells_whether_there_are_xattrs_of_the_user)
{
	struct change_result made = applied(.op = CHANGE_CREATE, .path = "f", .mode = 0644);
	struct change_result set =
		applied(.op = CHANGE_SETXATTR, .path = "f", .name = "user.a", DATA("one"));
	struct change_result removed =
		applied(.op = CHANGE_REMOVEXATTR, .path = "f", .name = "user.a");

	cr_assert(made.has_attr && set.has_attr && removed.has_attr);
	cr_expect(made.attr.no_xattrs && made.parent.no_xattrs);
	cr_expect(not(set.attr.no_xattrs));
	cr_expect(removed.attr.no_xattrs);
}

Test(helper_apply, sync_takes_files_and_directories)
{
	scratch_mkdir(&shown.scratch, "tree/d", 0755);
	scratch_write_text(&shown.scratch, "tree/f", "");
	expect_ok(.op = CHANGE_SYNC, .path = "f");
	expect_ok(.op = CHANGE_SYNC, .path = "d");
	expect_ok(.op = CHANGE_SYNC, .path = "");
	expect_err(ERR_NOT_FOUND, .op = CHANGE_SYNC, .path = "none");
}

/* Of this program's fsync(2), which stands before libc's: the inodes it was called for, and how the next one fails. */
static ino_t synced[4];
static unsigned synced_count;
static int fsync_errno;

int fsync(int fd)
{
	struct stat st;

	errno = fsync_errno;
	if (fsync_errno || fstat(fd, &st))
		return -1;
	if (synced_count < sizeof synced / sizeof *synced)
		synced[synced_count] = st.st_ino;
	synced_count++;
	return (int)syscall(SYS_fsync, fd);
}

Test(helper_apply, a_sync_is_an_fsync_of_that_inode)
{
	struct stat root;

	expect_ok(.op = CHANGE_CREATE, .path = "f", .mode = 0200);
	expect_ok(.op = CHANGE_MKDIR, .path = "d", .mode = 0700);
	expect_ok(.op = CHANGE_WRITE, .path = "f", .flags = CHANGE_BY_HANDLE, DATA("hello"));
	synced_count = 0;
	expect_ok(.op = CHANGE_SYNC, .path = "f");
	expect_ok(.op = CHANGE_SYNC, .path = "d");
	expect_ok(.op = CHANGE_SYNC, .path = "");
	cr_assert(eq(uint, synced_count, 3));
	cr_assert(zero(int, fstatat(shown.scratch.fd, "tree", &root, 0)));
	cr_expect(eq(u64, synced[0], ino_of("tree/f")));
	cr_expect(eq(u64, synced[1], ino_of("tree/d")));
	cr_expect(eq(u64, synced[2], root.st_ino));
}

Test(helper_apply, an_fsync_that_fails_is_told)
{
	expect_ok(.op = CHANGE_CREATE, .path = "f", .mode = 0600);
	fsync_errno = ENOSPC;
	expect_err(ERR_NO_SPACE, .op = CHANGE_SYNC, .path = "f");
	fsync_errno = EIO;
	expect_err(ERR_IO, .op = CHANGE_SYNC, .path = "f");
}

/* ---- Through an open handle ---- */

#define as_nobody(...) shown_apply(s, &(struct change){ NO_OWNER, __VA_ARGS__ })

static int write_read_only(struct shown *s)
{
	static const mode_t modes[] = { 0444, 0, 04555, 0400, 02444, 01000 };

	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
		if (as_nobody(.op = CHANGE_CREATE, .path = "f", .mode = modes[i]).err != ERR_OK)
			return 1;
		if (as_nobody(.op = CHANGE_WRITE, .path = "f", DATA("no")).err != ERR_DENIED)
			return 2;
		if (as_nobody(.op = CHANGE_SETATTR, .path = "f", .set = SET_SIZE).err != ERR_DENIED)
			return 3;
		if (as_nobody(.op = CHANGE_SETATTR, .path = "f", .set = SET_SIZE, .size = 3,
			    .flags = CHANGE_BY_HANDLE)
				.err != ERR_OK)
			return 4;
		if ((shown_attr(s, "tree/f").mode & 0777) != (modes[i] & 0777))
			return 5;
		if (as_nobody(.op = CHANGE_APPEND, .path = "f", .flags = CHANGE_BY_HANDLE,
			    DATA("x"))
				.attr.size != 4)
			return 6;
		if (as_nobody(.op = CHANGE_SYNC, .path = "f").err != ERR_OK)
			return 7;
		if ((shown_attr(s, "tree/f").mode & 01777) != (modes[i] & 01777))
			return 8;
		if (as_nobody(.op = CHANGE_UNLINK, .path = "f").err != ERR_OK)
			return 9;
	}
	return 0;
}

Test(helper_apply, through_a_handle_ones_own_file_is_written_whatever_its_mode)
{
	shown_as_nobody(&shown, write_read_only);
}

/* A lift alone, nothing written: every bit is back. */
static int lift_only(struct shown *s)
{
	static const mode_t modes[] = { 04444, 02444, 06000, 01444 };

	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
		if (as_nobody(.op = CHANGE_CREATE, .path = "f", .mode = modes[i]).err != ERR_OK)
			return 1;
		if (as_nobody(.op = CHANGE_WRITE, .path = "f", .flags = CHANGE_BY_HANDLE).err !=
			ERR_OK)
			return 2;
		if ((shown_attr(s, "tree/f").mode & 07777) != modes[i])
			return 3;
		if (as_nobody(.op = CHANGE_UNLINK, .path = "f").err != ERR_OK)
			return 4;
	}
	return 0;
}

Test(helper_apply, a_lifted_mode_comes_back_to_the_bit)
{
	shown_as_nobody(&shown, lift_only);
}

static int write_foreign(struct shown *s)
{
	return as_nobody(.op = CHANGE_WRITE, .path = "roots", .flags = CHANGE_BY_HANDLE, DATA("no"))
				.err == ERR_DENIED
		? 0
		: 1;
}

Test(helper_apply, a_foreign_file_is_not_lifted)
{
	if (geteuid() != 0)
		shown_skip(&shown, "needs a foreign file");
	scratch_write_text(&shown.scratch, "tree/roots", "root's");
	shown_as_nobody(&shown, write_foreign);
	expect_text("tree/roots", "root's");
}

/* ---- Batches ---- */

Test(helper_apply, a_batch_goes_on_after_a_failure_but_not_with_what_needs_it)
{
	const struct change changes[] = {
		{ NO_OWNER, .op = CHANGE_MKDIR, .path = "none/d", .mode = 0755 },
		{ NO_OWNER, .op = CHANGE_CREATE, .path = "f", .mode = 0644, .needs = 1 },
		{ NO_OWNER, .op = CHANGE_CREATE, .path = "g", .mode = 0644, .needs = 2 },
		{ NO_OWNER, .op = CHANGE_CREATE, .path = "h", .mode = 0644 },
		{ NO_OWNER, .op = CHANGE_UNLINK, .path = "h", .needs = 4 },
		{ NO_OWNER, .op = CHANGE_CREATE, .path = "i", .needs = 7 },
		{ NO_OWNER, .op = (enum change_op)99, .path = "i" },
	};
	static const enum err want[] = { ERR_NOT_FOUND, ERR_SKIPPED, ERR_SKIPPED, ERR_OK, ERR_OK,
		ERR_SKIPPED, ERR_INVALID };
	const struct apply_request request = { .changes = changes, .changes_count = 7 };
	struct change_result results[7];

	cr_assert(eq(int, helper_apply(&shown.root, NULL, &request, results, NULL), ERR_OK));
	for (size_t i = 0; i < 7; i++)
		cr_expect(eq(int, results[i].err, want[i]), "change %zu: %s", i, results[i].why);
	cr_expect(not(shown_exists(&shown, "tree/f")));
}

static enum err apply_numbered(
	uint64_t first, const struct change *changes, size_t count, struct change_result *results)
{
	const struct apply_request request = { .journal = { 0xab, [15] = 0x01 },
		.first_sequence = first,
		.changes = changes,
		.changes_count = count };

	return helper_apply(&shown.root, NULL, &request, results, NULL);
}

static uint64_t last_sequence(unsigned char first_byte)
{
	const unsigned char journal[JOURNAL_ID_SIZE] = { first_byte, [15] = 0x01 };
	AUTO_SEQUENCE struct sequence record = SEQUENCE_NONE;

	cr_assert(eq(int, sequence_open(&shown.root, NULL, journal, 0, &record, NULL), ERR_OK));
	return record.over;
}

Test(helper_apply, what_is_recorded_as_done_is_not_done_again)
{
	const struct change changes[] = {
		{ NO_OWNER, .op = CHANGE_APPEND, .path = "f", DATA("1") },
		{ NO_OWNER, .op = CHANGE_APPEND, .path = "f", DATA("2") },
		{ NO_OWNER, .op = CHANGE_APPEND, .path = "f", DATA("3") },
	};
	struct change_result results[3];

	scratch_write_text(&shown.scratch, "tree/f", "");
	cr_expect(eq(u64, last_sequence(0xab), 0));
	cr_assert(eq(int, apply_numbered(7, changes, 2, results), ERR_OK));
	cr_expect(eq(u64, last_sequence(0xab), 8));
	cr_expect(eq(u64, last_sequence(0xcd), 0));
	cr_expect(shown_exists(&shown, "staging/seq-ab000000000000000000000000000001"));
	cr_assert(eq(int, apply_numbered(7, changes, 3, results), ERR_OK));
	expect_text("tree/f", "123");
	for (size_t i = 0; i < 3; i++)
		cr_expect(results[i].err == ERR_OK && results[i].has_attr && results[i].has_parent);
	cr_expect(eq(u64, results[0].attr.ino, ino_of("tree/f")));
	cr_expect(eq(u64, last_sequence(0xab), 9));
}

Test(helper_apply, without_a_journal_nothing_is_recorded)
{
	struct change_result r = applied(.op = CHANGE_CREATE, .path = "f", .mode = 0644);

	cr_expect(eq(int, r.err, ERR_OK));
	cr_expect(not(shown_exists(&shown, "staging/seq-00000000000000000000000000000000")));
}

/* ---- Hostile company ---- */

/* Everything that could touch the wrong file, on a name whose directory or itself is a link out every other moment. */
static void hammer(const char *path, const char *fresh)
{
	const struct timespec then = { .tv_sec = 1 };

	applied(.op = CHANGE_SETATTR, .path = path, .set = SET_MODE, .mode = 0777);
	applied(.op = CHANGE_SETATTR, .path = path, .set = SET_SIZE, .size = 1);
	applied(.op = CHANGE_SETATTR, .path = path, .set = SET_MTIME, .mtime = then);
	applied_with_owner(.op = CHANGE_SETATTR, .path = path, .set = SET_UID, .uid = 4242);
	applied(.op = CHANGE_WRITE, .path = path, .flags = CHANGE_BY_HANDLE, DATA("overwritten"));
	applied(.op = CHANGE_APPEND, .path = path, DATA("appended"));
	applied(.op = CHANGE_SETXATTR, .path = path, .name = "user.x", DATA("x"));
	applied(.op = CHANGE_CREATE, .path = path, .mode = 0777);
	applied(.op = CHANGE_CREATE, .path = fresh, .mode = 0777);
	applied(.op = CHANGE_UNLINK, .path = fresh);
	applied(.op = CHANGE_MKDIR, .path = fresh, .mode = 0777);
	applied(.op = CHANGE_RMDIR, .path = fresh);
}

/* Swaps `one` and `other`, one of them a link out, while `path` and `fresh` are worked on. */
static void expect_outside_untouched(
	const char *one, const char *other, const char *path, const char *fresh)
{
	const struct attr before = shown_attr(&shown, "outside/secret");
	const struct attr dir_before = shown_attr(&shown, "outside");
	struct swapper *hostile = shown_swap_start(&shown, one, other);
	struct attr after, dir_after;

	for (int i = 0; i < 1000; i++)
		hammer(path, fresh);
	shown_swap_stop(hostile);
	after = shown_attr(&shown, "outside/secret");
	dir_after = shown_attr(&shown, "outside");
	expect_text("outside/secret", "secret");
	cr_expect(eq(uint, after.mode, before.mode));
	cr_expect(eq(uint, after.uid, before.uid));
	cr_expect(eq(long, after.ctime.tv_sec, before.ctime.tv_sec));
	cr_expect(eq(long, after.ctime.tv_nsec, before.ctime.tv_nsec));
	cr_expect(eq(long, dir_after.mtime.tv_sec, dir_before.mtime.tv_sec));
	cr_expect(eq(long, dir_after.mtime.tv_nsec, dir_before.mtime.tv_nsec));
}

static void hammer_swapped_directory(void)
{
	scratch_mkdir(&shown.scratch, "tree/d", 0755);
	scratch_write_text(&shown.scratch, "tree/d/secret", "inside");
	cr_assert(symlinkat("../outside", shown.scratch.fd, "tree/l") == 0);
	expect_outside_untouched("tree/d", "tree/l", "d/secret", "d/fresh");
}

Test(helper_apply, a_swapped_directory_does_not_lead_changes_out)
{
	hammer_swapped_directory();
}

Test(helper_apply, a_swapped_directory_does_not_lead_the_walk_out)
{
	shown.root.walk = true;
	hammer_swapped_directory();
}

Test(helper_apply, a_swapped_file_does_not_lead_changes_out)
{
	scratch_write_text(&shown.scratch, "tree/f", "inside");
	cr_assert(symlinkat("../outside/secret", shown.scratch.fd, "tree/l") == 0);
	expect_outside_untouched("tree/f", "tree/l", "f", "fresh");
}
