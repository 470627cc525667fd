#include "tests/support/shown.h"

#include "providers/base/buf.h"
#include "providers/base/cleanup.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>

static struct shown shown;

static void set_up(void)
{
	shown_make(&shown, false);
}

static void tear_down(void)
{
	shown_remove(&shown);
}

TestSuite(helper_list, .init = set_up, .fini = tear_down, .timeout = 300);

/* The items as text: "self 0:err", "dir PATH", "entry NAME->LINK", "end complete|partial err". */
static enum err put_item(void *context, const struct list_item *item, struct error *e)
{
	struct buf *b = context;

	switch (item->kind) {
	case LIST_SELF:
		buf_printf(b, "self %u:%s", item->start, error_words(item->err));
		for (size_t i = 0; i < item->xattrs_count; i++)
			buf_printf(b, " %s=%.*s", item->xattrs[i].name,
				(int)item->xattrs[i].value_len,
				(const char *)item->xattrs[i].value);
		buf_printf(b, "%s%s\n", item->link ? "->" : "", item->link ? item->link : "");
		break;
	case LIST_DIR: buf_printf(b, "dir %s\n", item->path); break;
	case LIST_ENTRY:
		buf_printf(b, "entry %s%s%s\n", item->name, item->link ? "->" : "",
			item->link ? item->link : "");
		break;
	case LIST_DIR_END:
		buf_printf(b, "end %s %s\n", item->complete ? "complete" : "partial",
			error_words(item->err));
		break;
	case LIST_END:
		cr_expect(item->now.tv_sec > 0);
		cr_expect(item->space.blocks > 0);
		buf_add_string(b, "over\n");
		break;
	}
	return buf_check(b, "list", e);
}

static struct buf listed(const struct list_request *request)
{
	struct buf b = BUF_INIT(16 << 20);
	struct error e = { 0 };

	cr_assert(
		eq(int, helper_list(&shown.root, request, put_item, &b, &e), ERR_OK), "%s", e.text);
	return b;
}

static struct buf listed_tree(uint32_t depth, uint32_t flags)
{
	const char *start = "";

	return listed(&(struct list_request){
		.starts = &start, .starts_count = 1, .depth = depth, .flags = flags });
}

#define expect_listed(b, text) cr_expect(eq(str, (char *)buf_text(b), (char *)(text)))

Test(helper_list, what_is_gits_comes_before_what_it_keeps)
{
	scratch_mkdir(&shown.scratch, "tree/p", 0755);
	scratch_mkdir(&shown.scratch, "tree/p/.git", 0755);
	scratch_mkdir(&shown.scratch, "tree/p/.git/refs", 0755);
	scratch_mkdir(&shown.scratch, "tree/p/.git/refs/heads", 0755);
	scratch_mkdir(&shown.scratch, "tree/p/.gitx", 0755);
	AUTO_BUF struct buf all = listed_tree(LIST_DEPTH_ALL, 0);
	const char *own = "dir p/.git\nentry refs\nend complete success\n"
			  "dir p/.git/refs\nentry heads\nend complete success\n"
			  "dir p/.git/refs/heads\nend complete success\n";
	const char *kept = "dir p/.gitx\nend complete success\nover\n";
	const char *at = strstr(buf_text(&all), own);

	cr_assert(ne(ptr, (void *)at, NULL), "%s", buf_text(&all));
	cr_expect(eq(str, (char *)at + strlen(own), (char *)kept));
}

Test(helper_list, the_access_time_of_a_directory_that_is_listed_stays)
{
	const struct timespec old[] = { { .tv_sec = 1000000 }, { .tv_sec = 2000000 } };

	scratch_mkdir(&shown.scratch, "tree/d", 0755);
	scratch_write_text(&shown.scratch, "tree/d/f", "");
	cr_assert(utimensat(shown.scratch.fd, "tree/d", old, 0) == 0);
	AUTO_BUF struct buf all = listed_tree(LIST_DEPTH_ALL, 0);

	cr_expect(ne(ptr, strstr(buf_text(&all), "entry f"), NULL));
	cr_expect(eq(i64, shown_attr(&shown, "tree/d").atime.tv_sec, 1000000));
}

Test(helper_list, staging_inside_the_tree_is_hidden)
{
	char tree[128], staging[128];
	const char *starts[] = { "", "hidden", "hidden/x" };
	struct root r;

	snprintf(tree, sizeof tree, "%s/tree", shown.scratch.path);
	snprintf(staging, sizeof staging, "%s/tree/hidden", shown.scratch.path);
	cr_assert(eq(int, root_open(&r, tree, staging, NULL), ERR_OK));
	AUTO_BUF struct buf b = BUF_INIT(1 << 20);
	const struct list_request request = {
		.starts = starts, .starts_count = 2, .depth = LIST_DEPTH_ALL
	};

	cr_expect(eq(int, helper_list(&r, &request, put_item, &b, NULL), ERR_OK));
	expect_listed(&b,
		"self 0:success\nself 1:no such file or directory\ndir \n"
		"end complete success\nover\n");
	root_close(&r);
}

Test(helper_list, xattrs_of_the_user_come_with_the_start)
{
	char path[128];

	snprintf(path, sizeof path, "%s/tree", shown.scratch.path);
	cr_assert(setxattr(path, "user.color", "red", 3, 0) == 0);
	if (geteuid() == 0)
		cr_assert(setxattr(path, "trusted.color", "blue", 4, 0) == 0);
	AUTO_BUF struct buf with = listed_tree(0, LIST_XATTRS);
	AUTO_BUF struct buf without = listed_tree(0, 0);

	expect_listed(&with, "self 0:success user.color=red\nover\n");
	expect_listed(&without, "self 0:success\nover\n");
}

/* Prints "NAME:none" or "NAME:maybe" for the start and for each entry. */
static enum err put_xattrs(void *context, const struct list_item *item, struct error *e)
{
	struct buf *b = context;

	if (item->kind == LIST_SELF || item->kind == LIST_ENTRY)
		buf_printf(b, "%s:%s ", item->kind == LIST_SELF ? "." : item->name,
			item->attr.no_xattrs ? "none" : "maybe");
	return buf_check(b, "list", e);
}

static void set_xattr(const char *path, const char *name, const char *value)
{
	AUTO_FREE char *full = NULL;

	cr_assert(asprintf(&full, "%s/%s", shown.scratch.path, path) > 0);
	cr_assert(setxattr(full, name, value, strlen(value), 0) == 0, "%s", path);
}

Test(helper_list, entries_tell_whether_they_have_xattrs_of_the_user)
{
	static const char *const starts[] = { "", "d", "f", "l" };
	const struct list_request request = { .starts = starts, .starts_count = 4, .depth = 1 };
	AUTO_BUF struct buf b = BUF_INIT(1000);

	scratch_mkdir(&shown.scratch, "tree/d", 0755);
	scratch_write_text(&shown.scratch, "tree/d/other", "");
	if (geteuid() == 0)
		set_xattr("tree/d/other", "trusted.color", "blue");
	scratch_write_text(&shown.scratch, "tree/d/tagged", "");
	set_xattr("tree/d/tagged", "user.color", "red");
	scratch_write_text(&shown.scratch, "tree/f", "");
	set_xattr("tree", "user.color", "red");
	cr_assert(symlinkat("d/tagged", shown.scratch.fd, "tree/l") == 0);
	cr_assert(eq(int, helper_list(&shown.root, &request, put_xattrs, &b, NULL), ERR_OK));
	static const char *const wanted[] = { " d:none ", " f:none ", " l:none ", " .:none ",
		" other:none ", " tagged:maybe " };

	cr_expect(strncmp(buf_text(&b), ".:maybe ", 8) == 0, "%s", buf_text(&b));
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
		cr_expect(
			strstr(buf_text(&b), wanted[i]) != NULL, "%s: %s", wanted[i], buf_text(&b));
}

Test(helper_list, of_what_changed_since_names_only_that)
{
	struct timespec then;
	AUTO_CLOSE int fd = -1;
	const char *start = "";

	scratch_mkdir(&shown.scratch, "tree/d", 0755);
	scratch_write_text(&shown.scratch, "tree/d/old", "");
	scratch_write_text(&shown.scratch, "tree/d/new", "");
	/* The mode is set again until the clock of files has moved on. */
	fd = openat(shown.scratch.fd, "tree/d/new", O_WRONLY | O_CLOEXEC);
	do {
		cr_assert(fchmod(fd, 0600) == 0);
		then = shown_attr(&shown, "tree/d/new").ctime;
	} while (time_equals(then, shown_attr(&shown, "tree/d").ctime));
	struct list_request request = { .starts = &start,
		.starts_count = 1,
		.depth = LIST_DEPTH_ALL,
		.changed_since_ns = (int64_t)then.tv_sec * 1000000000 + then.tv_nsec };
	AUTO_BUF struct buf one = listed(&request);

	expect_listed(&one,
		"self 0:success\ndir \nend partial success\ndir d\nentry new\n"
		"end partial success\nover\n");
	/* A directory that changed itself is listed in full: a name that is missing is gone. */
	do
		cr_assert(fchmodat(shown.scratch.fd, "tree/d", 0755, 0) == 0);
	while (shown_attr(&shown, "tree/d").ctime.tv_sec == then.tv_sec &&
		shown_attr(&shown, "tree/d").ctime.tv_nsec < then.tv_nsec);
	cr_assert(unlinkat(shown.scratch.fd, "tree/d/new", 0) == 0);
	AUTO_BUF struct buf full = listed(&request);

	expect_listed(&full,
		"self 0:success\ndir \nentry d\nend complete success\ndir d\nentry old\n"
		"end complete success\nover\n");
}

static void change_again(const char *path, struct timespec before)
{
	do
		cr_assert(fchmodat(shown.scratch.fd, path, 0700, 0) == 0);
	while (time_equals(shown_attr(&shown, path).ctime, before));
}

Test(helper_list, directories_in_which_nothing_changed_need_not_be_named)
{
	const char *start = "";

	scratch_mkdir(&shown.scratch, "tree/a", 0755);
	scratch_mkdir(&shown.scratch, "tree/a/b", 0755);
	scratch_write_text(&shown.scratch, "tree/a/b/f", "");
	scratch_write_text(&shown.scratch, "tree/a/b/old", "");
	scratch_mkdir(&shown.scratch, "tree/c", 0755);
	change_again("tree/a/b/f", shown_attr(&shown, "tree/c").ctime);
	const struct timespec then = shown_attr(&shown, "tree/a/b/f").ctime;
	struct list_request request = { .starts = &start,
		.starts_count = 1,
		.depth = LIST_DEPTH_ALL,
		.flags = LIST_CHANGED_ONLY,
		.changed_since_ns = (int64_t)then.tv_sec * 1000000000 + then.tv_nsec };
	AUTO_BUF struct buf changed = listed(&request);

	expect_listed(&changed, "self 0:success\ndir a/b\nentry f\nend partial success\nover\n");
	change_again("tree/c", then);
	AUTO_BUF struct buf empty = listed(&request);

	expect_listed(&empty,
		"self 0:success\ndir \nentry c\nend partial success\ndir c\nend complete success\n"
		"dir a/b\nentry f\nend partial success\nover\n");
}

static int list_unreadable(struct shown *s)
{
	AUTO_BUF struct buf b = BUF_INIT(1 << 20);
	const char *start = "";
	const struct list_request request = {
		.starts = &start, .starts_count = 1, .depth = LIST_DEPTH_ALL
	};

	if (mkdirat(s->scratch.fd, "tree/d", 0) || mkdirat(s->scratch.fd, "tree/d2", 0400))
		return 1;
	if (helper_list(&s->root, &request, put_item, &b, NULL) != ERR_OK)
		return 2;
	if (!strstr(buf_text(&b), "dir d\nend partial permission denied\n"))
		return 3;
	return strstr(buf_text(&b), "dir d2\nend complete success\n") ? 0 : 4;
}

Test(helper_list, an_unreadable_directory_fails_alone)
{
	shown_as_nobody(&shown, list_unreadable);
}

static int list_unsearchable(struct shown *s)
{
	AUTO_BUF struct buf b = BUF_INIT(1 << 20);
	const char *start = "d";
	const struct list_request request = { .starts = &start, .starts_count = 1, .depth = 1 };
	AUTO_CLOSE int fd = -1;

	if (mkdirat(s->scratch.fd, "tree/d", 0700))
		return 1;
	fd = openat(s->scratch.fd, "tree/d/f", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	if (fd < 0 || fchmodat(s->scratch.fd, "tree/d", 0400, 0))
		return 2;
	if (helper_list(&s->root, &request, put_item, &b, NULL) != ERR_OK)
		return 3;
	return strstr(buf_text(&b), "dir d\nend partial success\n") ? 0 : 4;
}

Test(helper_list, names_without_attributes_make_a_directory_partial)
{
	shown_as_nobody(&shown, list_unsearchable);
}

Test(helper_list, other_file_systems_are_entered_only_when_asked)
{
	char path[128];

	snprintf(path, sizeof path, "%s/tree/m", shown.scratch.path);
	scratch_mkdir(&shown.scratch, "tree/m", 0755);
	if (mount("none", path, "tmpfs", 0, NULL))
		shown_skip(&shown, "no right to mount");
	AUTO_BUF struct buf stay = listed_tree(LIST_DEPTH_ALL, 0);
	AUTO_BUF struct buf cross = listed_tree(LIST_DEPTH_ALL, LIST_CROSS_DEVICES);

	cr_assert(umount(path) == 0);
	expect_listed(&stay, "self 0:success\ndir \nentry m\nend complete success\nover\n");
	expect_listed(&cross,
		"self 0:success\ndir \nentry m\nend complete success\ndir m\n"
		"end complete success\nover\n");
}

/* Takes a name away while its directory is being listed. */
static enum err disturb(void *context, const struct list_item *item, struct error *e)
{
	bool *complete = context;

	(void)e;
	if (item->kind == LIST_ENTRY)
		unlinkat(shown.scratch.fd, "tree/late", 0);
	if (item->kind == LIST_DIR_END)
		*complete = item->complete;
	return ERR_OK;
}

Test(helper_list, a_directory_that_changed_meanwhile_is_not_complete)
{
	const char *start = "";
	const struct list_request request = { .starts = &start, .starts_count = 1, .depth = 1 };
	const struct timespec long_ago[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	bool complete = true;

	scratch_write_text(&shown.scratch, "tree/f", "");
	scratch_write_text(&shown.scratch, "tree/late", "");
	cr_assert(utimensat(shown.scratch.fd, "tree", long_ago, 0) == 0);
	cr_assert(eq(int, helper_list(&shown.root, &request, disturb, &complete, NULL), ERR_OK));
	cr_expect(not(complete));
}

/* Puts another directory in the place of one that was named. */
static enum err put_another(void *context, const struct list_item *item, struct error *e)
{
	if (item->kind == LIST_ENTRY && !strcmp(item->name, "d"))
		cr_assert(renameat2(shown.scratch.fd, "tree/d", shown.scratch.fd, "outside",
				  RENAME_EXCHANGE) == 0);
	return put_item(context, item, e);
}

Test(helper_list, another_directory_than_was_named_is_not_listed)
{
	AUTO_BUF struct buf b = BUF_INIT(1 << 20);
	const char *start = "";
	const struct list_request request = {
		.starts = &start, .starts_count = 1, .depth = LIST_DEPTH_ALL
	};

	scratch_mkdir(&shown.scratch, "tree/d", 0755);
	cr_assert(eq(int, helper_list(&shown.root, &request, put_another, &b, NULL), ERR_OK));
	cr_expect(strstr(buf_text(&b), "dir d\nend partial") != NULL, "%s", buf_text(&b));
	cr_expect(strstr(buf_text(&b), "secret") == NULL, "%s", buf_text(&b));
}

/* The directory is a link to `outside` every other moment; no name from there is ever listed. */
Test(helper_list, a_swapped_directory_does_not_lead_out)
{
	struct swapper *hostile;

	scratch_mkdir(&shown.scratch, "tree/d", 0755);
	scratch_write_text(&shown.scratch, "tree/d/inside", "");
	cr_assert(symlinkat("../outside", shown.scratch.fd, "tree/l") == 0);
	hostile = shown_swap_start(&shown, "tree/d", "tree/l");
	for (int i = 0; i < 1000; i++) {
		AUTO_BUF struct buf b = listed_tree(LIST_DEPTH_ALL, 0);

		cr_assert(strstr(buf_text(&b), "secret") == NULL, "%s", buf_text(&b));
	}
	shown_swap_stop(hostile);
}
