/*
 * pack.h - uploads of requests, compressed where that is faster; internal to providers/remote. Any
 * number of threads may use one packer.
 */
#pragma once

#include "providers/base/buf.h"

#include <stdatomic.h>
#include <stdint.h>

struct remote_packer {
	atomic_bool is_refused; /* the sandbox has no program that unpacks */
	/* bytes a millisecond of the last upload that was large enough to measure; 0: none was */
	atomic_uint rate;
};

/*
 * Fills `out`, which is empty, with gzip of the bytes. false: the bytes should be sent without it.
 */
bool remote_pack(const struct remote_packer *p, const struct buf *bytes, struct buf *out);
/* An upload of `len` bytes, and its request, took `took_ms`. */
void remote_pack_timed(struct remote_packer *p, size_t len, int64_t took_ms);
