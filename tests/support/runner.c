/* The runner's side of Criterion's library, under the names that its macros call. */
#include "tests/support/runner.h"

#include <criterion/criterion.h>
#include <criterion/logging.h>
#include <criterion/new/assert.h>
#include <fnmatch.h>
#include <getopt.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SKIPPED  77
#define JOBS_MAX 64
/*
 * The most that a test writes in one line. Output of another test does not cut a write of that
 * size.
 */
#define LINE_MAX_SAID 4096

/*
 * The arrays, from begin to end, in which the linker puts the declarations of Test() and
 * TestSuite().
 */
extern struct criterion_test *__start_cr_tst[], *__stop_cr_tst[];
extern struct criterion_suite *__start_cr_sts[], *__stop_cr_sts[];

/* A slot for one test at a time. */
struct slot {
	pid_t pid; /* 0: the slot is free */
	const struct criterion_test *test;
	double began, ends; /* ends 0: the test may take any time */
	bool is_late;
};

static struct {
	const char *pattern;
	unsigned jobs;
	bool fails_fast, lists;
	struct slot slots[JOBS_MAX];
	/* a flag of each slot; shared with the tests and with their children */
	_Atomic bool *has_failed, *has_ended;
	sigset_t mask; /* the signal mask of the tests */
	unsigned count, failed;
} all = { .pattern = "*", .jobs = 1 };

/* The one test of this process: Criterion's functions do not receive it. */
static struct {
	const struct criterion_test *test;
	const struct criterion_suite *suite; /* NULL: the suite is declared nowhere */
	_Atomic bool *has_failed;
	jmp_buf end;
} here;

/* ---- Functions that the macros call ---- */

static void call(void (*fixture)(void))
{
	if (fixture)
		fixture();
}

void criterion_internal_test_setup(void)
{
	if (here.suite)
		call(here.suite->data->init);
	call(here.test->data->init);
}

void criterion_internal_test_main(void (*test)(void))
{
	if (!setjmp(here.end))
		test();
}

void criterion_internal_test_teardown(void)
{
	if (setjmp(here.end))
		return;
	call(here.test->data->fini);
	if (here.suite)
		call(here.suite->data->fini);
}

void criterion_continue_test(void)
{
	*here.has_failed = true;
}

void criterion_abort_test(void)
{
	*here.has_failed = true;
	longjmp(here.end, 1);
}

/* Writes one or more lines in one write, each behind the prefix of a TAP comment. */
static void say(const struct criterion_test *test, const char *text)
{
	char said[LINE_MAX_SAID];
	size_t len = (size_t)snprintf(said, sizeof said, "# %s/%s: ", test->category, test->name);

	for (; *text && len < sizeof said - 4; text++) {
		said[len++] = *text;
		if (*text == '\n' && text[1]) {
			said[len++] = '#';
			said[len++] = ' ';
		}
	}
	said[len++] = '\n';
	if (write(STDERR_FILENO, said, len) < 0)
		return;
}

static void say_format(const char *format, va_list arguments)
{
	char text[LINE_MAX_SAID];

	vsnprintf(text, sizeof text, format, arguments);
	say(here.test, text);
}

void criterion_skip_test(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say_format(format, arguments);
	va_end(arguments);
	_exit(SKIPPED);
}

void cr_log(enum criterion_severity severity, const char *format, ...)
{
	va_list arguments;

	(void)severity;
	va_start(arguments, format);
	say_format(format, arguments);
	va_end(arguments);
}

/* Adds the expressions that were compared, and the values of those that do not hold. */
static size_t add_node(char *text, size_t len, size_t room, const struct cri_assert_node *node)
{
	for (uint32_t n = 0; n < node->nchild && len < room; n++) {
		const struct cri_assert_node *child = &node->children[n];

		len += (size_t)snprintf(text + len, room - len, "\n  %s%s",
			child->pass ? "" : "not: ", child->repr);
		for (size_t p = 0; p < CRI_ASSERT_MAX_PARAMS && len < room && !child->pass; p++)
			if (child->params[p].name && child->params[p].data &&
				child->params[p].type == CRI_ASSERT_RT_STR)
				len += (size_t)snprintf(text + len, room - len, "\n    %s: %s",
					child->params[p].name, (const char *)child->params[p].data);
		if (len < room)
			len = add_node(text, len, room, child);
	}
	return len;
}

void cri_assert_node_send(const char *file, size_t line, struct cri_assert_node *tree)
{
	char text[LINE_MAX_SAID];
	int len = snprintf(
		text, sizeof text, "%s:%zu: %s", file, line, tree->message ? tree->message : "");

	if ((size_t)len < sizeof text)
		add_node(text, (size_t)len, sizeof text, tree);
	say(here.test, text);
}

/* ---- Which there are ---- */

static const struct criterion_suite *suite_of(const struct criterion_test *test)
{
	/* cppcheck-suppress comparePointers */
	for (struct criterion_suite **s = __start_cr_sts; s < __stop_cr_sts; s++)
		if (*s && !strcmp((*s)->name, test->category))
			return *s;
	return NULL;
}

static double timeout_of(const struct criterion_test *test)
{
	const struct criterion_suite *suite = suite_of(test);

	return test->data->timeout > 0 || !suite ? test->data->timeout : suite->data->timeout;
}

static bool is_chosen(const struct criterion_test *test)
{
	char name[256];

	snprintf(name, sizeof name, "%s/%s", test->category, test->name);
	return !test->data->disabled && !fnmatch(all.pattern, name, FNM_EXTMATCH);
}

bool runner_has(const char *suite)
{
	/* cppcheck-suppress comparePointers */
	for (struct criterion_test **t = __start_cr_tst; t < __stop_cr_tst; t++)
		if (*t && is_chosen(*t) && !strncmp((*t)->category, suite, strlen(suite)))
			return true;
	return false;
}

/* ---- One test ---- */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Under a sanitizer the status of exit() has the result of the sanitizer. */
static void run_here(
	const struct criterion_test *test, _Atomic bool *has_failed, _Atomic bool *has_ended)
{
	sigprocmask(SIG_SETMASK, &all.mask, NULL);
	here.test = test;
	here.suite = suite_of(test);
	here.has_failed = has_failed;
	test->test();
	*has_ended = true;
	exit(EXIT_SUCCESS);
}

static void begin(struct slot *s, const struct criterion_test *test)
{
	double timeout = timeout_of(test);
	_Atomic bool *has_failed = &all.has_failed[s - all.slots];
	_Atomic bool *has_ended = &all.has_ended[s - all.slots];

	*has_failed = *has_ended = false;
	*s = (struct slot){ .test = test, .began = now() };
	s->ends = timeout > 0 ? s->began + timeout : 0;
	fflush(NULL);
	s->pid = fork();
	if (!s->pid)
		run_here(test, has_failed, has_ended);
	if (s->pid < 0) {
		perror("fork");
		exit(EXIT_FAILURE);
	}
}

static bool ended_as_wanted(const struct slot *s, int status)
{
	const struct criterion_test_extra_data *data = s->test->data;

	if (all.has_failed[s - all.slots] || s->is_late)
		return false;
	if (data->signal)
		return WIFSIGNALED(status) && WTERMSIG(status) == data->signal;
	/* A call that ends the program in the midst of a test leaves the rest of the test out. */
	if (!data->exit_code && !all.has_ended[s - all.slots])
		return false;
	return WIFEXITED(status) && WEXITSTATUS(status) == data->exit_code;
}

static void say_end(const struct slot *s, int status)
{
	char text[128];

	if (s->is_late)
		snprintf(text, sizeof text, "not over after %.0f s", s->ends - s->began);
	else if (WIFSIGNALED(status))
		snprintf(text, sizeof text, "ended by signal %d (%s)", WTERMSIG(status),
			strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status) != s->test->data->exit_code)
		snprintf(text, sizeof text, "ended with exit code %d", WEXITSTATUS(status));
	else if (!s->test->data->exit_code && !all.has_ended[s - all.slots])
		snprintf(text, sizeof text, "ended the program before its end");
	else
		return;
	say(s->test, text);
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static void end(struct slot *s, int status, const struct rusage *used)
{
	bool is_skipped = WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED &&
		!all.has_failed[s - all.slots];
	bool passed = is_skipped || ended_as_wanted(s, status);

	if (!passed)
		say_end(s, status);
	all.failed += !passed;
	printf("%s %u - %s::%s%s  (%.2fs, %.2fs of a processor)\n", passed ? "ok" : "not ok",
		++all.count, s->test->category, s->test->name, is_skipped ? " # SKIP" : "",
		now() - s->began, seconds(used->ru_utime) + seconds(used->ru_stime));
	fflush(stdout);
	s->pid = 0;
}

/* ---- All tests ---- */

static unsigned running(void)
{
	unsigned count = 0;

	for (unsigned n = 0; n < all.jobs; n++)
		count += all.slots[n].pid != 0;
	return count;
}

static void end_late_ones(void)
{
	double at = now();

	for (struct slot *s = all.slots; s < all.slots + all.jobs; s++)
		if (s->pid && s->ends > 0 && at >= s->ends && !s->is_late) {
			s->is_late = true;
			kill(s->pid, SIGKILL);
		}
}

/* Whether a test has ended. */
static bool take_ended(void)
{
	struct rusage used;
	int status;
	bool any = false;

	for (struct slot *s = all.slots; s < all.slots + all.jobs; s++)
		if (s->pid && wait4(s->pid, &status, WNOHANG, &used) == s->pid) {
			end(s, status, &used);
			any = true;
		}
	return any;
}

static void wait_for_one(void)
{
	const struct timespec look = { .tv_sec = 1 };
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	while (!take_ended()) {
		end_late_ones();
		sigtimedwait(&child, NULL, &look);
	}
}

static struct slot *free_slot(void)
{
	while (running() == all.jobs)
		wait_for_one();
	for (struct slot *s = all.slots;; s++)
		if (!s->pid)
			return s;
}

static void run_all(void)
{
	/* cppcheck-suppress comparePointers */
	for (struct criterion_test **t = __start_cr_tst; t < __stop_cr_tst; t++) {
		if (!*t || !is_chosen(*t))
			continue;
		struct slot *s = free_slot();

		if (all.fails_fast && all.failed)
			break;
		begin(s, *t);
	}
	while (running())
		wait_for_one();
	if (!all.count) {
		printf("not ok 1 - a test matches %s\n", all.pattern);
		all.count = all.failed = 1;
	}
	printf("1..%u\n", all.count);
}

static void list_all(void)
{
	/* cppcheck-suppress comparePointers */
	for (struct criterion_test **t = __start_cr_tst; t < __stop_cr_tst; t++)
		if (*t && is_chosen(*t))
			printf("%s/%s\n", (*t)->category, (*t)->name);
}

static void read_options(int argc, char **argv)
{
	static const struct option options[] = { { "filter", required_argument, NULL, 'f' },
		{ "jobs", required_argument, NULL, 'j' }, { "fail-fast", no_argument, NULL, 'x' },
		{ "list", no_argument, NULL, 'l' }, { 0 } };
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0)
		switch (option) {
		case 'f': all.pattern = optarg; break;
		case 'j': all.jobs = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'x': all.fails_fast = true; break;
		case 'l': all.lists = true; break;
		default: exit(2);
		}
	if (all.jobs < 1 || all.jobs > JOBS_MAX)
		all.jobs = JOBS_MAX;
}

static void prepare(void)
{
	sigset_t child;
	void *shared = mmap(NULL, 2 * sizeof(_Atomic bool) * JOBS_MAX, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED) {
		perror("mmap");
		exit(EXIT_FAILURE);
	}
	all.has_failed = shared;
	all.has_ended = all.has_failed + JOBS_MAX;
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &all.mask);
}

int main(int argc, char **argv)
{
	read_options(argc, argv);
	if (all.lists) {
		list_all();
		return EXIT_SUCCESS;
	}
	if (runner_begins)
		runner_begins();
	prepare();
	run_all();
	if (runner_ends)
		runner_ends();
	return all.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
