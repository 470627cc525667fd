/*
 * relay.h - connections from one port to a server on this machine, through a link that can fail.
 *
 * One thread: relay_advance() moves all that may move and returns when it has to be called again;
 * in between the loop waits for events. Memory is bounded by CONNECTIONS_MAX connections of two
 * windows each.
 */
#pragma once

#include "tests/relay/connection.h"
#include "tests/relay/listener.h"

/* Two descriptors each, below the usual limit of 1024. More clients wait to be accepted. */
#define CONNECTIONS_MAX 480

struct relay {
	struct common common;
	struct listener listener;
	TAILQ_HEAD(, connection) connections;
	unsigned open;
	int64_t stalled_until, refusing_until;
};

/* `link` is copied; the ports are those of the loopback interface, `port` 0: one that is free. */
void relay_init(struct relay *r, const struct link *link, in_port_t port, in_port_t server);
void relay_release(struct relay *r);

/* Lets everything move that may; returns when something may again without an event. */
int64_t relay_advance(struct relay *r);

/* ---- Faults; they take effect with the next relay_advance ---- */

/* All connections are reset. */
void relay_cut(struct relay *r);
/* New connections are refused until then; existing ones live on. */
void relay_refuse(struct relay *r, int64_t until);
/* Nothing moves until then; bytes under way stay there and flow on afterwards. */
void relay_stall(struct relay *r, int64_t until);
/* The existing connections are silent for ever; new ones work, as after a changed network. */
void relay_ghost(struct relay *r);
/*
 * As relay_ghost(), and nothing that clients send on the connections is acknowledged: a NAT forgot
 * them.
 */
void relay_lose(struct relay *r);
