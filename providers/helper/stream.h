/*
 * stream.h - the helper program's two ends of the stream: whole requests in, whole frames out.
 *
 * An inlet belongs to one thread. An outlet may be used by any number: a frame is written in one piece, and once that
 * failed half way nothing more is. Writing expects SIGPIPE to be blocked or ignored (serve() sees to it).
 */
#pragma once

#include "providers/helper/answer_file.h"
#include "providers/helper/wire.h"

#include <pthread.h>

struct inlet {
	int fd;                     /* -1: `bytes` are all there is */
	const unsigned char *bytes; /* not yet read */
	size_t len;
};

struct stream_request {
	enum frame_type type;
	uint32_t id;
	struct buf payload; /* of all its frames */
};

/*
 * Reads the next request into `out`, whose payload is emptied first. ERR_OK with *at_end: there are no more. A request
 * whose FRAME_CANCEL comes before its last frame is dropped. ERR_PROTOCOL: not a stream of requests.
 */
enum err inlet_next(struct inlet *in, struct stream_request *out, bool *at_end, struct error *e);

struct outlet {
	int fd;
	bool is_armoured; /* lines of base64, each decodable alone */
	/* The caller's; NULL: none. Takes all but the signs of life; what is said of it below is under the lock too. */
	struct answer_file *file;
	pthread_mutex_t lock;
	bool is_broken;  /* lock */
	struct buf text; /* lock; the armour */
};

void outlet_init(struct outlet *o, int fd, bool is_armoured);
void outlet_release(struct outlet *o);

/* `payload` NULL: an empty frame. ERR_UNREACHABLE: nobody reads. Else it is the file's error. */
enum err outlet_send(struct outlet *o, enum frame_type type, uint32_t id, const struct buf *payload,
	struct error *e);

/* After the last frame: what the file holds in memory is sent. Errors as of outlet_send(), also those of before. */
enum err outlet_end(struct outlet *o, struct error *e);

/* Both parts whole, in one system call where `fd` takes them. False: errno. */
bool stream_write(int fd, struct iovec parts[2]);
