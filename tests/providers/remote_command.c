/* Commands for vendors whose programs only print text: what the contract cannot bring about. */
#include "providers/remote_command.h"

#include "providers/base/cleanup.h"
#include "providers/base/utf8.h"
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
#include <sys/stat.h>

TestSuite(remote_command, .timeout = 300);

/* On every wait. */
#define WAIT_ROUNDS 60000
#define MIB         ((size_t)1024 * 1024)

/* A sandbox on this machine, and what came of its last command. */
struct sandbox {
	struct scratch scratch;
	struct host_remote host;
	struct remote remote;
	size_t cut_runs, cut_after; /* so many runs end after so many bytes */
	struct cancel cancel;
	bool is_cancelled_at_output;
	struct buf out, err_out;
	struct execute_result result;
	struct error e;
};

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

static void sandbox_open(struct sandbox *s, enum helper_mode helper)
{
	const struct provider_config cfg = { .helper = helper };
	struct remote_ops ops;
	char home[128];

	*s = (struct sandbox){ .out = BUF_INIT(256 * MIB), .err_out = BUF_INIT(MIB) };
	scratch_make(&s->scratch);
	scratch_mkdir(&s->scratch, "user", 0755);
	snprintf(home, sizeof home, "%s/user", s->scratch.path);
	host_remote_init(&s->host, home);
	s->host.is_text = s->host.is_merged = true;
	ops = host_remote_ops(&s->host);
	ops.run = run_and_cut;
	ops.upload = upload;
	ops.context = s;
	cancel_init(&s->cancel, NULL);
	cr_assert(eq(int, remote_attach(&s->remote, &ops, &cfg, NULL, NULL, &s->e), ERR_OK), "%s",
		s->e.text);
}

/* Of what is attached only the path of staging stays. */
static void sandbox_release(struct sandbox *s)
{
	char *staging = strdup(s->remote.staging);

	remote_release(&s->remote);
	s->remote.staging = staging;
}

static enum err ignore_item(void *context, const struct list_item *item, struct error *e)
{
	(void)context, (void)item, (void)e;
	return ERR_OK;
}

static void sandbox_close(struct sandbox *s)
{
	remote_release(&s->remote);
	cancel_release(&s->cancel);
	buf_release(&s->out);
	buf_release(&s->err_out);
	scratch_remove(&s->scratch);
}

static enum err take_output(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	struct sandbox *s = context;
	struct buf *to = stream == STREAM_OUT ? &s->out : &s->err_out;

	if (s->is_cancelled_at_output)
		cancel_throw(&s->cancel);
	return buf_add(to, bytes, len) ? ERR_OK : buf_check(to, "output", e);
}

static enum err execute(struct sandbox *s, const struct execute_request *request)
{
	const struct call call = { .cancel = &s->cancel };

	buf_reset(&s->out);
	buf_reset(&s->err_out);
	s->e = (struct error){ 0 };
	return remote_command(&s->remote, &call, request, take_output, s, &s->result, &s->e);
}

static enum err run(struct sandbox *s, const char *text)
{
	return execute(s, &(struct execute_request){ .command = text });
}

static enum err listen_to(struct sandbox *s, const char *text)
{
	const struct call call = { .cancel = &s->cancel };

	return remote_command_listen(&s->remote, &call,
		&(struct execute_request){ .command = text }, take_output, s, &s->result, &s->e);
}

static bool is_there(const struct sandbox *s, const char *path)
{
	return faccessat(s->scratch.fd, path, F_OK, 0) == 0;
}

static bool is_there_soon(const struct sandbox *s, const char *path)
{
	for (int i = 0; i < WAIT_ROUNDS && !is_there(s, path); i++)
		poll(NULL, 0, 1);
	return is_there(s, path);
}

/* Files of commands. */
static size_t count_staged(const struct sandbox *s)
{
	DIR *dir = opendir(s->remote.staging);
	size_t count = 0;

	cr_assert(dir != NULL);
	for (const struct dirent *d; (d = readdir(dir));)
		count += strncmp(d->d_name, "command-", 8) == 0;
	closedir(dir);
	return count;
}

/* ---- What is left ---- */

static const char *const helper_ways[] = { "echo secret", "echo secret; exit 3",
	"exec 2>&1; cat /proc/self/nothing", "kill -KILL $PPID" };

Test(remote_command, a_record_is_removed_by_the_next_request_of_any_kind)
{
	const char *start = "";
	const struct list_request list = { .starts = &start, .starts_count = 1 };
	struct sandbox s;

	sandbox_open(&s, HELPER_PROCESS);
	for (size_t i = 0; i < sizeof helper_ways / sizeof *helper_ways; i++) {
		run(&s, helper_ways[i]);
		cr_expect(eq(sz, count_staged(&s), 1), "%s", helper_ways[i]);
		cr_expect(eq(int,
			helper_client_list(s.remote.helper, NULL, &list, ignore_item, NULL, NULL),
			ERR_OK));
		cr_expect(eq(sz, count_staged(&s), 0), "%s", helper_ways[i]);
	}
	sandbox_close(&s);
}

Test(remote_command, a_release_leaves_no_record)
{
	for (size_t i = 0; i < sizeof helper_ways / sizeof *helper_ways; i++) {
		struct sandbox s;

		sandbox_open(&s, HELPER_PROCESS);
		run(&s, helper_ways[i]);
		sandbox_release(&s);
		cr_expect(eq(sz, count_staged(&s), 0), "%s", helper_ways[i]);
		sandbox_close(&s);
	}
}

/* What was cancelled is ended behind its caller's back, and has a record until then. */
Test(remote_command, a_release_leaves_no_record_of_what_was_cancelled)
{
	struct sandbox s;

	sandbox_open(&s, HELPER_PROCESS);
	s.is_cancelled_at_output = true;
	cr_expect(eq(int, listen_to(&s, "echo up; exec sleep 1000"), ERR_INTERRUPTED));
	sandbox_release(&s);
	cr_expect(eq(sz, count_staged(&s), 0));
	sandbox_close(&s);
}

/* ---- Without the helper ---- */

static bool begins_and_ends(const struct buf *b, const char *begin, const char *end)
{
	size_t begin_len = strlen(begin), end_len = strlen(end);

	return b->len > begin_len + end_len && !memcmp(b->bytes, begin, begin_len) &&
		!memcmp(b->bytes + b->len - end_len, end, end_len);
}

/* As with the helper: it is not ended, and of what it prints the beginning and the end are kept. */
static void expect_cut(bool is_live)
{
	struct sandbox s;

	sandbox_open(&s, HELPER_OFF);
	s.remote.ops.is_live = is_live;
	cr_expect(eq(int,
			  run(&s,
				  "echo begun >&2; echo one; yes | head -c 33333333; echo last; "
				  "exit 3"),
			  ERR_OK),
		"%s", s.e.text);
	cr_expect(s.result.is_cut);
	cr_expect(s.result.has_exit_code && s.result.exit_code == 3);
	cr_expect(eq(sz, s.out.len, 16 * MIB));
	cr_expect(begins_and_ends(&s.out, "one\ny\ny\n", "y\nylast\n"));
	cr_expect(eq(str, (char *)buf_text(&s.err_out), "begun\n"));
	cr_expect(eq(sz, count_staged(&s), 0));
	sandbox_close(&s);
}

Test(remote_command, of_more_than_is_kept_the_beginning_and_the_end_are)
{
	expect_cut(true);
	expect_cut(false);
}

Test(remote_command, who_prints_without_end_comes_to_its_time)
{
	const struct execute_request request = { .command = "yes | tee /dev/stderr",
		.timeout_ms = 1500 };
	struct sandbox s;

	sandbox_open(&s, HELPER_OFF);
	s.err_out.max = s.out.max;
	cr_expect(eq(int, execute(&s, &request), ERR_OK), "%s", s.e.text);
	cr_expect(s.result.timed_out && s.result.exit_code == 124);
	cr_expect(begins_and_ends(&s.out, "y\ny\n", "y\ny\n"));
	cr_expect(begins_and_ends(&s.err_out, "y\ny\n", "y\n"));
	cr_expect(eq(sz, count_staged(&s), 0));
	sandbox_close(&s);
}

/* The pieces' lengths are no multiple of a character's. */
Test(remote_command, text_is_cut_between_characters)
{
	struct sandbox s;

	sandbox_open(&s, HELPER_OFF);
	cr_expect(eq(int, run(&s, "printf x; yes \xe2\x82\xac\xe2\x82\xac | head -c 33333335"),
			  ERR_OK),
		"%s", s.e.text);
	cr_expect(s.result.is_cut);
	cr_expect(utf8_valid(s.out.bytes, s.out.len));
	sandbox_close(&s);
}

/* Behind it stands a word of the script's own, for which there may be no room. */
Test(remote_command, what_is_kept_whole_is_not_called_cut)
{
	char text[100];
	struct sandbox s;

	sandbox_open(&s, HELPER_OFF);
	for (size_t more = 0; more <= 100; more += 50) {
		size_t len = 15 * MIB - 50 + more;

		snprintf(text, sizeof text, "head -c %zu /dev/zero; exit 3", len);
		cr_assert(eq(int, run(&s, text), ERR_OK), "%s", s.e.text);
		cr_expect(eq(int, s.result.exit_code, 3));
		cr_expect(eq(int, s.result.is_cut, len >= 15 * MIB), "%zu", len);
		cr_expect(le(sz, s.out.len, len));
		cr_expect(ge(sz, s.out.len, len < 15 * MIB ? len : 15 * MIB));
	}
	sandbox_close(&s);
}

/* Throws the switch once the command has said so. */
static void *cancel_when_up(void *context)
{
	struct sandbox *s = context;

	cr_expect(is_there_soon(s, "user/up"));
	cancel_throw(&s->cancel);
	return NULL;
}

Test(remote_command, who_cancels_has_what_was_printed_by_then)
{
	struct sandbox s;
	pthread_t thread;

	sandbox_open(&s, HELPER_OFF);
	cr_assert(eq(int, pthread_create(&thread, NULL, cancel_when_up, &s), 0));
	cr_expect(eq(int, run(&s, "echo so far; echo far >&2; seq 100000; : >up; exec sleep 1000"),
		ERR_INTERRUPTED));
	pthread_join(thread, NULL);
	cr_expect(begins_and_ends(&s.out, "so far\n1\n2\n", "\n99999\n100000\n"));
	cr_expect(eq(str, (char *)buf_text(&s.err_out), "far\n"));
	cr_expect(eq(sz, s.out.len, strlen("so far\n") + 588895));
	sandbox_close(&s);
}

Test(remote_command, output_is_whole_wherever_its_pieces_end)
{
	char text[100];
	struct sandbox s;

	sandbox_open(&s, HELPER_OFF);
	for (size_t len = 65520; len <= 65640; len += 11) {
		snprintf(text, sizeof text, "head -c %zu /dev/zero; echo x >&2", len);
		cr_assert(eq(int, run(&s, text), ERR_OK), "%s", s.e.text);
		cr_expect(eq(sz, s.out.len, len));
		cr_expect(eq(str, (char *)buf_text(&s.err_out), "x\n"));
	}
	sandbox_close(&s);
}

Test(remote_command, output_may_hold_what_the_script_tells)
{
	static const char text[] = "printf '%s ove\\n%s end 7 3\\n%s' $" MARKER_NAME
				   " $" MARKER_NAME " $" MARKER_NAME " | tee told";
	struct sandbox s;

	sandbox_open(&s, HELPER_OFF);
	cr_assert(eq(int, run(&s, text), ERR_OK), "%s", s.e.text);
	AUTO_FREE char *told = scratch_read(&s.scratch, "user/told", NULL);

	cr_expect(eq(int, s.result.exit_code, 0));
	cr_expect(s.out.len > 3 * (MARKER_SIZE - 1));
	cr_expect(eq(str, (char *)buf_text(&s.out), told));
	sandbox_close(&s);
}

/* More than a pipe holds. */
Test(remote_command, what_it_left_behind_lives_on_and_may_write)
{
	struct sandbox s;

	sandbox_open(&s, HELPER_OFF);
	cr_assert(mkfifoat(s.scratch.fd, "user/fifo", 0600) == 0);
	cr_assert(eq(int,
		run(&s, "(read line <fifo; head -c 200000 /dev/zero; touch wrote) & echo up"),
		ERR_OK));
	cr_expect(eq(str, (char *)buf_text(&s.out), "up\n"));
	cr_expect(eq(sz, count_staged(&s), 0));
	scratch_write_text(&s.scratch, "user/fifo", "\n");
	cr_expect(is_there_soon(&s, "user/wrote"));
	sandbox_close(&s);
}

Test(remote_command, what_it_left_behind_is_not_heard_even_while_it_writes)
{
	struct sandbox s;

	sandbox_open(&s, HELPER_OFF);
	cr_assert(mkfifoat(s.scratch.fd, "user/fifo", 0600) == 0);
	cr_assert(eq(int,
		run(&s, "echo up; (while [ ! -e enough ]; do echo more; done; : >over) & exit 3"),
		ERR_OK));
	cr_expect(eq(int, s.result.exit_code, 3));
	cr_expect(eq(int, strncmp(buf_text(&s.out), "up\n", 3), 0));
	cr_expect(eq(int, strstr(buf_text(&s.out), " over") != NULL, 0));
	scratch_write_text(&s.scratch, "user/enough", "");
	cr_expect(is_there_soon(&s, "user/over"));
	sandbox_close(&s);
}

Test(remote_command, staging_is_left_empty_whatever_became_of_the_command)
{
	AUTO_FREE char *command = malloc(200000);
	struct execute_request request = { .command = command, .input = "x", .input_len = 1 };
	struct sandbox s;

	memset(command, '#', 199999);
	memcpy(command, "echo up; sleep 1000 #", 21);
	command[199999] = 0;
	sandbox_open(&s, HELPER_OFF);
	request.cwd = "nowhere";
	cr_expect(eq(int, execute(&s, &request), ERR_NOT_FOUND));
	cr_expect(eq(sz, count_staged(&s), 0));
	request.cwd = NULL;
	request.timeout_ms = 200;
	cr_expect(eq(int, execute(&s, &request), ERR_OK), "%s", s.e.text);
	cr_expect(s.result.timed_out);
	cr_expect(eq(sz, count_staged(&s), 0));
	request.timeout_ms = 0;
	s.is_cancelled_at_output = true;
	cr_expect(eq(int, execute(&s, &request), ERR_INTERRUPTED));
	for (int i = 0; i < WAIT_ROUNDS && count_staged(&s); i++)
		poll(NULL, 0, 1);
	cr_expect(eq(sz, count_staged(&s), 0));
	sandbox_close(&s);
}

Test(remote_command, any_shell_will_do)
{
	static const char *const shells[] = { "/usr/bin/dash", "/usr/bin/bash",
		"/usr/bin/busybox" };
	const struct execute_request request = { .command = "cat; echo e >&2; exec sleep 1000",
		.input = "in",
		.input_len = 2,
		.timeout_ms = 500 };

	for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
		struct sandbox s;

		if (access(shells[i], X_OK))
			continue;
		sandbox_open(&s, HELPER_OFF);
		s.host.shell = shells[i];
		cr_expect(eq(int, execute(&s, &request), ERR_OK), "%s: %s", shells[i], s.e.text);
		cr_expect(s.result.timed_out, "%s", shells[i]);
		cr_expect(eq(str, (char *)buf_text(&s.out), "in"), "%s", shells[i]);
		cr_expect(eq(str, (char *)buf_text(&s.err_out), "e\n"), "%s", shells[i]);
		cr_expect(eq(sz, count_staged(&s), 0), "%s", shells[i]);
		sandbox_close(&s);
	}
}

/* As POSIX has it, and like one that the command kills. */
static void make_sleep_of_whole_seconds(struct sandbox *s)
{
	static char path[160];

	scratch_mkdir(&s->scratch, "bin", 0755);
	scratch_write_text(&s->scratch, "bin/sleep",
		"#!/bin/sh\ncase $1 in *[!0-9]*) exit 1 ;; esac\nexec /bin/sleep \"$1\"\n");
	cr_assert(zero(int, fchmodat(s->scratch.fd, "bin/sleep", 0755, 0)));
	snprintf(path, sizeof path, "%s/bin:/usr/bin:/bin", s->scratch.path);
	s->host.path = path;
}

Test(remote_command, a_sleep_that_fails_is_not_the_end_of_its_time)
{
	const struct execute_request request = { .command = "/bin/sleep 0.5; echo out",
		.timeout_ms = 60000 };
	struct sandbox s;

	sandbox_open(&s, HELPER_OFF);
	make_sleep_of_whole_seconds(&s);
	cr_expect(eq(int, execute(&s, &request), ERR_OK), "%s", s.e.text);
	cr_expect(not(s.result.timed_out));
	cr_expect(eq(str, (char *)buf_text(&s.out), "out\n"));
	sandbox_close(&s);
}

/* ---- With the helper ---- */

Test(remote_command, an_answer_that_was_lost_is_asked_for_again_and_the_command_runs_once)
{
	static const size_t cuts[] = { 1, 40, 80 };
	struct sandbox s;

	sandbox_open(&s, HELPER_PROCESS);
	for (size_t i = 0; i < 3; i++) {
		s.cut_runs = 2;
		s.cut_after = cuts[i];
		cr_assert(eq(int, run(&s, "echo x >>ran; echo said; exit 3"), ERR_OK), "%s",
			s.e.text);
		cr_expect(eq(sz, s.cut_runs, 0));
		cr_expect(eq(int, s.result.exit_code, 3));
		cr_expect(eq(str, (char *)buf_text(&s.out), "said\n"));
	}
	AUTO_FREE char *ran = scratch_read(&s.scratch, "user/ran", NULL);

	cr_expect(eq(str, ran, "x\nx\nx\n"));
	sandbox_close(&s);
}

Test(remote_command, answers_that_are_lost_again_and_again_are_given_up)
{
	struct sandbox s;

	sandbox_open(&s, HELPER_PROCESS);
	s.cut_runs = 100;
	s.cut_after = 1;
	cr_expect(eq(int, run(&s, "echo x >>ran"), ERR_UNREACHABLE));
	cr_expect(s.result.may_have_run && !s.result.has_exit_code);
	cr_expect(is_there_soon(&s, "user/ran"));
	AUTO_FREE char *ran = scratch_read(&s.scratch, "user/ran", NULL);

	cr_expect(eq(str, ran, "x\n"));
	sandbox_close(&s);
}

Test(remote_command, an_end_that_nobody_recorded_is_no_success)
{
	struct sandbox s;

	sandbox_open(&s, HELPER_PROCESS);
	cr_expect(eq(int, run(&s, "echo up; kill -KILL $PPID; sleep 1"), ERR_IO), "%s", s.e.text);
	cr_expect(s.result.may_have_run && !s.result.has_exit_code);
	sandbox_close(&s);
}

/* ---- Programs that are listened to ---- */

Test(remote_command, who_speaks_all_the_time_is_asked_about_once_a_second)
{
	struct sandbox s;
	size_t runs_before;
	int64_t began_ms;

	sandbox_open(&s, HELPER_PROCESS);
	runs_before = s.host.runs;
	began_ms = monotonic_ms();
	cr_assert(eq(int,
			  listen_to(&s,
				  "i=0; while [ $i -lt 200 ]; do echo x; sleep 0.02; "
				  "i=$((i+1)); done; exit 3"),
			  ERR_OK),
		"%s", s.e.text);
	cr_expect(eq(int, s.result.exit_code, 3));
	cr_expect(eq(sz, s.out.len, 400));
	/* The first that follow each other come sooner. */
	cr_expect(
		le(sz, s.host.runs - runs_before, 4 + (size_t)(monotonic_ms() - began_ms) / 1000));
	sandbox_close(&s);
}

Test(remote_command, who_is_listened_to_ends_when_the_listener_has_enough)
{
	struct sandbox s;

	sandbox_open(&s, HELPER_PROCESS);
	s.is_cancelled_at_output = true;
	cr_expect(eq(int,
		listen_to(&s,
			"trap 'echo >$HOME/ended; exit' TERM; echo x; "
			"while :; do sleep 0.1; done"),
		ERR_INTERRUPTED));
	cr_expect(is_there_soon(&s, "user/ended"));
	sandbox_close(&s);
}

Test(remote_command, without_the_helper_nobody_is_listened_to)
{
	struct sandbox s;

	sandbox_open(&s, HELPER_OFF);
	cr_expect(eq(int, listen_to(&s, "echo x"), ERR_UNSUPPORTED));
	sandbox_close(&s);
}
