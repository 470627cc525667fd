/*
 * Commands for vendors whose programs only print text: cases that the contract cannot bring about.
 */
#include "providers/remote/command.h"

#include "providers/base/cleanup.h"
#include "providers/reaper.h"
#include "tests/support/host_remote.h"
#include "tests/support/scratch.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

/* The limit of every wait, in rounds of 1 ms. */
#define WAIT_ROUNDS 60000
#define MIB         ((size_t)1024 * 1024)

/* A sandbox on this machine, and the outcome of its last command. */
static struct sandbox {
	struct scratch scratch;
	struct host_remote host;
	struct remote remote;
	size_t cut_runs, cut_after; /* how many runs are cut, and after how many bytes */
	int64_t progress_ms;        /* a command's limit; 0: the usual one */
	struct cancel cancel;
	bool is_cancelled_at_output;
	struct buf out, err_out;
	struct execute_result result;
	struct error e;
} sandbox;

static enum err run_and_cut(void *context, const struct call *call, const char *const *argv,
	unsigned flags, const struct remote_upload *upload, execute_sink sink, void *sink_context,
	int *exit_code, struct error *e)
{
	struct sandbox *s = context;

	s->host.cut_after = s->cut_runs ? s->cut_after : 0;
	s->cut_runs -= s->cut_runs > 0;
	return host_remote_ops(&s->host).run(
		&s->host, call, argv, flags, upload, sink, sink_context, exit_code, e);
}

static enum err upload(
	void *context, const struct call *call, const struct remote_upload *u, struct error *e)
{
	struct sandbox *s = context;

	return host_remote_ops(&s->host).upload(&s->host, call, u, e);
}

/* Gives the sandbox a processor for which there is no helper. */
static void be_another_machine(void)
{
	static char path[160];

	scratch_mkdir(&sandbox.scratch, "bin", 0755);
	scratch_write_text(&sandbox.scratch, "bin/uname", "#!/bin/sh\necho pdp11\n");
	cr_assert(zero(int, fchmodat(sandbox.scratch.fd, "bin/uname", 0755, 0)));
	snprintf(path, sizeof path, "%s/bin:/usr/bin:/bin", sandbox.scratch.path);
	sandbox.host.path = path;
}

static void sandbox_make(bool has_helper)
{
	const struct provider_config cfg = { .may_lack_helper = !has_helper };
	struct remote_ops ops;
	char home[128];

	sandbox = (struct sandbox){ .out = BUF_INIT(256 * MIB), .err_out = BUF_INIT(MIB) };
	scratch_make(&sandbox.scratch);
	scratch_mkdir(&sandbox.scratch, "user", 0755);
	snprintf(home, sizeof home, "%s/user", sandbox.scratch.path);
	host_remote_init(&sandbox.host, home);
	sandbox.host.is_text = has_helper;
	sandbox.host.is_merged = has_helper;
	if (!has_helper)
		be_another_machine();
	ops = host_remote_ops(&sandbox.host);
	ops.run = run_and_cut;
	ops.upload = upload;
	ops.context = &sandbox;
	cancel_init(&sandbox.cancel, NULL);
	cr_assert(
		eq(int, remote_attach(&sandbox.remote, &ops, &cfg, NULL, NULL, &sandbox.e), ERR_OK),
		"%s", sandbox.e.text);
	cr_assert(eq(int, sandbox.remote.helper != NULL, has_helper));
}

static void sandbox_open(void)
{
	sandbox_make(true);
}

static void sandbox_open_without_helper(void)
{
	sandbox_make(false);
}

/* Releases the attachment, but for the path of staging. */
static void sandbox_release(void)
{
	char *staging = strdup(sandbox.remote.staging);

	remote_release(&sandbox.remote);
	sandbox.remote.staging = staging;
}

static enum err ignore_item(void *context, const struct list_item *item, struct error *e)
{
	(void)context, (void)item, (void)e;
	return ERR_OK;
}

static void sandbox_close(void)
{
	remote_release(&sandbox.remote);
	cancel_release(&sandbox.cancel);
	buf_release(&sandbox.out);
	buf_release(&sandbox.err_out);
	scratch_remove(&sandbox.scratch);
}

TestSuite(remote_command, .init = sandbox_open, .fini = sandbox_close, .timeout = 300);
TestSuite(remote_command_bare, .init = sandbox_open_without_helper, .fini = sandbox_close,
	.timeout = 300);

static enum err take_output(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	struct sandbox *s = context;
	struct buf *to = stream == STREAM_OUT ? &s->out : &s->err_out;

	if (s->is_cancelled_at_output)
		cancel_throw(&s->cancel);
	return buf_add(to, bytes, len) ? ERR_OK : buf_check(to, "output", e);
}

static enum err execute(const struct execute_request *request)
{
	const struct call call = { .cancel = &sandbox.cancel, .progress_ms = sandbox.progress_ms };

	buf_reset(&sandbox.out);
	buf_reset(&sandbox.err_out);
	sandbox.e = (struct error){ 0 };
	return remote_command(&sandbox.remote, &call, request, take_output, &sandbox,
		&sandbox.result, &sandbox.e);
}

static enum err run(const char *text)
{
	return execute(&(struct execute_request){ .command = text });
}

static enum err listen_to(const char *text)
{
	const struct call call = { .cancel = &sandbox.cancel };

	return remote_command_listen(&sandbox.remote, &call,
		&(struct execute_request){ .command = text }, take_output, &sandbox,
		&sandbox.result, &sandbox.e);
}

static bool is_there(const char *path)
{
	return faccessat(sandbox.scratch.fd, path, F_OK, 0) == 0;
}

static bool is_there_soon(const char *path)
{
	for (int i = 0; i < WAIT_ROUNDS && !is_there(path); i++)
		poll(NULL, 0, 1);
	return is_there(path);
}

/* The number of files of commands. */
static size_t count_staged(void)
{
	DIR *dir = opendir(sandbox.remote.staging);
	size_t count = 0;

	cr_assert(dir != NULL);
	for (const struct dirent *d; (d = readdir(dir));)
		count += strncmp(d->d_name, "command-", 8) == 0 ||
			strncmp(d->d_name, "input-", 6) == 0;
	closedir(dir);
	return count;
}

/* ---- Leftovers ---- */

static const char *const helper_ways[] = { "echo secret", "echo secret; exit 3",
	"exec 2>&1; cat /proc/self/nothing", "kill -KILL $PPID" };

Test(remote_command, a_record_is_removed_by_the_next_request_of_any_kind)
{
	const char *start = "";
	const struct list_request list = { .starts = &start, .starts_count = 1 };

	for (size_t i = 0; i < sizeof helper_ways / sizeof *helper_ways; i++) {
		run(helper_ways[i]);
		cr_expect(eq(sz, count_staged(), 1), "%s", helper_ways[i]);
		cr_expect(eq(int,
			helper_client_list(
				sandbox.remote.helper, NULL, &list, ignore_item, NULL, NULL),
			ERR_OK));
		cr_expect(eq(sz, count_staged(), 0), "%s", helper_ways[i]);
	}
}

Test(remote_command, a_release_leaves_no_record)
{
	for (size_t i = 0; i < sizeof helper_ways / sizeof *helper_ways; i++) {
		if (i) {
			sandbox_close();
			sandbox_open();
		}
		run(helper_ways[i]);
		sandbox_release();
		cr_expect(eq(sz, count_staged(), 0), "%s", helper_ways[i]);
	}
}

/* A cancelled command is ended after its call has returned, and has a record until then. */
Test(remote_command, a_release_leaves_no_record_of_what_was_cancelled)
{
	sandbox.is_cancelled_at_output = true;
	cr_expect(eq(int, listen_to("echo up; exec sleep 1000"), ERR_INTERRUPTED));
	sandbox_release();
	cr_expect(eq(sz, count_staged(), 0));
}

/* ---- Where the helper cannot run ---- */

Test(remote_command_bare, a_command_has_its_directory_environment_input_and_end)
{
	static const char *const env[] = { "ONE=1 '\n", "TWO=", NULL };
	const struct execute_request request = {
		.command = "pwd; cat; printf '%s' \"$ONE$TWO\" >&2; exit 3",
		.cwd = "it's \n",
		.env = env,
		.input = "in\0put\n",
		.input_len = 7
	};
	char want[200];

	scratch_mkdir(&sandbox.scratch, "user/it's \n", 0755);
	cr_assert(eq(int, execute(&request), ERR_OK), "%s", sandbox.e.text);
	cr_expect(sandbox.result.has_exit_code && sandbox.result.exit_code == 3 &&
		!sandbox.result.timed_out);
	snprintf(want, sizeof want, "%s/user/it's \n\nin", sandbox.scratch.path);
	cr_expect(eq(str, (char *)buf_text(&sandbox.out), want));
	cr_expect(eq(sz, sandbox.out.len, strlen(want) + 5));
	cr_expect(eq(str, (char *)buf_text(&sandbox.err_out), "1 '\n"));
	cr_expect(eq(sz, count_staged(), 0));
}

Test(remote_command_bare, any_shell_runs_it)
{
	static const char *const shells[] = { "/usr/bin/dash", "/usr/bin/bash",
		"/usr/bin/busybox" };

	for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
		if (access(shells[i], X_OK))
			continue;
		sandbox.host.shell = shells[i];
		cr_expect(eq(int, run("echo out; kill -KILL $$"), ERR_OK), "%s: %s", shells[i],
			sandbox.e.text);
		cr_expect(eq(int, sandbox.result.exit_code, 137), "%s", shells[i]);
		cr_expect(eq(str, (char *)buf_text(&sandbox.out), "out\n"), "%s", shells[i]);
	}
}

/* The command keeps the lock of `held` until it is dead. */
static const char held_command[] = "exec 9>held; flock 9; echo up; echo up >up; sleep 1000 & wait";

static bool is_held(void)
{
	AUTO_CLOSE int fd = openat(sandbox.scratch.fd, "user/held", O_RDWR | O_CLOEXEC);

	cr_assert(fd >= 0);
	return flock(fd, LOCK_EX | LOCK_NB) != 0;
}

static void expect_death(void)
{
	for (int i = 0; i < WAIT_ROUNDS && is_held(); i++)
		poll(NULL, 0, 1);
	cr_expect(not(is_held()));
}

Test(remote_command_bare, a_command_ends_at_its_time)
{
	struct execute_request request = { .command = held_command, .timeout_ms = 300 };

	cr_assert(eq(int, execute(&request), ERR_OK), "%s", sandbox.e.text);
	/* A busy machine may not get so far in that time. */
	while (!sandbox.out.len && request.timeout_ms < 30000) {
		sandbox_close();
		sandbox_open_without_helper();
		request.timeout_ms *= 4;
		cr_assert(eq(int, execute(&request), ERR_OK), "%s", sandbox.e.text);
	}
	cr_expect(sandbox.result.timed_out && sandbox.result.has_exit_code &&
		sandbox.result.exit_code == 124);
	cr_expect(eq(str, (char *)buf_text(&sandbox.out), "up\n"));
	expect_death();
}

Test(remote_command_bare, a_command_that_is_cancelled_dies)
{
	sandbox.is_cancelled_at_output = true;
	cr_expect(eq(int, run(held_command), ERR_INTERRUPTED));
	cr_expect(sandbox.result.may_have_run && !sandbox.result.has_exit_code);
	expect_death();
}

Test(remote_command_bare, what_cannot_be_run_says_so)
{
	AUTO_FREE char *long_command = calloc(1, 200001);
	const struct execute_request nowhere = { .command = "echo ran", .cwd = "nowhere" };

	cr_assert(eq(int, execute(&nowhere), ERR_OK), "%s", sandbox.e.text);
	cr_expect(eq(int, sandbox.result.exit_code, 126));
	cr_expect(eq(sz, sandbox.out.len, 0));
	cr_expect(strstr(buf_text(&sandbox.err_out), "nowhere") != NULL);
	memset(long_command, '#', 200000);
	cr_expect(eq(int, run(long_command), ERR_TOO_LARGE));
	cr_expect(not(sandbox.result.may_have_run));
}

/* ---- With the helper ---- */

Test(remote_command, an_answer_that_was_lost_is_asked_for_again_and_the_command_runs_once)
{
	static const size_t cuts[] = { 1, 40, 80 };

	for (size_t i = 0; i < 3; i++) {
		sandbox.cut_runs = 2;
		sandbox.cut_after = cuts[i];
		cr_assert(eq(int, run("echo x >>ran; echo said; exit 3"), ERR_OK), "%s",
			sandbox.e.text);
		cr_expect(eq(sz, sandbox.cut_runs, 0));
		cr_expect(eq(int, sandbox.result.exit_code, 3));
		cr_expect(eq(str, (char *)buf_text(&sandbox.out), "said\n"));
	}
	AUTO_FREE char *ran = scratch_read(&sandbox.scratch, "user/ran", NULL);

	cr_expect(eq(str, ran, "x\nx\nx\n"));
}

Test(remote_command, answers_that_are_lost_again_and_again_are_given_up)
{
	sandbox.cut_runs = 100;
	sandbox.cut_after = 1;
	sandbox.progress_ms = 3000;
	cr_expect(eq(int, run("echo x >>ran"), ERR_UNREACHABLE));
	cr_expect(sandbox.result.may_have_run && !sandbox.result.has_exit_code);
	cr_expect(is_there_soon("user/ran"));
	AUTO_FREE char *ran = scratch_read(&sandbox.scratch, "user/ran", NULL);

	cr_expect(eq(str, ran, "x\n"));
}

Test(remote_command, an_end_that_nobody_recorded_is_no_success)
{
	cr_expect(eq(int, run("echo up; kill -KILL $PPID; sleep 1"), ERR_IO), "%s", sandbox.e.text);
	cr_expect(sandbox.result.may_have_run && !sandbox.result.has_exit_code);
}

/* ---- Programs that are listened to ---- */

Test(remote_command, who_speaks_all_the_time_is_asked_about_once_a_second)
{
	size_t runs_before;
	int64_t began_ms;

	runs_before = sandbox.host.runs;
	began_ms = monotonic_ms();
	cr_assert(eq(int,
			  listen_to("i=0; while [ $i -lt 200 ]; do echo x; sleep 0.02; "
				    "i=$((i+1)); done; exit 3"),
			  ERR_OK),
		"%s", sandbox.e.text);
	cr_expect(eq(int, sandbox.result.exit_code, 3));
	cr_expect(eq(sz, sandbox.out.len, 400));
	/* The first that follow each other come sooner. */
	cr_expect(le(sz, sandbox.host.runs - runs_before,
		4 + (size_t)(monotonic_ms() - began_ms) / 1000));
}

Test(remote_command, who_is_listened_to_ends_when_the_listener_has_enough)
{
	sandbox.is_cancelled_at_output = true;
	cr_expect(eq(int,
		listen_to("trap 'echo >$HOME/ended; exit' TERM; echo x; "
			  "while :; do sleep 0.1; done"),
		ERR_INTERRUPTED));
	cr_expect(is_there_soon("user/ended"));
}

Test(remote_command_bare, nobody_is_listened_to)
{
	cr_expect(eq(int, listen_to("echo x"), ERR_UNSUPPORTED));
}
