#include "providers/base/cleanup.h"
#include "tests/providers/contract.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

/* The time between TERM and KILL. */
#define GRACE_MS 5000
/* The longest that a command may take to begin, on a busy machine. */
#define MOST_MS 30000
/* How long a test may try for a result that should come soon, on a busy machine. */
#define TRIES_MS 120000

static bool is(const struct buf *b, const char *text)
{
	return b->len == strlen(text) && !memcmp(buf_text(b), text, b->len);
}

BEHAVIOUR(execute, keeps_output_and_errors_apart)
{
	AUTO_RAN struct ran r = run(s, "echo out; echo err >&2; echo out again");

	cr_assert(is(&r.out, "out\nout again\n"), "%s", buf_text(&r.out));
	cr_assert(is(&r.err_out, "err\n"), "%s", buf_text(&r.err_out));
	cr_assert(eq(int, r.result.exit_code, 0));
	cr_assert(r.result.may_have_run);
}

BEHAVIOUR(execute, gives_the_exit_code)
{
	static const struct {
		const char *command;
		int want;
	} rows[] = { { "true", 0 }, { "false", 1 }, { "exit 3", 3 }, { "exit 255", 255 },
		{ "exec sh -c 'exit 9'", 9 }, { "./not-there", 127 }, { "echo x >f; ./f", 126 },
		{ "kill -TERM $$", 128 + 15 }, { "kill -KILL $$", 128 + 9 },
		{ "sh -c 'kill -SEGV $$'; exit $?", 128 + 11 }, { "(", 2 } };

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		AUTO_RAN struct ran r = run(s, rows[i].command);

		cr_expect(eq(int, r.result.exit_code, rows[i].want), "%s", rows[i].command);
		cr_expect(not(r.result.timed_out), "%s", rows[i].command);
	}
}

BEHAVIOUR(execute, runs_in_the_shown_root_or_below)
{
	struct execute_request below = { .command = "pwd; cat here", .cwd = "a/b c" };
	AUTO_BUF struct buf want_root = BUF_INIT(2100), want_below = BUF_INIT(2100);

	outside_mkdir(s, "a", 0755);
	outside_mkdir(s, "a/b c", 0755);
	outside_write_text(s, "a/b c/here", "it is\n");
	AUTO_RAN struct ran root = run(s, "pwd; echo $HOME");
	AUTO_RAN struct ran r = run_request(s, NULL, &below);

	buf_printf(&want_root, "%s\n%s\n", s->root, s->root);
	buf_printf(&want_below, "%s/a/b c\nit is\n", s->root);
	cr_assert(eq(str, (char *)buf_text(&root.out), (char *)buf_text(&want_root)));
	cr_assert(eq(str, (char *)buf_text(&r.out), (char *)buf_text(&want_below)));
}

BEHAVIOUR(execute, refuses_a_directory_that_is_not_there)
{
	struct execute_request request = { .command = "touch ran", .cwd = "nowhere" };
	AUTO_RAN struct ran r = run_request(s, NULL, &request);

	cr_assert(eq(int, r.err, ERR_NOT_FOUND), "%s", r.why.text);
	cr_assert(strstr(r.why.text, "nowhere") != NULL, "%s", r.why.text);
	cr_assert(not(r.result.may_have_run));
	cr_assert(not(outside_exists(s, "ran")));
}

/* Checks that the command ran in none of these directories. */
static void expect_ran_nowhere(const struct subject *s, const char *const *dirs, size_t count)
{
	char path[64];

	for (size_t i = 0; i < count; i++) {
		snprintf(path, sizeof path, "%s%sran", dirs[i], *dirs[i] ? "/" : "");
		cr_expect(not(outside_exists(s, path)), "it ran in '%s'", dirs[i]);
	}
}

#define LATIN "caf\xe9"
/* The names that LATIN becomes where a layer takes it for text. */
#define TAKEN_FOR_TEXT "", "caf\xc3\xa9", "caf\xef\xbf\xbd", "caf?", "caf"

BEHAVIOUR(execute, runs_in_a_directory_whose_name_is_not_utf8_or_says_why_not)
{
	static const char *const others[] = { TAKEN_FOR_TEXT };
	struct execute_request request = { .command = "echo >ran", .cwd = LATIN };

	outside_mkdir(s, LATIN, 0755);
	for (size_t i = 1; i < sizeof others / sizeof *others; i++)
		outside_mkdir(s, others[i], 0755);
	AUTO_RAN struct ran r = run_request(s, NULL, &request);

	cr_expect(eq(int, outside_exists(s, LATIN "/ran"), r.err == ERR_OK), "%s", r.why.text);
	cr_expect(eq(int, r.why.text[0] != 0, r.err != ERR_OK));
	cr_expect(eq(int, r.result.may_have_run, r.err == ERR_OK));
	expect_ran_nowhere(s, others, sizeof others / sizeof *others);
}

/*
 * For a name that is not UTF-8 the refusal may come from a shell: on standard error, and by its
 * exit code.
 */
static void expect_refused(const struct ran *r, const char *dir)
{
	if (!strcmp(dir, LATIN) && r->err == ERR_OK) {
		cr_expect(ne(int, r->result.exit_code, 0));
		cr_expect(lt(sz, 0, r->err_out.len));
		return;
	}
	cr_expect(ne(int, r->err, ERR_OK), "%s", dir);
	cr_expect(lt(sz, strlen(dir), strlen(r->why.text)), "%s: %s", dir, r->why.text);
	cr_expect(not(r->result.may_have_run), "%s: %s", dir, r->why.text);
}

BEHAVIOUR(execute, runs_nowhere_where_its_directory_is_gone)
{
	static const char *const dirs[] = { LATIN, "gone", "gone/below", "file", "link" };
	static const char *const others[] = { TAKEN_FOR_TEXT, "caf/below" };

	for (size_t i = 1; i < sizeof others / sizeof *others; i++)
		outside_mkdir(s, others[i], 0755);
	outside_mkdir(s, "gone", 0755);
	outside_rename(s, "gone", "caf/gone");
	outside_write_text(s, "file", "");
	outside_symlink(s, "gone", "link");
	for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
		struct execute_request request = { .command = "echo >ran", .cwd = dirs[i] };
		AUTO_RAN struct ran r = run_request(s, NULL, &request);

		expect_refused(&r, dirs[i]);
	}
	expect_ran_nowhere(s, others, sizeof others / sizeof *others);
	expect_ran_nowhere(s, (const char *const[]){ "caf/gone" }, 1);
}

BEHAVIOUR(execute, feeds_input_while_output_comes)
{
	size_t len = 8 * 1024 * 1024;
	AUTO_FREE char *input = malloc(len);
	struct execute_request request = { .command = "cat", .input = input, .input_len = len };

	for (size_t i = 0; i < len; i++)
		input[i] = (char)(i * 2654435761U >> 13);
	AUTO_RAN struct ran r = run_request(s, NULL, &request);

	cr_assert(eq(int, r.err, ERR_OK), "%s", r.why.text);
	cr_assert(eq(ulong, r.out.len, len));
	cr_assert(memcmp(r.out.bytes, input, len) == 0);
}

BEHAVIOUR(execute, has_empty_input_by_default)
{
	AUTO_RAN struct ran r = run(s, "wc -c");
	struct execute_request empty = { .command = "wc -c", .input = "", .input_len = 0 };
	AUTO_RAN struct ran none = run_request(s, NULL, &empty);

	cr_assert(is(&r.out, "0\n"), "%s", buf_text(&r.out));
	cr_assert(is(&none.out, "0\n"), "%s", buf_text(&none.out));
}

BEHAVIOUR(execute, need_not_read_its_input)
{
	size_t len = 1024 * 1024;
	AUTO_FREE char *input = calloc(1, len);
	struct execute_request request = { .command = "exit 4", .input = input, .input_len = len };
	AUTO_RAN struct ran r = run_request(s, NULL, &request);

	cr_assert(eq(int, r.err, ERR_OK), "%s", r.why.text);
	cr_assert(eq(int, r.result.exit_code, 4));
}

BEHAVIOUR(execute, delivers_ten_mebibytes_of_any_bytes)
{
	AUTO_RAN struct ran r = run(s, "head -c 10485760 /dev/urandom | tee copy; echo end >&2");
	size_t len;
	AUTO_FREE char *copy = outside_read(s, "copy", &len);

	cr_assert(eq(ulong, r.out.len, 10485760));
	cr_assert(eq(ulong, len, r.out.len));
	cr_assert(memcmp(r.out.bytes, copy, len) == 0);
	cr_assert(is(&r.err_out, "end\n"));
}

BEHAVIOUR(execute, takes_a_command_of_any_length)
{
	static const size_t lengths[] = { 1000, 131070, 131071, 131072, 500000 };

	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		AUTO_FREE char *command = malloc(lengths[i] + 1);

		memset(command, '#', lengths[i]);
		memcpy(command, "cat; exit 5 #", 13);
		command[lengths[i]] = 0;
		struct execute_request request = {
			.command = command, .input = "free", .input_len = 4
		};
		AUTO_RAN struct ran r = run_request(s, NULL, &request);

		cr_expect(eq(int, r.err, ERR_OK), "%zu: %s", lengths[i], r.why.text);
		cr_expect(eq(int, r.result.exit_code, 5), "%zu bytes", lengths[i]);
		cr_expect(is(&r.out, "free"), "%zu bytes", lengths[i]);
	}
}

BEHAVIOUR(execute, adds_the_environment_of_the_request)
{
	const char *const env[] = { "ONE=1", "EMPTY=", "TEXT=a b=c\n\xff", NULL };
	struct execute_request request = {
		.command = "printf '%s|%s|%s' \"$ONE\" \"$EMPTY\" \"$TEXT\"", .env = env
	};
	AUTO_RAN struct ran r = run_request(s, NULL, &request);

	cr_assert(is(&r.out, "1||a b=c\n\xff"), "%s", buf_text(&r.out));
}

BEHAVIOUR_HERE(execute, shows_nothing_of_the_caller)
{
	struct scratch home;

	setenv("E2B_API_KEY", "do-not-show-this", 1);
	setenv("HOME", s->scratch.path, 1);
	scratch_make(&home);
	scratch_write_text(&home, "private", "do-not-show-this");
	AUTO_RAN struct ran env =
		run(s, "env; cat /proc/*/environ /proc/*/cmdline | tr '\\0' '\\n'");
	AUTO_RAN struct ran names =
		run(s, "env | sed 's/=.*//' | grep -vx _ | sort | tr '\\n' ' '");
	AUTO_BUF struct buf command = BUF_INIT(1000);

	buf_printf(&command, "cat %s/private /root/.* /etc/shadow /etc/ssh/* 2>&1; ls %s",
		home.path, s->scratch.path);
	AUTO_RAN struct ran files = run(s, buf_text(&command));

	scratch_remove(&home);
	cr_assert(strstr(buf_text(&env.out),
			  "do-not-show-"
			  "this") == NULL,
		"%s", buf_text(&env.out));
	cr_assert(is(&names.out, "HOME LANG LOGNAME PATH PWD SHELL USER "), "%s",
		buf_text(&names.out));
	cr_assert(strstr(buf_text(&files.out), "do-not-show-") == NULL, "%s", buf_text(&files.out));
	cr_assert(strstr(buf_text(&files.out), "root:") == NULL, "%s", buf_text(&files.out));
	cr_assert(ne(int, files.result.exit_code, 0), "the store is shown");
}

BEHAVIOUR_HERE(execute, sees_only_its_own_processes_and_descriptors)
{
	AUTO_RAN struct ran processes = run(s, "ls -d /proc/[0-9]* | wc -l");
	AUTO_RAN struct ran fds = run(s,
		"for f in 0 1 2 3 4 5 6 7 8 9 11 12 13 14 15 16 17 18 19; do "
		"[ -e /proc/$$/fd/$f ] && printf '%s ' $f; done; exit 0");

	cr_assert(le(int, atoi(buf_text(&processes.out)), 5), "%s", buf_text(&processes.out));
	cr_assert(is(&fds.out, "0 1 2 "), "%s", buf_text(&fds.out));
}

BEHAVIOUR(execute, writes_files_as_the_user_with_an_ordinary_umask)
{
	/* Subjects without a jail share the machine's /tmp. */
	AUTO_RAN struct ran r = run(s,
		"echo x >f; mkdir d; umask; "
		"t=$(mktemp -p /tmp) && echo t >\"$t\" && cat \"$t\" && rm \"$t\"");
	struct attr f = outside_attr(s, "f"), d = outside_attr(s, "d");

	cr_assert(eq(u32, f.mode & 07777, 0644));
	cr_assert(eq(u32, d.mode & 07777, 0755));
	cr_assert(eq(u32, f.uid, s->user.uid));
	cr_assert(is(&r.out, "0022\nt\n"), "%s", buf_text(&r.out));
}

BEHAVIOUR_HERE(execute, cannot_write_to_the_system)
{
	AUTO_RAN struct ran r = run(s,
		"for d in / /usr /usr/bin /etc /lib /dev/../usr/lib; do "
		"touch $d/x 2>/dev/null && echo $d; done; "
		"mount -t tmpfs none /tmp 2>/dev/null && echo mounted; "
		"mknod n b 8 0 2>/dev/null && echo device; "
		"for f in sysrq-trigger sys/vm/drop_caches sys/kernel/core_pattern; do "
		"(: >>/proc/$f) 2>/dev/null && echo $f; done; exit 0");

	cr_assert(is(&r.out, ""), "%s", buf_text(&r.out));
}

BEHAVIOUR(execute, has_what_ordinary_programs_look_for)
{
	AUTO_RAN struct ran r = run(s,
		"set -e; id >/dev/null; getent hosts localhost >/dev/null; "
		"ls -l / >/dev/null; test -r /etc/passwd; test -w /tmp; "
		"test -w /var/tmp; test -c /dev/null; mktemp >/dev/null; "
		"stat -c %a /etc /var; date >/dev/null");

	cr_assert(eq(int, r.result.exit_code, 0), "%s", buf_text(&r.err_out));
	cr_assert(is(&r.out, "755\n755\n"), "%s", buf_text(&r.out));
}

static bool is_up(const struct subject *s)
{
	return outside_exists(s, "up");
}

/*
 * Runs a command that writes to the file "up" before its time ends. Where the machine is too busy
 * for that, the command has four times as long the next time.
 */
static struct ran run_to_its_time(const struct subject *s, struct execute_request *request)
{
	if (is_up(s))
		outside_unlink(s, "up");
	for (;; request->timeout_ms *= 4) {
		struct ran r = run_request(s, NULL, request);

		if (is_up(s) || request->timeout_ms > MOST_MS || r.err)
			return r;
		ran_release(&r);
	}
}

/*
 * A command that ends at TERM is not waited for until KILL, 5 s later. A busy machine may take as
 * long for other reasons, but not each time: the test tries again until the end of TRIES_MS.
 */
static struct ran run_to_its_term(const struct subject *s, struct execute_request *request)
{
	const int64_t end_ms = monotonic_ms() + TRIES_MS;

	for (;;) {
		int64_t start_ms = monotonic_ms();
		struct ran r = run_to_its_time(s, request);

		if (monotonic_ms() - start_ms < request->timeout_ms + GRACE_MS)
			return r;
		ran_release(&r);
		cr_assert(lt(i64, monotonic_ms(), end_ms), "the grace was waited for");
	}
}

BEHAVIOUR(execute, ends_a_command_at_its_time_with_the_output_so_far)
{
	struct execute_request request = { .command = "echo before; : >up; sleep 1000; echo after",
		.timeout_ms = 300 };
	AUTO_RAN struct ran r = run_to_its_term(s, &request);

	cr_assert(eq(int, r.err, ERR_OK), "%s", r.why.text);
	cr_assert(r.result.timed_out);
	cr_assert(r.result.has_exit_code);
	cr_assert(eq(int, r.result.exit_code, 124));
	cr_assert(is(&r.out, "before\n"), "%s", buf_text(&r.out));
}

BEHAVIOUR(execute, lets_a_command_tidy_up_at_its_time)
{
	struct execute_request request = {
		.command = "trap 'echo bye; echo x >tidied; exit 0' TERM; echo up; : >up; "
			   "while :; do sleep 0.05; done",
		.timeout_ms = 300
	};
	AUTO_RAN struct ran r = run_to_its_time(s, &request);

	cr_assert(eq(int, r.err, ERR_OK), "%s", r.why.text);
	cr_assert(r.result.timed_out);
	cr_assert(eq(int, r.result.exit_code, 124));
	cr_assert(is(&r.out, "up\nbye\n"), "%s", buf_text(&r.out));
	cr_assert(outside_attr(s, "tidied").size == 2);
}

/*
 * The command's shell ends at TERM, and the shell's child a moment later: the rest of the grace
 * must not be waited for.
 */
BEHAVIOUR(execute, waits_no_longer_than_what_a_command_left_takes)
{
	struct execute_request request = { .command =
						   "(trap 'sleep 0.3; exit' TERM; echo up; : >up; "
						   "while :; do sleep 0.05; done) & wait",
		.timeout_ms = 500 };
	AUTO_RAN struct ran r = run_to_its_term(s, &request);

	cr_assert(r.result.timed_out, "%s", r.why.text);
	cr_assert(is(&r.out, "up\n"), "%s", buf_text(&r.out));
}

BEHAVIOUR(execute, lets_a_silent_command_tidy_up_too)
{
	struct execute_request request = { .command = "trap 'echo x >tidied; exit 0' TERM; : >up; "
						      "while :; do sleep 0.05; done",
		.timeout_ms = 500 };
	AUTO_RAN struct ran r = run_to_its_time(s, &request);

	cr_assert(r.result.timed_out, "%s", r.why.text);
	cr_assert(outside_exists(s, "tidied"));
}

/* timeout(1) makes a process group of its own, as shells with job control do. */
BEHAVIOUR(execute, lets_another_process_group_tidy_up_too)
{
	struct execute_request request = {
		.command = "exec timeout 1000 sh -c \"trap 'echo x >tidied; exit 0' TERM; "
			   ": >up; while :; do sleep 0.05; done\"",
		.timeout_ms = 500
	};
	AUTO_RAN struct ran r = run_to_its_time(s, &request);

	cr_assert(r.result.timed_out, "%s", r.why.text);
	cr_assert(outside_exists(s, "tidied"));
}

/* Each process that has the descriptor holds flock(1)'s lock, also in a session of its own. */
BEHAVIOUR(execute, kills_all_that_a_command_started_at_its_time)
{
	struct execute_request request = {
		.command = "exec 9>held; flock 9; (sleep 1000) & setsid sh -c 'sleep 1000' & "
			   "echo up; : >up; wait",
		.timeout_ms = 500
	};
	AUTO_RAN struct ran r = run_to_its_time(s, &request);

	cr_assert(eq(int, r.err, ERR_OK), "%s", r.why.text);
	cr_assert(r.result.timed_out);
	cr_assert(is(&r.out, "up\n"), "%s", buf_text(&r.out));
	cr_assert(outside_is_unlocked_soon(s, "held"), "its processes live on");
}

BEHAVIOUR(execute, kills_what_ignores_its_time)
{
	struct execute_request request = {
		.command = "trap '' TERM; echo up; : >up; while :; do sleep 0.1; done",
		.timeout_ms = 200
	};
	int64_t start_ms = monotonic_ms();
	AUTO_RAN struct ran r = run_to_its_time(s, &request);

	cr_assert(r.result.timed_out);
	cr_assert(eq(int, r.result.exit_code, 124));
	cr_assert(is(&r.out, "up\n"), "%s", buf_text(&r.out));
	cr_assert(ge(long, monotonic_ms() - start_ms, 5000));
}

/* Throws the switch when the command is seen to run. */
struct canceller {
	const struct subject *s;
	struct cancel cancel;
	int64_t thrown_ms;
};

static void *cancel_when_it_runs(void *context)
{
	struct canceller *c = context;

	while (!outside_exists(c->s, "up"))
		usleep(1000);
	c->thrown_ms = monotonic_ms();
	cancel_throw(&c->cancel);
	return NULL;
}

/* Returns how long that took. */
static int64_t cancel_when_it_is_up(struct subject *s, const char *command)
{
	struct canceller c = { .s = s };
	struct call call = { .cancel = &c.cancel };
	struct execute_request request = { .command = command };
	pthread_t thread;

	cancel_init(&c.cancel, NULL);
	cr_assert(pthread_create(&thread, NULL, cancel_when_it_runs, &c) == 0);
	AUTO_RAN struct ran r = run_request(s, &call, &request);

	pthread_join(thread, NULL);
	const int64_t took_ms = monotonic_ms() - c.thrown_ms;

	cr_assert(eq(int, r.err, ERR_INTERRUPTED), "%s", r.why.text);
	cr_assert(r.result.may_have_run);
	cr_assert(outside_is_unlocked_soon(s, "held"), "its processes live on");
	cancel_release(&c.cancel);
	return took_ms;
}

static void expect_death_when_cancelled(struct subject *s, const char *command)
{
	const int64_t end_ms = monotonic_ms() + TRIES_MS;

	while (cancel_when_it_is_up(s, command) >= GRACE_MS) {
		cr_assert(lt(i64, monotonic_ms(), end_ms), "its death was waited for");
		outside_unlink(s, "up");
	}
}

BEHAVIOUR(execute, a_cancelled_command_returns_at_once_and_dies)
{
	expect_death_when_cancelled(s,
		"exec 9>held; flock 9; trap '' TERM INT HUP; (sleep 1000) & echo up >up; sleep "
		"1000");
}

/* The process is known by its number alone then, which takes a moment to arrive. */
BEHAVIOUR(execute, a_cancelled_command_dies_whatever_its_environment)
{
	expect_death_when_cancelled(s,
		"exec 9>held; flock 9; trap '' TERM; "
		"exec env -i \"PATH=$PATH\" sh -c 'sleep 1; echo up >up; exec sleep 1000'");
}

BEHAVIOUR(execute, a_call_cancelled_before_it_begins_runs_nothing)
{
	struct cancel cancel;
	struct call call = { .cancel = &cancel };
	struct execute_request request = { .command = "touch ran" };

	cancel_init(&cancel, NULL);
	cancel_throw(&cancel);
	AUTO_RAN struct ran r = run_request(s, &call, &request);

	cr_assert(eq(int, r.err, ERR_INTERRUPTED));
	cr_assert(not(r.result.may_have_run));
	cr_assert(not(outside_exists(s, "ran")));
	cancel_release(&cancel);
}

static enum err refuse_output(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	(void)context, (void)stream, (void)bytes, (void)len;
	return error_set(e, ERR_TOO_LARGE, "enough");
}

BEHAVIOUR(execute, a_sink_that_refuses_ends_the_command)
{
	struct execute_request request = { .command = "yes" };
	struct execute_result result;
	struct error e = { 0 };
	enum err kind = provider_execute(s->p, NULL, &request, refuse_output, NULL, &result, &e);

	cr_assert(eq(int, kind, ERR_TOO_LARGE));
	cr_assert(eq(str, e.text, "enough"));
}

static void *run_many(void *context)
{
	struct subject *s = context;
	size_t wrong = 0;

	for (int i = 0; i < 10; i++) {
		struct execute_request request = {
			.command = "printf '%s' $((6 * 7))", .input = "x", .input_len = 1
		};
		AUTO_RAN struct ran r = run_request(s, NULL, &request);

		wrong += r.err || !is(&r.out, "42");
	}
	return (void *)wrong;
}

BEHAVIOUR(execute, runs_commands_of_several_threads)
{
	pthread_t threads[4];

	for (size_t i = 0; i < 4; i++)
		cr_assert(pthread_create(&threads[i], NULL, run_many, s) == 0);
	for (size_t i = 0; i < 4; i++) {
		void *wrong;

		pthread_join(threads[i], &wrong);
		cr_expect(eq(ptr, wrong, NULL));
	}
}
