#include "cache/versions.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST ((size_t)1024)

struct noted {
	struct block_place place;
	struct block_name name;
};

struct versions {
	pthread_mutex_t lock; /* guards what follows */
	struct noted *noted;  /* oldest first */
	size_t count, room;
	uint32_t *
		slots; /* twice as many as there is room: 1 + an index into `noted`, where its place leads or behind; 0 free */
};

struct block_place block_place(const struct attr *version, uint64_t index)
{
	const uint64_t fields[] = { version->dev, version->ino, version->btime_ns, version->size,
		(uint64_t)version->mtime.tv_sec, (uint64_t)version->mtime.tv_nsec,
		(uint64_t)version->ctime.tv_sec, (uint64_t)version->ctime.tv_nsec, index };
	struct block_name hash = block_name(fields, sizeof fields);
	struct block_place place;

	memcpy(&place, &hash, sizeof place);
	return place;
}

enum err versions_new(struct versions **out, struct error *e)
{
	struct versions *v = calloc(1, sizeof *v);

	if (!v)
		return error_set(e, ERR_NO_MEMORY, "cache");
	pthread_mutex_init(&v->lock, NULL);
	*out = v;
	return ERR_OK;
}

void versions_free(struct versions *v)
{
	if (!v)
		return;
	pthread_mutex_destroy(&v->lock);
	free(v->noted);
	free(v->slots);
	free(v);
}

/* The slot that leads to it, or the free one where it belongs. There is always a free one. */
static uint32_t *slot_locked(struct versions *v, const struct block_place *place)
{
	size_t mask = v->room * 2 - 1;
	uint64_t at;

	memcpy(&at, place, sizeof at);
	for (;; at++) {
		uint32_t *slot = &v->slots[at & mask];

		if (!*slot || !memcmp(&v->noted[*slot - 1].place, place, sizeof *place))
			return slot;
	}
}

static void fill_slots_locked(struct versions *v)
{
	memset(v->slots, 0, v->room * 2 * sizeof *v->slots);
	for (size_t n = 0; n < v->count; n++)
		*slot_locked(v, &v->noted[n].place) = (uint32_t)n + 1;
}

static bool grow_locked(struct versions *v)
{
	size_t room = v->room ? v->room * 2 : ROOM_FIRST;
	uint32_t *slots = malloc(room * 2 * sizeof *slots);
	struct noted *noted = slots ? realloc(v->noted, room * sizeof *noted) : NULL;

	if (!noted) {
		free(slots);
		return false;
	}
	free(v->slots);
	v->slots = slots;
	v->noted = noted;
	v->room = room;
	fill_slots_locked(v);
	return true;
}

static void forget_half_locked(struct versions *v)
{
	size_t forgotten = v->count / 2;

	v->count -= forgotten;
	memmove(v->noted, v->noted + forgotten, v->count * sizeof *v->noted);
	fill_slots_locked(v);
}

static bool make_room_locked(struct versions *v)
{
	if (v->count < v->room)
		return true;
	if (v->room < VERSIONS_MAX)
		return grow_locked(v);
	forget_half_locked(v);
	return true;
}

bool versions_find(struct versions *v, const struct block_place *place, struct block_name *out)
{
	pthread_mutex_lock(&v->lock);
	uint32_t at = v->room ? *slot_locked(v, place) : 0;

	if (at)
		*out = v->noted[at - 1].name;
	pthread_mutex_unlock(&v->lock);
	return at;
}

static void note_locked(
	struct versions *v, const struct block_place *place, const struct block_name *name)
{
	if (!make_room_locked(v))
		return;
	uint32_t *slot = slot_locked(v, place);

	if (!*slot)
		*slot = (uint32_t)++v->count;
	v->noted[*slot - 1] = (struct noted){ *place, *name };
}

void versions_note(
	struct versions *v, const struct block_place *place, const struct block_name *name)
{
	pthread_mutex_lock(&v->lock);
	note_locked(v, place, name);
	pthread_mutex_unlock(&v->lock);
}
