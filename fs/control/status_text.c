#include "fs/control/status_text.h"

#include "providers/change_words.h"
#include "providers/json.h"

#include <string.h>

static void put_optional(struct json_writer *w, const char *name, const char *text)
{
	if (*text)
		json_put_text(w, name, text);
	else
		json_put_null(w, name);
}

static void put_sandbox(struct json_writer *w, const char *source,
	const struct sandbox_info *sandbox, const struct cache_status *status)
{
	int64_t expires_s = status->is_gone ? 0 : status->expires_s;

	json_put_text(w, "source", source);
	json_put_bytes(w, "provider", source, strcspn(source, ":"));
	json_put_text(w, "id", sandbox->id);
	json_put_text(w, "state", status->is_gone ? "gone" : sandbox_state_word(sandbox->state));
	json_put_text(w, "root", sandbox->root);
	put_optional(w, "note", sandbox->note);
	put_optional(w, "warning", sandbox->warning);
	if (expires_s < 0)
		json_put_null(w, "expires_s");
	else
		json_put_integer(w, "expires_s", expires_s);
}

/* ---- The journal ---- */

static void put_failed(struct json_writer *w, const struct cache_failed_change *failed)
{
	json_put_open(w, NULL);
	json_put_path(w, failed->path);
	json_put_text(w, "op", change_word(failed->op));
	json_put_text(w, "error", failed->error);
	json_put_close(w);
}

static void put_dir(struct json_writer *w, const char *dir)
{
	if (dir)
		json_put_text(w, "dir", dir);
	else
		json_put_null(w, "dir");
}

static void put_journal(struct json_writer *w, const struct cache_status *status)
{
	json_put_open(w, "journal");
	put_dir(w, status->journal_dir);
	json_put_integer(w, "entries", (int64_t)status->pending_changes);
	json_put_integer(w, "bytes", (int64_t)status->pending_bytes);
	json_put_open_list(w, "parked");
	for (size_t i = 0; i < status->failed_count; i++)
		put_failed(w, &status->failed[i]);
	json_put_close_list(w);
	json_put_close(w);
}

/* ---- Cached contents and attributes ---- */

static void put_cache(struct json_writer *w, const struct cache_status *status)
{
	json_put_open(w, "cache");
	put_dir(w, status->contents_dir);
	json_put_integer(w, "bytes", (int64_t)status->contents_bytes);
	json_put_integer(w, "max_bytes", (int64_t)status->contents_max);
	json_put_close(w);
}

/* ---- The stream of changes ---- */

static const char *stream_word(enum cache_stream state)
{
	switch (state) {
	case CACHE_STREAM_NONE: return "none";
	case CACHE_STREAM_IDLE: return "idle";
	case CACHE_STREAM_BEGINS: return "begins";
	case CACHE_STREAM_LIVE: return "live";
	case CACHE_STREAM_BROKEN: return "broken";
	}
	return "unknown";
}

static void put_stream(struct json_writer *w, const struct cache_status *status)
{
	json_put_open(w, "stream");
	json_put_text(w, "state", stream_word(status->stream));
	put_optional(w, "error", status->stream_why);
	json_put_integer(w, "unwatched_dirs", (int64_t)status->unwatched_dirs);
	json_put_close(w);
}

/* ---- Errors ---- */

static void put_errors(struct json_writer *w, const struct cache_status *status)
{
	json_put_open_list(w, "last_errors");
	for (size_t i = 0; i < status->errors_count; i++) {
		const struct cache_error *error = &status->errors[i];

		json_put_open(w, NULL);
		json_put_path(w, error->path);
		json_put_text(w, "text", error->text);
		json_put_integer(w, "age_ms", error->age_ms);
		json_put_close(w);
	}
	json_put_close_list(w);
}

/* An answer of a proxy, a gateway, or a login page. The request is sent again. */
static void put_foreign(struct json_writer *w, const struct foreign_report *foreign)
{
	json_put_open(w, "foreign_answers");
	json_put_integer(w, "count", (int64_t)foreign->count);
	if (foreign->count) {
		json_put_text(w, "last", foreign->text);
		json_put_integer(w, "age_ms", foreign->age_ms);
	} else {
		json_put_null(w, "last");
		json_put_null(w, "age_ms");
	}
	json_put_close(w);
}

void status_text(const char *source, const struct sandbox_info *sandbox,
	const struct cache_status *status, struct buf *out)
{
	struct json_writer w = { .out = out };

	json_put_open(&w, NULL);
	put_sandbox(&w, source, sandbox, status);
	json_put_integer(&w, "pending_changes", (int64_t)status->pending_changes);
	json_put_integer(&w, "pending_bytes", (int64_t)status->pending_bytes);
	json_put_integer(&w, "leaving_bytes", (int64_t)status->leaving_bytes);
	json_put_integer(&w, "parked_changes", (int64_t)status->failed_changes);
	put_journal(&w, status);
	json_put_integer(&w, "inodes_known", (int64_t)status->inodes_known);
	json_put_integer(&w, "names_known", (int64_t)status->names_known);
	put_stream(&w, status);
	put_cache(&w, status);
	put_errors(&w, status);
	put_foreign(&w, &status->foreign);
	json_put_close(&w);
	buf_add_byte(out, '\n');
}
