#include "providers/remote/opening.h"

#include "providers/base/cleanup.h"
#include "providers/base/condition.h"
#include "providers/base/thread.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* The request for a list from one start takes some fifty bytes. */
#define REQUEST_MAX ((size_t)16 * 1024)

struct remote_opening {
	struct buf request; /* the payload; the next three fields are decoded from it */
	struct watch_request wanted;
	struct list_request first;
	void *memory;
	struct cancel cancel;
	int moved; /* an eventfd: the run has begun or is over */
	pthread_t thread;
	bool has_thread;
	/* this and the fields up to the lock are set while there is no thread */
	const struct remote_ops *ops;
	struct remote_question question; /* owned copies */
	int64_t progress_ms;
	pthread_mutex_t lock; /* guards the fields below */
	pthread_cond_t changed;
	bool has_begun; /* the hello came, and behind it a first event or a sign of life */
	bool is_over;
	struct remote_report report; /* owned, until the attach takes it */
	struct error result;
	watch_sink sink; /* the sink of the call that took the stream; NULL: none has */
	void *sink_context;
};

/* ---- The thread that holds the run ---- */

static void note_move(struct remote_opening *o, bool *what)
{
	pthread_mutex_lock(&o->lock);
	*what = true;
	eventfd_write(o->moved, 1);
	pthread_cond_broadcast(&o->changed);
	pthread_mutex_unlock(&o->lock);
}

static void begin(void *context)
{
	struct remote_opening *o = context;

	note_move(o, &o->has_begun);
}

/* Until a call takes the stream. */
static enum err wait_for_taker(struct remote_opening *o, struct error *e)
{
	const int64_t end_ms = monotonic_ms() + REMOTE_OPENING_MS;

	pthread_mutex_lock(&o->lock);
	while (!o->sink && !cancel_thrown(&o->cancel))
		if (!condition_wait_until(&o->changed, &o->lock, end_ms))
			break;
	bool is_taken = o->sink;

	pthread_mutex_unlock(&o->lock);
	return is_taken ? ERR_OK : error_set(e, ERR_INTERRUPTED, "nobody asked for the changes");
}

static enum err pass_on(void *context, const struct watch_event *event, struct error *e)
{
	struct remote_opening *o = context;
	enum err kind = wait_for_taker(o, e);

	return kind == ERR_OK ? o->sink(o->sink_context, event, e) : kind;
}

static void *hold(void *context)
{
	struct remote_opening *o = context;
	AUTO_WATCH_STATE struct watch_state state = {
		.first.check.request = o->wanted.first, .sink = pass_on, .context = o
	};
	struct listener listener = watch_listener(&state);
	struct remote_second second = {
		.request = &o->request, .listener = &listener, .begins = begin, .context = o
	};
	const struct call call = watch_call(&(struct call){
		.progress_ms = o->progress_ms, .cancel = &o->cancel, .is_background = true });

	o->question.second = &second;
	remote_script_run(&o->report, o->ops, &o->question, &call, &o->result);
	note_move(o, &o->is_over);
	return NULL;
}

/* ---- The attach ---- */

static void question_release(struct remote_question *q)
{
	free((char *)q->path);
	free((char *)q->working_dir);
	free((char *)q->images);
	free((char *)q->stored);
	*q = (struct remote_question){ 0 };
}

static bool copy_string(const char *from, const char **to)
{
	*to = from ? strdup(from) : NULL;
	return !from || *to;
}

static bool copy_question(const struct remote_question *from, struct remote_question *to)
{
	*to = (struct remote_question){ 0 };
	return copy_string(from->path, &to->path) &&
		copy_string(from->working_dir, &to->working_dir) &&
		copy_string(from->images, &to->images) && copy_string(from->stored, &to->stored);
}

/* For a run that is over or has been told to end. */
static void join(struct remote_opening *o)
{
	if (o->has_thread)
		pthread_join(o->thread, NULL);
	o->has_thread = false;
	question_release(&o->question);
	remote_report_release(&o->report);
}

static enum err start(struct remote_opening *o, struct error *e)
{
	int failed = thread_start(&o->thread, hold, o);

	o->has_thread = !failed;
	return failed ? error_errno(e, failed, "a thread") : ERR_OK;
}

/* The run's report so far, or the error of a run without a hello. */
static enum err take_report(struct remote_opening *o, struct remote_report *out, struct error *e)
{
	bool has_begun;

	pthread_mutex_lock(&o->lock);
	has_begun = o->has_begun;
	pthread_mutex_unlock(&o->lock);
	*out = o->report;
	o->report = (struct remote_report){ 0 };
	return has_begun || o->result.kind == ERR_OK
		? ERR_OK
		: error_set(e, o->result.kind, "%s", o->result.text);
}

enum err remote_opening_run(struct remote_opening *o, struct remote_report *out,
	const struct remote_ops *ops, const struct remote_question *question,
	const struct call *call, struct error *e)
{
	enum err kind;

	join(o);
	eventfd_read(o->moved, &(eventfd_t){ 0 });
	*out = (struct remote_report){ 0 };
	o->ops = ops;
	o->progress_ms = call ? call->progress_ms : 0;
	o->has_begun = o->is_over = false;
	o->result = (struct error){ 0 };
	kind = copy_question(question, &o->question) ? start(o, e)
						     : error_set(e, ERR_NO_MEMORY, "an attach");
	if (kind == ERR_OK)
		kind = call_wait_fd(call, o->moved, POLLIN, e);
	return kind == ERR_OK ? take_report(o, out, e) : kind;
}

/* ---- Taking the stream over ---- */

static bool is_same(const struct remote_opening *o, const struct watch_request *request)
{
	AUTO_BUF struct buf payload = BUF_INIT(REQUEST_MAX);

	return wire_put_watch(&payload, request) && payload.len == o->request.len &&
		!memcmp(payload.bytes, o->request.bytes, payload.len);
}

static bool take_over(struct remote_opening *o, watch_sink sink, void *context)
{
	bool is_free;

	pthread_mutex_lock(&o->lock);
	is_free = o->has_begun && !o->is_over && !o->sink;
	if (is_free) {
		o->sink_context = context;
		o->sink = sink;
		pthread_cond_broadcast(&o->changed);
	}
	pthread_mutex_unlock(&o->lock);
	return is_free;
}

static bool is_over(struct remote_opening *o)
{
	bool over;

	pthread_mutex_lock(&o->lock);
	over = o->is_over;
	pthread_mutex_unlock(&o->lock);
	return over;
}

static void end_run(struct remote_opening *o)
{
	cancel_throw(&o->cancel);
	pthread_mutex_lock(&o->lock);
	pthread_cond_broadcast(&o->changed);
	pthread_mutex_unlock(&o->lock);
}

/*
 * Waits for the end of the run: the sink's context is the caller's, and must not be used after this
 * returns.
 */
static enum err wait_for_end(struct remote_opening *o, const struct call *call, struct error *e)
{
	const struct call patient = { .progress_ms = -1, .cancel = call ? call->cancel : NULL };
	struct error why = { 0 };

	while (why.kind == ERR_OK && !is_over(o)) {
		eventfd_read(o->moved, &(eventfd_t){ 0 });
		if (!is_over(o))
			call_wait_fd(&patient, o->moved, POLLIN, &why);
	}
	if (why.kind != ERR_OK)
		end_run(o);
	join(o);
	return why.kind == ERR_OK ? error_set(e, o->result.kind, "%s", o->result.text)
				  : error_set(e, why.kind, "%s", why.text);
}

enum err remote_opening_take(struct remote_opening *o, const struct call *call,
	const struct watch_request *request, watch_sink sink, void *context, bool *taken,
	struct error *e)
{
	*taken = o && is_same(o, request) && take_over(o, sink, context);
	return *taken ? wait_for_end(o, call, e) : ERR_OK;
}

/* ---- Life ---- */

enum err remote_opening_new(
	struct remote_opening **out, const struct watch_request *request, struct error *e)
{
	struct remote_opening *o = calloc(1, sizeof *o);
	enum err kind;

	*out = o;
	if (!o)
		return error_set(e, ERR_NO_MEMORY, "an attach");
	o->request = (struct buf)BUF_INIT(REQUEST_MAX);
	pthread_mutex_init(&o->lock, NULL);
	condition_init(&o->changed);
	o->cancel.fd = -1;
	o->moved = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (o->moved < 0)
		return error_errno(e, errno, "eventfd");
	kind = cancel_init(&o->cancel, e);
	wire_put_watch(&o->request, request);
	if (kind == ERR_OK)
		kind = buf_check(&o->request, "what to list before a watch", e);
	if (kind == ERR_OK)
		kind = wire_get_watch(&o->request, &o->wanted, &o->first, &o->memory, e);
	return kind;
}

void remote_opening_free(struct remote_opening *o)
{
	if (!o)
		return;
	end_run(o);
	join(o);
	cancel_release(&o->cancel);
	cleanup_close(&o->moved);
	buf_release(&o->request);
	free(o->memory);
	pthread_cond_destroy(&o->changed);
	pthread_mutex_destroy(&o->lock);
	free(o);
}
