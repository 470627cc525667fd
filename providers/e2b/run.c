#include "providers/e2b/envd_process.h"

#include "providers/base/cleanup.h"
#include "providers/e2b/envd.pb-c.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>

/* envd's longest silence in seconds, where the command names no other. */
#define KEEPALIVE_S 10
/* The most repetitions of a stream that broke before any output, as when the daemon restarts. */
#define REPETITIONS_MAX 2

/* One command, from its first request to its end. A repetition has a new `stream` and `post`. */
struct run {
	struct envd *d;
	const struct call *call;
	const struct envd_command *command;
	void (*started)(void *context, uint32_t pid);
	execute_sink sink;
	void *context;
	struct envd_outcome *out;
	struct connect_stream *stream;
	struct envd_post post;
	bool is_stream_over, is_post_over;
	bool has_output; /* the sink received output */
	/* The monotonic clock: */
	int64_t since_ms;         /* when the limit of the upload's progress begins to count */
	int64_t failing_since_ms; /* when the first stream failed; 0: none did */
};

/* ---- Events ---- */

static enum err on_event(void *context, const struct envd_process_event *event, struct error *e)
{
	struct run *r = context;

	switch (event->kind) {
	case ENVD_NOTHING: break;
	case ENVD_STARTED:
		r->out->pid = event->pid;
		if (r->started)
			r->started(r->context, event->pid);
		break;
	case ENVD_OUTPUT:
		r->has_output = true;
		return r->sink(r->context, event->stream, event->bytes, event->len, e);
	case ENVD_ENDED:
		r->out->has_exit_code = event->has_exit_code;
		r->out->exit_code = event->exit_code;
		break;
	}
	return ERR_OK;
}

static enum err on_message(void *context, const void *message, size_t len, struct error *e)
{
	return envd_process_decode(message, len, on_event, context, e);
}

/* ---- Waiting for the command and for its upload ---- */

/* The interval, in ms, at which the upload's progress is noted as the caller's. */
#define LOOK_MS 500

/* Whether the command's stream and the upload's answer can be read. */
struct ready {
	bool stream, post;
};

/*
 * The time until the upload's deadline, which moves with the upload's progress. The command waits
 * for the upload, so its stream is silent meanwhile.
 */
static int64_t left_ms(const struct run *r)
{
	int64_t limit_ms = call_progress_ms(r->call), moved_ms = http_moved_ms(r->post.exchange);

	if (limit_ms < 0)
		return INT_MAX;
	return (moved_ms > r->since_ms ? moved_ms : r->since_ms) + limit_ms - monotonic_ms();
}

/* Waits for the stream, the upload or a cancellation; 0: none came before the deadline. */
static int poll_until_deadline(struct run *r, struct pollfd p[3])
{
	int count = 0;

	for (int64_t left = left_ms(r); !count && left > 0; left = left_ms(r)) {
		count = poll(p, 3, left < LOOK_MS ? (int)left : LOOK_MS);
		http_note_progress(r->post.exchange, r->call);
		if (count < 0 && errno == EINTR)
			count = 0;
	}
	return count;
}

static enum err wait_for_both(struct run *r, struct ready *ready, struct error *e)
{
	const struct cancel *cancel = r->call ? r->call->cancel : NULL;
	struct pollfd p[3] = {
		{ .fd = connect_fd(r->stream), .events = POLLIN },
		{ .fd = http_fd(r->post.exchange), .events = POLLIN },
		{ .fd = cancel ? cancel->fd : -1, .events = POLLIN },
	};
	int count = poll_until_deadline(r, p);

	if (count < 0)
		return error_errno(e, errno, "poll");
	if (!count)
		return error_set(e, ERR_TIMEOUT, "E2B: %s: the upload does not move",
			r->command->upload->path);
	*ready = (struct ready){ p[0].revents, p[1].revents };
	return p[2].revents ? error_set(e, ERR_INTERRUPTED, "interrupted") : ERR_OK;
}

/* The upload is read first: its failure makes the command fail, and has the better message. */
static enum err read_any(struct run *r, struct error *e)
{
	struct ready ready = { !r->is_stream_over, !r->is_post_over };
	enum err kind = ERR_OK;

	/* Where only one is left, its read function waits. */
	if (ready.stream && ready.post)
		kind = wait_for_both(r, &ready, e);
	if (kind == ERR_OK && ready.post)
		kind = envd_post_read(
			&r->post, r->call, r->command->upload->path, &r->is_post_over, e);
	if (kind == ERR_OK && ready.stream)
		kind = connect_read(r->stream, r->call, on_message, r, &r->is_stream_over, e);
	return kind;
}

/* ---- Running ---- */

/* Short enough that a silent command does not look like a dead connection. */
static int64_t keepalive_of(const struct run *r)
{
	int64_t limit_ms = call_progress_ms(r->call);
	int64_t third_s = limit_ms / 3000 > 1 ? limit_ms / 3000 : 1;

	if (r->command->keepalive_s)
		return r->command->keepalive_s;
	return limit_ms > 0 && third_s < KEEPALIVE_S ? third_s : KEEPALIVE_S;
}

static enum err begin_stream(struct run *r, const struct buf *message, struct error *e)
{
	const struct envd_command *c = r->command;
	unsigned flags = ENVD_HTTP | (c->flags & RUN_REPEATABLE ? HTTP_REPEATABLE : 0) |
		(c->flags & RUN_BULK ? HTTP_BULK : 0) | (c->is_lasting ? HTTP_OWN_CONNECTION : 0);
	AUTO_FREE char *url = envd_procedure(r->d, "process.Process/Start");

	if (!url)
		return error_set(e, ERR_NO_MEMORY, "running a command");
	/* This command keeps its connection, so another is made for the next request. */
	if (c->is_lasting)
		http_preconnect(r->d->http, url);
	return connect_begin(r->d->http,
		&(struct connect_request){ .url = url,
			.what = "running a command",
			.headers = r->d->headers,
			.headers_count = r->d->command_headers,
			.message = message->bytes,
			.len = message->len,
			.flags = flags,
			.wants_compressed = c->flags & (RUN_COMPRESSES | RUN_PACKED_ANSWER),
			.is_plain = c->flags & RUN_PLAIN,
			.keepalive_s = keepalive_of(r) },
		&r->stream, e);
}

/*
 * The upload and the command leave before either is answered: the command waits for the upload
 * inside the sandbox, which saves a round trip.
 */
static enum err begin(struct run *r, const struct buf *message, struct error *e)
{
	enum err kind = ERR_OK;

	r->is_post_over = !r->command->upload;
	r->is_stream_over = false;
	r->since_ms = call_since_ms(r->call);
	if (r->command->upload)
		kind = envd_post_begin(r->d, r->command->upload, &r->post, e);
	return kind == ERR_OK ? begin_stream(r, message, e) : kind;
}

/* Repetitions begin within one deadline, since a further failure is no progress. */
static bool has_time(struct run *r)
{
	int64_t limit_ms = call_progress_ms(r->call);

	if (!r->failing_since_ms)
		r->failing_since_ms = monotonic_ms();
	return limit_ms < 0 ||
		(monotonic_ms() - r->failing_since_ms < limit_ms && call_left_ms(r->call) > 0);
}

/* Whether a repetition may succeed: the transport broke within an answer that had no output yet. */
static bool may_repeat(struct run *r, enum err kind)
{
	return kind == ERR_UNREACHABLE && r->command->flags & RUN_REPEATABLE && !r->has_output &&
		!r->out->has_exit_code && r->stream && connect_has_begun(r->stream) &&
		!r->is_stream_over && has_time(r);
}

static enum err run_once(
	struct run *r, const struct buf *message, bool *may_be_repeated, struct error *e)
{
	enum err kind = begin(r, message, e);

	while (kind == ERR_OK && !(r->is_stream_over && r->is_post_over))
		kind = read_any(r, e);
	if (kind == ERR_OK && !r->out->has_exit_code)
		kind = error_set(e, ERR_PROTOCOL, "E2B did not say how the command ended");
	*may_be_repeated = may_repeat(r, kind);
	r->out->may_have_run |= r->out->pid || (r->stream && connect_may_have_run(r->stream));
	connect_end(take(r->stream));
	envd_post_end(&r->post);
	return kind;
}

bool envd_must_not_wake(const struct envd *d, const struct call *call)
{
	return d->features & ENVD_AUTO_RESUMES && call && call->is_background;
}

enum err envd_run(struct envd *d, const struct call *call, const struct envd_command *command,
	void (*started)(void *context, uint32_t pid), execute_sink sink, void *context,
	struct envd_outcome *out, struct error *e)
{
	struct envd_command own = *command;
	struct run r = { .d = d,
		.call = call,
		.command = &own,
		.started = started,
		.sink = sink,
		.context = context,
		.out = out };
	AUTO_BUF struct buf message = BUF_INIT(ENVD_REQUEST_MAX);
	bool may_be_repeated = true;
	enum err kind;

	*out = (struct envd_outcome){ 0 };
	if (envd_must_not_wake(d, call))
		own.flags &= ~(unsigned)RUN_REPEATABLE;
	kind = envd_start_request(&message, command, e);
	if (kind != ERR_OK)
		return kind;
	for (int i = 0; i <= REPETITIONS_MAX && may_be_repeated; i++)
		kind = run_once(&r, &message, &may_be_repeated, e);
	return kind;
}

/* ---- Ending a command ---- */

static enum err pack_kill(struct buf *out, uint32_t pid, struct error *e)
{
	Envd__ProcessSelector process = ENVD__PROCESS_SELECTOR__INIT;
	Envd__SendSignalRequest request = ENVD__SEND_SIGNAL_REQUEST__INIT;

	process.selector_case = ENVD__PROCESS_SELECTOR__SELECTOR_PID;
	process.pid = pid;
	request.process = &process;
	request.has_signal = true;
	request.signal = ENVD__SIGNAL__SIGNAL_SIGKILL;
	return envd_pack(out, &request.base, "a signal", e);
}

/* Go refuses a signal in these words after the process's end, until the daemon has forgotten it. */
static bool says_ended(const struct error *e)
{
	return e->kind == ERR_NOT_FOUND || strstr(e->text, "process already finished");
}

enum err envd_kill(struct envd *d, const struct call *call, uint32_t pid, struct error *e)
{
	AUTO_FREE char *url = envd_procedure(d, "process.Process/SendSignal");
	AUTO_BUF struct buf message = BUF_INIT(64);
	AUTO_BUF struct buf answer = BUF_INIT(1024);
	struct error why = { 0 };
	enum err kind = url ? pack_kill(&message, pid, e) : error_set(e, ERR_NO_MEMORY, "a signal");

	if (kind != ERR_OK)
		return kind;
	kind = connect_call(d->http, call,
		&(struct connect_request){ .url = url,
			.what = "ending a command",
			.headers = d->headers,
			.headers_count = d->command_headers,
			.message = message.bytes,
			.len = message.len,
			.flags = ENVD_HTTP | HTTP_REPEATABLE },
		&answer, &why);
	if (kind == ERR_OK || says_ended(&why))
		return ERR_OK;
	return error_set(e, kind, "%s", why.text);
}
