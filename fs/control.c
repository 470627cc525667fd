#include "fs/control_file.h"

#include "fs/caller.h"
#include "fs/events.h"
#include "providers/base/cleanup.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define HANDLE_MAGIC 0x63746c68u

/* Names and numbers never change; attributes are asked for each time, so that no size is ever believed. */
#define ENTRY_TIMEOUT_S 3600.0

static const struct control_file *const files[] = {
	&control_events,
	&control_exec,
	&control_id,
	&control_stats,
	&control_status,
	&control_sync,
};

#define FILES_COUNT (sizeof files / sizeof *files)

static const struct control_file *file_by_ino(fuse_ino_t ino)
{
	for (size_t i = 0; i < FILES_COUNT; i++)
		if (files[i]->ino == ino)
			return files[i];
	return NULL;
}

static const struct control_file *file_by_name(const char *name)
{
	for (size_t i = 0; i < FILES_COUNT; i++)
		if (strcmp(files[i]->name, name) == 0)
			return files[i];
	return NULL;
}

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
	*c = (struct control){ .cache = cache, .notifier = notifier, .options = *options };
	clock_gettime(CLOCK_REALTIME, &c->mounted_at);
	pthread_mutex_init(&c->lock, NULL);
	LIST_INIT(&c->handles);
	kind = deferrals_new(&c->deferrals, e);
	if (kind == ERR_OK)
		kind = exec_last_new(&c->exec_last, e);
	if (kind == ERR_OK)
		kind = events_new(&c->events, e);
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
	/* Files that were open to the end: the kernel no longer says that they are closed. */
	while ((h = LIST_FIRST(&c->handles)))
		close_handle(h);
	deferrals_free(c->deferrals);
	exec_last_free(c->exec_last);
	events_free(c->events);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* ---- Attributes and names ---- */

static struct stat attributes(const struct control *c, fuse_ino_t ino, mode_t mode, nlink_t links)
{
	return (struct stat){
		.st_ino = ino,
		.st_mode = mode,
		.st_nlink = links,
		.st_uid = c->options.uid,
		.st_gid = c->options.gid,
		.st_blksize = 4096,
		.st_atim = c->mounted_at,
		.st_mtim = c->mounted_at,
		.st_ctim = c->mounted_at,
	};
}

static struct stat directory_attributes(const struct control *c)
{
	return attributes(c, CONTROL_INO_DIR, S_IFDIR | 0555, 2);
}

static struct stat file_attributes(const struct control *c, const struct control_file *file)
{
	return attributes(c, file->ino, S_IFREG | file->mode, 1);
}

static struct fuse_entry_param entry_of(const struct stat *attr)
{
	return (struct fuse_entry_param){
		.ino = attr->st_ino,
		.attr = *attr,
		.attr_timeout = 0,
		.entry_timeout = ENTRY_TIMEOUT_S,
	};
}

void control_entry(const struct control *c, struct fuse_entry_param *out)
{
	struct stat attr = directory_attributes(c);

	*out = entry_of(&attr);
}

void control_lookup(struct control *c, fuse_req_t req, fuse_ino_t parent, const char *name)
{
	const struct control_file *file = file_by_name(name);
	struct fuse_entry_param entry;
	struct stat attr;

	if (parent != CONTROL_INO_DIR || !file) {
		fuse_reply_err(req, parent == CONTROL_INO_DIR ? ENOENT : ENOTDIR);
		return;
	}
	attr = file_attributes(c, file);
	entry = entry_of(&attr);
	fuse_reply_entry(req, &entry);
}

void control_getattr(struct control *c, fuse_req_t req, fuse_ino_t ino)
{
	const struct control_file *file = file_by_ino(ino);
	struct stat attr;

	if (ino != CONTROL_INO_DIR && !file) {
		fuse_reply_err(req, ENOENT);
		return;
	}
	attr = file ? file_attributes(c, file) : directory_attributes(c);
	fuse_reply_attr(req, &attr, 0);
}

void control_setattr(struct control *c, fuse_req_t req, fuse_ino_t ino, int to_set)
{
	const int owned = FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID;
	const struct control_file *file = file_by_ino(ino);

	/* A truncation may bring times along. */
	if (!file || (to_set & owned) || !(to_set & FUSE_SET_ATTR_SIZE))
		fuse_reply_err(req, EPERM);
	else if (!file->write)
		fuse_reply_err(req, EACCES);
	else
		control_getattr(c, req, ino);
}

/* ---- The directory's listing ---- */

/* ".", ".." and the files, by their place, which is also their offset. */
static const char *listed(const struct control *c, size_t place, struct stat *attr)
{
	if (place >= FILES_COUNT + 2)
		return NULL;
	*attr = directory_attributes(c);
	if (place == 0)
		return ".";
	if (place == 1) {
		attr->st_ino = FUSE_ROOT_ID;
		return "..";
	}
	*attr = file_attributes(c, files[place - 2]);
	return files[place - 2]->name;
}

static size_t add_listed(fuse_req_t req, char *at, size_t room, const char *name,
	const struct stat *attr, off_t next, bool plus)
{
	struct fuse_entry_param entry = entry_of(attr);

	if (!plus)
		return fuse_add_direntry(req, at, room, name, attr, next);
	/* No inode: the kernel looks at neither, and counts no lookup. */
	if (name[0] == '.')
		entry.ino = 0;
	return fuse_add_direntry_plus(req, at, room, name, &entry, next);
}

static void list(
	struct control *c, fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, bool plus)
{
	char page[4096];
	size_t room = size < sizeof page ? size : sizeof page;
	size_t used = 0;
	const char *name;
	struct stat attr;

	if (ino != CONTROL_INO_DIR || off < 0) {
		fuse_reply_err(req, ino != CONTROL_INO_DIR ? ENOTDIR : EINVAL);
		return;
	}
	for (size_t i = (size_t)off; (name = listed(c, i, &attr)); i++) {
		size_t len =
			add_listed(req, page + used, room - used, name, &attr, (off_t)i + 1, plus);

		if (len > room - used)
			break;
		used += len;
	}
	fuse_reply_buf(req, page, used);
}

void control_opendir(struct control *c, fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)c;
	if (ino == CONTROL_INO_DIR)
		fuse_reply_open(req, fi);
	else
		fuse_reply_err(req, ENOTDIR);
}

void control_readdir(struct control *c, fuse_req_t req, fuse_ino_t ino, size_t size, off_t off)
{
	list(c, req, ino, size, off, false);
}

void control_readdirplus(struct control *c, fuse_req_t req, fuse_ino_t ino, size_t size, off_t off)
{
	list(c, req, ino, size, off, true);
}

/* ---- Open files ---- */

static struct control_handle *handle_of(const struct fuse_file_info *fi)
{
	struct control_handle *h = (struct control_handle *)(uintptr_t)fi->fh;

	assert(h && h->magic == HANDLE_MAGIC);
	return h;
}

/*
 * The mode's bits, also where the kernel does not judge them (without default_permissions, or for root, who may open
 * anything but cannot write what has no meaning).
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
	struct control *c, const struct control_file *file, const struct fuse_ctx *ctx)
{
	struct control_handle *h = file->open(c);

	if (h) {
		h->magic = HANDLE_MAGIC;
		h->file = file;
		h->control = c;
		h->opener = caller_process(ctx->pid);
		pthread_mutex_lock(&c->lock);
		LIST_INSERT_HEAD(&c->handles, h, link);
		pthread_mutex_unlock(&c->lock);
	}
	return h;
}

void control_open(struct control *c, fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	const struct control_file *file = file_by_ino(ino);
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	struct control_handle *h;

	if (!file || !may_open(c, file, ctx->uid, fi->flags)) {
		fuse_reply_err(req, ino == CONTROL_INO_DIR ? EISDIR : file ? EACCES : ENOENT);
		return;
	}
	h = open_handle(c, file, ctx);
	if (!h) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	fi->fh = (uintptr_t)h;
	fi->direct_io = 1;
	fi->nonseekable = file->is_stream;
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

/* Where in the file does not matter: what is written is a text to act on, in the order it comes. */
void control_write(struct control *c, fuse_req_t req, fuse_ino_t ino, const char *bytes,
	size_t size, off_t off, struct fuse_file_info *fi)
{
	struct control_handle *h = handle_of(fi);

	(void)c, (void)ino, (void)off;
	if (h->file->write)
		h->file->write(h, req, bytes, size);
	else
		fuse_reply_err(req, EBADF);
}

void control_flush(struct control *c, fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct control_handle *h = handle_of(fi);

	(void)c, (void)ino;
	if (h->file->flush && caller_process(fuse_req_ctx(req)->pid) == h->opener)
		h->file->flush(h, req);
	else
		fuse_reply_err(req, 0);
}

/* Nobody waits for a release, and the kernel allows only a few at a time: it is answered first. */
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

void control_reply_text(fuse_req_t req, const struct buf *text, size_t size, off_t off)
{
	size_t left = off < 0 || (uint64_t)off >= text->len ? 0 : text->len - (size_t)off;

	if (left)
		fuse_reply_buf(req, (const char *)text->bytes + off, left < size ? left : size);
	else
		fuse_reply_buf(req, NULL, 0);
}
