/* How bwrap is ended: all that it has started by then ends with it, at any moment. */
#include "providers/local/bubblewrap.h"

#include "providers/base/cleanup.h"
#include "providers/local/jail_root.h"
#include "tests/support/scratch.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

static struct scratch store;
static char root[100], home[100], tmp[100];

/* This process becomes the parent of every orphan. */
static void set_up(void)
{
	AUTO_CLOSE int fd = -1;
	struct error e = { 0 };

	scratch_make(&store);
	scratch_mkdir(&store, "root", 0755);
	fd = openat(store.fd, "root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert(eq(int, jail_root_make(fd, &e), ERR_OK), "%s", e.text);
	scratch_mkdir(&store, "home", 0755);
	scratch_mkdir(&store, "home/user", 0755);
	scratch_mkdir(&store, "tmp", 0755);
	snprintf(root, sizeof root, "%s/root", store.path);
	snprintf(home, sizeof home, "%s/home", store.path);
	snprintf(tmp, sizeof tmp, "%s/tmp", store.path);
	cr_assert(zero(int, prctl(PR_SET_CHILD_SUBREAPER, 1)));
}

static void tear_down(void)
{
	scratch_remove(&store);
}

TestSuite(bubblewrap, .init = set_up, .fini = tear_down, .timeout = 300);

/* Whether no process is left, soon. Ended children are waited for. */
static bool no_process_is_left(void)
{
	int64_t until_ms = monotonic_ms() + 60000;
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) >= 0 && monotonic_ms() < until_ms)
		if (!pid)
			call_sleep(NULL, 1, NULL);
	return pid < 0 && errno == ECHILD;
}

static enum err discard(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	(void)context, (void)stream, (void)bytes, (void)len, (void)e;
	return ERR_OK;
}

struct canceller {
	struct cancel cancel;
	int64_t after_us;
};

static void *cancel_after(void *context)
{
	struct canceller *c = context;

	usleep((useconds_t)c->after_us);
	cancel_throw(&c->cancel);
	return NULL;
}

/* A command that would take long, cancelled so soon. */
static enum err run_cancelled(int64_t after_us)
{
	const struct jail jail = { .name = "x",
		.root = root,
		.home = home,
		.user_home = home,
		.tmp = tmp,
		.user = "user" };
	const struct execute_request request = { .command = "sleep 1000" };
	struct canceller c = { .after_us = after_us };
	const struct call call = { .cancel = &c.cancel };
	struct execute_result result;
	struct error e = { 0 };
	pthread_t thread;
	enum err kind;

	cr_assert(zero(int, cancel_init(&c.cancel, NULL)));
	cr_assert(zero(int, pthread_create(&thread, NULL, cancel_after, &c)));
	kind = bubblewrap_run(&jail, &call, &request, "/home", discard, NULL, &result, &e);
	pthread_join(thread, NULL);
	cancel_release(&c.cancel);
	return kind;
}

Test(bubblewrap, a_command_that_is_cancelled_at_any_moment_of_its_start_leaves_no_process)
{
	for (int64_t after_us = 0; after_us < 30000; after_us += 150) {
		cr_assert(eq(int, run_cancelled(after_us), ERR_INTERRUPTED));
		cr_assert(no_process_is_left(), "after %ld us", (long)after_us);
	}
}

/* In place of bwrap. */
static void make_bwrap(const char *script)
{
	char path[100];

	scratch_mkdir(&store, "bin", 0755);
	scratch_write_text(&store, "bin/bwrap", script);
	cr_assert(zero(int, fchmodat(store.fd, "bin/bwrap", 0755, 0)));
	snprintf(path, sizeof path, "%s/bin", store.path);
	setenv("PATH", path, 1);
}

/*
 * The process that this bwrap starts has not asked to end with it, as the real one's has not at
 * first.
 */
#define BEGIN "#!/bin/sh\nsleep 1000 &\n"
#define TELL  "printf '{\\n    \"child-pid\": %d' $! >&4\nwait\n"

Test(bubblewrap, its_process_that_does_not_end_with_it_is_killed_too)
{
	make_bwrap(BEGIN TELL);
	cr_assert(eq(int, run_cancelled(200000), ERR_INTERRUPTED));
	cr_assert(no_process_is_left());
}

Test(bubblewrap, a_process_that_was_not_reported_yet_is_killed_too)
{
	make_bwrap(BEGIN "sleep 0.3\n" TELL);
	cr_assert(eq(int, run_cancelled(100000), ERR_INTERRUPTED));
	cr_assert(no_process_is_left());
}

Test(bubblewrap, a_bwrap_that_reports_nothing_is_not_waited_for)
{
	int64_t begun_ms = monotonic_ms();

	make_bwrap("#!/bin/sh\nexec sleep 1000\n");
	cr_assert(eq(int, run_cancelled(100000), ERR_INTERRUPTED));
	cr_assert(lt(long, monotonic_ms() - begun_ms, 60000));
	cr_assert(no_process_is_left());
}

/* The command's time and a second more. */
static enum err take_its_time(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	const int64_t *timeout_ms = context;

	(void)stream, (void)bytes, (void)len;
	return call_sleep(NULL, *timeout_ms + 1000, e);
}

Test(bubblewrap, what_ended_in_its_time_did_so_however_long_its_reader_takes)
{
	const struct jail jail = { .name = "x",
		.root = root,
		.home = home,
		.user_home = home,
		.tmp = tmp,
		.user = "user" };
	struct execute_request request = { .command = "echo out; exit 3", .timeout_ms = 500 };
	struct execute_result result;
	struct error e = { 0 };

	/* A busy machine may not begin the command in that time. */
	do {
		request.timeout_ms *= 4;
		bubblewrap_run(&jail, NULL, &request, "/home", take_its_time, &request.timeout_ms,
			&result, &e);
		cr_assert(eq(int, e.kind, ERR_OK), "%s", e.text);
	} while (result.timed_out && request.timeout_ms < 30000);
	cr_expect(not(result.timed_out));
	cr_expect(eq(int, result.exit_code, 3));
}
