/*
 * connection.h - one connection through the link: the client's socket, the server's, and a flow in
 * each direction.
 */
#pragma once

#include "tests/relay/counters.h"
#include "tests/relay/endpoint.h"
#include "tests/relay/flow.h"

#include <netinet/in.h>

/* The part that all connections share. */
struct common {
	struct loop loop;
	struct link link;
	struct counters counters;
	struct sockaddr_in server;
	/*
	 * A connection is reset after so many bytes, of both directions together and of the
	 * server's; 0: never.
	 */
	uint64_t reset_after, reset_after_from_server;
};

enum connection_state { CONNECTION_OPEN, CONNECTION_ENDED, CONNECTION_RESET };

struct connection {
	TAILQ_ENTRY(connection) entry;
	struct endpoint ends[DIRECTIONS]; /* by the direction in which they send */
	struct flow flows[DIRECTIONS];
	uint64_t bytes[DIRECTIONS];
	enum direction last_sent;
	int64_t reaches_server_at; /* when the client's handshake is over */
	int64_t moved_at;          /* when a byte was last taken from either end */
	bool is_cut;               /* to be reset at once */
	bool is_lost;              /* bytes from the client are to be dropped */
	bool is_ghost;             /* silent for ever, but open */
};

/* Takes the client's socket. */
struct connection *connection_new(struct common *common, int client, int64_t now);
void connection_free(struct connection *c, struct common *common, enum connection_state why);

/*
 * Lets everything move that may. *next becomes earlier if something may move before it without an
 * event.
 */
enum connection_state connection_advance(
	struct connection *c, struct common *common, int64_t now, int64_t *next);

/* From now on nothing is passed on; the client's own close still ends it. */
void connection_silence(struct connection *c);
/* Silences the connection, and acknowledges nothing from the client. */
void connection_lose(struct connection *c);
