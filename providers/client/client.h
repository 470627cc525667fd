/*
 * client.h - the batch verbs through a helper program that runs in the sandbox.
 *
 * The client owns two file descriptors (pipes, a socket); a helper serves at their other end. Any
 * number of threads may call at once: requests carry ids, and one thread reads all answers and
 * passes them to the callers. When the stream breaks or makes no sense every waiting and later call
 * fails with ERR_UNREACHABLE or ERR_PROTOCOL. A call that is cancelled or makes no progress returns
 * at once; its late answers are dropped.
 */
#pragma once

#include "providers/base/call.h"
#include "providers/helper/wire.h"
#include "providers/provider.h"

struct helper_client;

/*
 * Exchanges the hello, so that a helper of another version is refused (ERR_PROTOCOL). Takes both
 * descriptors, also on failure.
 */
enum err helper_client_new(struct helper_client **out, int to_fd, int from_fd,
	const struct call *call, struct error *e);
/* Ends the stream: a helper in serve mode exits. */
void helper_client_free(struct helper_client *h);

/* Properties of a request to a helper that is started anew, for the code that starts it. */
enum run_flags {
	/*
	 * Two runs are as good as one: the request may be run again as long as no output was passed
	 * on.
	 */
	RUN_REPEATABLE = 1,
	RUN_COMPRESSES = 2,    /* request and answer are worth compressing on the way */
	RUN_PLAIN = 4,         /* a large answer is not: nothing is compressed */
	RUN_PACKED_ANSWER = 8, /* the answer is, whatever the request is */
	RUN_BULK = 16,         /* a large answer: nothing else should stand behind it */
};

/*
 * Receives an answer, in order, in pieces of any size: the helper's output, then the contents of a
 * file that the helper left.
 */
struct answer_sink {
	execute_sink output;
	execute_sink file;
	void *context;
};

/*
 * A client whose helper program is started anew for every request (`sandboxfs-helper once`). `run`
 * passes the frames of one request to the program and its answer back; ERR_OK: the program ended.
 * Each of its waits has the limit that `call` has by then, which is short behind a whole answer.
 * Such a client cannot watch. `hello` is the helper's answer when it was found.
 */
struct helper_runner {
	enum err (*run)(void *context, const struct call *call, const struct buf *frames,
		unsigned flags, const struct answer_sink *sink, struct error *e);
	bool is_armoured; /* the output is lines of base64; the contents of a file never are */
	bool is_late;     /* no output is passed on before the answer is whole */
	void *context;
};

enum err helper_client_new_runs(struct helper_client **out, const struct helper_runner *runner,
	const struct hello *hello, struct error *e);

/*
 * A client whose helper serves while there are requests. The first request starts the helper, and
 * the helper is released after `idle_ms` without one. When its stream breaks, the requests on it
 * fail with ERR_UNREACHABLE, and the next one starts another helper.
 */
struct helper_keeper {
	/* Starts a helper; *fd is its input and its output. The client closes *fd. */
	enum err (*start)(void *context, const struct call *call, int *fd, struct error *e);
	/*
	 * A helper was started and hung up: repairs the cause where possible. After ERR_OK the
	 * client starts the helper once more.
	 */
	enum err (*mend)(void *context, const struct call *call, struct error *e);
	int64_t idle_ms;
	bool costs_requests; /* each write of *fd does: few and large ones, no reports */
	void *context;
};

enum err helper_client_new_kept(struct helper_client **out, const struct helper_keeper *keeper,
	const struct hello *hello, struct error *e);

const struct hello *helper_client_hello(const struct helper_client *h);

/*
 * Whether answers are passed on only when they are whole: then the caller should limit their size.
 */
bool helper_client_is_late(const struct helper_client *h);

enum err helper_client_list(struct helper_client *h, const struct call *call,
	const struct list_request *request, list_sink sink, void *context, struct error *e);
enum err helper_client_fetch(struct helper_client *h, const struct call *call,
	const struct fetch_item *items, size_t items_count, fetch_sink sink, void *context,
	struct error *e);
enum err helper_client_apply(struct helper_client *h, const struct call *call,
	const struct apply_request *request, struct change_result *results, struct error *e);
enum err helper_client_watch(struct helper_client *h, const struct call *call,
	const struct watch_request *request, watch_sink sink, void *context, struct error *e);

/*
 * One request that starts or follows a command, as in helper/command.h. The last piece has the
 * state of the command. After a failure the request may be sent again, from the last piece that
 * came.
 */
enum err helper_client_command(struct helper_client *h, const struct call *call,
	const struct command_request *request, command_sink sink, void *context, struct error *e);
enum err helper_client_stop(struct helper_client *h, const struct call *call, const char *marker,
	bool now, struct error *e);
