#include "providers/remote/watch.h"

#include "providers/base/base64.h"
#include "providers/base/cleanup.h"
#include "providers/client/frames.h"
#include "providers/remote/command.h"
#include "providers/remote/opening.h"
#include "providers/remote/runner.h"
#include "providers/remote/text.h"

#include <string.h>

/* The request is an argument. A request for a list from one start takes some fifty bytes. */
#define REQUEST_MAX ((size_t)16 * 1024)

struct watching {
	const struct remote *r;
	remote_listen listen;
	void *listen_context;
	const char *request; /* base64 */
	struct listener *listener;
	bool is_missing; /* the program is not there, and no frame came */
};

static enum err receive(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	return stream == STREAM_OUT ? frames_reader_take(context, bytes, len, e) : ERR_OK;
}

static enum err put_request(struct buf *out, const struct watch_request *request, struct error *e)
{
	AUTO_BUF struct buf frames = BUF_INIT(REQUEST_MAX);
	enum err kind;

	wire_put_watch(&frames, request);
	kind = buf_check(&frames, "what to list before a watch", e);
	if (kind)
		return kind;
	if (!frames_of_request(&frames, 0, FRAME_WATCH))
		return buf_check(&frames, "a request to watch", e);
	base64_encode(out, frames.bytes, frames.len);
	return buf_check(out, "a request to watch", e);
}

/* A remote_listen whose context is the struct remote. */
static enum err listen_to_record(void *context, const struct call *call, const char *const *argv,
	execute_sink sink, void *sink_context, int *exit_code, struct error *e)
{
	AUTO_BUF struct buf text = BUF_INIT(4 * REQUEST_MAX);
	struct execute_request request = { 0 };
	struct execute_result result = { 0 };
	enum err kind;

	remote_text_add(&text, argv);
	kind = buf_check(&text, "a request to watch", e);
	if (kind)
		return kind;
	request.command = buf_text(&text);
	kind = remote_command_listen(context, call, &request, sink, sink_context, &result, e);
	*exit_code = result.exit_code;
	return kind;
}

static enum err listen_once(struct watching *w, const struct call *call, struct error *e)
{
	const struct remote *r = w->r;
	/* A record holds any byte, and the recorder sends signs of life by itself. */
	bool is_recorded = w->listen == listen_to_record,
	     is_armoured = r->ops.is_text && !is_recorded;
	const char *const arguments[] = { "once", "-t", REMOTE_WATCH_S, "-r", w->request,
		is_recorded           ? "-q"
			: is_armoured ? "-a"
				      : "--",
		r->root, r->staging, NULL };
	const char *argv[REMOTE_LAUNCH_ARGC + sizeof arguments / sizeof *arguments];
	AUTO_FRAMES_READER struct frames_reader reader;
	const struct call patient = watch_call(call);
	struct error run = { 0 };
	int exit_code = 0;

	memcpy(argv + remote_launch(r, argv), arguments, sizeof arguments);
	frames_reader_init(&reader, w->listener, is_armoured);
	run.kind = w->listen(w->listen_context, &patient, argv, receive, &reader, &exit_code, &run);
	w->is_missing = exit_code == 127 && !reader.has_frame;
	return frames_reader_end(&reader, &run, e);
}

enum err remote_watch(const struct remote *r, const char *vendor, const struct call *call,
	const struct watch_request *request, watch_sink sink, void *context, struct error *e)
{
	AUTO_WATCH_STATE struct watch_state state = {
		.first.check.request = request->first, .sink = sink, .context = context
	};
	struct listener listener = watch_listener(&state);
	AUTO_BUF struct buf text = BUF_INIT(2 * REQUEST_MAX);
	struct watching w = { .r = r,
		.listen = r->ops.listen ? r->ops.listen : listen_to_record,
		.listen_context = r->ops.listen ? r->ops.context : (void *)r,
		.listener = &listener };
	bool is_taken;
	enum err kind;

	if (!r->helper)
		return error_set(e, ERR_UNSUPPORTED, "%s: %s", vendor, r->no_helper);
	kind = remote_opening_take(r->opening, call, request, sink, context, &is_taken, e);
	if (!is_taken)
		kind = put_request(&text, request, e);
	if (is_taken || kind)
		return kind;
	w.request = buf_text(&text);
	kind = listen_once(&w, call, e);
	if (!w.is_missing)
		return kind;
	kind = remote_put_back(r, call, e);
	return kind ? kind : listen_once(&w, call, e);
}
