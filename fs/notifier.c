#include "fs/notifier.h"
#include "fs/notices.h"

#include "providers/base/call.h"
#include "providers/base/cleanup.h"
#include "providers/base/condition.h"
#include "providers/base/log.h"
#include "providers/base/thread.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct notifier {
	struct fuse_session *session;
	struct notifier_source source;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t more; /* for the thread: a notice was queued, or the end has come */
	pthread_cond_t done; /* for waiters: notices were sent, or the thread has ended */
	struct notices queue;
	uint64_t added, sent; /* notices since the beginning */
	bool has_ended;
	atomic_bool stopping; /* changed under the lock */
};

/*
 * An expired name is looked up again when it is next used. Dropping the name of a directory would
 * break getcwd of a process that works below it.
 */
static int expire_name(struct fuse_session *session, const struct notice *notice)
{
	size_t len = strlen(notice->name);

#if FUSE_VERSION < FUSE_MAKE_VERSION(3, 15)
	return fuse_lowlevel_notify_expire_entry(
		session, notice->ino, notice->name, len, FUSE_LL_EXPIRE_ONLY);
#else
	return fuse_lowlevel_notify_expire_entry(session, notice->ino, notice->name, len);
#endif
}

/* The inode is dropped with its name, unless it is in use. */
static void drop_name(struct fuse_session *session, const struct notice *notice)
{
	fuse_lowlevel_notify_inval_entry(session, notice->ino, notice->name, strlen(notice->name));
}

/* A name that was made again meanwhile may be the working directory of a process. */
static bool is_gone(const struct notifier *n, const struct notice *notice)
{
	return notice->is_gone && n->source.is_gone(n->source.context, notice->ino, notice->name);
}

static void send_name(const struct notifier *n, const struct notice *notice)
{
	if (is_gone(n, notice) || expire_name(n->session, notice) == -ENOSYS)
		drop_name(n->session, notice);
}

static void send_inode(struct fuse_session *session, fuse_ino_t ino, bool pages)
{
	/* From a negative offset on no page is dropped, only the attributes. */
	fuse_lowlevel_notify_inval_inode(session, ino, pages ? 0 : -1, 0);
}

static void notice_send(struct notifier *n, const struct notice *notice);

static void send_some(struct notifier *n, const struct notices *some)
{
	for (size_t sent = 0; sent < some->len && !n->stopping; sent++)
		notice_send(n, &some->all[sent]);
}

static void send_all(struct notifier *n)
{
	bool has_more = n->source.outdated;

	while (has_more && !n->stopping) {
		struct notices some = { 0 };

		has_more = n->source.outdated(n->source.context, &some);
		send_some(n, &some);
		notices_release(&some);
	}
}

/*
 * A notice about something that the kernel does not know (ENOENT), or after unmounting, is no
 * error.
 */
static void notice_send(struct notifier *n, const struct notice *notice)
{
	switch (notice->kind) {
	case NOTICE_INODE: send_inode(n->session, notice->ino, notice->pages); break;
	case NOTICE_NAME: send_name(n, notice); break;
	case NOTICE_ALL: send_all(n); break;
	case NOTICE_POLL: fuse_lowlevel_notify_poll(notice->poll); break;
	}
}

static struct notices next_batch_locked(struct notifier *n)
{
	struct notices batch;

	while (!n->queue.len && !n->stopping)
		pthread_cond_wait(&n->more, &n->lock);
	batch = n->queue;
	n->queue = (struct notices){ 0 };
	return batch;
}

/*
 * A notice waits in the kernel for the lock of a directory. A process that waits for our answer may
 * hold that lock, and no signal ends the wait. If this process is then killed, the files of its
 * other threads must be closed all the same: only that ends the requests that wait for those
 * threads. So this thread has a table of open files of its own, with nothing but the device in it.
 * A reader of this process's output need not wait for this thread either. The thread must open no
 * file and must not write to the log. The guard (guard.h) answers requests that no thread had read
 * yet.
 */
static void part_from_other_threads(struct fuse_session *session)
{
	unsigned fd = (unsigned)fuse_session_fd(session);

	if (unshare(CLONE_FILES))
		return;
	if (fd > 0)
		close_range(0, fd - 1, 0);
	close_range(fd + 1, ~0U, 0);
}

static void *send_notices(void *context)
{
	struct notifier *n = context;

	part_from_other_threads(n->session);
	pthread_mutex_lock(&n->lock);
	while (!n->stopping) {
		struct notices batch = next_batch_locked(n);
		size_t sent = 0;

		pthread_mutex_unlock(&n->lock);
		while (sent < batch.len && !n->stopping)
			notice_send(n, &batch.all[sent++]);
		pthread_mutex_lock(&n->lock);
		n->sent += sent;
		notices_release(&batch);
		pthread_cond_broadcast(&n->done);
	}
	n->has_ended = true;
	pthread_cond_broadcast(&n->done);
	pthread_mutex_unlock(&n->lock);
	return NULL;
}

/* Takes notice->name and notice->poll. */
static void enqueue(struct notifier *n, const struct notice *notice)
{
	bool is_new;

	pthread_mutex_lock(&n->lock);
	bool is_added = notices_add(&n->queue, notice, &is_new);

	n->added += is_new;
	if (is_new)
		pthread_cond_signal(&n->more);
	pthread_mutex_unlock(&n->lock);
	if (!is_added)
		log_error(LOG_FS, "out of memory: the kernel keeps something outdated");
}

enum err notifier_new(struct notifier **out, struct fuse_session *session,
	const struct notifier_source *source, struct error *e)
{
	AUTO_FREE struct notifier *n = calloc(1, sizeof *n);
	int failed;

	if (!n)
		return error_set(e, ERR_NO_MEMORY, "notifier: out of memory");
	n->session = session;
	if (source)
		n->source = *source;
	pthread_mutex_init(&n->lock, NULL);
	pthread_cond_init(&n->more, NULL);
	condition_init(&n->done);
	failed = thread_start(&n->thread, send_notices, n);
	if (failed) {
		pthread_cond_destroy(&n->more);
		pthread_cond_destroy(&n->done);
		pthread_mutex_destroy(&n->lock);
		return error_errno(e, failed, "notifier: no thread");
	}
	*out = take(n);
	return ERR_OK;
}

void notifier_free(struct notifier *n)
{
	if (!n)
		return;
	notifier_stop(n, 0);
	pthread_join(n->thread, NULL);
	notices_release(&n->queue);
	pthread_cond_destroy(&n->more);
	pthread_cond_destroy(&n->done);
	pthread_mutex_destroy(&n->lock);
	free(n);
}

void notifier_inode(struct notifier *n, fuse_ino_t ino, bool pages)
{
	enqueue(n, &(struct notice){ .kind = NOTICE_INODE, .ino = ino, .pages = pages });
}

void notifier_name(struct notifier *n, fuse_ino_t dir, const char *name, bool is_gone)
{
	char *copy = strdup(name);

	if (copy)
		enqueue(n,
			&(struct notice){ .kind = NOTICE_NAME,
				.ino = dir,
				.name = copy,
				.is_gone = is_gone });
	else
		log_error(LOG_FS, "out of memory: the kernel keeps an outdated name");
}

void notifier_all(struct notifier *n)
{
	enqueue(n, &(struct notice){ .kind = NOTICE_ALL });
}

void notifier_poll(struct notifier *n, struct fuse_pollhandle *waiting)
{
	enqueue(n, &(struct notice){ .kind = NOTICE_POLL, .poll = waiting });
}

bool notifier_drain(struct notifier *n, int64_t limit_ms)
{
	int64_t end_ms = monotonic_ms() + limit_ms;
	bool in_time = true;

	pthread_mutex_lock(&n->lock);
	uint64_t goal = n->added;

	while (n->sent < goal && in_time && !n->stopping)
		in_time = condition_wait_until(&n->done, &n->lock, end_ms);
	in_time = n->sent >= goal;
	pthread_mutex_unlock(&n->lock);
	return in_time;
}

void notifier_stop(struct notifier *n, int64_t limit_ms)
{
	int64_t end_ms = monotonic_ms() + limit_ms;
	bool in_time = true;

	if (!n)
		return;
	pthread_mutex_lock(&n->lock);
	n->stopping = true;
	pthread_cond_signal(&n->more);
	pthread_cond_broadcast(&n->done);
	while (!n->has_ended && in_time)
		in_time = condition_wait_until(&n->done, &n->lock, end_ms);
	pthread_mutex_unlock(&n->lock);
}
