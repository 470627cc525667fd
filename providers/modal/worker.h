/*
 * worker.h - the worker that runs one sandbox (modal.task_command_router.TaskCommandRouter): calls
 * about commands in the sandbox.
 *
 * A worker takes a token of its own, which the control plane gives out and which expires. When a
 * token is refused, the first caller that meets this asks for another, once for all callers.
 * Nothing else that identifies the account goes to a worker.
 *
 * A command's name is chosen here, so its start may be repeated. The worker keeps the command's
 * output, which can be read from any offset. The input has offsets too. So a broken connection
 * loses nothing and does nothing twice. Any function may be called from any thread; those about one
 * command's input, or about one follower, from one thread at a time.
 */
#pragma once

#include "providers/modal/grpc.h"
#include "providers/modal/uuid.h"
#include "providers/provider.h"

struct worker;
struct server_clock;

/* Owned strings. */
struct worker_access {
	char *url, *jwt;
	/* the address of the URL's host, whose name need not be in the DNS; NULL: none */
	char *address;
};

void worker_access_release(struct worker_access *a);

/* Asks the control plane. `out` is empty before. */
typedef enum err (*worker_renew)(
	void *context, const struct call *call, struct worker_access *out, struct error *e);

/*
 * Takes `access`, also on failure. `clock`: by which the token expires. ERR_PROTOCOL: the URL is
 * not https, or the address is none.
 */
enum err worker_new(struct worker **out, struct http *http, const struct server_clock *clock,
	const char *task_id, struct worker_access *access, worker_renew renew, void *context,
	struct error *e);
void worker_free(struct worker *w);

/* ---- A command ---- */

struct worker_exec {
	struct worker *worker;
	char id[UUID_SIZE];
	uint64_t written; /* bytes of the command's input so far */
};

/*
 * `argv`: UTF-8, at most WORKER_ARGUMENTS_MAX bytes in all. The command's input stays open until
 * exec_write() ends it.
 */
enum err exec_start(struct worker_exec *out, struct worker *w, const struct call *call,
	const char *const *argv, enum grpc_status *status, struct error *e);

/* The limit of Modal's own clients; the worker's limit is documented as twice that. */
#define WORKER_ARGUMENTS_MAX ((size_t)65536)

/*
 * Writes all of `bytes`, from where the last write ended. `is_end`: the input ends after them.
 * ERR_BUSY: the command reads no more.
 */
enum err exec_write(struct worker_exec *x, const struct call *call, const void *bytes, size_t len,
	bool is_end, struct error *e);

/* Ends the input after the bytes that have arrived, also where a write failed in the middle. */
enum err exec_end_input(struct worker_exec *x, const struct call *call, struct error *e);

/*
 * Whether the command has ended; answers at once. While a program is silent this shows that the
 * connection to the worker works.
 */
enum err exec_poll(const struct worker_exec *x, const struct call *call, bool *has_ended,
	enum grpc_status *status, struct error *e);

/* ---- Following a command ---- */

enum follow_kind {
	FOLLOW_OUT,  /* standard output */
	FOLLOW_ERR,  /* standard error */
	FOLLOW_EXIT, /* the exit code */
};

struct follower {
	const struct worker_exec *exec;
	enum follow_kind kind;
	struct grpc_stream *stream; /* NULL: not open yet, or the output is over */
	unsigned generation;        /* the generation of the token that opened the stream */
	uint64_t offset;            /* bytes read so far */
	int64_t opened_ms;
	unsigned failures; /* in a row */
	int64_t failing_since_ms;
	bool is_over;
	int exit_code; /* FOLLOW_EXIT; 128 + the signal's number where a signal ended the command */
};

/*
 * Takes new output, waiting for it where there is none, and hands it on. A stream that broke is
 * opened again at its offset, after a pause. `status`: how the stream ended for good. An error of
 * the sink is returned unchanged.
 */
enum err follow(struct follower *f, const struct call *call, execute_sink sink, void *context,
	enum grpc_status *status, struct error *e);
/* Opens the stream where it is not over, so that follower_fd() can be polled. */
enum err follow_begin(struct follower *f, const struct call *call, struct error *e);
int follower_fd(const struct follower *f);
void follow_end(struct follower *f);

/* ---- Calls, for worker_*.c ---- */

enum worker_method {
	WORKER_START,
	WORKER_READ,
	WORKER_WAIT,
	WORKER_POLL,
	WORKER_WRITE,
	WORKER_STDIN_STATUS,
};

const char *worker_task(const struct worker *w);
/* Once; where the token is not accepted, once more with another. */
enum err worker_call_once(struct worker *w, const struct call *call, enum worker_method method,
	const ProtobufCMessage *message, ProtobufCMessage **answer, struct grpc_outcome *out,
	struct error *e);
/* Repeated as Modal's own clients do. */
enum err worker_call(struct worker *w, const struct call *call, enum worker_method method,
	const ProtobufCMessage *message, ProtobufCMessage **answer, enum grpc_status *status,
	struct error *e);
/* *generation: that of the token which the call uses, for worker_renew_access(). */
enum err worker_begin(struct worker *w, const struct call *call, enum worker_method method,
	const ProtobufCMessage *message, unsigned *generation, struct grpc_stream **out,
	struct error *e);
/*
 * Asks for another token after the one of generation `refused` was not accepted, unless another
 * thread has done so.
 */
enum err worker_renew_access(
	struct worker *w, const struct call *call, unsigned refused, struct error *e);
