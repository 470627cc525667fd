/*
 * events.c - `events`: changes made by others in the sandbox, a line of JSON each (events.h).
 *
 * A stream: a read waits, in a thread of its own and not in a FUSE worker, until there is a line.
 * poll(2) and O_NONBLOCK work as on a pipe. While the file is open the sandbox's stream of changes
 * is kept.
 */
#include "fs/control/file.h"

#include "cache/cache.h"
#include "fs/errmap.h"
#include "fs/events.h"
#include "fs/handle_memory.h"
#include "fs/notifier.h"
#include "providers/base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>

/* The most bytes of one answer. */
#define READ_MAX ((size_t)64 * 1024)

struct events_handle {
	struct control_handle base;
	struct events_reader *reader;
	atomic_uint references; /* one for the open file, and one for each read that waits */
	pthread_mutex_t lock;
	struct fuse_pollhandle *waiting; /* the poll(2) that waits; NULL: none. Under the lock */
};

/* After a wakeup the kernel asks again. */
static void wake_poller(void *context)
{
	struct events_handle *h = context;
	struct fuse_pollhandle *waiting;

	pthread_mutex_lock(&h->lock);
	waiting = take(h->waiting);
	pthread_mutex_unlock(&h->lock);
	if (waiting)
		notifier_poll(h->base.control->notifier, waiting);
}

static struct control_handle *events_open(struct control *c, uint64_t number)
{
	struct events_handle *h = handle_memory_new(sizeof *h);

	(void)number;
	if (!h)
		return NULL;
	h->base.control = c;
	h->references = 1;
	pthread_mutex_init(&h->lock, NULL);
	h->reader = events_reader_new(c->events, wake_poller, h);
	if (!h->reader) {
		pthread_mutex_destroy(&h->lock);
		handle_memory_free(h);
		return NULL;
	}
	cache_listen(c->cache);
	return &h->base;
}

static void handle_put(struct events_handle *h)
{
	if (atomic_fetch_sub(&h->references, 1) > 1)
		return;
	cache_unlisten(h->base.control->cache);
	events_reader_free(h->reader);
	fuse_pollhandle_destroy(h->waiting);
	pthread_mutex_destroy(&h->lock);
	handle_memory_free(h);
}

static void events_close(struct control_handle *base)
{
	handle_put((struct events_handle *)base);
}

/* ---- Reading ---- */

struct events_read {
	struct events_handle *handle;
	size_t size, len; /* wanted and present bytes of `bytes` */
	struct error error;
	char bytes[];
};

static void read_run(void *context, const struct cancel *cancel)
{
	struct events_read *r = context;
	enum err kind = ERR_OK;

	while (!kind && !(r->len = events_reader_take(r->handle->reader, r->bytes, r->size)))
		kind = events_reader_wait(r->handle->reader, cancel, &r->error);
}

static void read_answer(void *context, fuse_req_t req, bool ended)
{
	struct events_read *r = context;

	if (ended && r->len)
		fuse_reply_buf(req, r->bytes, r->len);
	else
		fuse_reply_err(req, ended ? errmap_errno(r->error.kind) : EINTR);
}

static void read_release(void *context)
{
	struct events_read *r = context;

	handle_put(r->handle);
	free(r);
}

static const struct deferred_work read_work = {
	.run = read_run,
	.answer = read_answer,
	.release = read_release,
};

/* A read that was given up is answered before its thread has ended: the handle may be closed. */
static enum err start_waiting_read(struct events_read *r, fuse_req_t req, struct error *e)
{
	struct events_handle *h = r->handle;
	enum err kind;

	atomic_fetch_add(&h->references, 1);
	kind = deferred_start(h->base.control->deferrals, &read_work, r, req, e);
	if (kind)
		atomic_fetch_sub(&h->references, 1);
	return kind;
}

static void events_read(struct control_handle *base, fuse_req_t req, size_t size, off_t off)
{
	size_t room = size < READ_MAX ? size : READ_MAX;
	AUTO_FREE struct events_read *r = malloc(sizeof *r + room);
	struct error e = { 0 };

	(void)off;
	if (!r) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	*r = (struct events_read){ .handle = (struct events_handle *)base, .size = room };
	r->len = events_reader_take(r->handle->reader, r->bytes, room);
	if (r->len)
		fuse_reply_buf(req, r->bytes, r->len);
	else if (!room || (base->flags & O_NONBLOCK))
		fuse_reply_err(req, room ? EAGAIN : 0);
	else if (start_waiting_read(r, req, &e) == ERR_OK)
		take(r);
	else
		fuse_reply_err(req, errmap_errno(e.kind));
}

/* Registered before the look, so that a line added during the look wakes the poll. */
static unsigned events_poll(struct control_handle *base, struct fuse_pollhandle *waiting)
{
	struct events_handle *h = (struct events_handle *)base;
	struct fuse_pollhandle *former = NULL;

	pthread_mutex_lock(&h->lock);
	if (waiting) {
		former = h->waiting;
		h->waiting = waiting;
	}
	pthread_mutex_unlock(&h->lock);
	fuse_pollhandle_destroy(former);
	return events_reader_is_ready(h->reader) ? POLLIN | POLLRDNORM : 0;
}

const struct control_file control_events = {
	.name = "events",
	.ino = CONTROL_INO_EVENTS,
	.mode = 0400,
	.is_stream = true,
	.open = events_open,
	.read = events_read,
	.poll = events_poll,
	.close = events_close,
};
