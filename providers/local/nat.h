/*
 * nat.h - the network of one command that reaches others but not this machine's own 127.0.0.1,
 * through the program slirp4netns(1).
 */
#pragma once

#include "providers/base/call.h"

/* The name server that slirp4netns provides to the command. */
#define NAT_RESOLV_CONF "nameserver 10.0.2.3\n"

struct nat {
	pid_t pid;   /* 0: not running */
	int exit_fd; /* the program ends when this is closed; -1: none */
};

#define NAT_NONE                                                                                   \
	(struct nat)                                                                               \
	{                                                                                          \
		.exit_fd = -1                                                                      \
	}

/* ERR_UNSUPPORTED: the program is not installed; the sentence says what to do. */
enum err nat_check(struct error *e);
/*
 * Starts the network for the network namespace of the process `jailed`, which waits meanwhile.
 * ERR_UNSUPPORTED: the network cannot be made here.
 */
enum err nat_start(struct nat *n, pid_t jailed, const struct call *call, struct error *e);
void nat_stop(struct nat *n);
