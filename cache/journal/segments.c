#include "cache/journal/journal_inside.h"

#include "cache/session/fault.h"

#include <string.h>

struct segment *segments_last_locked(const struct journal *j)
{
	return TAILQ_LAST(&j->segments, segments);
}

struct segment *segments_find_locked(const struct journal *j, uint64_t number)
{
	struct segment *s;

	TAILQ_FOREACH(s, &j->segments, link)
	if (segment_slot(s, number))
		return s;
	return NULL;
}

uint64_t segments_size_locked(const struct journal *j)
{
	const struct segment *s;
	uint64_t size = 0;

	TAILQ_FOREACH(s, &j->segments, link)
	size += s->size;
	return size;
}

uint64_t segments_unsynced_locked(const struct journal *j)
{
	const struct segment *s;
	uint64_t unsynced = 0;

	TAILQ_FOREACH(s, &j->segments, link)
	unsynced += s->unsynced;
	return unsynced;
}

uint64_t segments_next_sequence_locked(const struct journal *j)
{
	const struct segment *s;
	uint64_t next = 1;

	TAILQ_FOREACH(s, &j->segments, link)
	next = s->next_sequence > next ? s->next_sequence : next;
	return next;
}

/* ---- The next segment ---- */

/*
 * Writes the record at the beginning of a segment. It is repeated before an older segment goes that
 * knew of greater sequence numbers.
 */
static enum err say_begin_locked(
	struct journal *j, struct segment *s, uint64_t next_number, struct error *e)
{
	struct record_begin begin = { .next_sequence = segments_next_sequence_locked(j) };

	memcpy(begin.journal, j->id, sizeof begin.journal);
	return segment_begin(s, &begin, next_number, e);
}

static enum err end_locked(struct segment *s, struct error *e)
{
	return s->ended ? ERR_OK : segment_note(s, RECORD_END, segment_end(s), NULL, 0, e);
}

static enum err make_locked(
	struct journal *j, uint32_t ordinal, struct segment **out, struct error *e)
{
	char *path = NULL;
	int fd;
	enum err kind = journal_dir_file(&j->dir, ordinal, true, &fd, &path, e);

	if (kind)
		return kind;
	kind = segment_new(out, ordinal, fd, path, e);
	if (kind)
		journal_dir_unlink(&j->dir, ordinal);
	return kind;
}

enum err segments_begin_locked(struct journal *j, struct error *e)
{
	struct segment *last = segments_last_locked(j), *s = NULL;
	uint32_t ordinal = last ? last->ordinal + 1 : 1;
	enum err kind = last ? end_locked(last, e) : ERR_OK;

	fault_point("journal.segment.ended");
	if (!kind)
		kind = make_locked(j, ordinal, &s, e);
	if (kind)
		return kind;
	fault_point("journal.segment.made");
	kind = say_begin_locked(j, s, last ? segment_end(last) : 1, e);
	if (!kind) {
		TAILQ_INSERT_TAIL(&j->segments, s, link);
		return ERR_OK;
	}
	journal_dir_unlink(&j->dir, ordinal);
	segment_free(s);
	return kind;
}

/* ---- Segments that go ---- */

void segments_remove(struct journal *j, struct segment *s)
{
	TAILQ_REMOVE(&j->segments, s, link);
	journal_dir_unlink(&j->dir, s->ordinal);
	segment_free(s);
	fault_point("journal.segment.gone");
}

/* On failure the segment stays until the next time. */
static bool may_go_locked(struct journal *j, const struct segment *s)
{
	struct segment *last = segments_last_locked(j);

	if (s == last || s->unsynced)
		return false;
	return s->next_sequence <= last->next_sequence ||
		!say_begin_locked(j, last, segment_end(last), NULL);
}

void segments_remove_done_locked(struct journal *j)
{
	for (struct segment *s = TAILQ_FIRST(&j->segments), *next; s; s = next) {
		next = TAILQ_NEXT(s, link);
		if (may_go_locked(j, s))
			segments_remove(j, s);
	}
}

void segments_remove_all(struct journal *j)
{
	while (!TAILQ_EMPTY(&j->segments))
		segments_remove(j, TAILQ_FIRST(&j->segments));
}

void segments_release(struct journal *j)
{
	for (struct segment *s; (s = TAILQ_FIRST(&j->segments));) {
		TAILQ_REMOVE(&j->segments, s, link);
		segment_free(s);
	}
}
