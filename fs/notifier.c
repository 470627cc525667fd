#include "fs/notifier.h"

#include "providers/base/call.h"
#include "providers/base/cleanup.h"
#include "providers/base/log.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct notice {
	fuse_ino_t ino; /* of a name: its directory */
	char *name;     /* NULL: the inode itself */
	bool pages;
	struct fuse_pollhandle *poll; /* not NULL: who polls is woken, and nothing else */
};

/* Notices in the order they were made. */
struct batch {
	struct notice *notices;
	size_t len, room;
};

struct notifier {
	struct fuse_session *session;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t more; /* is to be sent: for the thread */
	pthread_cond_t done; /* some of it, or the thread: for who waits for that */
	struct batch queue;
	uint64_t queued, sent; /* notices since the beginning */
	bool has_ended;
	atomic_bool stopping; /* changed under the lock */
};

static void batch_release(struct batch *b)
{
	for (size_t i = 0; i < b->len; i++) {
		free(b->notices[i].name);
		fuse_pollhandle_destroy(b->notices[i].poll);
	}
	free(b->notices);
	*b = (struct batch){ 0 };
}

static bool batch_add(struct batch *b, const struct notice *notice)
{
	if (b->len == b->room) {
		size_t room = b->room ? b->room * 2 : 64;
		struct notice *grown = reallocarray(b->notices, room, sizeof *grown);

		if (!grown)
			return false;
		b->notices = grown;
		b->room = room;
	}
	b->notices[b->len++] = *notice;
	return true;
}

static bool notice_repeats(const struct batch *b, const struct notice *notice)
{
	const struct notice *last = b->len ? &b->notices[b->len - 1] : NULL;

	return last && !last->poll && !notice->poll && last->ino == notice->ino &&
		last->pages == notice->pages &&
		(last->name && notice->name ? !strcmp(last->name, notice->name)
					    : last->name == notice->name);
}

/* Asked for again when it is next used. Dropped, it would take the way home from whoever works below it (getcwd). */
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

static void send_name(struct fuse_session *session, const struct notice *notice)
{
	if (expire_name(session, notice) == -ENOSYS)
		fuse_lowlevel_notify_inval_entry(
			session, notice->ino, notice->name, strlen(notice->name));
}

/* What the kernel does not know (ENOENT) or no longer listens to (after unmounting) needs no forgetting. */
static void notice_send(struct fuse_session *session, const struct notice *notice)
{
	if (notice->poll)
		fuse_lowlevel_notify_poll(notice->poll);
	else if (notice->name)
		send_name(session, notice);
	else
		/* From a negative offset on no page is dropped, only the attributes. */
		fuse_lowlevel_notify_inval_inode(session, notice->ino, notice->pages ? 0 : -1, 0);
}

static struct batch next_batch_locked(struct notifier *n)
{
	struct batch batch;

	while (!n->queue.len && !n->stopping)
		pthread_cond_wait(&n->more, &n->lock);
	batch = n->queue;
	n->queue = (struct batch){ 0 };
	return batch;
}

/*
 * A notice waits in the kernel for the lock of a directory, which whoever waits for our answer may hold, and no signal ends
 * that. If this process is killed then, what its other threads have open must be closed all the same: that alone ends
 * what waits for answers of theirs. So this one has a table of open files of its own, with nothing but the device in it:
 * nor does whoever reads what the process printed wait for this one to close it. It must open nothing, nor write to the log.
 * Requests that no thread had read yet are the guard's (guard.h).
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
		struct batch batch = next_batch_locked(n);
		size_t sent = 0;

		pthread_mutex_unlock(&n->lock);
		while (sent < batch.len && !n->stopping)
			notice_send(n->session, &batch.notices[sent++]);
		pthread_mutex_lock(&n->lock);
		n->sent += sent;
		batch_release(&batch);
		pthread_cond_broadcast(&n->done);
	}
	n->has_ended = true;
	pthread_cond_broadcast(&n->done);
	pthread_mutex_unlock(&n->lock);
	return NULL;
}

/* Takes notice->name. */
static void enqueue(struct notifier *n, struct notice *notice)
{
	AUTO_FREE char *name = notice->name;
	bool added = true;

	pthread_mutex_lock(&n->lock);
	if (!notice_repeats(&n->queue, notice)) {
		added = batch_add(&n->queue, notice);
		if (added) {
			take(name);
			n->queued++;
			pthread_cond_signal(&n->more);
		}
	}
	pthread_mutex_unlock(&n->lock);
	if (!added)
		log_error(LOG_FS, "out of memory: the kernel keeps something outdated");
}

enum err notifier_new(struct notifier **out, struct fuse_session *session, struct error *e)
{
	AUTO_FREE struct notifier *n = calloc(1, sizeof *n);
	pthread_condattr_t monotonic;
	int failed;

	if (!n)
		return error_set(e, ERR_NO_MEMORY, "notifier: out of memory");
	n->session = session;
	pthread_mutex_init(&n->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&n->more, NULL);
	pthread_cond_init(&n->done, &monotonic);
	pthread_condattr_destroy(&monotonic);
	failed = pthread_create(&n->thread, NULL, send_notices, n);
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
	batch_release(&n->queue);
	pthread_cond_destroy(&n->more);
	pthread_cond_destroy(&n->done);
	pthread_mutex_destroy(&n->lock);
	free(n);
}

void notifier_inode(struct notifier *n, fuse_ino_t ino, bool pages)
{
	enqueue(n, &(struct notice){ .ino = ino, .pages = pages });
}

void notifier_name(struct notifier *n, fuse_ino_t dir, const char *name)
{
	char *copy = strdup(name);

	if (copy)
		enqueue(n, &(struct notice){ .ino = dir, .name = copy });
	else
		log_error(LOG_FS, "out of memory: the kernel keeps an outdated name");
}

void notifier_poll(struct notifier *n, struct fuse_pollhandle *waiting)
{
	enqueue(n, &(struct notice){ .poll = waiting });
}

static struct timespec monotonic_after(int64_t ms)
{
	int64_t end_ms = monotonic_ms() + ms;

	return (struct timespec){ .tv_sec = end_ms / 1000, .tv_nsec = end_ms % 1000 * 1000000 };
}

bool notifier_drain(struct notifier *n, int64_t limit_ms)
{
	bool in_time = true;

	pthread_mutex_lock(&n->lock);
	uint64_t goal = n->queued;
	struct timespec end = n->sent < goal ? monotonic_after(limit_ms) : (struct timespec){ 0 };

	while (n->sent < goal && in_time && !n->stopping)
		in_time = pthread_cond_timedwait(&n->done, &n->lock, &end) == 0;
	in_time = n->sent >= goal;
	pthread_mutex_unlock(&n->lock);
	return in_time;
}

void notifier_stop(struct notifier *n, int64_t limit_ms)
{
	struct timespec end = monotonic_after(limit_ms);
	int failed = 0;

	if (!n)
		return;
	pthread_mutex_lock(&n->lock);
	n->stopping = true;
	pthread_cond_signal(&n->more);
	pthread_cond_broadcast(&n->done);
	while (!n->has_ended && !failed)
		failed = pthread_cond_timedwait(&n->done, &n->lock, &end);
	pthread_mutex_unlock(&n->lock);
}
