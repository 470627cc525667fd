/*
 * read_ahead.h - reading that runs ahead of a sequential reader.
 *
 * Small files are left to cache/read/prefetch.h. The first read of another asks for exactly what is wanted: one round trip. A second
 * one where the first ended starts a stream: a thread keeps one long fetch under way, in items of at most 1 MiB. An
 * item's bytes are handed out only after the sandbox said that they are of the version the stream began with, and as long
 * as nothing newer is known of the file here; else the stream ends, what it holds is dropped, and the read starts over.
 * The fetch waits while its window is full, so the vendor's connection does. The window grows while the reader keeps up. A
 * stream without reads for 5 s is let go.
 *
 * Locks: its own one, above the tree's. Functions take NULL for `a`: nothing is read ahead.
 */
#pragma once

#include "cache/tree/tree.h"

#include "providers/base/call.h"

struct cache; /* cache/session/session.h */

struct read_ahead;

enum err read_ahead_new(struct read_ahead **out, struct cache *c, struct error *e);
/* No read may be under way. Streams are cancelled and waited for. */
void read_ahead_free(struct read_ahead *a);

/* *got < len: the end of the file. */
enum err read_ahead_read(struct read_ahead *a, const struct call *call, struct inode *i,
	uint64_t offset, void *out, size_t len, size_t *got, struct error *e);

/* The file changes or is in doubt: what was read ahead of it goes. */
void read_ahead_drop(struct read_ahead *a, struct inode *i);
void read_ahead_drop_all(struct read_ahead *a);
