#include "providers/e2b/envd_changes.h"

#include "providers/base/path.h"
#include "providers/e2b/envd.pb-c.h"

#include <string.h>

static enum err tell(struct envd_changes *w, enum watch_kind kind, const char *path, bool is_dir,
	struct error *e)
{
	enum err stopped = w->sink(w->context,
		&(struct watch_event){ .kind = kind, .is_dir = is_dir, .path = path }, e);

	w->is_stopped = stopped != ERR_OK;
	return stopped;
}

static bool is_hidden(const struct envd_changes *w, const char *path)
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
	struct envd_changes *w, const char *path, const Envd__EntryInfo *entry, struct error *e)
{
	bool is_dir = is_directory(entry);
	enum err kind = tell(w, WATCH_CREATED, path, is_dir, e);

	if (kind == ERR_OK && (is_dir || !entry))
		kind = tell(w, WATCH_LOST, path, is_dir, e);
	return kind;
}

/* The stream stays open, but nothing comes any more. */
static enum err on_root_gone(struct envd_changes *w, struct error *e)
{
	enum err kind = tell(w, WATCH_LOST, "", true, e);

	if (kind != ERR_OK)
		return kind;
	return error_set(e, ERR_UNREACHABLE, "the watched directory was moved or removed");
}

static enum err on_change(
	struct envd_changes *w, const Envd__FilesystemEvent *event, struct error *e)
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

enum err envd_changes_decode(void *context, const void *message, size_t len, struct error *e)
{
	struct envd_changes *w = context;
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
