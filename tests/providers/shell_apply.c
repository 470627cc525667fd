#include "tests/providers/shell_pair.h"

#include "providers/base/cleanup.h"
#include "providers/base/path.h"
#include "providers/helper/sequence.h"

#include <fcntl.h>
#include <fts.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

TestSuite(shell_apply, .timeout = 1200);

/* ---- Doing the same twice ---- */

#define CHANGES_MAX 8

static void expect_same_attr(
	const char *what, const struct pair *w, const struct attr *got, const struct attr *want)
{
	cr_expect(got->mode == want->mode, "%s: %s: mode %o, not %o", w->shell, what, got->mode,
		want->mode);
	cr_expect(got->nlink == want->nlink, "%s: %s: %u links, not %u", w->shell, what, got->nlink,
		want->nlink);
	cr_expect(got->uid == want->uid && got->gid == want->gid, "%s: %s: owner", w->shell, what);
	cr_expect(got->rdev == want->rdev, "%s: %s: device", w->shell, what);
	if (!S_ISDIR(want->mode))
		cr_expect(got->size == want->size, "%s: %s: size %ju, not %ju", w->shell, what,
			(uintmax_t)got->size, (uintmax_t)want->size);
}

/* What a removed inode was like when its last name went cannot be asked by name. */
static bool is_gone(const struct change *c, const struct change_result *want)
{
	return c->op == CHANGE_UNLINK && !c->path2 && want->has_attr &&
		(want->attr.nlink == 0 || !S_ISREG(want->attr.mode));
}

static void expect_same_result(const char *what, const struct pair *w, const struct change *c,
	const struct change_result *got, const struct change_result *want)
{
	cr_expect(got->err == want->err, "%s: %s: '%s' (%s), not '%s' (%s)", w->shell, what,
		error_words(got->err), got->why, error_words(want->err), want->why);
	if (got->err || want->err)
		return;
	cr_expect(got->count == want->count, "%s: %s: count", w->shell, what);
	cr_expect(got->offset == want->offset, "%s: %s: offset", w->shell, what);
	cr_expect(got->has_parent == want->has_parent, "%s: %s: parent", w->shell, what);
	cr_expect(got->has_parent2 == want->has_parent2, "%s: %s: parent2", w->shell, what);
	cr_expect(got->has_attr == want->has_attr || is_gone(c, want), "%s: %s: has_attr %d",
		w->shell, what, got->has_attr);
	if (got->has_attr && want->has_attr)
		expect_same_attr(what, w, &got->attr, &want->attr);
	if (got->has_parent && want->has_parent)
		expect_same_attr(what, w, &got->parent, &want->parent);
	if (got->has_parent2 && want->has_parent2)
		expect_same_attr(what, w, &got->parent2, &want->parent2);
}

static void describe_file(struct buf *out, const FTSENT *f, size_t root_len)
{
	char bytes[4096] = "";
	AUTO_CLOSE int fd = -1;
	ssize_t len = 0;

	if (S_ISLNK(f->fts_statp->st_mode))
		len = readlink(f->fts_accpath, bytes, sizeof bytes);
	else if (S_ISREG(f->fts_statp->st_mode))
		fd = open(f->fts_accpath, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		len = read(fd, bytes, sizeof bytes);
	buf_printf(out, "%s %o %ju %ju '", f->fts_path + root_len, f->fts_statp->st_mode,
		(uintmax_t)f->fts_statp->st_nlink,
		S_ISDIR(f->fts_statp->st_mode) ? 0 : (uintmax_t)f->fts_statp->st_size);
	buf_add(out, bytes, len > 0 ? (size_t)len : 0);
	buf_add_string(out, "'\n");
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Everything below `name`, and what the files begin with. */
static void describe_tree(const struct scratch *in, const char *name, struct buf *out)
{
	AUTO_FREE char *root = path_join(in->path, name);
	FTS *walk = fts_open((char *[]){ root, NULL }, FTS_PHYSICAL | FTS_NOCHDIR, by_name);

	cr_assert(walk != NULL);
	for (FTSENT *f = fts_read(walk); f; f = fts_read(walk))
		if (f->fts_info != FTS_DP)
			describe_file(out, f, strlen(root));
	fts_close(walk);
}

static void expect_same_trees(const char *what, const struct pair *w)
{
	AUTO_BUF struct buf got = BUF_INIT(1 << 24), want = BUF_INIT(1 << 24);

	describe_tree(&w->scratch, "s", &got);
	describe_tree(&w->scratch, "h", &want);
	cr_expect(got.len == want.len && !memcmp(got.bytes, want.bytes, got.len),
		"%s: %s: the trees differ:\n%s\n%s", w->shell, what, buf_text(&got),
		buf_text(&want));
}

static void expect_same(
	const char *what, struct pair *w, const struct change *changes, size_t count)
{
	const struct apply_request request = { .changes = changes, .changes_count = count };
	struct change_result got[CHANGES_MAX], want[CHANGES_MAX];
	struct error e = { 0 };

	cr_assert(count <= CHANGES_MAX);
	cr_assert(helper_apply(&w->helper, NULL, &request, want, &e) == ERR_OK, "%s", e.text);
	pair_apply(w, changes, count, got);
	for (size_t i = 0; i < count; i++)
		expect_same_result(what, w, &changes[i], &got[i], &want[i]);
	expect_same_trees(what, w);
}

/* ---- apply: each refusal and each success is the helper's ---- */

#define TIME(seconds, ns)                                                                          \
	{                                                                                          \
		.tv_sec = (seconds), .tv_nsec = (ns)                                               \
	}

static const struct change changes[] = {
	{ .op = CHANGE_MKDIR, .path = "new", .mode = 0751, OWNERLESS },
	{ .op = CHANGE_MKDIR, .path = "new", .mode = 01777, OWNERLESS },
	{ .op = CHANGE_MKDIR, .path = "sgid/new", .mode = 0700, OWNERLESS },
	{ .op = CHANGE_MKDIR, .path = "f", .mode = 0755, OWNERLESS },
	{ .op = CHANGE_MKDIR, .path = "dangling", .mode = 0755, OWNERLESS },
	{ .op = CHANGE_MKDIR, .path = "none/new", .mode = 0755, OWNERLESS },
	{ .op = CHANGE_MKDIR, .path = "f/new", .mode = 0755, OWNERLESS },
	{ .op = CHANGE_MKDIR, .path = "ld/new", .mode = 0755, OWNERLESS },
	{ .op = CHANGE_CREATE, .path = "new", .mode = 0640, OWNERLESS },
	{ .op = CHANGE_CREATE, .path = "new", .mode = 0755, OWNERLESS },
	{ .op = CHANGE_CREATE, .path = "new", .mode = 06711, OWNERLESS },
	{ .op = CHANGE_CREATE, .path = "sgid/new", .mode = 0, OWNERLESS },
	{ .op = CHANGE_CREATE, .path = "f", .mode = 0755, OWNERLESS },
	{ .op = CHANGE_CREATE, .path = "f", .mode = 0755, .flags = CHANGE_EXCL, OWNERLESS },
	{ .op = CHANGE_CREATE, .path = "d", .mode = 0755, OWNERLESS },
	{ .op = CHANGE_CREATE, .path = "l", .mode = 0755, OWNERLESS },
	{ .op = CHANGE_CREATE, .path = "dangling", .mode = 0755, OWNERLESS },
	{ .op = CHANGE_CREATE, .path = "p", .mode = 0755, OWNERLESS },
	{ .op = CHANGE_CREATE, .path = "/new", .mode = 0600, OWNERLESS },
	{ .op = CHANGE_MKNOD, .path = "new", .mode = S_IFIFO | 0640, OWNERLESS },
	{ .op = CHANGE_MKNOD, .path = "new", .mode = S_IFIFO | 0777, OWNERLESS },
	{ .op = CHANGE_MKNOD, .path = "new", .mode = S_IFREG | 0606, OWNERLESS },
	{ .op = CHANGE_MKNOD, .path = "f", .mode = S_IFIFO | 0640, OWNERLESS },
	{ .op = CHANGE_MKNOD, .path = "f", .mode = S_IFREG | 0640, OWNERLESS },
	{ .op = CHANGE_SYMLINK, .path = "new", .data = "-a 'b' $(c)\n", .data_len = 12, OWNERLESS },
	{ .op = CHANGE_SYMLINK, .path = "new", .data = "", .data_len = 0, OWNERLESS },
	{ .op = CHANGE_SYMLINK, .path = "new", .data = "a\0b", .data_len = 3, OWNERLESS },
	{ .op = CHANGE_SYMLINK, .path = "d", .data = "x", .data_len = 1, OWNERLESS },
	{ .op = CHANGE_SYMLINK, .path = "ld", .data = "x", .data_len = 1, OWNERLESS },
	{ .op = CHANGE_LINK, .path = "f", .path2 = "new" },
	{ .op = CHANGE_LINK, .path = "f", .path2 = "d/new" },
	{ .op = CHANGE_LINK, .path = "d/in", .path2 = "new" },
	{ .op = CHANGE_LINK, .path = "f", .path2 = "g" },
	{ .op = CHANGE_LINK, .path = "f", .path2 = "d" },
	{ .op = CHANGE_LINK, .path = "f", .path2 = "ld" },
	{ .op = CHANGE_LINK, .path = "none", .path2 = "new" },
	{ .op = CHANGE_LINK, .path = "l", .path2 = "new" },
	{ .op = CHANGE_LINK, .path = "dangling", .path2 = "new" },
	{ .op = CHANGE_LINK, .path = "f", .path2 = "none/new" },
	{ .op = CHANGE_UNLINK, .path = "f" },
	{ .op = CHANGE_UNLINK, .path = "h1" },
	{ .op = CHANGE_UNLINK, .path = "l" },
	{ .op = CHANGE_UNLINK, .path = "ld" },
	{ .op = CHANGE_UNLINK, .path = "dangling" },
	{ .op = CHANGE_UNLINK, .path = "p" },
	{ .op = CHANGE_UNLINK, .path = "d" },
	{ .op = CHANGE_UNLINK, .path = "none" },
	{ .op = CHANGE_UNLINK, .path = "d/in" },
	{ .op = CHANGE_UNLINK, .path = "l/x" },
	{ .op = CHANGE_UNLINK, .path = "f", .path2 = "/kept" },
	{ .op = CHANGE_UNLINK, .path = "d/in", .path2 = "/kept" },
	{ .op = CHANGE_UNLINK, .path = "e", .path2 = "/kept" },
	{ .op = CHANGE_UNLINK, .path = "f", .path2 = "/t" },
	{ .op = CHANGE_UNLINK, .path = "f", .path2 = "kept" },
	{ .op = CHANGE_RMDIR, .path = "e" },
	{ .op = CHANGE_RMDIR, .path = "d" },
	{ .op = CHANGE_RMDIR, .path = "d/sub" },
	{ .op = CHANGE_RMDIR, .path = "f" },
	{ .op = CHANGE_RMDIR, .path = "ld" },
	{ .op = CHANGE_RMDIR, .path = "none" },
	{ .op = CHANGE_RENAME, .path = "f", .path2 = "new" },
	{ .op = CHANGE_RENAME, .path = "f", .path2 = "g" },
	{ .op = CHANGE_RENAME, .path = "f", .path2 = "f" },
	{ .op = CHANGE_RENAME, .path = "f", .path2 = "d/f" },
	{ .op = CHANGE_RENAME, .path = "d/in", .path2 = "in" },
	{ .op = CHANGE_RENAME, .path = "d/in", .path2 = "f" },
	{ .op = CHANGE_RENAME, .path = "d/in", .path2 = "d/new" },
	{ .op = CHANGE_RENAME, .path = "f", .path2 = "d" },
	{ .op = CHANGE_RENAME, .path = "f", .path2 = "e" },
	{ .op = CHANGE_RENAME, .path = "f", .path2 = "l" },
	{ .op = CHANGE_RENAME, .path = "f", .path2 = "ld" },
	{ .op = CHANGE_RENAME, .path = "f", .path2 = "dangling" },
	{ .op = CHANGE_RENAME, .path = "l", .path2 = "ld" },
	{ .op = CHANGE_RENAME, .path = "l", .path2 = "new" },
	{ .op = CHANGE_RENAME, .path = "h1", .path2 = "h2" },
	{ .op = CHANGE_RENAME, .path = "e", .path2 = "e2" },
	{ .op = CHANGE_RENAME, .path = "d", .path2 = "e" },
	{ .op = CHANGE_RENAME, .path = "d", .path2 = "e/d" },
	{ .op = CHANGE_RENAME, .path = "d/sub", .path2 = "e" },
	{ .op = CHANGE_RENAME, .path = "d/sub", .path2 = "sub" },
	{ .op = CHANGE_RENAME, .path = "e", .path2 = "d" },
	{ .op = CHANGE_RENAME, .path = "d", .path2 = "f" },
	{ .op = CHANGE_RENAME, .path = "e", .path2 = "l" },
	{ .op = CHANGE_RENAME, .path = "e", .path2 = "ld" },
	{ .op = CHANGE_RENAME, .path = "d", .path2 = "d/sub/x" },
	{ .op = CHANGE_RENAME, .path = "d", .path2 = "d/x" },
	{ .op = CHANGE_RENAME, .path = "none", .path2 = "new" },
	{ .op = CHANGE_RENAME, .path = "none", .path2 = "f" },
	{ .op = CHANGE_RENAME, .path = "f", .path2 = "none/x" },
	{ .op = CHANGE_RENAME, .path = "f", .path2 = "ld/x" },
	{ .op = CHANGE_RENAME, .path = "ld/in", .path2 = "x" },
	{ .op = CHANGE_RENAME, .path = "f", .path2 = "new", .flags = CHANGE_NOREPLACE },
	{ .op = CHANGE_RENAME, .path = "f", .path2 = "g", .flags = CHANGE_NOREPLACE },
	{ .op = CHANGE_RENAME, .path = "f", .path2 = "dangling", .flags = CHANGE_NOREPLACE },
	{ .op = CHANGE_RENAME, .path = "d", .path2 = "e", .flags = CHANGE_NOREPLACE },
	{ .op = CHANGE_RENAME, .path = "d", .path2 = "new", .flags = CHANGE_NOREPLACE },
	{ .op = CHANGE_RENAME, .path = "h1", .path2 = "h2", .flags = CHANGE_NOREPLACE },
	{ .op = CHANGE_RENAME, .path = "f", .path2 = "g", .flags = CHANGE_EXCHANGE },
	{ .op = CHANGE_RENAME, .path = "f", .path2 = "d", .flags = CHANGE_EXCHANGE },
	{ .op = CHANGE_RENAME, .path = "d/in", .path2 = "l", .flags = CHANGE_EXCHANGE },
	{ .op = CHANGE_RENAME, .path = "ld", .path2 = "e", .flags = CHANGE_EXCHANGE },
	{ .op = CHANGE_RENAME, .path = "d", .path2 = "d/sub", .flags = CHANGE_EXCHANGE },
	{ .op = CHANGE_RENAME, .path = "d/sub", .path2 = "d", .flags = CHANGE_EXCHANGE },
	{ .op = CHANGE_RENAME, .path = "f", .path2 = "none", .flags = CHANGE_EXCHANGE },
	{ .op = CHANGE_RENAME, .path = "f", .path2 = "f", .flags = CHANGE_EXCHANGE },
	{ .op = CHANGE_RENAME,
		.path = "f",
		.path2 = "g",
		.flags = CHANGE_EXCHANGE | CHANGE_NOREPLACE },
	{ .op = CHANGE_RENAME, .path = "f", .path2 = "g", .keep = "/kept" },
	{ .op = CHANGE_RENAME, .path = "f", .path2 = "new", .keep = "/kept" },
	{ .op = CHANGE_RENAME, .path = "f", .path2 = "l", .keep = "/kept" },
	{ .op = CHANGE_RENAME, .path = "f", .path2 = "g", .keep = "/t" },
	{ .op = CHANGE_RENAME, .path = "f", .path2 = "g", .keep = "kept" },
	{ .op = CHANGE_RENAME, .path = "e", .path2 = "e2", .keep = "/kept" },
	{ .op = CHANGE_RENAME, .path = "f", .path2 = "d", .keep = "/kept" },
	{ .op = CHANGE_RENAME, .path = "f", .path2 = "loop" },
	{ .op = CHANGE_RENAME, .path = "e", .path2 = "loop" },
	{ .op = CHANGE_RENAME, .path = "loop", .path2 = "new" },
	{ .op = CHANGE_RENAME, .path = "loop", .path2 = "ld" },
	{ .op = CHANGE_RENAME, .path = "f", .path2 = "d/loop", .flags = CHANGE_NOREPLACE },
	{ .op = CHANGE_RENAME, .path = "f", .path2 = "loop", .flags = CHANGE_NOREPLACE },
	{ .op = CHANGE_RENAME, .path = "f", .path2 = "loop", .flags = CHANGE_EXCHANGE },
	{ .op = CHANGE_RENAME, .path = "f", .path2 = "loop", .keep = "/kept" },
	{ .op = CHANGE_UNLINK, .path = "loop" },
	{ .op = CHANGE_UNLINK, .path = "loop", .path2 = "/kept" },
	{ .op = CHANGE_LINK, .path = "f", .path2 = "loop" },
	{ .op = CHANGE_LINK, .path = "loop", .path2 = "new" },
	{ .op = CHANGE_MKDIR, .path = "loop", .mode = 0755, OWNERLESS },
	{ .op = CHANGE_RMDIR, .path = "loop" },
	{ .op = CHANGE_SYMLINK, .path = "loop", .data = "x", .data_len = 1, OWNERLESS },
	{ .op = CHANGE_CREATE, .path = "loop", .mode = 0644, .flags = CHANGE_EXCL, OWNERLESS },
	{ .op = CHANGE_SETATTR, .path = "loop", .set = SET_MTIME, .mtime = TIME(5, 0) },
	{ .op = CHANGE_WRITE, .path = "loop", .data = "x", .data_len = 1 },
	{ .op = CHANGE_SETATTR, .path = "f", .set = SET_MODE, .mode = 0604 },
	{ .op = CHANGE_SETATTR, .path = "f", .set = SET_MODE, .mode = 06755 },
	{ .op = CHANGE_SETATTR, .path = "sgid", .set = SET_MODE, .mode = 0755 },
	{ .op = CHANGE_SETATTR, .path = "l", .set = SET_MODE, .mode = 0755 },
	{ .op = CHANGE_SETATTR, .path = "none", .set = SET_MODE, .mode = 0755 },
	{ .op = CHANGE_SETATTR, .path = "", .set = SET_MODE, .mode = 0750 },
	{ .op = CHANGE_SETATTR, .path = "f", .set = SET_SIZE, .size = 3 },
	{ .op = CHANGE_SETATTR, .path = "f", .set = SET_SIZE, .size = 70000 },
	{ .op = CHANGE_SETATTR, .path = "f", .set = SET_SIZE | SET_MODE, .size = 0, .mode = 0600 },
	{ .op = CHANGE_SETATTR, .path = "f", .set = SET_SIZE, .size = UINT64_MAX },
	{ .op = CHANGE_SETATTR, .path = "f", .set = SET_SIZE, .size = INT64_MAX },
	{ .op = CHANGE_SETATTR, .path = "d", .set = SET_SIZE, .size = 3 },
	{ .op = CHANGE_SETATTR, .path = "l", .set = SET_SIZE, .size = 3 },
	{ .op = CHANGE_SETATTR, .path = "p", .set = SET_SIZE, .size = 3 },
	{ .op = CHANGE_SETATTR, .path = "ro", .set = SET_SIZE, .size = 3 },
	{ .op = CHANGE_SETATTR,
		.path = "ro",
		.set = SET_SIZE,
		.size = 3,
		.flags = CHANGE_BY_HANDLE },
	{ .op = CHANGE_SETATTR, .path = "f", .set = SET_MTIME, .mtime = TIME(1000000000, 0) },
	{ .op = CHANGE_SETATTR, .path = "d", .set = SET_ATIME, .atime = TIME(5, 0) },
	{ .op = CHANGE_SETATTR,
		.path = "l",
		.set = SET_ATIME | SET_MTIME,
		.atime = TIME(5, 0),
		.mtime = TIME(6, 0) },
	{ .op = CHANGE_SETATTR, .path = "none", .set = SET_MTIME, .mtime = TIME(5, 0) },
	{ .op = CHANGE_SETATTR, .path = "f", .set = 0 },
	{ .op = CHANGE_WRITE, .path = "f", .offset = 3, .data = "abc", .data_len = 3 },
	{ .op = CHANGE_WRITE, .path = "f", .offset = 0, .data = "a\0b\n\n", .data_len = 5 },
	{ .op = CHANGE_WRITE, .path = "f", .offset = 100001, .data = "end", .data_len = 3 },
	{ .op = CHANGE_WRITE, .path = "f", .offset = 3, .data = "", .data_len = 0 },
	{ .op = CHANGE_WRITE, .path = "f", .offset = INT64_MAX, .data = "x", .data_len = 1 },
	{ .op = CHANGE_WRITE, .path = "f", .offset = UINT64_MAX, .data = "x", .data_len = 1 },
	{ .op = CHANGE_WRITE, .path = "d", .offset = 0, .data = "x", .data_len = 1 },
	{ .op = CHANGE_WRITE, .path = "l", .offset = 0, .data = "x", .data_len = 1 },
	{ .op = CHANGE_WRITE, .path = "p", .offset = 0, .data = "x", .data_len = 1 },
	{ .op = CHANGE_WRITE, .path = "none", .offset = 0, .data = "x", .data_len = 1 },
	{ .op = CHANGE_WRITE, .path = "ro", .offset = 0, .data = "x", .data_len = 1 },
	{ .op = CHANGE_WRITE, .path = "ro", .data = "x", .data_len = 1, .flags = CHANGE_BY_HANDLE },
	{ .op = CHANGE_WRITE,
		.path = "closed",
		.data = "x",
		.data_len = 1,
		.flags = CHANGE_BY_HANDLE },
	{ .op = CHANGE_WRITE, .path = "suid", .data = "x", .data_len = 1 },
	{ .op = CHANGE_APPEND, .path = "f", .data = "\xff\0", .data_len = 2 },
	{ .op = CHANGE_APPEND, .path = "f", .data = "", .data_len = 0 },
	{ .op = CHANGE_APPEND, .path = "d", .data = "x", .data_len = 1 },
	{ .op = CHANGE_APPEND, .path = "none", .data = "x", .data_len = 1 },
	{ .op = CHANGE_APPEND,
		.path = "ro",
		.data = "x",
		.data_len = 1,
		.flags = CHANGE_BY_HANDLE },
	{ .op = CHANGE_FALLOCATE, .path = "f", .offset = 5, .length = 100000 },
	{ .op = CHANGE_FALLOCATE, .path = "f", .length = 0 },
	{ .op = CHANGE_FALLOCATE, .path = "d", .length = 5 },
	{ .op = CHANGE_FALLOCATE, .path = "none", .length = 5 },
	{ .op = CHANGE_COPY, .path = "f", .path2 = "g", .offset = 2, .offset2 = 1, .length = 4 },
	{ .op = CHANGE_COPY,
		.path = "f",
		.path2 = "d/in",
		.offset = 5,
		.offset2 = 9,
		.length = 100 },
	{ .op = CHANGE_COPY, .path = "f", .path2 = "g", .length = UINT64_MAX },
	{ .op = CHANGE_COPY, .path = "f", .path2 = "g", .offset = 10, .length = 5 },
	{ .op = CHANGE_COPY, .path = "f", .path2 = "g", .offset = 11, .length = 5 },
	{ .op = CHANGE_COPY, .path = "f", .path2 = "g", .length = 0 },
	{ .op = CHANGE_COPY, .path = "f", .path2 = "f", .offset2 = 5, .length = 5 },
	{ .op = CHANGE_COPY, .path = "f", .path2 = "f", .offset2 = 5, .length = 6 },
	{ .op = CHANGE_COPY, .path = "h1", .path2 = "h2", .offset2 = 1, .length = 2 },
	{ .op = CHANGE_COPY, .path = "f", .path2 = "none", .length = 5 },
	{ .op = CHANGE_COPY, .path = "f", .path2 = "l", .length = 5 },
	{ .op = CHANGE_COPY,
		.path = "closed",
		.path2 = "ro",
		.length = 99,
		.flags = CHANGE_BY_HANDLE },
	{ .op = CHANGE_PLACE, .path = "/t", .path2 = "new" },
	{ .op = CHANGE_PLACE, .path = "/t", .path2 = "f" },
	{ .op = CHANGE_PLACE, .path = "/t", .path2 = "closed", .flags = CHANGE_BY_HANDLE },
	{ .op = CHANGE_PLACE, .path = "/t", .path2 = "g" },
	{ .op = CHANGE_PLACE, .path = "/t", .path2 = "sgid/new" },
	{ .op = CHANGE_PLACE, .path = "/t", .path2 = "f", .flags = CHANGE_EXCL },
	{ .op = CHANGE_PLACE, .path = "/t", .path2 = "new", .flags = CHANGE_REPLACE },
	{ .op = CHANGE_PLACE, .path = "/t", .path2 = "f", .flags = CHANGE_EXCHANGE },
	{ .op = CHANGE_PLACE, .path = "/t", .path2 = "h1", .flags = CHANGE_EXCHANGE },
	{ .op = CHANGE_PLACE, .path = "/t", .path2 = "empty", .flags = CHANGE_EXCHANGE },
	{ .op = CHANGE_PLACE,
		.path = "/t",
		.path2 = "sgid/empty",
		.flags = CHANGE_EXCHANGE | CHANGE_REPLACE },
	{ .op = CHANGE_PLACE, .path = "/t", .path2 = "empty two", .flags = CHANGE_EXCHANGE },
	{ .op = CHANGE_PLACE, .path = "/t", .path2 = "d", .flags = CHANGE_EXCHANGE },
	{ .op = CHANGE_PLACE,
		.path = "/t",
		.path2 = "empty",
		.flags = CHANGE_EXCHANGE | CHANGE_EXCL },
	{ .op = CHANGE_PLACE, .path = "/t", .path2 = "d" },
	{ .op = CHANGE_PLACE, .path = "/t", .path2 = "l" },
	{ .op = CHANGE_PLACE, .path = "/none", .path2 = "new" },
	{ .op = CHANGE_PLACE, .path = "f", .path2 = "new" },
#define MAKES .op = CHANGE_PLACE, .path = "/made", .mode = 0640, OWNERLESS
	{ MAKES, .flags = CHANGE_MAKES | CHANGE_EXCL, .path2 = "new" },
	{ MAKES, .flags = CHANGE_MAKES, .path2 = "new", .data = "a\0b", .data_len = 3 },
	{ MAKES, .flags = CHANGE_MAKES, .path2 = "f", .data = "over it", .data_len = 7 },
	{ MAKES, .flags = CHANGE_MAKES | CHANGE_EXCL, .path2 = "f", .data = "never",
		.data_len = 5 },
	{ MAKES, .flags = CHANGE_MAKES | CHANGE_EXCL | CHANGE_BY_HANDLE, .path2 = "sgid/new",
		.set = SET_MTIME, .mtime = TIME(1000000000, 0), .data = "x", .data_len = 1 },
	{ MAKES, .flags = CHANGE_MAKES, .path2 = "d", .data = "x", .data_len = 1 },
	{ MAKES, .flags = CHANGE_MAKES, .path2 = "none/new", .data = "x", .data_len = 1 },
#undef MAKES
	{ .op = CHANGE_WRITE, .flags = CHANGE_MAKES, .path = "f", .data = "x", .data_len = 1 },
	{ .op = CHANGE_SETXATTR,
		.path = "f",
		.name = "user.a",
		.data = "\0\xff'\n",
		.data_len = 4 },
	{ .op = CHANGE_SETXATTR,
		.path = "f",
		.name = "user.-x y='$(z)'",
		.data = "",
		.data_len = 0 },
	{ .op = CHANGE_SETXATTR,
		.path = "f",
		.name = "user.a",
		.flags = CHANGE_REPLACE,
		.data = "x",
		.data_len = 1 },
	{ .op = CHANGE_SETXATTR, .path = "f", .name = "trusted.a", .data = "x", .data_len = 1 },
	{ .op = CHANGE_SETXATTR, .path = "none", .name = "user.a", .data = "x", .data_len = 1 },
	{ .op = CHANGE_SETXATTR, .path = "l", .name = "user.a", .data = "x", .data_len = 1 },
	{ .op = CHANGE_REMOVEXATTR, .path = "f", .name = "user.none" },
	{ .op = CHANGE_SYNC, .path = "f" },
	{ .op = CHANGE_SYNC, .path = "d" },
	{ .op = CHANGE_SYNC, .path = "" },
	{ .op = CHANGE_SYNC, .path = "l" },
	{ .op = CHANGE_SYNC, .path = "closed" },
	{ .op = CHANGE_SYNC, .path = "none" },
	{ .op = CHANGE_MKDIR, .path = "../out", .mode = 0755, OWNERLESS },
	{ .op = CHANGE_MKDIR, .path = "a//b", .mode = 0755, OWNERLESS },
	{ .op = CHANGE_MKDIR, .path = "/", .mode = 0755, OWNERLESS },
	{ .op = CHANGE_OP_END, .path = "f" },
};
#define CHANGES_COUNT (sizeof changes / sizeof *changes)

/* Each in a pair of trees of its own. */
static void expect_each_the_same(struct pair *over)
{
	for (size_t row = 0; row < CHANGES_COUNT; row++) {
		struct pair w;
		char what[64];

		pair_make(&w, over->shell);
		pair_make_fixtures(&w);
		snprintf(what, sizeof what, "row %zu (op %d, %s)", row, changes[row].op,
			changes[row].path);
		expect_same(what, &w, &changes[row], 1);
		pair_remove(&w);
	}
}

OVER_SHELLS_AS_NOBODY(shell_apply, each_change_ends_as_the_helpers_does_for_an_ordinary_user)
{
	expect_each_the_same(w);
}

OVER_SHELLS_AT_LENGTH(shell_apply, each_change_ends_as_the_helpers_does_for_root)
{
	expect_each_the_same(w);
}

/* ---- apply: what only shows in a batch ---- */

OVER_SHELLS(shell_apply, a_change_whose_need_failed_is_skipped_and_its_contents_with_it)
{
	const struct change batch[] = {
		{ .op = CHANGE_MKDIR, .path = "f", .mode = 0755, OWNERLESS },
		{ .op = CHANGE_WRITE, .path = "f", .needs = 1, .data = "skipped", .data_len = 7 },
		{ .op = CHANGE_WRITE, .path = "none", .data = "refused", .data_len = 7 },
		{ .op = CHANGE_WRITE, .path = "d", .data = "refused too", .data_len = 11 },
		{ .op = CHANGE_WRITE, .path = "f", .offset = 2, .data = "kept", .data_len = 4 },
		{ .op = CHANGE_APPEND, .path = "f", .needs = 5, .data = "\n\n", .data_len = 2 },
		{ .op = CHANGE_APPEND, .path = "g", .needs = 2, .data = "skipped", .data_len = 7 },
		{ .op = CHANGE_APPEND, .path = "g", .needs = 9, .data = "skipped", .data_len = 7 },
	};

	pair_make_fixtures(w);
	expect_same("batch", w, batch, 8);
}

OVER_SHELLS(shell_apply, a_batch_is_one_command)
{
	struct change batch[200];
	struct change_result results[200];

	for (size_t i = 0; i < 200; i++)
		batch[i] = (struct change){ .op = CHANGE_CREATE, .path = "f", OWNERLESS };
	pair_apply(w, batch, 200, results);
	cr_expect(eq(sz, w->host.executed, 1));
	cr_expect(eq(int, results[199].err, ERR_OK));
}

OVER_SHELLS(shell_apply, a_megabyte_of_any_bytes_arrives_at_any_offset)
{
	AUTO_FREE unsigned char *bytes = pair_noise(MEGABYTE, 7), *want = calloc(4, MEGABYTE);
	const struct change batch[] = {
		{ .op = CHANGE_CREATE, .path = "f", .mode = 0600, OWNERLESS },
		{ .op = CHANGE_WRITE,
			.path = "f",
			.offset = 1,
			.data = bytes,
			.data_len = MEGABYTE },
		{ .op = CHANGE_WRITE, .path = "d", .data = bytes, .data_len = MEGABYTE },
		{ .op = CHANGE_WRITE,
			.path = "f",
			.offset = 2 * MEGABYTE + 4097,
			.data = bytes,
			.data_len = MEGABYTE - 3 },
		{ .op = CHANGE_WRITE,
			.path = "f",
			.offset = 65535,
			.data = bytes + 9,
			.data_len = 1 },
		{ .op = CHANGE_APPEND, .path = "f", .data = bytes + 10, .data_len = 777 },
	};
	struct change_result r[6];
	size_t len;

	memcpy(want + 1, bytes, MEGABYTE);
	memcpy(want + 2 * MEGABYTE + 4097, bytes, MEGABYTE - 3);
	want[65535] = bytes[9];
	memcpy(want + 3 * MEGABYTE + 4094, bytes + 10, 777);
	pair_apply(w, batch, 6, r);
	AUTO_FREE char *got = scratch_read(&w->by_shell, "f", &len);

	cr_expect(eq(int, r[2].err, ERR_NOT_FOUND));
	cr_expect(eq(u64, r[5].offset, 3 * MEGABYTE + 4094));
	cr_assert(eq(sz, len, 3 * MEGABYTE + 4094 + 777));
	cr_expect(memcmp(got, want, len) == 0, "%s", w->shell);
}

/* Longer than any argument may be: the script then comes where the contents come, before them. */
OVER_SHELLS(shell_apply, a_batch_of_thousands_keeps_script_and_contents_apart)
{
	enum { FILES = 1500 };
	struct change *batch = calloc(2 * FILES, sizeof *batch);
	struct change_result *results = calloc(2 * FILES, sizeof *results);
	char(*names)[200] = calloc(FILES, sizeof *names);
	size_t len;

	for (uint32_t i = 0; i < FILES; i++) {
		memset(names[i], 'n', sizeof names[i]);
		snprintf(names[i], 20, "%d'", (int)i);
		names[i][strlen(names[i])] = 'n';
		names[i][199] = 0;
		batch[2 * i] = (struct change){
			.op = CHANGE_CREATE, .path = names[i], .mode = 0600, OWNERLESS
		};
		batch[2 * i + 1] = (struct change){ .op = CHANGE_WRITE,
			.path = names[i],
			.needs = 2 * i + 1,
			.data = names[i],
			.data_len = i % 100 };
	}
	pair_apply(w, batch, 2 * FILES, results);
	for (size_t i = 0; i < 2 * FILES; i++)
		cr_assert(results[i].err == ERR_OK, "%s: %zu: %s", w->shell, i, results[i].why);
	for (size_t i = 0; i < FILES; i += 77) {
		AUTO_FREE char *got = scratch_read(&w->by_shell, names[i], &len);

		cr_expect(len == i % 100 && !memcmp(got, names[i], len));
	}
	free(names);
	free(results);
	free(batch);
}

static uint64_t last_sequence(const struct pair *w, const unsigned char *journal)
{
	AUTO_SEQUENCE struct sequence record = SEQUENCE_NONE;
	struct root r;

	cr_assert(root_open(&r, w->host.root, w->host.base.staging, NULL) == ERR_OK);
	cr_assert(sequence_open(&r, NULL, journal, 0, &record, NULL) == ERR_OK);
	root_close(&r);
	return record.over;
}

/* The record is the helper's own, so that a journal may be finished by either. */
OVER_SHELLS(shell_apply, a_recorded_change_is_not_done_again)
{
	const struct change batch[] = {
		{ .op = CHANGE_APPEND, .path = "f", .data = "a", .data_len = 1 },
		{ .op = CHANGE_APPEND, .path = "f", .data = "b", .data_len = 1 },
		{ .op = CHANGE_RMDIR, .path = "none" },
	};
	struct apply_request request = { .journal = { 1, 0xab },
		.first_sequence = 70000,
		.changes = batch,
		.changes_count = 2 };
	struct change_result r[3];
	size_t len;

	scratch_write_text(&w->by_shell, "f", "");
	cr_assert(eq(int, shell_apply(&w->host.base, NULL, &request, r, NULL), ERR_OK));
	cr_expect(eq(u64, last_sequence(w, request.journal), 70001));
	request.changes_count = 3;
	cr_assert(eq(int, shell_apply(&w->host.base, NULL, &request, r, NULL), ERR_OK));
	cr_expect(r[0].err == ERR_OK && r[0].has_attr && r[0].attr.size == 2 && r[0].has_parent);
	cr_expect(eq(int, r[2].err, ERR_NOT_FOUND));
	cr_expect(eq(u64, last_sequence(w, request.journal), 70002));
	AUTO_FREE char *got = scratch_read(&w->by_shell, "f", &len);

	cr_expect(len == 2 && !memcmp(got, "ab", 2), "%s", w->shell);
}

/* ---- apply: sent again ---- */

static void apply_recorded(
	struct pair *w, bool by_shell, const struct change *c, struct change_result *out)
{
	const struct apply_request request = {
		.journal = { 5 }, .first_sequence = 8, .changes = c, .changes_count = 1
	};
	struct error e = { 0 };
	enum err kind = by_shell ? shell_apply(&w->host.base, NULL, &request, out, &e)
				 : helper_apply(&w->helper, NULL, &request, out, &e);

	cr_assert(eq(int, kind, ERR_OK), "%s: %s", w->shell, e.text);
}

/* Of the shell's staging or the helper's. */
static int open_staged(const struct pair *w, bool by_shell, const char *name, int flags)
{
	AUTO_CLOSE int shells = open(w->host.base.staging, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return openat(by_shell ? shells : w->helper.staging_fd, name, flags | O_CLOEXEC, 0600);
}

static int open_record(const struct pair *w, bool by_shell, int flags)
{
	int fd = open_staged(w, by_shell, "seq-05000000000000000000000000000000", O_RDWR | flags);

	cr_assert(fd >= 0);
	return fd;
}

/* What the change's own name is before it. */
static struct stat stat_before(const struct pair *w, bool by_shell, const struct change *c)
{
	const struct scratch *tree = by_shell ? &w->by_shell : &w->by_helper;
	const char *path = c->op == CHANGE_LINK ? c->path2 : c->path;
	struct stat st = { 0 };

	if (path_is_staged(path)) {
		AUTO_CLOSE int fd = open_staged(w, by_shell, path + 1, O_RDONLY);

		fstat(fd, &st);
	} else {
		fstatat(tree->fd, path, &st, AT_SYMLINK_NOFOLLOW);
	}
	return st;
}

/* It is done or refused, and then nobody lived to say so. */
static enum err done_twice(const char *what, struct pair *w, bool by_shell, const struct change *c)
{
	struct stat before = stat_before(w, by_shell, c);
	struct change_result first, again;

	apply_recorded(w, by_shell, c, &first);
	AUTO_CLOSE int record = open_record(w, by_shell, O_TRUNC);

	dprintf(record, "%20d b %20ju %20ju\n", 8, (uintmax_t)before.st_size,
		(uintmax_t)before.st_ino);
	apply_recorded(w, by_shell, c, &again);
	cr_expect(eq(int, again.err, first.err), "%s: %s: %s", w->shell, what, again.why);
	cr_assert(ftruncate(record, 0) == 0);
	return first.err;
}

static void expect_done_once(const char *what, struct pair *w, const struct change *c)
{
	enum err by_helper = done_twice(what, w, false, c);

	cr_expect(eq(int, done_twice(what, w, true, c), by_helper), "%s: %s", w->shell, what);
	expect_same_trees(what, w);
}

OVER_SHELLS(shell_apply, what_a_killed_run_did_is_not_done_again)
{
	static const struct change rows[] = {
		{ .op = CHANGE_MKDIR, .path = "made", .mode = 0751, OWNERLESS },
		{ .op = CHANGE_CREATE,
			.flags = CHANGE_EXCL,
			.path = "new",
			.mode = 0750,
			OWNERLESS },
		{ .op = CHANGE_MKNOD, .path = "pipe", .mode = S_IFIFO | 0640, OWNERLESS },
		{ .op = CHANGE_SYMLINK, .path = "sl", .data = "to\n", .data_len = 3, OWNERLESS },
		{ .op = CHANGE_LINK, .path = "new", .path2 = "made/too" },
		{ .op = CHANGE_APPEND, .path = "new", .data = "more", .data_len = 4 },
		{ .op = CHANGE_APPEND, .path = "new", .data = "more", .data_len = 4 },
		{ .op = CHANGE_RENAME, .path = "sl", .path2 = "made/sl" },
		{ .op = CHANGE_RENAME,
			.flags = CHANGE_EXCHANGE,
			.path = "made/sl",
			.path2 = "pipe" },
		{ .op = CHANGE_RENAME,
			.flags = CHANGE_NOREPLACE,
			.path = "pipe",
			.path2 = "moved" },
		{ .op = CHANGE_UNLINK, .path = "made/too" },
		{ .op = CHANGE_UNLINK, .path = "made/sl", .path2 = "/u-1" },
		{ .op = CHANGE_RMDIR, .path = "made" },
		{ .op = CHANGE_PLACE, .path = "/t", .path2 = "placed" },
		{ .op = CHANGE_CREATE, .path = "/n", .mode = 0600, OWNERLESS },
		{ .op = CHANGE_APPEND, .path = "/n", .data = "more", .data_len = 4 },
		{ .op = CHANGE_PLACE, .flags = CHANGE_EXCHANGE, .path = "/n", .path2 = "empty" },
		{ .op = CHANGE_CREATE, .path = "/m", .mode = 0640, OWNERLESS },
		{ .op = CHANGE_PLACE,
			.flags = CHANGE_MAKES | CHANGE_EXCL,
			.path = "/m",
			.path2 = "whole",
			.mode = 0640,
			OWNERLESS,
			.data = "all",
			.data_len = 3 },
		/* And what was refused still is. */
		{ .op = CHANGE_MKDIR, .path = "new", .mode = 0751, OWNERLESS },
		{ .op = CHANGE_CREATE,
			.flags = CHANGE_EXCL,
			.path = "new",
			.mode = 0750,
			OWNERLESS },
		{ .op = CHANGE_RMDIR, .path = "nothing" },
		{ .op = CHANGE_RENAME, .path = "nothing", .path2 = "new" },
	};

	pair_make_fixtures(w);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char what[32];

		snprintf(what, sizeof what, "row %zu", i);
		expect_done_once(what, w, &rows[i]);
	}
}

static bool is_version_of(const struct version *v, const struct attr *a)
{
	return v->size == a->size && v->mtime.tv_sec == a->mtime.tv_sec &&
		v->mtime.tv_nsec == a->mtime.tv_nsec && v->ctime.tv_sec == a->ctime.tv_sec &&
		v->ctime.tv_nsec == a->ctime.tv_nsec;
}

/* Where stat(1) knows no fractions of a second nothing is kept of it. */
OVER_SHELLS(shell_apply, what_a_change_left_is_told_again_by_either)
{
	const struct change c = { .op = CHANGE_WRITE, .path = "f", .data = "ours", .data_len = 4 };

	for (int writer = 0; writer < 2; writer++) {
		const struct scratch *tree = writer ? &w->by_shell : &w->by_helper;
		struct change_result first, again;

		scratch_write_text(tree, c.path, "");
		apply_recorded(w, writer, &c, &first);
		cr_assert(eq(int, first.err, ERR_OK), "%s: %s", w->shell, first.why);
		scratch_write_text(tree, c.path, "theirs");
		apply_recorded(w, writer, &c, &again);
		cr_expect(again.was_over && again.attr.size == 6, "%s", w->shell);
		cr_expect(is_version_of(&again.left, &first.attr) ||
				(!again.left.ctime.tv_sec && !first.attr.ctime.tv_nsec),
			"%s: %d", w->shell, writer);
	}
}

/* What is recorded behind it is not taken for its end. */
OVER_SHELLS(shell_apply, what_a_full_disk_tore_is_a_line_of_its_own)
{
	const struct change c = { .op = CHANGE_WRITE, .path = "none", .data = "!", .data_len = 1 };

	for (int by_shell = 0; by_shell < 2; by_shell++) {
		const struct scratch *tree = by_shell ? &w->by_shell : &w->by_helper;
		struct change_result first, again;

		scratch_write_text(tree, c.path, "");
		apply_recorded(w, by_shell, &c, &first);
		cr_assert(unlinkat(tree->fd, c.path, 0) == 0);
		AUTO_CLOSE int record = open_record(w, by_shell, O_TRUNC);

		dprintf(record, "%20d b %20d %20d\n7 =4 17", 8, 0, 0);
		apply_recorded(w, by_shell, &c, &first);
		scratch_write_text(tree, c.path, "");
		apply_recorded(w, by_shell, &c, &again);
		cr_expect(eq(int, first.err, ERR_NOT_FOUND), "%s: %s", w->shell, first.why);
		cr_expect(eq(int, again.err, ERR_NOT_FOUND), "%s: %s", w->shell, again.why);
	}
}

OVER_SHELLS(shell_apply, a_refusal_is_told_again_by_either)
{
	struct change_result first, again;
	const struct change c = { .op = CHANGE_MKDIR, .path = "a\nb", .mode = 0755, OWNERLESS };
	const struct apply_request request = {
		.journal = { 5 }, .first_sequence = 8, .changes = &c, .changes_count = 1
	};

	scratch_write_text(&w->by_shell, c.path, "");
	scratch_write_text(&w->by_helper, c.path, "");
	apply_recorded(w, true, &c, &first);
	cr_assert(unlinkat(w->by_shell.fd, c.path, 0) == 0);
	apply_recorded(w, true, &c, &again);
	cr_expect(eq(int, first.err, ERR_EXISTS), "%s", first.why);
	cr_expect(eq(int, again.err, ERR_EXISTS), "%s: %s", w->shell, again.why);
	cr_expect(faccessat(w->by_shell.fd, c.path, F_OK, 0) != 0);

	/* What the helper has recorded, in the shell's tree. */
	AUTO_CLOSE int record = open_record(w, true, O_TRUNC);

	dprintf(record, "%20d e %20d %20d\n8 @QUOTA a sentence of the helper's\n", 8, 0, 0);
	cr_assert(eq(int, shell_apply(&w->host.base, NULL, &request, &again, NULL), ERR_OK));
	cr_expect(eq(int, again.err, ERR_QUOTA));
	cr_expect(eq(str, (char *)again.why, (char *)"a sentence of the helper's"));
}

/* ---- apply: preconditions ---- */

static struct expect expect_at(const struct pair *w, const char *path)
{
	struct stat st;

	cr_assert(fstatat(w->by_shell.fd, *path ? path : ".", &st, AT_SYMLINK_NOFOLLOW) == 0);
	return (struct expect){ .dev = st.st_dev, .ino = st.st_ino };
}

OVER_SHELLS(shell_apply, another_inode_than_the_one_meant_is_stale_and_left_alone)
{
	pair_make_fixtures(w);
	const struct expect f = expect_at(w, "f"), g = expect_at(w, "g"), d = expect_at(w, "d"),
			    e = expect_at(w, "e"), root = expect_at(w, ""), ro = expect_at(w, "ro");
	const struct change good[] = {
		{ .op = CHANGE_WRITE,
			.path = "f",
			.target = f,
			.parent = root,
			.data = "x",
			.data_len = 1 },
		{ .op = CHANGE_SETATTR,
			.path = "d/in",
			.parent = d,
			.set = SET_MODE,
			.mode = 0600 },
		{ .op = CHANGE_RENAME,
			.path = "f",
			.path2 = "g",
			.target = f,
			.target2 = g,
			.parent = root,
			.parent2 = root },
		{ .op = CHANGE_RENAME,
			.path = "g",
			.path2 = "e/g",
			.target = f,
			.parent = root,
			.parent2 = e },
		{ .op = CHANGE_UNLINK, .path = "e/g", .target = f, .parent = e },
		{ .op = CHANGE_RMDIR, .path = "e", .target = e, .parent = root },
		{ .op = CHANGE_SETATTR,
			.path = "",
			.target = root,
			.parent = d,
			.set = SET_MODE,
			.mode = 0755 },
	};
	const struct change bad[] = {
		{ .op = CHANGE_WRITE, .path = "ro", .target = f, .data = "x", .data_len = 1 },
		{ .op = CHANGE_CREATE, .path = "new", .parent = d, OWNERLESS },
		{ .op = CHANGE_CREATE, .path = "ro", .target = d, OWNERLESS },
		{ .op = CHANGE_MKDIR, .path = "d/new", .parent = root, OWNERLESS },
		{ .op = CHANGE_UNLINK, .path = "ro", .target = f },
		{ .op = CHANGE_UNLINK, .path = "ro", .path2 = "/k", .target = f },
		{ .op = CHANGE_RENAME, .path = "ro", .path2 = "d/new", .parent2 = root },
		{ .op = CHANGE_RENAME, .path = "ro", .path2 = "suid", .target2 = d },
		{ .op = CHANGE_RENAME, .path = "ro", .path2 = "new", .target2 = d },
		{ .op = CHANGE_PLACE, .path = "/t", .path2 = "ro", .target2 = d },
		{ .op = CHANGE_PLACE, .path = "/t", .path2 = "new", .target2 = d },
		{ .op = CHANGE_SETATTR, .path = "ro", .target = d, .set = SET_MODE, .mode = 0 },
	};

	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		struct change_result r = pair_apply_one(w, good[i]);

		cr_expect(r.err == ERR_OK, "%s: %zu: %s", w->shell, i, r.why);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		cr_expect(pair_apply_one(w, bad[i]).err == ERR_STALE, "%s: %zu", w->shell, i);
	cr_expect(eq(u64, expect_at(w, "ro").ino, ro.ino));
	cr_expect(faccessat(w->by_shell.fd, "new", F_OK, 0) < 0 &&
		faccessat(w->by_shell.fd, "d/new", F_OK, 0) < 0);
}

/* ---- apply: limits of the system ---- */

OVER_SHELLS(shell_apply, a_file_over_the_limit_is_too_large)
{
	const struct rlimit limit = { 4096, RLIM_INFINITY },
			    none = { RLIM_INFINITY, RLIM_INFINITY };
	const struct change batch[] = {
		{ .op = CHANGE_CREATE, .path = "f", .mode = 0600, OWNERLESS },
		{ .op = CHANGE_WRITE, .path = "f", .offset = 4096, .data = "over", .data_len = 4 },
		{ .op = CHANGE_WRITE, .path = "f", .data = "fits", .data_len = 4 },
		{ .op = CHANGE_SETATTR, .path = "f", .set = SET_SIZE, .size = 5000 },
	};
	struct change_result r[4];
	struct rlimit before;
	size_t len;

	getrlimit(RLIMIT_FSIZE, &before);
	setrlimit(RLIMIT_FSIZE, &limit);
	signal(SIGXFSZ, SIG_IGN);
	pair_apply(w, batch, 4, r);
	setrlimit(RLIMIT_FSIZE, before.rlim_max == RLIM_INFINITY ? &none : &before);
	AUTO_FREE char *got = scratch_read(&w->by_shell, "f", &len);

	cr_expect(eq(int, r[1].err, ERR_TOO_LARGE), "%s: %s", w->shell, r[1].why);
	cr_expect(eq(int, r[2].err, ERR_OK));
	cr_expect(eq(int, r[3].err, ERR_TOO_LARGE), "%s: %s", w->shell, r[3].why);
	cr_expect(len == 4 && !memcmp(got, "fits", 4), "%s", w->shell);
}

/* A file system of its own, in a mount namespace of this test's. */
static bool mount_small(const struct pair *w, const char *name)
{
	AUTO_FREE char *path = path_join(w->by_shell.path, name);

	scratch_mkdir(&w->by_shell, name, 0755);
	return mount("none", path, "tmpfs", 0, "size=64k,nr_inodes=8") == 0;
}

static void unmount_small(const struct pair *w, const char *name)
{
	AUTO_FREE char *path = path_join(w->by_shell.path, name);

	umount2(path, MNT_DETACH);
}

static bool may_mount(void)
{
	return geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
		mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static void refuse_what_a_mount_refuses(struct pair *w)
{
	AUTO_FREE unsigned char *bytes = pair_noise(MEGABYTE, 3);
	const struct change batch[] = {
		{ .op = CHANGE_CREATE, .path = "m/f", .mode = 0600, OWNERLESS },
		{ .op = CHANGE_WRITE, .path = "m/f", .data = bytes, .data_len = MEGABYTE },
		{ .op = CHANGE_WRITE, .path = "g", .data = "G", .data_len = 1 },
		{ .op = CHANGE_RENAME, .path = "g", .path2 = "m/g" },
		{ .op = CHANGE_RENAME, .path = "g", .path2 = "m/f" },
		{ .op = CHANGE_RENAME, .path = "g", .path2 = "m/f", .flags = CHANGE_EXCHANGE },
		{ .op = CHANGE_RENAME, .path = "g", .path2 = "m/g", .flags = CHANGE_NOREPLACE },
		{ .op = CHANGE_RENAME, .path = "d", .path2 = "m/d" },
		{ .op = CHANGE_LINK, .path = "g", .path2 = "m/g" },
		{ .op = CHANGE_UNLINK, .path = "m/f", .path2 = "/k" },
		{ .op = CHANGE_PLACE, .path = "/t", .path2 = "m/t" },
		{ .op = CHANGE_RMDIR, .path = "m" },
		{ .op = CHANGE_RENAME, .path = "m", .path2 = "m2" },
	};
	static const enum err want[] = { ERR_OK, ERR_NO_SPACE, ERR_OK, ERR_CROSS_DEVICE,
		ERR_CROSS_DEVICE, ERR_CROSS_DEVICE, ERR_CROSS_DEVICE, ERR_CROSS_DEVICE,
		ERR_CROSS_DEVICE, ERR_CROSS_DEVICE, ERR_CROSS_DEVICE, ERR_BUSY, ERR_BUSY };
	enum { COUNT = sizeof batch / sizeof *batch };
	struct change_result r[COUNT];

	pair_make_fixtures(w);
	cr_assert(mount_small(w, "m"));
	pair_apply(w, batch, COUNT, r);
	for (size_t i = 0; i < COUNT; i++)
		cr_expect(r[i].err == want[i], "%s: %zu: '%s' (%s)", w->shell, i,
			error_words(r[i].err), r[i].why);
	unmount_small(w, "m");
}

Test(shell_apply, what_a_mount_refuses_is_refused)
{
	if (!may_mount())
		cr_skip("needs root and a mount namespace");
	pair_over_every_shell(refuse_what_a_mount_refuses);
}

/* ---- Times ---- */

OVER_SHELLS(shell_apply, times_are_set_as_asked)
{
	static const struct timespec wanted[] = { { 1000000000, 123456789 }, { -2, 500000000 },
		{ -1, 1 }, { 0, 0 }, { INT64_C(4000000000), 999999999 } };
	struct stat st;

	pair_make_fixtures(w);
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		struct timespec t = wanted[i];
		struct change_result r;

		if (pair_is_busybox(w)) {
			/* Its touch(1) takes whole seconds of this era. */
			if (t.tv_sec < 0)
				continue;
			t.tv_nsec = 0;
		}
		r = pair_apply_one(w,
			(struct change){ .op = CHANGE_SETATTR,
				.path = "l",
				.set = SET_MTIME | SET_ATIME,
				.mtime = wanted[i],
				.atime = { .tv_nsec = UTIME_NOW } });
		cr_assert(r.err == ERR_OK, "%s: %zu: %s", w->shell, i, r.why);
		cr_assert(fstatat(w->by_shell.fd, "l", &st, AT_SYMLINK_NOFOLLOW) == 0);
		cr_expect(st.st_mtim.tv_sec == t.tv_sec && st.st_mtim.tv_nsec == t.tv_nsec,
			"%s: %zu: %jd.%09ld", w->shell, i, (intmax_t)st.st_mtim.tv_sec,
			st.st_mtim.tv_nsec);
		cr_expect(st.st_atim.tv_sec > 1700000000);
		cr_expect(r.attr.mtime.tv_sec == t.tv_sec && r.attr.mtime.tv_nsec == t.tv_nsec,
			"%s: %zu", w->shell, i);
	}
}

/* As chown(2) of neither user nor group does. */
OVER_SHELLS(shell_apply, a_change_of_nothing_moves_only_the_time_of_change)
{
	struct stat before, after;

	pair_make_fixtures(w);
	cr_assert(fstatat(w->by_shell.fd, "l", &before, AT_SYMLINK_NOFOLLOW) == 0);
	/* Until the file system's clock has moved on. */
	do {
		struct change_result r =
			pair_apply_one(w, (struct change){ .op = CHANGE_SETATTR, .path = "l" });

		cr_assert(r.err == ERR_OK, "%s: %s", w->shell, r.why);
		cr_assert(fstatat(w->by_shell.fd, "l", &after, AT_SYMLINK_NOFOLLOW) == 0);
	} while (after.st_ctim.tv_sec == before.st_ctim.tv_sec &&
		after.st_ctim.tv_nsec == before.st_ctim.tv_nsec);
	cr_expect(after.st_mode == before.st_mode && after.st_uid == before.st_uid);
	cr_expect(after.st_mtim.tv_nsec == before.st_mtim.tv_nsec);
}
