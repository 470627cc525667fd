/*
 * call.h - how long a remote call may take, and the way to give it up.
 *
 * Every verb takes a `struct call`. The deadline is on progress, not on the total: a call that moves bytes may last an
 * hour, one that moves none for `progress_ms` fails with ERR_TIMEOUT. A cancelled call returns ERR_INTERRUPTED at once.
 *
 * A request of a caller gives its calls a `struct progress`. Then the deadline is the caller's, once:
 * all that is asked and waited for inside counts from the caller's last progress. A failure is none.
 */
#pragma once

#include "providers/base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* 30 s without progress: design decision, `-o timeout=` changes it. */
#define CALL_PROGRESS_MS 30000

/* A sandbox that is made or woken is waited for so long: the agent-backend protocol's own limit. */
#define CALL_READY_MS 180000

/*
 * For what is tidied at the end, when a user waits for the unmount: nobody waits longer for a
 * sandbox that may be gone. Design decision.
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

/* How far a caller has come. Any thread may read and note what moved. */
struct progress {
	int64_t since_ms;         /* monotonic: when the caller began to wait */
	_Atomic int64_t moved_ms; /* when the answer last came nearer; 0: it has not yet */
	_Atomic uint64_t sent;    /* bytes of its requests that have left */
	_Atomic bool
		is_too_large;     /* somebody on the way took none of its requests for their size */
	_Atomic bool has_no_room; /* the sandbox's disk had no room for a request: nothing ran */
	struct progress *also;    /* has the same noted; outlives this one; NULL: none */
	/* Called by who waits, some times a second, when something was noted; NULL: nobody is told. */
	void (*told)(struct progress *p);
};

struct call {
	int64_t progress_ms; /* 0: CALL_PROGRESS_MS; negative: none */
	int64_t ready_ms;    /* how long a sandbox may take until it is ready; 0: CALL_READY_MS */
	const struct cancel *cancel; /* NULL: cannot be cancelled; must outlive the call */
	struct progress *progress;   /* likewise; NULL: each wait has the deadline for itself */
	/*
	 * No user asked for this call: it never wakes a paused sandbox, and is no use of
	 * the mount. The change stream, the sending of changes behind their makers and
	 * renewals make such calls.
	 */
	bool is_background;
	bool no_atime; /* of a read: asked with O_NOATIME */
	pid_t asker;   /* the thread that waits for it, as the kernel here numbers it; 0: unknown */
};

/* Milliseconds of the monotonic clock. */
int64_t monotonic_ms(void);
/* The same clock, going on while the machine sleeps. */
int64_t boottime_ms(void);

/* Of a caller that begins to wait now. */
struct progress progress_now(void);

/* The limit in force for `call`, which may be NULL, as in all that follow. */
int64_t call_progress_ms(const struct call *call);
/* From when the limit counts: the caller's last progress, or now. */
int64_t call_since_ms(const struct call *call);
/* How much of the limit is left; INT64_MAX: there is none. */
int64_t call_left_ms(const struct call *call);
/* How long a sandbox may take until it is ready. */
int64_t call_ready_ms(const struct call *call);
/* ERR_TIMEOUT when nothing is. */
enum err call_check_time(const struct call *call, struct error *e);
/* The answer came nearer: just now, or at `moved_ms`. */
void call_moved(const struct call *call);
void call_moved_at(const struct call *call, int64_t moved_ms);
/* `bytes` more of the request have left. */
void call_sent(const struct call *call, uint64_t bytes);
/* Who stands before the service takes no request of this size. */
void call_is_too_large(const struct call *call);
/* The sandbox's disk has no room for this request, of which nothing was carried out. */
void call_has_no_room(const struct call *call);

/*
 * Waits until `fd` is ready for `events` (poll(2)): ERR_OK, ERR_TIMEOUT, ERR_INTERRUPTED or ERR_IO.
 * A hang-up counts as ready, since the next read or write tells what it is.
 */
enum err call_wait_fd(const struct call *call, int fd, short events, struct error *e);

/* Lets so much time pass. ERR_INTERRUPTED: the call was cancelled meanwhile. */
enum err call_sleep(const struct call *call, int64_t ms, struct error *e);
