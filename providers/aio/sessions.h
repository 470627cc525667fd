/*
 * sessions.h - sessions of a sandbox that are used again: of /v1/bash, or of /v1/shell.
 *
 * Every command needs a session of its own while it runs. For a command that names none the service
 * makes a session and keeps it, and it allows only so many. So no more than SESSIONS_MAX are in use
 * at a time, and further commands wait. Idle sessions are kept for the next command and closed at
 * the end. Functions may be called from any thread.
 */
#pragma once

#include "providers/rest/rest.h"

#include <pthread.h>
#include <stdatomic.h>

/* Longer than the ids of the service (UUIDs). */
#define SESSION_ID_SIZE 80
/*
 * Some images allow 10 sessions in all (1.9.3 to 1.11.0; 50 otherwise), and other clients may use
 * the sandbox at the same time.
 */
#define SESSIONS_MAX 8

struct sessions {
	const struct rest *rest; /* must outlive the struct */
	const char *sandbox;     /* the sandbox's ID, for messages; outlives the struct */
	int places_fd;           /* an eventfd that counts the places not in use */
	atomic_bool is_shell;    /* the image has no /v1/bash; set once, while no session is idle */
	pthread_mutex_t lock;
	size_t idle;                             /* lock */
	char ids[SESSIONS_MAX][SESSION_ID_SIZE]; /* the idle sessions; lock */
};

/* On failure there is nothing to release. */
enum err sessions_init(
	struct sessions *s, const struct rest *rest, const char *sandbox, struct error *e);
/* Closes the sessions. None may be in use. */
void sessions_release(struct sessions *s);

/*
 * Waits for a free place. *id: an idle session; "": there is none, and the service makes one for a
 * command that names none. On ERR_OK sessions_put() or sessions_drop() must follow.
 */
enum err sessions_take(
	struct sessions *s, const struct call *call, char id[SESSION_ID_SIZE], struct error *e);
/* Makes a session for a command that must be ended by its session, when there was no idle one. */
enum err sessions_make(
	struct sessions *s, const struct call *call, char id[SESSION_ID_SIZE], struct error *e);
/* The session is idle again. `id` "": the session's id is not known, and only its place is free. */
void sessions_put(struct sessions *s, const char *id);
/* Ends a session and the processes in it. Does not wait for long. */
void sessions_drop(struct sessions *s, const char *id);
