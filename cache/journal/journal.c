#include "cache/journal/journal.h"

#include "cache/journal/journal_inside.h"
#include "cache/session/fault.h"

#include "providers/base/cleanup.h"
#include "providers/helper/wire.h"

#include <string.h>
#include <sys/random.h>

/*
 * A journal has about this many segments: with fewer, one entry that is not done keeps more of the
 * others' room.
 */
#define SEGMENTS 64
/* Bytes. Smaller segments would be more names than contents. */
#define SEGMENT_MIN ((uint64_t)64 * 1024)

/* ---- Life ---- */

static enum err make_id(struct journal *j, struct error *e)
{
	struct segment *last = segments_last_locked(j);

	j->was_there = last;
	if (last)
		memcpy(j->id, last->journal, sizeof j->id);
	else if (getrandom(j->id, sizeof j->id, 0) != sizeof j->id)
		return error_errno(e, errno, "journal");
	return ERR_OK;
}

static enum err take_up(struct journal *j, const struct journal_options *options, struct error *e)
{
	struct error why = { 0 };
	enum err kind = segments_load(j, &why);

	if (kind == ERR_PROTOCOL) {
		segments_release(j);
		kind = journal_dir_set_aside(&j->dir, options, why.text, &why);
	}
	if (kind)
		return error_set(e, kind, "%s", why.text);
	kind = make_id(j, e);
	if (!kind && (!segments_last_locked(j) || segments_last_locked(j)->ended))
		kind = segments_begin_locked(j, e);
	if (!kind)
		segments_remove_done_locked(j);
	return kind;
}

static uint64_t segment_size(uint64_t size_max)
{
	uint64_t size = size_max / SEGMENTS;

	if (size < SEGMENT_MIN)
		return SEGMENT_MIN;
	return size < SEGMENT_MAX / 2 ? size : SEGMENT_MAX / 2;
}

static enum err make(struct journal **out, const struct journal_options *options, struct error *e)
{
	struct journal *j = calloc(1, sizeof *j);

	*out = j;
	if (!j)
		return error_set(e, ERR_NO_MEMORY, "journal");
	pthread_mutex_init(&j->lock, NULL);
	TAILQ_INIT(&j->segments);
	j->dir = JOURNAL_DIR_NONE;
	j->size_max = options->size_max ? options->size_max : JOURNAL_SIZE_DEFAULT;
	j->segment_max = segment_size(j->size_max);
	return journal_dir_open(&j->dir, options, e);
}

static void unmake(struct journal *j, bool remove)
{
	if (!j)
		return;
	segments_release(j);
	journal_dir_close(&j->dir, remove);
	pthread_mutex_destroy(&j->lock);
	free(j);
}

enum err journal_open(struct journal **out, const struct journal_options *options, struct error *e)
{
	struct journal *j;
	enum err kind = make(&j, options, e);

	if (!kind)
		kind = take_up(j, options, e);
	if (kind)
		unmake(j, false);
	else
		*out = j;
	return kind;
}

enum err journal_open_left(struct journal **out, const char *dir, struct error *e)
{
	struct journal *j;
	enum err kind = make(&j, &(struct journal_options){ .dir = dir }, e);

	if (!kind)
		kind = segments_load(j, e);
	if (kind)
		unmake(j, false);
	else
		*out = j;
	return kind;
}

bool journal_close(struct journal *j)
{
	if (!j)
		return false;
	bool is_done = !segments_unsynced_locked(j);

	if (is_done)
		segments_remove_all(j);
	unmake(j, is_done);
	return is_done;
}

enum err journal_discard(const char *dir, struct error *e)
{
	AUTO_FREE uint32_t *ordinals = NULL;
	struct journal_dir d;
	size_t count = 0;
	enum err kind = journal_dir_open(&d, &(struct journal_options){ .dir = dir }, e);

	if (kind)
		return kind;
	kind = journal_dir_list(&d, &ordinals, &count, e);
	for (size_t n = 0; n < count && !kind; n++)
		journal_dir_unlink(&d, ordinals[n]);
	journal_dir_close(&d, !kind);
	return kind;
}

const unsigned char *journal_id(const struct journal *j)
{
	return j->id;
}

bool journal_was_there(const struct journal *j)
{
	return j->was_there;
}

/* ---- Entries ---- */

static enum err encode(struct buf *text, const struct change *change, struct error *e)
{
	struct change alone = *change;

	alone.needs = 0;
	alone.data = NULL;
	alone.data_len = 0;
	if (change->data_len > VERB_DATA_MAX)
		return error_set(e, ERR_TOO_LARGE, "%s: a change of %zu bytes", change->path,
			change->data_len);
	wire_put_change(text, &alone);
	return buf_check(text, change->path, e);
}

static bool is_over(const struct journal *j, uint64_t len)
{
	return segments_size_locked(j) + len > j->size_max;
}

/*
 * Whether the last segment has room. A last segment that is all done has none where the journal is
 * full: then it goes itself.
 */
static bool fits_last(const struct journal *j, uint64_t len)
{
	const struct segment *last = segments_last_locked(j);

	if (last->ended || (last->count && last->size + len > j->segment_max))
		return false;
	return last->unsynced || !last->count || !is_over(j, len);
}

static enum err make_room_locked(struct journal *j, uint64_t len, struct error *e)
{
	if (!fits_last(j, len)) {
		enum err kind = segments_begin_locked(j, e);

		if (kind)
			return kind;
		segments_remove_done_locked(j);
	}
	if (!is_over(j, len))
		return ERR_OK;
	return error_set(e, ERR_NO_SPACE,
		"%s: full of what the sandbox does not have yet (%llu MiB): wait until it was "
		"sent, or mount with a larger -o journal_size=",
		j->dir.path ? j->dir.path : "the journal", (unsigned long long)(j->size_max >> 20));
}

static enum err add_locked(struct journal *j, struct record *r, uint64_t *number,
	struct journal_extent *where, struct error *e)
{
	enum err kind = make_room_locked(j, record_len(&r->header), e);
	struct segment *last = segments_last_locked(j);

	if (!kind)
		kind = segment_add(last, r, e);
	if (kind)
		return kind;
	*number = r->header.number;
	*where = segment_extent(last, segment_slot(last, *number)->offset, &r->header);
	return ERR_OK;
}

enum err journal_add(struct journal *j, const struct change *change, uint64_t *number,
	struct journal_extent *where, struct error *e)
{
	AUTO_BUF struct buf text = BUF_INIT(RECORD_TEXT_MAX);
	enum err kind = encode(&text, change, e);

	if (kind)
		return kind;
	struct record r =
		record_make(RECORD_ENTRY, text.bytes, text.len, change->data, change->data_len);

	fault_point("journal.add.before");
	pthread_mutex_lock(&j->lock);
	kind = add_locked(j, &r, number, where, e);
	pthread_mutex_unlock(&j->lock);
	fault_point("journal.add.after");
	return kind;
}

/* ---- Notes ---- */

static enum err note_versions(struct journal *j, enum record_type type,
	const struct journal_base *bases, size_t count, struct error *e)
{
	enum err kind = ERR_OK;

	pthread_mutex_lock(&j->lock);
	for (size_t at = 0, len; at < count && !kind; at += len) {
		struct segment *s = segments_find_locked(j, bases[at].number);

		for (len = 1; at + len < count && len < RECORD_BASES_MAX; len++)
			if (!s || !segment_slot(s, bases[at + len].number))
				break;
		if (s)
			kind = segment_note(s, type, 0, bases + at, len * sizeof *bases, e);
	}
	pthread_mutex_unlock(&j->lock);
	fault_point("journal.based");
	return kind;
}

enum err journal_note_based(
	struct journal *j, const struct journal_base *bases, size_t count, struct error *e)
{
	return note_versions(j, RECORD_BASED, bases, count, e);
}

enum err journal_note_carried(
	struct journal *j, const struct journal_base *bases, size_t count, struct error *e)
{
	return note_versions(j, RECORD_CARRIED, bases, count, e);
}

/*
 * How many of the numbers, one after another, are of this segment. All parts of one change count
 * together, if there is room for them in a record.
 */
static size_t run_of(const struct segment *s, const uint64_t *numbers, size_t count)
{
	size_t n = 0;

	while (n < count && n < RECORD_NUMBERS_MAX && segment_slot(s, numbers[n] & ~JOURNAL_SAME))
		n++;
	size_t whole = n;

	while (n < count && whole && numbers[whole] & JOURNAL_SAME)
		whole--;
	return whole ? whole : n;
}

/* The sequence number of the last of the `count` entries. */
static uint64_t sequence_of(uint64_t first, const uint64_t *numbers, size_t count)
{
	uint64_t sequence = first;

	for (size_t n = 1; n < count; n++)
		sequence += !(numbers[n] & JOURNAL_SAME);
	return sequence;
}

/*
 * `number`: the first entry's sequence number; 0: they have none; or the ticket of all. An entry
 * that is gone is done, and needs no note.
 */
static enum err note_locked(struct journal *j, enum record_type type, uint64_t number,
	const uint64_t *numbers, size_t count, struct error *e)
{
	bool is_counted_on = (type == RECORD_SENT || type == RECORD_ASIDE) && number;
	enum err kind = ERR_OK;

	for (size_t at = 0, len; at < count && !kind; at += len) {
		struct segment *s = segments_find_locked(j, numbers[at] & ~JOURNAL_SAME);
		uint64_t of_run = is_counted_on ? sequence_of(number, numbers, at + 1) : number;

		len = s ? run_of(s, numbers + at, count - at) : 1;
		if (s)
			kind = segment_note(
				s, type, of_run, numbers + at, len * sizeof *numbers, e);
	}
	return kind;
}

static enum err note_leaving(struct journal *j, enum record_type type, uint64_t number,
	const uint64_t *numbers, size_t count, struct error *e)
{
	pthread_mutex_lock(&j->lock);
	enum err kind = note_locked(j, type, number, numbers, count, e);

	pthread_mutex_unlock(&j->lock);
	fault_point("journal.sent");
	return kind;
}

bool journal_are_together(struct journal *j, uint64_t number, uint64_t other)
{
	pthread_mutex_lock(&j->lock);
	bool are = segments_find_locked(j, number) == segments_find_locked(j, other);

	pthread_mutex_unlock(&j->lock);
	return are;
}

enum err journal_note_sent(struct journal *j, uint64_t first_sequence, const uint64_t *numbers,
	size_t count, struct error *e)
{
	bool is_aside = first_sequence & SEQUENCE_ASIDE;

	return note_leaving(j, is_aside ? RECORD_ASIDE : RECORD_SENT,
		first_sequence & ~SEQUENCE_ASIDE, numbers, count, e);
}

enum err journal_note_left(
	struct journal *j, uint64_t ticket, const uint64_t *numbers, size_t count, struct error *e)
{
	return note_leaving(j, RECORD_LEFT, ticket, numbers, count, e);
}

/*
 * The last segment is never removed. When it has grown and all of it is done, another one begins,
 * so that this one gives its room back.
 */
static void renew_locked(struct journal *j)
{
	const struct segment *last = segments_last_locked(j);

	if (!last->unsynced && last->size >= SEGMENT_MIN)
		segments_begin_locked(j, NULL);
}

enum err journal_note_done(
	struct journal *j, const uint64_t *numbers, size_t count, struct error *e)
{
	pthread_mutex_lock(&j->lock);
	enum err kind = note_locked(j, RECORD_DONE, 0, numbers, count, e);

	renew_locked(j);
	segments_remove_done_locked(j);
	pthread_mutex_unlock(&j->lock);
	fault_point("journal.done");
	return kind;
}

/* The longest reason; it stands behind the error's kind. */
#define WHY_MAX 1000

enum err journal_note_failed(
	struct journal *j, uint64_t number, enum err err, const char *why, struct error *e)
{
	struct {
		uint32_t err;
		char why[WHY_MAX];
	} text = { .err = number & JOURNAL_SAME ? err | RECORD_FAILED_PART : err };
	size_t len = strnlen(why, WHY_MAX);
	enum err kind = ERR_OK;

	memcpy(text.why, why, len);
	number &= ~JOURNAL_SAME;
	pthread_mutex_lock(&j->lock);
	struct segment *s = segments_find_locked(j, number);

	if (s)
		kind = segment_note(s, RECORD_FAILED, number, &text, sizeof text.err + len, e);
	pthread_mutex_unlock(&j->lock);
	fault_point("journal.parked");
	return kind;
}

uint64_t journal_next_sequence(struct journal *j)
{
	pthread_mutex_lock(&j->lock);
	uint64_t next = segments_next_sequence_locked(j);

	pthread_mutex_unlock(&j->lock);
	return next;
}

void journal_usage(struct journal *j, uint64_t *entries, uint64_t *bytes, uint64_t *failed)
{
	const struct segment *s;

	*failed = 0;
	pthread_mutex_lock(&j->lock);
	TAILQ_FOREACH(s, &j->segments, link)
	*failed += s->failed;
	*entries = segments_unsynced_locked(j) - *failed;
	*bytes = segments_size_locked(j);
	pthread_mutex_unlock(&j->lock);
}
