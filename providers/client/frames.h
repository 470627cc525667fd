/*
 * frames.h - one request and its answer as plain bytes, for a helper that is started anew; internal
 * to providers/.
 *
 * The request is one run of bytes. The answer comes in pieces of any size, which may cut it
 * anywhere; at most one frame of it is kept. Any other output is ERR_PROTOCOL with its first words,
 * since a program that could not start gives its reason there.
 */
#pragma once

#include "providers/client/answers.h"

/*
 * Turns the payload in the bytes of `request` from `start` on into frames, in place, since the
 * bytes may be many: the largest request needs room for WIRE_STREAM_MAX bytes.
 */
bool frames_of_request(struct buf *request, size_t start, enum frame_type type);

/* Bytes of the first output that are kept for the error. */
#define FRAMES_SAID_MAX 160

struct frames_reader {
	const struct listener *listener;
	/* listener of a second answer, after a first one without an error; NULL: none */
	const struct listener *next;
	/* NULL, or called between the two answers; an error ends the reading. */
	enum err (*turn)(void *context, struct error *e);
	void *turn_context;
	bool is_armoured;
	bool is_over;     /* the answer's end has come, with its result */
	struct error why; /* the result, or why no more is read */
	struct buf line;  /* a line of base64 that is not yet whole */
	struct buf bytes; /* a frame that is not yet whole, with its header */
	struct frame frame;
	char said[FRAMES_SAID_MAX + 1];
	size_t said_len;
	bool has_frame; /* one frame has come whole */
};

void frames_reader_init(struct frames_reader *r, const struct listener *listener, bool is_armoured);
void frames_reader_release(struct frames_reader *r);
#define AUTO_FRAMES_READER __attribute__((cleanup(frames_reader_release)))

/*
 * An error of the listener, or output that is no answer, ends the reading: the same error is then
 * returned every time.
 */
enum err frames_reader_take(
	struct frames_reader *r, const void *bytes, size_t len, struct error *e);
/* As frames_reader_take(), for bytes without base64 from here on, at the beginning of a frame. */
enum err frames_reader_take_file(
	struct frames_reader *r, const void *bytes, size_t len, struct error *e);

/*
 * The result of the whole answer, once no more bytes come. `run` is the outcome of the run. An
 * answer that came whole is valid with any outcome, and an error of the listener counts before the
 * run's. ERR_UNREACHABLE: the answer was cut off.
 */
enum err frames_reader_end(struct frames_reader *r, const struct error *run, struct error *e);
