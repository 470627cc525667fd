/* counters.h - traffic through the relay since it started, or since `zero`. */
#pragma once

#include "tests/relay/link.h"

struct counters {
	uint64_t connections;
	uint64_t resets; /* connections that ended with a reset, from either side or the relay */
	uint64_t bytes[DIRECTIONS]; /* read from the sender */
	/* reads of these bytes: with small messages, about the number of messages */
	uint64_t reads[DIRECTIONS];
	/*
	 * times that a client began to send after it had received: the round trips of a serial
	 * protocol
	 */
	uint64_t turns;
};

/*
 * Prints one line of JSON, with a newline. `open`: the number of connections now. Returns its
 * length, as snprintf does.
 */
int counters_print(const struct counters *c, unsigned open, char *line, size_t size);
