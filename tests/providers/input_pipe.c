#include "providers/input_pipe.h"

#include "providers/base/call.h"
#include "tests/support/host_provider.h"
#include "tests/support/scratch.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Scripts ---- */

static struct scratch scratch;
static struct host_provider host;

struct outcome {
	struct buf script, out, err;
	struct execute_result result;
};

#define OUTCOME_INIT                                                                               \
	{                                                                                          \
		.script = BUF_INIT(1 << 20), .out = BUF_INIT(1 << 20), .err = BUF_INIT(1 << 20)    \
	}

static void outcome_release(struct outcome *o)
{
	buf_release(&o->script);
	buf_release(&o->out);
	buf_release(&o->err);
}
#define AUTO_OUTCOME __attribute__((cleanup(outcome_release)))

static void setup(void)
{
	scratch_make(&scratch);
	host_provider_init(&host, scratch.path);
}

static void teardown(void)
{
	host_provider_end(&host);
	scratch_remove(&scratch);
}

static enum err take_output(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	struct outcome *o = context;

	(void)e;
	buf_add(stream == STREAM_ERR ? &o->err : &o->out, bytes, len);
	return ERR_OK;
}

static void run(struct outcome *o, const char *input)
{
	const struct execute_request request = { .command = buf_text(&o->script),
		.input = input,
		.input_len = input ? strlen(input) : 0 };
	struct error e = { 0 };

	cr_assert(zero(int,
			  provider_execute(
				  &host.base, NULL, &request, take_output, o, &o->result, &e)),
		"%s", e.text);
}

static void *keep(void *context)
{
	run(context, NULL);
	return NULL;
}

static int feed(const char *base, const char *input, unsigned flags)
{
	AUTO_OUTCOME struct outcome o = OUTCOME_INIT;

	input_pipe_feed(&o.script, base, flags);
	run(&o, input);
	return o.result.exit_code;
}

/* Feeds a pipe that is about to be made, by a thread that a busy machine may begin late. */
static int feed_soon(const char *base, const char *input, unsigned flags)
{
	const int64_t until_ms = monotonic_ms() + 60000;
	int code;

	do
		code = feed(base, input, flags | INPUT_PIPE_AWAIT);
	while (code == INPUT_PIPE_NOT_YET && monotonic_ms() < until_ms);
	return code;
}

static void base_of(char out[INPUT_PIPE_BASE_SIZE])
{
	struct error e = { 0 };

	cr_assert(zero(int, input_pipe_base(out, host.staging, &e)), "%s", e.text);
}

TestSuite(input_pipe, .init = setup, .fini = teardown, .timeout = 300);

/* ---- Behaviour ---- */

Test(input_pipe, a_command_reads_what_comes_while_it_runs)
{
	AUTO_OUTCOME struct outcome o = OUTCOME_INIT;
	char base[INPUT_PIPE_BASE_SIZE], path[INPUT_PIPE_BASE_SIZE + 8];
	pthread_t thread;

	base_of(base);
	input_pipe_command(&o.script, base, "umask; cat; echo err >&2; exit 7", false);
	cr_assert(zero(int, pthread_create(&thread, NULL, keep, &o)));
	cr_expect(zero(int, feed_soon(base, "one\n", 0)));
	cr_expect(zero(int, feed(base, "two\n", INPUT_PIPE_LAST)));
	pthread_join(thread, NULL);
	cr_expect(strstr(buf_text(&o.out), "\none\ntwo\n") != NULL, "%s", buf_text(&o.out));
	cr_expect(eq(str, (char *)buf_text(&o.err), "err\n"));
	cr_expect(eq(int, o.result.exit_code, 7));
	for (const char *const *end = (const char *const[])INPUT_PIPE_ENDS; *end; end++) {
		snprintf(path, sizeof path, "%s%s", base, *end);
		cr_expect(access(path, F_OK) != 0, "%s stays", path);
	}
	cr_expect(eq(int, feed(base, "late", 0), INPUT_PIPE_GONE));
}

Test(input_pipe, its_environment_is_as_it_was_given)
{
	static const char *const names[] = { "base", "dir", "mask", "teller", "code", "word" };
	AUTO_OUTCOME struct outcome o = OUTCOME_INIT;
	char base[INPUT_PIPE_BASE_SIZE];

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		setenv(names[i], "given", true);
	base_of(base);
	input_pipe_command(&o.script, base, "echo $base $dir $mask $teller $code $word", false);
	run(&o, NULL);
	cr_expect(eq(str, (char *)buf_text(&o.out), "given given given given given given\n"));
}

Test(input_pipe, its_end_may_be_all_that_comes)
{
	AUTO_OUTCOME struct outcome o = OUTCOME_INIT;
	char base[INPUT_PIPE_BASE_SIZE];
	pthread_t thread;

	base_of(base);
	input_pipe_command(&o.script, base, "cat; kill -KILL $$", false);
	cr_assert(zero(int, pthread_create(&thread, NULL, keep, &o)));
	cr_expect(zero(int, feed_soon(base, NULL, INPUT_PIPE_LAST)));
	pthread_join(thread, NULL);
	cr_expect(zero(sz, o.out.len));
	cr_expect(zero(sz, o.err.len), "%s", buf_text(&o.err));
	cr_expect(eq(int, o.result.exit_code, 137));
}

Test(input_pipe, nobody_waits_for_words_any_more)
{
	AUTO_OUTCOME struct outcome o = OUTCOME_INIT;
	char base[INPUT_PIPE_BASE_SIZE], command[3 * INPUT_PIPE_BASE_SIZE];
	char path[INPUT_PIPE_BASE_SIZE + 8];
	pthread_t thread;
	int fd;

	base_of(base);
	snprintf(path, sizeof path, "%s.kept", base);
	snprintf(command, sizeof command, "cat; ln '%s.ctl' '%s'", base, path);
	input_pipe_command(&o.script, base, command, false);
	cr_assert(zero(int, pthread_create(&thread, NULL, keep, &o)));
	cr_expect(zero(int, feed_soon(base, "one\n", INPUT_PIPE_LAST)));
	pthread_join(thread, NULL);
	cr_expect(eq(str, (char *)buf_text(&o.out), "one\n"));
	cr_expect(zero(int, o.result.exit_code), "%s", buf_text(&o.err));
	while ((fd = open(path, O_WRONLY | O_NONBLOCK)) >= 0) {
		close(fd);
		call_sleep(NULL, 10, NULL);
	}
	cr_expect(eq(int, errno, ENXIO));
}

Test(input_pipe, a_command_ends_without_reading)
{
	AUTO_OUTCOME struct outcome o = OUTCOME_INIT;
	char base[INPUT_PIPE_BASE_SIZE];

	base_of(base);
	input_pipe_command(&o.script, base, "echo \"it's\"", false);
	run(&o, NULL);
	cr_expect(eq(str, (char *)buf_text(&o.out), "it's\n"));
	cr_expect(zero(int, o.result.exit_code));
}

Test(input_pipe, without_a_place_for_it_only_a_command_runs_that_may_go_without)
{
	for (int is_optional = 0; is_optional < 2; is_optional++) {
		AUTO_OUTCOME struct outcome o = OUTCOME_INIT;

		input_pipe_command(
			&o.script, "/proc/nowhere/fed", "cat; echo ran; exit 7", is_optional);
		run(&o, "not for it");
		cr_expect(eq(str, (char *)buf_text(&o.out), is_optional ? "ran\n" : ""));
		cr_expect(eq(int, o.result.exit_code, is_optional ? 7 : 125));
		cr_expect(eq(int, strstr(buf_text(&o.err), "/proc/nowhere of the sandbox") != NULL,
			!is_optional));
	}
}

Test(input_pipe, what_is_not_there_yet_is_not_gone)
{
	char base[INPUT_PIPE_BASE_SIZE];

	base_of(base);
	cr_expect(eq(int, feed(base, "early", INPUT_PIPE_AWAIT), INPUT_PIPE_NOT_YET));
	cr_expect(eq(int, feed(base, "late", 0), INPUT_PIPE_GONE));
}

static void *tell(void *context)
{
	AUTO_OUTCOME struct outcome o = OUTCOME_INIT;

	input_pipe_tell(&o.script, context, "word");
	run(&o, NULL);
	return NULL;
}

/* The moment between the look at the file and its opening is short, so the test tries often. */
Test(input_pipe, no_file_is_made_of_one_that_goes)
{
	char base[INPUT_PIPE_BASE_SIZE], path[INPUT_PIPE_BASE_SIZE + 8];

	for (int i = 0; i < 200; i++) {
		pthread_t thread;

		base_of(base);
		snprintf(path, sizeof path, "%s.ctl", base);
		cr_assert(zero(int, mkfifo(path, 0600)));
		cr_assert(zero(int, pthread_create(&thread, NULL, tell, base)));
		usleep((useconds_t)i * 10);
		unlink(path);
		pthread_join(thread, NULL);
		cr_assert(access(path, F_OK) != 0, "round %d", i);
	}
}

Test(input_pipe, every_base_is_another)
{
	char one[INPUT_PIPE_BASE_SIZE], other[INPUT_PIPE_BASE_SIZE], long_name[2000] = "";
	struct error e = { 0 };

	base_of(one);
	base_of(other);
	cr_expect(ne(str, one, other));
	memset(long_name, 'x', sizeof long_name - 1);
	cr_expect(eq(int, input_pipe_base(one, long_name, &e), ERR_TOO_LARGE));
}
