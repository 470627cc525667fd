/* The base of every layer: errors, paths, the log, calls. */
#include "providers/base/call.h"
#include "providers/base/cleanup.h"
#include "providers/base/log.h"
#include "providers/base/path.h"
#include "providers/base/thread.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>

#define AN_HOUR_MS 3600000

TestSuite(base_error, .timeout = 60);
TestSuite(base_path, .timeout = 60);
TestSuite(base_log, .timeout = 60);
TestSuite(base_call, .timeout = 60);

/* ---- Errors ---- */

Test(base_error, an_error_has_no_control_characters)
{
	struct error e;

	error_set(&e, ERR_IO, "%s", "a\033[2Jb\nc\x7f\303\244\302\233\233\342\200\256");
	cr_expect(eq(str, e.text, "a?[2Jb?c?\303\244???"));
}

Test(base_error, a_kind_is_found_by_its_whole_name_alone)
{
	for (unsigned kind = ERR_OK; error_is_kind(kind); kind++) {
		const char *name = error_name((enum err)kind);

		cr_expect(eq(int, error_named(name, strlen(name)), (enum err)kind), "%s", name);
	}
	cr_expect(eq(int, error_named("", 0), ERR_PROTOCOL));
	cr_expect(eq(int, error_named("NOT_FOUND", 3), ERR_PROTOCOL));
	cr_expect(eq(int, error_named("NOT_FOUNDER", 11), ERR_PROTOCOL));
}

Test(base_error, an_errno_has_its_own_kind)
{
	static const struct {
		int number;
		enum err want;
	} rows[] = {
		{ 0, ERR_OK },
		{ EDQUOT, ERR_QUOTA },
		{ ENOSPC, ERR_NO_SPACE },
		{ EPERM, ERR_NOT_OWNER },
		{ EACCES, ERR_DENIED },
		{ ESTALE, ERR_STALE },
		{ EOPNOTSUPP, ERR_UNSUPPORTED },
		{ ENFILE, ERR_FILES_LIMIT },
		{ EIO, ERR_IO },
		{ 9999, ERR_IO },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect(eq(int, error_from_errno(rows[i].number), rows[i].want), "%d",
			rows[i].number);
}

/* ---- Paths ---- */

Test(base_path, a_path_that_could_lead_elsewhere_is_refused)
{
	static const char *const bad[] = { "..", ".", "a/..", "../a", "a/../b", "a//b", "a/", "a/.",
		"/", "/t/u", "/..", "//t" };
	static const char *const good[] = { "", "a", "a/b", "...", "a/..b", "/t-1", ".git" };

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		cr_expect(eq(int, path_check(bad[i], NULL), ERR_INVALID), "%s", bad[i]);
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		cr_expect(eq(int, path_check(good[i], NULL), ERR_OK), "%s", good[i]);
}

Test(base_path, a_name_has_255_bytes_at_most)
{
	char path[600] = "d/";

	memset(path + 2, 'n', 255);
	cr_expect(eq(int, path_check(path, NULL), ERR_OK));
	path[257] = 'n';
	cr_expect(eq(int, path_check(path, NULL), ERR_NAME_TOO_LONG));
}

Test(base_path, what_is_joined_below_the_root_is_the_name)
{
	AUTO_FREE char *top = path_join("", "a"), *below = path_join("a/b", "c");

	cr_expect(eq(str, top, "a"));
	cr_expect(eq(str, below, "a/b/c"));
}

/* ---- The log ---- */

Test(base_log, a_word_that_is_none_is_refused)
{
	static const char *const bad[] = { "bogus=info", "fs=bogus", "bogus", "=info",
		"fs=", "info,bogus=info" };
	struct error e;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		cr_expect(eq(int, log_setup("test", bad[i], false, &e), ERR_INVALID), "%s", bad[i]);
	cr_expect(eq(int, log_setup("test", "info,fs=debug,helper=error", false, &e), ERR_OK), "%s",
		e.text);
	cr_expect(eq(int, log_setup("test", NULL, false, &e), ERR_OK));
}

/* ---- Calls ---- */

Test(base_call, no_deadline_is_none_and_not_the_default)
{
	cr_expect(eq(i64, call_progress_ms(NULL), CALL_PROGRESS_MS));
	cr_expect(eq(i64, call_progress_ms(&(struct call){ 0 }), CALL_PROGRESS_MS));
	cr_expect(eq(i64, call_progress_ms(&(struct call){ .progress_ms = 7 }), 7));
	cr_expect(eq(i64, call_progress_ms(&(struct call){ .progress_ms = -1 }), -1));
	cr_expect(eq(i64, call_progress_ms(&(struct call){ .progress_ms = -30000 }), -1));
}

/* A call that always has something to read could not be interrupted otherwise. */
Test(base_call, an_interruption_goes_before_what_is_there)
{
	struct cancel cancel;
	const struct call call = { .progress_ms = 60000, .cancel = &cancel };
	AUTO_CLOSE int fd = eventfd(1, EFD_CLOEXEC);

	cr_assert(eq(int, cancel_init(&cancel, NULL), ERR_OK));
	cr_expect(eq(int, call_wait_fd(&call, fd, POLLIN, NULL), ERR_OK));
	cancel_throw(&cancel);
	cr_expect(eq(int, call_wait_fd(&call, fd, POLLIN, NULL), ERR_INTERRUPTED));
	cr_expect(eq(int, call_sleep(&call, 60000, NULL), ERR_INTERRUPTED));
	cancel_release(&cancel);
}

/* A call whose caller has waited for as long as it may, before this call. */
Test(base, the_deadline_of_a_caller_counts_over_all_that_is_waited_for)
{
	struct progress progress = { .since_ms = monotonic_ms() - AN_HOUR_MS };
	const struct call call = { .progress_ms = AN_HOUR_MS, .progress = &progress };

	cr_expect(eq(int, call_wait_fd(&call, -1, 0, NULL), ERR_TIMEOUT));
	cr_expect(eq(int, call_check_time(&call, NULL), ERR_TIMEOUT));
	call_moved(&call);
	cr_expect(eq(int, call_check_time(&call, NULL), ERR_OK));
}

Test(base, what_moves_a_call_moves_who_looks_at_it)
{
	struct progress seen = { 0 }, progress = { .since_ms = 1, .also = &seen };
	const struct call call = { .progress_ms = AN_HOUR_MS, .progress = &progress };

	call_moved_at(&call, 7);
	call_moved_at(&call, 5);
	cr_expect(eq(i64, progress.moved_ms, 7));
	cr_expect(eq(i64, seen.moved_ms, 7));
	cr_expect(eq(i64, call_since_ms(&call), 7));
}

Test(base, who_is_not_asked_for_has_a_deadline_for_each_wait)
{
	const struct call call = { .progress_ms = AN_HOUR_MS };

	cr_expect(eq(int, call_check_time(NULL, NULL), ERR_OK));
	cr_expect(eq(int, call_check_time(&call, NULL), ERR_OK));
	cr_expect(eq(i64, call_left_ms(&(struct call){ .progress_ms = -1 }), INT64_MAX));
	call_moved(&call);
}

/* ---- Threads ---- */

static void *note_mask(void *context)
{
	pthread_sigmask(SIG_SETMASK, NULL, context);
	return NULL;
}

Test(base, a_thread_takes_no_signals_and_its_maker_does)
{
	sigset_t there, here;
	pthread_t thread;

	cr_assert(eq(int, thread_start(&thread, note_mask, &there), 0));
	pthread_join(thread, NULL);
	pthread_sigmask(SIG_SETMASK, NULL, &here);
	cr_expect(eq(int, sigismember(&there, SIGTERM), 1));
	cr_expect(eq(int, sigismember(&there, SIGUSR2), 1));
	cr_expect(eq(int, sigismember(&here, SIGUSR2), 0));
}
