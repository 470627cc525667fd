/*
 * Repeated batches: the answer was lost. A change that was applied already is not applied twice,
 * and its answer has the attributes of the file that is at its path by now. After later changes of
 * the batch that may be another file. So each file is looked up where the batch left it.
 */
#include "cache/write/writeback_inside.h"

#include "cache/session/counted_provider.h"
#include "cache/session/session.h"

#include "providers/base/cleanup.h"

#include <stdlib.h>
#include <string.h>

/* The lookups: `places[n]` is for the result of the change `changes[n]`. */
struct search {
	struct batch *batch;
	char **places;
	size_t *changes;
	size_t count;
};

static void release(struct search *s)
{
	for (size_t n = 0; n < s->count; n++)
		free(s->places[n]);
	free(s->places);
	free(s->changes);
}

/* Where the whole batch left the file of its change `n`; NULL: the file has lost this name. */
static char *place_after(const struct batch *b, size_t n)
{
	const char *left = op_leaves(b->ops[n]);
	char *place = left ? strdup(left) : NULL;

	while (place && ++n < b->count)
		if (!b->results[n].err)
			place = op_carry(b->ops[n], place);
	return place;
}

/* The result is of another file if the file has moved on. */
static void look_at(struct search *s, size_t n)
{
	struct batch *b = s->batch;
	char *place = place_after(b, n);

	bool stays = place && !strcmp(place, op_leaves(b->ops[n]));

	b->results[n].has_attr &= stays;
	if (stays || !place || !s->places || !s->changes) {
		free(place);
		return;
	}
	s->places[s->count] = place;
	s->changes[s->count++] = n;
}

static enum err take_place(void *context, const struct list_item *item, struct error *e)
{
	const struct search *s = context;

	(void)e;
	if (item->kind != LIST_SELF || item->err || item->start >= s->count)
		return ERR_OK;
	struct change_result *r = &s->batch->results[s->changes[item->start]];

	r->attr = item->attr;
	r->has_attr = true;
	return ERR_OK;
}

static enum err ask_for_places(
	struct writeback *p, const struct call *call, struct search *s, struct error *e)
{
	const struct list_request request = { .starts = (const char *const *)s->places,
		.starts_count = s->count };
	enum err kind = s->count
		? counted_list(&p->cache->counted, call, &request, take_place, s, e)
		: ERR_OK;

	if (!kind || cache_is_of_the_call(kind))
		return kind;
	/* The changes are applied even without these attributes. */
	*e = (struct error){ 0 };
	return ERR_OK;
}

enum err batch_find_moved(
	struct writeback *p, const struct call *call, struct batch *b, struct error *e)
{
	struct search s = { .batch = b,
		.places = calloc(b->count, sizeof *s.places),
		.changes = calloc(b->count, sizeof *s.changes) };

	for (size_t n = 0; n < b->count; n++)
		if (!b->results[n].err && b->ops[n]->about.target)
			look_at(&s, n);
	enum err kind = ask_for_places(p, call, &s, e);

	release(&s);
	return kind;
}
