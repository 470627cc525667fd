#include "providers/base/call.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum err cancel_init(struct cancel *c, struct error *e)
{
	c->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return c->fd < 0 ? error_errno(e, errno, "eventfd") : ERR_OK;
}

void cancel_release(struct cancel *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

void cancel_throw(const struct cancel *c)
{
	eventfd_write(c->fd, 1);
}

bool cancel_thrown(const struct cancel *c)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

int64_t call_ready_ms(const struct call *call)
{
	return call && call->ready_ms ? call->ready_ms : CALL_READY_MS;
}

int64_t call_progress_ms(const struct call *call)
{
	if (!call || !call->progress_ms)
		return CALL_PROGRESS_MS;
	return call->progress_ms < 0 ? -1 : call->progress_ms;
}

struct progress progress_now(void)
{
	return (struct progress){ .since_ms = monotonic_ms() };
}

int64_t call_since_ms(const struct call *call)
{
	const struct progress *p = call ? call->progress : NULL;

	if (!p)
		return monotonic_ms();
	return p->moved_ms > p->since_ms ? p->moved_ms : p->since_ms;
}

int64_t call_left_ms(const struct call *call)
{
	int64_t limit_ms = call_progress_ms(call);

	return limit_ms < 0 ? INT64_MAX : call_since_ms(call) + limit_ms - monotonic_ms();
}

static enum err time_is_over(const struct call *call, struct error *e)
{
	return error_set(
		e, ERR_TIMEOUT, "no progress for %lld s", (long long)call_progress_ms(call) / 1000);
}

enum err call_check_time(const struct call *call, struct error *e)
{
	return call_left_ms(call) > 0 ? ERR_OK : time_is_over(call, e);
}

/* Several threads may note progress at once: the latest stays. */
static void progress_note(struct progress *p, int64_t moved_ms)
{
	int64_t latest_ms = p->moved_ms;

	while (latest_ms < moved_ms &&
		!atomic_compare_exchange_weak(&p->moved_ms, &latest_ms, moved_ms))
		continue;
}

void call_moved_at(const struct call *call, int64_t moved_ms)
{
	for (struct progress *p = call ? call->progress : NULL; p; p = p->also)
		progress_note(p, moved_ms);
}

void call_sent(const struct call *call, uint64_t bytes)
{
	for (struct progress *p = call ? call->progress : NULL; p; p = p->also) {
		p->sent += bytes;
		if (p->on_sent)
			p->on_sent(p);
	}
}

void call_is_too_large(const struct call *call)
{
	if (call && call->progress)
		call->progress->is_too_large = true;
}

void call_has_no_room(const struct call *call)
{
	if (call && call->progress)
		call->progress->has_no_room = true;
}

void call_moved(const struct call *call)
{
	call_moved_at(call, monotonic_ms());
}

enum err call_wait_fd(const struct call *call, int fd, short events, struct error *e)
{
	struct pollfd p[2] = { { .fd = fd, .events = events },
		{ .fd = call && call->cancel ? call->cancel->fd : -1, .events = POLLIN } };
	int64_t limit_ms = call_progress_ms(call);
	int64_t end_ms = call_since_ms(call) + limit_ms;

	for (;;) {
		int64_t left_ms = limit_ms < 0 ? -1 : end_ms - monotonic_ms();
		int ready = poll(p, 2, limit_ms < 0 ? -1 : left_ms > 0 ? (int)left_ms : 0);

		if (ready < 0 && errno != EINTR)
			return error_errno(e, errno, "poll");
		if (ready > 0 && p[1].revents)
			return error_set(e, ERR_INTERRUPTED, "interrupted");
		if (ready > 0)
			return ERR_OK;
		if (ready == 0 && limit_ms >= 0 && monotonic_ms() >= end_ms)
			return time_is_over(call, e);
	}
}

enum err call_sleep(const struct call *call, int64_t ms, struct error *e)
{
	const struct call pause = { .progress_ms = ms, .cancel = call ? call->cancel : NULL };
	struct error why = { 0 };

	if (ms <= 0 || call_wait_fd(&pause, -1, 0, &why) == ERR_TIMEOUT)
		return ERR_OK;
	return error_set(e, why.kind, "%s", why.text);
}
