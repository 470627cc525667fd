/*
 * Runs Criterion's tests where its own runner does not start: the thread sanitizer will not have memory where that puts it.
 *
 * One test after the other, each in a process of its own; TAP on standard output. `--filter PATTERN` chooses as there.
 * What the runner's side of Criterion's library would do stands here, under the names that its macros call.
 */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif
#ifdef __SANITIZE_THREAD__

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SKIPPED 77

/* Where the linker puts what Test() and TestSuite() declare. */
extern struct criterion_test *__start_cr_tst[], *__stop_cr_tst[];
extern struct criterion_suite *__start_cr_sts[], *__stop_cr_sts[];

/* Of the one test of this process: Criterion's functions are given none of it. */
static struct {
	const struct criterion_test *test;
	const struct criterion_suite *suite; /* NULL: it is declared nowhere */
	_Atomic bool has_failed;
	jmp_buf end;
} here;

/* ---- What the macros call ---- */

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
	here.has_failed = true;
}

void criterion_abort_test(void)
{
	here.has_failed = true;
	longjmp(here.end, 1);
}

void criterion_skip_test(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	_exit(SKIPPED);
}

void cri_assert_node_send(const char *file, size_t line, struct cri_assert_node *tree)
{
	fprintf(stderr, "%s:%zu: %s\n", file, line, tree->message ? tree->message : "");
	for (size_t n = 0; n < tree->nchild; n++)
		fprintf(stderr, "\t%s\n", tree->children[n].repr);
}

/* ---- One test ---- */

static const struct criterion_suite *suite_of(const struct criterion_test *test)
{
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

/* Under the sanitizer exit() says whether it saw something. */
static void run_here(const struct criterion_test *test)
{
	here.test = test;
	here.suite = suite_of(test);
	alarm((unsigned)timeout_of(test));
	test->test();
	exit(here.has_failed ? EXIT_FAILURE : EXIT_SUCCESS);
}

/* Returns what waitpid() says of it. */
static int run(const struct criterion_test *test)
{
	int status = 0;

	fflush(NULL);
	pid_t pid = fork();

	if (!pid)
		run_here(test);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return status;
}

/* ---- All of them ---- */

static bool is_chosen(const struct criterion_test *test, const char *pattern)
{
	char name[256];

	snprintf(name, sizeof name, "%s/%s", test->category, test->name);
	return !fnmatch(pattern, name, FNM_EXTMATCH);
}

static bool tell(unsigned number, const struct criterion_test *test, int status)
{
	bool is_skipped = WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED;

	printf("%s %u - %s::%s%s\n", status && !is_skipped ? "not ok" : "ok", number,
		test->category, test->name, is_skipped ? " # SKIP" : "");
	return !status || is_skipped;
}

static const char *pattern_of(int argc, char **argv)
{
	const char *pattern = "*";

	for (int n = 1; n + 1 < argc; n++)
		if (!strcmp(argv[n], "--filter"))
			pattern = argv[n + 1];
	return pattern;
}

int main(int argc, char **argv)
{
	const char *pattern = pattern_of(argc, argv);
	unsigned count = 0;
	bool all_passed = true;

	for (struct criterion_test **t = __start_cr_tst; t < __stop_cr_tst; t++)
		if (*t && is_chosen(*t, pattern))
			all_passed &= tell(++count, *t, run(*t));
	printf("1..%u\n", count);
	return all_passed ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
