/*
 * control.h - the unix socket through which a relay gets its commands.
 *
 * Each line is a command (commands.h), and is answered by one line of JSON: the counters, or
 * {"error": "..."}.
 */
#pragma once

#include "tests/relay/relay.h"

#include <sys/un.h>

struct control {
	struct source source;
	int fd;
	struct relay *relay;
	LIST_HEAD(, control_client) clients;
	struct sockaddr_un address;
};

/*
 * A socket that is at `path` is replaced. Ends the program on failure. `c` must stay where it is.
 */
void control_init(struct control *c, struct relay *r, const char *path);

/* Removes the socket. */
void control_release(struct control *c);

/*
 * The other side: sends the command to the relay at `path` and prints the answer. Returns the
 * program's exit status.
 */
int control_tell(const char *path, char *const *words);

/* false: the path is too long for a socket. */
bool control_address(struct sockaddr_un *address, const char *path);
