/* Requests to a helper that is started anew for each. */
#include "providers/base/cleanup.h"
#include "providers/client/frames.h"
#include "providers/client/transport.h"

struct runs_transport {
	struct helper_transport base;
	struct helper_runner runner;
};

/*
 * The limit for what follows a whole answer, in ms: the program's end, the end of its stream. The
 * answer is valid without them, and where the link breaks just then they never come.
 */
#define ENDING_MS 2000

/* One request. The run reads the limit of `call` anew for each wait. */
struct asking {
	struct frames_reader reader;
	struct call call;
	bool is_late;
};

static void end_soon(struct asking *a)
{
	int64_t limit_ms = call_progress_ms(&a->call);

	if (a->reader.is_over && !a->is_late && (limit_ms < 0 || limit_ms > ENDING_MS))
		a->call.progress_ms = ENDING_MS;
}

static enum err take_output(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	struct asking *a = context;
	enum err kind =
		stream == STREAM_OUT ? frames_reader_take(&a->reader, bytes, len, e) : ERR_OK;

	end_soon(a);
	return kind;
}

static enum err take_file(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	struct asking *a = context;

	return stream == STREAM_OUT ? frames_reader_take_file(&a->reader, bytes, len, e) : ERR_OK;
}

static unsigned flags_for(enum frame_type type)
{
	switch (type) {
	case FRAME_FETCH: return RUN_REPEATABLE | RUN_PLAIN;
	case FRAME_LIST:
	case FRAME_COMMAND: /* the marker keeps it from running twice */
	case FRAME_STOP:
	case FRAME_HELLO: return RUN_REPEATABLE;
	default: return 0;
	}
}

static enum err ask(struct helper_transport *t, const struct call *call, enum frame_type type,
	struct buf *payload, const struct listener *listener, struct error *e)
{
	const struct helper_runner *runner = &((struct runs_transport *)t)->runner;
	struct asking a = { .call = call ? *call : (struct call){ 0 }, .is_late = runner->is_late };
	const struct answer_sink sink = { take_output, take_file, &a };
	struct error run = { 0 };
	unsigned flags = flags_for(type);

	if (type == FRAME_WATCH)
		return error_set(e, ERR_UNSUPPORTED,
			"a helper that is started for each request cannot watch");
	payload->max = WIRE_STREAM_MAX;
	if (!frames_of_request(payload, 0, type))
		return buf_check(payload, "a batch for the helper", e);
	if (listener->packs_well)
		flags = (flags | RUN_COMPRESSES) & ~(unsigned)RUN_PLAIN;
	if (listener->answer_packs_well)
		flags |= RUN_PACKED_ANSWER;
	if (listener->answer_is_bulk)
		flags |= RUN_BULK;
	frames_reader_init(&a.reader, listener, runner->is_armoured);
	run.kind = runner->run(runner->context, &a.call, payload, flags, &sink, &run);
	enum err kind = frames_reader_end(&a.reader, &run, e);

	frames_reader_release(&a.reader);
	return kind;
}

static void runs_free(struct helper_transport *t)
{
	free(t);
}

enum err helper_runs_new(
	struct helper_transport **out, const struct helper_runner *runner, struct error *e)
{
	struct runs_transport *r = malloc(sizeof *r);

	if (!r)
		return error_set(e, ERR_NO_MEMORY, "the helper's client");
	*r = (struct runs_transport){ { .ask = ask, .free = runs_free }, *runner };
	*out = &r->base;
	return ERR_OK;
}
