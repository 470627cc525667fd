#include "fs/control/job_watch.h"

#include "cache/cache.h"
#include "fs/control/job_script.h"
#include "providers/base/cleanup.h"
#include "providers/base/condition.h"
#include "providers/base/log.h"
#include "providers/base/thread.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The number of jobs that one request looks at, and the room for its script and its answer. */
#define PIECE_JOBS ((size_t)256)
#define SCRIPT_MAX ((size_t)64 * 1024)
#define ANSWER_MAX ((size_t)64 * 1024)

struct job_watch {
	struct cache *cache;
	int64_t interval_ms;
	struct cancel cancel; /* for looks: thrown when the mount ends */
	/* guards the fields below, and a job's `is_watched` and `watched` */
	pthread_mutex_t lock;
	pthread_cond_t changed; /* the first job was added, or `is_stopping` */
	TAILQ_HEAD(, job) jobs; /* each with a reference; the sandbox is in use for each */
	pthread_t thread;
	bool has_thread, is_stopping;
};

/* ---- One look ---- */

/* Some watched jobs, in the order in which they were added. */
struct piece {
	struct job *jobs[PIECE_JOBS]; /* each with a reference */
	bool is_there[PIECE_JOBS];    /* the sandbox has the job */
	size_t count;
};

static void piece_take_locked(struct job_watch *w, struct piece *piece, uint64_t after)
{
	struct job *job;

	TAILQ_FOREACH(job, &w->jobs, watched)
	if (job_id(job) > after && piece->count < PIECE_JOBS)
		piece->jobs[piece->count++] = job_get(job);
}

/* The watched jobs whose numbers follow `after`; none: false. */
static bool piece_take(struct job_watch *w, struct piece *piece, uint64_t after)
{
	*piece = (struct piece){ 0 };
	pthread_mutex_lock(&w->lock);
	piece_take_locked(w, piece, after);
	pthread_mutex_unlock(&w->lock);
	return piece->count > 0;
}

static enum err keep_answer(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	if (stream == STREAM_OUT && !buf_add(context, bytes, len))
		return error_set(e, ERR_PROTOCOL, "jobs: the sandbox says too much");
	return ERR_OK;
}

static enum err piece_ask(
	struct job_watch *w, const struct piece *piece, struct buf *answer, struct error *e)
{
	const struct call call = { .progress_ms = cache_progress_ms(w->cache),
		.cancel = &w->cancel,
		.is_background = true };
	AUTO_BUF struct buf script = BUF_INIT(SCRIPT_MAX);
	struct execute_result result = { 0 };
	char base[JOB_BASE_MAX];
	uint64_t ids[PIECE_JOBS];
	enum err kind;

	jobs_base(piece->jobs[0]->all, "", base);
	for (size_t n = 0; n < piece->count; n++)
		ids[n] = job_id(piece->jobs[n]);
	job_script_look_at(&script, base, ids, piece->count);
	kind = buf_check(&script, "a script that looks at jobs", e);
	if (!kind)
		kind = cache_execute_own(w->cache, &call,
			&(struct execute_request){ .command = buf_text(&script) }, keep_answer,
			answer, &result, e);
	if (!kind && (!result.has_exit_code || result.exit_code))
		kind = error_set(e, ERR_IO, "jobs: the sandbox does not say how they are");
	return kind;
}

static void piece_note(struct piece *piece, uint64_t id, const struct job_look *look)
{
	for (size_t n = 0; n < piece->count; n++)
		if (job_id(piece->jobs[n]) == id) {
			piece->is_there[n] = true;
			job_note_look(piece->jobs[n], look);
		}
}

/*
 * The answer has a line for each job that exists: its number, then the line of job_script_read().
 */
static void piece_note_answer(struct piece *piece, const struct buf *answer)
{
	const char *line = buf_text(answer), *end;
	struct job_look look;
	char *rest;

	for (; (end = strchr(line, '\n')); line = end + 1) {
		uint64_t id = strtoull(line, &rest, 10);

		if (rest > line && rest < end && job_script_read(&look, rest))
			piece_note(piece, id, &look);
	}
}

static void piece_put(struct job_watch *w, struct piece *piece, bool are_known)
{
	for (size_t n = 0; n < piece->count; n++) {
		if (are_known && !piece->is_there[n])
			job_watch_remove(w, piece->jobs[n]);
		job_put(piece->jobs[n]);
	}
}

void job_watch_look(struct job_watch *w)
{
	struct piece piece;
	uint64_t last = 0;

	while (piece_take(w, &piece, last)) {
		AUTO_BUF struct buf answer = BUF_INIT(ANSWER_MAX);
		struct error e = { 0 };
		enum err kind = piece_ask(w, &piece, &answer, &e);

		if (kind)
			log_info(LOG_CONTROL, "%s", e.text);
		else
			piece_note_answer(&piece, &answer);
		last = job_id(piece.jobs[piece.count - 1]);
		piece_put(w, &piece, !kind || kind == ERR_GONE);
	}
}

/* ---- The thread ---- */

static void *watch_jobs(void *context)
{
	struct job_watch *w = context;
	int64_t due_ms = monotonic_ms() + w->interval_ms;

	pthread_mutex_lock(&w->lock);
	while (!w->is_stopping) {
		if (TAILQ_EMPTY(&w->jobs)) {
			pthread_cond_wait(&w->changed, &w->lock);
			due_ms = monotonic_ms() + w->interval_ms;
		} else if (monotonic_ms() < due_ms) {
			condition_wait_until(&w->changed, &w->lock, due_ms);
		} else {
			pthread_mutex_unlock(&w->lock);
			job_watch_look(w);
			pthread_mutex_lock(&w->lock);
			due_ms = monotonic_ms() + w->interval_ms;
		}
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static bool start_thread_locked(struct job_watch *w)
{
	if (!w->has_thread)
		w->has_thread = !thread_start(&w->thread, watch_jobs, w);
	return w->has_thread;
}

/* ---- Life ---- */

enum err job_watch_new(
	struct job_watch **out, struct cache *cache, int64_t interval_ms, struct error *e)
{
	AUTO_FREE struct job_watch *w = calloc(1, sizeof *w);
	enum err kind;

	if (!w)
		return error_set(e, ERR_NO_MEMORY, "jobs");
	*w = (struct job_watch){ .cache = cache, .interval_ms = interval_ms };
	kind = cancel_init(&w->cancel, e);
	if (kind)
		return kind;
	pthread_mutex_init(&w->lock, NULL);
	condition_init(&w->changed);
	TAILQ_INIT(&w->jobs);
	*out = take(w);
	return ERR_OK;
}

static void stop_thread(struct job_watch *w)
{
	pthread_mutex_lock(&w->lock);
	w->is_stopping = true;
	pthread_cond_signal(&w->changed);
	pthread_mutex_unlock(&w->lock);
	cancel_throw(&w->cancel);
	if (w->has_thread)
		pthread_join(w->thread, NULL);
}

void job_watch_free(struct job_watch *w)
{
	struct job *job;

	if (!w)
		return;
	stop_thread(w);
	while ((job = TAILQ_FIRST(&w->jobs)))
		job_watch_remove(w, job);
	cancel_release(&w->cancel);
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

/* ---- Watched jobs ---- */

void job_watch_add(struct job_watch *w, struct job *job)
{
	bool is_added;

	pthread_mutex_lock(&w->lock);
	assert(!job->is_watched);
	is_added = start_thread_locked(w);
	if (is_added) {
		job_get(job);
		TAILQ_INSERT_TAIL(&w->jobs, job, watched);
		cache_hold(w->cache);
		job->is_watched = true;
		pthread_cond_signal(&w->changed);
	}
	pthread_mutex_unlock(&w->lock);
	if (!is_added)
		log_warn(LOG_CONTROL, "no thread: the sandbox may end before its jobs");
}

void job_watch_remove(struct job_watch *w, struct job *job)
{
	bool was_watched;

	pthread_mutex_lock(&w->lock);
	was_watched = job->is_watched;
	if (was_watched)
		TAILQ_REMOVE(&w->jobs, job, watched);
	job->is_watched = false;
	pthread_mutex_unlock(&w->lock);
	if (!was_watched)
		return;
	cache_let(w->cache);
	job_put(job);
}
