/* The notices to the kernel, and replies that wait for them (fs/notifier.h). */
#include "tests/fs/hasty_kernel.h"

#include "providers/base/call.h"
#include "providers/base/condition.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <string.h>

#define PATIENCE_MS 60000
/* The longest time that a notice is held, in ms; it is sent earlier when the reply was given. */
#define HELD_MS 300
/* A reply may pass the notice after the limits of the mount, which are this or more. */
#define LIMIT_MS 1000

static struct kernel kernel;

/* The notice that is held, and the reply: under the lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static bool has_arrived, has_reply, was_first;

static void hold_notice(fuse_ino_t ino, off_t off)
{
	int64_t end_ms = monotonic_ms() + HELD_MS;
	bool in_time = true;

	(void)ino, (void)off;
	pthread_mutex_lock(&lock);
	while (!has_reply && in_time)
		in_time = condition_wait_until(&changed, &lock, end_ms);
	has_arrived = true;
	pthread_mutex_unlock(&lock);
}

static void note_reply(void *context)
{
	(void)context;
	pthread_mutex_lock(&lock);
	has_reply = true;
	was_first = !has_arrived;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void setup(void)
{
	kernel_make(&kernel);
	condition_init(&changed);
}

static void teardown(void)
{
	kernel_on_notice = NULL;
	kernel_remove(&kernel);
}

TestSuite(notifier, .init = setup, .fini = teardown, .timeout = 300);

Test(notifier, a_wait_for_notices_ends_when_they_are_sent)
{
	notifier_inode(kernel.fs.notifier, FUSE_ROOT_ID, false);
	cr_expect(notifier_drain(kernel.fs.notifier, PATIENCE_MS));
}

static fuse_ino_t seen_ino;
static off_t seen_off;

static void record_notice(fuse_ino_t ino, off_t off)
{
	seen_ino = ino;
	seen_off = off;
}

Test(notifier, pages_are_dropped_from_the_first_byte_on_or_not_at_all)
{
	kernel_on_notice = record_notice;
	notifier_inode(kernel.fs.notifier, 7, true);
	cr_expect(notifier_drain(kernel.fs.notifier, PATIENCE_MS));
	cr_expect(eq(u64, seen_ino, 7));
	cr_expect(eq(i64, seen_off, 0));
	notifier_inode(kernel.fs.notifier, 8, false);
	cr_expect(notifier_drain(kernel.fs.notifier, PATIENCE_MS));
	cr_expect(eq(u64, seen_ino, 8));
	cr_expect(lt(i64, seen_off, 0));
}

struct opened {
	fuse_ino_t ino;
	struct fuse_file_info fi;
};

/* Opens a file, and writes `text` to it if there is one. */
static struct opened open_and_write(const char *path, const char *text)
{
	struct opened file = { .ino = kernel_lookup(&kernel, path),
		.fi = { .flags = text ? O_WRONLY : O_RDONLY } };

	kernel_open(&kernel, file.ino, &file.fi);
	if (text)
		kernel_write(&kernel, file.ino, text, &file.fi);
	return file;
}

static void request_reply(fuse_req_t req, struct opened *file)
{
	if (file->fi.flags == O_RDONLY)
		fs_ops.read(req, file->ino, 4095, 0, &file->fi);
	else
		fs_ops.flush(req, file->ino, &file->fi);
}

/* The order says nothing where the reply took longer than a limit: the machine was busy. */
static void expect_behind_notice(struct notifier *notifier, const char *path, const char *text)
{
	struct opened file = open_and_write(path, text);
	const struct follower next = { .run = note_reply };
	struct answer answer;
	int64_t began_ms = monotonic_ms(), took_ms;

	has_arrived = has_reply = false;
	kernel_on_notice = hold_notice;
	notifier_inode(notifier, FUSE_ROOT_ID, false);
	request_reply(kernel_request(&kernel, &answer, &next), &file);
	kernel_await(&answer);
	took_ms = monotonic_ms() - began_ms;
	if (took_ms < LIMIT_MS)
		cr_expect(not(was_first), "%s", path);
	cr_expect(notifier_drain(notifier, PATIENCE_MS));
	kernel_on_notice = NULL;
	kernel_release(&kernel, file.ino, &file.fi);
}

/* Returns when the first job has ended. */
static void run_job(void)
{
	struct opened spawn = open_and_write(".sandbox/spawn", "true");
	struct answer answer;

	kernel_flush(&kernel, spawn.ino, &spawn.fi);
	kernel_release(&kernel, spawn.ino, &spawn.fi);
	do {
		struct opened status = open_and_write(".sandbox/jobs/1/status", NULL);

		kernel_read(&kernel, status.ino, &status.fi, &answer);
		kernel_release(&kernel, status.ino, &status.fi);
	} while (!strstr(answer.bytes, "exited"));
}

Test(notifier, the_end_of_a_command_or_job_is_reported_when_the_kernel_has_forgotten)
{
	static const struct {
		const char *path, *text;
	} rows[] = {
		{ ".sandbox/exec", "true" },
		{ ".sandbox/sync", "1" },
		{ ".sandbox/jobs/1/status", NULL },
	};

	run_job();
	for (size_t n = 0; n < sizeof rows / sizeof *rows; n++)
		expect_behind_notice(kernel.fs.notifier, rows[n].path, rows[n].text);
}

Test(notifier, a_close_is_answered_when_the_kernel_has_dropped_delegated_attributes)
{
	expect_behind_notice(kernel.fs.revoker, "d/f", "text");
}
