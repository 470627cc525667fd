/*
 * flow.h - bytes under way in one direction of one connection: segments in order, each with its
 * time of arrival.
 *
 * Holds at most link_window() bytes: the caller looks at flow_room() first.
 */
#pragma once

#include "tests/relay/window.h"

#include <sys/queue.h>

enum segment_kind {
	SEGMENT_DATA,
	SEGMENT_END,   /* the sender will send nothing more */
	SEGMENT_RESET, /* the connection ends for both */
};

struct segment {
	STAILQ_ENTRY(segment) entry;
	enum segment_kind kind;
	int64_t arrives_at;
	size_t taken, len; /* bytes of `data`: already passed on, all */
	char data[];
};

struct flow {
	STAILQ_HEAD(, segment) segments;
	size_t held;      /* bytes in them not yet passed on */
	bool is_ended;    /* an END or a RESET was sent: nothing may follow */
	bool has_arrived; /* the END was passed on */
	int64_t last_arrival;
	struct window window;
};

void flow_init(struct flow *f);
void flow_release(struct flow *f);

/*
 * Copies `len` bytes, of which the last arrives at `arrives_at` or, if others are still before it,
 * after them.
 */
void flow_send(struct flow *f, const char *bytes, size_t len, int64_t arrives_at);
void flow_end(struct flow *f, enum segment_kind kind, int64_t arrives_at);

/* How many bytes may be sent now. */
size_t flow_room(struct flow *f, const struct link *l, int64_t now);

/* The oldest segment, or NULL. It stays until flow_drop. */
struct segment *flow_first(const struct flow *f);
void flow_took(struct flow *f, struct segment *first, size_t len);
void flow_drop(struct flow *f, struct segment *first);

/* When the oldest segment arrives, or NEVER. */
int64_t flow_arrives_at(const struct flow *f);
