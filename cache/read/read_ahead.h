/*
 * read_ahead.h - read-ahead for a sequential reader.
 *
 * Small files are left to cache/read/prefetch.h. The first read of another file asks for exactly
 * its bytes: one round trip. A second read where the first ended starts a stream: a thread keeps
 * one long fetch under way, in items of at most 1 MiB. An item's bytes are handed out only after
 * the sandbox reported that they are of the version the stream began with, and as long as nothing
 * newer is known of the file here. Else the stream ends, its bytes are dropped, and the read starts
 * over. The fetch waits while its window is full, so the vendor's connection does. The window grows
 * while the reader keeps up. A stream without reads for 5 s ends.
 *
 * Locks: its own one, above the tree's. Functions take NULL for `a`: nothing is read ahead.
 */
#pragma once

#include "cache/tree/tree.h"

#include "providers/base/call.h"

struct cache; /* cache/session/session.h */

struct read_ahead;

enum err read_ahead_new(struct read_ahead **out, struct cache *c, struct error *e);
/* Called when no read is under way. Streams are cancelled and waited for. */
void read_ahead_free(struct read_ahead *a);

/* *got < len: the end of the file. */
enum err read_ahead_read(struct read_ahead *a, const struct call *call, struct inode *i,
	uint64_t offset, void *out, size_t len, size_t *got, struct error *e);

/* Drops what was read ahead of the file, which is changing or was invalidated. */
void read_ahead_drop(struct read_ahead *a, struct inode *i);
void read_ahead_drop_all(struct read_ahead *a);
