#include "tools/ctl/sandboxes.h"

#include "providers/base/cleanup.h"
#include "tools/duration_text.h"

/* Room for a million sandboxes. */
#define JSON_MAX (256 << 20)
/* More than any provider stores for a sandbox. */
#define LABELS_MAX 65536

void sandboxes_init(struct sandboxes *s, bool is_json, bool has_labels)
{
	*s = (struct sandboxes){ .is_json = is_json, .json = BUF_INIT(JSON_MAX) };
	s->writer.out = &s->json;
	table_init(&s->table,
		(const char *const[]){ "SANDBOX", "STATE", "LIFE LEFT", has_labels ? "AGE" : NULL,
			"LABELS", NULL });
	json_put_open_list(&s->writer, NULL);
}

void sandboxes_release(struct sandboxes *s)
{
	table_release(&s->table);
	buf_release(&s->json);
}

static void add_row(struct sandboxes *s, const char *provider, const struct sandbox_entry *entry)
{
	AUTO_BUF struct buf labels = BUF_INIT(LABELS_MAX);
	char source[256], left[DURATION_TEXT_SIZE], age[DURATION_TEXT_SIZE];

	snprintf(source, sizeof source, "%s:%s", provider, entry->id);
	duration_text(entry->expires_s, left);
	duration_text(entry->age_s, age);
	for (const char *const *label = entry->labels; label && *label; label++)
		buf_printf(&labels, "%s%s", labels.len ? "," : "", *label);
	table_add(&s->table,
		(const char *const[]){ source, sandbox_state_word(entry->state), left, age,
			labels.len ? buf_text(&labels) : "-" });
}

void sandboxes_put(struct json_writer *w, const char *provider, const struct sandbox_entry *entry)
{
	json_put_text(w, "provider", provider);
	json_put_text(w, "id", entry->id);
	json_put_text(w, "state", sandbox_state_word(entry->state));
	if (entry->expires_s < 0)
		json_put_null(w, "expires_s");
	else
		json_put_integer(w, "expires_s", entry->expires_s);
	if (entry->labels)
		json_put_pairs(w, "labels", entry->labels);
}

void sandboxes_add(struct sandboxes *s, const char *provider, const struct sandbox_entry *entry)
{
	s->count++;
	if (!s->is_json) {
		add_row(s, provider, entry);
		return;
	}
	json_put_open(&s->writer, NULL);
	sandboxes_put(&s->writer, provider, entry);
	if (entry->age_s >= 0)
		json_put_integer(&s->writer, "age_s", entry->age_s);
	json_put_close(&s->writer);
}

enum err sandboxes_print(struct sandboxes *s, struct error *e)
{
	json_put_close_list(&s->writer);
	return s->is_json ? print_json(&s->json, stdout, e) : table_print(&s->table, stdout, e);
}
