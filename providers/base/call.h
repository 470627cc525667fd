/*
 * call.h - how long a remote call may take, and the way to give it up.
 *
 * Every verb takes a `struct call`. The deadline is on progress, not on the total: a call that moves bytes may last an
 * hour, one that moves none for `progress_ms` fails with ERR_TIMEOUT. A cancelled call returns ERR_INTERRUPTED at once.
 */
#pragma once

#include "providers/base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* 30 s without progress: design decision, `-o timeout=` changes it. */
#define CALL_PROGRESS_MS 30000

/* A switch that is thrown once, from any thread, and can be polled: `fd` becomes readable. */
struct cancel {
	int fd; /* an eventfd */
};

enum err cancel_init(struct cancel *c, struct error *e);
void cancel_release(struct cancel *c);
void cancel_throw(const struct cancel *c);
bool cancel_thrown(const struct cancel *c);

struct call {
	int64_t progress_ms;         /* 0: CALL_PROGRESS_MS; negative: none */
	const struct cancel *cancel; /* NULL: cannot be cancelled; must outlive the call */
	/*
	 * Nobody waits for it who asked for something: a sandbox that is paused is not woken by it, and it does not count as
	 * use of the mount.
	 */
	bool is_background;
	pid_t asker; /* the thread that waits for it, as the kernel here numbers it; 0: unknown */
};

/* Milliseconds of the monotonic clock. */
int64_t monotonic_ms(void);
/* The same clock, going on while the machine sleeps. */
int64_t boottime_ms(void);

/* The limit in force for `call`, which may be NULL. */
int64_t call_progress_ms(const struct call *call);

/*
 * Waits until `fd` is ready for `events` (poll(2)): ERR_OK, ERR_TIMEOUT, ERR_INTERRUPTED or ERR_IO.
 * A hang-up counts as ready, since the next read or write tells what it is.
 */
enum err call_wait_fd(const struct call *call, int fd, short events, struct error *e);

/* Lets so much time pass. ERR_INTERRUPTED: the call was cancelled meanwhile. */
enum err call_sleep(const struct call *call, int64_t ms, struct error *e);
