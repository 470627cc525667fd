#include "tests/providers/shell_pair.h"

#include "providers/base/cleanup.h"
#include "providers/base/path.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

TestSuite(shell_list, .timeout = 300);

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
	struct told got = { BUF_INIT(1 << 24), pair_is_busybox(w) },
		    want = { BUF_INIT(1 << 24), pair_is_busybox(w) };
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

	pair_make_fixture(&w->by_shell);
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

OVER_SHELLS(shell_list, a_list_is_the_helpers)
{
	expect_same_lists(w);
}

OVER_SHELLS_AS_NOBODY(shell_list, a_list_is_the_helpers_for_an_ordinary_user)
{
	make_listable(w);
	cr_assert(fchmodat(w->by_shell.fd, "d/sub/deep", 0, 0) == 0);
	expect_same_list(w, LIST(LIST_DEPTH_ALL, ""), "a closed directory");
	expect_same_list(w, LIST(1, "d/sub/deep"), "a closed start");
	cr_assert(fchmodat(w->by_shell.fd, "d/sub/deep", 0700, 0) == 0);
}

OVER_SHELLS(shell_list, extended_attributes_come_with_the_start)
{
	struct list_request request = *LIST(0, "f");
	AUTO_FREE char *path = path_join(w->by_shell.path, "f");

	pair_make_fixtures(w);
	request.flags = LIST_XATTRS;
	if (setxattr(path, "user.a", "x\0\xff\n=", 5, 0) < 0)
		cr_skip("no extended attributes here");
	expect_same_list(w, &request, "one");
	setxattr(path, "user.b=c d\\e\n'", "", 0, 0);
	request.starts = (const char *const[]){ "f" };
	struct told got = { BUF_INIT(1 << 16), true };

	cr_assert(shell_list(&w->host.base, NULL, &request, tell, &got, NULL) == ERR_OK);
	cr_expect(strstr(buf_text(&got.lines), "user.b=c d\\e\n'=") ||
			memmem(got.lines.bytes, got.lines.len, "user.b=c d\\e\n'=", 15),
		"%s: %s", w->shell, buf_text(&got.lines));
	buf_release(&got.lines);
}

OVER_SHELLS(shell_list, a_list_that_asks_for_changes_leaves_the_rest_out)
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

OVER_SHELLS(shell_list, a_list_ends_at_the_entries_asked_for)
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

OVER_SHELLS(shell_list, staging_within_the_tree_is_not_shown)
{
	make_listable(w);
	AUTO_FREE char *staging = path_join(w->host.root, "d/sub");

	w->host.base.staging = staging;
	expect_same_list(w, LIST(LIST_DEPTH_ALL, ""), "staging in the tree");
	expect_same_list(w, LIST(LIST_DEPTH_ALL, "d", "d/sub"), "staging in a start");
}
