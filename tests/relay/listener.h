/*
 * listener.h - where clients connect: a port of the loopback interface, which may refuse for a
 * time.
 */
#pragma once

#include "tests/relay/loop.h"

#include <netinet/in.h>
#include <stdbool.h>

struct listener {
	struct source source;
	int fd;
	in_port_t port;
	bool is_ready, is_refusing;
};

/* `port` 0: one that is free. Ends the program if it cannot be had. `l` must stay where it is. */
void listener_init(struct listener *l, const struct loop *loop, in_port_t port);
void listener_release(struct listener *l);

/* Connections that wait are reset and new ones refused; the port stays ours. */
void listener_refuse(struct listener *l);
void listener_accept_again(struct listener *l, const struct loop *loop);

/* A client's socket, which does not block, or -1: none waits. */
int listener_next(struct listener *l);
