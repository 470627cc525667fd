#include "tests/relay/flow.h"

#include "tests/relay/loop.h"

#include <err.h>
#include <stdlib.h>
#include <string.h>

void flow_init(struct flow *f)
{
	*f = (struct flow){ 0 };
	STAILQ_INIT(&f->segments);
	window_init(&f->window);
}

void flow_release(struct flow *f)
{
	struct segment *first;

	while ((first = flow_first(f)))
		flow_drop(f, first);
}

static struct segment *append(
	struct flow *f, enum segment_kind kind, size_t len, int64_t arrives_at)
{
	struct segment *s = malloc(sizeof *s + len);

	if (!s)
		err(2, "a segment of %zu bytes", len);
	if (f->last_arrival < arrives_at)
		f->last_arrival = arrives_at;
	*s = (struct segment){ .kind = kind, .arrives_at = f->last_arrival, .len = len };
	STAILQ_INSERT_TAIL(&f->segments, s, entry);
	f->held += len;
	return s;
}

void flow_send(struct flow *f, const char *bytes, size_t len, int64_t arrives_at)
{
	memcpy(append(f, SEGMENT_DATA, len, arrives_at)->data, bytes, len);
}

void flow_end(struct flow *f, enum segment_kind kind, int64_t arrives_at)
{
	append(f, kind, 0, arrives_at);
	f->is_ended = true;
}

size_t flow_room(struct flow *f, const struct link *l, int64_t now)
{
	size_t limit = link_window(l);
	size_t room = limit > f->held ? limit - f->held : 0;
	size_t window = l->slow_start ? window_room(&f->window, l, now) : room;

	return room < window ? room : window;
}

struct segment *flow_first(const struct flow *f)
{
	return STAILQ_FIRST(&f->segments);
}

void flow_took(struct flow *f, struct segment *first, size_t len)
{
	first->taken += len;
	f->held -= len;
}

void flow_drop(struct flow *f, struct segment *first)
{
	f->held -= first->len - first->taken;
	STAILQ_REMOVE_HEAD(&f->segments, entry);
	free(first);
}

int64_t flow_arrives_at(const struct flow *f)
{
	struct segment *first = flow_first(f);

	return first ? first->arrives_at : NEVER;
}
