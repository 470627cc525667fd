#include "cache/pieces.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST 4096

void pieces_init(struct pieces *p)
{
	*p = (struct pieces){ 0 };
	TAILQ_INIT(&p->list);
}

static void piece_free(struct piece *one)
{
	free(one->bytes);
	free(one);
}

void pieces_release(struct pieces *p)
{
	struct piece *one;

	while ((one = TAILQ_FIRST(&p->list))) {
		TAILQ_REMOVE(&p->list, one, link);
		piece_free(one);
	}
	pieces_init(p);
}

void pieces_take(struct pieces *to, struct pieces *from)
{
	pieces_init(to);
	to->count = from->count;
	to->bytes = from->bytes;
	to->cost = from->cost;
	TAILQ_CONCAT(&to->list, &from->list, link);
	pieces_init(from);
}

/* Room for `len` bytes, which counts; grows in steps, so that many small writes do not copy much. */
static bool piece_grow(struct pieces *p, struct piece *one, size_t len)
{
	size_t room = one->room ? one->room : ROOM_FIRST;

	if (len <= one->room)
		return true;
	while (room < len)
		room *= 2;
	unsigned char *grown = realloc(one->bytes, room);

	if (!grown)
		return false;
	p->cost += room - one->room;
	one->bytes = grown;
	one->room = room;
	return true;
}

/* The piece in which the change may go on, and at which byte of it; NULL: it is one of its own. */
static struct piece *piece_to_extend(
	struct pieces *p, enum change_op op, uint64_t offset, size_t len, size_t *at)
{
	struct piece *last = TAILQ_LAST(&p->list, piece_list);

	if (!last || last->op != op || op == CHANGE_SYNC)
		return NULL;
	if (op == CHANGE_APPEND) {
		*at = last->len;
		return last->len + len <= VERB_DATA_MAX ? last : NULL;
	}
	if (offset < last->offset || offset - last->offset > last->len)
		return NULL;
	*at = (size_t)(offset - last->offset);
	return *at + len <= VERB_DATA_MAX ? last : NULL;
}

static struct piece *piece_new(struct pieces *p, enum change_op op, uint64_t offset, size_t len)
{
	struct piece *one = calloc(1, sizeof *one);

	if (!one)
		return NULL;
	one->op = op;
	one->offset = offset;
	if (len && !piece_grow(p, one, len)) {
		piece_free(one);
		return NULL;
	}
	TAILQ_INSERT_TAIL(&p->list, one, link);
	p->count++;
	p->cost += PIECE_COST;
	return one;
}

bool pieces_add(struct pieces *p, enum change_op op, uint64_t offset, const void *bytes, size_t len)
{
	size_t at = 0;
	struct piece *one = piece_to_extend(p, op, offset, len, &at);

	if (one && !piece_grow(p, one, at + len))
		return false;
	if (!one) {
		at = 0;
		one = piece_new(p, op, offset, len);
	}
	if (!one)
		return false;
	size_t before = one->len;

	if (len)
		memcpy(one->bytes + at, bytes, len);
	one->len = at + len > before ? at + len : before;
	p->bytes += one->len - before;
	return true;
}

/* From the first byte written to one past the last. */
struct extent {
	uint64_t begin, end;
};

/* false: not only CHANGE_WRITEs. */
static bool pieces_extent(const struct pieces *p, struct extent *out)
{
	const struct piece *one;

	*out = (struct extent){ .begin = UINT64_MAX };
	TAILQ_FOREACH(one, &p->list, link)
	{
		if (one->op != CHANGE_WRITE)
			return false;
		if (one->offset < out->begin)
			out->begin = one->offset;
		if (one->offset + one->len > out->end)
			out->end = one->offset + one->len;
	}
	return true;
}

bool pieces_are_apart(const struct pieces *a, const struct pieces *b)
{
	struct extent of_a, of_b;

	return pieces_extent(a, &of_a) && pieces_extent(b, &of_b) &&
		(of_a.end <= of_b.begin || of_b.end <= of_a.begin);
}

uint64_t pieces_end(const struct pieces *p, uint64_t size)
{
	const struct piece *one;

	TAILQ_FOREACH(one, &p->list, link)
	{
		if (one->op == CHANGE_APPEND)
			size += one->len;
		else if (one->op == CHANGE_WRITE && one->offset + one->len > size)
			size = one->offset + one->len;
	}
	return size;
}

void pieces_changes(const struct pieces *p, struct change *out)
{
	const struct piece *one;
	uint32_t n = 0;

	TAILQ_FOREACH(one, &p->list, link)
	{
		out[n] = (struct change){ .op = one->op,
			.flags = CHANGE_BY_HANDLE,
			.needs = n,
			.offset = one->op == CHANGE_WRITE ? one->offset : 0,
			.data = one->bytes,
			.data_len = one->len };
		n++;
	}
}
