#include "providers/shell.h"

#include "providers/base/cleanup.h"
#include "providers/base/path.h"
#include "providers/helper/helper.h"
#include "tests/support/host_provider.h"
#include "tests/support/scratch.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <fts.h>
#include <grp.h>
#include <sched.h>
#include <linux/falloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

/*
 * Every test runs over each shell. Next to it the helper does the same in a tree of its own: what the helper answers is
 * what the shell has to answer.
 */
static const char *const shells[] = { "sh", "bash", "busybox sh" };

struct pair {
	const char *shell;
	struct scratch scratch; /* holds both */
	struct host_provider host;
	struct root helper;
	struct scratch by_shell, by_helper; /* the shown trees */
};

static bool is_busybox(const struct pair *w)
{
	return !strncmp(w->shell, "busybox", 7);
}

static void scratch_open(struct scratch *s, const struct scratch *in, const char *name)
{
	cr_assert(snprintf(s->path, sizeof s->path, "%s/%s", in->path, name) < (int)sizeof s->path);
	s->fd = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert(s->fd >= 0, "%s: %s", s->path, strerror(errno));
}

static void pair_make(struct pair *w, const char *shell)
{
	struct error e = { 0 };
	char path[80];

	*w = (struct pair){ .shell = shell };
	umask(0);
	scratch_make(&w->scratch);
	scratch_mkdir(&w->scratch, "s", 0755);
	scratch_mkdir(&w->scratch, "h", 0755);
	scratch_mkdir(&w->scratch, "h/tree", 0755);
	snprintf(path, sizeof path, "%s/s", w->scratch.path);
	host_provider_init(&w->host, path, shell);
	scratch_open(&w->by_shell, &w->scratch, "s/tree");
	scratch_open(&w->by_helper, &w->scratch, "h/tree");
	snprintf(path, sizeof path, "%s/h/staging", w->scratch.path);
	cr_assert(root_open(&w->helper, w->by_helper.path, path, &e) == ERR_OK, "%s", e.text);
}

static void pair_remove(struct pair *w)
{
	root_close(&w->helper);
	close(w->by_shell.fd);
	close(w->by_helper.fd);
	scratch_remove(&w->scratch);
}

static void over_every_shell(void (*body)(struct pair *))
{
	for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
		struct pair w;

		pair_make(&w, shells[i]);
		body(&w);
		pair_remove(&w);
	}
}

/* As somebody whom the kernel refuses things. Each test is a process of its own. */
static void become_nobody(void)
{
	if (geteuid() != 0)
		return;
	cr_assert(setgroups(0, NULL) == 0 && setresgid(65534, 65534, 65534) == 0 &&
		setresuid(65534, 65534, 65534) == 0);
}

#define OVER_SHELLS(claim)                                                                         \
	static void claim(struct pair *w);                                                         \
	Test(shell, claim)                                                                         \
	{                                                                                          \
		over_every_shell(claim);                                                           \
	}                                                                                          \
	static void claim(struct pair *w)

#define OVER_SHELLS_AS_NOBODY(claim)                                                               \
	static void claim(struct pair *w);                                                         \
	Test(shell, claim)                                                                         \
	{                                                                                          \
		become_nobody();                                                                   \
		over_every_shell(claim);                                                           \
	}                                                                                          \
	static void claim(struct pair *w)

TestSuite(shell, .timeout = 240);

#define OWNERLESS .uid = CHANGE_NO_OWNER, .gid = CHANGE_NO_OWNER

/* ---- The fixture ---- */

static void make_fixture(const struct scratch *t)
{
	int fd = t->fd;

	scratch_write_text(t, "f", "0123456789");
	scratch_write_text(t, "g", "gg");
	scratch_mkdir(t, "d", 0755);
	scratch_write_text(t, "d/in", "in");
	scratch_mkdir(t, "d/sub", 0755);
	scratch_mkdir(t, "e", 0755);
	scratch_mkdir(t, "e2", 0700);
	scratch_mkdir(t, "sgid", 0755);
	cr_assert(fchmodat(fd, "sgid", 02775, 0) == 0);
	scratch_write_text(t, "ro", "read-only");
	cr_assert(fchmodat(fd, "ro", 0444, 0) == 0);
	scratch_write_text(t, "closed", "nobody reads this");
	cr_assert(fchmodat(fd, "closed", 0, 0) == 0);
	scratch_write_text(t, "suid", "s");
	cr_assert(fchmodat(fd, "suid", 04755, 0) == 0);
	scratch_write_text(t, "h1", "hard");
	cr_assert(linkat(fd, "h1", fd, "h2", 0) == 0);
	cr_assert(symlinkat("f", fd, "l") == 0);
	cr_assert(symlinkat("nowhere", fd, "dangling") == 0);
	cr_assert(symlinkat("d", fd, "ld") == 0);
	cr_assert(symlinkat("loop", fd, "loop") == 0);
	cr_assert(mkfifoat(fd, "p", 0644) == 0);
}

static void make_fixtures(struct pair *w)
{
	make_fixture(&w->by_shell);
	make_fixture(&w->by_helper);
	scratch_write_text(&w->scratch, "s/staging/t", "staged bytes");
	scratch_write_text(&w->scratch, "h/staging/t", "staged bytes");
}

/* ---- Doing the same twice ---- */

#define CHANGES_MAX 8

static void apply_by_shell(
	struct pair *w, const struct change *changes, size_t count, struct change_result *out)
{
	const struct apply_request request = { .changes = changes, .changes_count = count };
	struct error e = { 0 };

	cr_assert(shell_apply(&w->host.base, NULL, &request, out, &e) == ERR_OK, "%s: %s", w->shell,
		e.text);
}

static struct change_result apply_one(struct pair *w, struct change change)
{
	struct change_result r;

	apply_by_shell(w, &change, 1, &r);
	return r;
}

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
	cr_assert(helper_apply(&w->helper, &request, want, &e) == ERR_OK, "%s", e.text);
	apply_by_shell(w, changes, count, got);
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
	{ .op = CHANGE_PLACE, .path = "/t", .path2 = "d" },
	{ .op = CHANGE_PLACE, .path = "/t", .path2 = "l" },
	{ .op = CHANGE_PLACE, .path = "/none", .path2 = "new" },
	{ .op = CHANGE_PLACE, .path = "f", .path2 = "new" },
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

static void expect_same_alone(const char *shell, size_t row)
{
	struct pair w;
	char what[64];

	pair_make(&w, shell);
	make_fixtures(&w);
	snprintf(what, sizeof what, "row %zu (op %d, %s)", row, changes[row].op, changes[row].path);
	expect_same(what, &w, &changes[row], 1);
	pair_remove(&w);
}

Test(shell, each_change_ends_as_the_helpers_does)
{
	for (size_t s = 0; s < sizeof shells / sizeof *shells; s++)
		for (size_t row = 0; row < CHANGES_COUNT; row++)
			expect_same_alone(shells[s], row);
}

Test(shell, each_change_ends_as_the_helpers_does_for_an_ordinary_user)
{
	become_nobody();
	for (size_t s = 0; s < sizeof shells / sizeof *shells; s++)
		for (size_t row = 0; row < CHANGES_COUNT; row++)
			expect_same_alone(shells[s], row);
}

/* ---- apply: what only shows in a batch ---- */

OVER_SHELLS(a_change_whose_need_failed_is_skipped_and_its_contents_with_it)
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

	make_fixtures(w);
	expect_same("batch", w, batch, 8);
}

OVER_SHELLS(a_batch_is_one_command)
{
	struct change batch[200];
	struct change_result results[200];

	for (size_t i = 0; i < 200; i++)
		batch[i] = (struct change){ .op = CHANGE_CREATE, .path = "f", OWNERLESS };
	apply_by_shell(w, batch, 200, results);
	cr_expect(eq(sz, w->host.executed, 1));
	cr_expect(eq(int, results[199].err, ERR_OK));
}

#define MEGABYTE ((size_t)1024 * 1024)

static unsigned char *noise(size_t len, uint32_t seed)
{
	unsigned char *bytes = malloc(len);

	cr_assert(bytes != NULL);
	for (size_t i = 0; i < len; i++) {
		seed = seed * 1664525 + 1013904223;
		bytes[i] = (unsigned char)(seed >> 24);
	}
	return bytes;
}

OVER_SHELLS(a_megabyte_of_any_bytes_arrives_at_any_offset)
{
	AUTO_FREE unsigned char *bytes = noise(MEGABYTE, 7), *want = calloc(4, MEGABYTE);
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
	apply_by_shell(w, batch, 6, r);
	AUTO_FREE char *got = scratch_read(&w->by_shell, "f", &len);

	cr_expect(eq(int, r[2].err, ERR_NOT_FOUND));
	cr_expect(eq(u64, r[5].offset, 3 * MEGABYTE + 4094));
	cr_assert(eq(sz, len, 3 * MEGABYTE + 4094 + 777));
	cr_expect(memcmp(got, want, len) == 0, "%s", w->shell);
}

/* Longer than any argument may be: the script then comes where the contents come, before them. */
OVER_SHELLS(a_batch_of_thousands_keeps_script_and_contents_apart)
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
	apply_by_shell(w, batch, 2 * FILES, results);
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
	struct root r;
	uint64_t last = 0;

	cr_assert(root_open(&r, w->host.root, w->host.base.staging, NULL) == ERR_OK);
	cr_assert(helper_last_sequence(&r, journal, &last, NULL) == ERR_OK);
	root_close(&r);
	return last;
}

/* The record is the helper's own, so that a journal may be finished by either. */
OVER_SHELLS(a_recorded_change_is_not_done_again)
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

/* ---- apply: preconditions ---- */

static struct expect expect_at(const struct pair *w, const char *path)
{
	struct stat st;

	cr_assert(fstatat(w->by_shell.fd, *path ? path : ".", &st, AT_SYMLINK_NOFOLLOW) == 0);
	return (struct expect){ .dev = st.st_dev, .ino = st.st_ino };
}

OVER_SHELLS(another_inode_than_the_one_meant_is_stale_and_left_alone)
{
	make_fixtures(w);
	const struct expect f = expect_at(w, "f"), g = expect_at(w, "g"), d = expect_at(w, "d"),
			    e = expect_at(w, "e"), root = expect_at(w, "");
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
		struct change_result r = apply_one(w, good[i]);

		cr_expect(r.err == ERR_OK, "%s: %zu: %s", w->shell, i, r.why);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		cr_expect(apply_one(w, bad[i]).err == ERR_STALE, "%s: %zu", w->shell, i);
	cr_expect(eq(u64, expect_at(w, "ro").ino, expect_at(w, "ro").ino));
	cr_expect(faccessat(w->by_shell.fd, "new", F_OK, 0) < 0 &&
		faccessat(w->by_shell.fd, "d/new", F_OK, 0) < 0);
}

/* ---- apply: limits of the system ---- */

OVER_SHELLS(a_file_over_the_limit_is_too_large)
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
	apply_by_shell(w, batch, 4, r);
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
	AUTO_FREE unsigned char *bytes = noise(MEGABYTE, 3);
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

	make_fixtures(w);
	cr_assert(mount_small(w, "m"));
	apply_by_shell(w, batch, COUNT, r);
	for (size_t i = 0; i < COUNT; i++)
		cr_expect(r[i].err == want[i], "%s: %zu: '%s' (%s)", w->shell, i,
			error_words(r[i].err), r[i].why);
	unmount_small(w, "m");
}

Test(shell, what_a_mount_refuses_is_refused)
{
	if (!may_mount())
		cr_skip("needs root and a mount namespace");
	over_every_shell(refuse_what_a_mount_refuses);
}

/* ---- Names ---- */

#define FIFTY "01234567890123456789012345678901234567890123456789"

static const char *const names[] = { "-rf", "--help", "-", "'", "''", "\"", "*", "?", "[a]", "~",
	"$HOME", "$(touch oops)", "`touch oops`", "';touch oops;'", "\\", "a\\nb", "a\nb", "\n",
	"\n\n", "t\n", " ", " a ", "\t", "%n%s", "!", "=", "a=b", "#", "&", "|", "<x", ">x", ";",
	"(", "{}", "\x01", "\x7f", "\x80\x81\x82\x83\x84\x85\x86\x87\x88", "\xff\xfe", "\xc3\x28",
	"\xe2\x80\xae", "Permission denied", "x: File exists", "1+0 records in\n1+0 records out",
	"@STALE", " to a subdirectory of itself, '", "is a directory", "\033[2J", "if", "...",
	"copied, 1 s, 1 kB", FIFTY FIFTY FIFTY FIFTY FIFTY "01234" };
#define NAMES (sizeof names / sizeof *names)

/* Of a listing: the paths it names, with links' texts, one a line in a buffer. */
struct heard {
	struct buf text;
	char dir[70000];
	size_t dirs, ends, incomplete;
	bool ended;
};

static enum err hear_item(void *context, const struct list_item *item, struct error *e)
{
	struct heard *h = context;

	(void)e;
	if (item->kind == LIST_DIR)
		snprintf(h->dir, sizeof h->dir, "%s", item->path);
	h->dirs += item->kind == LIST_DIR;
	h->ends += item->kind == LIST_DIR_END;
	h->incomplete += item->kind == LIST_DIR_END && !item->complete;
	h->ended = h->ended || item->kind == LIST_END;
	if (item->kind == LIST_ENTRY)
		buf_printf(
			&h->text, "<%s/%s|%s>", h->dir, item->name, item->link ? item->link : "");
	return ERR_OK;
}

static enum err keep_bytes(void *context, const struct fetch_piece *piece, struct error *e)
{
	struct buf *out = context;

	(void)e;
	if (piece->kind == FETCH_DATA)
		buf_add(out, piece->bytes, piece->len);
	else if (piece->err != ERR_OK)
		buf_printf(out, "<%s>", error_words(piece->err));
	return ERR_OK;
}

static void expect_name_works(struct pair *w, const char *name)
{
	AUTO_FREE char *in_d = path_join("d", name), *in_name = path_join(name, name);
	const struct change batch[] = {
		{ .op = CHANGE_MKDIR, .path = name, .mode = 0755, OWNERLESS },
		{ .op = CHANGE_CREATE,
			.path = in_name,
			.mode = 0644,
			.flags = CHANGE_EXCL,
			OWNERLESS },
		{ .op = CHANGE_WRITE, .path = in_name, .data = name, .data_len = strlen(name) },
		{ .op = CHANGE_LINK, .path = in_name, .path2 = in_d },
		{ .op = CHANGE_UNLINK, .path = in_name },
		{ .op = CHANGE_SYMLINK,
			.path = in_name,
			.data = name,
			.data_len = strlen(name),
			OWNERLESS },
	};
	const struct fetch_item item = {
		.kind = FETCH_BYTES, .path = in_d, .length = FETCH_TO_END
	};
	const struct list_request list = { .starts = &name, .starts_count = 1, .depth = 1 };
	const struct change again[] = {
		{ .op = CHANGE_CREATE, .path = in_d, .flags = CHANGE_EXCL, OWNERLESS },
		{ .op = CHANGE_RMDIR, .path = name },
		{ .op = CHANGE_WRITE, .path = name, .data = "x", .data_len = 1 },
		{ .op = CHANGE_RENAME, .path = in_d, .path2 = in_name },
		{ .op = CHANGE_UNLINK, .path = in_name },
		{ .op = CHANGE_RMDIR, .path = name },
	};
	static const enum err want[] = { ERR_EXISTS, ERR_NOT_EMPTY, ERR_IS_DIR, ERR_OK, ERR_OK,
		ERR_OK };
	AUTO_FREE struct heard *heard = calloc(1, sizeof *heard);
	AUTO_BUF struct buf bytes = BUF_INIT(4096), listed = BUF_INIT(4096);
	struct change_result r[6];

	apply_by_shell(w, batch, 6, r);
	for (size_t i = 0; i < 6; i++)
		cr_expect(r[i].err == ERR_OK, "%s: '%s': %zu: %s", w->shell, name, i, r[i].why);
	shell_fetch(&w->host.base, NULL, &item, 1, keep_bytes, &bytes, NULL);
	cr_expect(bytes.len == strlen(name) && !memcmp(bytes.bytes, name, bytes.len), "%s: '%s'",
		w->shell, name);
	heard->text.max = 4096;
	cr_expect(shell_list(&w->host.base, NULL, &list, hear_item, heard, NULL) == ERR_OK);
	buf_printf(&listed, "<%s/%s|%s>", name, name, name);
	cr_expect(strcmp(buf_text(&heard->text), buf_text(&listed)) == 0, "%s: %s", w->shell,
		buf_text(&heard->text));
	buf_release(&heard->text);
	apply_by_shell(w, again, 6, r);
	for (size_t i = 0; i < 6; i++)
		cr_expect(r[i].err == want[i], "%s: '%s': %zu: %s", w->shell, name, i, r[i].why);
}

OVER_SHELLS(a_name_is_only_a_name)
{
	scratch_mkdir(&w->by_shell, "d", 0755);
	for (size_t i = 0; i < NAMES; i++)
		expect_name_works(w, names[i]);
	cr_expect(faccessat(w->by_shell.fd, "oops", F_OK, 0) < 0);
	cr_expect(faccessat(w->by_shell.fd, "d/oops", F_OK, 0) < 0);
}

OVER_SHELLS(a_name_holds_every_byte)
{
	struct change batch[254 + 1];
	struct change_result r[254 + 1];
	char made[254][4];
	size_t count = 0;

	for (int byte = 1; byte < 256; byte++) {
		if (byte == '/')
			continue;
		memcpy(made[count], (char[]){ (char)byte, 'x', (char)byte, 0 }, 4);
		batch[count] = (struct change){ .op = CHANGE_SYMLINK,
			.path = made[count],
			.data = made[count],
			.data_len = 3,
			OWNERLESS };
		count++;
	}
	apply_by_shell(w, batch, count, r);
	for (size_t i = 0; i < count; i++) {
		char text[8] = "";

		cr_expect(r[i].err == ERR_OK && r[i].has_attr, "%s: %d", w->shell, made[i][0]);
		cr_expect(readlinkat(w->by_shell.fd, made[i], text, sizeof text) == 3 &&
				!memcmp(text, made[i], 3),
			"%s: %d", w->shell, made[i][0]);
	}
}

/* ---- Paths ---- */

OVER_SHELLS(a_path_may_be_longer_than_one_call_takes)
{
	enum { LEVELS = 25, NAME = 250 };
	AUTO_FREE char *path = calloc(LEVELS + 1, NAME + 1), *other = NULL;
	struct change_result r;
	size_t len = 0;

	for (int i = 0; i < LEVELS; i++) {
		if (len)
			path[len++] = '/';
		memset(path + len, 'a' + i, NAME);
		len += NAME;
		r = apply_one(w,
			(struct change){
				.op = CHANGE_MKDIR, .path = path, .mode = 0755, OWNERLESS });
		cr_assert(r.err == ERR_OK, "%s: %d: %s", w->shell, i, r.why);
	}
	other = path_join(path, "f'");
	path[len - NAME - 1] = 0;
	r = apply_one(
		w, (struct change){ .op = CHANGE_CREATE, .path = other, .mode = 0600, OWNERLESS });
	cr_expect(r.err == ERR_OK && r.has_attr && r.has_parent, "%s: %s", w->shell, r.why);
	AUTO_FREE char *up = path_join(path, "g");

	r = apply_one(w, (struct change){ .op = CHANGE_RENAME, .path = other, .path2 = up });
	cr_expect(r.err == ERR_OK && r.has_attr && r.has_parent2, "%s: %s", w->shell, r.why);
	r = apply_one(w, (struct change){ .op = CHANGE_LINK, .path = up, .path2 = "h" });
	cr_expect(r.err == ERR_OK && r.attr.nlink == 2, "%s: %s", w->shell, r.why);
	r = apply_one(w, (struct change){ .op = CHANGE_UNLINK, .path = up });
	cr_expect(r.err == ERR_OK, "%s: %s", w->shell, r.why);
}

OVER_SHELLS(no_link_is_followed_on_the_way)
{
	static const char *const paths[] = { "ld/in", "ld/new", "d/up/f", "d/up/d/in" };

	make_fixtures(w);
	cr_assert(symlinkat("..", w->by_shell.fd, "d/up") == 0);
	for (size_t i = 0; i < 4; i++) {
		const struct fetch_item item = {
			.kind = FETCH_BYTES, .path = paths[i], .length = 9
		};
		const char *start = paths[i];
		const struct list_request list = { .starts = &start, .starts_count = 1 };
		AUTO_BUF struct buf bytes = BUF_INIT(4096);
		struct change_result r = apply_one(
			w, (struct change){ .op = CHANGE_CREATE, .path = paths[i], OWNERLESS });

		cr_expect(r.err == ERR_STALE, "%s: %s: %s", w->shell, paths[i], r.why);
		shell_fetch(&w->host.base, NULL, &item, 1, keep_bytes, &bytes, NULL);
		cr_expect(strcmp(buf_text(&bytes), "<is not the file it was>") == 0, "%s",
			buf_text(&bytes));
		(void)list;
	}
}

/* ---- list ---- */

/* A listing as lines, each the item's fields. */
struct told {
	struct buf lines;
	bool is_coarse; /* BusyBox's stat(1) does not tell when a file was born */
};

static void add_attr(struct told *t, const struct attr *a)
{
	buf_printf(&t->lines, " %ju:%ju %o %u %u:%u %jx %ju %ju %u %jd.%09ld %jd.%09ld %ju",
		(uintmax_t)a->dev, (uintmax_t)a->ino, a->mode, a->nlink, a->uid, a->gid,
		(uintmax_t)a->rdev, (uintmax_t)a->size, (uintmax_t)a->blocks, a->blksize,
		(intmax_t)a->mtime.tv_sec, a->mtime.tv_nsec, (intmax_t)a->ctime.tv_sec,
		a->ctime.tv_nsec, t->is_coarse ? 0 : (uintmax_t)a->btime_ns);
}

static enum err tell(void *context, const struct list_item *item, struct error *e)
{
	struct told *t = context;

	buf_printf(&t->lines, "%d %u %s", item->kind, item->start, error_words(item->err));
	if (item->kind == LIST_DIR)
		buf_printf(&t->lines, " '%s'", item->path);
	if (item->kind == LIST_DIR_END)
		buf_printf(&t->lines, " %s", item->complete ? "complete" : "incomplete");
	if (item->kind == LIST_ENTRY)
		buf_printf(&t->lines, " '%s' -> '%s'", item->name, item->link ? item->link : "");
	if (item->kind == LIST_ENTRY || (item->kind == LIST_SELF && item->err == ERR_OK))
		add_attr(t, &item->attr);
	for (size_t i = 0; i < item->xattrs_count; i++) {
		buf_printf(&t->lines, " %s=", item->xattrs[i].name);
		buf_add(&t->lines, item->xattrs[i].value, item->xattrs[i].value_len);
	}
	if (item->kind == LIST_END)
		buf_printf(&t->lines, " %ju %ju %u", (uintmax_t)item->space.block_size,
			(uintmax_t)item->space.blocks, item->space.name_max);
	buf_add_byte(&t->lines, '\n');
	return buf_check(&t->lines, "a listing", e);
}

/* Both look at the shell's tree, and must say the same in the same order. */
static void expect_same_list(struct pair *w, const struct list_request *request, const char *what)
{
	struct told got = { BUF_INIT(1 << 24), is_busybox(w) },
		    want = { BUF_INIT(1 << 24), is_busybox(w) };
	struct error e = { 0 };
	struct root r;

	cr_assert(root_open(&r, w->host.root, w->host.base.staging, &e) == ERR_OK);
	cr_expect(helper_list(&r, request, tell, &want, &e) == ERR_OK, "%s", e.text);
	cr_expect(shell_list(&w->host.base, NULL, request, tell, &got, &e) == ERR_OK, "%s: %s",
		what, e.text);
	cr_expect(strcmp(buf_text(&got.lines), buf_text(&want.lines)) == 0, "%s: %s:\n%s\n%s",
		w->shell, what, buf_text(&got.lines), buf_text(&want.lines));
	buf_release(&got.lines);
	buf_release(&want.lines);
	root_close(&r);
}

static void make_listable(const struct pair *w)
{
	const struct timespec old[2] = { { .tv_sec = -5, .tv_nsec = 250000000 },
		{ .tv_sec = -2, .tv_nsec = 1 } };

	make_fixture(&w->by_shell);
	scratch_write_text(&w->by_shell, "d/new\nline\n", "x");
	scratch_mkdir(&w->by_shell, "d/sub/deep", 0755);
	scratch_mkdir(&w->by_shell, "d/sub/deep/er", 0755);
	scratch_write_text(&w->by_shell, "d/sub/deep/er/f", "x");
	cr_assert(symlinkat("-text\nwith\n\n", w->by_shell.fd, "d/sub/odd") == 0);
	utimensat(w->by_shell.fd, "f", old, 0);
	if (geteuid() == 0)
		mknodat(w->by_shell.fd, "d/null", S_IFCHR | 0666, makedev(1, 3));
}

#define LIST(d, ...)                                                                               \
	(&(struct list_request){ .starts = (const char *const[]){ __VA_ARGS__ },                   \
		.starts_count = sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *),     \
		.depth = (d) })

static void expect_same_lists(struct pair *w)
{
	make_listable(w);
	expect_same_list(w,
		LIST(0, "", "f", "l", "d/in", "none", "f/x", "ld/in", "p", "a//b", "dangling"),
		"starts");
	expect_same_list(w, LIST(1, ""), "one level");
	expect_same_list(w, LIST(1, "d", "f", "e", "d/sub", "../x"), "starts with one level");
	expect_same_list(w, LIST(2, "d", "e"), "two levels");
	expect_same_list(w, LIST(LIST_DEPTH_ALL, ""), "everything");
	expect_same_list(w, LIST(LIST_DEPTH_ALL, "d/sub", "", "e"), "everything from three starts");
}

OVER_SHELLS(a_list_is_the_helpers)
{
	expect_same_lists(w);
}

OVER_SHELLS_AS_NOBODY(a_list_is_the_helpers_for_an_ordinary_user)
{
	make_listable(w);
	cr_assert(fchmodat(w->by_shell.fd, "d/sub/deep", 0, 0) == 0);
	expect_same_list(w, LIST(LIST_DEPTH_ALL, ""), "a closed directory");
	expect_same_list(w, LIST(1, "d/sub/deep"), "a closed start");
	cr_assert(fchmodat(w->by_shell.fd, "d/sub/deep", 0700, 0) == 0);
}

OVER_SHELLS(extended_attributes_come_with_the_start)
{
	struct list_request request = *LIST(0, "f");
	AUTO_FREE char *path = path_join(w->by_shell.path, "f");

	make_fixtures(w);
	request.flags = LIST_XATTRS;
	if (setxattr(path, "user.a", "x\0\xff\n=", 5, 0) < 0)
		cr_skip("no extended attributes here");
	expect_same_list(w, &request, "one");
	setxattr(path, "user.b=c d\\e\n'", "", 0, 0);
	request.starts = (const char *const[]){ "f" };
	AUTO_BUF struct buf unused = BUF_INIT(16);
	struct told got = { BUF_INIT(1 << 16), true };

	cr_assert(shell_list(&w->host.base, NULL, &request, tell, &got, NULL) == ERR_OK);
	cr_expect(strstr(buf_text(&got.lines), "user.b=c d\\e\n'=") ||
			memmem(got.lines.bytes, got.lines.len, "user.b=c d\\e\n'=", 15),
		"%s: %s", w->shell, buf_text(&got.lines));
	buf_release(&got.lines);
}

OVER_SHELLS(a_list_that_asks_for_changes_leaves_the_rest_out)
{
	struct list_request request = *LIST(LIST_DEPTH_ALL, "");
	struct stat st;

	make_listable(w);
	/* Until the file system's clock has moved on. */
	do {
		scratch_write_text(&w->by_shell, "d/sub/deep/er/f", "changed");
		fstatat(w->by_shell.fd, "d/sub/deep/er/f", &st, 0);
		request.changed_since_ns =
			st.st_ctim.tv_sec * INT64_C(1000000000) + st.st_ctim.tv_nsec;
		fstatat(w->by_shell.fd, "d/sub/odd", &st, AT_SYMLINK_NOFOLLOW);
	} while (st.st_ctim.tv_sec * INT64_C(1000000000) + st.st_ctim.tv_nsec >=
		request.changed_since_ns);
	request.starts = (const char *const[]){ "" };
	expect_same_list(w, &request, "changes");
}

OVER_SHELLS(a_list_ends_at_the_entries_asked_for)
{
	make_listable(w);
	for (uint64_t max = 1; max < 30; max++) {
		const char *start = "";
		const struct list_request request = { .starts = &start,
			.starts_count = 1,
			.depth = LIST_DEPTH_ALL,
			.entries_max = max };
		AUTO_FREE struct heard *h = calloc(1, sizeof *h);
		size_t entries = 0;

		h->text.max = 1 << 20;
		cr_assert(shell_list(&w->host.base, NULL, &request, hear_item, h, NULL) == ERR_OK);
		for (size_t i = 0; i < h->text.len; i++)
			entries += h->text.bytes[i] == '|';
		cr_expect(h->ended && h->dirs == h->ends);
		cr_expect(entries <= max, "%s: %zu of %zu", w->shell, entries, (size_t)max);
		cr_expect(h->incomplete > 0 || entries < max || entries >= 22, "%s: %zu of %zu",
			w->shell, entries, (size_t)max);
		buf_release(&h->text);
	}
}

OVER_SHELLS(staging_within_the_tree_is_not_shown)
{
	make_listable(w);
	AUTO_FREE char *staging = path_join(w->host.root, "d/sub");

	w->host.base.staging = staging;
	expect_same_list(w, LIST(LIST_DEPTH_ALL, ""), "staging in the tree");
	expect_same_list(w, LIST(LIST_DEPTH_ALL, "d", "d/sub"), "staging in a start");
}

/* ---- fetch ---- */

/* What came for each item: bytes, then how it ended. */
static enum err keep_pieces(void *context, const struct fetch_piece *piece, struct error *e)
{
	struct buf *out = context;

	if (piece->kind == FETCH_DATA)
		buf_add(out, piece->bytes, piece->len);
	else
		buf_printf(out, "\n<%u %s %ju %ju>\n", piece->item, error_words(piece->err),
			(uintmax_t)piece->offset, (uintmax_t)(piece->err ? 0 : piece->attr.size));
	return buf_check(out, "what was fetched", e);
}

static void expect_same_fetch(
	struct pair *w, const struct fetch_item *items, size_t count, const char *what)
{
	AUTO_BUF struct buf got = BUF_INIT(1 << 26), want = BUF_INIT(1 << 26);
	struct error e = { 0 };
	struct root r;

	cr_assert(root_open(&r, w->host.root, w->host.base.staging, &e) == ERR_OK);
	cr_expect(helper_fetch(&r, items, count, keep_pieces, &want, &e) == ERR_OK, "%s", e.text);
	cr_expect(shell_fetch(&w->host.base, NULL, items, count, keep_pieces, &got, &e) == ERR_OK,
		"%s: %s", w->shell, e.text);
	cr_expect(got.len == want.len && !memcmp(got.bytes, want.bytes, got.len),
		"%s: %s: %.3000s\n%.3000s", w->shell, what, buf_text(&got), buf_text(&want));
	root_close(&r);
}

static void expect_same_fetches(struct pair *w)
{
	AUTO_FREE unsigned char *bytes = noise(3 * MEGABYTE + 17, 5);
	const uint64_t M = MEGABYTE;
	const struct fetch_item items[] = {
		{ .kind = FETCH_BYTES, .path = "big", .length = FETCH_TO_END },
		{ .kind = FETCH_BYTES, .path = "big", .offset = 1, .length = M },
		{ .kind = FETCH_BYTES, .path = "big", .offset = M - 1, .length = 2 * M + 3 },
		{ .kind = FETCH_BYTES, .path = "big", .offset = 3 * M + 16, .length = 100 },
		{ .kind = FETCH_BYTES, .path = "big", .offset = 3 * M + 17, .length = 100 },
		{ .kind = FETCH_BYTES, .path = "big", .offset = 9 * M, .length = 100 },
		{ .kind = FETCH_BYTES, .path = "big", .offset = 5, .length = 0 },
		{ .kind = FETCH_BYTES, .path = "big", .offset = UINT64_MAX, .length = 1 },
		{ .kind = FETCH_BYTES, .path = "none", .length = 1 },
		{ .kind = FETCH_BYTES, .path = "f", .length = FETCH_TO_END },
		{ .kind = FETCH_BYTES, .path = "d", .length = 1 },
		{ .kind = FETCH_BYTES, .path = "l", .length = 1 },
		{ .kind = FETCH_BYTES, .path = "p", .length = 1 },
		{ .kind = FETCH_BYTES, .path = "ld/in", .length = 1 },
		{ .kind = FETCH_BYTES, .path = "f", .length = 5, .target = { .dev = 1, .ino = 1 } },
		{ .kind = FETCH_BYTES, .path = "closed", .length = FETCH_TO_END },
		{ .kind = FETCH_BYTES, .path = "closed", .length = 9, .flags = CHANGE_BY_HANDLE },
		{ .kind = FETCH_HASHES,
			.path = "big",
			.length = FETCH_TO_END,
			.block_size = 131072 },
		{ .kind = FETCH_HASHES,
			.path = "big",
			.offset = 4096,
			.length = 100000,
			.block_size = 4096 },
		{ .kind = FETCH_HASHES, .path = "big", .length = FETCH_TO_END, .block_size = 512 },
		{ .kind = FETCH_HASHES,
			.path = "big",
			.offset = 1,
			.length = 9,
			.block_size = 4096 },
		{ .kind = FETCH_HASHES, .path = "f", .length = FETCH_TO_END, .block_size = 0 },
		{ .kind = FETCH_HASHES,
			.path = "empty",
			.length = FETCH_TO_END,
			.block_size = 4096 },
		{ .kind = FETCH_SEEK_DATA, .path = "f", .offset = 3 },
		{ .kind = FETCH_SEEK_HOLE, .path = "f", .offset = 3 },
		{ .kind = FETCH_SEEK_DATA, .path = "f", .offset = 10 },
		{ .kind = FETCH_SEEK_HOLE, .path = "f", .offset = 11 },
		{ .kind = FETCH_BYTES, .path = "/t", .length = FETCH_TO_END },
		{ .kind = FETCH_BYTES, .path = "..", .length = 1 },
	};

	make_fixtures(w);
	scratch_write(&w->by_shell, "big", bytes, 3 * MEGABYTE + 17);
	scratch_write_text(&w->by_shell, "empty", "");
	expect_same_fetch(w, items, sizeof items / sizeof *items, "all at once");
	cr_expect(eq(sz, w->host.executed, 1));
	for (size_t i = 0; i < sizeof items / sizeof *items; i++)
		expect_same_fetch(w, &items[i], 1, items[i].path);
}

OVER_SHELLS(what_is_fetched_is_what_the_helper_fetches)
{
	expect_same_fetches(w);
}

OVER_SHELLS_AS_NOBODY(what_is_fetched_is_what_the_helper_fetches_for_an_ordinary_user)
{
	struct stat st;

	expect_same_fetches(w);
	fstatat(w->by_shell.fd, "closed", &st, 0);
	cr_expect(eq(u32, st.st_mode & 07777, 0), "the mode is put back");
}

OVER_SHELLS(a_piece_far_into_a_file_is_not_read_up_to)
{
	const struct fetch_item item = { .kind = FETCH_BYTES,
		.path = "sparse",
		.offset = (UINT64_C(1) << 42) + 12345,
		.length = 4096 };
	int64_t before = monotonic_ms();

	scratch_write_text(&w->by_shell, "sparse", "");
	cr_assert(apply_one(w,
			  (struct change){ .op = CHANGE_WRITE,
				  .path = "sparse",
				  .offset = item.offset + 100,
				  .data = "far",
				  .data_len = 3 })
			  .err == ERR_OK);
	expect_same_fetch(w, &item, 1, "far");
	cr_expect(monotonic_ms() - before < 60000);
}

/* ---- A transport that is unkind ---- */

static enum err use_everything(struct pair *w, struct buf *out)
{
	const struct fetch_item items[] = { { .kind = FETCH_BYTES, .path = "f", .length = 9 },
		{ .kind = FETCH_HASHES, .path = "f", .length = 10, .block_size = 4 } };
	const struct change change = {
		.op = CHANGE_SETATTR, .path = "f", .set = SET_MODE, .mode = 0600
	};
	const struct apply_request apply = { .changes = &change, .changes_count = 1 };
	struct told told = { BUF_INIT(1 << 20), false };
	struct change_result r;
	struct identity id;
	enum err k = shell_fetch(&w->host.base, NULL, items, 2, keep_pieces, out, NULL);
	enum err list =
		shell_list(&w->host.base, NULL, LIST(LIST_DEPTH_ALL, "", "f"), tell, &told, NULL);
	enum err done = shell_apply(&w->host.base, NULL, &apply, &r, NULL);
	enum err who = shell_identity(&w->host.base, NULL, &id, NULL);

	buf_release(&told.lines);
	return k != ERR_OK ? k : list != ERR_OK ? list : done != ERR_OK ? done : who;
}

OVER_SHELLS(a_greeting_is_not_an_answer)
{
	AUTO_BUF struct buf out = BUF_INIT(1 << 16);

	make_fixtures(w);
	w->host.greeting = "Welcome!\nR0";
	cr_expect(use_everything(w, &out) == ERR_OK, "%s: %s", w->shell, buf_text(&out));
}

Test(shell, an_answer_that_breaks_off_is_an_error)
{
	struct pair w;

	pair_make(&w, "sh");
	make_fixtures(&w);
	for (size_t at = 1; at < 200; at += 7) {
		AUTO_BUF struct buf out = BUF_INIT(1 << 16);

		w.host.cut_after = at;
		cr_expect(use_everything(&w, &out) == ERR_PROTOCOL, "after %zu bytes", at);
	}
	pair_remove(&w);
}

/* Nothing is believed: whatever single byte is another, nothing bad happens here. */
Test(shell, an_answer_that_is_garbled_does_no_harm)
{
	struct pair w;

	pair_make(&w, "sh");
	make_fixtures(&w);
	for (size_t at = 1; at < 1500; at += 13) {
		AUTO_BUF struct buf out = BUF_INIT(1 << 20);

		w.host.garble_at = at;
		use_everything(&w, &out);
		cr_expect(out.failed == false);
	}
	pair_remove(&w);
}

OVER_SHELLS(a_shell_that_is_not_there_is_an_error)
{
	struct error e = { 0 };
	struct identity id;

	w->host.base.shell = "no-such-shell";
	cr_expect(shell_identity(&w->host.base, NULL, &id, &e) == ERR_PROTOCOL);
	cr_expect(strstr(e.text, "no-such-shell") != NULL, "%s", e.text);
}

/* ---- Who ---- */

OVER_SHELLS(the_identity_is_the_processs)
{
	struct identity id;
	gid_t groups[IDENTITY_GROUPS_MAX];
	int count = getgroups(IDENTITY_GROUPS_MAX, groups);

	cr_assert(shell_identity(&w->host.base, NULL, &id, NULL) == ERR_OK);
	cr_expect(id.uid == geteuid() && id.gid == getegid());
	cr_expect(id.groups_count >= (uint32_t)count);
}

/* ---- Times ---- */

OVER_SHELLS(times_are_set_as_asked)
{
	static const struct timespec wanted[] = { { 1000000000, 123456789 }, { -2, 500000000 },
		{ -1, 1 }, { 0, 0 }, { INT64_C(4000000000), 999999999 } };
	struct stat st;

	make_fixtures(w);
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		struct timespec t = wanted[i];
		struct change_result r;

		if (is_busybox(w)) {
			/* Its touch(1) takes whole seconds of this era. */
			if (t.tv_sec < 0)
				continue;
			t.tv_nsec = 0;
		}
		r = apply_one(w,
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
