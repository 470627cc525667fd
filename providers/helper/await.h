/*
 * await.h - requests that come as a file, which somebody else is still writing.
 */
#pragma once

#include "providers/helper/stream.h"

struct awaited {
	const char *path;
	size_t size;     /* of the file */
	size_t unpacked; /* it is gzip of requests of so many bytes; 0: it is the requests */
	uint64_t hash;   /* XXH3 of its bytes: one that is sent twice may have holes at first */
	bool has_hash;
};

/*
 * Waits until the file is there, may be read and has its size and its hash, removes it and fills
 * `requests` with it. *held: it, locked, which the caller closes when all of them were carried out;
 * -1 on failure. One that another run has, since the command to take it was delivered twice, is not
 * taken: that run is waited for, and it is ERR_TIMEOUT, as if neither had been heard of. Else both
 * would do the same, and the later one perhaps when something new was written. Meanwhile `out` gets
 * a sign of life (wire.h) every WIRE_ALIVE_MS. ERR_TIMEOUT: it did not grow for a minute, or a part
 * of it was removed; ERR_UNREACHABLE: nobody reads the signs. What is there of the file is removed
 * then too. ERR_UNSUPPORTED: there is no gzip(1) here.
 */
enum err await_requests(const struct awaited *file, struct outlet *out, struct buf *requests,
	int *held, struct error *e);
