#include "providers/remote_watch.h"

#include "providers/base/cleanup.h"
#include "providers/helper_frames.h"
#include "providers/remote_runner.h"

/* Whoever listens may be killed and close nothing: by then it ends itself, and a listener that lives starts another. */
#define SERVES_S 3600
/* The request is text of a command: four characters a byte. One start for a list has some fifty bytes. */
#define REQUEST_MAX ((size_t)4 * 1024)
#define INPUT_MAX   (4 * REQUEST_MAX + 256)

struct watching {
	const struct remote *r;
	remote_listen listen;
	void *listen_context;
	const char *input;
	struct listener *listener;
	bool is_missing; /* the program is not there, and nothing was heard */
};

static enum err hear(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	return stream == STREAM_OUT ? frames_reader_take(context, bytes, len, e) : ERR_OK;
}

/* The request, and then nothing, but no end either. */
static enum err put_input(struct buf *out, const struct watch_request *request, struct error *e)
{
	AUTO_BUF struct buf payload = BUF_INIT(REQUEST_MAX);
	AUTO_BUF struct buf frames = BUF_INIT(REQUEST_MAX);
	enum err kind;

	wire_put_watch(&payload, request);
	kind = buf_check(&payload, "what to list before a watch", e);
	if (kind)
		return kind;
	if (!frames_of_request(&frames, FRAME_WATCH, &payload))
		return buf_check(&frames, "a request to watch", e);
	buf_add_string(out, "printf '");
	for (size_t i = 0; i < frames.len; i++)
		buf_printf(out, "\\%03o", frames.bytes[i]);
	buf_printf(out, "'; exec sleep %d 2>/dev/null", SERVES_S);
	return buf_check(out, "a request to watch", e);
}

static enum err listen_once(struct watching *w, const struct call *call, struct error *e)
{
	const char *const argv[] = { w->r->helper_path, "serve", "-a", w->r->root, w->r->staging,
		NULL };
	AUTO_FRAMES_READER struct frames_reader reader;
	struct error run = { 0 };
	int exit_code = 0;

	frames_reader_init(&reader, w->listener, true);
	run.kind =
		w->listen(w->listen_context, call, argv, w->input, hear, &reader, &exit_code, &run);
	w->is_missing = exit_code == 127 && !reader.has_frame;
	return frames_reader_end(&reader, &run, e);
}

enum err remote_watch(const struct remote *r, const char *vendor, remote_listen listen,
	void *listen_context, const struct call *call, const struct watch_request *request,
	watch_sink sink, void *context, struct error *e)
{
	struct watch_state state = {
		.first = { .request = request->first }, .sink = sink, .context = context
	};
	struct listener listener = watch_listener(&state);
	AUTO_BUF struct buf input = BUF_INIT(INPUT_MAX);
	struct watching w = {
		.r = r, .listen = listen, .listen_context = listen_context, .listener = &listener
	};
	enum err kind;

	if (!r->helper)
		return error_set(e, ERR_UNSUPPORTED,
			"%s: without the helper there is no stream of changes", vendor);
	kind = put_input(&input, request, e);
	if (kind)
		return kind;
	w.input = buf_text(&input);
	kind = listen_once(&w, call, e);
	if (!w.is_missing)
		return kind;
	kind = remote_put_back(r, call, e);
	return kind ? kind : listen_once(&w, call, e);
}
