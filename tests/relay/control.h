/*
 * control.h - the unix socket through which a relay is told what to do.
 *
 * Each line sent is a command (commands.h), each answered by one line of JSON: the counters, or
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
 * The other side: says the command to the relay at `path` and prints the answer. Exit status of a
 * program.
 */
int control_tell(const char *path, char *const *words);

/* false: the path is too long for a socket. */
bool control_address(struct sockaddr_un *address, const char *path);
