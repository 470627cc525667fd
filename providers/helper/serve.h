/*
 * serve.h - answers a stream of requests about one root.
 *
 * A request has a thread of its own, so a long list does not hold up a short fetch; changes alone are done one request
 * after the other, in the order in which they came. While a request is in work its client gets a sign of life every
 * WIRE_ALIVE_MS. What one client can make us hold is bounded: requests in work by number and bytes, each by wire.h.
 */
#pragma once

#include "providers/helper/root.h"

struct serve_options {
	const struct root *root;
	int in_fd;         /* -1: the requests are `bytes` */
	const void *bytes; /* frames */
	size_t len;
	int out_fd;
	bool is_once; /* one request after the other; at the end of the requests all are answered */
	bool may_watch; /* also with is_once: it then ends when nobody reads the answers any more */
	bool is_armoured; /* answers as lines of base64 */
	bool is_quiet;    /* no signs of life: somebody else sees to it that they are not needed */
	struct answer_file *file; /* only with is_once: where large answers go; NULL: they do not */
};

/*
 * Until the requests end: lists, fetches and watches still in work are then given up (not with is_once), changes are
 * done. ERR_PROTOCOL: what came is no stream of requests, which the client is told with a FRAME_END of id 0.
 * ERR_UNREACHABLE, only with is_once: nobody reads the answers. What the file says of itself stands before that. Both descriptors stay the caller's.
 */
enum err serve(const struct serve_options *options, struct error *e);
