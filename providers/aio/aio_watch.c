/*
 * The stream of changes: inotify as the helper hears it, in a helper that serves for as long as somebody listens.
 *
 * The service's own (/v1/file/watch) is not used: it gathers changes for 50 ms at least, its document does not say when it
 * has begun or what it does with directories that are new, and a name that is not UTF-8 has no place in its JSON.
 */
#include "providers/aio/aio.h"
#include "providers/base/cleanup.h"
#include "providers/helper_frames.h"
#include "providers/remote_runner.h"

/* Whoever listens may be killed and close nothing: by then it ends itself, and a listener that lives starts another. */
#define SERVES_S 3600
/* A request to watch has no payload, so it is a frame's header. */
#define INPUT_MAX 256

static enum err hear(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	return stream == STREAM_OUT ? frames_reader_take(context, bytes, len, e) : ERR_OK;
}

/* The request, and then nothing, but no end either. */
static enum err put_input(struct buf *out, struct error *e)
{
	AUTO_BUF struct buf frames = BUF_INIT(INPUT_MAX);
	const struct buf none = BUF_INIT(0);

	if (!frames_of_request(&frames, FRAME_WATCH, &none))
		return buf_check(&frames, "a request to watch", e);
	buf_add_string(out, "printf '");
	for (size_t i = 0; i < frames.len; i++)
		buf_printf(out, "\\%03o", frames.bytes[i]);
	buf_printf(out, "'; exec sleep %d 2>/dev/null", SERVES_S);
	return buf_check(out, "a request to watch", e);
}

/* *is_missing: the program is not there, and nothing was heard. */
static enum err listen(struct aio *a, const struct call *call, const char *input,
	struct listener *listener, bool *is_missing, struct error *e)
{
	const char *const argv[] = { a->remote.helper_path, "serve", "-a", a->remote.root,
		a->remote.staging, NULL };
	AUTO_FRAMES_READER struct frames_reader reader;
	struct error run = { 0 };
	int exit_code = 0;

	frames_reader_init(&reader, listener, true);
	run.kind = aio_stream(a, call, argv, input, hear, &reader, &exit_code, &run);
	*is_missing = exit_code == 127 && !reader.has_frame;
	return frames_reader_end(&reader, &run, e);
}

enum err aio_watch(struct provider *p, const struct call *call, watch_sink sink, void *context,
	struct error *e)
{
	struct aio *a = (struct aio *)p;
	struct watch_state state = { .sink = sink, .context = context };
	struct listener listener = watch_listener(&state);
	AUTO_BUF struct buf input = BUF_INIT(INPUT_MAX);
	bool is_missing;
	enum err kind;

	if (!p->helper)
		return error_set(e, ERR_UNSUPPORTED,
			"aio: without the helper there is no stream of changes");
	kind = put_input(&input, e);
	if (kind)
		return kind;
	kind = listen(a, call, buf_text(&input), &listener, &is_missing, e);
	if (!is_missing)
		return kind;
	kind = remote_put_back(&a->remote, call, e);
	return kind ? kind : listen(a, call, buf_text(&input), &listener, &is_missing, e);
}
