#include "providers/e2b/envd_client.h"

#include "providers/base/cleanup.h"
#include "providers/base/path.h"
#include "providers/e2b/envd.pb-c.h"
#include "providers/e2b/envd_changes.h"

#include <string.h>

/* The stream lives as long as the mount, so it is not asked for a word more often than a dead one must be noticed. */
#define KEEPALIVE_S 30
/* Two words missed, and a little for the way. */
#define SILENCE_MAX_MS (2 * KEEPALIVE_S * 1000 + 5000)

/* ---- The stream ---- */

static enum err begin(
	struct envd *d, const char *root, struct connect_stream **out, struct error *e)
{
	Envd__WatchDirRequest request = ENVD__WATCH_DIR_REQUEST__INIT;
	AUTO_FREE char *url = envd_procedure(d, "filesystem.Filesystem/WatchDir");
	AUTO_BUF struct buf message = BUF_INIT(PATH_LENGTH_MAX + 64);
	enum err kind = url ? envd_check_text(root, "a directory to watch", e)
			    : error_set(e, ERR_NO_MEMORY, "watching");

	request.path = (char *)root;
	request.has_recursive = request.recursive = true;
	request.has_include_entry = request.include_entry = true;
	if (kind == ERR_OK)
		kind = envd_pack(&message, &request.base, "a directory to watch", e);
	if (kind != ERR_OK)
		return kind;
	return connect_begin(d->http,
		&(struct connect_request){ .url = url,
			.what = "watching",
			.headers = d->headers,
			.headers_count = d->command_headers,
			.message = message.bytes,
			.len = message.len,
			.flags = ENVD_HTTP | HTTP_REPEATABLE | HTTP_OWN_CONNECTION,
			.keepalive_s = KEEPALIVE_S },
		out, e);
}

/* Before the start the caller's own patience counts, then the silence that the daemon promised not to keep. */
static enum err read_stream(
	struct envd_changes *w, struct connect_stream *s, const struct call *call, struct error *e)
{
	struct call living = call ? *call : (struct call){ 0 };
	enum err kind = ERR_OK;
	bool is_over = false;

	living.progress_ms = SILENCE_MAX_MS;
	while (kind == ERR_OK && !is_over)
		kind = connect_read(
			s, w->is_ready ? &living : call, envd_changes_decode, w, &is_over, e);
	if (kind == ERR_OK)
		kind = error_set(e, ERR_UNREACHABLE, "E2B has ended the watch");
	return kind;
}

/* Before the start: what is never going to work here. The sandbox's limits on inotify speak of space and of open files. */
static bool is_unsupported(const struct error *why)
{
	return (why->kind == ERR_INVALID && strstr(why->text, "network filesystem")) ||
		why->kind == ERR_NO_SPACE || why->kind == ERR_FILES_LIMIT;
}

/* After the start: what starting anew does not mend. */
static bool is_lasting(enum err kind)
{
	return kind == ERR_INTERRUPTED || kind == ERR_AUTH || kind == ERR_GONE ||
		kind == ERR_PROTOCOL || kind == ERR_NO_MEMORY;
}

/*
 * The daemon ends the stream when inotify's queue overflows, and for a name that is not UTF-8. Whatever it says then, and
 * when it says nothing any more, the watch can be started anew.
 */
static enum err judge(const struct envd_changes *w, const struct error *why, struct error *e)
{
	enum err kind = why->kind;

	if (!w->is_stopped && !w->is_ready && is_unsupported(why))
		kind = ERR_UNSUPPORTED;
	if (!w->is_stopped && w->is_ready && !is_lasting(kind))
		kind = ERR_UNREACHABLE;
	return error_set(e, kind, "%s", why->text);
}

/* `staging` below `root`, or NULL. Both absolute. */
static const char *below(const char *root, const char *staging)
{
	size_t len = strcmp(root, "/") ? strlen(root) : 0;

	if (!staging || strncmp(staging, root, len) || staging[len] != '/')
		return NULL;
	return staging + len + 1;
}

enum err envd_watch(struct envd *d, const struct call *call, const char *root, const char *staging,
	watch_sink sink, void *context, struct error *e)
{
	struct envd_changes w = {
		.staging = below(root, staging), .sink = sink, .context = context
	};
	struct connect_stream *stream;
	struct error why = { 0 };
	enum err kind = begin(d, root, &stream, e);

	if (kind != ERR_OK)
		return kind;
	read_stream(&w, stream, call, &why);
	connect_end(stream);
	return judge(&w, &why, e);
}
