#include "fs/control/file.h"

#include "fs/caller.h"
#include "fs/events.h"
#include "fs/control/jobs.h"
#include "fs/control/sessions.h"
#include "providers/base/cleanup.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#define HANDLE_MAGIC 0x63746c68u

/* ---- Life ---- */

static void close_handle(struct control_handle *h)
{
	struct control *c = h->control;

	pthread_mutex_lock(&c->lock);
	LIST_REMOVE(h, link);
	pthread_mutex_unlock(&c->lock);
	h->file->close(h);
}

enum err control_new(struct control **out, struct cache *cache, struct notifier *notifier,
	const struct control_options *options, struct error *e)
{
	struct control *c = calloc(1, sizeof *c);
	enum err kind;

	if (!c)
		return error_set(e, ERR_NO_MEMORY, "control directory: out of memory");
	*c = (struct control){ .cache = cache,
		.notifier = notifier,
		.options = *options,
		.mounted_at = time_of_day() };
	pthread_mutex_init(&c->lock, NULL);
	LIST_INIT(&c->handles);
	kind = deferrals_new(&c->deferrals, e);
	if (kind == ERR_OK)
		kind = exec_last_new(&c->exec_last, e);
	if (kind == ERR_OK)
		kind = events_new(&c->events, e);
	if (kind == ERR_OK)
		kind = jobs_new(&c->jobs, cache, c->deferrals, &c->options.exec, e);
	if (kind == ERR_OK)
		kind = sessions_new(&c->sessions, e);
	if (kind == ERR_OK)
		*out = c;
	else
		control_free(c);
	return kind;
}

void control_free(struct control *c)
{
	struct control_handle *h;

	if (!c)
		return;
	if (c->deferrals)
		deferrals_stop(c->deferrals);
	/* Files that were open to the end: the kernel no longer reports their close. */
	while ((h = LIST_FIRST(&c->handles)))
		close_handle(h);
	jobs_free(c->jobs);
	deferrals_free(c->deferrals);
	exec_last_free(c->exec_last);
	sessions_free(c->sessions);
	events_free(c->events);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* ---- Open files ---- */

static struct control_handle *handle_of(const struct fuse_file_info *fi)
{
	struct control_handle *h = (struct control_handle *)(uintptr_t)fi->fh;

	assert(h && h->magic == HANDLE_MAGIC);
	return h;
}

/*
 * The mode's bits are checked also where the kernel does not check them: without
 * default_permissions, or for root, who may open any file but cannot write to one that takes no
 * writes.
 */
static bool may_open(const struct control *c, const struct control_file *file, uid_t uid, int flags)
{
	mode_t bits = uid == c->options.uid ? file->mode >> 6 : file->mode;
	bool reads = (flags & O_ACCMODE) != O_WRONLY;
	bool writes = (flags & O_ACCMODE) != O_RDONLY;

	if ((reads && !file->read) || (writes && !file->write))
		return false;
	return uid == 0 || ((!reads || (bits & S_IROTH)) && (!writes || (bits & S_IWOTH)));
}

static struct control_handle *open_handle(
	struct control *c, const struct control_node *node, const struct fuse_ctx *ctx)
{
	struct control_handle *h = node->file->open(c, node->number);

	if (h) {
		h->magic = HANDLE_MAGIC;
		h->file = node->file;
		h->control = c;
		h->opener = caller_process(ctx->pid);
		h->opener_uid = ctx->uid;
		pthread_mutex_lock(&c->lock);
		LIST_INSERT_HEAD(&c->handles, h, link);
		pthread_mutex_unlock(&c->lock);
	}
	return h;
}

void control_open(struct control *c, fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	const struct control_node node = control_node(ino);
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	struct control_handle *h;

	if (!node.file || node.file->dir || !may_open(c, node.file, ctx->uid, fi->flags)) {
		fuse_reply_err(req, !node.file ? ENOENT : node.file->dir ? EISDIR : EACCES);
		return;
	}
	h = open_handle(c, &node, ctx);
	if (!h) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	atomic_store(&h->flags, fi->flags);
	fi->fh = (uintptr_t)h;
	fi->direct_io = 1;
	fi->nonseekable = node.file->is_stream;
	/* The caller was interrupted and is gone: no release will come. */
	if (fuse_reply_open(req, fi) == -ENOENT)
		close_handle(h);
}

void control_read(struct control *c, fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
	struct fuse_file_info *fi)
{
	struct control_handle *h = handle_of(fi);

	(void)c, (void)ino;
	atomic_store(&h->flags, fi->flags);
	if (h->file->read)
		h->file->read(h, req, size, off);
	else
		fuse_reply_err(req, EBADF);
}

/* The offset does not matter: the bytes are a text to act on, in the order of the writes. */
void control_write(struct control *c, fuse_req_t req, fuse_ino_t ino, const char *bytes,
	size_t size, off_t off, struct fuse_file_info *fi)
{
	struct control_handle *h = handle_of(fi);

	(void)c, (void)ino, (void)off;
	atomic_store(&h->writer, fi->lock_owner);
	if (h->file->write)
		h->file->write(h, req, bytes, size);
	else
		fuse_reply_err(req, EBADF);
}

static bool ends_what_was_written(
	struct control_handle *h, pid_t thread, const struct fuse_file_info *fi)
{
	if (!h->opener)
		return fi->lock_owner == atomic_load(&h->writer);
	return caller_process(thread) == h->opener;
}

void control_flush(struct control *c, fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct control_handle *h = handle_of(fi);
	pid_t thread = fuse_req_ctx(req)->pid;

	(void)c, (void)ino;
	if (!h->file->flush || !ends_what_was_written(h, thread, fi)) {
		fuse_reply_err(req, 0);
	} else if (h->file->abandon && caller_was_killed(thread)) {
		h->file->abandon(h);
		fuse_reply_err(req, EINTR);
	} else {
		h->file->flush(h, req);
	}
}

/*
 * No process waits for a release, and the kernel allows only a few at a time: the reply is sent
 * first.
 */
void control_release(struct control *c, fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct control_handle *h = handle_of(fi);

	(void)c, (void)ino;
	fuse_reply_err(req, 0);
	close_handle(h);
}

void control_poll(struct control *c, fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi,
	struct fuse_pollhandle *waiting)
{
	struct control_handle *h = handle_of(fi);

	(void)c, (void)ino;
	if (h->file->poll) {
		fuse_reply_poll(req, h->file->poll(h, waiting));
		return;
	}
	fuse_pollhandle_destroy(waiting);
	fuse_reply_poll(req, CONTROL_POLL_ALWAYS);
}

void control_changed(struct control *c, enum watch_kind kind, const char *path, bool is_dir)
{
	events_add(c->events, kind, path, is_dir);
}

static size_t length_from(const struct buf *text, off_t off)
{
	return off < 0 || (uint64_t)off >= text->len ? 0 : text->len - (size_t)off;
}

void control_copy_part(const struct buf *text, size_t size, off_t off, struct buf *out)
{
	size_t left = length_from(text, off);

	if (left)
		buf_add(out, text->bytes + off, left < size ? left : size);
}

void control_reply_part(fuse_req_t req, const struct buf *part)
{
	if (part->failed)
		fuse_reply_err(req, ENOMEM);
	else
		fuse_reply_buf(req, (const char *)part->bytes, part->len);
}

void control_reply_text(fuse_req_t req, const struct buf *text, size_t size, off_t off)
{
	size_t left = length_from(text, off);

	if (left)
		fuse_reply_buf(req, (const char *)text->bytes + off, left < size ? left : size);
	else
		fuse_reply_buf(req, NULL, 0);
}
