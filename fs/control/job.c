#include "fs/control/job_inside.h"

#include "cache/cache.h"
#include "cache/session/wait.h"
#include "fs/control/job_watch.h"
#include "providers/base/cleanup.h"
#include "providers/base/condition.h"
#include "providers/base/log.h"
#include "providers/user_shell.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCRIPT_MAX ((size_t)64 * 1024)
/* The script with the command in quotes. A quote inside the command takes four bytes. */
#define START_MAX (SCRIPT_MAX + 4 * USER_SHELL_MAX(JOB_TEXT_MAX))
/* The bytes that a script prints besides the requested output. */
#define LINE_MAX 512
/* The number of looks for a job whose start was not reported: the job may be about to start. */
#define FIND_TRIES    10
#define FIND_PAUSE_MS 300

/* ---- Running a script ---- */

struct answer {
	struct buf out, err;
	struct execute_result result;
};

static void answer_release(struct answer *a)
{
	buf_release(&a->out);
	buf_release(&a->err);
}
#define AUTO_ANSWER __attribute__((cleanup(answer_release)))

/* Output beyond the requested length is not of our script. */
static enum err receive(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	struct answer *a = context;

	if (stream == STREAM_ERR)
		buf_add(&a->err, bytes, len);
	else if (!buf_add(&a->out, bytes, len))
		return error_set(e, ERR_PROTOCOL, "a job: the sandbox says too much");
	return ERR_OK;
}

static enum err ask(struct job *job, const struct call *call, const struct buf *script,
	const struct buf *input, struct answer *a, struct error *e)
{
	const struct execute_request request = {
		.command = buf_text(script),
		.input = input ? input->bytes : NULL,
		.input_len = input ? input->len : 0,
	};
	enum err kind = buf_check(script, "a job's script", e);

	if (!kind)
		kind = cache_execute_own(
			job->all->cache, call, &request, receive, a, &a->result, e);
	if (!kind && a->result.exit_code == JOB_SCRIPT_GONE)
		return error_set(e, ERR_NOT_FOUND, "job %" PRIu64 " is over", job->facts.id);
	if (!kind && (!a->result.has_exit_code || a->result.exit_code))
		return error_set(e, ERR_IO, "job %" PRIu64 ": %.200s", job->facts.id,
			a->err.len ? buf_text(&a->err) : "the sandbox does not say how it is");
	return kind;
}

bool job_is_embedded(const struct job *job)
{
	return cache_provider(job->all->cache)->caps & PROVIDER_EMBEDDED;
}

/* ---- The facts of a job ---- */

static struct job_facts facts_of(struct job *job)
{
	struct job_facts facts;

	pthread_mutex_lock(&job->lock);
	facts = job->facts;
	pthread_mutex_unlock(&job->lock);
	return facts;
}

/* A job keeps the sandbox in use; that matters where the sandbox would end otherwise. */
static bool is_to_be_watched(struct job *job)
{
	return !job_is_embedded(job) && cache_sandbox(job->all->cache)->expires_s >= 0;
}

static void note_started(struct job *job, int64_t pid, int64_t started_s)
{
	/* Before any reader can see that the job has ended. */
	if (is_to_be_watched(job))
		job_watch_add(job->all->watch, job);
	pthread_mutex_lock(&job->lock);
	job->facts.state = JOB_RUNNING;
	job->facts.pid = pid;
	job->facts.started_s = started_s;
	pthread_cond_broadcast(&job->changed);
	pthread_mutex_unlock(&job->lock);
}

void job_note_failed(struct job *job, enum err kind, const char *why)
{
	pthread_mutex_lock(&job->lock);
	job->facts.state = JOB_FAILED;
	job->facts.failure = kind;
	snprintf(job->facts.error, sizeof job->facts.error, "%s", why);
	pthread_cond_broadcast(&job->changed);
	pthread_mutex_unlock(&job->lock);
	log_warn(LOG_CONTROL, "job %" PRIu64 ": %s", job->facts.id, why);
}

static bool is_running(struct job *job)
{
	return facts_of(job).state == JOB_RUNNING;
}

static void note_end_locked(struct job *job, const struct job_look *look)
{
	job->facts.state = JOB_EXITED;
	job->facts.has_exit_code = look->has_exit_code;
	job->facts.exit_code = look->exit_code;
	job->facts.ended_s = look->ended_s;
	pthread_cond_broadcast(&job->changed);
}

/*
 * The cache expires whatever the job may have changed before any reader can see that the job has
 * ended.
 */
void job_note_look(struct job *job, const struct job_look *look)
{
	if (look->has_ended && is_running(job))
		cache_command_ended(job->all->cache);
	pthread_mutex_lock(&job->lock);
	/* Answers may overtake each other. */
	if (look->size > job->facts.size)
		job->facts.size = look->size;
	if (look->has_ended && job->facts.state == JOB_RUNNING) {
		note_end_locked(job, look);
		audit_job_ended(job->all->terms->audit, job->facts.id, look->has_exit_code,
			look->exit_code);
	}
	pthread_mutex_unlock(&job->lock);
	if (look->has_ended)
		job_watch_remove(job->all->watch, job);
}

bool job_has_ended(struct job *job)
{
	bool ended;

	pthread_mutex_lock(&job->lock);
	ended = job->facts.state >= JOB_EXITED;
	pthread_mutex_unlock(&job->lock);
	return ended;
}

void job_note_lost(struct job *job)
{
	job_note_look(job, &(struct job_look){ .has_ended = true });
}

/* ---- Starting ---- */

static bool is_started(struct answer *a, int64_t *pid, int64_t *started_s)
{
	return a->out.len &&
		sscanf(buf_text(&a->out), JOB_STARTED " %" SCNd64 " %" SCNd64, pid, started_s) == 2;
}

struct start {
	struct job *job;
	struct answer answer;
	bool has_started;
};

static enum err receive_start(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	struct start *s = context;
	enum err kind = receive(&s->answer, stream, bytes, len, e);
	int64_t pid, started_s;

	if (!kind && !s->has_started && is_started(&s->answer, &pid, &started_s) &&
		strchr(buf_text(&s->answer.out), '\n')) {
		s->has_started = true;
		note_started(s->job, pid, started_s);
	}
	return kind;
}

static int64_t start_limit_ms(const struct job *job)
{
	return job_is_embedded(job) ? -1 : cache_progress_ms(job->all->cache);
}

enum err job_await_start(struct job *job, const struct cancel *cancel, struct error *e)
{
	struct progress progress = progress_now();
	const struct call call = {
		.progress_ms = start_limit_ms(job), .cancel = cancel, .progress = &progress
	};
	struct job_facts facts;
	enum err kind = ERR_OK;

	pthread_mutex_lock(&job->lock);
	while (!kind && job->facts.state == JOB_STARTING)
		kind = wait_for_other_locked(&job->changed, &job->lock, &call, &job->progress, e);
	facts = job->facts;
	pthread_mutex_unlock(&job->lock);
	return facts.state == JOB_FAILED ? error_set(e, facts.failure, "%s", facts.error) : kind;
}

/* ---- Asking ---- */

/*
 * The answer is the line, then the requested output, which goes to `out`. The job may have printed
 * since the size was taken: a size below what was read would be a file that was cut.
 */
static enum err take_answer(
	struct job *job, struct answer *a, uint64_t offset, struct buf *out, struct error *e)
{
	const char *text = buf_text(&a->out), *end = strchr(text, '\n');
	struct job_look look;

	if (!end || !job_script_read(&look, text))
		return error_set(e, ERR_PROTOCOL,
			"job %" PRIu64 ": the sandbox does not say how it is", job->facts.id);
	buf_consume(&a->out, (size_t)(end + 1 - text));
	if (a->out.len && look.size < offset + a->out.len)
		look.size = offset + a->out.len;
	job_note_look(job, &look);
	if (out)
		buf_add(out, a->out.bytes, a->out.len);
	return out ? buf_check(out, "a job's output", e) : ERR_OK;
}

static void note_time_of_look(struct job *job, int64_t begun_ms)
{
	pthread_mutex_lock(&job->lock);
	job->looked_ms = monotonic_ms();
	job->look_took_ms = job->looked_ms - begun_ms;
	pthread_mutex_unlock(&job->lock);
}

static enum err look_at(struct job *job, const struct call *call, uint64_t offset, size_t len,
	struct buf *out, struct error *e)
{
	AUTO_BUF struct buf script = BUF_INIT(SCRIPT_MAX);
	AUTO_ANSWER struct answer a = { BUF_INIT(LINE_MAX + len), BUF_INIT(LINE_MAX), { 0 } };
	int64_t begun_ms = monotonic_ms();
	enum err kind;

	job_script_look(&script, job->base, !job_is_embedded(job), offset, len);
	kind = ask(job, call, &script, NULL, &a, e);
	if (!kind)
		kind = take_answer(job, &a, offset, out, e);
	if (!kind)
		note_time_of_look(job, begun_ms);
	return kind;
}

/*
 * Whether the job exists though the answer was lost: by now, or soon. The one who waits for the
 * start has a deadline of its own, so the question has a new one.
 */
static bool is_found(
	struct job *job, const struct cancel *cancel, const struct execute_result *result)
{
	const struct call call = { .progress_ms = start_limit_ms(job), .cancel = cancel };
	enum err kind = result->may_have_run && !job_is_embedded(job) ? ERR_NOT_FOUND : ERR_IO;
	struct error e = { 0 };

	for (int tries = 0; kind == ERR_NOT_FOUND && tries < FIND_TRIES; tries++)
		if (!call_sleep(&call, tries ? FIND_PAUSE_MS : 0, NULL))
			kind = look_at(job, &call, 0, 0, NULL, &e);
	if (!kind)
		note_started(job, 0, 0);
	return !kind;
}

void job_start(struct job *job, const struct cancel *cancel)
{
	const struct call call = {
		.progress_ms = start_limit_ms(job), .cancel = cancel, .progress = &job->progress
	};
	AUTO_BUF struct buf text = BUF_INIT(USER_SHELL_MAX(JOB_TEXT_MAX));
	AUTO_BUF struct buf script = BUF_INIT(START_MAX);
	struct start s = { .job = job,
		.answer = { BUF_INIT(LINE_MAX), BUF_INIT(LINE_MAX), { 0 } } };
	struct execute_request request = { 0 };
	struct error e = { 0 };
	enum err kind;

	user_shell_add(&text, job->all->terms->shell, cache_provider(job->all->cache)->caps, false,
		job->facts.command);
	job_script_start(&script, job->base, job_is_embedded(job), buf_text(&text));
	request.command = buf_text(&script);
	kind = buf_check(&text, "a job's command", &e);
	if (!kind)
		kind = buf_check(&script, "a job's script", &e);
	if (!kind)
		kind = cache_execute(
			job->all->cache, &call, &request, receive_start, &s, &s.answer.result, &e);
	if (!kind && !s.has_started)
		kind = error_set(&e, ERR_IO, "%.200s",
			s.answer.err.len ? buf_text(&s.answer.err)
					 : "the sandbox did not start it");
	if (!s.has_started && !is_found(job, cancel, &s.answer.result))
		job_note_failed(job, kind, e.text);
	answer_release(&s.answer);
}

enum err job_look(struct job *job, const struct call *call, struct job_facts *out, struct error *e)
{
	enum err kind = ERR_OK;

	*out = facts_of(job);
	if (out->state == JOB_RUNNING)
		kind = look_at(job, call, 0, 0, NULL, e);
	*out = facts_of(job);
	return kind;
}

static bool was_just_looked_at(struct job *job)
{
	bool was;

	pthread_mutex_lock(&job->lock);
	was = job->looked_ms && monotonic_ms() - job->looked_ms <= job->look_took_ms;
	pthread_mutex_unlock(&job->lock);
	return was;
}

enum err job_size(struct job *job, const struct call *call, struct job_facts *out, struct error *e)
{
	if (!was_just_looked_at(job))
		return job_look(job, call, out, e);
	*out = facts_of(job);
	return ERR_OK;
}

enum err job_read(struct job *job, const struct call *call, uint64_t offset, size_t len,
	struct buf *out, struct error *e)
{
	const struct job_facts facts = facts_of(job);

	if (facts.state == JOB_STARTING || facts.state == JOB_FAILED ||
		(facts.state == JOB_EXITED && offset >= facts.size))
		return ERR_OK;
	return look_at(job, call, offset, len, out, e);
}

static bool takes_input(struct job *job)
{
	bool takes;

	pthread_mutex_lock(&job->lock);
	takes = job->facts.state == JOB_RUNNING && !job->has_input_ended;
	pthread_mutex_unlock(&job->lock);
	return takes;
}

/* An error of a pipe in the sandbox that no process reads any more. */
static enum err or_over(struct job *job, enum err kind, struct error *e)
{
	return kind == ERR_IO
		? error_set(e, ERR_NOT_FOUND, "job %" PRIu64 " is over", job->facts.id)
		: kind;
}

static enum err ask_pipe(struct job *job, const struct call *call, const struct buf *script,
	const struct buf *input, struct error *e)
{
	AUTO_ANSWER struct answer a = { BUF_INIT(LINE_MAX), BUF_INIT(LINE_MAX), { 0 } };

	return or_over(job, ask(job, call, script, input, &a, e), e);
}

enum err job_feed(
	struct job *job, const struct call *call, const void *bytes, size_t len, struct error *e)
{
	/* The job may take long to read its input. */
	struct call patient = *call;
	const struct buf input = { .bytes = (unsigned char *)bytes, .len = len, .max = len };
	AUTO_BUF struct buf script = BUF_INIT(SCRIPT_MAX);

	patient.progress_ms = -1;
	if (!takes_input(job))
		return error_set(
			e, ERR_NOT_FOUND, "job %" PRIu64 " takes no input any more", job->facts.id);
	input_pipe_feed(&script, job->base, 0);
	return ask_pipe(job, &patient, &script, &input, e);
}

static enum err tell(struct job *job, const struct call *call, const char *word, struct error *e)
{
	AUTO_BUF struct buf script = BUF_INIT(SCRIPT_MAX);

	if (facts_of(job).state != JOB_RUNNING)
		return error_set(e, ERR_NOT_FOUND, "job %" PRIu64 " is over", job->facts.id);
	input_pipe_tell(&script, job->base, word);
	return ask_pipe(job, call, &script, NULL, e);
}

enum err job_end_input(struct job *job, const struct call *call, struct error *e)
{
	bool had_ended;

	pthread_mutex_lock(&job->lock);
	had_ended = job->has_input_ended;
	job->has_input_ended = true;
	pthread_mutex_unlock(&job->lock);
	return had_ended ? ERR_OK : tell(job, call, INPUT_PIPE_EOF, e);
}

enum err job_signal(struct job *job, const struct call *call, const char *name, struct error *e)
{
	return tell(job, call, name, e);
}
