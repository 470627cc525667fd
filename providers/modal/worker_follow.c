/* The output of a program and its end, read through connections that break. */
#include "providers/base/cleanup.h"
#include "providers/modal/modal.pb-c.h"
#include "providers/modal/worker.h"

#include <string.h>

/*
 * A stream that fails for this long without a byte has failed for good. The time is the sum of the
 * ten pauses in SDK 0.11.1, src/task_command_router_client.ts. The pauses here stay short, since a
 * caller that waits for an answer waits for a pause as well.
 */
#define FAILING_MAX_MS 10000
#define FIRST_PAUSE_MS 10
#define DOUBLINGS_MAX  5 /* doublings of the pause */
/* A break after this time starts a new row of failures: proxies end silent streams. */
#define STOOD_MS 5000
/* No system has a larger signal: an exit code of 128 and the signal is one byte. */
#define SIGNAL_MAX 127

static enum err open_read(struct follower *f, const struct call *call, struct error *e)
{
	Modal__ExecStdioReadRequest request = MODAL__EXEC_STDIO_READ_REQUEST__INIT;

	request.task_id = (char *)worker_task(f->exec->worker);
	request.exec_id = (char *)f->exec->id;
	request.has_offset = request.has_file_descriptor = 1;
	request.offset = f->offset;
	request.file_descriptor = f->kind == FOLLOW_ERR;
	return worker_begin(
		f->exec->worker, call, WORKER_READ, &request.base, &f->generation, &f->stream, e);
}

static enum err open_wait(struct follower *f, const struct call *call, struct error *e)
{
	Modal__ExecRequest request = MODAL__EXEC_REQUEST__INIT;

	request.task_id = (char *)worker_task(f->exec->worker);
	request.exec_id = (char *)f->exec->id;
	return worker_begin(
		f->exec->worker, call, WORKER_WAIT, &request.base, &f->generation, &f->stream, e);
}

enum err follow_begin(struct follower *f, const struct call *call, struct error *e)
{
	if (f->stream || f->is_over)
		return ERR_OK;
	f->opened_ms = monotonic_ms();
	return f->kind == FOLLOW_EXIT ? open_wait(f, call, e) : open_read(f, call, e);
}

static void close_stream(struct follower *f)
{
	grpc_end(f->stream);
	f->stream = NULL;
}

void follow_end(struct follower *f)
{
	close_stream(f);
}

int follower_fd(const struct follower *f)
{
	return f->stream ? grpc_fd(f->stream) : -1;
}

/* ---- Received messages ---- */

static enum err take_output(struct follower *f, const unsigned char *bytes, size_t len,
	execute_sink sink, void *context, struct error *e)
{
	Modal__ExecStdioReadResponse *said =
		modal__exec_stdio_read_response__unpack(NULL, len, bytes);
	enum err kind = ERR_OK;

	if (!said)
		return error_set(e, ERR_PROTOCOL, "modal: a program's output makes no sense");
	f->failures = 0;
	f->offset += said->data.len;
	if (said->data.len)
		kind = sink(context, f->kind == FOLLOW_ERR ? STREAM_ERR : STREAM_OUT,
			said->data.data, said->data.len, e);
	modal__exec_stdio_read_response__free_unpacked(said, NULL);
	return kind;
}

/* The field that is set decides; its value may be zero. */
static enum err take_exit(
	struct follower *f, const unsigned char *bytes, size_t len, struct error *e)
{
	Modal__ExecWaitResponse *said = modal__exec_wait_response__unpack(NULL, len, bytes);
	bool has_code =
		said && said->exit_status_case == MODAL__EXEC_WAIT_RESPONSE__EXIT_STATUS_CODE;
	bool has_signal = said &&
		said->exit_status_case == MODAL__EXEC_WAIT_RESPONSE__EXIT_STATUS_SIGNAL &&
		said->signal > 0 && said->signal <= SIGNAL_MAX;

	f->exit_code = has_code ? said->code : has_signal ? 128 + said->signal : 0;
	f->is_over = has_code || has_signal;
	if (said)
		modal__exec_wait_response__free_unpacked(said, NULL);
	return f->is_over
		? ERR_OK
		: error_set(e, ERR_PROTOCOL, "modal: the worker does not say how a program ended");
}

static enum err take_message(struct follower *f, const unsigned char *bytes, size_t len,
	execute_sink sink, void *context, struct error *e)
{
	return f->kind == FOLLOW_EXIT ? take_exit(f, bytes, len, e)
				      : take_output(f, bytes, len, sink, context, e);
}

/* ---- Breaks of a stream ---- */

static bool may_go_on(struct follower *f, const struct call *call, const struct grpc_outcome *out)
{
	bool may = grpc_is_passing(out->status) || out->status == GRPC_UNAUTHENTICATED ||
		out->retry_after_ms >= 0;

	if (monotonic_ms() - f->opened_ms > STOOD_MS)
		f->failures = 0;
	if (!f->failures)
		f->failing_since_ms = monotonic_ms();
	f->failures++;
	return may && monotonic_ms() - f->failing_since_ms < FAILING_MAX_MS &&
		!grpc_is_late(call, f->failing_since_ms);
}

/* Opened again when the pause is over. */
static enum err recover(struct follower *f, const struct call *call, const struct grpc_outcome *out,
	struct error *e)
{
	unsigned doublings = f->failures - 1 < DOUBLINGS_MAX ? f->failures - 1 : DOUBLINGS_MAX;
	int64_t pause_ms = out->retry_after_ms >= 0 ? out->retry_after_ms
						    : (int64_t)FIRST_PAUSE_MS << doublings;
	enum err kind = ERR_OK;

	if (out->status == GRPC_UNAUTHENTICATED)
		kind = worker_renew_access(f->exec->worker, call, f->generation, e);
	else
		kind = grpc_pause(call, pause_ms, e);
	return kind ? kind : follow_begin(f, call, e);
}

static enum err conclude(struct follower *f, const struct call *call, enum err kind,
	const struct grpc_outcome *out, const struct error *why, struct error *e)
{
	close_stream(f);
	if (!kind && f->kind != FOLLOW_EXIT) {
		f->is_over = true;
		return ERR_OK;
	}
	if (f->is_over || (kind && may_go_on(f, call, out)))
		return f->is_over ? ERR_OK : recover(f, call, out, e);
	return kind
		? error_set(e, kind, "%s", why->text)
		: error_set(e, ERR_PROTOCOL, "modal: the worker does not say how a program ended");
}

enum err follow(struct follower *f, const struct call *call, execute_sink sink, void *context,
	enum grpc_status *status, struct error *e)
{
	enum err kind = follow_begin(f, call, e);

	*status = GRPC_LOCAL;
	while (!kind && f->stream) {
		struct grpc_outcome out;
		struct error why = { 0 };
		const unsigned char *bytes;
		size_t len;

		kind = grpc_next(f->stream, call, &bytes, &len, &out, &why);
		*status = out.status;
		if (kind || !bytes)
			return conclude(f, call, kind, &out, &why, e);
		kind = take_message(f, bytes, len, sink, context, e);
		if (!kind && !grpc_is_ready(f->stream))
			break;
	}
	return kind;
}
