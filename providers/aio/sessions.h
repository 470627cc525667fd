/*
 * sessions.h - sessions of a sandbox that are used again: of /v1/bash, or of /v1/shell.
 *
 * Every command needs one of its own while it runs: the service makes a new one for a command that names none, keeps it,
 * and allows only so many. So no more than SESSIONS_MAX are in use at a time, whoever finds none left waits, and those
 * that are idle are kept for the next command and closed at the end. Functions may be called from any thread.
 */
#pragma once

#include "providers/rest/rest.h"

#include <pthread.h>
#include <stdatomic.h>

/* Longer than any that the service makes (UUIDs). */
#define SESSION_ID_SIZE 80
/* Some images allow 10 in all (1.9.3 to 1.11.0; 50 otherwise), and others may use the sandbox beside us. */
#define SESSIONS_MAX 8

struct sessions {
	const struct rest *rest; /* outlives it */
	const char *sandbox;     /* its ID, for messages; likewise */
	int places_fd;           /* an eventfd that counts those not in use */
	atomic_bool is_shell;    /* the image has no /v1/bash; set once, while none is idle */
	pthread_mutex_t lock;
	size_t idle;                             /* lock */
	char ids[SESSIONS_MAX][SESSION_ID_SIZE]; /* of the idle; lock */
};

/* On failure there is nothing to release. */
enum err sessions_init(
	struct sessions *s, const struct rest *rest, const char *sandbox, struct error *e);
/* Closes them. None may be in use. */
void sessions_release(struct sessions *s);

/*
 * Waits for its turn. *id: an idle one; "": there is none, and the service makes one for a command that names none. On
 * ERR_OK sessions_put() or sessions_drop() must follow.
 */
enum err sessions_take(
	struct sessions *s, const struct call *call, char id[SESSION_ID_SIZE], struct error *e);
/* For a command that must be ended by its session, when there was no idle one. */
enum err sessions_make(
	struct sessions *s, const struct call *call, char id[SESSION_ID_SIZE], struct error *e);
/* It is idle again. "": nobody knows which it was. */
void sessions_put(struct sessions *s, const char *id);
/* Ends it, and what runs in it. Does not wait for long, whoever asks. */
void sessions_drop(struct sessions *s, const char *id);
