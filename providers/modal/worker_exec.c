/* Starting programs and feeding them. */
#include "providers/base/cleanup.h"
#include "providers/base/utf8.h"
#include "providers/modal/modal_answer.h"
#include "providers/modal/modal.pb-c.h"
#include "providers/modal/worker.h"

#include <string.h>

/*
 * The most bytes in one message: a large upload takes a few round trips, and the limit of a message
 * is far away.
 */
#define WRITE_MAX ((size_t)4 * 1024 * 1024)
/*
 * A write that failed is resumed this often, somewhat less than in SDK 0.11.1,
 * src/task_command_router_client.ts.
 */
#define RESUMES_MAX     6
#define RESUME_PAUSE_MS 10

static enum err check_argv(const char *const *argv, size_t *count, struct error *e)
{
	size_t len = 0;

	for (*count = 0; argv[*count]; ++*count) {
		len += strlen(argv[*count]);
		if (!utf8_valid(argv[*count], strlen(argv[*count])))
			return error_set(e, ERR_INVALID, "modal: an argument that is not UTF-8");
	}
	return len > WORKER_ARGUMENTS_MAX
		? error_set(e, ERR_TOO_LARGE, "modal: %zu bytes of arguments; Modal takes %zu", len,
			  WORKER_ARGUMENTS_MAX)
		: ERR_OK;
}

enum err exec_start(struct worker_exec *out, struct worker *w, const struct call *call,
	const char *const *argv, enum grpc_status *status, struct error *e)
{
	Modal__ExecStartRequest request = MODAL__EXEC_START_REQUEST__INIT;
	AUTO_ANSWER ProtobufCMessage *answer = NULL;
	enum err kind = check_argv(argv, &request.n_command_args, e);

	*out = (struct worker_exec){ .worker = w };
	*status = GRPC_LOCAL;
	if (!kind)
		kind = uuid_new(out->id, e);
	if (kind)
		return kind;
	request.task_id = (char *)worker_task(w);
	request.exec_id = out->id;
	request.command_args = (char **)argv;
	request.has_stdout_config = request.has_stderr_config = 1;
	request.stdout_config = request.stderr_config = 1;
	return worker_call(w, call, WORKER_START, &request.base, &answer, status, e);
}

/* A call about a command that needs only the command's name. */
static enum err ask_about(const struct worker_exec *x, const struct call *call,
	enum worker_method method, ProtobufCMessage **answer, enum grpc_status *status,
	struct error *e)
{
	Modal__ExecRequest request = MODAL__EXEC_REQUEST__INIT;

	request.task_id = (char *)worker_task(x->worker);
	request.exec_id = (char *)x->id;
	return worker_call(x->worker, call, method, &request.base, answer, status, e);
}

enum err exec_poll(const struct worker_exec *x, const struct call *call, bool *has_ended,
	enum grpc_status *status, struct error *e)
{
	AUTO_ANSWER ProtobufCMessage *answer = NULL;
	enum err kind = ask_about(x, call, WORKER_POLL, &answer, status, e);

	*has_ended = !kind &&
		((const Modal__ExecWaitResponse *)answer)->exit_status_case !=
			MODAL__EXEC_WAIT_RESPONSE__EXIT_STATUS__NOT_SET;
	return kind;
}

/* ---- The input ---- */

/* Asks how much of the input has arrived. */
static enum err ask_written(const struct worker_exec *x, const struct call *call, uint64_t *written,
	bool *is_closed, struct error *e)
{
	AUTO_ANSWER ProtobufCMessage *answer = NULL;
	const Modal__ExecStdinStatusResponse *said;
	enum grpc_status status;
	enum err kind = ask_about(x, call, WORKER_STDIN_STATUS, &answer, &status, e);

	if (kind)
		return kind;
	said = (const Modal__ExecStdinStatusResponse *)answer;
	*written = said->num_bytes_written;
	*is_closed = said->closed;
	return ERR_OK;
}

static enum err write_once(struct worker_exec *x, const struct call *call, const void *bytes,
	size_t len, bool is_end, struct grpc_outcome *out, struct error *e)
{
	Modal__ExecStdinWriteRequest request = MODAL__EXEC_STDIN_WRITE_REQUEST__INIT;
	AUTO_ANSWER ProtobufCMessage *answer = NULL;

	request.task_id = (char *)worker_task(x->worker);
	request.exec_id = x->id;
	request.has_offset = request.has_data = request.has_eof = 1;
	request.offset = x->written;
	request.data = (ProtobufCBinaryData){ len, (uint8_t *)bytes };
	request.eof = is_end;
	return worker_call_once(x->worker, call, WORKER_WRITE, &request.base, &answer, out, e);
}

/*
 * After a failure the worker is asked how much has arrived, and the rest is sent: bytes that
 * arrived must not be sent twice. *done: bytes of this piece.
 */
static enum err resume(const struct worker_exec *x, const struct call *call, size_t len,
	bool is_end, size_t *done, bool *is_over, struct error *e)
{
	uint64_t written;
	bool is_closed;
	enum err kind = ask_written(x, call, &written, &is_closed, e);

	if (kind)
		return kind;
	if (written < x->written || written - x->written > len)
		return error_set(e, ERR_PROTOCOL,
			"modal: feeding a program: it has %llu bytes of %llu",
			(unsigned long long)written, (unsigned long long)(x->written + len));
	*done = (size_t)(written - x->written);
	*is_over = *done == len && is_closed == is_end;
	return ERR_OK;
}

static enum err write_piece(struct worker_exec *x, const struct call *call,
	const unsigned char *bytes, size_t len, bool is_end, struct error *e)
{
	int64_t since_ms = monotonic_ms();
	bool is_over = false;

	for (unsigned failures = 0; !is_over; failures++) {
		struct grpc_outcome out;
		struct error why = { 0 };
		size_t done = len;
		enum err kind = write_once(x, call, bytes, len, is_end, &out, &why);

		if (kind &&
			(!grpc_is_passing(out.status) || failures >= RESUMES_MAX ||
				grpc_is_late(call, since_ms)))
			return error_set(e, kind, "%s", why.text);
		is_over = !kind;
		if (kind)
			kind = grpc_pause(call, (int64_t)RESUME_PAUSE_MS << failures, e);
		if (!kind && !is_over)
			kind = resume(x, call, len, is_end, &done, &is_over, e);
		if (kind)
			return kind;
		x->written += done;
		bytes += done;
		len -= done;
	}
	return ERR_OK;
}

enum err exec_write(struct worker_exec *x, const struct call *call, const void *bytes, size_t len,
	bool is_end, struct error *e)
{
	const unsigned char *at = bytes;
	enum err kind = ERR_OK;

	do {
		size_t piece = len < WRITE_MAX ? len : WRITE_MAX;

		kind = write_piece(x, call, at, piece, is_end && piece == len, e);
		at += piece;
		len -= piece;
	} while (!kind && len);
	return kind;
}

enum err exec_end_input(struct worker_exec *x, const struct call *call, struct error *e)
{
	struct grpc_outcome out;
	bool is_closed;
	enum err kind = ask_written(x, call, &x->written, &is_closed, e);

	return kind || is_closed ? kind : write_once(x, call, NULL, 0, true, &out, e);
}
