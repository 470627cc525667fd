/*
 * stream.h - the helper program's two ends of the stream: whole requests in, whole frames out.
 *
 * An inlet belongs to one thread. An outlet may be used by any number of threads: a frame is
 * written in one piece, and after a write that failed half-way nothing more is written. Writing
 * expects SIGPIPE to be blocked or ignored (serve() blocks it).
 */
#pragma once

#include "providers/helper/answer_file.h"
#include "providers/helper/window.h"
#include "providers/helper/wire.h"

#include <pthread.h>

struct outlet;

struct inlet {
	int fd;                     /* -1: all input is in `bytes` */
	const unsigned char *bytes; /* not yet read */
	size_t len;
	/* the outlet of a stream, which takes reports and sends ours; NULL: there are none */
	struct outlet *peer;
	size_t unreported; /* bytes received since the last report */
	/* the request that lacks its last frame; 0: none does */
	uint32_t partial_id;
	struct buf partial;
};

/* An inlet of the other fields. */
#define INLET_INIT(...)                                                                            \
	{                                                                                          \
		.partial = BUF_INIT(WIRE_REQUEST_MAX), __VA_ARGS__                                 \
	}

struct stream_request {
	enum frame_type type;
	uint32_t id;
	struct buf payload; /* joined from all the request's frames */
};

/*
 * Reads the next request into `out`, whose payload is emptied first. ERR_OK with *at_end: there are
 * no more. A request whose FRAME_CANCEL comes before its last frame is dropped. ERR_PROTOCOL: the
 * input is no stream of requests.
 */
enum err inlet_next(struct inlet *in, struct stream_request *out, bool *at_end, struct error *e);
void inlet_release(struct inlet *in);

struct outlet {
	int fd;
	bool is_armoured; /* lines of base64, each decodable alone */
	/*
	 * Owned by the caller, used under the lock; NULL: none. All frames but the signs of life go
	 * to the file.
	 */
	struct answer_file *file;
	pthread_mutex_t lock;
	bool is_broken;  /* under the lock */
	struct buf text; /* the armour; under the lock */

	/* Large frames wait for the window; never held during a write. */
	pthread_mutex_t window_lock;
	pthread_cond_t has_room; /* with window_lock */
	struct window window;    /* window_lock */
	bool is_windowed;        /* window_lock */
	bool has_reports;        /* window_lock; the client reports: the window counts */
	/* window_lock; bytes of other frames since the last large one, which has its turn, too */
	size_t passed;
};

/* `is_windowed`: of a stream, whose client may report what it has received. */
void outlet_init(struct outlet *o, int fd, bool is_armoured, bool is_windowed);
/* Whether the client reports what it has received. */
bool outlet_has_reports(struct outlet *o);
/* The client's report. false: more than was sent. */
bool outlet_note_received(struct outlet *o, uint32_t bytes);
/* `is_windowed`: whether reports come; where none do, nothing waits for one. */
void outlet_set_windowed(struct outlet *o, bool is_windowed);
void outlet_release(struct outlet *o);

/*
 * `payload` NULL: an empty frame. ERR_UNREACHABLE: no process reads. Other errors are the file's.
 */
enum err outlet_send(struct outlet *o, enum frame_type type, uint32_t id, const struct buf *payload,
	struct error *e);

/*
 * Called after the last frame: sends what the file holds in memory. Errors as of outlet_send(),
 * also those of earlier frames.
 */
enum err outlet_end(struct outlet *o, struct error *e);

/* Writes both parts whole, in one system call where `fd` accepts them. False: errno. */
bool stream_write(int fd, struct iovec parts[2]);
