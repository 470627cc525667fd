#include "cache/journal/journal_inside.h"

#include "providers/base/cleanup.h"
#include "providers/helper/wire.h"

#include <string.h>

/* ---- Data ---- */

/* The entry in whose record `offset` lies: the last one that begins before it. */
static struct segment_slot *slot_before(const struct segment *s, uint32_t offset)
{
	size_t low = 0, high = s->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->slots[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &s->slots[low - 1] : NULL;
}

/* The place of a record with data. */
struct location {
	const struct segment *segment;
	uint64_t offset;
};

static bool find_location(struct journal *j, uint64_t at, struct location *out)
{
	struct segment *s;
	const struct segment_slot *slot = NULL;

	pthread_mutex_lock(&j->lock);
	TAILQ_FOREACH(s, &j->segments, link)
	if (s->ordinal == at >> 32)
		break;
	if (s)
		slot = slot_before(s, (uint32_t)at);
	if (slot)
		*out = (struct location){ .segment = s, .offset = slot->offset };
	pthread_mutex_unlock(&j->lock);
	return slot;
}

static enum err read_data(
	const struct location *l, const struct record_header *h, void *out, struct error *e)
{
	uint64_t at = l->offset + sizeof *h + h->text_len;
	enum err kind = segment_read(l->segment, at, out, h->data_len, e);

	if (!kind && !record_has_data(h, out))
		kind = error_set(
			e, ERR_IO, "%s: what was to be written is damaged", l->segment->path);
	return kind;
}

/* The whole data is read, because only the whole can be checked. */
static enum err read_part(const struct location *l, const struct record_header *h, uint64_t from,
	uint32_t len, void *out, struct error *e)
{
	AUTO_FREE unsigned char *whole = malloc(h->data_len);

	if (!whole)
		return error_set(e, ERR_NO_MEMORY, "journal");
	enum err kind = read_data(l, h, whole, e);

	if (!kind)
		memcpy(out, whole + from, len);
	return kind;
}

/* The lock is not held: the segment stays as long as the entry is not done. */
enum err journal_read(
	struct journal *j, const struct journal_extent *where, void *out, struct error *e)
{
	struct record_header h;
	struct location l;

	if (!where->len)
		return ERR_OK;
	if (!find_location(j, where->at, &l))
		return error_set(e, ERR_IO, "the journal has nothing there any more");
	enum err kind = segment_read_header(l.segment, l.offset, &h, e);

	if (kind)
		return kind;
	uint64_t from = (where->at & UINT32_MAX) - l.offset - sizeof h - h.text_len;

	if (from > h.data_len || where->len > h.data_len - from)
		return error_set(e, ERR_IO, "%s: no entry has such data", l.segment->path);
	return where->len == h.data_len ? read_data(&l, &h, out, e)
					: read_part(&l, &h, from, where->len, out, e);
}

/* ---- Entries ---- */

/* The segment with the first entry from *number on that is not done; NULL: there is none. */
static struct segment *find_unsynced_locked(const struct journal *j, uint64_t *number)
{
	struct segment *s;

	TAILQ_FOREACH(s, &j->segments, link)
	{
		if (*number < s->first)
			*number = s->first;
		for (; *number < segment_end(s); ++*number)
			if (segment_slot(s, *number)->sequence != SEGMENT_DONE)
				return s;
	}
	return NULL;
}

/* An entry for journal_sink, and the memory that it points into. */
struct reading {
	struct journal_entry entry;
	void *text, *why;
};

static enum err read_change(
	struct reading *t, const struct segment *s, uint64_t offset, struct error *e)
{
	struct record_header h;
	enum err kind = segment_read_text(s, offset, &h, &t->text, e);
	struct buf in = { .bytes = t->text, .len = h.text_len };

	if (!kind)
		kind = wire_get_change(&in, &t->entry.change, e);
	t->entry.change.data = NULL;
	t->entry.where = segment_extent(s, offset, &h);
	return kind;
}

struct version *journal_base_in(struct change *change)
{
	bool takes_place = change->op == CHANGE_RENAME || change->op == CHANGE_PLACE;

	return takes_place ? &change->version2 : &change->version;
}

static enum err read_version(struct reading *t, const struct segment *s, uint64_t offset,
	struct version *version, struct error *e)
{
	AUTO_FREE void *bases = NULL;
	struct record_header h;
	enum err kind = segment_read_text(s, offset, &h, &bases, e);

	for (size_t n = 0; !kind && n < h.text_len / sizeof(struct journal_base); n++) {
		struct journal_base base;

		memcpy(&base, (const char *)bases + n * sizeof base, sizeof base);
		if (base.number == t->entry.number)
			*version = base.version;
	}
	return kind;
}

static enum err read_why(
	struct reading *t, const struct segment *s, uint64_t offset, struct error *e)
{
	struct record_header h;
	enum err kind = segment_read_text(s, offset, &h, &t->why, e);
	uint32_t err = 0;

	if (kind)
		return kind;
	memcpy(&err, t->why, sizeof err);
	t->entry.has_failed = true;
	t->entry.is_part = err & RECORD_FAILED_PART;
	err &= ~RECORD_FAILED_PART;
	t->entry.err = error_is_kind(err) ? (enum err)err : ERR_PROTOCOL;
	t->entry.why = (const char *)t->why + sizeof err;
	return ERR_OK;
}

static enum err read_entry_locked(
	struct reading *t, const struct segment *s, uint64_t number, struct error *e)
{
	const struct segment_slot *slot = segment_slot(s, number);

	*t = (struct reading){ .entry = { .number = number,
				       .sequence = slot->sequence & ~SEGMENT_LEFT,
				       .has_left = slot->sequence & SEGMENT_LEFT } };
	enum err kind = read_change(t, s, slot->offset, e);

	if (!kind && slot->carried)
		kind = read_version(t, s, slot->carried, &t->entry.change.version, e);
	if (!kind && slot->based)
		kind = read_version(t, s, slot->based, journal_base_in(&t->entry.change), e);
	return !kind && slot->failed_at ? read_why(t, s, slot->failed_at, e) : kind;
}

/* *is_there false: no entry is left. */
static enum err tell_from(struct journal *j, uint64_t *number, bool *is_there, journal_sink sink,
	void *context, struct error *e)
{
	struct reading t = { 0 };
	enum err kind = ERR_OK;

	pthread_mutex_lock(&j->lock);
	const struct segment *s = find_unsynced_locked(j, number);

	if (s)
		kind = read_entry_locked(&t, s, *number, e);
	pthread_mutex_unlock(&j->lock);
	*is_there = s;
	if (s && !kind)
		kind = sink(context, &t.entry, e);
	free(t.text);
	free(t.why);
	++*number;
	return kind;
}

enum err journal_each(struct journal *j, journal_sink sink, void *context, struct error *e)
{
	enum err kind = ERR_OK;
	bool is_there = true;

	for (uint64_t number = 1; is_there && !kind;)
		kind = tell_from(j, &number, &is_there, sink, context, e);
	return kind;
}
