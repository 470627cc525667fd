#include "tools/ctl/status_list.h"

#include "providers/json.h"
#include "providers/rest/rest.h"
#include "tools/bytes_text.h"
#include "tools/ctl/output.h"
#include "tools/duration_text.h"
#include "tools/unsynced.h"

#include <stdio.h>
#include <string.h>

#define TEXT_MAX ((size_t)16 * 1024 * 1024)

/* The output. */
struct report {
	struct table table;
	struct buf json;
	struct json_writer writer; /* into `json` */
};

/* ---- For people ---- */

static void add_refused(struct report *r, const char *dir, struct json_object *status)
{
	struct json_object *failed = rest_member(rest_member(status, "journal"), "parked"), *one;

	for (size_t i = 0; (one = rest_item(failed, i)); i++)
		table_note(&r->table, "%s: refused: %s %s: %s", dir, rest_text(one, "op", ""),
			rest_text(one, "path", ""), rest_text(one, "error", ""));
}

static void add_errors(struct report *r, const char *dir, struct json_object *status)
{
	struct json_object *errors = rest_member(status, "last_errors"), *one;
	char ago[DURATION_TEXT_SIZE];

	for (size_t i = 0; (one = rest_item(errors, i)); i++) {
		duration_text(rest_integer(one, "age_ms", 0) / 1000, ago);
		table_note(&r->table, "%s: %s ago: %s: %s", dir, ago, rest_text(one, "path", ""),
			rest_text(one, "text", ""));
	}
}

static void add_repaired(struct report *r, const char *dir, struct json_object *status)
{
	const char *note = rest_text(status, "note", "");

	if (*note)
		table_note(&r->table, "%s: %s", dir, note);
}

static void add_state(struct report *r, const char *dir, struct json_object *status)
{
	if (!strcmp(rest_text(status, "state", ""), "gone"))
		table_note(&r->table, "%s: the sandbox is gone", dir);
}

static void add_stream(struct report *r, const char *dir, struct json_object *status)
{
	struct json_object *stream = rest_member(status, "stream");
	int64_t unwatched = rest_integer(stream, "unwatched_dirs", 0);

	if (!strcmp(rest_text(stream, "state", ""), "broken"))
		table_note(&r->table, "%s: the sandbox does not tell of its changes: %s", dir,
			rest_text(stream, "error", ""));
	if (unwatched > 0)
		table_note(&r->table,
			"%s: %lld directories cannot be watched in the sandbox: what is in them is "
			"asked again",
			dir, (long long)unwatched);
}

/* "4.1 MB of 10.7 GB"; "-" for a mount that does not report it. */
static const char *cache_words(struct json_object *status, char out[2 * BYTES_TEXT_SIZE + 4])
{
	struct json_object *cache = rest_member(status, "cache");
	int64_t used = rest_integer(cache, "bytes", 0), max = rest_integer(cache, "max_bytes", 0);
	char words[2][BYTES_TEXT_SIZE];

	if (max <= 0)
		return "-";
	snprintf(out, 2 * BYTES_TEXT_SIZE + 4, "%s of %s", bytes_text((uint64_t)used, words[0]),
		bytes_text((uint64_t)max, words[1]));
	return out;
}

static void add_alive(struct report *r, const struct mounted *m, const struct buf *text)
{
	AUTO_JSON struct json_object *status = NULL;
	char pending[UNSYNCED_WORDS_MAX], refused[32], known[32], left[DURATION_TEXT_SIZE];
	char cache[2 * BYTES_TEXT_SIZE + 4];
	struct unsynced unsynced = { 0 };

	rest_parse(text, &status);
	unsynced_parse(&unsynced, text);
	snprintf(refused, sizeof refused, "%lld", (long long)unsynced.refused);
	snprintf(known, sizeof known, "%lld", (long long)rest_integer(status, "inodes_known", 0));
	duration_text(rest_integer(status, "expires_s", -1), left);
	table_add(&r->table,
		(const char *const[]){ m->source, m->dir, mount_state_word(MOUNT_ALIVE),
			unsynced.changes ? unsynced_words(&unsynced, pending) : "-", refused, known,
			cache_words(status, cache), left });
	add_state(r, m->dir, status);
	add_refused(r, m->dir, status);
	add_repaired(r, m->dir, status);
	add_stream(r, m->dir, status);
	add_errors(r, m->dir, status);
}

static void add_row(
	struct report *r, const struct mounted *m, enum mount_state state, const struct buf *text)
{
	struct error why = { 0 };

	if (state == MOUNT_ALIVE) {
		add_alive(r, m, text);
		return;
	}
	table_add(&r->table,
		(const char *const[]){
			m->source, m->dir, mount_state_word(state), "?", "?", "?", "?", "?" });
	mounts_explain(m, state, &why);
	table_note(&r->table, "%s", why.text);
}

/* ---- For scripts ---- */

/* The process of another user's mount writes its answer, so the answer is written anew. */
static void add_object(struct report *r, const struct mounted *m, enum mount_state state,
	struct json_object *status)
{
	struct json_writer *w = &r->writer;

	json_put_open(w, NULL);
	json_put_text(w, "directory", m->dir);
	json_put_text(w, "source", m->source);
	json_put_integer(w, "uid", m->uid);
	json_put_text(w, "mount", mount_state_word(state));
	rest_put_again(w, "status", status);
	json_put_close(w);
}

/* ---- All mounts ---- */

static void add(struct report *r, const struct mounted *m, struct mount_answer *answer)
{
	AUTO_JSON struct json_object *status = NULL;
	struct buf *text = &answer->text;

	/* An unreadable answer counts as none. */
	if (answer->state == MOUNT_ALIVE && !rest_parse(text, &status))
		answer->state = MOUNT_CLOSED;
	add_row(r, m, answer->state, text);
	add_object(r, m, answer->state, status);
}

enum err status_list(
	const struct mounts *mounts, struct mount_answer *answers, bool as_json, struct error *e)
{
	struct report r = { .json = BUF_INIT(TEXT_MAX) };
	enum err kind;

	r.writer.out = &r.json;
	table_init(&r.table,
		(const char *const[]){ "SANDBOX", "DIRECTORY", "STATE", "PENDING", "REFUSED",
			"KNOWN", "CACHE", "LIFE LEFT", NULL });
	json_put_open_list(&r.writer, NULL);
	for (size_t i = 0; i < mounts->count; i++)
		add(&r, &mounts->list[i], &answers[i]);
	json_put_close_list(&r.writer);
	kind = as_json ? print_json(&r.json, stdout, e) : table_print(&r.table, stdout, e);
	table_release(&r.table);
	buf_release(&r.json);
	return kind;
}
