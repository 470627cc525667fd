#include "tests/relay/loop.h"

#include <err.h>
#include <errno.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define SECOND         1000000000
#define EVENTS_AT_ONCE 64

int64_t loop_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * SECOND + now.tv_nsec;
}

void loop_init(struct loop *loop)
{
	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll < 0)
		err(2, "epoll_create1");
}

void loop_release(struct loop *loop)
{
	close(loop->epoll);
}

void loop_add(const struct loop *loop, int fd, uint32_t events, struct source *source)
{
	struct epoll_event event = { .events = events, .data.ptr = source };

	if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event))
		err(2, "epoll_ctl");
}

/* epoll_wait counts milliseconds, which is more than a round trip on a fast link takes. */
static int wait_until(int epoll, struct epoll_event *events, int64_t until)
{
	int64_t left = until - loop_now();
	struct timespec timeout = { 0 };

	if (until == NEVER)
		return epoll_pwait2(epoll, events, EVENTS_AT_ONCE, NULL, NULL);
	if (left > 0)
		timeout = (struct timespec){ left / SECOND, left % SECOND };
	return epoll_pwait2(epoll, events, EVENTS_AT_ONCE, &timeout, NULL);
}

void loop_wait(const struct loop *loop, int64_t until)
{
	struct epoll_event events[EVENTS_AT_ONCE];
	int count = wait_until(loop->epoll, events, until);

	if (count < 0 && errno != EINTR)
		err(2, "epoll_pwait2");
	for (int i = 0; i < count; i++) {
		struct source *source = events[i].data.ptr;

		source->ready(source, events[i].events);
	}
}
