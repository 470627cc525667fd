/*
 * worker.h - the worker that runs one sandbox (modal.task_command_router.TaskCommandRouter): calls about commands in it.
 *
 * A worker takes a token of its own, which the control plane gives out and which ages: where it is not accepted any more
 * another one is asked for, once by whoever comes first. Nothing else that identifies the account goes to a worker.
 *
 * A command has a name that is chosen here, so starting it may be repeated; its output is kept by the worker, to be read
 * from any offset; its input has offsets too. So a broken connection loses nothing and does nothing twice. Any function
 * may be called from any thread, those about one command's input and one follower from one at a time.
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
	char *address; /* NULL, or where its host is: a name that need not be known to anybody else */
};

void worker_access_release(struct worker_access *a);

/* Asks the control plane. `out` is empty before. */
typedef enum err (*worker_renew)(
	void *context, const struct call *call, struct worker_access *out, struct error *e);

/*
 * Takes `access`, also on failure. `clock`: by which its token expires. ERR_PROTOCOL: its URL is not
 * https, or its address none.
 */
enum err worker_new(struct worker **out, struct http *http, const struct server_clock *clock,
	const char *task_id, struct worker_access *access, worker_renew renew, void *context,
	struct error *e);
void worker_free(struct worker *w);

/* ---- A command ---- */

struct worker_exec {
	struct worker *worker;
	char id[UUID_SIZE];
	uint64_t written; /* bytes of its input so far */
};

/* `argv`: UTF-8, at most WORKER_ARGUMENTS_MAX bytes in all. Its input stays open until exec_write() says that it ends. */
enum err exec_start(struct worker_exec *out, struct worker *w, const struct call *call,
	const char *const *argv, enum grpc_status *status, struct error *e);

/* Checked by Modal's own clients; the worker's limit is said to be twice that. */
#define WORKER_ARGUMENTS_MAX ((size_t)65536)

/* All of it, from where the last one ended; `is_end`: and nothing comes after it. ERR_BUSY: it reads no more. */
enum err exec_write(struct worker_exec *x, const struct call *call, const void *bytes, size_t len,
	bool is_end, struct error *e);

/* Its input ends with what has arrived of it, also where a write failed in the middle. */
enum err exec_end_input(struct worker_exec *x, const struct call *call, struct error *e);

/* Whether it has ended, at once: a sign of life of whatever is between us and a program that is silent. */
enum err exec_poll(const struct worker_exec *x, const struct call *call, bool *has_ended,
	enum grpc_status *status, struct error *e);

/* ---- Following it ---- */

enum follow_kind {
	FOLLOW_OUT,  /* its standard output */
	FOLLOW_ERR,  /* its standard error */
	FOLLOW_EXIT, /* how it ends */
};

struct follower {
	const struct worker_exec *exec;
	enum follow_kind kind;
	struct grpc_stream *stream; /* NULL: to be opened, or it is over */
	unsigned generation;        /* of the token it was opened with */
	uint64_t offset;            /* bytes so far */
	int64_t opened_ms;
	unsigned failures; /* in a row */
	int64_t failing_since_ms;
	bool is_over;
	int exit_code; /* FOLLOW_EXIT: 128 + the signal's number where one ended it */
};

/*
 * Takes what has come, waiting for it where nothing has, and hands it on. What broke off goes on where it was, after a
 * pause; `status` says how it ended for good. An error of the sink's comes out unchanged.
 */
enum err follow(struct follower *f, const struct call *call, execute_sink sink, void *context,
	enum grpc_status *status, struct error *e);
/* So that follower_fd() can be polled: opened where it is not over. */
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
/* *generation: of the token it goes with, for worker_renew_access(). */
enum err worker_begin(struct worker *w, const struct call *call, enum worker_method method,
	const ProtobufCMessage *message, unsigned *generation, struct grpc_stream **out,
	struct error *e);
/* The token of this generation was not accepted: asks for another, unless somebody did meanwhile. */
enum err worker_renew_access(
	struct worker *w, const struct call *call, unsigned refused, struct error *e);
