#include "providers/e2b/envd_client.h"

#include "providers/base/cleanup.h"
#include "providers/base/path.h"
#include "providers/e2b/envd.pb-c.h"

#include <string.h>

/* The stream lives as long as the mount, so it is not asked for a word more often than a dead one must be noticed. */
#define KEEPALIVE_S 30
/* Two words missed, and a little for the way. */
#define SILENCE_MAX_MS (2 * KEEPALIVE_S * 1000 + 5000)

struct watch {
	const char *staging; /* below the watched directory; NULL: nothing is hidden */
	watch_sink sink;
	void *context;
	bool is_ready;
	bool is_stopped; /* by the sink, whose error is passed on as it is */
};

/* ---- Events ---- */

static enum err tell(
	struct watch *w, enum watch_kind kind, const char *path, bool is_dir, struct error *e)
{
	enum err stopped = w->sink(w->context,
		&(struct watch_event){ .kind = kind, .is_dir = is_dir, .path = path }, e);

	w->is_stopped = stopped != ERR_OK;
	return stopped;
}

static bool is_hidden(const struct watch *w, const char *path)
{
	size_t len = w->staging ? strlen(w->staging) : 0;

	return w->staging && !strncmp(path, w->staging, len) && (!path[len] || path[len] == '/');
}

/* A link to a directory has the directory's type. */
static bool is_directory(const Envd__EntryInfo *entry)
{
	return entry && entry->type == ENVD__FILE_TYPE__FILE_TYPE_DIRECTORY &&
		!entry->symlink_target;
}

/*
 * What a directory brought along that was moved in is not reported, so it is in doubt; so is a name of which nothing is
 * known: it has gone again, or envd is older than 0.6.3 and never says what it is.
 */
static enum err on_created(
	struct watch *w, const char *path, const Envd__EntryInfo *entry, struct error *e)
{
	bool is_dir = is_directory(entry);
	enum err kind = tell(w, WATCH_CREATED, path, is_dir, e);

	if (kind == ERR_OK && (is_dir || !entry))
		kind = tell(w, WATCH_LOST, path, is_dir, e);
	return kind;
}

/* The stream stays open, but nothing comes any more. */
static enum err on_root_gone(struct watch *w, struct error *e)
{
	enum err kind = tell(w, WATCH_LOST, "", true, e);

	if (kind != ERR_OK)
		return kind;
	return error_set(e, ERR_UNREACHABLE, "the watched directory was moved or removed");
}

static enum err on_change(struct watch *w, const Envd__FilesystemEvent *event, struct error *e)
{
	const char *path = event->name ? event->name : "";
	bool is_root = !*path || !strcmp(path, ".");

	if (is_root)
		path = "";
	if (path_check(path, NULL) != ERR_OK || path_is_staged(path))
		return error_set(e, ERR_PROTOCOL, "E2B reports a change of %s", path);
	if (is_hidden(w, path))
		return ERR_OK;
	switch (event->type) {
	case ENVD__EVENT_TYPE__EVENT_TYPE_CREATE: return on_created(w, path, event->entry, e);
	case ENVD__EVENT_TYPE__EVENT_TYPE_WRITE:
		return tell(w, WATCH_CHANGED, path, is_directory(event->entry), e);
	case ENVD__EVENT_TYPE__EVENT_TYPE_CHMOD:
		return tell(w, WATCH_ATTR, path, is_root || is_directory(event->entry), e);
	/* The old name; the new one, where it is below too, is created. */
	case ENVD__EVENT_TYPE__EVENT_TYPE_RENAME:
	case ENVD__EVENT_TYPE__EVENT_TYPE_REMOVE:
		return is_root ? on_root_gone(w, e) : tell(w, WATCH_REMOVED, path, false, e);
	default: return ERR_OK;
	}
}

static enum err on_message(void *context, const void *message, size_t len, struct error *e)
{
	struct watch *w = context;
	Envd__WatchDirResponse *response = envd__watch_dir_response__unpack(NULL, len, message);
	enum err kind = ERR_OK;

	if (!response)
		return error_set(e, ERR_PROTOCOL, "E2B: an event of the watch makes no sense");
	if (response->event_case == ENVD__WATCH_DIR_RESPONSE__EVENT_START && !w->is_ready) {
		w->is_ready = true;
		kind = tell(w, WATCH_READY, "", true, e);
	} else if (response->event_case == ENVD__WATCH_DIR_RESPONSE__EVENT_FILESYSTEM) {
		kind = on_change(w, response->filesystem, e);
	}
	envd__watch_dir_response__free_unpacked(response, NULL);
	return kind;
}

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
	struct watch *w, struct connect_stream *s, const struct call *call, struct error *e)
{
	struct call living = call ? *call : (struct call){ 0 };
	enum err kind = ERR_OK;
	bool is_over = false;

	living.progress_ms = SILENCE_MAX_MS;
	while (kind == ERR_OK && !is_over)
		kind = connect_read(s, w->is_ready ? &living : call, on_message, w, &is_over, e);
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
static enum err judge(const struct watch *w, const struct error *why, struct error *e)
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
	struct watch w = { .staging = below(root, staging), .sink = sink, .context = context };
	struct connect_stream *stream;
	struct error why = { 0 };
	enum err kind = begin(d, root, &stream, e);

	if (kind != ERR_OK)
		return kind;
	read_stream(&w, stream, call, &why);
	connect_end(stream);
	return judge(&w, &why, e);
}
