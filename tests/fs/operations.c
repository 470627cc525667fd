/* The operations of a mount, one request at a time, as a kernel makes them (hasty_kernel.h). */
#include "tests/fs/hasty_kernel.h"

#include "cache/session/session.h"
#include "providers/base/call.h"
#include "providers/base/cleanup.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATIENCE_MS 60000

static struct kernel kernel;
static struct answer answer;

static void setup(void)
{
	kernel_make(&kernel);
}

static void teardown(void)
{
	kernel_remove(&kernel);
}

TestSuite(operations, .init = setup, .fini = teardown, .timeout = 300);

static fuse_req_t request(void)
{
	return kernel_request(&kernel, &answer, NULL);
}

/* ---- Names ---- */

static int rename_with(unsigned flags)
{
	fuse_ino_t d = kernel_lookup(&kernel, "d");

	fs_ops.rename(request(), d, "f", d, "other", flags);
	kernel_await(&answer);
	return answer.error;
}

Test(operations, a_rename_that_replaces_nothing_is_refused_where_there_is_something)
{
	scratch_write_text(&kernel.scratch, "tree/d/other", "kept");
	cr_expect(eq(int, rename_with(RENAME_NOREPLACE), EEXIST));
	cr_expect(eq(int, rename_with(0), 0));
}

Test(operations, a_rename_of_a_kind_that_no_sandbox_has_is_invalid)
{
	cr_expect(eq(int, rename_with(RENAME_WHITEOUT), EINVAL));
	cr_expect(eq(int, rename_with(0), 0));
}

static void expect_refused(const char *operation)
{
	kernel_await(&answer);
	cr_expect(eq(int, answer.error, EPERM), "%s", operation);
}

/* `call` is an operation with its parentheses. */
#define EXPECT_REFUSED(call) (fs_ops.call, expect_refused(#call))

Test(operations, the_control_directory_is_no_name_to_change)
{
	static const char name[] = ".sandbox";
	fuse_ino_t root = FUSE_ROOT_ID, d = kernel_lookup(&kernel, "d");

	EXPECT_REFUSED(unlink(request(), root, name));
	EXPECT_REFUSED(rmdir(request(), root, name));
	EXPECT_REFUSED(mkdir(request(), root, name, 0700));
	EXPECT_REFUSED(rename(request(), root, name, d, "moved", 0));
	EXPECT_REFUSED(rename(request(), d, "f", root, name, 0));
}

/* ---- Directories ---- */

#define ENTRIES 20
/* The size of a reply: room for one entry with a name of up to eight bytes. */
#define ROOM      (FUSE_NAME_OFFSET + 8)
#define NAMES_MAX 400

struct directory {
	fuse_ino_t ino;
	struct fuse_file_info fi;
	off_t off;
	char names[NAMES_MAX]; /* the names that were read, each followed by a blank */
};

/* Whether there was an entry. */
static bool read_one(struct directory *d)
{
	const struct fuse_dirent *entry = (const void *)answer.bytes;
	size_t len = strlen(d->names);

	fs_ops.readdir(request(), d->ino, ROOM, d->off, &d->fi);
	kernel_await(&answer);
	cr_assert(zero(int, answer.error));
	if (!answer.len)
		return false;
	snprintf(d->names + len, sizeof d->names - len, "%.*s ", (int)entry->namelen, entry->name);
	d->off = (off_t)entry->off;
	return true;
}

Test(operations, a_directory_that_is_read_in_pieces_has_each_name_once)
{
	struct directory d = { .ino = kernel_lookup(&kernel, "d") };
	char path[32], name[16];
	unsigned count = 0;

	for (int n = 0; n < ENTRIES; n++) {
		snprintf(path, sizeof path, "tree/d/n%02d", n);
		scratch_write_text(&kernel.scratch, path, "");
	}
	fs_ops.opendir(request(), d.ino, &d.fi);
	kernel_await(&answer);
	d.fi.fh = answer.fh;
	while (read_one(&d))
		cr_assert(le(uint, ++count, ENTRIES + 3), "%s", d.names);
	cr_expect(eq(uint, count, ENTRIES + 3), "%s", d.names); /* with `.`, `..` and `f` */
	for (int n = 0; n < ENTRIES; n++) {
		snprintf(name, sizeof name, " n%02d ", n);
		cr_expect(strstr(d.names, name) != NULL, "%s in %s", name, d.names);
	}
	fs_ops.releasedir(request(), d.ino, &d.fi);
	kernel_await(&answer);
}

Test(operations, a_directory_that_is_read_from_its_beginning_again_is_as_it_is_now)
{
	struct directory d = { .ino = kernel_lookup(&kernel, "d") };

	fs_ops.opendir(request(), d.ino, &d.fi);
	kernel_await(&answer);
	d.fi.fh = answer.fh;
	while (read_one(&d))
		continue;
	cr_expect(strstr(d.names, "made") == NULL, "%s", d.names);
	fs_ops.mknod(request(), d.ino, "made", S_IFREG | 0600, 0);
	kernel_await(&answer);
	d.off = 0;
	while (read_one(&d))
		continue;
	cr_expect(strstr(d.names, "made") != NULL, "%s", d.names);
	fs_ops.releasedir(request(), d.ino, &d.fi);
	kernel_await(&answer);
}

/* ---- Attributes ---- */

Test(operations, a_time_that_is_now_is_the_time_of_the_sandbox)
{
	static const int rows[] = { FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_ATIME_NOW,
		FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW };
	fuse_ino_t f = kernel_lookup(&kernel, "d/f");
	struct stat given = { .st_atim.tv_sec = 1000, .st_mtim.tv_sec = 1000 };
	struct stat st;

	for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
		fs_ops.setattr(request(), f, &given, rows[n], NULL);
		kernel_await(&answer);
		cr_expect(zero(int, answer.error));
	}
	cr_assert(zero(int, fstatat(kernel.scratch.fd, "tree/d/f", &st, 0)));
	cr_expect(ne(i64, st.st_atim.tv_sec, 1000));
	cr_expect(ne(i64, st.st_mtim.tv_sec, 1000));
}

Test(operations, of_the_room_that_is_free_a_part_may_be_for_root_alone)
{
	const struct space space = {
		.block_size = 4096, .blocks = 100, .free = 50, .available = 40
	};

	cache_note_space(kernel.fs.cache, &space);
	fs_ops.statfs(request(), FUSE_ROOT_ID);
	kernel_await(&answer);
	cr_expect(eq(u64, answer.space.f_blocks, 100));
	cr_expect(eq(u64, answer.space.f_bfree, 50));
	cr_expect(eq(u64, answer.space.f_bavail, 40));
}

/* ---- Contents ---- */

static off_t sought(fuse_ino_t ino, struct fuse_file_info *fi, int whence)
{
	fs_ops.lseek(request(), ino, 0, whence, fi);
	kernel_await(&answer);
	cr_assert(zero(int, answer.error));
	return answer.off;
}

Test(operations, data_is_sought_and_holes_are)
{
	fuse_ino_t f = kernel_lookup(&kernel, "d/f");
	struct fuse_file_info fi = { .flags = O_RDONLY };

	kernel_open(&kernel, f, &fi);
	cr_expect(eq(i64, sought(f, &fi, SEEK_DATA), 0));
	cr_expect(eq(i64, sought(f, &fi, SEEK_HOLE), 4));
	kernel_release(&kernel, f, &fi);
}

/* ---- Commands ---- */

struct file {
	fuse_ino_t ino;
	struct fuse_file_info fi;
};

static struct file file_opened(const char *path, int flags)
{
	struct file file = { .ino = kernel_lookup(&kernel, path), .fi = { .flags = flags } };

	kernel_open(&kernel, file.ino, &file.fi);
	return file;
}

static void file_close(struct file *file)
{
	kernel_release(&kernel, file->ino, &file->fi);
}

/* Returns the errno of the close. The response of the command is in `answer` afterwards. */
static int run_command(struct file *exec, const char *command, size_t len)
{
	int error;

	fs_ops.write(request(), exec->ino, command, len, 0, &exec->fi);
	kernel_await(&answer);
	cr_assert(zero(int, answer.error));
	fs_ops.flush(request(), exec->ino, &exec->fi);
	kernel_await(&answer);
	error = answer.error;
	kernel_read(&kernel, exec->ino, &exec->fi, &answer);
	return error;
}

static void await_true(bool (*is_true)(void))
{
	int64_t end_ms = monotonic_ms() + PATIENCE_MS;

	while (!is_true()) {
		cr_assert(lt(i64, monotonic_ms(), end_ms));
		sched_yield();
	}
}

static bool exists(const char *path)
{
	return !faccessat(kernel.scratch.fd, path, F_OK, 0);
}

Test(operations, a_command_has_ended_when_its_writer_has_closed)
{
	struct file exec = file_opened(".sandbox/exec", O_RDWR);

	fs_ops.write(request(), exec.ino, ": >ran", 6, 0, &exec.fi);
	kernel_await(&answer);
	fs_ops.flush(request(), exec.ino, &exec.fi);
	kernel_await(&answer);
	cr_expect(exists("tree/ran"));
	file_close(&exec);
}

Test(operations, the_exit_code_of_a_command_is_in_its_response)
{
	struct file exec = file_opened(".sandbox/exec", O_RDWR);

	cr_expect(zero(int, run_command(&exec, "exit 3", 6)));
	cr_expect(strstr(answer.bytes, "\"exit_code\": 3") != NULL, "%s", answer.bytes);
	file_close(&exec);
}

Test(operations, a_command_with_a_nul_byte_does_not_run)
{
	static const char command[] = ": >ran\0and more";
	struct file exec = file_opened(".sandbox/exec", O_RDWR);

	run_command(&exec, command, sizeof command);
	cr_expect(strstr(answer.bytes, "NUL byte") != NULL, "%s", answer.bytes);
	cr_expect(not(exists("tree/ran")));
	file_close(&exec);
}

Test(operations, one_handle_runs_a_command_after_another)
{
	static const char begins[] = "{\"output\": \"two\\n\"";
	struct file exec = file_opened(".sandbox/exec", O_RDWR);

	cr_expect(zero(int, run_command(&exec, "echo one", 8)));
	cr_expect(zero(int, run_command(&exec, "echo two", 8)));
	cr_expect(zero(int, strncmp(answer.bytes, begins, strlen(begins))), "%s", answer.bytes);
	file_close(&exec);
}

/* The first gives the second a second to begin too early. */
Test(operations, a_command_begins_when_the_one_before_it_has_ended)
{
	static const char first[] = "for n in 0 1 2 3 4 5 6 7 8 9; do "
				    "test -e log || sleep 0.1; done; echo one >>log";
	static const char second[] = "echo two >>log";
	struct file exec = file_opened(".sandbox/exec", O_WRONLY);
	struct answer one, two;
	AUTO_FREE char *log = NULL;

	kernel_write(&kernel, exec.ino, first, &exec.fi);
	fs_ops.flush(kernel_request(&kernel, &one, NULL), exec.ino, &exec.fi);
	kernel_write(&kernel, exec.ino, second, &exec.fi);
	fs_ops.flush(kernel_request(&kernel, &two, NULL), exec.ino, &exec.fi);
	kernel_await(&one);
	kernel_await(&two);
	log = scratch_read(&kernel.scratch, "tree/log", &(size_t){ 0 });
	cr_expect(zero(int, strncmp(log, "one\ntwo\n", 8)), "%s", log);
	file_close(&exec);
}

static bool has_reply_or_two_looks(void)
{
	int replies;

	sem_getvalue(&answer.given, &replies);
	return replies || kernel.looks >= 2;
}

/* SIGWINCH is such a signal: a window was resized. */
Test(operations, a_signal_that_ends_no_process_ends_no_command)
{
	static const char command[] = "while ! test -e go; do sleep 0.1; done";
	struct file exec = file_opened(".sandbox/exec", O_RDWR);
	kernel.is_interrupted = true;
	kernel_write(&kernel, exec.ino, command, &exec.fi);
	fs_ops.flush(request(), exec.ino, &exec.fi);
	await_true(has_reply_or_two_looks);
	scratch_write_text(&kernel.scratch, "tree/go", "");
	kernel_await(&answer);
	cr_expect(zero(int, answer.error));
	kernel.is_interrupted = false;
	kernel_read(&kernel, exec.ino, &exec.fi, &answer);
	cr_expect(strstr(answer.bytes, "\"exit_code\": 0") != NULL, "%s", answer.bytes);
	file_close(&exec);
}

static off_t size_of(fuse_ino_t ino)
{
	fs_ops.getattr(request(), ino, NULL);
	kernel_await(&answer);
	cr_assert(zero(int, answer.error));
	return answer.size;
}

Test(operations, a_sync_shows_what_others_changed)
{
	fuse_ino_t f = kernel_lookup(&kernel, "d/f");
	struct file sync = file_opened(".sandbox/sync", O_WRONLY);

	scratch_write_text(&kernel.scratch, "tree/d/f", "longer than it was");
	kernel_write(&kernel, sync.ino, "1", &sync.fi);
	kernel_flush(&kernel, sync.ino, &sync.fi);
	cr_expect(eq(i64, size_of(f), 18));
	file_close(&sync);
}

/* ---- Jobs ---- */

static int spawn_job(const char *command)
{
	struct file file = file_opened(".sandbox/spawn", O_WRONLY);
	int error;

	kernel_write(&kernel, file.ino, command, &file.fi);
	fs_ops.flush(request(), file.ino, &file.fi);
	kernel_await(&answer);
	error = answer.error;
	file_close(&file);
	return error;
}

static int feed_job(const char *text)
{
	struct file input = file_opened(".sandbox/jobs/1/stdin", O_WRONLY);
	int error;

	fs_ops.write(request(), input.ino, text, strlen(text), 0, &input.fi);
	kernel_await(&answer);
	error = answer.error;
	file_close(&input);
	return error;
}

/* Reads at the offset until the output has come as far as its last byte. */
static void read_until(struct file *output, off_t off, char last)
{
	int64_t end_ms = monotonic_ms() + PATIENCE_MS;

	do {
		cr_assert(lt(i64, monotonic_ms(), end_ms));
		fs_ops.read(request(), output->ino, 100, off, &output->fi);
		kernel_await(&answer);
		cr_assert(zero(int, answer.error));
	} while (!strchr(answer.bytes, last));
}

Test(operations, the_output_of_a_job_is_read_from_any_offset)
{
	struct file output;

	cr_assert(zero(int, spawn_job("printf 0123456789")));
	output = file_opened(".sandbox/jobs/1/output", O_RDONLY);
	read_until(&output, 4, '9');
	cr_expect(eq(str, answer.bytes, "456789"));
	file_close(&output);
}

Test(operations, output_that_comes_after_a_read_is_read_with_the_same_handle)
{
	struct file output;

	cr_assert(zero(int, spawn_job("cat")));
	output = file_opened(".sandbox/jobs/1/output", O_RDONLY);
	fs_ops.read(request(), output.ino, 100, 0, &output.fi);
	kernel_await(&answer);
	cr_expect(eq(sz, answer.len, 0));
	cr_expect(zero(int, feed_job("first.")));
	read_until(&output, 0, '.');
	cr_expect(eq(str, answer.bytes, "first."));
	file_close(&output);
}

static bool has_exited(void)
{
	struct file status = file_opened(".sandbox/jobs/1/status", O_RDONLY);

	kernel_read(&kernel, status.ino, &status.fi, &answer);
	file_close(&status);
	return strstr(answer.bytes, "exited") != NULL;
}

Test(operations, what_a_job_changed_is_seen_when_its_status_says_exited)
{
	static const char command[] = "while ! test -e go; do sleep 0.1; done; echo longer >d/f";
	fuse_ino_t f = kernel_lookup(&kernel, "d/f");

	cr_assert(zero(int, spawn_job(command)));
	cr_expect(eq(i64, size_of(f), 4));
	scratch_write_text(&kernel.scratch, "tree/go", "");
	await_true(has_exited);
	cr_expect(eq(i64, size_of(f), 7));
}

Test(operations, a_blank_command_is_no_job)
{
	cr_expect(eq(int, spawn_job(" \t\n"), EINVAL));
	cr_expect(zero(int, spawn_job("true")));
}

static bool has_read(void)
{
	return exists("tree/read");
}

Test(operations, a_job_takes_no_input_behind_the_end_of_it)
{
	cr_assert(zero(int, spawn_job("cat; : >read; while ! test -e go; do sleep 0.1; done")));
	cr_expect(zero(int, feed_job("all of it")));
	await_true(has_read);
	cr_expect(eq(int, feed_job("more"), EPIPE));
	scratch_write_text(&kernel.scratch, "tree/go", "");
	await_true(has_exited);
}
