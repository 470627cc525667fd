/*
 * frames.h - one request and its answer as plain bytes, for a helper that is started anew; internal to providers/.
 *
 * The request is one run of bytes; the answer comes in pieces of any size, which may cut it anywhere. What is held of it
 * is at most one frame. Anything that is no answer is ERR_PROTOCOL with its first words, since a program that could not
 * start says there why.
 */
#pragma once

#include "providers/client/answers.h"

/*
 * The bytes of `request` from `start` on are a payload, and become the frames of that payload where
 * they lie, for they may be many: the largest request needs room for WIRE_STREAM_MAX bytes.
 */
bool frames_of_request(struct buf *request, size_t start, enum frame_type type);

/* The first words of what came, kept for the error. */
#define FRAMES_SAID_MAX 160

struct frames_reader {
	const struct listener *listener;
	const struct listener *
		next; /* of a second answer, behind a first that is no error; NULL: there is none */
	/* NULL, or told in between; its error ends the reading. */
	enum err (*turn)(void *context, struct error *e);
	void *turn_context;
	bool is_armoured;
	bool is_over;     /* the end has come: `result` */
	struct error why; /* the result, or why nothing more is read */
	struct buf line;  /* of armour, not yet whole */
	struct buf bytes; /* the frame, not yet whole, with its header */
	struct frame frame;
	char said[FRAMES_SAID_MAX + 1];
	size_t said_len;
	bool has_frame; /* one has come whole */
};

void frames_reader_init(struct frames_reader *r, const struct listener *listener, bool is_armoured);
void frames_reader_release(struct frames_reader *r);
#define AUTO_FRAMES_READER __attribute__((cleanup(frames_reader_release)))

/* What the listener refuses, and what is no answer, ends the reading: the same error then comes every time. */
enum err frames_reader_take(
	struct frames_reader *r, const void *bytes, size_t len, struct error *e);
/* The same for what follows without armour, at the beginning of a frame: from then on there is none. */
enum err frames_reader_take_file(
	struct frames_reader *r, const void *bytes, size_t len, struct error *e);

/*
 * The whole answer's result, once nothing more comes. `run` is what became of the run: an answer that came whole stands
 * whatever that was, and what the listener said stands before it. ERR_UNREACHABLE: the answer was cut off.
 */
enum err frames_reader_end(struct frames_reader *r, const struct error *run, struct error *e);
