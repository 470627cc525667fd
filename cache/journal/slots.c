#include "cache/journal/segment.h"

#include <stdlib.h>
#include <string.h>

/* No count gets this far, and a sum with it does not reach the bits. */
#define NUMBER_MAX (SEQUENCE_ASIDE / 2)

bool segment_reserve(struct segment *s)
{
	if (s->count < s->room)
		return true;
	size_t room = s->room ? 2 * s->room : 64;
	struct segment_slot *slots = reallocarray(s->slots, room, sizeof *slots);

	if (!slots)
		return false;
	s->slots = slots;
	s->room = room;
	return true;
}

static void raise_sequence(struct segment *s, uint64_t next)
{
	if (next > s->next_sequence)
		s->next_sequence = next;
}

static bool take_begin(struct segment *s, const struct record_header *h, const void *text)
{
	struct record_begin begin;

	if (h->text_len != sizeof begin)
		return false;
	memcpy(&begin, text, sizeof begin);
	if (begin.next_sequence > NUMBER_MAX)
		return false;
	if (!s->size) {
		memcpy(s->journal, begin.journal, sizeof s->journal);
		s->first = h->number;
	}
	raise_sequence(s, begin.next_sequence);
	return !memcmp(s->journal, begin.journal, sizeof s->journal) && h->number >= segment_end(s);
}

static bool take_entry(struct segment *s, const struct record_header *h)
{
	if (s->ended || h->number != segment_end(s))
		return false;
	s->slots[s->count++] = (struct segment_slot){ .offset = (uint32_t)s->size };
	s->unsynced++;
	return true;
}

static void mark_done(struct segment *s, struct segment_slot *slot)
{
	if (slot->sequence == SEGMENT_DONE)
		return;
	s->unsynced--;
	s->failed -= slot->failed_at != 0;
	slot->sequence = SEGMENT_DONE;
}

/*
 * An entry that left without a sequence number may have been done. This stays true when it gets
 * one.
 */
static void mark_sent(
	struct segment *s, struct segment_slot *slot, uint64_t sequence, uint64_t aside)
{
	uint64_t left = slot->sequence & SEGMENT_LEFT;

	if (slot->sequence != SEGMENT_DONE)
		slot->sequence = sequence ? sequence | aside | left : SEGMENT_LEFT;
	raise_sequence(s, sequence + 1);
}

static bool take_numbers(struct segment *s, const struct record_header *h, const void *text)
{
	uint64_t aside = h->type == RECORD_ASIDE ? SEQUENCE_ASIDE : 0;
	uint64_t sequence = h->type == RECORD_SENT || aside ? h->number : 0;

	for (size_t n = 0; n < h->text_len / sizeof(uint64_t); n++) {
		uint64_t number;

		memcpy(&number, (const char *)text + n * sizeof number, sizeof number);
		struct segment_slot *slot = segment_slot(s, number & ~JOURNAL_SAME);

		if (!slot)
			return false;
		sequence += sequence && n && !(number & JOURNAL_SAME);
		if (h->type == RECORD_DONE)
			mark_done(s, slot);
		else
			mark_sent(s, slot, sequence, aside);
	}
	return h->text_len % sizeof(uint64_t) == 0;
}

static bool take_left(struct segment *s, const struct record_header *h, const void *text)
{
	raise_sequence(s, h->number + 1);
	return take_numbers(s, h, text);
}

static bool take_failed(struct segment *s, const struct record_header *h)
{
	struct segment_slot *slot = segment_slot(s, h->number);

	if (!slot || h->text_len < sizeof(uint32_t))
		return false;
	if (slot->sequence == SEGMENT_DONE)
		return true;
	s->failed += slot->failed_at == 0;
	slot->failed_at = (uint32_t)s->size;
	return true;
}

static bool take_versions(struct segment *s, const struct record_header *h, const void *text)
{
	for (size_t n = 0; n < h->text_len / sizeof(struct journal_base); n++) {
		struct journal_base base;

		memcpy(&base, (const char *)text + n * sizeof base, sizeof base);
		struct segment_slot *slot = segment_slot(s, base.number);

		if (!slot)
			return false;
		*(h->type == RECORD_BASED ? &slot->based : &slot->carried) = (uint32_t)s->size;
	}
	return h->text_len % sizeof(struct journal_base) == 0;
}

static bool take_end(struct segment *s, const struct record_header *h)
{
	s->ended = true;
	return h->number == segment_end(s);
}

bool segment_take(struct segment *s, const struct record_header *h, const void *text)
{
	if (h->number > NUMBER_MAX || (!s->size && h->type != RECORD_BEGIN))
		return false;
	switch ((enum record_type)h->type) {
	case RECORD_BEGIN: return take_begin(s, h, text);
	case RECORD_ENTRY: return take_entry(s, h);
	case RECORD_SENT:
	case RECORD_ASIDE:
	case RECORD_DONE: return take_numbers(s, h, text);
	case RECORD_FAILED: return take_failed(s, h);
	case RECORD_END: return take_end(s, h);
	case RECORD_BASED:
	case RECORD_CARRIED: return take_versions(s, h, text);
	case RECORD_LEFT: return take_left(s, h, text);
	case RECORD_TYPE_END: break;
	}
	return false;
}
