#include "fs/control/job_watch.h"

#include "cache/cache.h"
#include "fs/control/job_script.h"
#include "providers/base/cleanup.h"
#include "providers/base/condition.h"
#include "providers/base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* Shorter than the 150 s after which the time of a sandbox in use is extended. */
#define WATCH_MS 60000

/* ---- Life ---- */

static void job_free(struct job *job)
{
	buf_release(&job->text);
	pthread_cond_destroy(&job->changed);
	pthread_mutex_destroy(&job->lock);
	free(job);
}

static void put_locked(struct job *job)
{
	if (--job->references == 0)
		job_free(job);
}

void job_put(struct job *job)
{
	struct jobs *all = job->all;

	pthread_mutex_lock(&all->lock);
	put_locked(job);
	pthread_mutex_unlock(&all->lock);
}

struct job *job_get(struct job *job)
{
	pthread_mutex_lock(&job->all->lock);
	job->references++;
	pthread_mutex_unlock(&job->all->lock);
	return job;
}

uint64_t job_id(const struct job *job)
{
	return job->facts.id;
}

static enum err job_new(struct job **out, struct jobs *all, struct buf *text, struct error *e)
{
	struct job *job = calloc(1, sizeof *job);

	if (!job)
		return error_set(e, ERR_NO_MEMORY, "a job");
	*job = (struct job){ .all = all,
		.text = *text,
		.facts = { .state = JOB_STARTING },
		.progress = progress_now() };
	*text = (struct buf)BUF_INIT(text->max);
	job->facts.command = buf_text(&job->text);
	pthread_mutex_init(&job->lock, NULL);
	condition_init(&job->changed);
	*out = job;
	return ERR_OK;
}

/* A word for the names of this mount's files. */
static enum err choose_mount(char out[17], struct error *e)
{
	uint64_t number;

	if (getrandom(&number, sizeof number, 0) != sizeof number)
		return error_errno(e, errno, "getrandom");
	snprintf(out, 17, "%016" PRIx64, number);
	return ERR_OK;
}

enum err jobs_new(struct jobs **out, struct cache *cache, struct deferrals *deferrals,
	const struct exec_terms *terms, struct error *e)
{
	AUTO_FREE struct jobs *all = calloc(1, sizeof *all);
	enum err kind;

	if (!all)
		return error_set(e, ERR_NO_MEMORY, "jobs");
	*all = (struct jobs){ .cache = cache, .deferrals = deferrals, .terms = terms };
	cache_word(cache, all->word);
	kind = choose_mount(all->mount, e);
	if (!kind)
		kind = job_watch_new(&all->watch, cache, WATCH_MS, e);
	if (kind)
		return kind;
	pthread_mutex_init(&all->lock, NULL);
	TAILQ_INIT(&all->list);
	*out = take(all);
	return ERR_OK;
}

static enum err ignore_output(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	(void)context, (void)stream, (void)bytes, (void)len, (void)e;
	return ERR_OK;
}

/*
 * The output of jobs can be read through their mount alone. So the files of an earlier mount that
 * was killed are removed, too.
 */
static void forget_all(struct jobs *all)
{
	const struct call call = { .progress_ms = CALL_LAST_MS, .is_background = true };
	AUTO_BUF struct buf script = BUF_INIT(4 * JOB_BASE_MAX + 1024);
	struct execute_request request = { .timeout_ms = CALL_LAST_MS };
	struct execute_result result;
	struct error e = { 0 };
	char base[JOB_BASE_MAX];

	snprintf(base, sizeof base, "%s/" STAGED_JOB "%s-", cache_staging(all->cache), all->word);
	job_script_forget(&script, base);
	request.command = buf_text(&script);
	if (buf_check(&script, "a job's script", &e) ||
		cache_execute_own(all->cache, &call, &request, ignore_output, NULL, &result, &e))
		log_info(LOG_CONTROL, "files of jobs stay in the sandbox: %s", e.text);
}

void jobs_free(struct jobs *all)
{
	struct job *job;

	if (!all)
		return;
	job_watch_free(all->watch);
	if (all->last || (cache_follows_killed(all->cache) && cache_staging(all->cache)))
		forget_all(all);
	pthread_mutex_lock(&all->lock);
	while ((job = TAILQ_FIRST(&all->list))) {
		TAILQ_REMOVE(&all->list, job, link);
		put_locked(job);
	}
	pthread_mutex_unlock(&all->lock);
	pthread_mutex_destroy(&all->lock);
	free(all);
}

/* ---- The list ---- */

static void drop_oldest_locked(struct jobs *all)
{
	struct job *oldest = NULL, *job;
	size_t ended = 0;

	TAILQ_FOREACH_REVERSE(job, &all->list, job_list, link)
	if (job_has_ended(job)) {
		oldest = job;
		ended++;
	}
	if (ended <= JOBS_ENDED_MAX)
		return;
	TAILQ_REMOVE(&all->list, oldest, link);
	put_locked(oldest);
}

void jobs_base(const struct jobs *all, const char *number, char out[JOB_BASE_MAX])
{
	snprintf(out, JOB_BASE_MAX, "%s/" STAGED_JOB "%s-%s-%s", cache_staging(all->cache),
		all->word, all->mount, number);
}

/* The caller's reference and the list's. */
static void enlist(struct jobs *all, struct job *job)
{
	char number[24];

	pthread_mutex_lock(&all->lock);
	job->references = 2;
	job->facts.id = ++all->last;
	snprintf(number, sizeof number, "%" PRIu64, job->facts.id);
	jobs_base(all, number, job->base);
	TAILQ_INSERT_TAIL(&all->list, job, link);
	drop_oldest_locked(all);
	pthread_mutex_unlock(&all->lock);
}

struct job *jobs_get(struct jobs *all, uint64_t id)
{
	struct job *job;

	pthread_mutex_lock(&all->lock);
	TAILQ_FOREACH(job, &all->list, link)
	if (job->facts.id == id) {
		job->references++;
		break;
	}
	pthread_mutex_unlock(&all->lock);
	return job;
}

uint64_t jobs_next(struct jobs *all, uint64_t id)
{
	struct job *job;
	uint64_t next = 0;

	pthread_mutex_lock(&all->lock);
	TAILQ_FOREACH(job, &all->list, link)
	if (job->facts.id > id) {
		next = job->facts.id;
		break;
	}
	pthread_mutex_unlock(&all->lock);
	return next;
}

uint64_t jobs_last(struct jobs *all)
{
	uint64_t last;

	pthread_mutex_lock(&all->lock);
	last = all->last;
	pthread_mutex_unlock(&all->lock);
	return last;
}

/* ---- The thread that starts a job ---- */

static void live(void *context, const struct cancel *cancel)
{
	struct job *job = context;
	const struct call call = { .progress_ms = cache_progress_ms(job->all->cache) };
	struct job_facts facts;
	struct error e = { 0 };

	job_start(job, cancel);
	if (!job_is_embedded(job) || job_has_ended(job))
		return;
	if (job_look(job, &call, &facts, &e))
		log_warn(LOG_CONTROL, "%s", e.text);
	job_note_lost(job);
}

static void live_release(void *context)
{
	job_put(context);
}

static const struct deferred_work life = { .run = live, .release = live_release };

static enum err check_text(const struct buf *text, struct error *e)
{
	if (text->failed)
		return error_set(
			e, ERR_TOO_LARGE, "a job's command has more than %zu bytes", text->max);
	if (text->len && memchr(text->bytes, 0, text->len))
		return error_set(e, ERR_INVALID, "a job's command contains a NUL byte");
	if (strspn(buf_text(text), " \t\n\v\f\r") == text->len)
		return error_set(e, ERR_INVALID, "a job without a command");
	return ERR_OK;
}

/* The job's thread has a reference. */
static void begin(struct jobs *all, struct job *job)
{
	struct error e = { 0 };

	jobs_get(all, job->facts.id);
	if (deferred_start(all->deferrals, &life, job, NULL, &e) == ERR_OK)
		return;
	job_note_failed(job, e.kind, e.text);
	job_put(job);
}

enum err jobs_spawn(struct jobs *all, struct buf *text, const struct audit_who *who,
	struct job **out, struct error *e)
{
	struct job *job = NULL;
	enum err kind = check_text(text, e);

	if (!kind && !cache_staging(all->cache))
		kind = error_set(e, ERR_UNSUPPORTED, "there is no place for a job's output");
	if (!kind)
		kind = job_new(&job, all, text, e);
	if (kind)
		return kind;
	enlist(all, job);
	audit_job(all->terms->audit, who, job->facts.id, buf_text(&job->text));
	begin(all, job);
	*out = job;
	return ERR_OK;
}
