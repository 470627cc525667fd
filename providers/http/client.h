/*
 * client.h - the client as http's own files see it.
 */
#pragma once

#include "providers/http/greeting.h"
#include "providers/http/network.h"
#include "providers/http/preconnect.h"
#include "providers/http/silence.h"
#include "providers/http/sockets.h"
#include "providers/http/transfer.h"

/*
 * A request that must arrive at most once does not go out on a connection idle for longer: servers and proxies close
 * theirs after 15 s and more, and a request that meets the closing cannot be sent again.
 */
#define CONNECTION_IDLE_MAX_S 15L
/* Others do not either: no NAT forgets a connection sooner. */
#define CONNECTION_IDLE_REPEATABLE_MAX_S 60L

/* A control plane and a daemon. */
#define PLAIN_HOSTS_MAX 2

/*
 * Connections that may be shared: those for what somebody waits for, and those for large exchanges
 * over TLS. Another pair takes its place when they are dropped.
 */
struct connections {
	struct connections *older;
	CURLSH *prompt, *bulk; /* NULL: closed */
};

struct http {
	char *user_agent, *ca_file, *ca_folder; /* the last two: NULL, libcurl's own */
	char *plain_hosts[PLAIN_HOSTS_MAX]; /* http_allow_plain(); constant once requests begin */
	CURLM *multi;
	pthread_t thread;
	struct preconnect *preconnects; /* the I/O thread's */
	int lent; /* likewise; of them, to the socket that is being opened; -1: none */
	struct silence silence;      /* the I/O thread's */
	struct http_sockets sockets; /* the I/O thread's */
	/* The I/O thread's: what was asked, and what moved, until now and until the turn before. */
	uint64_t moves, moves_seen;
	int network_fd;      /* constant; network.h */
	bool is_awaiting;    /* the I/O thread's; something asked for waits for a greeting */
	int64_t greeting_ms; /* likewise; when it starts at the latest; INT64_MAX: not known yet */
	int64_t greeting_max_ms; /* constant; GREETING_MAX_MS but in tests */
	unsigned idle_turns;     /* the I/O thread's; in a row, in which nothing moved */
	_Atomic uint64_t turns;  /* of the I/O thread */

	pthread_mutex_t lock;
	struct preconnect *preconnects_asked; /* lock */
	int preconnects_ready;                /* lock; how often one stood */
	uint64_t drops;                       /* lock; how often connections were dropped */
	struct transfer *first, *last;        /* lock; asking for something */
	struct connections *connections;      /* lock; the newest first, only the newest used */
	size_t exchanges;                     /* lock */
	bool is_closing;                      /* lock */
	struct foreign_answers foreign;
	int64_t slept_ms; /* lock; how long the machine had slept in all when something was asked last */
};

/* Any thread, before a request: connections from before the machine slept lead nowhere, and are dropped. */
void client_note_sleep(struct http *h);
/* wait.c: the I/O thread waits until there may be something to do. */
void client_wait(struct http *h);
/* Any thread: has the I/O thread do it, in order. `ask`: enum transfer_ask. */
void client_ask(struct http *h, struct transfer *t, unsigned ask);
