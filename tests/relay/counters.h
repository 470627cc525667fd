/*
 * counters.h - what went through the relay since it started, or since `zero`.
 */
#pragma once

#include "tests/relay/link.h"

struct counters {
	uint64_t connections;
	uint64_t resets; /* connections that ended with a reset, from either side or the relay */
	uint64_t bytes[DIRECTIONS]; /* read from the sender */
	uint64_t reads
		/* by how many reads: with small messages, about how many there were */
		[DIRECTIONS];
	uint64_t
		/*
		 * times a client began to send after it had received: the round trips of a serial
		 * protocol
		 */
		turns;
};

/*
 * One line of JSON, with a newline. `open`: connections there are now. Returns its length, as
 * snprintf does.
 */
int counters_print(const struct counters *c, unsigned open, char *line, size_t size);
