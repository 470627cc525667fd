/*
 * link.h - the modelled link: one pipe in each direction, shared by all connections.
 *
 * A byte that enters at t starts on the wire when the wire is free, takes 8 bits of bandwidth to
 * leave, and arrives one delay later. When more than the queue's depth waits for the wire, the link
 * admits nothing more, so that senders are held up as they would be by a full router. Nothing is
 * lost or overtaken.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum direction { TO_SERVER, TO_CLIENT, DIRECTIONS };

struct link {
	int64_t delay_ns;              /* one way */
	double mbit_per_s[DIRECTIONS]; /* 0: without limit */
	int64_t queue_ns;              /* how long a byte may wait for the wire */
	int64_t forget_ns; /* a connection on which nothing moves for so long is lost; 0: none is */
	/* most bytes under way in one direction of a connection; 0: as the link needs */
	size_t window;
	bool without_handshake; /* a connection costs no round trip */
	bool slow_start;        /* see window.h */
	int64_t wire_free_at[DIRECTIONS];
};

/* Puts `len` bytes on the wire; returns when the last of them arrives. */
int64_t link_carry(struct link *l, enum direction d, size_t len, int64_t now);

/* When the link admits more bytes; `now` or earlier: at once. */
int64_t link_admits_at(const struct link *l, enum direction d);

/* Most bytes to put on the wire at once: small where connections have to share it fairly. */
size_t link_chunk(const struct link *l, enum direction d);

/* Most bytes of one direction of one connection that may be under way. */
size_t link_window(const struct link *l);
