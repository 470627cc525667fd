/*
 * call.h - how long a remote call may take, and the way to give it up.
 *
 * Every verb takes a `struct call`. The deadline is on progress, not on the total: a call that
 * moves bytes may last an hour, one that moves none for `progress_ms` fails with ERR_TIMEOUT. A
 * cancelled call returns ERR_INTERRUPTED at once.
 *
 * A request of a caller gives its calls a `struct progress`. Then there is one deadline for the
 * caller: all requests and waits inside count from the caller's last progress. A failure is no
 * progress.
 */
#pragma once

#include "providers/base/error.h"
#include "providers/base/time.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* 30 s without progress: design decision, `-o timeout=` changes it. */
#define CALL_PROGRESS_MS 30000

/* The time that a sandbox may take to be made or woken: the agent-backend protocol's own limit. */
#define CALL_READY_MS 180000

/*
 * For tidying up at the end, while a user waits for the unmount: no longer wait for a sandbox that
 * may be gone. Design decision.
 */
#define CALL_LAST_MS 10000

/* A switch that is thrown once, from any thread, and can be polled: `fd` becomes readable. */
struct cancel {
	int fd; /* an eventfd */
};

enum err cancel_init(struct cancel *c, struct error *e);
void cancel_release(struct cancel *c);
void cancel_throw(const struct cancel *c);
bool cancel_thrown(const struct cancel *c);

/* How far a caller has come. Any thread may read it and note progress. */
struct progress {
	int64_t since_ms;         /* monotonic: when the caller began to wait */
	_Atomic int64_t moved_ms; /* when the answer last came nearer; 0: never so far */
	_Atomic uint64_t sent;    /* bytes sent of the caller's requests */
	/* something on the way refused each of the caller's requests for its size */
	_Atomic bool is_too_large;
	/* the sandbox's disk had no room for a request, and no part of it was carried out */
	_Atomic bool has_no_room;
	/* gets the same `moved_ms` and `sent`; outlives this one; NULL: none */
	struct progress *also;
	/*
	 * Called by the waiting thread, some times a second, when bytes were sent; NULL: no
	 * callback.
	 */
	void (*on_sent)(struct progress *p);
};

struct call {
	int64_t progress_ms; /* 0: CALL_PROGRESS_MS; negative: none */
	int64_t ready_ms;    /* how long a sandbox may take until it is ready; 0: CALL_READY_MS */
	const struct cancel *cancel; /* NULL: cannot be cancelled; must outlive the call */
	/* must outlive the call; NULL: each wait has its own deadline */
	struct progress *progress;
	/*
	 * No user asked for this call: it never wakes a paused sandbox, and is no use of the mount.
	 * The change stream, the sending of acknowledged changes, and renewals make such calls.
	 */
	bool is_background;
	bool no_atime; /* for a read: with O_NOATIME */
	/* the thread that waits for the call, as the kernel here numbers it; 0: unknown */
	pid_t asker;
};

/* The progress of a caller that begins to wait now. */
struct progress progress_now(void);

/* The limit of `call`. `call` may be NULL, here and in all functions below. */
int64_t call_progress_ms(const struct call *call);
/* The time that the limit counts from: the caller's last progress, or now. */
int64_t call_since_ms(const struct call *call);
/* The rest of the limit; INT64_MAX: there is no limit. */
int64_t call_left_ms(const struct call *call);
/* How long a sandbox may take until it is ready. */
int64_t call_ready_ms(const struct call *call);
/* ERR_TIMEOUT when the limit is used up. */
enum err call_check_time(const struct call *call, struct error *e);
/* The answer came nearer: just now, or at `moved_ms`. */
void call_moved(const struct call *call);
void call_moved_at(const struct call *call, int64_t moved_ms);
/* `bytes` more of the request have left. */
void call_sent(const struct call *call, uint64_t bytes);
/* Something in front of the service refuses a request of this size. */
void call_is_too_large(const struct call *call);
/* The sandbox's disk has no room for this request, and no part of it was carried out. */
void call_has_no_room(const struct call *call);

/*
 * Waits until `fd` is ready for `events` (poll(2)): ERR_OK, ERR_TIMEOUT, ERR_INTERRUPTED or ERR_IO.
 * A hang-up counts as ready, since the next read or write reports it.
 */
enum err call_wait_fd(const struct call *call, int fd, short events, struct error *e);

/* Waits for `ms`. ERR_INTERRUPTED: the call was cancelled meanwhile. */
enum err call_sleep(const struct call *call, int64_t ms, struct error *e);
