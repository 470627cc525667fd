/*
 * client.h - the client as http's own files see it.
 */
#pragma once

#include "providers/http/network.h"
#include "providers/http/preconnect.h"
#include "providers/http/silence.h"
#include "providers/http/sockets.h"
#include "providers/http/transfer.h"

/*
 * A request that must arrive at most once never uses a connection that was idle for longer: servers
 * and proxies close idle connections after 15 s and more, and a request that meets the close cannot
 * be sent again.
 */
#define CONNECTION_IDLE_MAX_S 15L
/* The limit for repeatable requests: no NAT drops a connection sooner. */
#define CONNECTION_IDLE_REPEATABLE_MAX_S 60L

/* A control plane and a daemon. */
#define PLAIN_HOSTS_MAX 2

/*
 * Connections that may be shared: `prompt` for requests that a caller waits for, `bulk` for large
 * exchanges over TLS. After a drop another pair replaces this one.
 */
struct connections {
	struct connections *older;
	CURLSH *prompt, *bulk; /* NULL: closed */
};

struct http {
	char *user_agent, *ca_file, *ca_folder; /* the last two: NULL, libcurl's own */
	char *socket_path; /* http_use_socket(); NULL: none. Constant once requests begin */
	char *plain_hosts[PLAIN_HOSTS_MAX]; /* http_allow_plain(); constant once requests begin */
	CURLM *multi;
	pthread_t thread;
	struct preconnect *preconnects; /* used by the I/O thread only */
	/*
	 * used by the I/O thread: the preconnect given to the socket that is being opened; -1: none
	 */
	int opened_fd;
	struct silence silence;      /* used by the I/O thread only */
	struct http_sockets sockets; /* used by the I/O thread only */
	/*
	 * Used by the I/O thread: the number of asks and of moves, until now and until the turn
	 * before.
	 */
	uint64_t moves, moves_seen;
	int network_fd;         /* constant; network.h */
	unsigned idle_turns;    /* used by the I/O thread: turns in a row without a moved byte */
	_Atomic uint64_t turns; /* turns of the I/O thread */

	pthread_mutex_t lock;
	struct preconnect *preconnects_asked; /* lock */
	int preconnects_ready;                /* under the lock; how many were connected */
	/* under the lock; how often connections were dropped */
	uint64_t drops;
	struct transfer *first, *last; /* under the lock; the queue of asks */
	/* under the lock; the newest first, only the newest used */
	struct connections *connections;
	size_t exchanges; /* lock */
	bool is_closing;  /* lock */
	struct foreign_answers foreign;
	/* under the lock; the machine's total time of sleep at the last ask */
	int64_t slept_ms;
};

/*
 * For any thread, before a request: drops connections from before the machine slept, which lead
 * nowhere.
 */
void client_note_sleep(struct http *h);
/* wait.c: the I/O thread waits until there may be work. */
void client_wait(struct http *h);
/* For any thread: queues an ask for the I/O thread, in order. `ask`: enum transfer_ask. */
void client_ask(struct http *h, struct transfer *t, unsigned ask);
