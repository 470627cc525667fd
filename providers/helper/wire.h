/*
 * wire.h - how the verbs travel between sandboxfs and its helper program: frames of records over
 * any stream of bytes.
 *
 * Both sides use this one coding, and each checks the other: every length against the available
 * bytes and the limits of verbs.h, every name against base/path.h, every enumeration against its
 * range. A message that does not fit is ERR_PROTOCOL; nothing is guessed. Integers are
 * little-endian. libc only.
 *
 * Paths and names of a request are the exception: here they are checked only to be strings, and the
 * verb checks them item by item, so that one bad path does not fail its batch. Paths of an answer
 * are checked here.
 *
 * A frame is a header of FRAME_HEADER_SIZE bytes and a payload of at most FRAME_PAYLOAD_MAX:
 *
 *      0  4 bytes   magic "SbX" and the version (WIRE_VERSION)
 *      4  u32       request id: chosen by the client, repeated in each answer to it
 *      8  u8        type (enum frame_type)
 *      9  3 bytes   zero
 *     12  u32       length of the payload
 *
 * A request may span frames: all but its last have type FRAME_MORE. Only whole requests of one
 * frame may come between them. The request's own FRAME_CANCEL instead of its next frame drops the
 * request. Answers are streamed: any number of item frames (FRAME_ITEMS, each holding whole
 * records) and then one FRAME_END with the verb's own result.
 *
 * An empty FRAME_ITEMS is a sign of life, sent while a request is in work; a last one may still
 * come after the end. A sign of life of id 0 says that a helper that was started for one request
 * still waits for the request. A FRAME_END of id 0 says why the helper stops reading. On a stream
 * the helper reports with FRAME_RECEIVED, id 0, how many bytes it has received since its last
 * report: at least every RECEIVED_BYTES. A client does the same, or never.
 */
#pragma once

#include "providers/base/buf.h"
#include "providers/helper/command.h"
#include "providers/verbs.h"

#define WIRE_VERSION      17
#define FRAME_HEADER_SIZE 16
/* One piece of data with its record. */
#define FRAME_PAYLOAD_MAX (VERB_DATA_MAX + 256 * 1024)
/* The bytes of one report: a tenth of a second at 1 Mbit/s. */
#define RECEIVED_BYTES ((size_t)16 * 1024)
/* A whole request, all frames together. */
#define WIRE_REQUEST_MAX (64 * 1024 * 1024)
/* A whole request with the headers of its frames. */
#define WIRE_STREAM_MAX                                                                            \
	(WIRE_REQUEST_MAX + (WIRE_REQUEST_MAX / FRAME_PAYLOAD_MAX + 1) * FRAME_HEADER_SIZE)
/* The most elements of one batch. */
#define WIRE_BATCH_MAX 100000
/* The time between two signs of life. */
#define WIRE_ALIVE_MS 5000
/*
 * Exit codes of a helper that was given a file for a large answer: all of the answer is in the
 * file, as frames; or the file could not be written. Of a helper whose requests come packed: there
 * is no gzip here, and nothing was done. Others: 0; 1, which standard error explains; 2, a wrong
 * usage.
 */
#define WIRE_EXIT_IN_FILE 3
#define WIRE_EXIT_NO_FILE 4
#define WIRE_EXIT_NO_GZIP 5

enum frame_type {
	FRAME_MORE = 1, /* request: a piece, more follows */
	FRAME_HELLO,    /* request: nothing; answer: struct hello */
	FRAME_LIST,
	FRAME_FETCH,
	FRAME_APPLY,
	/* request: the watcher, and then nothing or, as of a FRAME_LIST, what is listed first */
	FRAME_WATCH,
	/* request: gives up the request of this id, changes in work excepted; no answer */
	FRAME_CANCEL,
	FRAME_ITEMS,    /* answer: records */
	FRAME_END,      /* answer: the verb's result, the last frame of an id */
	FRAME_COMMAND,  /* answer: pieces, the last of them the state of the command */
	FRAME_STOP,     /* request: ends a command; no records */
	FRAME_RECEIVED, /* in both directions: a number of bytes */
	FRAME_TYPE_END, /* one past the last */
};

struct frame {
	enum frame_type type;
	uint32_t id;
	uint32_t len;
};

void frame_encode(unsigned char out[FRAME_HEADER_SIZE], const struct frame *f);
enum err frame_decode(
	const unsigned char in[FRAME_HEADER_SIZE], struct frame *out, struct error *e);

bool wire_put_received(struct buf *out, uint32_t bytes);
enum err wire_get_received(const struct buf *in, uint32_t *bytes, struct error *e);

/* The helper's description of itself. */
struct hello {
	uint32_t version;
	bool has_staging;
	struct identity identity;
	struct root_facts root;
};

/*
 * Requests. An encoder appends to `out`. A decoder gives arrays that point into `in` and are
 * themselves allocated in `*memory`, which the caller frees; both must outlive the decoded arrays.
 */
bool wire_put_list(struct buf *out, const struct list_request *request);
enum err wire_get_list(
	const struct buf *in, struct list_request *request, void **memory, struct error *e);
bool wire_put_watch(struct buf *out, const struct watch_request *request);
/* `first`: memory for the list of the request. */
enum err wire_get_watch(const struct buf *in, struct watch_request *request,
	struct list_request *first, void **memory, struct error *e);
bool wire_put_fetch(struct buf *out, const struct fetch_item *items, size_t items_count);
enum err wire_get_fetch(const struct buf *in, struct fetch_item **items, size_t *items_count,
	void **memory, struct error *e);
bool wire_put_apply(struct buf *out, const struct apply_request *request);
enum err wire_get_apply(
	const struct buf *in, struct apply_request *request, void **memory, struct error *e);
/*
 * One change alone, which needs no other. Journals hold the same bytes: cache/journal/record.h has
 * their version.
 */
bool wire_put_change(struct buf *out, const struct change *change);
enum err wire_get_change(const struct buf *in, struct change *out, struct error *e);
bool wire_put_command(struct buf *out, const struct command_request *request);
enum err wire_get_command(
	const struct buf *in, struct command_request *request, void **memory, struct error *e);
bool wire_put_stop(struct buf *out, const char *marker, bool now);
enum err wire_get_stop(const struct buf *in, const char **marker, bool *now, struct error *e);

/*
 * Answers: records are appended to a frame's payload and taken from it one at a time. A `_get_`
 * advances `*at`; it is called while *at < in->len. The results point into `in`, and xattrs into
 * memory that `list_decoded` owns.
 */
#define WIRE_XATTRS_MAX 1024

struct list_decoded {
	struct list_item item;
	struct xattr xattrs[WIRE_XATTRS_MAX];
};

bool wire_put_list_item(struct buf *out, const struct list_item *item);
enum err wire_get_list_item(
	const struct buf *in, size_t *at, struct list_decoded *out, struct error *e);
bool wire_put_fetch_piece(struct buf *out, const struct fetch_piece *piece);
enum err wire_get_fetch_piece(
	const struct buf *in, size_t *at, struct fetch_piece *out, struct error *e);
bool wire_put_change_result(struct buf *out, const struct change_result *result);
enum err wire_get_change_result(
	const struct buf *in, size_t *at, struct change_result *out, struct error *e);
bool wire_put_watch_event(struct buf *out, const struct watch_event *event);
/* `item`: memory for the item of a WATCH_ITEM. */
enum err wire_get_watch_event(const struct buf *in, size_t *at, struct watch_event *out,
	struct list_decoded *item, struct error *e);
bool wire_put_command_piece(struct buf *out, const struct command_piece *piece);
enum err wire_get_command_piece(
	const struct buf *in, size_t *at, struct command_piece *out, struct error *e);
bool wire_put_hello(struct buf *out, const struct hello *hello);
enum err wire_get_hello(const struct buf *in, struct hello *out, struct error *e);
bool wire_put_end(struct buf *out, enum err kind, const char *text);
/* The result that was sent: ERR_PROTOCOL also when it cannot be read. */
enum err wire_get_end(const struct buf *in, struct error *e);
