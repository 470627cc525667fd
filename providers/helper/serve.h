/*
 * serve.h - answers a stream of requests about one root.
 *
 * A request has a thread of its own, so a long list does not hold up a short fetch; only changes
 * are carried out one request after the other, in the order in which they came. While a request is
 * in work its client gets a sign of life every WIRE_ALIVE_MS. The memory that one client can use is
 * bounded: requests in work by number and bytes, each request by wire.h.
 */
#pragma once

#include "providers/helper/root.h"

struct serve_options {
	const struct root *root;
	int in_fd;         /* -1: the requests are `bytes` */
	const void *bytes; /* frames */
	size_t len;
	int out_fd;
	bool is_once; /* one request after the other; all are answered before the end */
	/* also with is_once: the watch then ends when no process reads the answers */
	bool may_watch;
	bool is_armoured;         /* answers as lines of base64 */
	bool is_quiet;            /* no signs of life: another process sends them */
	struct answer_file *file; /* only with is_once: where large answers go; NULL: no file */
};

/*
 * Serves until the requests end. Requests still in work are then stopped (not with is_once), but
 * changes are completed. ERR_PROTOCOL: the input is no stream of requests, which a FRAME_END of id
 * 0 reports. ERR_UNREACHABLE, only with is_once: no process reads the answers. An error of the
 * answer file (`why`) comes before that one. Both descriptors stay the caller's.
 */
enum err serve(const struct serve_options *options, struct error *e);
