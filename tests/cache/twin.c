#include "tests/cache/twin.h"
#include "cache/session/session.h"

#include "providers/base/cleanup.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *step_text(const struct step *s)
{
	static const char *const names[STEP_END] = { "create", "mkdir", "symlink", "link", "rename",
		"unlink", "rmdir", "chmod", "times", "cut", "open", "close", "empty", "write",
		"append", "copy", "copy over" };
	static char text[3 * TWIN_PATH_MAX];

	snprintf(text, sizeof text, "%s %s %s flags %x number %llu len %zu handle %u",
		names[s->kind], s->path, s->path2, s->flags, (unsigned long long)s->number, s->len,
		s->handle);
	return text;
}

/* ---- The directory ---- */

void plain_init(struct plain *p, int dir)
{
	p->dir = dir;
	for (int n = 0; n < TWIN_HANDLES; n++)
		p->handles[n] = -1;
}

void plain_release(struct plain *p)
{
	for (int n = 0; n < TWIN_HANDLES; n++)
		cleanup_close(&p->handles[n]);
}

uint32_t plain_mode(const struct plain *p, const char *path)
{
	struct stat st;

	return fstatat(p->dir, path, &st, AT_SYMLINK_NOFOLLOW) ? 0 : st.st_mode;
}

static int open_plain(struct plain *p, const struct step *s, int flags)
{
	p->handles[s->handle] = openat(p->dir, s->path, O_RDWR | O_CLOEXEC | flags, 0644);
	return p->handles[s->handle];
}

static int cut_plain(const struct plain *p, const struct step *s)
{
	AUTO_CLOSE int fd = openat(p->dir, s->path, O_WRONLY | O_CLOEXEC);

	return fd < 0 ? fd : ftruncate(fd, (off_t)s->number);
}

static int set_plain_times(const struct plain *p, const struct step *s)
{
	const struct timespec times[2] = { { .tv_sec = (time_t)s->number },
		{ .tv_sec = (time_t)s->number } };

	return utimensat(p->dir, s->path, times, AT_SYMLINK_NOFOLLOW);
}

static int rename_plain(const struct plain *p, const struct step *s)
{
	unsigned flags = (s->flags & CHANGE_NOREPLACE ? RENAME_NOREPLACE : 0) |
		(s->flags & CHANGE_EXCHANGE ? RENAME_EXCHANGE : 0);

	return renameat2(p->dir, s->path, p->dir, s->path2, flags);
}

static int write_plain(const struct plain *p, const struct step *s)
{
	int fd = p->handles[s->handle];
	AUTO_FREE char *bytes = malloc(s->len);
	struct stat st;
	off_t at = (off_t)s->number;

	cr_assert(bytes != NULL && fstat(fd, &st) == 0);
	memset(bytes, s->byte, s->len);
	if (s->kind == STEP_APPEND)
		at = st.st_size;
	return pwrite(fd, bytes, s->len, at) == (ssize_t)s->len ? 0 : -1;
}

static int close_plain(struct plain *p, const struct step *s)
{
	cleanup_close(&p->handles[s->handle]);
	p->handles[s->handle] = -1;
	return 0;
}

static int copy_plain(const struct plain *p, const struct step *s)
{
	int how = s->kind == STEP_COPY ? O_CREAT | O_EXCL : O_TRUNC;
	AUTO_CLOSE int from = openat(p->dir, s->path, O_RDONLY | O_CLOEXEC);
	AUTO_CLOSE int to =
		from < 0 ? -1 : openat(p->dir, s->path2, O_WRONLY | O_CLOEXEC | how, 0644);
	size_t len;
	AUTO_FREE char *text = to < 0 ? NULL : plain_text(p->dir, s->path, &len);

	return to < 0 ? to : write(to, text, len) == (ssize_t)len ? 0 : -1;
}

static int do_plain(struct plain *p, const struct step *s)
{
	switch (s->kind) {
	case STEP_CREATE: return open_plain(p, s, O_CREAT | O_EXCL);
	case STEP_MKDIR: return mkdirat(p->dir, s->path, 0755);
	case STEP_SYMLINK: return symlinkat(s->path2, p->dir, s->path);
	case STEP_LINK: return linkat(p->dir, s->path, p->dir, s->path2, 0);
	case STEP_RENAME: return rename_plain(p, s);
	case STEP_UNLINK: return unlinkat(p->dir, s->path, 0);
	case STEP_RMDIR: return unlinkat(p->dir, s->path, AT_REMOVEDIR);
	case STEP_CHMOD: return fchmodat(p->dir, s->path, (mode_t)s->number, 0);
	case STEP_TIMES: return set_plain_times(p, s);
	case STEP_CUT: return cut_plain(p, s);
	case STEP_OPEN: return open_plain(p, s, 0);
	case STEP_CLOSE: return close_plain(p, s);
	case STEP_EMPTY: return ftruncate(p->handles[s->handle], 0);
	case STEP_COPY:
	case STEP_COPY_OVER: return copy_plain(p, s);
	default: return write_plain(p, s);
	}
}

enum err plain_do(struct plain *p, const struct step *s)
{
	return do_plain(p, s) < 0 ? error_from_errno(errno) : ERR_OK;
}

char *plain_text(int dir, const char *path, size_t *len)
{
	struct stat st;

	cr_assert(fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0, "%s", path);
	char *text = calloc(1, (size_t)st.st_size + 1);
	AUTO_CLOSE int fd =
		S_ISREG(st.st_mode) ? openat(dir, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
	ssize_t got = fd < 0 ? readlinkat(dir, path, text, (size_t)st.st_size + 1)
			     : read(fd, text, (size_t)st.st_size);

	cr_assert(eq(long, got, (long)st.st_size), "%s", path);
	*len = (size_t)got;
	return text;
}

/* ---- The cache ---- */

void mounted_forget(struct mounted *m, struct inode *i)
{
	if (i && i != cache_root(m->cache))
		cache_forget(m->cache, i, 1);
}

enum err mounted_find(struct mounted *m, const char *path, struct inode **out)
{
	char own[TWIN_PATH_MAX], *rest = own;
	enum err kind = ERR_OK;

	snprintf(own, sizeof own, "%s", path);
	*out = cache_root(m->cache);
	for (char *name; !kind && *rest && (name = strsep(&rest, "/"));) {
		struct cache_entry entry;
		struct error e = { 0 };
		int64_t absent_ms;

		kind = cache_lookup(m->cache, m->call, *out, name, &entry, &absent_ms, &e);
		mounted_forget(m, *out);
		*out = kind ? NULL : entry.inode;
		if (!rest)
			break;
	}
	return kind;
}

/* The directory of a path, and its last name. */
static enum err find_dir(struct mounted *m, const char *path, struct inode **dir, const char **name)
{
	char above[TWIN_PATH_MAX];
	const char *slash = strrchr(path, '/');

	*name = slash ? slash + 1 : path;
	snprintf(above, sizeof above, "%.*s", slash ? (int)(slash - path) : 0, path);
	return mounted_find(m, above, dir);
}

enum err mounted_attr(struct mounted *m, struct inode *i, struct attr *out)
{
	struct error e = { 0 };
	int64_t valid_ms;

	return cache_attr(m->cache, m->call, i, out, &valid_ms, &e);
}

static void keep_handle(struct mounted *m, unsigned handle, struct inode *i)
{
	struct attr attr;

	cr_assert(eq(int, mounted_attr(m, i, &attr), ERR_OK));
	m->handles[handle] = i;
	m->numbers[handle] = attr.ino;
}

static enum err make(struct mounted *m, const struct step *s, struct inode *dir, const char *name)
{
	struct create_args making = {
		.op = CHANGE_CREATE, .mode = 0644, .exclusive = true, .opens = true
	};
	struct cache_entry entry;
	struct error e = { 0 };

	if (s->kind == STEP_MKDIR)
		making = (struct create_args){ .op = CHANGE_MKDIR, .mode = 0755 };
	if (s->kind == STEP_SYMLINK)
		making = (struct create_args){ .op = CHANGE_SYMLINK, .text = s->path2 };
	enum err kind = cache_make(m->cache, m->call, dir, name, &making, &entry, &e);

	if (!kind && s->kind == STEP_CREATE) {
		kind = cache_open_made(m->cache, m->call, &entry, O_RDWR, &e);
		if (!kind)
			keep_handle(m, s->handle, entry.inode);
	} else if (!kind) {
		mounted_forget(m, entry.inode);
	}
	return kind;
}

static enum err do_name(struct mounted *m, const struct step *s)
{
	struct inode *dir, *i;
	struct error e = { 0 };
	const char *name;
	enum err kind = find_dir(m, s->path, &dir, &name);

	if (kind)
		return kind;
	if (s->kind != STEP_UNLINK && s->kind != STEP_RMDIR) {
		kind = make(m, s, dir, name);
		mounted_forget(m, dir);
		return kind;
	}
	kind = mounted_find(m, s->path, &i);
	if (!kind && s->kind == STEP_UNLINK)
		kind = cache_unlink(m->cache, m->call, dir, name, &e);
	else if (!kind)
		kind = cache_rmdir(m->cache, m->call, dir, name, &e);
	mounted_forget(m, i);
	mounted_forget(m, dir);
	return kind;
}

/* Looks up the entry that stands at the name before, as the kernel does. */
static enum err do_names(struct mounted *m, const struct step *s)
{
	struct inode *dir = NULL, *dir2 = NULL, *i = NULL, *there = NULL;
	struct cache_entry entry;
	struct error e = { 0 };
	const char *name, *name2;
	enum err kind = find_dir(m, s->path, &dir, &name);

	if (!kind)
		kind = find_dir(m, s->path2, &dir2, &name2);
	if (!kind)
		kind = mounted_find(m, s->path, &i);
	if (!kind)
		mounted_find(m, s->path2, &there);
	if (!kind && s->kind == STEP_RENAME)
		kind = cache_rename(m->cache, m->call, dir, name, dir2, name2, s->flags, &e);
	else if (!kind)
		kind = cache_link(m->cache, m->call, i, dir2, name2, &entry, &e);
	if (!kind && s->kind == STEP_LINK)
		mounted_forget(m, entry.inode);
	mounted_forget(m, there);
	mounted_forget(m, i);
	mounted_forget(m, dir2);
	mounted_forget(m, dir);
	return kind;
}

static struct change change_of(const struct step *s)
{
	const struct timespec at = { .tv_sec = (time_t)s->number };

	switch (s->kind) {
	case STEP_CHMOD: return (struct change){ .set = SET_MODE, .mode = (uint32_t)s->number };
	case STEP_CUT: return (struct change){ .set = SET_SIZE, .size = s->number };
	default: return (struct change){ .set = SET_ATIME | SET_MTIME, .atime = at, .mtime = at };
	}
}

static enum err do_inode(struct mounted *m, const struct step *s)
{
	const struct change change = change_of(s);
	struct error e = { 0 };
	struct inode *i;
	bool keep;
	enum err kind = mounted_find(m, s->path, &i);

	if (kind)
		return kind;
	if (s->kind != STEP_OPEN) {
		kind = cache_setattr(m->cache, m->call, i, &change, false, &e);
		mounted_forget(m, i);
		return kind;
	}
	kind = cache_open(m->cache, m->call, i, O_RDWR, &keep, &e);
	if (kind)
		mounted_forget(m, i);
	else
		keep_handle(m, s->handle, i);
	return kind;
}

static enum err do_handle(struct mounted *m, const struct step *s)
{
	struct inode *i = m->handles[s->handle];
	AUTO_FREE char *bytes = malloc(s->len + 1);
	struct error e = { 0 };
	struct attr attr;

	if (s->kind == STEP_CLOSE) {
		m->handles[s->handle] = NULL;
		enum err kind = cache_flush(m->cache, m->call, i, &e);

		cache_close(m->cache, i);
		mounted_forget(m, i);
		return kind;
	}
	if (s->kind == STEP_EMPTY)
		return cache_setattr(
			m->cache, m->call, i, &(struct change){ .set = SET_SIZE }, true, &e);
	cr_assert(bytes != NULL);
	memset(bytes, s->byte, s->len);
	cr_assert(eq(int, mounted_attr(m, i, &attr), ERR_OK));
	bool appends = s->kind == STEP_APPEND;

	return cache_write(m->cache, m->call, i, appends ? attr.size : s->number, bytes, s->len,
		appends ? WRITE_APPEND : 0, &e);
}

/* Into the empty file that is open as the last handle. */
static enum err copy_into_empty(struct mounted *m, const struct step *s)
{
	struct inode *from, *to = m->handles[TWIN_HANDLES];
	struct error e = { 0 };
	uint64_t copied = 0;
	struct attr attr;
	enum err kind = mounted_find(m, s->path, &from);

	if (kind)
		return kind;
	kind = mounted_attr(m, from, &attr);
	if (!kind)
		kind = cache_copy(m->cache, m->call, from, 0, to, 0, attr.size, &copied, &e);
	mounted_forget(m, from);
	return kind || copied == attr.size ? kind : error_set(&e, ERR_IO, "a part was copied");
}

static enum err open_empty(struct mounted *m, const struct step *s)
{
	struct step make = { .kind = STEP_CREATE, .handle = TWIN_HANDLES };
	struct step empty = { .kind = STEP_EMPTY, .handle = TWIN_HANDLES };

	memcpy(make.path, s->path2, sizeof make.path);
	if (s->kind == STEP_COPY)
		return do_name(m, &make);
	make.kind = STEP_OPEN;
	enum err kind = do_inode(m, &make);

	return kind ? kind : do_handle(m, &empty);
}

static enum err do_copy(struct mounted *m, const struct step *s)
{
	const struct step close = { .kind = STEP_CLOSE, .handle = TWIN_HANDLES };
	enum err kind = open_empty(m, s);
	enum err copying = kind ? kind : copy_into_empty(m, s);
	enum err closing = m->handles[TWIN_HANDLES] ? do_handle(m, &close) : ERR_OK;

	return copying ? copying : closing;
}

enum err mounted_do(struct mounted *m, const struct step *s)
{
	switch (s->kind) {
	case STEP_CREATE:
	case STEP_MKDIR:
	case STEP_SYMLINK:
	case STEP_UNLINK:
	case STEP_RMDIR: return do_name(m, s);
	case STEP_LINK:
	case STEP_RENAME: return do_names(m, s);
	case STEP_CLOSE:
	case STEP_EMPTY:
	case STEP_WRITE:
	case STEP_APPEND: return do_handle(m, s);
	case STEP_COPY:
	case STEP_COPY_OVER: return do_copy(m, s);
	default: return do_inode(m, s);
	}
}

void mounted_release(struct mounted *m)
{
	for (unsigned n = 0; n < TWIN_HANDLES; n++) {
		const struct step close = { .kind = STEP_CLOSE, .handle = n };

		if (m->handles[n])
			cr_expect(eq(int, mounted_do(m, &close), ERR_OK));
	}
}

char *mounted_text(struct mounted *m, struct inode *i, size_t *len)
{
	struct error e = { 0 };
	struct attr attr;
	bool keep;

	cr_assert(eq(int, mounted_attr(m, i, &attr), ERR_OK));
	char *text = calloc(1, attr.size + 1);

	cr_assert(eq(int, cache_open(m->cache, m->call, i, O_RDONLY, &keep, &e), ERR_OK), "%s",
		e.text);
	for (*len = 0; *len < attr.size;) {
		size_t got = 0;

		cr_assert(eq(int,
				  cache_read(m->cache, m->call, i, *len, text + *len,
					  attr.size - *len, &got, &e),
				  ERR_OK),
			"%s", e.text);
		cr_assert(got > 0, "the file ends at %zu", *len);
		*len += got;
	}
	cache_close(m->cache, i);
	return text;
}
