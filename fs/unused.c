#include "fs/unused.h"

#include "fs/control/control.h"
#include "fs/lowlevel.h"
#include "providers/base/cleanup.h"
#include "providers/base/log.h"

#include <linux/fuse.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>

/* New in Linux 6.6. Its name in these headers depends on their age. */
#define REQUEST_STATX 52

/* ---- Answers ---- */

static void answer(
	const struct unused *u, uint64_t unique, int number, const void *body, size_t len)
{
	struct fuse_out_header head = { .len = (uint32_t)(sizeof head + (number ? 0 : len)),
		.error = -number,
		.unique = unique };
	const struct iovec parts[] = { { &head, sizeof head }, { (void *)body, len } };

	/* The requesting process may have gone: then no answer is needed. */
	if (writev(fuse_session_fd(u->session), parts, number || !len ? 1 : 2) < 0)
		return;
}

static void answer_attributes(const struct unused *u, uint64_t unique)
{
	uint64_t now = (uint64_t)time(NULL);
	const struct fuse_attr_out out = { .attr = { .ino = FUSE_ROOT_ID,
						   .mode = S_IFDIR | 0755,
						   .nlink = 2,
						   .uid = u->uid,
						   .gid = u->gid,
						   .atime = now,
						   .mtime = now,
						   .ctime = now,
						   .blksize = 4096 } };

	answer(u, unique, 0, &out, sizeof out);
}

static void answer_room(const struct unused *u, uint64_t unique)
{
	const struct fuse_statfs_out out = {
		.st = { .bsize = 4096, .frsize = 4096, .namelen = 255 }
	};

	answer(u, unique, 0, &out, sizeof out);
}

/* Whether the request is no use of the mount, and was answered. */
static bool answer_from_outside(const struct unused *u)
{
	const struct fuse_in_header *head = u->request;
	const char *name = (const char *)(head + 1);
	size_t name_len = u->len - sizeof *head;

	switch (head->opcode) {
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT: return true;
	case FUSE_GETATTR: answer_attributes(u, head->unique); return true;
	/* As libfuse answers: the kernel falls back to the older request. */
	case REQUEST_STATX: answer(u, head->unique, ENOSYS, NULL, 0); return true;
	case FUSE_STATFS: answer_room(u, head->unique); return true;
	case FUSE_GETXATTR:
	case FUSE_LISTXATTR: answer(u, head->unique, ENODATA, NULL, 0); return true;
	case FUSE_LOOKUP:
		if (name_len != sizeof CONTROL_DIR_NAME ||
			memcmp(name, CONTROL_DIR_NAME, name_len) != 0)
			return false;
		answer(u, head->unique, ENOENT, NULL, 0);
		return true;
	default: log_debug(LOG_FS, "the first use is a request %u", head->opcode); return false;
	}
}

/* ---- Requests ---- */

static enum err receive(struct unused *u, struct error *e)
{
	struct fuse_buf buf = { 0 };
	int got = fuse_session_receive_buf(u->session, &buf);

	u->request = buf.mem;
	u->len = got > 0 ? (size_t)got : 0;
	if (got == -EINTR || got == -EAGAIN)
		return ERR_OK;
	return got > 0 && (buf.flags & FUSE_BUF_IS_FD) == 0
		? ERR_OK
		: error_set(e, ERR_GONE, "unmounted before it was used");
}

static enum err wait_for_request(
	const struct unused *u, const struct cancel *cancel, struct error *e)
{
	struct pollfd polled[] = { { .fd = fuse_session_fd(u->session), .events = POLLIN },
		{ .fd = cancel->fd, .events = POLLIN } };

	while (poll(polled, 2, -1) < 0)
		if (errno != EINTR)
			return error_errno(e, errno, "poll");
	return polled[1].revents ? error_set(e, ERR_INTERRUPTED, "interrupted") : ERR_OK;
}

enum err unused_wait(struct unused *u, const struct cancel *cancel, struct error *e)
{
	for (;;) {
		enum err kind;

		unused_release(u);
		kind = wait_for_request(u, cancel, e);
		if (!kind)
			kind = receive(u, e);
		if (kind)
			return kind;
		if (!u->len)
			continue;
		if (u->has_begun && !answer_from_outside(u))
			return ERR_OK;
		/* The first request of all is FUSE_INIT. */
		if (!u->has_begun)
			unused_pass_on(u);
		u->has_begun = true;
	}
}

void unused_refuse(struct unused *u, int number)
{
	answer(u, ((const struct fuse_in_header *)u->request)->unique, number, NULL, 0);
	unused_release(u);
}

void unused_pass_on(struct unused *u)
{
	struct fuse_buf buf = { .mem = u->request, .size = u->len };

	if (u->request)
		fuse_session_process_buf(u->session, &buf);
	unused_release(u);
}

void unused_release(struct unused *u)
{
	free(u->request);
	u->request = NULL;
	u->len = 0;
}
