#include "fs/control/job_watch.h"

#include "cache/cache.h"
#include "fs/deferred.h"
#include "tests/support/host_provider.h"
#include "tests/support/scratch.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Between looks that no test asked for. */
#define AN_HOUR_MS 3600000
#define PATIENCE   60

/* ---- A sandbox that ends by itself, and its jobs ---- */

static struct scratch scratch;
static struct host_provider host;
static struct cache *cache;
static struct deferrals *deferrals;
static struct jobs *jobs;

static void setup(void)
{
	static const struct exec_terms terms;
	const struct sandbox_info info = { .id = "host", .expires_s = 3600 };
	const struct cache_options options = { .sandbox = &info, .attr_ms = -1, .entry_ms = -1 };
	struct error e = { 0 };

	scratch_make(&scratch);
	host_provider_init(&host, scratch.path);
	cr_assert(eq(int, cache_new(&cache, &host.base, &options, NULL, &e), ERR_OK), "%s", e.text);
	cr_assert(eq(int, deferrals_new(&deferrals, &e), ERR_OK), "%s", e.text);
	cr_assert(eq(int, jobs_new(&jobs, cache, deferrals, &terms, &e), ERR_OK), "%s", e.text);
	job_watch_free(jobs->watch);
	cr_assert(
		eq(int, job_watch_new(&jobs->watch, cache, AN_HOUR_MS, &e), ERR_OK), "%s", e.text);
}

static void teardown(void)
{
	deferrals_stop(deferrals);
	jobs_free(jobs);
	deferrals_free(deferrals);
	cache_free(cache);
	host_provider_end(&host);
	scratch_remove(&scratch);
}

TestSuite(job_watch, .init = setup, .fini = teardown, .timeout = 300);

static struct job *started(const char *command)
{
	struct buf text = BUF_INIT(JOB_TEXT_MAX);
	struct error e = { 0 };
	struct job *job;

	buf_add_string(&text, command);
	cr_assert(eq(int, jobs_spawn(jobs, &text, &(struct audit_who){ 0 }, &job, &e), ERR_OK),
		"%s", e.text);
	cr_assert(eq(int, job_await_start(job, NULL, &e), ERR_OK), "%s", e.text);
	return job;
}

static bool is_watched(const struct job *job)
{
	return job->is_watched;
}

static bool wait_for_file(const char *path)
{
	char whole[200];

	snprintf(whole, sizeof whole, "%s/tree/%s", scratch.path, path);
	for (time_t end = time(NULL) + PATIENCE; time(NULL) < end;) {
		if (!access(whole, F_OK))
			return true;
		usleep(1000);
	}
	return false;
}

static unsigned entries_of(const char *path)
{
	DIR *dir = opendir(path);
	unsigned count = 0;

	cr_assert(dir != NULL);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/* A thread that has done its work may still be about to end. */
static bool come_to_entries(const char *path, unsigned at_most)
{
	for (time_t end = time(NULL) + PATIENCE; time(NULL) < end; usleep(1000))
		if (entries_of(path) <= at_most)
			return true;
	return false;
}

/* ---- Threads and descriptors ---- */

Test(job_watch, many_jobs_have_one_thread_and_no_descriptor)
{
	const unsigned threads = entries_of("/proc/self/task");
	const unsigned descriptors = entries_of("/proc/self/fd");

	for (int n = 0; n < 40; n++)
		job_put(started(n % 2 ? "exec sleep 1000" : "true"));
	cr_expect(come_to_entries("/proc/self/task", threads + 1));
	cr_expect(come_to_entries("/proc/self/fd", descriptors));
	for (uint64_t id = 0; (id = jobs_next(jobs, id));) {
		struct job *job = jobs_get(jobs, id);

		if (is_watched(job))
			job_signal(job, &(struct call){ 0 }, "KILL", NULL);
		job_put(job);
	}
}

Test(job_watch, hundreds_of_jobs_are_looked_at_in_one_request)
{
	struct job *some[30];
	size_t executed;

	for (size_t n = 0; n < 30; n++)
		some[n] = started("exec sleep 1000");
	executed = host.executed;
	job_watch_look(jobs->watch);
	cr_expect(eq(sz, host.executed, executed + 1));
	for (size_t n = 0; n < 30; n++) {
		cr_expect(is_watched(some[n]), "%zu", n);
		job_signal(some[n], &(struct call){ 0 }, "KILL", NULL);
		job_put(some[n]);
	}
}

/* ---- How long a job is watched ---- */

Test(job_watch, a_look_finds_out_which_jobs_have_ended)
{
	struct job *runs = started("exec sleep 1000");
	struct job *ends = started("exit 3");
	struct job_facts facts = { 0 };
	struct error e = { 0 };

	for (time_t end = time(NULL) + PATIENCE; is_watched(ends) && time(NULL) < end;)
		job_watch_look(jobs->watch);
	cr_expect(not(is_watched(ends)));
	cr_expect(is_watched(runs));
	cr_expect(eq(int, job_look(ends, &(struct call){ 0 }, &facts, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(int, facts.state, JOB_EXITED));
	cr_expect(eq(int, facts.exit_code, 3));
	job_signal(runs, &(struct call){ 0 }, "KILL", NULL);
	job_put(runs);
	job_put(ends);
}

Test(job_watch, whoever_finds_out_that_a_job_has_ended_ends_its_watch)
{
	struct job *job = started("true");
	struct job_facts facts = { 0 };
	struct error e = { 0 };

	cr_expect(is_watched(job));
	while (facts.state != JOB_EXITED)
		cr_assert(eq(int, job_look(job, &(struct call){ 0 }, &facts, &e), ERR_OK), "%s",
			e.text);
	cr_expect(not(is_watched(job)));
	job_put(job);
}

Test(job_watch, a_job_whose_files_are_gone_is_watched_no_more)
{
	struct job *job = started("touch begun; exec sleep 1000");
	char command[300];

	cr_assert(wait_for_file("begun"));
	job_signal(job, &(struct call){ 0 }, "KILL", NULL);
	snprintf(command, sizeof command, "rm -f %s/staging/job-*", scratch.path);
	cr_assert(zero(int, system(command)));
	for (time_t end = time(NULL) + PATIENCE; is_watched(job) && time(NULL) < end;)
		job_watch_look(jobs->watch);
	cr_expect(not(is_watched(job)));
	job_put(job);
}

/* ---- The thread ---- */

Test(job_watch, the_thread_looks_again_and_again)
{
	struct job_watch *watch;
	struct job *job = started("true");
	struct error e = { 0 };

	job_watch_remove(jobs->watch, job);
	cr_assert(eq(int, job_watch_new(&watch, cache, 1, &e), ERR_OK), "%s", e.text);
	struct job_watch *former = jobs->watch;

	jobs->watch = watch;
	job_watch_add(watch, job);
	for (time_t end = time(NULL) + PATIENCE; is_watched(job) && time(NULL) < end;)
		usleep(1000);
	cr_expect(not(is_watched(job)));
	jobs->watch = former;
	job_watch_free(watch);
	job_put(job);
}

Test(job_watch, the_end_of_the_mount_lets_go_of_jobs_that_run)
{
	struct job *job = started("exec sleep 1000");

	job_signal(job, &(struct call){ 0 }, "KILL", NULL);
	job_watch_free(jobs->watch);
	jobs->watch = NULL;
	cr_expect(not(is_watched(job)));
	job_put(job);
}
