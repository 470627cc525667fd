/*
 * await.h - requests that arrive as a file, which another process may still be writing.
 */
#pragma once

#include "providers/helper/stream.h"

struct awaited {
	const char *path;
	size_t size; /* the file's size */
	/* size of the requests that the file has as gzip; 0: the file is not packed */
	size_t unpacked;
	/* XXH3 of the file's bytes: a file that is sent twice may have holes at first */
	uint64_t hash;
	bool has_hash;
};

/*
 * Waits until the file is there, is readable and has its size and hash; removes the file and fills
 * `requests` with its content. *held: the locked file, which the caller closes after all the
 * requests were carried out; -1 on failure.
 *
 * The command that takes the file may be delivered twice. If another run has the file, this run
 * waits for the other to end and gives ERR_TIMEOUT, as if neither had received the file. Otherwise
 * both would carry out the same requests, the later one perhaps over newer contents.
 *
 * `out` gets a sign of life (wire.h) every WIRE_ALIVE_MS meanwhile. ERR_TIMEOUT: the file did not
 * grow for a minute, or was removed half-way. ERR_UNREACHABLE: no process reads the signs. The file
 * is removed then, too. ERR_UNSUPPORTED: there is no gzip(1) here.
 */
enum err await_requests(const struct awaited *file, struct outlet *out, struct buf *requests,
	int *held, struct error *e);
