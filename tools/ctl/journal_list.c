#include "tools/ctl/journal_list.h"

#include "providers/base/cleanup.h"
#include "providers/change_words.h"
#include "providers/json.h"
#include "tools/bytes_text.h"
#include "tools/ctl/output.h"

#include <stdio.h>
#include <string.h>

#define TEXT_MAX ((size_t)64 * 1024 * 1024)

/* The output. */
struct listing {
	struct table table;
	struct buf json;
	struct json_writer writer; /* into `json` */
};

/* The pending changes of one journal; `state` is also for people. */
struct owing {
	const struct journal_found *found;
	const char *state;
	/* the process that has the journal, or why it cannot be read */
	char why[sizeof((struct error *)0)->text];
	struct journal *journal; /* NULL: cannot be looked into */
	uint64_t entries, bytes, failed;
};

/* ---- One journal ---- */

static void look_at(struct owing *o)
{
	struct error e = { 0 };

	if (journal_has_owner(o->found->dir, o->why))
		o->state = "in use";
	else if (journal_open_left(&o->journal, o->found->dir, &e))
		o->state = "unreadable";
	else
		o->state = "left";
	if (e.kind)
		snprintf(o->why, sizeof o->why, "%s", e.text);
	if (o->journal)
		journal_usage(o->journal, &o->entries, &o->bytes, &o->failed);
}

/* As in a mount's status: a change of several entries counts once, by the name that it was for. */
static bool is_refusal(const struct journal_entry *entry)
{
	return entry->has_failed && !entry->is_part && !change_is_in_staging(&entry->change);
}

static enum err count_refused(void *context, const struct journal_entry *entry, struct error *e)
{
	uint64_t *refused = context;

	(void)e;
	*refused += is_refusal(entry);
	return ERR_OK;
}

/* ---- For people ---- */

static enum err add_refused(void *context, const struct journal_entry *entry, struct error *e)
{
	struct table *out = context;

	(void)e;
	if (is_refusal(entry))
		table_note(out, "refused: %s %s: %s", change_word(entry->change.op),
			change_shown_path(&entry->change), entry->why);
	return ERR_OK;
}

static void add_row(struct listing *l, const struct owing *o)
{
	char entries[32], refusals[32], bytes[BYTES_TEXT_SIZE];
	uint64_t refused = 0;

	if (o->journal)
		journal_each(o->journal, count_refused, &refused, NULL);
	snprintf(entries, sizeof entries, "%llu", (unsigned long long)o->entries);
	snprintf(refusals, sizeof refusals, "%llu", (unsigned long long)refused);
	table_add(&l->table,
		(const char *const[]){ o->found->name, o->found->source ? o->found->source : "-",
			o->state, o->journal ? entries : "-", o->journal ? refusals : "-",
			o->journal ? bytes_text(o->bytes, bytes) : "-" });
	if (*o->why)
		table_note(&l->table, "%s: %s: %s", o->found->name, o->state, o->why);
	if (o->journal)
		journal_each(o->journal, add_refused, &l->table, NULL);
}

/* ---- For scripts ---- */

static enum err put_refused(void *context, const struct journal_entry *entry, struct error *e)
{
	struct json_writer *w = context;

	(void)e;
	if (!is_refusal(entry))
		return ERR_OK;
	json_put_open(w, NULL);
	json_put_text(w, "op", change_word(entry->change.op));
	json_put_path(w, change_shown_path(&entry->change));
	json_put_text(w, "error", entry->why);
	json_put_close(w);
	return ERR_OK;
}

static void add_object(struct listing *l, const struct owing *o)
{
	struct json_writer *w = &l->writer;

	json_put_open(w, NULL);
	json_put_text(w, "name", o->found->name);
	json_put_text(w, "directory", o->found->dir);
	if (o->found->source)
		json_put_text(w, "source", o->found->source);
	else
		json_put_null(w, "source");
	json_put_text(w, "state", o->state);
	json_put_text(w, "why", o->why);
	json_put_integer(w, "changes", (int64_t)o->entries);
	json_put_integer(w, "bytes", (int64_t)o->bytes);
	json_put_open_list(w, "refused");
	if (o->journal)
		journal_each(o->journal, put_refused, w, NULL);
	json_put_close_list(w);
	json_put_close(w);
}

/* ---- All journals ---- */

static void add(struct listing *l, const struct journal_found *found)
{
	struct owing o = { .found = found };

	look_at(&o);
	if (!o.journal || o.entries || o.failed) {
		add_row(l, &o);
		add_object(l, &o);
	}
	journal_close(o.journal);
}

enum err journal_list(const struct journals *journals, bool as_json, struct error *e)
{
	struct listing l = { .json = BUF_INIT(TEXT_MAX) };
	enum err kind;

	l.writer.out = &l.json;
	table_init(&l.table,
		(const char *const[]){
			"JOURNAL", "SANDBOX", "STATE", "CHANGES", "REFUSED", "SIZE", NULL });
	json_put_open_list(&l.writer, NULL);
	for (size_t n = 0; n < journals->count; n++)
		add(&l, &journals->list[n]);
	json_put_close_list(&l.writer);
	kind = as_json ? print_json(&l.json, stdout, e) : table_print(&l.table, stdout, e);
	table_release(&l.table);
	buf_release(&l.json);
	return kind;
}
