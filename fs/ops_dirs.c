/*
 * Operations on open directories: a handle has the entries as they were when it was first read or
 * rewound.
 */
#include "fs/fs.h"
#include "fs/handle_memory.h"
#include "fs/request.h"

#include "cache/contents.h"
#include "providers/base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DIR_HANDLE_MAGIC 0xd1d1be55u

/* Offsets as the kernel sees them: 1 after ".", 2 after "..", n + 3 after entry n. */
#define OFFSET_DOTDOT 1
#define OFFSET_FIRST  2

struct dir_handle {
	uint32_t magic;
	bool is_loaded;
	struct error failure;       /* why loading at open failed, kept for the first read */
	struct tree_entry *entries; /* owned, given back to the cache */
	size_t count;
};

static struct dir_handle *handle_of(struct fuse_file_info *fi)
{
	struct dir_handle *h = (struct dir_handle *)(uintptr_t)fi->fh;

	if (h->magic != DIR_HANDLE_MAGIC)
		abort();
	return h;
}

static enum err load(const struct fs *fs, const struct call *call, fuse_ino_t ino,
	struct dir_handle *h, struct error *e)
{
	struct tree_entry *entries;
	size_t count;
	enum err kind = cache_entries(fs->cache, call, fs_inode(fs, ino), &entries, &count, e);

	if (kind)
		return kind;
	cache_entries_free(fs->cache, h->entries, h->count);
	h->entries = entries;
	h->count = count;
	h->is_loaded = true;
	return ERR_OK;
}

static void dir_handle_free(const struct fs *fs, struct dir_handle *h)
{
	cache_entries_free(fs->cache, h->entries, h->count);
	h->magic = 0;
	handle_memory_free(h);
}

/*
 * The root always has attributes, because the way to `.sandbox` leads through it. So open(2) must
 * report that the sandbox has no such directory: readdir(3) takes that error of getdents(2) for the
 * end of an empty directory.
 */
static enum err load_root(
	const struct fs *fs, fuse_req_t *req, struct dir_handle *h, struct error *e)
{
	AUTO_REQUEST struct request r = REQUEST_NONE;

	request_begin(&r, *req);
	enum err kind = load(fs, &r.call, FUSE_ROOT_ID, h, &h->failure);

	*req = request_end(&r);
	return kind == ERR_NOT_FOUND || kind == ERR_NOT_DIR
		? error_set(e, kind, "%s", h->failure.text)
		: ERR_OK;
}

void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	const struct fs *fs = fuse_req_userdata(req);
	struct error e = { 0 };

	if (control_owns(ino)) {
		control_opendir(fs->control, req, ino, fi);
		return;
	}
	struct dir_handle *h = handle_memory_new(sizeof *h);

	if (!h) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	h->magic = DIR_HANDLE_MAGIC;
	fi->fh = (uintptr_t)h;
	if (ino == FUSE_ROOT_ID && load_root(fs, &req, h, &e)) {
		dir_handle_free(fs, h);
		fs_reply(req, &e);
		return;
	}
	/* otherwise the handle is the kernel's now */
	if (fuse_reply_open(req, fi))
		dir_handle_free(fs, h);
}

void op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	const struct fs *fs = fuse_req_userdata(req);

	if (!control_owns(ino))
		dir_handle_free(fs, handle_of(fi));
	fuse_reply_err(req, 0);
}

void op_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	op_fsync(req, ino, datasync, fi);
}

/* A reply that is being filled. */
struct filling {
	fuse_req_t req;
	const struct fs *fs;
	struct inode *dir;
	char *bytes;
	size_t len, room;
	bool plus;
};

/* false: the entry does not fit any more. */
static bool fill(
	struct filling *f, const char *name, const struct fuse_entry_param *param, off_t next)
{
	char *at = f->bytes + f->len;
	size_t room = f->room - f->len;
	size_t need = f->plus ? fuse_add_direntry_plus(f->req, at, room, name, param, next)
			      : fuse_add_direntry(f->req, at, room, name, &param->attr, next);

	if (need > room)
		return false;
	f->len += need;
	return true;
}

/* "." and "..": the kernel knows their nodes itself. */
static bool fill_dots(struct filling *f, struct inode *dir, off_t offset)
{
	struct fuse_entry_param param = { .attr.st_mode = S_IFDIR };
	struct attr self, above;

	cache_dot_attrs(f->fs->cache, dir, &self, &above);
	if (offset < OFFSET_DOTDOT) {
		fs_stat(f->fs, dir, NULL, &self, &param.attr);
		if (!fill(f, ".", &param, OFFSET_DOTDOT))
			return false;
	}
	if (offset < OFFSET_FIRST) {
		fs_stat(f->fs, dir, NULL, &above, &param.attr);
		return fill(f, "..", &param, OFFSET_FIRST);
	}
	return true;
}

static bool fits(const struct filling *f, const char *name)
{
	size_t need = f->plus ? fuse_add_direntry_plus(f->req, NULL, 0, name, NULL, 0)
			      : fuse_add_direntry(f->req, NULL, 0, name, NULL, 0);

	return need <= f->room - f->len;
}

/*
 * With attributes where they are valid. The kernel looks an entry without attributes up when a
 * program asks for them.
 */
static bool fill_entry(struct filling *f, const struct tree_entry *entry, off_t next)
{
	struct fuse_entry_param param = { 0 };
	struct cache_entry known;

	if (!fits(f, entry->name))
		return false;
	if (!f->plus || !cache_listed_entry(f->fs->cache, f->dir, entry, &known) ||
		!fs_entry(f->fs, &known, &param)) {
		struct attr attr;

		cache_known_attr(f->fs->cache, entry->inode, &attr);
		fs_stat(f->fs, entry->inode, NULL, &attr, &param.attr);
	}
	return fill(f, entry->name, &param, next);
}

static bool fill_control(struct filling *f, off_t next)
{
	struct fuse_entry_param param;

	control_entry(f->fs->control, &param);
	return fill(f, CONTROL_DIR_NAME, &param, next);
}

static void fill_handle(struct filling *f, fuse_ino_t ino, struct dir_handle *h, off_t offset)
{
	size_t n = offset < OFFSET_FIRST ? 0 : (size_t)(offset - OFFSET_FIRST);

	if (!fill_dots(f, fs_inode(f->fs, ino), offset))
		return;
	for (; n < h->count; n++) {
		/* hidden by .sandbox */
		if (fs_is_control_name(ino, h->entries[n].name))
			continue;
		if (!fill_entry(f, &h->entries[n], (off_t)n + OFFSET_FIRST + 1))
			return;
	}
	if (n == h->count && ino == FUSE_ROOT_ID && f->fs->options->list_control)
		fill_control(f, (off_t)n + OFFSET_FIRST + 1);
}

/*
 * A read from the beginning loads the entries again, which costs nothing where they are still
 * valid.
 */
static enum err load_at(const struct fs *fs, const struct call *call, fuse_ino_t ino,
	struct dir_handle *h, off_t offset, struct error *e)
{
	if (h->is_loaded && offset)
		return ERR_OK;
	if (h->failure.kind) {
		error_set(e, h->failure.kind, "%s", h->failure.text);
		h->failure = (struct error){ 0 };
		return e->kind;
	}
	return load(fs, call, ino, h, e);
}

static void read_entries(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, bool plus,
	struct fuse_file_info *fi)
{
	const struct fs *fs = fuse_req_userdata(req);
	struct dir_handle *h = handle_of(fi);
	AUTO_REQUEST struct request r = REQUEST_NONE;
	struct error e = { 0 };
	AUTO_FREE char *bytes = malloc(size);
	struct filling f = { .req = req,
		.fs = fs,
		.dir = fs_inode(fs, ino),
		.bytes = bytes,
		.room = size,
		.plus = plus };

	if (!bytes) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	request_begin(&r, req);
	if (load_at(fs, &r.call, ino, h, offset, &e)) {
		fs_reply(request_end(&r), &e);
		return;
	}
	fill_handle(&f, ino, h, offset);
	fuse_reply_buf(request_end(&r), bytes, f.len);
}

void op_readdir(
	fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
	const struct fs *fs = fuse_req_userdata(req);

	if (control_owns(ino))
		control_readdir(fs->control, req, ino, size, offset);
	else
		read_entries(req, ino, size, offset, false, fi);
}

void op_readdirplus(
	fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
	const struct fs *fs = fuse_req_userdata(req);

	if (control_owns(ino))
		control_readdirplus(fs->control, req, ino, size, offset);
	else
		read_entries(req, ino, size, offset, true, fi);
}
