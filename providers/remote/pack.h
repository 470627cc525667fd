/*
 * pack.h - requests that are uploaded, compressed where they arrive sooner so; internal to remote*.c. Any number of
 * threads may use one packer.
 */
#pragma once

#include "providers/base/buf.h"

#include <stdatomic.h>
#include <stdint.h>

struct remote_packer {
	atomic_bool is_refused; /* the sandbox has nothing that unpacks */
	atomic_uint
		rate; /* of the last upload that was large enough to tell, in bytes a millisecond; 0: none was */
};

/* Fills `out`, which is empty, with gzip of the bytes. false: they are to be sent as they are. */
bool remote_pack(const struct remote_packer *p, const struct buf *bytes, struct buf *out);
/* An upload of so many bytes, and what it was for, took so long. */
void remote_pack_timed(struct remote_packer *p, size_t len, int64_t took_ms);
