#include "providers/cancel_join.h"

#include <errno.h>
#include <sys/epoll.h>

/* An epoll descriptor is readable when one of its descriptors is. */
enum err cancel_join(
	struct cancel *out, const struct cancel *one, const struct cancel *other, struct error *e)
{
	struct epoll_event readable = { .events = EPOLLIN };

	out->fd = epoll_create1(EPOLL_CLOEXEC);
	if (out->fd < 0 || epoll_ctl(out->fd, EPOLL_CTL_ADD, one->fd, &readable) ||
		(other && epoll_ctl(out->fd, EPOLL_CTL_ADD, other->fd, &readable)))
		return error_errno(e, errno, "epoll");
	return ERR_OK;
}
