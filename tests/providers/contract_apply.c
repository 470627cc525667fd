#include "providers/base/cleanup.h"
#include "providers/base/path.h"
#include "tests/providers/contract.h"
#include "tests/support/changes.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

static enum err apply_kind(struct subject *s, struct change change)
{
	return apply_one(s, change).err;
}

/* Checks that the answer has the attributes that the file system shows afterwards. */
static void expect_result(
	struct subject *s, const struct change_result *r, const char *path, const char *parent)
{
	struct attr want = outside_attr(s, path), dir = outside_attr(s, parent);

	cr_assert(eq(int, r->err, ERR_OK), "%s: %s", path, r->why);
	cr_assert(r->has_attr, "%s", path);
	expect_same_attr(&r->attr, &want, path);
	cr_assert(r->has_parent, "%s", path);
	dir.atime = r->parent.atime;
	expect_same_attr(&r->parent, &dir, parent);
}

/* ---- Making ---- */

BEHAVIOUR(apply, mkdir_makes_a_directory_of_exactly_that_mode)
{
	struct change_result r = apply_one(s, CHANGE(MKDIR, "d", .mode = 01751));

	expect_result(s, &r, "d", "");
	cr_assert(eq(u32, outside_attr(s, "d").mode, S_IFDIR | 01751));
}

BEHAVIOUR(apply, mkdir_takes_a_directory_that_is_there_as_it_is_where_it_may)
{
	const struct change takes = CHANGE(MKDIR, "d", .mode = 0755, .flags = CHANGE_TAKES);
	struct change_result r;

	outside_mkdir(s, "d", 0711);
	outside_write_text(s, "d/f", "theirs");
	outside_write_text(s, "file", "theirs");
	outside_symlink(s, "d", "link");
	r = apply_one(s, takes);
	expect_result(s, &r, "d", "");
	cr_assert(eq(u64, r.count, 1));
	cr_assert(eq(u32, outside_attr(s, "d").mode, S_IFDIR | 0711));
	cr_assert(outside_holds(s, "d/f", "theirs"));
	cr_assert(eq(
		int, apply_one(s, CHANGE(MKDIR, "file", .flags = CHANGE_TAKES)).err, ERR_EXISTS));
	cr_assert(eq(
		int, apply_one(s, CHANGE(MKDIR, "link", .flags = CHANGE_TAKES)).err, ERR_EXISTS));
	r = apply_one(s, CHANGE(MKDIR, "new", .mode = 0755, .flags = CHANGE_TAKES));
	expect_result(s, &r, "new", "");
	cr_assert(eq(u64, r.count, 0));
}

BEHAVIOUR(apply, create_makes_an_empty_file)
{
	struct change_result r;

	outside_mkdir(s, "d", 0755);
	r = apply_one(s, CHANGE(CREATE, "d/f", .flags = CHANGE_EXCL, .mode = 0640));
	expect_result(s, &r, "d/f", "d");
	cr_assert(eq(u32, outside_attr(s, "d/f").mode, S_IFREG | 0640));
	cr_assert(outside_holds(s, "d/f", ""));
}

BEHAVIOUR(apply, create_takes_an_existing_file_unless_exclusive)
{
	struct change_result r;

	outside_write_text(s, "f", "kept");
	r = apply_one(s, CHANGE(CREATE, "f", .mode = 0600));
	expect_result(s, &r, "f", "");
	cr_expect(eq(int, apply_kind(s, CHANGE(CREATE, "f", .flags = CHANGE_EXCL, .mode = 0600)),
		ERR_EXISTS));
	cr_expect(outside_holds(s, "f", "kept"));
	cr_expect(eq(u32, outside_attr(s, "f").mode & 07777, 0644));
}

BEHAVIOUR(apply, mknod_makes_fifos_sockets_and_files)
{
	static const uint32_t modes[] = { S_IFIFO | 0604, S_IFREG | 0640, S_IFSOCK | 0700 };

	for (size_t i = 0; i < 3; i++) {
		char name[] = { 'n', (char)('0' + i), 0 };
		struct change_result r = apply_one(s, CHANGE(MKNOD, name, .mode = modes[i]));

		expect_result(s, &r, name, "");
		cr_expect(eq(u32, outside_attr(s, name).mode, modes[i]));
	}
}

BEHAVIOUR(apply, symlink_and_link_make_names)
{
	struct change changes[] = {
		CHANGE_ROW(SYMLINK, "l", TEXT("../a\nb")),
		CHANGE_ROW(LINK, "f", .path2 = "d/f2"),
	};
	struct change_result r[2];

	outside_mkdir(s, "d", 0755);
	outside_write_text(s, "f", "x");
	apply_all(s, changes, 2, r);
	expect_result(s, &r[0], "l", "");
	AUTO_FREE char *text = outside_read_link(s, "l");

	cr_assert(eq(str, text, "../a\nb"));
	cr_assert(eq(int, r[1].err, ERR_OK), "%s", r[1].why);
	cr_assert(eq(u32, r[1].attr.nlink, 2));
	cr_assert(eq(u64, r[1].attr.ino, outside_attr(s, "d/f2").ino));
	cr_assert(r[1].has_parent2);
	cr_assert(eq(u64, r[1].parent2.ino, outside_attr(s, "d").ino));
}

BEHAVIOUR(apply, a_link_is_linked_and_not_followed)
{
	outside_symlink(s, "/etc/passwd", "l");
	cr_assert(eq(int, apply_kind(s, CHANGE(LINK, "l", .path2 = "l2")), ERR_OK));
	cr_assert(eq(u32, outside_attr(s, "l2").mode & S_IFMT, S_IFLNK));
}

BEHAVIOUR(apply, names_may_hold_any_byte)
{
	static const char *const names[] = { "\n", "t\n", "\xff\xfe", "-rf", "--help", "'", "\"",
		"*", "$(touch oops)", "`touch oops`", "\\", "a\nb", " ", "%n", "\x01", "!", "[",
		"=" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		AUTO_FREE char *below = path_join(names[i], names[i]);
		AUTO_FREE char *other = path_join(names[i], "other");
		AUTO_FREE char *link = path_join(names[i], "link");
		struct change changes[] = {
			CHANGE_ROW(MKDIR, names[i], .mode = 0755),
			CHANGE_ROW(CREATE, below, .mode = 0644),
			CHANGE_ROW(WRITE, below, TEXT("data")),
			CHANGE_ROW(SYMLINK, link, .data = names[i], .data_len = strlen(names[i])),
			CHANGE_ROW(RENAME, below, .path2 = other),
			CHANGE_ROW(LINK, other, .path2 = below),
			CHANGE_ROW(SETATTR, below, .set = SET_MODE, .mode = 0600),
			CHANGE_ROW(UNLINK, other),
		};
		struct change_result r[8];

		apply_all(s, changes, 8, r);
		for (size_t k = 0; k < 8; k++)
			cr_expect(eq(int, r[k].err, ERR_OK), "name %zu, change %zu: %s", i, k,
				r[k].why);
		cr_expect(outside_holds(s, below, "data"), "name %zu", i);
		AUTO_FREE char *text = outside_read_link(s, link);

		cr_expect(eq(str, text, (char *)names[i]));
	}
	cr_expect(not(outside_exists(s, "oops")));
}

/* ---- Removing and renaming ---- */

BEHAVIOUR(apply, unlink_and_rmdir_remove)
{
	struct change changes[] = { CHANGE_ROW(UNLINK, "d/f"), CHANGE_ROW(UNLINK, "l"),
		CHANGE_ROW(RMDIR, "d") };
	struct change_result r[3];

	outside_mkdir(s, "d", 0755);
	outside_write_text(s, "d/f", "x");
	outside_write_text(s, "target", "x");
	outside_symlink(s, "target", "l");
	apply_all(s, changes, 3, r);
	for (size_t i = 0; i < 3; i++)
		cr_expect(eq(int, r[i].err, ERR_OK), "%zu: %s", i, r[i].why);
	cr_expect(not(outside_exists(s, "d")));
	cr_expect(not(outside_exists(s, "l")));
	cr_expect(outside_exists(s, "target"));
}

BEHAVIOUR(apply, unlink_of_one_name_tells_what_is_left_of_the_inode)
{
	struct change_result r;

	outside_write_text(s, "f", "x");
	outside_link(s, "f", "f2");
	r = apply_one(s, CHANGE(UNLINK, "f"));
	expect_result(s, &r, "f2", "");
	cr_assert(eq(u32, r.attr.nlink, 1));
}

BEHAVIOUR(apply, unlink_keeps_the_inode_under_a_staging_name)
{
	struct change changes[] = { CHANGE_ROW(UNLINK, "f", .path2 = "/kept"),
		CHANGE_ROW(WRITE, "/kept", .offset = 2, TEXT("X")) };
	struct fetch_item item = { .kind = FETCH_BYTES, .path = "/kept", .length = UINT64_MAX };
	uint64_t ino;
	struct change_result r[2];
	struct fetched f;

	outside_write_text(s, "f", "still");
	ino = outside_attr(s, "f").ino;
	apply_all(s, changes, 2, r);
	cr_assert(eq(int, r[0].err, ERR_OK), "%s", r[0].why);
	cr_assert(eq(int, r[1].err, ERR_OK), "%s", r[1].why);
	cr_assert(not(outside_exists(s, "f")));
	cr_assert(eq(u64, r[0].attr.ino, ino));
	fetch_items(s, &item, 1, &f);
	cr_assert(eq(int, f.err, ERR_OK));
	cr_assert(eq(str, (char *)f.bytes.bytes, "stXll"));
	fetched_release(&f, 1);
}

BEHAVIOUR(apply, rename_replaces_moves_and_refuses)
{
	struct change_result r;

	outside_mkdir(s, "d", 0755);
	outside_write_text(s, "new", "new");
	outside_write_text(s, "d/old", "old");
	cr_expect(eq(int,
		apply_kind(s, CHANGE(RENAME, "new", .flags = CHANGE_NOREPLACE, .path2 = "d/old")),
		ERR_EXISTS));
	cr_expect(outside_holds(s, "d/old", "old"));
	r = apply_one(s, CHANGE(RENAME, "new", .path2 = "d/old"));
	cr_expect(eq(int, r.err, ERR_OK), "%s", r.why);
	cr_expect(outside_holds(s, "d/old", "new"));
	cr_expect(not(outside_exists(s, "new")));
	cr_expect(eq(u64, r.attr.ino, outside_attr(s, "d/old").ino));
	cr_expect(r.has_parent && r.has_parent2);
	cr_expect(eq(u64, r.parent.ino, outside_attr(s, "").ino));
	cr_expect(eq(u64, r.parent2.ino, outside_attr(s, "d").ino));
}

BEHAVIOUR(apply, rename_onto_another_name_of_the_same_file_changes_nothing)
{
	outside_write_text(s, "a", "x");
	outside_link(s, "a", "b");
	cr_assert(eq(int, apply_kind(s, CHANGE(RENAME, "a", .path2 = "b")), ERR_OK));
	cr_assert(outside_exists(s, "a"));
	cr_assert(outside_exists(s, "b"));
}

BEHAVIOUR(apply, rename_replaces_a_link_that_leads_where_the_moved_one_does)
{
	struct change_result r;

	outside_write_text(s, "file", "x");
	outside_symlink(s, "file", "a");
	outside_link(s, "a", "again");
	outside_symlink(s, "file", "b");
	r = apply_one(s, CHANGE(RENAME, "a", .path2 = "b"));
	cr_expect(eq(int, r.err, ERR_OK), "%s", r.why);
	cr_expect(not(outside_exists(s, "a")));
	cr_expect(eq(u64, outside_attr(s, "b").ino, outside_attr(s, "again").ino));
}

BEHAVIOUR(apply, rename_into_a_directory_of_that_name_is_no_move_into_it)
{
	outside_mkdir(s, "a", 0755);
	outside_mkdir(s, "b", 0755);
	cr_assert(eq(int, apply_kind(s, CHANGE(RENAME, "a", .path2 = "b")), ERR_OK));
	cr_assert(not(outside_exists(s, "a")));
	cr_assert(not(outside_exists(s, "b/a")));
}

BEHAVIOUR(apply, rename_swaps_two_names)
{
	enum err kind;

	outside_write_text(s, "f", "file");
	outside_mkdir(s, "d", 0755);
	kind = apply_kind(s, CHANGE(RENAME, "f", .flags = CHANGE_EXCHANGE, .path2 = "d"));
	cr_assert(eq(int, kind, ERR_OK));
	cr_assert(outside_holds(s, "d", "file"));
	cr_assert(eq(u32, outside_attr(s, "f").mode & S_IFMT, S_IFDIR));
}

BEHAVIOUR(apply, rename_keeps_a_replaced_file_under_a_staging_name)
{
	struct fetch_item item = { .kind = FETCH_BYTES, .path = "/kept", .length = UINT64_MAX };
	struct fetched f;
	uint64_t ino;
	enum err kind;

	outside_write_text(s, "new", "new");
	outside_write_text(s, "old", "old");
	ino = outside_attr(s, "old").ino;
	kind = apply_kind(s, CHANGE(RENAME, "new", .path2 = "old", .keep = "/kept"));
	cr_assert(eq(int, kind, ERR_OK));
	cr_assert(outside_holds(s, "old", "new"));
	fetch_items(s, &item, 1, &f);
	cr_assert(eq(int, f.err, ERR_OK));
	cr_assert(eq(u64, f.attr.ino, ino));
	cr_assert(eq(str, (char *)f.bytes.bytes, "old"));
	fetched_release(&f, 1);
}

BEHAVIOUR(apply, each_refusal_has_its_errno)
{
	static const struct {
		enum err want;
		struct change change;
	} rows[] = {
		{ ERR_NOT_EMPTY, CHANGE_ROW(RMDIR, "d") },
		{ ERR_NOT_DIR, CHANGE_ROW(RMDIR, "f") },
		{ ERR_NOT_FOUND, CHANGE_ROW(RMDIR, "missing") },
		{ ERR_NOT_DIR, CHANGE_ROW(RMDIR, "l") },
		{ ERR_IS_DIR, CHANGE_ROW(UNLINK, "d") },
		{ ERR_NOT_FOUND, CHANGE_ROW(UNLINK, "missing") },
		{ ERR_NOT_FOUND, CHANGE_ROW(UNLINK, "missing/x") },
		{ ERR_NOT_DIR, CHANGE_ROW(UNLINK, "f/x") },
		{ ERR_EXISTS, CHANGE_ROW(MKDIR, "f", .mode = 0755) },
		{ ERR_EXISTS, CHANGE_ROW(MKDIR, "d", .mode = 0755) },
		{ ERR_EXISTS, CHANGE_ROW(MKDIR, "l", .mode = 0755) },
		{ ERR_NOT_FOUND, CHANGE_ROW(MKDIR, "x/y", .mode = 0755) },
		{ ERR_NOT_DIR, CHANGE_ROW(MKDIR, "f/y", .mode = 0755) },
		{ ERR_IS_DIR, CHANGE_ROW(CREATE, "d", .mode = 0644) },
		{ ERR_EXISTS, CHANGE_ROW(MKNOD, "f", .mode = S_IFIFO | 0644) },
		{ ERR_EXISTS, CHANGE_ROW(SYMLINK, "f", TEXT("x")) },
		{ ERR_EXISTS, CHANGE_ROW(LINK, "f", .path2 = "d/g") },
		{ ERR_NOT_OWNER, CHANGE_ROW(LINK, "d", .path2 = "d2") },
		{ ERR_NOT_FOUND, CHANGE_ROW(LINK, "missing", .path2 = "m2") },
		{ ERR_NOT_FOUND, CHANGE_ROW(RENAME, "missing", .path2 = "m2") },
		{ ERR_NOT_EMPTY, CHANGE_ROW(RENAME, "empty", .path2 = "d") },
		{ ERR_IS_DIR, CHANGE_ROW(RENAME, "f", .path2 = "empty") },
		{ ERR_NOT_DIR, CHANGE_ROW(RENAME, "empty", .path2 = "f") },
		{ ERR_INVALID, CHANGE_ROW(RENAME, "d", .path2 = "d/below") },
		{ ERR_NOT_FOUND, CHANGE_ROW(SETATTR, "missing", .set = SET_MODE) },
		{ ERR_IS_DIR, CHANGE_ROW(SETATTR, "d", .set = SET_SIZE) },
		{ ERR_NOT_FOUND, CHANGE_ROW(WRITE, "missing", TEXT("x")) },
		{ ERR_IS_DIR, CHANGE_ROW(WRITE, "d", TEXT("x")) },
		{ ERR_STALE, CHANGE_ROW(WRITE, "l", TEXT("x")) },
		{ ERR_STALE, CHANGE_ROW(UNLINK, "out/passwd") },
		{ ERR_INVALID, CHANGE_ROW(UNLINK, "d/../f") },
		{ ERR_INVALID, CHANGE_ROW(UNLINK, "../user/f") },
	};

	outside_mkdir(s, "d", 0755);
	outside_mkdir(s, "empty", 0755);
	outside_write_text(s, "d/g", "g");
	outside_write_text(s, "f", "f");
	outside_symlink(s, "d", "l");
	outside_symlink(s, "/etc", "out");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct change_result r = apply_one(s, rows[i].change);

		cr_expect(eq(int, r.err, rows[i].want), "row %zu: op %d of %s: %s", i,
			(int)rows[i].change.op, rows[i].change.path, r.why);
	}
	cr_assert(outside_holds(s, "f", "f"));
	cr_assert(outside_holds(s, "d/g", "g"));
	cr_assert(faccessat(AT_FDCWD, "/etc/passwd", F_OK, 0) == 0);
}

BEHAVIOUR(apply, rename_reaches_staging_and_back)
{
	struct change changes[] = { CHANGE_ROW(RENAME, "f", .path2 = "/staged"),
		CHANGE_ROW(RENAME, "/staged", .path2 = "d/f") };
	struct change_result r[2];
	uint64_t ino;

	outside_mkdir(s, "d", 0755);
	outside_write_text(s, "f", "x");
	ino = outside_attr(s, "f").ino;
	apply_all(s, changes, 2, r);
	cr_assert(eq(int, r[0].err, ERR_OK), "%s", r[0].why);
	cr_assert(eq(int, r[1].err, ERR_OK), "%s", r[1].why);
	cr_assert(eq(u64, outside_attr(s, "d/f").ino, ino));
}

BEHAVIOUR(apply, rename_and_link_do_not_cross_file_systems)
{
	struct change changes[] = { CHANGE_ROW(RENAME, "f", .path2 = "other/f"),
		CHANGE_ROW(LINK, "f", .path2 = "other/f") };
	struct change_result r[2];

	outside_mkdir(s, "other", 0755);
	outside_write_text(s, "f", "x");
	/*
	 * An ordinary user may mount nothing, and then no sandbox of ours holds a second file
	 * system.
	 */
	if (!outside_mount(s, "other"))
		return;
	apply_all(s, changes, 2, r);
	outside_unmount(s, "other");
	cr_expect(eq(int, r[0].err, ERR_CROSS_DEVICE), "%s", r[0].why);
	cr_expect(eq(int, r[1].err, ERR_CROSS_DEVICE), "%s", r[1].why);
	cr_expect(outside_holds(s, "f", "x"));
}

/* ---- Attributes ---- */

BEHAVIOUR(apply, setattr_sets_each_part)
{
	struct timespec atime = { 1000000000, 123456789 }, mtime = { 999999999, 987654321 };
	struct change_result r;
	struct attr a;

	outside_write_text(s, "f", "0123456789");
	r = apply_one(s,
		CHANGE(SETATTR, "f", .set = SET_MODE | SET_SIZE | SET_ATIME | SET_MTIME,
			.mode = 04755, .size = 4, .atime = atime, .mtime = mtime));
	expect_result(s, &r, "f", "");
	a = outside_attr(s, "f");
	cr_expect(eq(u32, a.mode & 07777, 04755));
	cr_expect(eq(u64, a.size, 4));
	cr_expect(eq(long, a.atime.tv_sec, atime.tv_sec));
	cr_expect(eq(long, a.mtime.tv_sec, mtime.tv_sec));
	cr_expect(eq(long, a.mtime.tv_nsec, mtime.tv_nsec));
	cr_expect(eq(long, a.atime.tv_nsec, atime.tv_nsec));
}

BEHAVIOUR(apply, what_goes_on_with_the_contents_tells_what_the_file_was_before)
{
	const struct change rows[] = {
		CHANGE_ROW(SETATTR, "f", .set = SET_MTIME, .mtime = { 1000, 0 }),
		CHANGE_ROW(LINK, "f", .path2 = "g"),
		CHANGE_ROW(UNLINK, "f"),
		CHANGE_ROW(RENAME, "g", .path2 = "f"),
		CHANGE_ROW(WRITE, "f", .offset = 3, .data = "ab", .data_len = 2),
		CHANGE_ROW(APPEND, "f", .data = "cd", .data_len = 2),
		CHANGE_ROW(SETATTR, "f", .set = SET_SIZE, .size = 1),
	};

	outside_write_text(s, "f", "0123456789");
	for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
		struct attr before = outside_attr(s, rows[n].path);
		struct change_result r = apply_one(s, rows[n]);

		cr_assert(eq(int, r.err, ERR_OK));
		if (rows[n].set & SET_SIZE) {
			cr_expect(zero(long, r.before.ctime.tv_sec), "it has other contents");
			continue;
		}
		cr_expect(eq(u64, r.before.size, 10));
		cr_expect(eq(long, r.before.mtime.tv_sec, before.mtime.tv_sec));
		cr_expect(eq(long, r.before.ctime.tv_sec, before.ctime.tv_sec));
		cr_expect(eq(long, r.before.ctime.tv_nsec, before.ctime.tv_nsec));
	}
}

BEHAVIOUR(apply, setattr_leaves_what_is_not_named)
{
	struct attr before, after;

	outside_write_text(s, "f", "0123456789");
	before = outside_attr(s, "f");
	cr_assert(eq(int, apply_kind(s, CHANGE(SETATTR, "f", .set = SET_ATIME, .atime = { 5, 6 })),
		ERR_OK));
	after = outside_attr(s, "f");
	cr_expect(eq(long, after.atime.tv_sec, 5));
	cr_expect(eq(long, after.mtime.tv_sec, before.mtime.tv_sec));
	cr_expect(eq(long, after.mtime.tv_nsec, before.mtime.tv_nsec));
	cr_expect(eq(u32, after.mode, before.mode));
	cr_expect(eq(u64, after.size, before.size));
}

BEHAVIOUR(apply, setattr_extends_with_zeroes_and_sets_now)
{
	struct timespec now;
	struct change_result r;

	outside_write_text(s, "f", "ab");
	clock_gettime(CLOCK_REALTIME, &now);
	r = apply_one(s,
		CHANGE(SETATTR, "f", .set = SET_SIZE | SET_MTIME, .size = 5,
			.mtime = { .tv_nsec = UTIME_NOW }));
	cr_assert(eq(int, r.err, ERR_OK), "%s", r.why);
	cr_assert(eq(u64, r.attr.size, 5));
	cr_assert(ge(long, r.attr.mtime.tv_sec, now.tv_sec - 1));
	cr_assert(le(long, r.attr.mtime.tv_sec, now.tv_sec + 30));
	AUTO_FREE char *bytes = outside_read(s, "f", NULL);

	cr_assert(memcmp(bytes, "ab\0\0\0", 5) == 0);
}

BEHAVIOUR(apply, setattr_changes_the_link_and_not_its_target)
{
	struct change_result r;

	outside_write_text(s, "f", "x");
	outside_symlink(s, "f", "l");
	r = apply_one(s, CHANGE(SETATTR, "l", .set = SET_MTIME, .mtime = { 1000000000, 0 }));
	cr_assert(eq(int, r.err, ERR_OK), "%s", r.why);
	cr_assert(eq(long, outside_attr(s, "l").mtime.tv_sec, 1000000000));
	cr_assert(outside_attr(s, "f").mtime.tv_sec > 1000000000);
}

BEHAVIOUR(apply, setattr_gives_files_away_for_root_alone)
{
	struct change give = { .op = CHANGE_SETATTR,
		.path = "f",
		.set = SET_UID | SET_GID,
		.uid = 1234,
		.gid = 4321 };
	struct change_result r;

	outside_write_text(s, "f", "x");
	r = apply_one(s, give);
	if (s->user.uid) {
		cr_assert(
			eq(int, r.err, s->lacks &LACKS_OTHER_OWNERS ? ERR_INVALID : ERR_NOT_OWNER),
			"%s", r.why);
		return;
	}
	expect_result(s, &r, "f", "");
	cr_assert(eq(u32, outside_attr(s, "f").uid, 1234));
	cr_assert(eq(u32, outside_attr(s, "f").gid, 4321));
}

/* ---- Contents ---- */

BEHAVIOUR(apply, write_puts_bytes_where_they_belong)
{
	static const char zero_newline[] = { 0, '\n', '\n', 0 };
	struct change changes[] = {
		CHANGE_ROW(WRITE, "f", .offset = 2, TEXT("XY")),
		CHANGE_ROW(WRITE, "f", .offset = 12, .data = zero_newline, .data_len = 4),
	};
	struct change_result r[2];
	size_t len;

	outside_write_text(s, "f", "0123456789");
	apply_all(s, changes, 2, r);
	expect_result(s, &r[1], "f", "");
	cr_assert(eq(u64, r[0].count, 2));
	cr_assert(eq(u64, r[1].count, 4));
	AUTO_FREE char *bytes = outside_read(s, "f", &len);

	cr_assert(eq(ulong, len, 16));
	cr_assert(memcmp(bytes, "01XY456789\0\0\0\n\n\0", 16) == 0);
}

BEHAVIOUR(apply, write_leaves_the_time_it_is_given)
{
	struct change change = CHANGE(WRITE, "f", .set = SET_MTIME,
		.mtime = { .tv_sec = 1600000000, .tv_nsec = 987654321 }, TEXT("XY"));

	outside_write_text(s, "f", "0123");
	struct change_result r = apply_one(s, change);

	expect_result(s, &r, "f", "");
	cr_assert(eq(i64, r.attr.mtime.tv_sec, 1600000000));
	cr_assert(eq(i64, outside_attr(s, "f").mtime.tv_sec, 1600000000));
	cr_assert(eq(i64, r.attr.mtime.tv_nsec, 987654321));
	change.set = 0;
	r = apply_one(s, change);
	cr_assert(lt(i64, 1600000000, r.attr.mtime.tv_sec));
}

/*
 * Files that a change makes or writes have this mtime from the beginning. A file that a CREATE
 * finds keeps its own.
 */
BEHAVIOUR(apply, what_is_made_written_or_copied_has_the_mtime_it_is_given)
{
	const struct timespec then = { .tv_sec = 1600000000, .tv_nsec = 987654321 };
	const struct change changes[] = {
		CHANGE_ROW(MKDIR, "d", .mode = 0755, .set = SET_MTIME, .mtime = then),
		CHANGE_ROW(CREATE, "new", .mode = 0644, .set = SET_MTIME, .mtime = then),
		CHANGE_ROW(MKNOD, "p", .mode = S_IFIFO | 0644, .set = SET_MTIME, .mtime = then),
		CHANGE_ROW(SYMLINK, "l", .set = SET_MTIME, .mtime = then, TEXT("to")),
		CHANGE_ROW(APPEND, "f", .set = SET_MTIME, .mtime = then, TEXT("more")),
		CHANGE_ROW(
			COPY, "f", .path2 = "copy", .length = 2, .set = SET_MTIME, .mtime = then),
	};
	const char *const paths[] = { "d", "new", "p", "l", "f", "copy" };
	struct change_result r[6];

	outside_write_text(s, "f", "text");
	outside_write_text(s, "copy", "");
	outside_write_text(s, "there", "");
	apply_all(s, changes, 6, r);
	for (size_t n = 0; n < 6; n++) {
		cr_assert(eq(int, r[n].err, ERR_OK), "%s: %s", paths[n], r[n].why);
		cr_expect(time_equals(r[n].attr.mtime, then), "%s", paths[n]);
		cr_expect(eq(i64, outside_attr(s, paths[n]).mtime.tv_sec, then.tv_sec), "%s",
			paths[n]);
	}
	struct change_result taken = apply_one(
		s, CHANGE(CREATE, "there", .mode = 0644, .set = SET_MTIME, .mtime = then));

	cr_assert(eq(int, taken.err, ERR_OK));
	cr_expect(lt(i64, then.tv_sec, taken.attr.mtime.tv_sec));
}

BEHAVIOUR(apply, write_takes_a_whole_piece_of_any_bytes)
{
	AUTO_FREE unsigned char *data = malloc(VERB_DATA_MAX);
	struct change_result r;
	size_t len;

	for (size_t i = 0; i < VERB_DATA_MAX; i++)
		data[i] = (unsigned char)(i * 2654435761U >> 11);
	outside_write_text(s, "f", "");
	r = apply_one(s, CHANGE(WRITE, "f", .offset = 3, .data = data, .data_len = VERB_DATA_MAX));
	cr_assert(eq(int, r.err, ERR_OK), "%s", r.why);
	cr_assert(eq(u64, r.count, VERB_DATA_MAX));
	AUTO_FREE char *bytes = outside_read(s, "f", &len);

	cr_assert(eq(ulong, len, VERB_DATA_MAX + 3));
	cr_assert(memcmp(bytes + 3, data, VERB_DATA_MAX) == 0);
}

BEHAVIOUR(apply, append_lands_at_the_end_and_says_where)
{
	struct change_result r;

	outside_write_text(s, "f", "0123");
	r = apply_one(s, CHANGE(APPEND, "f", TEXT("more\n")));
	expect_result(s, &r, "f", "");
	cr_assert(eq(u64, r.offset, 4));
	cr_assert(eq(u64, r.count, 5));
	cr_assert(outside_holds(s, "f", "0123more\n"));
}

BEHAVIOUR(apply, copy_moves_no_bytes_through_us)
{
	struct change_result r;

	outside_write_text(s, "from", "0123456789");
	outside_write_text(s, "to", "abcdefghij");
	r = apply_one(
		s, CHANGE(COPY, "from", .offset = 2, .path2 = "to", .offset2 = 5, .length = 3));
	cr_assert(eq(int, r.err, ERR_OK), "%s", r.why);
	cr_assert(eq(u64, r.count, 3));
	cr_assert(eq(u64, r.attr.ino, outside_attr(s, "to").ino));
	cr_assert(outside_holds(s, "to", "abcde234ij"));
	r = apply_one(s, CHANGE(COPY, "from", .path2 = "to", .length = 1000));
	cr_assert(eq(u64, r.count, 10));
	cr_assert(outside_holds(s, "to", "0123456789"));
}

BEHAVIOUR(apply, fallocate_extends)
{
	struct change_result r;

	outside_write_text(s, "f", "x");
	r = apply_one(s, CHANGE(FALLOCATE, "f", .offset = 0, .length = 100000));
	cr_assert(eq(int, r.err, ERR_OK), "%s", r.why);
	cr_assert(eq(u64, outside_attr(s, "f").size, 100000));
}

BEHAVIOUR(apply, place_makes_a_new_file_whole_and_keeps_an_inode)
{
	struct change changes[] = {
		CHANGE_ROW(CREATE, "/t1", .mode = 0640),
		CHANGE_ROW(WRITE, "/t1", TEXT("one")),
		CHANGE_ROW(PLACE, "/t1", .path2 = "new"),
		CHANGE_ROW(CREATE, "/t2", .mode = 0600),
		CHANGE_ROW(WRITE, "/t2", TEXT("two")),
		CHANGE_ROW(SETATTR, "/t2", .set = SET_MTIME, .mtime = { 1000, 0 }),
		CHANGE_ROW(PLACE, "/t2", .path2 = "old"),
	};
	struct change_result r[7];
	struct attr before;

	outside_write_text(s, "old", "longer than two");
	before = outside_attr(s, "old");
	apply_all(s, changes, 7, r);
	for (size_t i = 0; i < 7; i++)
		cr_assert(eq(int, r[i].err, ERR_OK), "%zu: %s", i, r[i].why);
	cr_assert(outside_holds(s, "new", "one"));
	cr_assert(eq(u64, outside_attr(s, "new").ino, r[0].attr.ino));
	cr_assert(eq(u32, outside_attr(s, "new").mode & 07777, 0640));
	cr_assert(outside_holds(s, "old", "two"));
	cr_assert(eq(u64, outside_attr(s, "old").ino, before.ino));
	cr_assert(eq(u32, outside_attr(s, "old").mode, before.mode));
	cr_assert(eq(u64, r[6].attr.ino, before.ino));
	cr_assert(eq(long, outside_attr(s, "old").mtime.tv_sec, 1000));
}

BEHAVIOUR(apply, place_makes_what_it_places)
{
	const struct change whole = CHANGE(PLACE, "/t",
		.flags = CHANGE_MAKES | CHANGE_EXCL | CHANGE_BY_HANDLE, .path2 = "new",
		.mode = 0440, .set = SET_MTIME, .mtime = { 1000, 0 }, TEXT("all of it"));
	const struct change left = CHANGE(CREATE, "/t", .mode = 0600);
	struct change empty = whole, elsewhere = whole;

	empty.path2 = "void";
	empty.mode = 0755;
	empty.data_len = 0;
	elsewhere.path = "t";
	/* An earlier attempt has left a file. */
	cr_assert(eq(int, apply_one(s, left).err, ERR_OK));
	struct change_result r = apply_one(s, whole);
	struct attr placed = outside_attr(s, "new");

	cr_assert(eq(int, r.err, ERR_OK), "%s", r.why);
	cr_expect(outside_holds(s, "new", "all of it"));
	cr_expect(eq(u32, placed.mode & 07777, 0440));
	cr_expect(eq(u32, placed.uid, s->user.uid));
	cr_expect(eq(long, placed.mtime.tv_sec, 1000));
	cr_expect(eq(u64, r.attr.ino, placed.ino));
	cr_expect(eq(u64, r.count, 9));
	cr_expect(r.has_parent2 && !r.has_parent);
	cr_expect(eq(int, apply_one(s, whole).err, ERR_EXISTS));
	cr_expect(eq(int, apply_one(s, empty).err, ERR_OK));
	cr_expect(outside_holds(s, "void", ""));
	cr_expect(eq(u32, outside_attr(s, "void").mode & 07777, 0755));
	cr_expect(eq(int, apply_one(s, elsewhere).err, ERR_INVALID));
	cr_expect(eq(int, apply_one(s, left).err, ERR_OK));
}

BEHAVIOUR(apply, what_is_made_and_placed_is_so_once)
{
	const struct change changes[] = {
		CHANGE_ROW(PLACE, "/t", .flags = CHANGE_MAKES | CHANGE_EXCL, .path2 = "f",
			.mode = 0644, TEXT("first")),
		CHANGE_ROW(PLACE, "/t", .flags = CHANGE_MAKES, .path2 = "f", .mode = 0600,
			TEXT("more than that")),
		CHANGE_ROW(APPEND, "f", TEXT(", and on")),
	};
	const struct apply_request request = { .journal = "placed whole",
		.first_sequence = 1,
		.changes = changes,
		.changes_count = 3 };
	struct change_result r[3];
	struct error e = { 0 };

	for (int times = 0; times < 2; times++) {
		cr_assert(
			eq(int, provider_apply(s->p, NULL, &request, r, &e), ERR_OK), "%s", e.text);
		for (size_t i = 0; i < 3; i++) {
			cr_expect(eq(int, r[i].err, ERR_OK), "%s", r[i].why);
			cr_expect(eq(u64, r[i].count, changes[i].data_len));
		}
	}
	cr_expect(outside_holds(s, "f", "more than that, and on"));
	cr_expect(eq(u32, outside_attr(s, "f").mode & 07777, 0644));
}

/* A staged file, and the empty file that was made for it. */
static void make_for_placing(struct subject *s)
{
	const struct change changes[] = {
		CHANGE_ROW(CREATE, "made", .mode = 0604),
		CHANGE_ROW(CREATE, "/t", .mode = 0600),
		CHANGE_ROW(WRITE, "/t", TEXT("whole")),
	};
	struct change_result r[3];

	apply_all(s, changes, 3, r);
	for (size_t i = 0; i < 3; i++)
		cr_assert(eq(int, r[i].err, ERR_OK), "%zu: %s", i, r[i].why);
}

static struct change_result place_over_made(struct subject *s, struct expect made)
{
	return apply_one(s,
		CHANGE(PLACE, "/t", .path2 = "made",
			.flags = CHANGE_REPLACE | CHANGE_EXCHANGE | CHANGE_BY_HANDLE,
			.target2 = made));
}

BEHAVIOUR(apply, place_replaces_what_was_made_empty_for_it)
{
	make_for_placing(s);
	struct attr made = outside_attr(s, "made");
	struct change_result r = place_over_made(s, outside_expect(s, "made"));
	struct attr placed = outside_attr(s, "made");

	cr_assert(eq(int, r.err, ERR_OK), "%s", r.why);
	cr_assert(outside_holds(s, "made", "whole"));
	cr_expect(ne(u64, placed.ino, made.ino));
	cr_expect(eq(u64, r.attr.ino, placed.ino));
	cr_expect(eq(u32, placed.mode, made.mode));
	cr_expect(eq(u32, placed.nlink, 1));
	cr_expect(eq(u32, placed.uid, made.uid));
	cr_expect(eq(u32, placed.gid, made.gid));
}

BEHAVIOUR(apply, place_keeps_what_was_made_and_is_not_empty_or_has_two_names)
{
	for (int has_names = 0; has_names < 2; has_names++) {
		make_for_placing(s);
		if (has_names)
			outside_link(s, "made", "other");
		else
			outside_write_text(s, "made", "theirs, and longer");
		struct attr made = outside_attr(s, "made");
		struct change_result r = place_over_made(s, outside_expect(s, "made"));

		cr_assert(eq(int, r.err, ERR_OK), "%s", r.why);
		cr_expect(eq(u64, r.attr.ino, made.ino));
		cr_expect(eq(u64, outside_attr(s, "made").ino, made.ino));
		cr_expect(outside_holds(s, "made", "whole"));
		if (has_names)
			cr_expect(outside_holds(s, "other", "whole"));
		else
			outside_unlink(s, "made");
	}
}

BEHAVIOUR(apply, place_over_another_file_than_was_made_is_refused)
{
	make_for_placing(s);
	struct expect made = outside_expect(s, "made");

	outside_rename(s, "made", "elsewhere");
	cr_expect(eq(int, place_over_made(s, made).err, ERR_STALE));
	cr_expect(not(outside_exists(s, "made")));
	outside_write_text(s, "made", "");
	cr_expect(eq(int, place_over_made(s, made).err, ERR_STALE));
	cr_expect(outside_holds(s, "made", ""));
	cr_expect(eq(int, place_over_made(s, outside_expect(s, "made")).err, ERR_OK));
	cr_expect(outside_holds(s, "made", "whole"));
}

BEHAVIOUR(apply, sync_reaches_files_and_directories)
{
	outside_write_text(s, "f", "x");
	cr_expect(eq(int, apply_kind(s, CHANGE(SYNC, "f")), ERR_OK));
	cr_expect(eq(int, apply_kind(s, CHANGE(SYNC, "")), ERR_OK));
	cr_expect(eq(int, apply_kind(s, CHANGE(SYNC, "missing")), ERR_NOT_FOUND));
}

BEHAVIOUR(apply, xattrs_are_set_and_removed)
{
	static const char value[] = { 'v', 0, '\n', (char)0xff };
	struct change set = CHANGE(SETXATTR, "f", .name = "user.x", .data = value, .data_len = 4);
	struct change exclusive = set, replace = set;
	size_t len;

	outside_write_text(s, "f", "");
	exclusive.flags = CHANGE_EXCL;
	replace.flags = CHANGE_REPLACE;
	cr_expect(eq(int, apply_kind(s, replace), ERR_NO_XATTR));
	cr_expect(eq(int, apply_kind(s, set), ERR_OK));
	cr_expect(eq(int, apply_kind(s, exclusive), ERR_EXISTS));
	AUTO_FREE char *got = outside_get_xattr(s, "f", "user.x", &len);

	cr_expect(eq(ulong, len, 4));
	cr_expect(memcmp(got, value, 4) == 0);
	set.op = CHANGE_REMOVEXATTR;
	cr_expect(eq(int, apply_kind(s, set), ERR_OK));
	cr_expect(eq(int, apply_kind(s, set), ERR_NO_XATTR));
}

/* ---- Batches ---- */

BEHAVIOUR(apply, one_refused_change_leaves_the_others_alone)
{
	struct change changes[] = {
		CHANGE_ROW(MKDIR, "a", .mode = 0755),
		CHANGE_ROW(RMDIR, "missing"),
		CHANGE_ROW(MKDIR, "b", .mode = 0755),
		CHANGE_ROW(UNLINK, "a/../b"),
		CHANGE_ROW(MKDIR, "a/c", .mode = 0755),
	};
	static const enum err want[] = { ERR_OK, ERR_NOT_FOUND, ERR_OK, ERR_INVALID, ERR_OK };
	struct change_result r[5];

	apply_all(s, changes, 5, r);
	for (size_t i = 0; i < 5; i++)
		cr_expect(eq(int, r[i].err, want[i]), "%zu: %s", i, r[i].why);
	cr_expect(outside_exists(s, "a/c"));
	cr_expect(outside_exists(s, "b"));
}

BEHAVIOUR(apply, what_needs_a_refused_change_is_skipped)
{
	struct change changes[] = {
		CHANGE_ROW(MKDIR, "f", .mode = 0755),
		CHANGE_ROW(MKDIR, "x", .mode = 0755, .needs = 1),
		CHANGE_ROW(MKDIR, "y", .mode = 0755, .needs = 2),
		CHANGE_ROW(MKDIR, "z", .mode = 0755),
		CHANGE_ROW(MKDIR, "z/z", .mode = 0755, .needs = 4),
	};
	static const enum err want[] = { ERR_EXISTS, ERR_SKIPPED, ERR_SKIPPED, ERR_OK, ERR_OK };
	struct change_result r[5];

	outside_write_text(s, "f", "");
	apply_all(s, changes, 5, r);
	for (size_t i = 0; i < 5; i++)
		cr_expect(eq(int, r[i].err, want[i]), "%zu: %s", i, r[i].why);
	cr_expect(not(outside_exists(s, "x")));
	cr_expect(not(outside_exists(s, "y")));
	cr_expect(outside_exists(s, "z/z"));
}

/*
 * A change of a file is of the inode, as through an open descriptor. Without a time of birth nobody
 * can tell that it is the same inode: nothing is changed then.
 */
BEHAVIOUR(apply, a_change_of_a_file_that_others_renamed_goes_to_it)
{
	const bool is_known = !(s->lacks & LACKS_BIRTH);
	const enum err if_gone = is_known ? ERR_OK : ERR_NOT_FOUND;
	const enum err if_another = is_known ? ERR_OK : ERR_STALE;
	struct expect f;

	outside_mkdir(s, "d", 0755);
	outside_mkdir(s, "e", 0755);
	outside_mkdir(s, "e/deep", 0755);
	outside_write_text(s, "d/f", "text");
	f = outside_expect(s, "d/f");
	outside_rename(s, "d/f", "d/f.1");
	cr_expect(eq(int, apply_kind(s, CHANGE(APPEND, "d/f", .target = f, TEXT(" 1"))), if_gone));
	cr_expect(outside_holds(s, "d/f.1", is_known ? "text 1" : "text"));
	outside_write_text(s, "d/f", "another");
	cr_expect(
		eq(int, apply_kind(s, CHANGE(APPEND, "d/f", .target = f, TEXT(" 2"))), if_another));
	cr_expect(outside_holds(s, "d/f", "another"));
	outside_rename(s, "d/f.1", "e/deep/f");
	cr_expect(
		eq(int, apply_kind(s, CHANGE(APPEND, "d/f", .target = f, TEXT(" 3"))), if_another));
	outside_rename(s, "e", "moved");
	cr_expect(eq(
		int, apply_kind(s, CHANGE(APPEND, "e/deep/f", .target = f, TEXT(" 4"))), if_gone));
	cr_expect(outside_holds(s, "moved/deep/f", is_known ? "text 1 2 3 4" : "text"));
	cr_expect(eq(int, apply_kind(s, CHANGE(UNLINK, "d/f", .target = f)), ERR_STALE));
}

BEHAVIOUR(apply, a_file_that_is_another_is_stale)
{
	struct expect f, d, gone;

	outside_mkdir(s, "d", 0755);
	outside_mkdir(s, "e", 0755);
	outside_write_text(s, "d/f", "x");
	outside_write_text(s, "e/f", "other");
	outside_write_text(s, "gone", "");
	gone = outside_expect(s, "gone");
	outside_unlink(s, "gone");
	f = outside_expect(s, "d/f");
	d = outside_expect(s, "d");
	const struct change rows[] = {
		CHANGE_ROW(UNLINK, "e/f", .target = f),
		CHANGE_ROW(UNLINK, "e/f", .parent = d),
		CHANGE_ROW(WRITE, "e/f", .target = gone, TEXT("!")),
		CHANGE_ROW(SETATTR, "e/f", .target = gone, .set = SET_SIZE),
		CHANGE_ROW(RENAME, "e/f", .target = f, .path2 = "g"),
		CHANGE_ROW(RENAME, "e/f", .path2 = "e/g", .parent2 = d),
		CHANGE_ROW(RENAME, "d/f", .path2 = "e/f", .target2 = f),
		CHANGE_ROW(MKDIR, "e/x", .parent = d, .mode = 0755),
		CHANGE_ROW(CREATE, "e/x", .parent = d, .mode = 0644),
		CHANGE_ROW(LINK, "e/f", .target = f, .path2 = "e/x"),
		CHANGE_ROW(COPY, "e/f", .target = gone, .path2 = "d/f", .length = 1),
		CHANGE_ROW(RMDIR, "e", .target = d),
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect(eq(int, apply_kind(s, rows[i]), ERR_STALE), "row %zu", i);
	cr_expect(outside_holds(s, "e/f", "other"));
	cr_expect(outside_holds(s, "d/f", "x"));
	cr_expect(not(outside_exists(s, "e/x")));
	cr_expect(eq(int, apply_kind(s, CHANGE(UNLINK, "d/f", .parent = d, .target = f)), ERR_OK));
}

BEHAVIOUR(apply, a_hundred_changes_are_done_in_order)
{
	enum { COUNT = 300 };
	AUTO_FREE struct change *changes = calloc(COUNT, sizeof *changes);
	AUTO_FREE struct change_result *results = calloc(COUNT, sizeof *results);
	char digits[COUNT];

	outside_write_text(s, "f", "");
	for (size_t i = 0; i < COUNT; i++) {
		digits[i] = (char)('0' + i % 10);
		changes[i] = CHANGE(APPEND, "f", .data = &digits[i], .data_len = 1);
	}
	apply_all(s, changes, COUNT, results);
	for (size_t i = 0; i < COUNT; i++)
		cr_expect(eq(u64, results[i].offset, i), "%zu: %s", i, results[i].why);
	AUTO_FREE char *bytes = outside_read(s, "f", NULL);

	cr_assert(memcmp(bytes, digits, COUNT) == 0);
}

BEHAVIOUR(apply, a_sequence_number_is_done_once)
{
	struct change changes[] = {
		CHANGE_ROW(APPEND, "f", TEXT("1")),
		CHANGE_ROW(APPEND, "f", TEXT("2")),
		CHANGE_ROW(APPEND, "f", TEXT("3")),
	};
	struct apply_request request = { .journal = "our own journal",
		.first_sequence = 7,
		.changes = changes,
		.changes_count = 2 };
	struct change_result r[3];
	struct error e = { 0 };

	outside_write_text(s, "f", "");
	cr_assert(eq(int, provider_apply(s->p, NULL, &request, r, &e), ERR_OK), "%s", e.text);
	/* The batch goes again, as if its answer had been lost, with one change more. */
	request.changes_count = 3;
	cr_assert(eq(int, provider_apply(s->p, NULL, &request, r, &e), ERR_OK), "%s", e.text);
	for (size_t i = 0; i < 3; i++)
		cr_expect(eq(int, r[i].err, ERR_OK), "%s", r[i].why);
	cr_assert(outside_holds(s, "f", "123"));
}
