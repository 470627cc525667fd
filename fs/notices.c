#include "fs/notices.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define ROOM_FIRST 64

static void notice_release(const struct notice *notice)
{
	free(notice->name);
	fuse_pollhandle_destroy(notice->poll);
}

void notices_release(struct notices *q)
{
	for (size_t n = 0; n < q->len; n++)
		notice_release(&q->all[n]);
	free(q->all);
	free(q->slots);
	*q = (struct notices){ 0 };
}

static size_t slot_of(const struct notices *q, const struct notice *notice)
{
	const char *name = notice->name ? notice->name : "";
	uint64_t seed = notice->ino ^ (uint64_t)notice->kind << 62;

	return XXH3_64bits_withSeed(name, strlen(name), seed) & (q->slots_room - 1);
}

static bool is_about_the_same(const struct notice *a, const struct notice *b)
{
	if (a->kind != b->kind || a->ino != b->ino)
		return false;
	return a->kind != NOTICE_NAME || !strcmp(a->name, b->name);
}

/* The slot of a notice about the same inode or name, or the free slot for one. */
static uint32_t *find_slot(const struct notices *q, const struct notice *notice)
{
	size_t at = slot_of(q, notice);

	while (q->slots[at] && !is_about_the_same(&q->all[q->slots[at] - 1], notice))
		at = (at + 1) & (q->slots_room - 1);
	return &q->slots[at];
}

static void fill_slots(struct notices *q)
{
	for (size_t n = 0; n < q->len; n++)
		if (q->all[n].kind != NOTICE_POLL)
			*find_slot(q, &q->all[n]) = (uint32_t)n + 1;
}

/* Half of the slots stay free. */
static bool grow(struct notices *q)
{
	size_t room = q->room ? q->room * 2 : ROOM_FIRST;
	struct notice *all = reallocarray(q->all, room, sizeof *all);
	uint32_t *slots = calloc(room * 2, sizeof *slots);

	if (all)
		q->all = all;
	if (!all || !slots) {
		free(slots);
		return false;
	}
	free(q->slots);
	q->slots = slots;
	q->slots_room = room * 2;
	q->room = room;
	fill_slots(q);
	return true;
}

/* The first notice does the work of both. */
static void merge(struct notice *first, const struct notice *notice)
{
	first->pages |= notice->pages;
	first->is_gone |= notice->is_gone;
	notice_release(notice);
}

bool notices_add(struct notices *q, const struct notice *notice, bool *is_new)
{
	uint32_t *slot = NULL;

	*is_new = false;
	if (q->len == q->room && !grow(q)) {
		notice_release(notice);
		return false;
	}
	if (notice->kind != NOTICE_POLL)
		slot = find_slot(q, notice);
	if (slot && *slot) {
		merge(&q->all[*slot - 1], notice);
		return true;
	}
	q->all[q->len++] = *notice;
	if (slot)
		*slot = (uint32_t)q->len;
	*is_new = true;
	return true;
}
