/*
 * answers.h - whole answers of a helper, checked against their requests; internal to
 * providers/client and providers/remote.
 *
 * Single records are decoded in helper/wire_answers.c and checked by answer_check.h. A listener
 * receives the frames of one answer in order, over any transport. Its state, and all that the state
 * points to, must outlive it.
 */
#pragma once

#include "providers/answer_check.h"
#include "providers/base/call.h"
#include "providers/helper/wire.h"

struct listener {
	/*
	 * Takes the record at `*at` and advances. An error of a caller's sink is returned
	 * unchanged.
	 */
	enum err (*take)(void *state, const struct buf *in, size_t *at, struct error *e);
	/* Whether the answer is complete. */
	bool (*is_complete)(const void *state);
	void *state;
	bool packs_well;        /* the answer and its request are worth compressing on the way */
	bool answer_packs_well; /* the answer alone is worth compressing */
	bool answer_is_bulk;    /* the answer may be large */
};

/* Takes the payload of a FRAME_ITEMS. */
enum err listener_take_items(
	const struct listener *listener, const struct buf *in, struct error *e);
/* Takes the payload of the FRAME_END: the verb's own result. */
enum err listener_take_end(const struct listener *listener, const struct buf *in, struct error *e);

struct hello_state {
	struct hello *hello;
	bool has_come;
};

struct listener hello_listener(struct hello_state *state);
/* A helper of another version is refused: ERR_PROTOCOL. */
enum err check_hello(const struct hello *hello, struct error *e);

struct list_state {
	struct list_check check;
	list_sink sink;
	void *context;
	struct list_decoded decoded;
};

#define AUTO_LIST_STATE __attribute__((cleanup(list_state_release)))
void list_state_release(struct list_state *state);
struct listener list_listener(struct list_state *state);

struct fetch_state {
	const struct fetch_item *items;
	size_t items_count;
	fetch_sink sink;
	void *context;
	size_t done;  /* number of items */
	uint64_t got; /* bytes of the present item */
};

struct listener fetch_listener(struct fetch_state *state);

struct apply_state {
	const struct change *changes;
	struct change_result *results;
	size_t count, got;
};

struct listener apply_listener(struct apply_state *state);

struct watch_state {
	/* `first.check.request` NULL: no list was asked for. The sink of `first` is not used. */
	struct list_state first;
	watch_sink sink;
	void *context;
};

#define AUTO_WATCH_STATE __attribute__((cleanup(watch_state_release)))
void watch_state_release(struct watch_state *state);
/* A watch never ends with success. */
struct listener watch_listener(struct watch_state *state);
/*
 * The call with the longer deadline of a watch: no change may come for days, but signs of life come
 * all the time.
 */
struct call watch_call(const struct call *call);

struct command_state {
	command_sink sink;
	void *context;
	uint64_t next; /* position in the record from which the record is followed */
	bool is_over;
};

struct listener command_listener(struct command_state *state);

/* For an answer that consists of its end alone. */
struct listener silent_listener(void);
