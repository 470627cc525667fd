/*
 * answers.h - whole answers of a helper, checked against the requests they answer; internal to helper_*.c.
 *
 * Single records are decoded in wire_answers.c, and checked by answer_check.h. A listener hears the frames of one answer in order, however they came. Its
 * state, and what that points to, must outlive it.
 */
#pragma once

#include "providers/answer_check.h"
#include "providers/base/call.h"
#include "providers/helper/wire.h"

struct listener {
	/* Takes the record at `*at` and advances. What a caller's sink says comes out unchanged. */
	enum err (*hear)(void *state, const struct buf *in, size_t *at, struct error *e);
	/* Whether nothing is missing. */
	bool (*is_complete)(const void *state);
	void *state;
	bool packs_well; /* the answer, and what asks for it, are worth compressing on the way */
	bool answer_packs_well; /* the answer is */
	bool answer_is_bulk;    /* the answer may be large */
};

/* The payload of a FRAME_ITEMS. */
enum err listener_take_items(
	const struct listener *listener, const struct buf *in, struct error *e);
/* The payload of the FRAME_END: the verb's own result. */
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
	size_t done;  /* items */
	uint64_t got; /* bytes of the present one */
};

struct listener fetch_listener(struct fetch_state *state);

struct apply_state {
	const struct change *changes;
	struct change_result *results;
	size_t count, got;
};

struct listener apply_listener(struct apply_state *state);

struct watch_state {
	/* The request of its check is NULL: none was asked for. Its sink is not used. */
	struct list_state first;
	watch_sink sink;
	void *context;
};

#define AUTO_WATCH_STATE __attribute__((cleanup(watch_state_release)))
void watch_state_release(struct watch_state *state);
/* A watch has no good end. */
struct listener watch_listener(struct watch_state *state);
/* The call with the patience that a watch needs: nothing may change for days, but signs of life come all the time. */
struct call watch_call(const struct call *call);

struct command_state {
	command_sink sink;
	void *context;
	uint64_t next; /* where the record is followed from */
	bool is_over;
};

struct listener command_listener(struct command_state *state);

/* For an answer that is nothing but its end. */
struct listener silent_listener(void);
