/*
 * Threads: the caller's reads requests and starts a job for each; a job answers one request and
 * ends; the pulse sends the signs of life. One lock guards all that they share, and is never held
 * during a read, a write or a verb.
 */
#include "providers/helper/serve.h"

#include "providers/base/cleanup.h"
#include "providers/base/condition.h"
#include "providers/helper/answer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

/* Enough that the mount's workers rarely wait here for each other. */
#define JOBS_MAX 32
/* A client needs one; a few may overlap while an old one ends and a new one begins. */
#define WATCHES_MAX 4
/* The most bytes of all requests in work together. */
#define JOBS_BYTES_MAX (2 * (size_t)WIRE_REQUEST_MAX)
/* The stack of a job: musl gives 128 KiB. */
#define JOB_STACK_SIZE (1024 * 1024)

struct job {
	struct job *next; /* lock */
	struct server *server;
	pthread_t thread;
	struct stream_request request;
	uint64_t turn; /* the order of requests that change something */
	struct cancel cancel;
	struct call call;
	atomic_bool is_stopped;
	bool is_done; /* under the lock; the thread can be joined */
};

struct server {
	const struct serve_options *options;
	struct outlet out;
	pthread_mutex_t lock;
	/* with lock: a job is done, a turn is over, or the pulse has to end */
	pthread_cond_t changed;
	struct job *jobs;     /* lock */
	uint64_t turns_given; /* used by the reader only */
	uint64_t turn;        /* under the lock: the turn that runs now */
	bool is_over;         /* under the lock; for the pulse */
};

/* ---- A job ---- */

static void wait_turn(struct job *j)
{
	struct server *s = j->server;

	pthread_mutex_lock(&s->lock);
	while (s->turn != j->turn)
		pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
}

static void end_job(struct job *j)
{
	struct server *s = j->server;

	pthread_mutex_lock(&s->lock);
	if (j->request.type == FRAME_APPLY)
		s->turn++;
	j->is_done = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

static void *run_job(void *context)
{
	struct job *j = context;
	struct answer answer = { .root = j->server->options->root,
		.out = &j->server->out,
		.is_stopped = &j->is_stopped,
		.call = &j->call };

	if (j->request.type == FRAME_APPLY)
		wait_turn(j);
	if (atomic_load(&j->is_stopped))
		answer_end(answer.out, j->request.id, ERR_INTERRUPTED, "cancelled");
	else
		answer_request(&answer, &j->request, NULL);
	end_job(j);
	return NULL;
}

static void stop_job(struct job *j)
{
	atomic_store(&j->is_stopped, true);
	if (j->cancel.fd >= 0)
		cancel_throw(&j->cancel);
}

static void job_free(struct job *j)
{
	buf_release(&j->request.payload);
	cancel_release(&j->cancel);
	free(j);
}

/* Takes the payload. NULL without memory or descriptors. */
static struct job *job_new(struct server *s, struct stream_request *request)
{
	struct job *j = calloc(1, sizeof *j);

	if (!j)
		return NULL;
	j->server = s;
	j->request = *request;
	request->payload = (struct buf)BUF_INIT(WIRE_REQUEST_MAX);
	j->cancel.fd = -1;
	if (request->type == FRAME_WATCH && cancel_init(&j->cancel, NULL) != ERR_OK) {
		job_free(j);
		return NULL;
	}
	j->call = (struct call){ .progress_ms = -1, .cancel = &j->cancel };
	return j;
}

/* ---- All jobs; the reader's view ---- */

struct load {
	size_t jobs, watches, bytes;
};

static struct load load_locked(const struct server *s)
{
	struct load l = { 0 };

	for (const struct job *j = s->jobs; j; j = j->next) {
		l.jobs += j->request.type != FRAME_WATCH;
		l.watches += j->request.type == FRAME_WATCH;
		l.bytes += j->request.payload.room;
	}
	return l;
}

static struct job *find_job_locked(const struct server *s, uint32_t id)
{
	for (struct job *j = s->jobs; j; j = j->next)
		if (j->request.id == id && !j->is_done)
			return j;
	return NULL;
}

/* Takes a job that is done out of the list; NULL: no job is done. */
static struct job *take_done_locked(struct server *s)
{
	for (struct job **at = &s->jobs; *at; at = &(*at)->next)
		if ((*at)->is_done) {
			struct job *j = *at;

			*at = j->next;
			return j;
		}
	return NULL;
}

static void reap_locked(struct server *s)
{
	struct job *j;

	while ((j = take_done_locked(s))) {
		/* The thread has released its last lock: the join waits for a few instructions. */
		pthread_join(j->thread, NULL);
		job_free(j);
	}
}

/*
 * Waits until at most `jobs` are in work, holding at most `bytes`. Watches do not count. The reader
 * takes no reports meanwhile, so the jobs that it waits for must not wait for one.
 */
static struct load wait_room(struct server *s, size_t jobs, size_t bytes)
{
	struct load l;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		reap_locked(s);
		l = load_locked(s);
		if (l.jobs <= jobs && l.bytes <= bytes)
			break;
		outlet_set_windowed(&s->out, false);
		pthread_cond_wait(&s->changed, &s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	outlet_set_windowed(&s->out, !s->options->is_once);
	return l;
}

static void wait_all(struct server *s)
{
	pthread_mutex_lock(&s->lock);
	for (reap_locked(s); s->jobs; reap_locked(s))
		pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
}

static bool start_thread(pthread_t *thread, void *(*run)(void *), void *context)
{
	pthread_attr_t attr;
	bool started;

	if (pthread_attr_init(&attr))
		return false;
	pthread_attr_setstacksize(&attr, JOB_STACK_SIZE);
	started = pthread_create(thread, &attr, run, context) == 0;
	pthread_attr_destroy(&attr);
	return started;
}

static bool start_job(struct server *s, struct stream_request *request)
{
	struct job *j = job_new(s, request);

	if (!j)
		return false;
	if (request->type == FRAME_APPLY)
		j->turn = s->turns_given;
	pthread_mutex_lock(&s->lock);
	if (!start_thread(&j->thread, run_job, j)) {
		pthread_mutex_unlock(&s->lock);
		job_free(j);
		return false;
	}
	s->turns_given += request->type == FRAME_APPLY;
	j->next = s->jobs;
	s->jobs = j;
	pthread_mutex_unlock(&s->lock);
	return true;
}

static void cancel_job(struct server *s, uint32_t id)
{
	struct job *j;

	pthread_mutex_lock(&s->lock);
	j = find_job_locked(s, id);
	if (j)
		stop_job(j);
	pthread_mutex_unlock(&s->lock);
}

/* Changes are completed, whether or not their client still reads the answers. */
static void stop_all_but_changes(struct server *s)
{
	pthread_mutex_lock(&s->lock);
	for (struct job *j = s->jobs; j; j = j->next)
		if (j->request.type != FRAME_APPLY)
			stop_job(j);
	pthread_mutex_unlock(&s->lock);
}

static bool is_in_work(struct server *s, uint32_t id)
{
	bool found;

	pthread_mutex_lock(&s->lock);
	found = find_job_locked(s, id) != NULL;
	pthread_mutex_unlock(&s->lock);
	return found;
}

static enum err take_request(struct server *s, struct stream_request *r, struct error *e)
{
	bool is_watch = r->type == FRAME_WATCH;
	struct load l;

	if (r->type == FRAME_CANCEL) {
		cancel_job(s, r->id);
		return ERR_OK;
	}
	l = wait_room(s, s->options->is_once ? 0 : JOBS_MAX - 1, JOBS_BYTES_MAX - r->payload.room);
	if (is_in_work(s, r->id))
		return error_set(e, ERR_PROTOCOL, "request %u is in work", (unsigned)r->id);
	if (is_watch && s->options->is_once && !s->options->may_watch)
		answer_end(&s->out, r->id, ERR_UNSUPPORTED, "nothing is watched in one shot");
	else if (is_watch && l.watches >= WATCHES_MAX)
		answer_end(&s->out, r->id, ERR_BUSY, "too many watches");
	else if (!start_job(s, r))
		answer_end(&s->out, r->id, ERR_NO_MEMORY, "no thread for this request");
	return ERR_OK;
}

static enum err serve_requests(struct server *s, struct error *e)
{
	struct inlet in = INLET_INIT(.fd = s->options->in_fd, .bytes = s->options->bytes,
		.len = s->options->len, .peer = s->options->is_once ? NULL : &s->out);
	struct stream_request r = { .payload = BUF_INIT(WIRE_REQUEST_MAX) };
	bool at_end = false;
	enum err kind;

	for (;;) {
		kind = inlet_next(&in, &r, &at_end, e);
		if (kind != ERR_OK || at_end)
			break;
		kind = take_request(s, &r, e);
		if (kind != ERR_OK)
			break;
	}
	buf_release(&r.payload);
	inlet_release(&in);
	return kind;
}

/* ---- The pulse ---- */

/*
 * Ids of the jobs in work. A job that ends meanwhile gets one more sign, which its client ignores.
 */
static size_t ids_locked(const struct server *s, uint32_t ids[JOBS_MAX + WATCHES_MAX])
{
	size_t count = 0;

	for (const struct job *j = s->jobs; j; j = j->next)
		if (!j->is_done && count < JOBS_MAX + WATCHES_MAX)
			ids[count++] = j->request.id;
	return count;
}

static void wait_beat_locked(struct server *s)
{
	int64_t end_ms = monotonic_ms() + WIRE_ALIVE_MS;

	while (!s->is_over && condition_wait_until(&s->changed, &s->lock, end_ms))
		continue;
}

/* False: no process reads the signs. */
static bool send_signs(struct server *s, const uint32_t *ids, size_t count)
{
	enum err kind = ERR_OK;

	for (size_t i = 0; i < count && kind == ERR_OK; i++)
		kind = outlet_send(&s->out, FRAME_ITEMS, ids[i], NULL, NULL);
	return kind == ERR_OK;
}

static void *run_pulse(void *context)
{
	struct server *s = context;
	uint32_t ids[JOBS_MAX + WATCHES_MAX];

	pthread_mutex_lock(&s->lock);
	for (;;) {
		size_t count;

		wait_beat_locked(s);
		if (s->is_over)
			break;
		count = ids_locked(s, ids);
		pthread_mutex_unlock(&s->lock);
		if (!s->options->is_quiet && !send_signs(s, ids, count))
			stop_all_but_changes(s);
		pthread_mutex_lock(&s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static void stop_pulse(struct server *s, pthread_t pulse)
{
	pthread_mutex_lock(&s->lock);
	s->is_over = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	pthread_join(pulse, NULL);
}

/* ---- The whole ---- */

static void server_init(struct server *s, const struct serve_options *options)
{

	*s = (struct server){ .options = options, .lock = PTHREAD_MUTEX_INITIALIZER };
	outlet_init(&s->out, options->out_fd, options->is_armoured, !options->is_once);
	s->out.file = options->file;
	condition_init(&s->changed);
}

static void server_release(struct server *s)
{
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	outlet_release(&s->out);
}

static enum err serve_all(struct server *s, struct error *e)
{
	struct error why = { 0 };
	enum err kind = serve_requests(s, &why);

	outlet_set_windowed(&s->out, false);
	if (!s->options->is_once)
		stop_all_but_changes(s);
	wait_all(s);
	if (kind != ERR_OK)
		answer_end(&s->out, 0, kind, why.text);
	/*
	 * A client of a stream has closed both ends; a client of one shot still wants its answers.
	 */
	if (s->options->is_once) {
		enum err ended = outlet_end(&s->out, e);

		if (ended != ERR_OK)
			return ended;
	}
	return kind == ERR_OK ? ERR_OK : error_set(e, kind, "%s", why.text);
}

/*
 * Signals of a failed write, which must be an error and not the end of the process: a pipe without
 * a reader, a limit on file sizes.
 */
static sigset_t signals_of_writes(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	sigaddset(&set, SIGXFSZ);
	return set;
}

/* Blocks the signals for this thread and the jobs, which inherit the mask. */
static void block_signals(sigset_t *before)
{
	sigset_t ours = signals_of_writes();

	pthread_sigmask(SIG_BLOCK, &ours, before);
}

/* A SIGPIPE from this thread's own writes is still pending. */
static void restore_signals(const sigset_t *before)
{
	sigset_t ours = signals_of_writes();

	if (!sigismember(before, SIGPIPE))
		sigtimedwait(&ours, NULL, &(struct timespec){ 0 });
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

enum err serve(const struct serve_options *options, struct error *e)
{
	struct server s;
	sigset_t mask;
	pthread_t pulse;
	enum err kind;

	server_init(&s, options);
	block_signals(&mask);
	if (start_thread(&pulse, run_pulse, &s)) {
		kind = serve_all(&s, e);
		stop_pulse(&s, pulse);
	} else {
		kind = error_set(e, ERR_NO_MEMORY, "no thread to serve with");
	}
	restore_signals(&mask);
	server_release(&s);
	return kind;
}
