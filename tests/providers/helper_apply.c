#include "tests/support/changes.h"
#include "tests/support/shown.h"

#include "providers/base/cleanup.h"
#include "providers/helper/helper.h"
#include "providers/helper/sequence.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
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

#define applied(...) shown_apply(&shown, &CHANGE(__VA_ARGS__))
#define applied_with_owner(kind, name, ...)                                                        \
	shown_apply(&shown, &(struct change){ .op = CHANGE_##kind, .path = (name), __VA_ARGS__ })

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

Test(helper_apply, mknod_makes_devices_for_root)
{
	if (geteuid() != 0)
		shown_skip(&shown, "only root makes devices");
	expect_ok(MKNOD, "null", .mode = S_IFCHR | 0600, .rdev = makedev(1, 300));
	cr_expect(eq(u64, shown_attr(&shown, "tree/null").rdev, makedev(1, 300)));
}

Test(helper_apply, symlinks_hold_their_text_to_the_byte)
{
	char text[4096], got[4097];
	struct change_result made;

	memset(text, 't', sizeof text);
	made = applied(SYMLINK, "l", .data = text, .data_len = 4095);
	cr_assert(eq(int, made.err, ERR_OK), "%s", made.why);
	cr_expect(eq(long, readlinkat(shown.scratch.fd, "tree/l", got, sizeof got), 4095));
	cr_expect(eq(u64, made.attr.size, 4095));
	expect_err(ERR_NAME_TOO_LONG, SYMLINK, "m", .data = text, .data_len = 4096);
	expect_err(ERR_INVALID, SYMLINK, "m", TEXT("a\0b"));
	expect_err(ERR_NOT_FOUND, SYMLINK, "m", TEXT(""));
	expect_err(ERR_EXISTS, SYMLINK, "l", TEXT("x"));
}

Test(helper_apply, unlink_of_the_last_name_tells_that_none_is_left)
{
	scratch_write_text(&shown.scratch, "tree/f", "");
	struct change_result last = applied(UNLINK, "f");

	cr_expect(last.has_attr);
	cr_expect(eq(uint, last.attr.nlink, 0));
}

/* A removed file has no version left to compare, whoever removed it. */
Test(helper_apply, unlink_of_what_is_gone_tells_the_directory_and_no_conflict)
{
	const struct version version = { .size = 1, .ctime = { .tv_sec = 1 } };
	struct change_result gone = applied(UNLINK, "f", .version = version);

	cr_expect(eq(int, gone.err, ERR_NOT_FOUND));
	cr_expect(gone.has_parent);
}

/* rename(2) between two names of one inode does nothing, and the name would stay. */
Test(helper_apply, unlink_of_a_second_name_of_what_is_kept_removes_it)
{
	scratch_write_text(&shown.scratch, "tree/f", "kept");
	cr_assert(linkat(shown.scratch.fd, "tree/f", shown.scratch.fd, "tree/g", 0) == 0);
	expect_ok(UNLINK, "f", .path2 = "/o-1");
	expect_ok(UNLINK, "g", .path2 = "/o-1");
	cr_expect(not(shown_exists(&shown, "tree/g")));
	cr_expect(eq(uint, shown_attr(&shown, "staging/o-1").nlink, 1));
	scratch_write_text(&shown.scratch, "tree/h", "other");
	expect_err(ERR_EXISTS, UNLINK, "h", .path2 = "/o-1");
	expect_text("tree/h", "other");
	expect_err(ERR_INVALID, UNLINK, "h", .path2 = "elsewhere");
	expect_ok(UNLINK, "/o-1");
	cr_expect(not(shown_exists(&shown, "staging/o-1")));
}

/* ---- rename ---- */

Test(helper_apply, a_rename_that_replaces_nothing_keeps_nothing)
{
	scratch_write_text(&shown.scratch, "tree/a", "a");
	cr_assert(linkat(shown.scratch.fd, "tree/a", shown.scratch.fd, "tree/c", 0) == 0);
	expect_ok(RENAME, "a", .path2 = "c", .keep = "/o-1");
	expect_ok(RENAME, "a", .path2 = "free", .keep = "/o-1");
	cr_expect(not(shown_exists(&shown, "staging/o-1")));
}

static int rename_over_foreign(struct shown *s)
{
	struct change c = CHANGE(RENAME, "mine", .path2 = "roots", .keep = "/o-1");
	AUTO_CLOSE int fd = openat(s->scratch.fd, "tree/mine", O_CREAT | O_WRONLY, 0644);

	if (fd < 0 || write(fd, "mine", 4) != 4)
		return 1;
	if (shown_apply(s, &c).err != ERR_OK)
		return 2;
	return shown_attr(s, "staging/o-1").uid == 0 && shown_attr(s, "tree/roots").uid != 0 ? 0
											     : 3;
}

/*
 * link(2) of a file that is not one's own is refused under protected_hardlinks, rename(2) over it
 * is not.
 */
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
	const struct change create = CHANGE(CREATE, "g", .mode = 0644);
	const struct change c = CHANGE(RENAME, "ro/f", .path2 = "g", .keep = "/o-1");

	if (shown_apply(s, &create).err != ERR_OK)
		return 1;
	return shown_apply(s, &c).err == ERR_DENIED ? 0 : 2;
}

/* The file that would have been replaced has its second name by then. */
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

/* ---- Refusals that only happen here, or that the contract checks less closely ---- */

static void make_all_kinds(void)
{
	scratch_mkdir(&shown.scratch, "tree/d", 0755);
	scratch_write_text(&shown.scratch, "tree/f", "f");
	scratch_write_text(&shown.scratch, "tree/g", "0123456789");
	scratch_write_text(&shown.scratch, "staging/t", "new");
	cr_assert(linkat(shown.scratch.fd, "tree/f", shown.scratch.fd, "tree/f2", 0) == 0);
	cr_assert(mkfifoat(shown.scratch.fd, "tree/fifo", 0644) == 0);
	cr_assert(symlinkat("../outside/new", shown.scratch.fd, "tree/none") == 0);
	cr_assert(symlinkat("../outside/secret", shown.scratch.fd, "tree/l") == 0);
	cr_assert(symlinkat("../outside/secret", shown.scratch.fd, "staging/l") == 0);
}

Test(helper_apply, a_refused_change_changes_nothing)
{
	make_all_kinds();
	scratch_write_text(&shown.scratch, "tree/gone", "");
	const struct expect f = expect_at("tree/f"), gone = expect_at("tree/gone");

	cr_assert(unlinkat(shown.scratch.fd, "tree/gone", 0) == 0);
	const struct {
		enum err want;
		struct change change;
	} rows[] = {
		{ ERR_EXISTS, CHANGE_ROW(MKDIR, "", .mode = 0755) },
		{ ERR_STALE, CHANGE_ROW(CREATE, "none") },
		{ ERR_EXISTS, CHANGE_ROW(CREATE, "fifo") },
		{ ERR_STALE, CHANGE_ROW(CREATE, "g", .target = f) },
		{ ERR_INVALID, CHANGE_ROW(LINK, "f") },
		{ ERR_IS_DIR, CHANGE_ROW(UNLINK, "d", .path2 = "/o-1") },
		{ ERR_INVALID, CHANGE_ROW(RMDIR, "") },
		{ ERR_NOT_DIR, CHANGE_ROW(RENAME, "d", .path2 = "f", .keep = "/o-1") },
		{ ERR_INVALID, CHANGE_ROW(RENAME, "g", .path2 = "f", .keep = "k") },
		{ ERR_NOT_FOUND,
			CHANGE_ROW(RENAME, "f", .path2 = "new", .flags = CHANGE_EXCHANGE) },
		{ ERR_INVALID,
			CHANGE_ROW(RENAME, "f", .path2 = "g",
				.flags = CHANGE_EXCHANGE | CHANGE_NOREPLACE) },
		{ ERR_EXISTS, CHANGE_ROW(RENAME, "f", .path2 = "f2", .flags = CHANGE_NOREPLACE) },
		{ ERR_STALE, CHANGE_ROW(RENAME, "f", .path2 = "new", .target2 = f) },
		{ ERR_TOO_LARGE,
			CHANGE_ROW(
				SETATTR, "f", .set = SET_SIZE, .size = (uint64_t)INT64_MAX + 1) },
		{ ERR_INVALID,
			CHANGE_ROW(SETATTR, "f", .set = SET_MTIME,
				.mtime = { .tv_nsec = 2000000000 }) },
		{ ERR_UNSUPPORTED, CHANGE_ROW(SETATTR, "l", .set = SET_MODE) },
		{ ERR_STALE, CHANGE_ROW(SETATTR, "l", .set = SET_SIZE) },
		{ ERR_INVALID, CHANGE_ROW(SETATTR, "fifo", .set = SET_SIZE) },
		{ ERR_UNSUPPORTED, CHANGE_ROW(FALLOCATE, "f", .mode = 0x8000, .length = 1) },
		{ ERR_INVALID, CHANGE_ROW(FALLOCATE, "f") },
		{ ERR_IS_DIR, CHANGE_ROW(WRITE, "", TEXT("x")) },
		{ ERR_INVALID, CHANGE_ROW(WRITE, "f", .offset = UINT64_MAX, TEXT("x")) },
		{ ERR_INVALID, CHANGE_ROW(COPY, "g", .path2 = "g", .offset2 = 4, .length = 5) },
		{ ERR_EXISTS, CHANGE_ROW(PLACE, "/t", .path2 = "f", .flags = CHANGE_EXCL) },
		{ ERR_STALE, CHANGE_ROW(PLACE, "/t", .path2 = "f", .target2 = gone) },
		{ ERR_STALE, CHANGE_ROW(PLACE, "/t", .path2 = "new", .target2 = gone) },
		{ ERR_IS_DIR, CHANGE_ROW(PLACE, "/t", .path2 = "d") },
		{ ERR_STALE, CHANGE_ROW(PLACE, "/t", .path2 = "l") },
		{ ERR_INVALID, CHANGE_ROW(PLACE, "f", .path2 = "new") },
		{ ERR_NOT_FOUND, CHANGE_ROW(PLACE, "/none", .path2 = "new") },
		{ ERR_INVALID, CHANGE_ROW(PLACE, "/l", .path2 = "new") },
		{ ERR_UNSUPPORTED, CHANGE_ROW(SETXATTR, "f", .name = "trusted.a", TEXT("x")) },
		{ ERR_UNSUPPORTED, CHANGE_ROW(SETXATTR, "f", .name = "user.", TEXT("x")) },
		{ ERR_UNSUPPORTED, CHANGE_ROW(SETXATTR, "f", TEXT("x")) },
		{ ERR_UNSUPPORTED, CHANGE_ROW(REMOVEXATTR, "f", .name = "security.x") },
		{ ERR_NOT_OWNER, CHANGE_ROW(SETXATTR, "l", .name = "user.a", TEXT("x")) },
		{ ERR_NOT_FOUND, CHANGE_ROW(SYNC, "missing") },
		{ ERR_INVALID, { .op = (enum change_op)99, .path = "f" } },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct change_result r = shown_apply(&shown, &rows[i].change);

		cr_expect(eq(int, r.err, rows[i].want), "row %zu: %s", i, r.why);
		cr_expect(ne(str, r.why, (char *)""), "row %zu", i);
	}
	expect_text("tree/f", "f");
	expect_text("tree/g", "0123456789");
	expect_text("staging/t", "new");
	expect_text("outside/secret", "secret");
	cr_expect(not(shown_exists(&shown, "outside/new")));
	cr_expect(not(shown_exists(&shown, "tree/new")));
	cr_expect(not(shown_exists(&shown, "staging/o-1")));
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
	made = applied_with_owner(CREATE, "f", .mode = 06755, .uid = 1234, .gid = 5678);
	cr_assert(eq(int, made.err, ERR_OK), "%s", made.why);
	cr_expect(eq(uint, made.attr.uid, 1234));
	cr_expect(eq(uint, made.attr.gid, 5678));
	cr_expect(eq(uint, made.attr.mode, S_IFREG | 06755));
	made = applied_with_owner(
		SYMLINK, "l", TEXT("../outside/secret"), .uid = 1234, .gid = 5678);
	cr_expect(eq(uint, made.attr.uid, 1234));
	cr_expect(eq(uint, shown_attr(&shown, "outside/secret").uid, geteuid()));
	made = applied_with_owner(MKNOD, "p", .mode = S_IFIFO | 0600, .uid = 1234, .gid = 5678);
	cr_expect(eq(uint, made.attr.gid, 5678));
	made = applied_with_owner(MKDIR, "d", .mode = 01777, .uid = 1234, .gid = 5678);
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
	made = applied_with_owner(MKDIR, "d/e", .mode = 0755, .uid = 1234, .gid = 5678);
	cr_expect(eq(uint, made.attr.gid, 4321));
	cr_expect(eq(uint, made.attr.uid, 1234));
	cr_expect(eq(uint, made.attr.mode, S_IFDIR | 02755));
	made = applied_with_owner(CREATE, "d/f", .mode = 0644, .uid = 1234, .gid = 5678);
	cr_expect(eq(uint, made.attr.gid, 4321));
	scratch_write_text(&shown.scratch, "staging/t", "placed");
	expect_ok(PLACE, "/t", .path2 = "d/g");
	cr_expect(eq(uint, shown_attr(&shown, "tree/d/g").gid, 4321));
}

/* ---- setattr ---- */

Test(helper_apply, the_owner_of_a_link_is_the_links_own)
{
	if (geteuid() != 0)
		shown_skip(&shown, "only root gives links away");
	cr_assert(symlinkat("../outside/secret", shown.scratch.fd, "tree/l") == 0);
	applied_with_owner(SETATTR, "l", .set = SET_UID | SET_GID, .uid = 77, .gid = 78);
	cr_expect(eq(uint, shown_attr(&shown, "tree/l").uid, 77));
	/* No part of the change is made. */
	cr_expect(eq(int,
		applied_with_owner(SETATTR, "l", .set = SET_UID | SET_MODE, .uid = 79, .mode = 0)
			.err,
		ERR_UNSUPPORTED));
	cr_expect(eq(uint, shown_attr(&shown, "tree/l").uid, 77));
	cr_expect(eq(uint, shown_attr(&shown, "outside/secret").uid, 0));
}

Test(helper_apply, setattr_of_devices_does_not_open_them)
{
	cr_assert(mkfifoat(shown.scratch.fd, "tree/fifo", 0644) == 0);
	expect_ok(SETATTR, "fifo", .set = SET_MODE | SET_MTIME, .mode = 0600,
		.mtime = { .tv_nsec = UTIME_NOW });
	cr_expect(eq(uint, shown_attr(&shown, "tree/fifo").mode, S_IFIFO | 0600));
}

/* ---- Contents ---- */

Test(helper_apply, fallocate_may_keep_the_size)
{
	scratch_write_text(&shown.scratch, "tree/f", "text");
	expect_ok(FALLOCATE, "f", .mode = FALLOC_FL_KEEP_SIZE, .length = 9000);
	cr_expect(eq(u64, shown_attr(&shown, "tree/f").size, 4));
}

Test(helper_apply, copy_copies_within_a_file_and_nothing_from_behind_its_end)
{
	scratch_write_text(&shown.scratch, "tree/f", "0123456789");
	struct change_result within = applied(COPY, "f", .path2 = "f", .offset2 = 5, .length = 5);
	struct change_result behind = applied(COPY, "f", .path2 = "f", .offset = 100, .length = 5);

	cr_expect(eq(u64, within.count, 5));
	expect_text("tree/f", "0123401234");
	cr_expect(eq(int, behind.err, ERR_OK));
	cr_expect(eq(u64, behind.count, 0));
}

Test(helper_apply, an_append_of_nothing_tells_where_the_end_is)
{
	scratch_write_text(&shown.scratch, "tree/f", "12345");
	cr_expect(eq(u64, applied(APPEND, "f").offset, 5));
}

/* Mounts another file system at tree/m; NULL: that is not allowed. */
static const char *mount_other(void)
{
	static char path[128];

	snprintf(path, sizeof path, "%s/tree/m", shown.scratch.path);
	scratch_mkdir(&shown.scratch, "tree/m", 0755);
	return mount("none", path, "tmpfs", 0, NULL) ? NULL : path;
}

/* No copy_file_range(2) between a file and another file system's: bytes go by hand. */
Test(helper_apply, copy_crosses_file_systems)
{
	const char *path = mount_other();

	if (!path)
		shown_skip(&shown, "no right to mount");
	AUTO_FREE char *bytes = calloc(1, 100000);

	memset(bytes, 'x', 99999);
	scratch_write_text(&shown.scratch, "tree/f", bytes);
	scratch_write_text(&shown.scratch, "tree/m/g", "");
	struct change_result copied = applied(COPY, "f", .path2 = "m/g", .length = UINT64_MAX);

	cr_expect(eq(u64, copied.count, 99999));
	expect_text("tree/m/g", bytes);
	cr_assert(umount(path) == 0);
}

/* What is open here goes on as a copy: no rename leads from there to staging. */
Test(helper_apply, what_is_removed_on_another_file_system_is_kept_as_a_copy)
{
	const char *path = mount_other();
	const struct expect before = { .dev = 1, .ino = 1 };

	if (!path)
		shown_skip(&shown, "no right to mount");
	scratch_write_text(&shown.scratch, "tree/m/f", "removed");
	scratch_write_text(&shown.scratch, "tree/m/new", "new");
	scratch_write_text(&shown.scratch, "tree/m/old", "old");
	struct change_result kept = applied(UNLINK, "m/f", .path2 = "/u-1");
	struct change_result over = applied(RENAME, "m/new", .path2 = "m/old", .keep = "/u-2");

	cr_expect(eq(int, kept.err, ERR_OK), "%s", kept.why);
	cr_expect(kept.has_attr && kept.attr.size == strlen("removed"));
	expect_text("staging/u-1", "removed");
	cr_expect(faccessat(shown.scratch.fd, "tree/m/f", F_OK, 0) != 0);
	cr_expect(eq(int, over.err, ERR_OK), "%s", over.why);
	expect_text("tree/m/old", "new");
	expect_text("staging/u-2", "old");
	/* The mount knows the inode that the file had. */
	cr_expect(eq(int, applied(UNLINK, "/u-2", .target = before).err, ERR_OK));
	cr_assert(umount(path) == 0);
}

Test(helper_apply, a_hole_takes_no_room_in_the_copy_of_a_removed_file)
{
	const off_t hole = (off_t)64 << 20;
	const char *path = mount_other();
	AUTO_CLOSE int fd = -1;
	char end[5] = "";
	struct stat st;

	if (!path)
		shown_skip(&shown, "no right to mount");
	scratch_write_text(&shown.scratch, "tree/m/f", "begin");
	fd = openat(shown.scratch.fd, "tree/m/f", O_WRONLY | O_CLOEXEC);
	cr_assert(eq(long, pwrite(fd, "then", 4, hole), 4));
	cr_assert(ftruncate(fd, 2 * hole) == 0);
	cleanup_close(&fd);
	cr_expect(eq(int, applied(UNLINK, "m/f", .path2 = "/u-1").err, ERR_OK));
	fd = openat(shown.scratch.fd, "staging/u-1", O_RDONLY | O_CLOEXEC);
	cr_assert(fstat(fd, &st) == 0);
	cr_expect(eq(long, st.st_size, 2 * hole));
	cr_expect(lt(long, st.st_blocks * 512, hole));
	cr_expect(eq(long, pread(fd, end, 4, hole), 4));
	cr_expect(eq(str, end, (char *)"then"));
	cr_expect(eq(long, pread(fd, end, 4, 0), 4));
	cr_expect(eq(str, end, (char *)"begi"));
	cr_assert(umount(path) == 0);
}

Test(helper_apply, place_crosses_file_systems)
{
	const char *path = mount_other();

	if (!path)
		shown_skip(&shown, "no right to mount");
	scratch_write_text(&shown.scratch, "staging/t", "new");
	scratch_write_text(&shown.scratch, "staging/u", "another");
	struct change_result placed = applied(PLACE, "/t", .path2 = "m/f", .flags = CHANGE_EXCL);
	struct change_result taken = applied(PLACE, "/u", .path2 = "m/f", .flags = CHANGE_EXCL);

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

/* ---- A file over an empty one that was made for it ---- */

/* Makes tree/f, of mode 0640, and the file that is to take its place. */
static void make_for_placing(const char *there)
{
	scratch_write_text(&shown.scratch, "tree/f", there);
	cr_assert(fchmodat(shown.scratch.fd, "tree/f", 0640, 0) == 0);
	scratch_write_text(&shown.scratch, "staging/t", "new");
	cr_assert(fchmodat(shown.scratch.fd, "staging/t", 0600, 0) == 0);
}

#define place_over_made(...)                                                                       \
	applied(PLACE, "/t", .path2 = "f",                                                         \
		.flags = CHANGE_REPLACE | CHANGE_EXCHANGE | CHANGE_BY_HANDLE, __VA_ARGS__)

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

Test(helper_apply, what_was_made_empty_and_has_another_version_stays)
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
	expect_text("tree/f", "");
	expect_text("staging/t", "new");
}

Test(helper_apply, what_was_made_empty_is_replaced_across_file_systems)
{
	const uint32_t flags = CHANGE_REPLACE | CHANGE_EXCHANGE;
	const char *path = mount_other();

	if (!path)
		shown_skip(&shown, "no right to mount");
	make_for_placing("");
	scratch_write_text(&shown.scratch, "tree/m/f", "");
	cr_assert(fchmodat(shown.scratch.fd, "tree/m/f", 0604, 0) == 0);
	uint64_t made = ino_of("tree/m/f");
	struct change_result r = applied(
		PLACE, "/t", .path2 = "m/f", .flags = flags, .target2 = expect_at("tree/m/f"));

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

/* Another program's file comes to the name, and goes, all the time. */
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

/* ---- Extended attributes, sync ---- */

Test(helper_apply, an_xattr_may_be_replaced_by_an_empty_one)
{
	char path[128], value[16];

	snprintf(path, sizeof path, "%s/tree/f", shown.scratch.path);
	scratch_write_text(&shown.scratch, "tree/f", "");
	expect_ok(SETXATTR, "f", .name = "user.a", TEXT("one"));
	expect_ok(SETXATTR, "f", .name = "user.a", .flags = CHANGE_REPLACE, .data = "",
		.data_len = 0);
	cr_expect(eq(long, getxattr(path, "user.a", value, sizeof value), 0));
}

Test(helper_apply, the_result_tells_whether_there_are_xattrs_of_the_user)
{
	struct change_result made = applied(CREATE, "f", .mode = 0644);
	struct change_result set = applied(SETXATTR, "f", .name = "user.a", TEXT("one"));
	struct change_result removed = applied(REMOVEXATTR, "f", .name = "user.a");

	cr_assert(made.has_attr && set.has_attr && removed.has_attr);
	cr_expect(made.attr.no_xattrs && made.parent.no_xattrs);
	cr_expect(not(set.attr.no_xattrs));
	cr_expect(removed.attr.no_xattrs);
}

/* The inodes that this program's fsync(2), which stands before libc's, was called for. */
static ino_t synced[4];
static unsigned synced_count;

int fsync(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -1;
	if (synced_count < sizeof synced / sizeof *synced)
		synced[synced_count] = st.st_ino;
	synced_count++;
	return (int)syscall(SYS_fsync, fd);
}

Test(helper_apply, a_sync_is_an_fsync_of_that_inode)
{
	struct stat root;

	expect_ok(CREATE, "f", .mode = 0200);
	expect_ok(MKDIR, "d", .mode = 0700);
	expect_ok(WRITE, "f", .flags = CHANGE_BY_HANDLE, TEXT("hello"));
	synced_count = 0;
	expect_ok(SYNC, "f");
	expect_ok(SYNC, "d");
	expect_ok(SYNC, "");
	cr_assert(eq(uint, synced_count, 3));
	cr_assert(zero(int, fstatat(shown.scratch.fd, "tree", &root, 0)));
	cr_expect(eq(u64, synced[0], ino_of("tree/f")));
	cr_expect(eq(u64, synced[1], ino_of("tree/d")));
	cr_expect(eq(u64, synced[2], root.st_ino));
}

/* ---- Through an open handle ---- */

#define as_nobody(...) shown_apply(s, &CHANGE(__VA_ARGS__))

static int write_read_only(struct shown *s)
{
	static const mode_t modes[] = { 0444, 0, 04555, 0400, 02444, 01000 };

	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
		if (as_nobody(CREATE, "f", .mode = modes[i]).err != ERR_OK)
			return 1;
		if (as_nobody(WRITE, "f", TEXT("no")).err != ERR_DENIED)
			return 2;
		if (as_nobody(SETATTR, "f", .set = SET_SIZE).err != ERR_DENIED)
			return 3;
		if (as_nobody(SETATTR, "f", .set = SET_SIZE, .size = 3, .flags = CHANGE_BY_HANDLE)
				.err != ERR_OK)
			return 4;
		if ((shown_attr(s, "tree/f").mode & 0777) != (modes[i] & 0777))
			return 5;
		if (as_nobody(APPEND, "f", .flags = CHANGE_BY_HANDLE, TEXT("x")).attr.size != 4)
			return 6;
		if (as_nobody(SYNC, "f").err != ERR_OK)
			return 7;
		if ((shown_attr(s, "tree/f").mode & 01777) != (modes[i] & 01777))
			return 8;
		if (as_nobody(UNLINK, "f").err != ERR_OK)
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
		if (as_nobody(CREATE, "f", .mode = modes[i]).err != ERR_OK)
			return 1;
		if (as_nobody(WRITE, "f", .flags = CHANGE_BY_HANDLE).err != ERR_OK)
			return 2;
		if ((shown_attr(s, "tree/f").mode & 07777) != modes[i])
			return 3;
		if (as_nobody(UNLINK, "f").err != ERR_OK)
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
	return as_nobody(WRITE, "roots", .flags = CHANGE_BY_HANDLE, TEXT("no")).err == ERR_DENIED
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

Test(helper_apply, a_change_that_needs_a_following_one_is_skipped)
{
	const struct change changes[] = {
		CHANGE_ROW(CREATE, "f", .mode = 0644, .needs = 2),
		CHANGE_ROW(CREATE, "g", .mode = 0644),
	};
	const struct apply_request request = { .changes = changes, .changes_count = 2 };
	struct change_result results[2];

	cr_assert(eq(int, helper_apply(&shown.root, NULL, &request, results, NULL), ERR_OK));
	cr_expect(eq(int, results[0].err, ERR_SKIPPED));
	cr_expect(eq(int, results[1].err, ERR_OK));
}

/* ---- Hostile company ---- */

/*
 * Everything that could touch the wrong file, on a name whose directory or itself is a link out
 * every other moment.
 */
static void hammer(const char *path, const char *fresh)
{
	const struct timespec then = { .tv_sec = 1 };

	applied(SETATTR, path, .set = SET_MODE, .mode = 0777);
	applied(SETATTR, path, .set = SET_SIZE, .size = 1);
	applied(SETATTR, path, .set = SET_MTIME, .mtime = then);
	applied_with_owner(SETATTR, path, .set = SET_UID, .uid = 4242);
	applied(WRITE, path, .flags = CHANGE_BY_HANDLE, TEXT("overwritten"));
	applied(APPEND, path, TEXT("appended"));
	applied(SETXATTR, path, .name = "user.x", TEXT("x"));
	applied(CREATE, path, .mode = 0777);
	applied(CREATE, fresh, .mode = 0777);
	applied(UNLINK, fresh);
	applied(MKDIR, fresh, .mode = 0777);
	applied(RMDIR, fresh);
}

/* Swaps `one` and `other`, of which one is a link out, while `path` and `fresh` are changed. */
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

/* ---- Events for a watcher in the sandbox ---- */

/*
 * Writes (w), closes of files open for writing (c) and names that went (m). Two equal events in a
 * row are one.
 */
static void read_events(int fd, char *out, size_t size)
{
	char bytes[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t len = read(fd, bytes, sizeof bytes);
	size_t count = 0;

	for (ssize_t at = 0; at < len && count + 1 < size;) {
		const struct inotify_event *event = (const struct inotify_event *)(bytes + at);

		out[count++] = event->mask & IN_MODIFY ? 'w'
			: event->mask & IN_CLOSE_WRITE ? 'c'
						       : 'm';
		at += (ssize_t)(sizeof *event + event->len);
	}
	out[count] = '\0';
}

/* A save in place: the file is cut and written. */
Test(helper_apply, a_batch_that_cuts_and_writes_a_file_closes_it_once)
{
	static const struct {
		const char *what, *events;
		struct change changes[4];
		size_t count;
	} rows[] = {
		{ "a save", "wc",
			{ CHANGE_ROW(SETATTR, "f", .set = SET_SIZE),
				CHANGE_ROW(WRITE, "f", .flags = CHANGE_BY_HANDLE, TEXT("ab")),
				CHANGE_ROW(WRITE, "f", .flags = CHANGE_BY_HANDLE, .offset = 2,
					TEXT("cd")),
				CHANGE_ROW(SETATTR, "f", .set = SET_MODE, .mode = 0600) },
			4 },
		{ "two files", "wcwc",
			{ CHANGE_ROW(WRITE, "f", .flags = CHANGE_BY_HANDLE, TEXT("ab")),
				CHANGE_ROW(WRITE, "g", .flags = CHANGE_BY_HANDLE, TEXT("ab")) },
			2 },
		{ "a write and a rename", "wcm",
			{ CHANGE_ROW(WRITE, "f", .flags = CHANGE_BY_HANDLE, TEXT("abcd")),
				CHANGE_ROW(RENAME, "f", .path2 = "h") },
			2 },
	};
	AUTO_CLOSE int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

	cr_assert(watch >= 0);
	for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
		struct apply_request request = {
			.is_plain = true, .changes = rows[n].changes, .changes_count = rows[n].count
		};
		struct change_result results[4];
		char path[200], events[16];

		scratch_write_text(&shown.scratch, "tree/f", "before");
		scratch_write_text(&shown.scratch, "tree/g", "before");
		snprintf(path, sizeof path, "%s/tree", shown.scratch.path);
		int id = inotify_add_watch(watch, path, IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_FROM);

		cr_assert(id >= 0);
		cr_expect(
			eq(int, helper_apply(&shown.root, NULL, &request, results, NULL), ERR_OK));
		for (size_t i = 0; i < rows[n].count; i++)
			cr_expect(eq(int, results[i].err, ERR_OK), "%s: %s", rows[n].what,
				results[i].why);
		read_events(watch, events, sizeof events);
		cr_expect(eq(str, events, (char *)rows[n].events), "%s", rows[n].what);
		inotify_rm_watch(watch, id);
		/* The event of the watch's own end. */
		read_events(watch, events, sizeof events);
	}
	expect_text("tree/h", "abcdre");
}
