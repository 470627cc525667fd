/*
 * client.h - the batch verbs through a helper program that runs in the sandbox.
 *
 * The client owns two file descriptors (pipes, a socket) on whose other end a helper serves. Any number of threads may
 * call at once: requests carry ids, one thread reads all answers and hands them to whoever waits. When the stream breaks
 * or makes no sense every waiting and later call fails with ERR_UNREACHABLE or ERR_PROTOCOL. A call that is cancelled or
 * makes no progress returns at once; its late answers are dropped.
 */
#pragma once

#include "providers/base/call.h"
#include "providers/helper/wire.h"
#include "providers/provider.h"

struct helper_client;

/* Says hello, so that a helper of another version is refused (ERR_PROTOCOL). Takes both descriptors, also on failure. */
enum err helper_client_new(struct helper_client **out, int to_fd, int from_fd,
	const struct call *call, struct error *e);
/* Ends the stream: a helper in serve mode exits. */
void helper_client_free(struct helper_client *h);

/* What a request to a helper that is started anew is like, for whoever starts it. */
enum run_flags {
	/* To run it twice is as good as once: may be run again as long as no output was passed on. */
	RUN_REPEATABLE = 1,
	RUN_COMPRESSES = 2,    /* it and its answer are worth compressing on the way */
	RUN_PLAIN = 4,         /* its answer is large and not: nothing is compressed */
	RUN_PACKED_ANSWER = 8, /* its answer is, whatever it is itself */
	RUN_BULK = 16,         /* its answer is large: nothing else should stand behind it */
};

/* Where an answer goes, in order, in pieces of any size: what the helper prints, then what is in a file it left. */
struct answer_sink {
	execute_sink output;
	execute_sink file;
	void *context;
};

/*
 * The same over a helper program that is started anew for every request (`sandboxfs-helper once`). `run` hands the frames
 * of one request to it and passes on its answer; ERR_OK: it ended. Watching is not possible so. `hello` is what such a
 * helper answered when it was found.
 */
struct helper_runner {
	enum err (*run)(void *context, const struct call *call, const struct buf *frames,
		unsigned flags, const struct answer_sink *sink, struct error *e);
	bool is_armoured; /* what it prints is lines of base64; what is in a file never is */
	bool is_late;     /* nothing is passed on before the answer is whole */
	void *context;
};

enum err helper_client_new_runs(struct helper_client **out, const struct helper_runner *runner,
	const struct hello *hello, struct error *e);

/*
 * The same over a helper that serves while it is asked: it is started by the first request, and let go when nobody has asked
 * for `idle_ms`. Its stream may break: the requests on it fail with ERR_UNREACHABLE, and the next one starts another.
 */
struct helper_keeper {
	/* Starts one; *fd is its input and its output, and the callee's to close. */
	enum err (*start)(void *context, const struct call *call, int *fd, struct error *e);
	/* One was started and hung up: puts right what can be. After ERR_OK it is started once more. */
	enum err (*mend)(void *context, const struct call *call, struct error *e);
	int64_t idle_ms;
	void *context;
};

enum err helper_client_new_kept(struct helper_client **out, const struct helper_keeper *keeper,
	const struct hello *hello, struct error *e);

const struct hello *helper_client_hello(const struct helper_client *h);

/* Whether answers are passed on only once they are whole: then they should be bounded by whoever asks. */
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
 * One request of those that start a command or follow it, as helper/command.h says: the last piece says how it stands. It
 * may be asked again, from the last piece that came, when it failed.
 */
enum err helper_client_command(struct helper_client *h, const struct call *call,
	const struct command_request *request, command_sink sink, void *context, struct error *e);
enum err helper_client_stop(struct helper_client *h, const struct call *call, const char *marker,
	bool now, struct error *e);
