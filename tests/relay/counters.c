#include "tests/relay/counters.h"

#include <inttypes.h>
#include <stdio.h>

int counters_print(const struct counters *c, unsigned open, char *line, size_t size)
{
	return snprintf(line, size,
		"{\"connections\": %" PRIu64 ", \"open\": %u, \"resets\": %" PRIu64
		", \"bytes_to_server\": %" PRIu64 ", \"bytes_to_client\": %" PRIu64
		", \"reads_to_server\": %" PRIu64 ", \"reads_to_client\": %" PRIu64
		", \"turns\": %" PRIu64 "}\n",
		c->connections, open, c->resets, c->bytes[TO_SERVER], c->bytes[TO_CLIENT],
		c->reads[TO_SERVER], c->reads[TO_CLIENT], c->turns);
}
