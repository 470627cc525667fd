/* The rules for replies in fs/request.h, with the quickest possible kernel (hasty_kernel.h). */
#include "tests/fs/hasty_kernel.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct kernel kernel;

static void setup(void)
{
	kernel_make(&kernel);
}

static void teardown(void)
{
	kernel_remove(&kernel);
}

TestSuite(reply, .init = setup, .fini = teardown, .timeout = 300);

/* ---- An open file whose last request is on its way ---- */

struct opened {
	fuse_ino_t ino;
	struct fuse_file_info fi;
};

static struct opened opened(const char *path, int flags)
{
	struct opened file = { .ino = kernel_lookup(&kernel, path), .fi = { .flags = flags } };

	kernel_open(&kernel, file.ino, &file.fi);
	return file;
}

/* The process that was answered closes the file, and the kernel forgets the node. */
static void release_file(void *context)
{
	struct opened *file = context;
	struct answer forgotten;

	kernel_release(&kernel, file->ino, &file->fi);
	fs_ops.forget(kernel_request(&kernel, &forgotten, NULL), file->ino, 1);
	kernel_await(&forgotten);
}

static fuse_req_t last_request(struct opened *file, struct answer *answer)
{
	return kernel_request(
		&kernel, answer, &(struct follower){ .run = release_file, .context = file });
}

static void spawn_job(const char *command)
{
	struct opened spawn = opened(".sandbox/spawn", O_WRONLY);

	kernel_write(&kernel, spawn.ino, command, &spawn.fi);
	kernel_flush(&kernel, spawn.ino, &spawn.fi);
	kernel_release(&kernel, spawn.ino, &spawn.fi);
}

/* The first job, which printed `text` and has ended. */
static void run_job(const char *text)
{
	char command[100];
	struct answer answer;

	snprintf(command, sizeof command, "printf %s", text);
	spawn_job(command);
	do {
		struct opened status = opened(".sandbox/jobs/1/status", O_RDONLY);

		kernel_read(&kernel, status.ino, &status.fi, &answer);
		cr_assert(zero(int, answer.error));
		kernel_release(&kernel, status.ino, &status.fi);
	} while (!strstr(answer.bytes, "exited"));
}

/* ---- Reads ---- */

static void read_last(struct opened *file, off_t off, struct answer *answer)
{
	fs_ops.read(last_request(file, answer), file->ino, 4095, off, &file->fi);
	kernel_await(answer);
}

Test(reply, a_handle_may_end_while_a_read_of_it_is_answered)
{
	static const struct {
		const char *path, *begins;
	} rows[] = {
		{ "d/f", "text" },
		{ ".sandbox/id", "hasty" },
		{ ".sandbox/stats", "# " },
		{ ".sandbox/status", "{" },
		{ ".sandbox/exec", "" },
		{ ".sandbox/spawn", "1" },
		{ ".sandbox/jobs/1/status", "{" },
		{ ".sandbox/jobs/1/output", "printed" },
	};

	run_job("printed");
	for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
		struct opened file = opened(rows[n].path, O_RDONLY);
		struct answer answer;

		read_last(&file, 0, &answer);
		cr_expect(zero(int, answer.error), "%s", rows[n].path);
		cr_expect(zero(int, strncmp(answer.bytes, rows[n].begins, strlen(rows[n].begins))),
			"%s: %s", rows[n].path, answer.bytes);
	}
}

Test(reply, a_handle_may_end_while_a_second_read_of_it_is_answered)
{
	static const char *const paths[] = { "d/f", ".sandbox/status", ".sandbox/jobs/1/status",
		".sandbox/jobs/1/output" };

	run_job("printed");
	for (size_t n = 0; n < sizeof paths / sizeof *paths; n++) {
		struct opened file = opened(paths[n], O_RDONLY);
		struct answer first, second;

		kernel_read(&kernel, file.ino, &file.fi, &first);
		read_last(&file, 1, &second);
		cr_expect(eq(str, second.bytes, first.bytes + 1), "%s", paths[n]);
	}
}

/* ---- Writes and closes ---- */

Test(reply, a_handle_may_end_while_a_write_to_it_is_answered)
{
	static const struct {
		const char *path, *text;
	} rows[] = {
		{ "d/f", "text" },
		{ ".sandbox/exec", "true" },
		{ ".sandbox/spawn", "true" },
		{ ".sandbox/sync", "1" },
		{ ".sandbox/jobs/2/stdin", "line\n" },
		{ ".sandbox/jobs/2/kill", "KILL" },
	};

	run_job("printed");
	/*
	 * The close of `stdin` ends the input. A job that ends with its input could be gone before
	 * the kill.
	 */
	spawn_job("exec sleep 1000");
	for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
		struct opened file = opened(rows[n].path, O_WRONLY);
		struct answer given;

		fs_ops.write(last_request(&file, &given), file.ino, rows[n].text,
			strlen(rows[n].text), 0, &file.fi);
		kernel_await(&given);
		cr_expect(zero(int, given.error), "%s", rows[n].path);
	}
}

Test(reply, a_handle_may_end_while_a_close_of_it_is_answered)
{
	static const struct {
		const char *path, *text;
	} rows[] = {
		{ "d/f", "text" },
		{ ".sandbox/exec", "true" },
		{ ".sandbox/spawn", "true" },
		{ ".sandbox/sync", "1" },
	};

	for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
		struct opened file = opened(rows[n].path, O_WRONLY);
		struct answer given;

		kernel_write(&kernel, file.ino, rows[n].text, &file.fi);
		fs_ops.flush(last_request(&file, &given), file.ino, &file.fi);
		kernel_await(&given);
		cr_expect(zero(int, given.error), "%s", rows[n].path);
	}
}

Test(reply, a_handle_may_end_while_its_own_command_is_read)
{
	static const struct {
		const char *path, *text, *begins;
	} rows[] = {
		{ ".sandbox/exec", "echo ran", "{\"output\": \"ran\\n\"" },
		{ ".sandbox/spawn", "true", "1" },
	};

	for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
		struct opened file = opened(rows[n].path, O_RDWR);
		struct answer given;

		kernel_write(&kernel, file.ino, rows[n].text, &file.fi);
		read_last(&file, (off_t)strlen(rows[n].text), &given);
		cr_expect(zero(int, given.error), "%s", rows[n].path);
		cr_expect(zero(int, strncmp(given.bytes, rows[n].begins, strlen(rows[n].begins))),
			"%s: %s", rows[n].path, given.bytes);
	}
}

/* ---- Directories ---- */

static void release_directory(void *context)
{
	struct opened *directory = context;
	struct answer released;

	fs_ops.releasedir(kernel_request(&kernel, &released, NULL), directory->ino, &directory->fi);
	kernel_await(&released);
}

Test(reply, a_directory_may_be_closed_while_a_read_of_it_is_answered)
{
	static const char *const paths[] = { "d", ".sandbox" };

	for (size_t n = 0; n < sizeof paths / sizeof *paths; n++) {
		struct opened directory = { .ino = kernel_lookup(&kernel, paths[n]) };
		const struct follower next = { release_directory, &directory };
		struct answer given;

		fs_ops.opendir(kernel_request(&kernel, &given, NULL), directory.ino, &directory.fi);
		kernel_await(&given);
		directory.fi.fh = given.fh;
		fs_ops.readdirplus(kernel_request(&kernel, &given, &next), directory.ino, 4096, 0,
			&directory.fi);
		kernel_await(&given);
		cr_expect(zero(int, given.error), "%s", paths[n]);
		cr_expect(ne(sz, given.len, 0), "%s", paths[n]);
	}
}

/* ---- Interrupts ---- */

static struct answer answer;

static fuse_req_t request(void)
{
	return kernel_request(&kernel, &answer, NULL);
}

static void expect_ended(const char *operation)
{
	kernel_await(&answer);
	cr_expect(zero(int, answer.error), "%s", operation);
	cr_expect(not(answer.was_interruptible), "%s", operation);
}

/* `call` is an operation with its parentheses. */
#define EXPECT_ENDED(call) (fs_ops.call, expect_ended(#call))

Test(reply, no_interrupt_reaches_a_request_on_names_that_is_answered)
{
	fuse_ino_t d = kernel_lookup(&kernel, "d"), f = kernel_lookup(&kernel, "d/f");
	fuse_ino_t stats = kernel_lookup(&kernel, ".sandbox/stats");
	struct stat attr = { .st_mode = S_IFREG | 0600 };
	struct fuse_file_info fi = { 0 };
	fuse_ino_t link;

	EXPECT_ENDED(lookup(request(), d, "f"));
	EXPECT_ENDED(lookup(request(), d, "none"));
	EXPECT_ENDED(getattr(request(), f, NULL));
	EXPECT_ENDED(getattr(request(), stats, NULL));
	EXPECT_ENDED(setattr(request(), f, &attr, FUSE_SET_ATTR_MODE, NULL));
	EXPECT_ENDED(mknod(request(), d, "made", S_IFREG | 0600, 0));
	EXPECT_ENDED(mkdir(request(), d, "directory", 0700));
	EXPECT_ENDED(symlink(request(), "f", d, "symlink"));
	link = answer.ino;
	EXPECT_ENDED(readlink(request(), link));
	EXPECT_ENDED(link(request(), f, d, "link"));
	EXPECT_ENDED(rename(request(), d, "link", d, "moved", 0));
	EXPECT_ENDED(unlink(request(), d, "moved"));
	EXPECT_ENDED(rmdir(request(), d, "directory"));
	EXPECT_ENDED(opendir(request(), d, &fi));
	fi.fh = answer.fh;
	EXPECT_ENDED(readdir(request(), d, 4096, 0, &fi));
	EXPECT_ENDED(readdirplus(request(), d, 4096, 0, &fi));
	EXPECT_ENDED(fsyncdir(request(), d, 0, &fi));
	EXPECT_ENDED(releasedir(request(), d, &fi));
}

Test(reply, no_interrupt_reaches_a_request_on_a_file_that_is_answered)
{
	static const char *const controls[] = { ".sandbox/stats", ".sandbox/jobs/1/status",
		".sandbox/jobs/1/output" };
	fuse_ino_t d = kernel_lookup(&kernel, "d"), f;
	struct fuse_file_info fi = { .flags = O_RDWR };

	EXPECT_ENDED(create(request(), d, "new", 0600, &fi));
	f = answer.ino;
	fi.fh = answer.fh;
	EXPECT_ENDED(open(request(), f, &(struct fuse_file_info){ .flags = O_RDONLY }));
	EXPECT_ENDED(write(request(), f, "text", 4, 0, &fi));
	EXPECT_ENDED(read(request(), f, 4, 0, &fi));
	EXPECT_ENDED(lseek(request(), f, 0, SEEK_DATA, &fi));
	EXPECT_ENDED(copy_file_range(request(), f, 0, &fi, f, 8, &fi, 4, 0));
	EXPECT_ENDED(flush(request(), f, &fi));
	EXPECT_ENDED(fsync(request(), f, 0, &fi));
	EXPECT_ENDED(release(request(), f, &fi));
	run_job("printed");
	for (size_t n = 0; n < sizeof controls / sizeof *controls; n++) {
		struct opened file = opened(controls[n], O_RDONLY);

		EXPECT_ENDED(read(request(), file.ino, 4095, 0, &file.fi));
		EXPECT_ENDED(release(request(), file.ino, &file.fi));
	}
}

/* ---- Work that goes on after its reply ---- */

/*
 * A read that was given up is answered while its thread may still be at work, and the handle is
 * closed. Here the close comes without the reply, so that the thread is certainly still there.
 */
Test(reply, a_read_of_events_outlives_its_handle)
{
	struct opened events = opened(".sandbox/events", O_RDONLY);

	fs_ops.read(kernel_request(&kernel, &answer, NULL), events.ino, 4095, 0, &events.fi);
	kernel_release(&kernel, events.ino, &events.fi);
	control_changed(kernel.fs.control, WATCH_CREATED, "made", false);
	kernel_await(&answer);
	cr_expect(zero(int, answer.error));
	cr_expect(strstr(answer.bytes, "\"made\"") != NULL, "%s", answer.bytes);
}
