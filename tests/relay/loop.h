/*
 * loop.h - waits for many descriptors and for a point in time.
 *
 * One thread. The owner of a ready descriptor should do little: take note of it, and free nothing
 * that the same wait may still report on.
 */
#pragma once

#include <stdint.h>

/* A point in time that does not come. All times are nanoseconds of the monotonic clock. */
#define NEVER INT64_MAX

struct loop {
	int epoll;
};

/* The first member of a descriptor's owner. */
struct source {
	void (*ready)(struct source *s, uint32_t events);
};

int64_t loop_now(void);
static inline int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

void loop_init(struct loop *loop);
void loop_release(struct loop *loop);

/*
 * Reports `events` (EPOLLIN, ...) of `fd` to `source` from now on, until fd is closed. Ends the
 * program on failure.
 */
void loop_add(const struct loop *loop, int fd, uint32_t events, struct source *source);

/* Returns when events were reported, or at `until`. */
void loop_wait(const struct loop *loop, int64_t until);
