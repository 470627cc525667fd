#include "tests/support/shown.h"

#include "providers/base/cleanup.h"
#include "providers/helper/sys.h"
#include "tests/support/changes.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Kernels and containers without the calls that the verbs prefer */

static struct shown shown;

static void tear_down(void)
{
	shown_remove(&shown);
}

TestSuite(helper_sys, .fini = tear_down, .timeout = 300);

/* From here on the system call `number` fails with `failure` in this process. */
static void refuse_call(long number, int failure)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)failure),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { .len = 4, .filter = code };

	cr_assert(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	cr_assert(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0, "%s", strerror(errno));
}

static enum err apply_one(struct change c)
{
	return shown_apply(&shown, &c).err;
}

static void expect_text(const char *path, const char *want)
{
	AUTO_FREE char *text = scratch_read(&shown.scratch, path, NULL);

	cr_expect(eq(str, text, (char *)want), "%s", path);
}

Test(helper_sys, without_openat2_the_root_walks)
{
	refuse_call(SYS_openat2, ENOSYS);
	shown_make(&shown, false);
	cr_expect(shown.root.walk);
	scratch_mkdir(&shown.scratch, "tree/d", 0755);
	cr_expect(eq(int, apply_one(CHANGE(MKDIR, "d/e")), ERR_OK));
}

Test(helper_sys, without_statx_stat_tells_all_but_the_birth)
{
	struct attr with, without;

	shown_make(&shown, false);
	with = shown_attr(&shown, "outside/secret");
	refuse_call(SYS_statx, EPERM);
	without = shown_attr(&shown, "outside/secret");
	cr_expect(eq(u64, without.btime_ns, 0));
	cr_expect(eq(u64, without.dev, with.dev));
	cr_expect(eq(u64, without.ino, with.ino));
	cr_expect(eq(u64, without.size, with.size));
	cr_expect(eq(u64, without.blocks, with.blocks));
	cr_expect(eq(uint, without.mode, with.mode));
	cr_expect(eq(uint, without.nlink, with.nlink));
	cr_expect(eq(uint, without.blksize, with.blksize));
	cr_expect(eq(long, without.mtime.tv_nsec, with.mtime.tv_nsec));
	cr_expect(eq(long, without.ctime.tv_nsec, with.ctime.tv_nsec));
	cr_expect(eq(int, sys_stat(shown.scratch.fd, "none", &without), -1));
	cr_expect(eq(int, errno, ENOENT));
}

static void make_names(void)
{
	scratch_write_text(&shown.scratch, "tree/f", "f");
	scratch_write_text(&shown.scratch, "tree/taken", "taken");
	scratch_mkdir(&shown.scratch, "tree/d", 0755);
	scratch_mkdir(&shown.scratch, "tree/d/e", 0755);
	scratch_mkdir(&shown.scratch, "tree/empty", 0755);
}

static enum err rename_with(unsigned flags, const char *from, const char *to)
{
	return apply_one(CHANGE(RENAME, from, .path2 = to, .flags = flags));
}

/* As file systems that know renameat2(2) but not its flags. */
Test(helper_sys, without_rename_flags_a_free_name_is_still_demanded)
{
	shown_make(&shown, false);
	make_names();
	refuse_call(SYS_renameat2, EINVAL);
	cr_expect(eq(int, rename_with(CHANGE_NOREPLACE, "f", "taken"), ERR_EXISTS));
	cr_expect(eq(int, rename_with(CHANGE_NOREPLACE, "f", "d/g"), ERR_OK));
	expect_text("tree/d/g", "f");
	cr_expect(not(shown_exists(&shown, "tree/f")));
	expect_text("tree/taken", "taken");
	cr_expect(eq(int, rename_with(CHANGE_NOREPLACE, "d", "empty"), ERR_EXISTS));
	cr_expect(eq(int, rename_with(CHANGE_NOREPLACE, "d", "taken"), ERR_EXISTS));
	cr_expect(eq(int, rename_with(CHANGE_NOREPLACE, "d", "d/e/d"), ERR_INVALID));
	cr_expect(not(shown_exists(&shown, "tree/d/e/d")));
	cr_expect(eq(int, rename_with(CHANGE_NOREPLACE, "d", "d2"), ERR_OK));
	expect_text("tree/d2/g", "f");
	cr_expect(eq(int, rename_with(CHANGE_EXCHANGE, "taken", "d2/g"), ERR_UNSUPPORTED));
	cr_expect(eq(int, rename_with(0, "taken", "d2/g"), ERR_OK));
}

Test(helper_sys, without_the_exchange_what_was_made_empty_is_still_replaced)
{
	const struct change place =
		CHANGE(PLACE, "/t", .path2 = "made", .flags = CHANGE_REPLACE | CHANGE_EXCHANGE);

	shown_make(&shown, false);
	scratch_write_text(&shown.scratch, "tree/made", "");
	scratch_write_text(&shown.scratch, "staging/t", "whole");
	uint64_t staged = shown_attr(&shown, "staging/t").ino;

	refuse_call(SYS_renameat2, EINVAL);
	cr_expect(eq(int, apply_one(place), ERR_OK));
	expect_text("tree/made", "whole");
	cr_expect(eq(u64, shown_attr(&shown, "tree/made").ino, staged));
	cr_expect(not(shown_exists(&shown, "staging/t")));
}

Test(helper_sys, without_copy_file_range_bytes_go_by_hand)
{
	AUTO_FREE char *bytes = calloc(1, 100001);
	struct change c =
		CHANGE(COPY, "f", .path2 = "g", .offset = 1, .offset2 = 2, .length = UINT64_MAX);

	cr_assert(bytes != NULL);
	for (size_t i = 0; i < 100000; i++)
		bytes[i] = (char)('a' + i % 23);
	shown_make(&shown, false);
	scratch_write_text(&shown.scratch, "tree/f", bytes);
	scratch_write_text(&shown.scratch, "tree/g", "xy");
	refuse_call(SYS_copy_file_range, ENOSYS);
	cr_expect(eq(u64, shown_apply(&shown, &c).count, 99999));
	AUTO_FREE char *copied = scratch_read(&shown.scratch, "tree/g", NULL);

	cr_expect(eq(str, copied + 2, bytes + 1));
}

static enum err take_piece(void *context, const struct fetch_piece *piece, struct error *e)
{
	enum err *last = context;

	(void)e;
	*last = piece->err;
	return ERR_OK;
}

static enum err refuse_event(void *context, const struct watch_event *event, struct error *e)
{
	(void)context;
	(void)event;
	return error_set(e, ERR_GONE, "watched");
}

/* In a mount namespace of its own, which ends with the test's process. */
static bool hide_proc(void)
{
	return unshare(CLONE_NEWNS) == 0 &&
		mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
		mount("none", "/proc", "tmpfs", 0, NULL) == 0;
}

Test(helper_sys, without_proc_files_are_opened_by_name_and_checked)
{
	const struct fetch_item item = { .kind = FETCH_BYTES, .path = "f", .length = 10 };
	enum err fetched = ERR_IO, k;

	shown_make(&shown, false);
	make_names();
	if (!hide_proc())
		shown_skip(&shown, "no right to mount");
	cr_expect(eq(int, helper_fetch(&shown.root, &item, 1, take_piece, &fetched, NULL), ERR_OK));
	cr_expect(eq(int, fetched, ERR_OK));
	cr_expect(eq(int, apply_one(CHANGE(WRITE, "f", TEXT("F"))), ERR_OK));
	expect_text("tree/f", "F");
	cr_expect(
		eq(int, apply_one(CHANGE(SETATTR, "f", .set = SET_MTIME, .mtime = { .tv_sec = 9 })),
			ERR_OK));
	cr_expect(eq(long, shown_attr(&shown, "tree/f").mtime.tv_sec, 9));
	/* Where fchmodat2(2) is not there either, a mode cannot be changed safely. */
	k = apply_one(CHANGE(SETATTR, "f", .set = SET_MODE, .mode = 0600));
	cr_expect(k == ERR_OK || k == ERR_UNSUPPORTED);
	cr_expect(eq(uint, shown_attr(&shown, "tree/f").mode & 0777, k == ERR_OK ? 0600 : 0644));
	cr_expect(eq(int, apply_one(CHANGE(SETXATTR, "f", .name = "user.a")), ERR_UNSUPPORTED));
	cr_expect(eq(int, apply_one(CHANGE(SYNC, "d")), ERR_OK));
	cr_expect(eq(int,
		helper_watch(
			&shown.root, NULL, &(struct watch_request){ 0 }, refuse_event, NULL, NULL),
		ERR_UNSUPPORTED));
	cr_expect(umount("/proc") == 0);
}

Test(helper_sys, a_sync_that_fails_is_reported)
{
	shown_make(&shown, false);
	scratch_write_text(&shown.scratch, "tree/f", "f");
	refuse_call(SYS_fsync, EIO);
	cr_expect(eq(int, apply_one(CHANGE(SYNC, "f")), ERR_IO));
	cr_expect(eq(int, apply_one(CHANGE(SYNC, "")), ERR_IO));
}
