#include "cache/tree/tree.h"

#include "providers/base/cleanup.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LATER INT64_MAX / 2

static struct tree *tree;
static struct inode *root;

static struct attr attr_of(uint64_t ino, uint32_t mode)
{
	return (struct attr){ .dev = 1,
		.ino = ino,
		.mode = mode,
		.nlink = 1,
		.size = 10,
		.mtime = { .tv_sec = 100 },
		.ctime = { .tv_sec = 100 } };
}

static void setup(void)
{
	struct attr attr = attr_of(1, S_IFDIR | 0755);

	tree = tree_new(&attr, 100);
	root = tree_root(tree);
	tree_kernel_get(tree, root);
}

static void teardown(void)
{
	tree_free(tree);
}

TestSuite(tree, .init = setup, .fini = teardown, .timeout = 300);

/* Learns a name as a fresh answer; the inode is not pinned any more. */
static struct inode *learn_attr(struct inode *dir, const char *name, struct attr attr)
{
	struct tree_news news = { .attr = attr, .until_ms = LATER, .name_until_ms = LATER };
	bool changed;
	struct inode *i = tree_learn_name(tree, dir, name, tree_seen(tree), &news, &changed);

	cr_assert(ne(ptr, i, NULL));
	tree_unpin(tree, i);
	return i;
}

static struct inode *learn(struct inode *dir, const char *name, uint64_t ino, uint32_t mode)
{
	return learn_attr(dir, name, attr_of(ino, mode));
}

/* Learns a file whose time of birth is known. */
static struct inode *learn_born(struct inode *dir, const char *name, uint64_t ino, uint32_t mode)
{
	struct attr attr = attr_of(ino, mode);

	attr.btime_ns = 1000 + ino;
	return learn_attr(dir, name, attr);
}

static void receive(enum watch_kind kind, const char *path)
{
	tree_apply_event(tree, &(struct watch_event){ .kind = kind, .path = path });
}

static void rename_in_root(const char *from, const char *to, struct inode *i)
{
	tree_renamed(
		tree, &(struct tree_name){ root, from }, &(struct tree_name){ root, to }, i, LATER);
}

static const char *path_of(struct inode *i, const char *name)
{
	static char text[4096];
	AUTO_TREE_PATH struct tree_path path = { 0 };
	struct error e = { 0 };

	if (tree_path(tree, i, name, &path, &e))
		return NULL;
	snprintf(text, sizeof text, "%s", path.text);
	return text;
}

Test(tree, a_path_leads_from_the_root_down)
{
	struct inode *a = learn(root, "a", 2, S_IFDIR | 0755);
	struct inode *b = learn(a, "b", 3, S_IFDIR | 0755);

	cr_expect(eq(str, (char *)path_of(root, NULL), ""));
	cr_expect(eq(str, (char *)path_of(b, NULL), "a/b"));
	cr_expect(eq(str, (char *)path_of(b, "c"), "a/b/c"));
}

/* The report of the root by a command that ran since `seen`. */
static int64_t root_until_after_command(uint64_t seen, uint32_t mode)
{
	const struct tree_news news = { .attr = attr_of(1, S_IFDIR | mode), .until_ms = LATER };
	struct attr shown;

	tree_invalidate_all_but_root(tree, seen, &news);
	int64_t until_ms = tree_attr(tree, root, &shown);

	cr_expect(eq(uint, until_ms ? shown.mode & 07777 : mode, mode));
	return until_ms;
}

Test(tree, a_commands_report_of_the_root_is_valid_though_all_else_is_not)
{
	struct inode *f = learn(root, "f", 2, S_IFREG | 0644);
	struct attr attr;

	tree_holds(tree, 1000, TREE_HELD);
	cr_expect(eq(i64, root_until_after_command(tree_seen(tree), 0700), LATER));
	cr_expect(zero(i64, tree_attr(tree, f, &attr)));
	tree_invalidate_all(tree);
	cr_expect(zero(i64, tree_attr(tree, root, &attr)));
}

Test(tree, a_commands_report_of_the_root_is_older_than_invalidations_and_events_since)
{
	tree_holds(tree, 1000, TREE_HELD);
	uint64_t seen = tree_seen(tree);

	tree_invalidate_all(tree);
	cr_expect(zero(i64, root_until_after_command(seen, 0700)));
	seen = tree_seen(tree);
	receive(WATCH_CHANGED, "");
	cr_expect(zero(i64, root_until_after_command(seen, 0750)));
}

static int root_reports;

static void count_root(void *context, const struct tree_report *report)
{
	(void)context;
	root_reports += report->inode == root;
}

/* The event that repeats the report is an echo, which sends no notice. */
Test(tree, the_kernel_forgets_the_root_when_a_command_reports_another)
{
	const struct watch_event event = {
		.kind = WATCH_ATTR, .path = "", .has_attr = true, .attr = attr_of(1, S_IFDIR | 0700)
	};
	const struct tree_delegation how = { 0 };
	struct attr attr;

	tree_holds(tree, 1000, TREE_HELD);
	root_until_after_command(tree_seen(tree), 0755);
	cr_assert(ne(i64, tree_delegate(tree, root, &how, &attr), 0));
	tree_tells(tree, count_root, NULL);
	root_until_after_command(tree_seen(tree), 0700);
	tree_apply_event(tree, &event);
	cr_expect(eq(int, root_reports, 1));
}

Test(tree, two_names_of_one_file_are_one_inode)
{
	struct inode *first = learn(root, "x", 7, S_IFREG | 0644);
	struct inode *second = learn(root, "y", 7, S_IFREG | 0644);

	cr_expect(eq(ptr, first, second));
}

Test(tree, a_directory_that_the_sandbox_moved_is_a_new_inode)
{
	struct inode *a = learn(root, "a", 2, S_IFDIR | 0755);

	tree_kernel_get(tree, a);
	cr_expect(ne(ptr, learn(root, "b", 2, S_IFDIR | 0755), a));
	tree_kernel_forget(tree, a, 1);
}

static struct inode *learn_late(
	uint64_t seen, struct inode *dir, const char *name, struct attr attr);
static void change(struct inode *i);
static void move(
	struct inode *i, struct inode *from, const char *name, struct inode *dir, const char *to);

/* An answer that is older than a change of the directory is not valid. */
Test(tree, an_invalid_answer_moves_no_directory_that_the_kernel_has)
{
	struct inode *a = learn(root, "a", 2, S_IFDIR | 0755);
	struct inode *b = learn(a, "b", 3, S_IFDIR | 0755);
	uint64_t seen = tree_seen(tree);

	tree_kernel_get(tree, b);
	change(root);
	cr_expect(ne(ptr, learn_late(seen, root, "m", attr_of(3, S_IFDIR | 0755)), b));
	tree_learn_absent(tree, a, "b", tree_seen(tree));
	seen = tree_seen(tree);
	change(root);
	cr_expect(ne(ptr, learn_late(seen, root, "n", attr_of(3, S_IFDIR | 0755)), b));
	tree_kernel_forget(tree, b, 1);
}

Test(tree, a_directory_that_lost_its_name_is_found_elsewhere_as_a_new_inode)
{
	struct inode *a = learn(root, "a", 2, S_IFDIR | 0755);
	struct inode *moved = learn(a, "m", 3, S_IFDIR | 0755);

	tree_kernel_get(tree, moved);
	tree_learn_absent(tree, a, "m", tree_seen(tree));
	cr_expect(ne(ptr, learn(root, "m", 3, S_IFDIR | 0755), moved));
	tree_kernel_forget(tree, moved, 1);
}

Test(tree, names_of_one_link_in_directories_of_any_depth_are_of_one_inode)
{
	struct inode *a = learn(root, "a", 2, S_IFDIR | 0755);
	struct inode *link = learn(a, "l", 3, S_IFLNK | 0777);

	cr_expect(eq(ptr, learn(a, "m", 3, S_IFLNK | 0777), link));
	cr_expect(eq(ptr, learn(root, "m", 3, S_IFLNK | 0777), link));
}

/* The state that the sandbox had of the file is so many seconds later than the known one. */
static void receive_renamed_at(struct inode *i, const char *from, const char *path, int offset_s)
{
	struct watch_event event = {
		.kind = WATCH_CREATED, .path = path, .from = from, .has_attr = true
	};

	tree_attr(tree, i, &event.attr);
	event.attr.ctime.tv_sec += offset_s;
	event.is_dir = S_ISDIR(event.attr.mode);
	tree_apply_event(tree, &event);
}

static void receive_renamed(struct inode *i, const char *from, const char *path)
{
	receive_renamed_at(i, from, path, 1);
}

/* The kernel has the directory, and the texts of links below it, as they were at the old place. */
Test(tree, a_directory_that_others_moved_is_a_new_one)
{
	struct inode *a = learn(root, "a", 2, S_IFDIR | 0755);
	struct inode *b = learn(a, "b", 5, S_IFDIR | 0755);
	struct inode *moved = learn_born(a, "m", 3, S_IFDIR | 0755);
	struct inode *top = learn_born(a, "t", 4, S_IFDIR | 0755);

	tree_kernel_get(tree, moved);
	tree_kernel_get(tree, top);
	tree_learn_absent(tree, a, "m", tree_seen(tree));
	cr_expect(ne(ptr, learn_born(root, "m", 3, S_IFDIR | 0755), moved));
	receive_renamed(top, "a/t", "t");
	cr_expect(ne(ptr, tree_peek(tree, root, "t"), top));
	receive_renamed(top, "a/t", "a/b/t");
	cr_expect(ne(ptr, tree_peek(tree, b, "t"), top));
	receive_renamed(top, "a/t", "a/u");
	cr_expect(ne(ptr, tree_peek(tree, a, "u"), top));
	cr_expect(ne(ptr, learn_born(a, "n", 3, S_IFDIR | 0755), moved));
	cr_expect(ne(ptr, learn_born(b, "m", 3, S_IFDIR | 0755), moved));
	tree_kernel_forget(tree, moved, 1);
	tree_kernel_forget(tree, top, 1);
}

Test(tree, a_directory_that_lost_its_name_is_not_found_by_its_number_alone)
{
	struct inode *was = learn(root, "a", 3, S_IFDIR | 0755);

	tree_kernel_get(tree, was);
	tree_learn_absent(tree, root, "a", tree_seen(tree));
	cr_expect(ne(ptr, learn(root, "b", 3, S_IFDIR | 0755), was));
	tree_kernel_forget(tree, was, 1);
}

/*
 * The rename, which is deferred until the change ends, takes away the name of the file that
 * changes.
 */
Test(tree, a_rename_over_a_changing_file_is_applied_when_the_change_is_done)
{
	struct inode *a = learn(root, "a", 2, S_IFDIR | 0755);
	struct inode *f = learn_born(a, "f", 3, S_IFREG | 0644);
	struct inode *g = learn_born(a, "g", 4, S_IFREG | 0644);
	struct tree_scope scope = { .inodes = { f } };

	tree_kernel_get(tree, g);
	tree_change_begins(tree, &scope);
	receive_renamed(g, "a/g", "a/f");
	cr_expect(eq(str, (char *)path_of(g, NULL), "a/g"));
	tree_change_ends(tree, &scope);
	cr_expect(eq(str, (char *)path_of(g, NULL), "a/f"));
	tree_kernel_forget(tree, g, 1);
}

Test(tree, a_file_that_is_reported_by_another_name_has_that_one)
{
	struct inode *f = learn(root, "log", 7, S_IFREG | 0644);

	tree_kernel_get(tree, f);
	receive_renamed(f, "log", "log.1");
	cr_expect(eq(str, (char *)path_of(f, NULL), "log.1"));
	cr_expect(eq(ptr, tree_peek(tree, root, "log"), NULL));
	tree_kernel_forget(tree, f, 1);
}

/* The sandbox had that name between two changes of the mount that left in one batch. */
Test(tree, a_name_that_a_file_had_before_its_last_change_is_not_taken_for_one_that_it_has)
{
	struct inode *f = learn_born(root, "file", 7, S_IFREG | 0644);

	tree_kernel_get(tree, f);
	receive_renamed_at(f, NULL, "file.new", 0);
	cr_expect(eq(str, (char *)path_of(f, NULL), "file"));
	receive_renamed_at(f, NULL, "file.new", -1);
	cr_expect(eq(str, (char *)path_of(f, NULL), "file"));
	receive_renamed_at(f, "file", "file.new", 0);
	cr_expect(eq(str, (char *)path_of(f, NULL), "file"));
	cr_expect(eq(ptr, tree_peek(tree, root, "file.new"), NULL));
	tree_kernel_forget(tree, f, 1);
}

/* The file may be removed, and its number given to a new file. */
Test(tree, a_file_without_a_time_of_birth_is_not_known_by_its_number_alone)
{
	struct inode *f = learn(root, "log", 7, S_IFREG | 0644);
	struct inode *born = learn_born(root, "born", 8, S_IFREG | 0644);

	tree_kernel_get(tree, f);
	tree_kernel_get(tree, born);
	receive_renamed(f, NULL, "new");
	receive_renamed(f, "other", "newer");
	cr_expect(eq(str, (char *)path_of(f, NULL), "log"));
	cr_expect(eq(ptr, tree_peek(tree, root, "new"), NULL));
	receive_renamed(born, NULL, "new");
	cr_expect(eq(ptr, tree_peek(tree, root, "new"), born));
	tree_kernel_forget(tree, f, 1);
	tree_kernel_forget(tree, born, 1);
}

/* The root is a path. */
Test(tree, another_root_is_taken_and_nothing_below_the_one_before_is_valid)
{
	struct inode *a = learn(root, "a", 2, S_IFDIR | 0755);
	struct tree_news news = { .until_ms = INT64_MAX - 1 };
	bool changed;

	tree_attr(tree, root, &news.attr);
	news.attr.ino += 1000;
	cr_assert(eq(
		int, tree_learn_attr(tree, root, tree_seen(tree), &news, &changed, NULL), ERR_OK));
	cr_expect(tree_is(tree, root, &news.attr));
	cr_expect(eq(i64, tree_attr(tree, a, &news.attr), 0));
}

Test(tree, a_name_that_the_sandbox_gives_to_a_link_of_ours_is_not_ours)
{
	struct inode *link = learn(root, "l", 3, S_IFLNK | 0777);

	tree_link_is_ours(tree, link);
	cr_expect(eq(ptr, learn(root, "m", 3, S_IFLNK | 0777), link));
	cr_expect(tree_link_name_is_ours(tree, root, "l", link));
	cr_expect(not(tree_link_name_is_ours(tree, root, "m", link)));
	/* A further name of the inode, given here, could be of either kind. */
	tree_named(tree, root, "n", link, LATER);
	cr_expect(not(tree_link_name_is_ours(tree, root, "n", link)));
}

Test(tree, a_link_of_ours_that_is_linked_renamed_or_exchanged_here_stays_ours)
{
	struct inode *a = learn(root, "a", 2, S_IFDIR | 0755);
	struct inode *link = learn(root, "l", 3, S_IFLNK | 0777);
	struct inode *other = learn(a, "o", 4, S_IFLNK | 0777);

	tree_link_is_ours(tree, link);
	tree_named(tree, a, "linked", link, LATER);
	cr_expect(tree_link_name_is_ours(tree, a, "linked", link));
	move(link, root, "l", a, "moved");
	cr_expect(tree_link_name_is_ours(tree, a, "moved", link));
	tree_exchanged(tree, a, "moved", a, "o");
	cr_expect(tree_link_name_is_ours(tree, a, "o", link));
	cr_expect(not(tree_link_name_is_ours(tree, a, "moved", other)));
}

Test(tree, a_link_of_ours_that_the_sandbox_replaced_is_not_ours)
{
	struct inode *link = learn(root, "l", 3, S_IFLNK | 0777);

	tree_link_is_ours(tree, link);
	struct inode *theirs = learn(root, "l", 4, S_IFLNK | 0777);

	cr_expect(not(tree_link_name_is_ours(tree, root, "l", theirs)));
}

Test(tree, a_reused_inode_number_is_a_new_inode)
{
	struct tree_news news = {
		.attr = attr_of(5, S_IFREG | 0644), .until_ms = LATER, .name_until_ms = LATER
	};
	bool changed;

	news.attr.btime_ns = 1;
	struct inode *old = tree_learn_name(tree, root, "f", tree_seen(tree), &news, &changed);

	news.attr.btime_ns = 2;
	struct inode *new = tree_learn_name(tree, root, "f", tree_seen(tree), &news, &changed);

	cr_expect(ne(ptr, old, new));
	tree_unpin(tree, old);
	tree_unpin(tree, new);
}

static struct inode *learn_unborn(const char *name, uint64_t size, uint64_t seen)
{
	struct tree_news news = {
		.attr = attr_of(7, S_IFREG | 0644), .until_ms = LATER, .name_until_ms = LATER
	};
	bool changed;

	news.attr.nlink = 1;
	news.attr.size = size;
	struct inode *i = tree_learn_name(tree, root, name, seen, &news, &changed);

	tree_unpin(tree, i);
	return i;
}

/* The number was given to another file of a file system that has no times of birth. */
Test(tree, a_file_without_a_time_of_birth_is_another_where_name_and_contents_are)
{
	struct inode *f = learn_unborn("f", 10, tree_seen(tree));

	tree_kernel_get(tree, f);
	cr_expect(eq(ptr, learn_unborn("f", 20, tree_seen(tree)), f), "changed");
	cr_expect(eq(ptr, learn_unborn("g", 20, tree_seen(tree)), f), "renamed, or linked");
	cr_expect(ne(ptr, learn_unborn("h", 30, tree_seen(tree)), f));
	tree_kernel_forget(tree, f, 1);
}

/* What is known of it is what the mount shows, and not what the sandbox has. */
Test(tree, a_file_without_a_time_of_birth_that_changes_here_is_found_by_another_name)
{
	struct inode *f = learn_unborn("f", 10, tree_seen(tree));
	struct tree_scope scope = { .inodes = { f } };
	uint64_t seen = tree_seen(tree);

	tree_kernel_get(tree, f);
	tree_mark_unsynced(tree, f, 1);
	cr_expect(eq(ptr, learn_unborn("g", 20, tree_seen(tree)), f), "a write is pending");
	tree_mark_unsynced(tree, f, -1);
	tree_change_begins(tree, &scope);
	tree_change_ends(tree, &scope);
	cr_expect(eq(ptr, learn_unborn("h", 30, seen), f), "written since the question");
	tree_kernel_forget(tree, f, 1);
}

Test(tree, an_old_answer_takes_no_file_without_a_time_of_birth_for_another)
{
	struct inode *f = learn_unborn("f", 10, tree_seen(tree));
	uint64_t seen = tree_seen(tree);

	tree_kernel_get(tree, f);
	receive(WATCH_CREATED, "h");
	cr_expect(ne(ptr, learn_unborn("h", 30, seen), f));
	tree_kernel_forget(tree, f, 1);
}

/* On a file system of layers, whose helper tells births since it began. */
Test(tree, a_birth_that_passes_tells_a_reused_number_under_another_name)
{
	struct attr attr = attr_of(5, S_IFREG | 0644);
	struct inode *unborn = learn_attr(root, "f", attr);

	attr.btime_ns = BIRTH_PASSES | 1;
	cr_expect(eq(ptr, learn_attr(root, "f", attr), unborn), "copied from a lower layer");
	attr.btime_ns = BIRTH_PASSES | 2;
	cr_expect(ne(ptr, learn_attr(root, "g", attr), unborn));
}

/* The inode number that stat(2) shows. */
static uint64_t number_of(struct inode *i)
{
	struct attr attr;

	tree_attr(tree, i, &attr);
	return attr.ino;
}

/* Made here, in the sandbox with this number; the inode is not pinned any more. */
static struct inode *made(struct inode *dir, const char *name, uint64_t ino, uint32_t mode)
{
	struct tree_news news = {
		.attr = attr_of(ino, mode), .until_ms = LATER, .name_until_ms = LATER
	};
	struct inode *i = tree_made(tree, dir, name, &news);

	cr_assert(ne(ptr, i, NULL));
	tree_unpin(tree, i);
	return i;
}

/* On a file system of layers births are known of what is younger than the helper. */
Test(tree, a_made_file_is_no_earlier_one_of_its_number_that_has_no_time_of_birth)
{
	struct tree_news news = {
		.attr = attr_of(5, S_IFREG | 0644), .until_ms = LATER, .name_until_ms = LATER
	};
	struct inode *old = learn(root, "f", 5, S_IFREG | 0644);

	tree_kernel_get(tree, old);
	news.attr.nlink = 1;
	news.attr.btime_ns = BIRTH_PASSES | 1;
	struct inode *new = tree_made(tree, root, "g", &news);

	cr_expect(ne(ptr, new, old));
	tree_unpin(tree, new);
	tree_kernel_forget(tree, old, 1);
}

Test(tree, a_removed_inode_that_is_remembered_shares_its_number_with_none)
{
	struct inode *old = learn(root, "d", 5, S_IFDIR | 0755);

	tree_kernel_get(tree, old);
	tree_unnamed(tree, root, "d");
	struct inode *new = made(root, "d", 5, S_IFDIR | 0755);

	tree_kernel_get(tree, new);
	cr_expect(eq(u64, number_of(old), 5));
	cr_expect(ne(u64, number_of(new), 5));
	cr_expect(eq(u64, tree_expect(tree, new).ino, 5));
	uint64_t shown = number_of(new);

	/*
	 * Neither forgotten itself nor learned again the new one takes a number that is remembered.
	 */
	tree_kernel_forget(tree, new, 1);
	cr_expect(ne(u64, number_of(new), 5));
	cr_expect(eq(ptr, learn(root, "d", 5, S_IFDIR | 0755), new));
	tree_kernel_get(tree, new);
	cr_expect(eq(u64, number_of(new), shown));
	tree_kernel_forget(tree, old, 1);
	cr_expect(eq(u64, number_of(new), shown));
	tree_kernel_forget(tree, new, 1);
	cr_expect(eq(u64, number_of(new), shown), "what was shown stays");
}

Test(tree, a_file_that_left_staging_and_is_remembered_shares_its_number_with_none)
{
	struct inode *old = learn(root, "f", 5, S_IFREG | 0644);

	tree_kernel_get(tree, old);
	cr_assert(eq(int, tree_open(tree, old, NULL), ERR_OK));
	cr_assert(tree_removal_begins(tree, old));
	tree_staged(tree, old, strdup("/u-1"));
	tree_unnamed(tree, root, "f");
	tree_removal_ends(tree, old);
	free(tree_close(tree, old));
	cr_expect(ne(u64, number_of(made(root, "g", 5, S_IFREG | 0644)), 5));
	tree_kernel_forget(tree, old, 1);
}

Test(tree, the_number_of_a_removed_inode_that_nobody_remembers_is_shown_again)
{
	struct inode *old = learn(root, "f", 5, S_IFREG | 0644);

	tree_kernel_get(tree, old);
	tree_pin(tree, old);
	tree_unnamed(tree, root, "f");
	tree_kernel_forget(tree, old, 1);
	cr_expect(eq(u64, number_of(made(root, "f", 5, S_IFREG | 0644)), 5));
	tree_unpin(tree, old);
}

Test(tree, an_answer_older_than_a_change_is_not_valid)
{
	struct tree_scope scope = { .inodes = { root } };
	struct tree_news news = {
		.attr = attr_of(9, S_IFREG | 0644), .until_ms = LATER, .name_until_ms = LATER
	};
	uint64_t seen = tree_seen(tree);
	struct inode *found;
	bool changed;

	tree_change_begins(tree, &scope);
	tree_change_ends(tree, &scope);
	tree_unpin(tree, tree_learn_name(tree, root, "f", seen, &news, &changed));
	cr_expect(eq(int, tree_find(tree, root, "f", 0, &found, NULL), TREE_UNKNOWN));
}

static void change(struct inode *i)
{
	struct tree_scope scope = { .inodes = { i } };

	tree_change_begins(tree, &scope);
	tree_change_ends(tree, &scope);
}

/* Gives `i` the name `dir`/`to`, as a rename does. */
static void move(
	struct inode *i, struct inode *from, const char *name, struct inode *dir, const char *to)
{
	tree_move_begins(tree, i, NULL);
	change(from);
	change(dir);
	tree_renamed(
		tree, &(struct tree_name){ from, name }, &(struct tree_name){ dir, to }, i, LATER);
	tree_move_ends(tree, i, NULL);
}

static struct inode *learn_late(
	uint64_t seen, struct inode *dir, const char *name, struct attr attr)
{
	struct tree_news news = { .attr = attr, .until_ms = LATER, .name_until_ms = LATER };
	bool changed;
	struct inode *i = tree_learn_name(tree, dir, name, seen, &news, &changed);

	cr_assert(ne(ptr, i, NULL));
	return i;
}

Test(tree, what_is_held_stays_so_when_an_older_answer_says_the_same)
{
	const int64_t validated_until_ms = 5000, timed_until_ms = 100;
	uint64_t seen = tree_seen(tree);
	bool changed;

	tree_holds(tree, 1000, validated_until_ms);
	struct inode *f = learn(root, "f", 9, S_IFREG | 0644);
	struct tree_news news = { .attr = attr_of(9, S_IFREG | 0644), .until_ms = timed_until_ms };
	struct attr attr;

	cr_assert(eq(int, tree_learn_attr(tree, f, seen, &news, &changed, NULL), ERR_OK));
	cr_expect(eq(i64, tree_attr(tree, f, &attr), validated_until_ms));
	news.attr.size++;
	cr_assert(eq(int, tree_learn_attr(tree, f, seen, &news, &changed, NULL), ERR_OK));
	cr_expect(eq(i64, tree_attr(tree, f, &attr), timed_until_ms));
}

Test(tree, of_another_file_system_nothing_is_held)
{
	const int64_t timed_until_ms = 100;
	struct attr attr = attr_of(9, S_IFDIR | 0755);

	attr.dev = 2;
	tree_holds(tree, 1000, TREE_HELD);
	struct tree_news news = {
		.attr = attr, .until_ms = timed_until_ms, .name_until_ms = timed_until_ms
	};
	bool changed;
	struct inode *other =
		tree_learn_name(tree, root, "other", tree_seen(tree), &news, &changed);
	struct tree_listing l = { .until_ms = timed_until_ms, .name_until_ms = timed_until_ms };

	tree_listing_begins(tree, &l);
	cr_expect(tree_learn_complete(tree, other, &l));
	tree_listing_ends(tree, &l);
	cr_expect(eq(i64, tree_attr(tree, other, &attr), timed_until_ms));
	cr_expect(eq(i64, tree_give_name(tree, root, "other", other), TREE_HELD));
	cr_expect(tree_is_listed(tree, other, timed_until_ms - 1));
	cr_expect(not(tree_is_listed(tree, other, timed_until_ms)));
	tree_unpin(tree, other);
}

Test(tree, an_answer_older_than_a_change_of_the_file_leaves_its_size)
{
	struct inode *f = learn(root, "f", 3, S_IFREG | 0644);
	struct tree_scope write = { .inodes = { f } };
	struct attr written = attr_of(3, S_IFREG | 0644), shown;
	uint64_t seen = tree_seen(tree);

	written.size = 20;
	tree_change_begins(tree, &write);
	tree_adopt(tree, &write, f, &written, LATER);
	tree_change_ends(tree, &write);
	tree_unpin(tree, learn_late(seen, root, "f", attr_of(3, S_IFREG | 0644)));
	cr_expect(tree_attr(tree, f, &shown) > 0);
	cr_expect(eq(int, (int)shown.size, 20));
}

Test(tree, an_answer_older_than_a_rename_leaves_the_directory_where_it_is)
{
	struct inode *d = learn(root, "d", 3, S_IFDIR | 0755), *late;
	uint64_t seen = tree_seen(tree);

	tree_kernel_get(tree, d);
	move(d, root, "d", root, "e");
	late = learn_late(seen, root, "d", attr_of(3, S_IFDIR | 0755));
	cr_expect(ne(ptr, late, d));
	cr_expect(eq(str, (char *)path_of(d, NULL), "e"));
	tree_unpin(tree, late);
	cr_expect(eq(ptr, learn(root, "e", 3, S_IFDIR | 0755), d));
	tree_kernel_forget(tree, d, 1);
}

Test(tree, an_answer_older_than_a_replacement_does_not_bring_the_old_file_back)
{
	struct inode *new = learn(root, "new", 4, S_IFREG | 0644), *late;
	uint64_t seen = tree_seen(tree);

	learn(root, "f", 3, S_IFREG | 0644);
	move(new, root, "new", root, "f");
	late = learn_late(seen, root, "f", attr_of(3, S_IFREG | 0644));
	cr_expect(eq(ptr, late, new));
	cr_expect(eq(str, (char *)path_of(new, NULL), "f"));
	tree_unpin(tree, late);
}

/* The kernel, which has `old`, must not receive a file that was removed for the name. */
Test(tree, an_invalid_name_is_the_file_of_an_answer_from_before_the_invalidation)
{
	struct inode *old = learn(root, "f", 3, S_IFREG | 0644);
	uint64_t seen = tree_seen(tree);
	struct inode *found;

	tree_kernel_get(tree, old);
	tree_forget(tree);
	struct inode *new = learn_late(seen, root, "f", attr_of(4, S_IFREG | 0644));

	cr_expect(ne(ptr, new, old));
	cr_expect(eq(ptr, tree_peek(tree, root, "f"), new));
	cr_expect(eq(int, tree_find(tree, root, "f", 0, &found, NULL), TREE_UNKNOWN));
	tree_unpin(tree, new);
	tree_unpin(tree, new);
	tree_kernel_forget(tree, old, 1);
}

Test(tree, of_two_answers_from_before_an_invalidation_the_one_to_the_newer_question_names_the_file)
{
	uint64_t earlier = tree_seen(tree), newer = tree_seen(tree);

	learn(root, "f", 3, S_IFREG | 0644);
	tree_forget(tree);
	struct inode *new = learn_late(newer, root, "f", attr_of(4, S_IFREG | 0644));
	struct inode *late = learn_late(earlier, root, "f", attr_of(3, S_IFREG | 0644));
	const struct attr answered = attr_of(3, S_IFREG | 0644);

	cr_expect(eq(ptr, late, new));
	cr_expect(not(tree_is_named(tree, late, &answered)));
	tree_unpin(tree, late);
	tree_unpin(tree, new);
}

/* The new file is found by its number where it has another name. */
Test(tree, a_number_goes_to_the_file_of_an_answer_from_before_the_invalidation)
{
	struct attr attr = attr_of(3, S_IFREG | 0644);
	uint64_t seen = tree_seen(tree);

	attr.btime_ns = 1;
	struct inode *old = learn_late(tree_seen(tree), root, "old", attr);

	attr.btime_ns = 2;
	tree_forget(tree);
	struct inode *f = learn_late(seen, root, "f", attr);
	struct inode *linked = learn_late(tree_seen(tree), root, "linked", attr);

	cr_expect(ne(ptr, f, old));
	cr_expect(eq(ptr, linked, f));
	tree_unpin(tree, linked);
	tree_unpin(tree, f);
	tree_unpin(tree, old);
}

Test(tree, a_file_whose_number_a_removed_one_kept_is_the_same_by_the_next_answer)
{
	struct inode *old = learn(root, "f", 3, S_IFREG | 0644);
	uint64_t seen = tree_seen(tree);

	tree_kernel_get(tree, old);
	change(old);
	struct inode *d = learn_late(seen, root, "d", attr_of(3, S_IFDIR | 0755));

	cr_assert(ne(ptr, d, old));
	for (int n = 0; n < 2; n++) {
		struct inode *again =
			learn_late(tree_seen(tree), root, "d", attr_of(3, S_IFDIR | 0755));

		cr_expect(eq(ptr, again, d));
		tree_unpin(tree, again);
	}
	tree_unpin(tree, d);
	tree_kernel_forget(tree, old, 1);
}

Test(tree, an_older_answer_leaves_a_number_with_the_file_of_the_newer_question)
{
	struct attr before = attr_of(3, S_IFREG | 0644), after = before;

	before.btime_ns = 1;
	after.btime_ns = 2;
	struct inode *old = learn_late(tree_seen(tree), root, "old", before);
	uint64_t earlier = tree_seen(tree), newer = tree_seen(tree);
	struct inode *f = learn_late(newer, root, "f", after);

	tree_unpin(tree, learn_late(earlier, root, "g", before));
	struct inode *linked = learn_late(tree_seen(tree), root, "linked", after);

	cr_expect(eq(ptr, linked, f));
	tree_unpin(tree, linked);
	tree_unpin(tree, f);
	tree_unpin(tree, old);
}

Test(tree, a_valid_name_stays_what_it_is_by_an_answer_that_a_change_overtook)
{
	struct inode *f = learn(root, "f", 3, S_IFREG | 0644);
	uint64_t seen = tree_seen(tree);

	change(root);
	struct inode *late = learn_late(seen, root, "f", attr_of(4, S_IFREG | 0644));

	cr_expect(eq(ptr, late, f));
	tree_unpin(tree, late);
}

Test(tree, an_answer_older_than_the_reuse_of_a_number_leaves_it_with_the_new_file)
{
	struct attr old = attr_of(3, S_IFREG | 0644), new = old;
	struct tree_news made = { .until_ms = LATER, .name_until_ms = LATER };
	uint64_t seen = tree_seen(tree);
	struct inode *now, *late;

	old.btime_ns = 1;
	new.btime_ns = 2;
	made.attr = new;
	now = tree_made(tree, root, "new", &made);
	late = learn_late(seen, root, "old", old);
	cr_expect(ne(ptr, late, now));
	tree_unpin(tree, late);
	late = learn_late(tree_seen(tree), root, "new", new);
	cr_expect(eq(ptr, late, now));
	tree_unpin(tree, late);
	tree_unpin(tree, now);
}

Test(tree, a_path_that_failed_loses_its_own_name_and_no_other)
{
	struct inode *f = learn(root, "x", 7, S_IFREG | 0644);
	AUTO_TREE_PATH struct tree_path path = { 0 };

	tree_kernel_get(tree, f);
	cr_assert(eq(int, tree_path(tree, f, NULL, &path, NULL), ERR_OK));
	cr_assert(eq(str, path.text, "x"));
	learn(root, "y", 7, S_IFREG | 0644);
	cr_expect(tree_name_failed(tree, f, &path));
	cr_expect(eq(str, (char *)path_of(f, NULL), "y"));
	cr_expect(tree_name_failed(tree, f, &path));
	cr_expect(eq(str, (char *)path_of(f, NULL), "y"));
	tree_kernel_forget(tree, f, 1);
}

Test(tree, attributes_of_two_changes_at_once_are_asked_again)
{
	struct inode *f = learn(root, "f", 3, S_IFREG | 0644);
	struct tree_scope one = { .inodes = { f } }, two = { .inodes = { f } };
	struct attr answer = attr_of(3, S_IFREG | 0600), shown;

	tree_change_begins(tree, &one);
	tree_change_begins(tree, &two);
	tree_adopt(tree, &one, f, &answer, LATER);
	tree_change_ends(tree, &one);
	tree_adopt(tree, &two, f, &answer, LATER);
	tree_change_ends(tree, &two);
	cr_expect(eq(int, (int)tree_attr(tree, f, &shown), 0));
}

Test(tree, a_lone_change_leaves_its_answer)
{
	struct inode *f = learn(root, "f", 3, S_IFREG | 0644);
	struct tree_scope scope = { .inodes = { f } };
	struct attr answer = attr_of(3, S_IFREG | 0600), shown;

	tree_change_begins(tree, &scope);
	tree_adopt(tree, &scope, f, &answer, LATER);
	tree_change_ends(tree, &scope);
	cr_expect(tree_attr(tree, f, &shown) > 0);
	cr_expect(eq(int, (int)shown.mode, S_IFREG | 0600));
}

Test(tree, a_name_that_is_answered_to_be_absent_is_not_known_any_more)
{
	struct inode *found;

	learn(root, "f", 7, S_IFREG | 0644);
	cr_expect(eq(int, tree_find(tree, root, "f", 0, &found, NULL), TREE_KNOWN));
	tree_unpin(tree, found);
	cr_expect(tree_learn_absent(tree, root, "f", tree_seen(tree)));
	cr_expect(eq(int, tree_find(tree, root, "f", 0, &found, NULL), TREE_UNKNOWN));
}

Test(tree, a_name_whose_attributes_are_not_valid_any_more_is_asked_again)
{
	struct tree_news news = {
		.attr = attr_of(7, S_IFREG | 0644), .until_ms = 100, .name_until_ms = LATER
	};
	struct inode *found;
	bool changed;

	tree_unpin(tree, tree_learn_name(tree, root, "f", tree_seen(tree), &news, &changed));
	cr_expect(eq(int, tree_find(tree, root, "f", 99, &found, NULL), TREE_KNOWN));
	tree_unpin(tree, found);
	cr_expect(eq(int, tree_find(tree, root, "f", 100, &found, NULL), TREE_UNKNOWN));
}

Test(tree, a_complete_directory_knows_what_is_absent)
{
	struct inode *found;
	struct tree_listing listing = { .until_ms = LATER, .name_until_ms = LATER };

	tree_listing_begins(tree, &listing);
	cr_assert(tree_learn_complete(tree, root, &listing));
	cr_expect(eq(int, tree_find(tree, root, "nothing", 0, &found, NULL), TREE_ABSENT));
}

Test(tree, a_listing_drops_what_it_did_not_name)
{
	struct inode *found;

	learn(root, "gone", 4, S_IFREG | 0644);
	struct tree_listing listing = { .until_ms = LATER, .name_until_ms = LATER };

	tree_listing_begins(tree, &listing);
	learn(root, "here", 5, S_IFREG | 0644);
	cr_assert(tree_learn_complete(tree, root, &listing));
	cr_expect(eq(int, tree_find(tree, root, "gone", 0, &found, NULL), TREE_ABSENT));
	cr_expect(eq(int, tree_find(tree, root, "here", 0, &found, NULL), TREE_KNOWN));
	tree_unpin(tree, found);
}

Test(tree, a_listing_spares_what_a_newer_one_named)
{
	struct inode *found;
	struct tree_listing first = { .until_ms = LATER, .name_until_ms = LATER }, newer = first;

	tree_listing_begins(tree, &first);
	tree_listing_begins(tree, &newer);
	learn(root, "new", 4, S_IFREG | 0644);
	cr_assert(tree_learn_complete(tree, root, &first));
	cr_expect(eq(int, tree_find(tree, root, "new", 0, &found, NULL), TREE_KNOWN));
	tree_unpin(tree, found);
}

Test(tree, a_listing_drops_what_only_an_older_one_named)
{
	struct inode *found;
	struct tree_listing first = { .until_ms = LATER, .name_until_ms = LATER }, newer = first;

	learn(root, "gone", 4, S_IFREG | 0644);
	tree_listing_begins(tree, &first);
	receive(WATCH_REMOVED, "gone");
	tree_listing_begins(tree, &newer);
	tree_unpin(tree, learn_late(first.seen, root, "gone", attr_of(4, S_IFREG | 0644)));
	cr_assert(tree_learn_complete(tree, root, &newer));
	cr_expect(eq(int, tree_find(tree, root, "gone", 0, &found, NULL), TREE_ABSENT));
}

/* The answer was on its way when the event arrived. */
Test(tree, a_directory_in_which_others_were_before_it_was_known_is_asked_for_again)
{
	struct tree_listing listing = { .until_ms = LATER, .name_until_ms = LATER };

	tree_listing_begins(tree, &listing);
	receive(WATCH_CREATED, "d/e/new");
	struct inode *d = learn_late(listing.seen, root, "d", attr_of(4, S_IFDIR | 0755));
	struct inode *e = learn_late(listing.seen, d, "e", attr_of(5, S_IFDIR | 0755));

	cr_expect(not(tree_learn_complete(tree, d, &listing)));
	cr_expect(not(tree_learn_complete(tree, e, &listing)));
	tree_listing_begins(tree, &listing);
	cr_expect(tree_learn_complete(tree, e, &listing));
	tree_unpin(tree, e);
	tree_unpin(tree, d);
}

Test(tree, a_path_through_a_renamed_directory_is_not_held)
{
	struct inode *a = learn(root, "a", 2, S_IFDIR | 0755);
	AUTO_TREE_PATH struct tree_path path = { 0 };

	cr_assert(eq(int, tree_path(tree, a, "f", &path, NULL), ERR_OK));
	cr_expect(tree_path_held(tree, a, &path));
	tree_move_begins(tree, a, NULL);
	rename_in_root("a", "b", a);
	tree_move_ends(tree, a, NULL);
	cr_expect(not(tree_path_held(tree, a, &path)));
	cr_expect(eq(str, (char *)path_of(a, "f"), "b/f"));
}

Test(tree, a_path_that_moved_is_never_taken_for_the_one_it_was)
{
	struct inode *a = learn(root, "a", 2, S_IFDIR | 0755);
	struct inode *b = learn(root, "b", 3, S_IFDIR | 0755);
	struct inode *f = learn(a, "f", 4, S_IFREG | 0644);
	AUTO_TREE_PATH struct tree_path path = { 0 };

	/*
	 * After this move the way through `a` has moved as often as the way through `b` will have.
	 */
	move(a, root, "a", root, "c");
	cr_assert(eq(int, tree_path(tree, f, NULL, &path, NULL), ERR_OK));
	move(f, a, "f", b, "f");
	cr_expect(not(tree_path_held(tree, f, &path)));
}

Test(tree, a_path_is_not_held_by_what_is_being_removed)
{
	struct inode *f = learn(root, "f", 3, S_IFREG | 0644);
	AUTO_TREE_PATH struct tree_path path = { 0 };

	tree_kernel_get(tree, f);
	cr_assert(eq(int, tree_open(tree, f, NULL), ERR_OK));
	cr_assert(eq(int, tree_path(tree, f, NULL, &path, NULL), ERR_OK));
	cr_assert(tree_removal_begins(tree, f));
	tree_staged(tree, f, strdup("/u-1"));
	tree_unnamed(tree, root, "f");
	tree_removal_ends(tree, f);
	cr_expect(not(tree_path_held(tree, f, &path)));
	free(tree_close(tree, f));
	tree_kernel_forget(tree, f, 1);
}

Test(tree, an_unlinked_open_file_is_found_in_staging_and_has_no_links)
{
	struct inode *f = learn(root, "f", 3, S_IFREG | 0644);
	struct attr shown;
	char *staged;

	tree_kernel_get(tree, f);
	cr_assert(eq(int, tree_open(tree, f, NULL), ERR_OK));
	cr_assert(tree_removal_begins(tree, f));
	tree_staged(tree, f, strdup("/u-1"));
	tree_unnamed(tree, root, "f");
	tree_removal_ends(tree, f);
	cr_expect(eq(str, (char *)path_of(f, NULL), "/u-1"));
	tree_attr(tree, f, &shown);
	cr_expect(eq(int, (int)shown.nlink, 0));
	staged = tree_close(tree, f);
	cr_expect(eq(str, staged, "/u-1"));
	free(staged);
	tree_kernel_forget(tree, f, 1);
}

static void *open_it(void *inode)
{
	return (void *)(intptr_t)tree_open(tree, inode, NULL);
}

Test(tree, nobody_opens_what_is_being_kept_while_its_last_handle_is_closed)
{
	struct inode *f = learn(root, "f", 3, S_IFREG | 0644);
	pthread_t opener;
	void *opened;

	tree_kernel_get(tree, f);
	cr_assert(eq(int, tree_open(tree, f, NULL), ERR_OK));
	cr_assert(tree_removal_begins(tree, f));
	tree_staged(tree, f, strdup("/u-1"));
	cr_assert(not(pthread_create(&opener, NULL, open_it, f)));
	free(tree_close(tree, f));
	usleep(50000);
	tree_unnamed(tree, root, "f");
	tree_removal_ends(tree, f);
	pthread_join(opener, &opened);
	cr_expect(eq(int, (int)(intptr_t)opened, ERR_STALE));
	tree_kernel_forget(tree, f, 1);
}

Test(tree, nobody_opens_what_is_being_removed)
{
	struct inode *f = learn(root, "f", 3, S_IFREG | 0644);

	tree_kernel_get(tree, f);
	cr_assert(not(tree_removal_begins(tree, f)));
	tree_unnamed(tree, root, "f");
	tree_removal_ends(tree, f);
	cr_expect(eq(int, tree_open(tree, f, NULL), ERR_STALE));
	tree_kernel_forget(tree, f, 1);
}

Test(tree, a_removed_directory_that_is_open_lives_on_in_memory)
{
	struct inode *d = learn(root, "d", 3, S_IFDIR | 0755);
	struct change chmod = { .set = SET_MODE, .mode = 0700 };
	struct attr shown;

	tree_kernel_get(tree, d);
	cr_expect(not(tree_set_gone(tree, d, &chmod, (struct timespec){ 0 })));
	tree_unnamed(tree, root, "d");
	cr_expect(tree_set_gone(tree, d, &chmod, (struct timespec){ 0 }));
	tree_attr(tree, d, &shown);
	cr_expect(eq(int, (int)shown.mode, S_IFDIR | 0700));
	tree_kernel_forget(tree, d, 1);
}

Test(tree, a_removed_name_leaves_an_open_file_to_its_other_one)
{
	struct inode *f = learn(root, "f", 3, S_IFREG | 0644);

	tree_kernel_get(tree, f);
	cr_assert(eq(int, tree_open(tree, f, NULL), ERR_OK));
	cr_assert(tree_removal_begins(tree, f));
	tree_staged(tree, f, strdup("/u-1"));
	tree_unnamed(tree, root, "f");
	tree_removal_ends(tree, f);
	cr_expect(eq(ptr, learn(root, "other", 3, S_IFREG | 0644), f));
	free(tree_close(tree, f));
	tree_kernel_forget(tree, f, 1);
}

Test(tree, nothing_is_forgotten_while_a_directory_is_listed)
{
	char name[32];
	uint64_t inodes, names;

	tree_hold(tree);
	for (uint64_t n = 0; n < 250; n++) {
		snprintf(name, sizeof name, "f%llu", (unsigned long long)n);
		learn(root, name, 1000 + n, S_IFREG | 0644);
	}
	tree_counts(tree, &inodes, &names);
	cr_expect(eq(long, (long)names, 250));
	tree_release(tree);
	tree_counts(tree, &inodes, &names);
	cr_expect(eq(long, (long)names, 100));
}

Test(tree, an_exchange_swaps_both_names)
{
	struct inode *a = learn(root, "a", 2, S_IFDIR | 0755);
	struct inode *b = learn(root, "b", 3, S_IFDIR | 0755);

	tree_exchanged(tree, root, "a", root, "b");
	cr_expect(eq(str, (char *)path_of(a, NULL), "b"));
	cr_expect(eq(str, (char *)path_of(b, NULL), "a"));
}

Test(tree, pages_are_current_only_for_the_version_they_were_read_from)
{
	struct tree_news news = { .attr = attr_of(3, S_IFREG | 0644),
		.until_ms = LATER,
		.name_until_ms = LATER,
		.now = { .tv_sec = 200 } };
	bool changed;
	struct inode *f = tree_learn_name(tree, root, "f", tree_seen(tree), &news, &changed);

	cr_expect(not(tree_pages_current(tree, f)));
	cr_expect(tree_pages_current(tree, f));
	news.attr.ctime.tv_sec = 150;
	tree_learn_attr(tree, f, tree_seen(tree), &news, &changed, NULL);
	cr_expect(not(tree_pages_current(tree, f)));
	tree_unpin(tree, f);
}

Test(tree, a_change_within_the_clock_tick_is_not_stable)
{
	struct tree_news news = { .attr = attr_of(3, S_IFREG | 0644),
		.until_ms = LATER,
		.name_until_ms = LATER,
		.now = { .tv_sec = 100, .tv_nsec = 1000000 } };
	bool changed;
	struct inode *f = tree_learn_name(tree, root, "f", tree_seen(tree), &news, &changed);

	cr_expect(tree_is_unstable(tree, f));
	news.now.tv_sec = 101;
	tree_learn_attr(tree, f, tree_seen(tree), &news, &changed, NULL);
	cr_expect(not(tree_is_unstable(tree, f)));
	tree_unpin(tree, f);
}

Test(tree, pages_read_within_the_clock_tick_of_a_change_are_not_current)
{
	struct tree_news news = { .attr = attr_of(3, S_IFREG | 0644),
		.until_ms = LATER,
		.name_until_ms = LATER,
		.now = { .tv_sec = 100, .tv_nsec = 1000000 } };
	bool changed;
	struct inode *f = tree_learn_name(tree, root, "f", tree_seen(tree), &news, &changed);

	cr_expect(not(tree_pages_current(tree, f)));
	cr_expect(not(tree_pages_current(tree, f)), "equal attributes, perhaps other contents");
	news.now.tv_sec = 101;
	tree_learn_attr(tree, f, tree_seen(tree), &news, &changed, NULL);
	tree_pages_current(tree, f);
	cr_expect(tree_pages_current(tree, f));
	tree_unpin(tree, f);
}

static int page_reports;

static void count_pages(void *context, const struct tree_report *report)
{
	(void)context;
	page_reports += report->inode && report->pages;
}

Test(tree, a_second_change_within_the_clock_tick_drops_the_pages)
{
	const struct timespec within = { .tv_sec = 100, .tv_nsec = 1000000 },
			      after = { .tv_sec = 101 };
	struct tree_news news = { .attr = attr_of(3, S_IFREG | 0644),
		.until_ms = LATER,
		.name_until_ms = LATER,
		.now = within };
	const struct watch_event event = {
		.kind = WATCH_CHANGED, .path = "f", .has_attr = true, .attr = news.attr
	};
	bool changed;
	struct inode *f = tree_learn_name(tree, root, "f", tree_seen(tree), &news, &changed);

	tree_kernel_get(tree, f);
	cr_assert(eq(int, tree_open(tree, f, NULL), ERR_OK));
	tree_tells(tree, count_pages, NULL);
	tree_apply_event(tree, &event);
	cr_expect(eq(int, page_reports, 1), "contents may differ though the attributes are equal");
	tree_apply_event(tree, &event);
	cr_expect(eq(int, page_reports, 2), "what was told may be followed by another change");
	news.now = after;
	tree_learn_attr(tree, f, tree_seen(tree), &news, &changed, NULL);
	tree_apply_event(tree, &event);
	cr_expect(eq(int, page_reports, 2), "the tick had passed: it is an echo");
	cr_expect(eq(ptr, tree_close(tree, f), NULL));
	tree_kernel_forget(tree, f, 1);
	tree_unpin(tree, f);
}

Test(tree, pages_of_a_closed_file_that_others_changed_are_not_used_when_it_is_opened)
{
	struct watch_event event = { .kind = WATCH_CHANGED, .path = "f", .has_attr = true };
	struct inode *f = learn(root, "f", 3, S_IFREG | 0644);

	tree_kernel_get(tree, f);
	tree_tells(tree, count_pages, NULL);
	tree_pages_current(tree, f);
	event.attr = attr_of(3, S_IFREG | 0644);
	tree_apply_event(tree, &event);
	cr_expect(eq(int, page_reports, 0), "nobody uses them");
	cr_expect(not(tree_pages_current(tree, f)));
	tree_kernel_forget(tree, f, 1);
}

Test(tree, unused_inodes_are_forgotten_oldest_first)
{
	struct inode *found;
	uint64_t inodes, names;
	char name[32];

	for (uint64_t n = 0; n < 250; n++) {
		snprintf(name, sizeof name, "f%llu", (unsigned long long)n);
		learn(root, name, 1000 + n, S_IFREG | 0644);
	}
	tree_counts(tree, &inodes, &names);
	cr_expect(eq(long, (long)inodes, 101));
	cr_expect(eq(int, tree_find(tree, root, "f0", 0, &found, NULL), TREE_UNKNOWN));
	cr_expect(eq(int, tree_find(tree, root, "f249", 0, &found, NULL), TREE_KNOWN));
	tree_unpin(tree, found);
}

/* Enough for every bucket of the tables. */
#define TAKEN_AT_ONCE 16

/* Takes at least so many of the invalid inodes and names that the kernel has. */
static void take_some(int least, int *inodes, int *names)
{
	struct tree_outdated taken[TAKEN_AT_ONCE];
	bool has_more = true;
	size_t count;

	*inodes = *names = 0;
	while (has_more && *inodes + *names < least) {
		has_more = tree_take_outdated(tree, taken, TAKEN_AT_ONCE, &count);
		for (size_t n = 0; n < count; n++) {
			*inodes += !taken[n].name;
			*names += taken[n].name != NULL;
			free(taken[n].name);
		}
	}
}

static void take_outdated(int *inodes, int *names)
{
	take_some(INT_MAX, inodes, names);
}

/* The kernel is given the inode and its name in the root. */
static void hand_out(struct inode *i, const char *name)
{
	const struct tree_delegation how = { 0 };
	struct attr attr;

	tree_kernel_get(tree, i);
	tree_give_name(tree, root, name, i);
	tree_delegate(tree, i, &how, &attr);
}

static void invalidate_and_take(int *inodes, int *names)
{
	tree_invalidate_all(tree);
	take_outdated(inodes, names);
}

Test(tree, an_invalidation_reaches_everything_the_kernel_may_use_once)
{
	struct inode *f = learn(root, "f", 3, S_IFREG | 0644), *found;
	int inodes, names;

	hand_out(f, "f");
	cr_assert(tree_give_negative(tree, root, "expired", 0));
	cr_assert(tree_give_negative(tree, root, "nothing", LATER));
	invalidate_and_take(&inodes, &names);
	cr_expect(eq(int, inodes, 1));
	cr_expect(eq(int, names, 2));
	invalidate_and_take(&inodes, &names);
	cr_expect(eq(int, inodes + names, 0), "the kernel was given nothing since");
	cr_expect(eq(int, tree_find(tree, root, "f", 0, &found, NULL), TREE_UNKNOWN));
	tree_kernel_forget(tree, f, 1);
}

Test(tree, an_invalidation_takes_nothing_that_the_kernel_does_not_have)
{
	struct inode *f = learn(root, "f", 3, S_IFREG | 0644);
	int inodes, names;

	learn(root, "g", 4, S_IFREG | 0644);
	hand_out(f, "f");
	tree_kernel_forget(tree, f, 1);
	invalidate_and_take(&inodes, &names);
	cr_expect(eq(int, inodes + names, 0));
}

enum { MANY = 3000 };

static struct inode *many[MANY];

static void hand_out_many(void)
{
	char name[32];

	for (uint64_t n = 0; n < MANY; n++) {
		snprintf(name, sizeof name, "f%llu", (unsigned long long)n);
		many[n] = learn(root, name, 1000 + n, S_IFREG | 0644);
		hand_out(many[n], name);
	}
}

static void kernel_forgets_many(void)
{
	for (size_t n = 0; n < MANY; n++)
		tree_kernel_forget(tree, many[n], 1);
}

Test(tree, an_invalidation_takes_all_of_many_though_more_become_known_meanwhile)
{
	struct tree_outdated first[TAKEN_AT_ONCE];
	int inodes, names;
	size_t count;
	char name[32];

	hand_out_many();
	tree_invalidate_all(tree);
	cr_assert(tree_take_outdated(tree, first, TAKEN_AT_ONCE, &count));
	for (size_t n = 0; n < count; n++)
		free(first[n].name);
	for (uint64_t n = 0; n < MANY; n++) {
		snprintf(name, sizeof name, "g%llu", (unsigned long long)n);
		learn(root, name, 100000 + n, S_IFREG | 0644);
	}
	take_outdated(&inodes, &names);
	cr_expect(eq(int, inodes + names + (int)count, 2 * MANY));
	kernel_forgets_many();
}

Test(tree, a_name_that_moves_while_names_are_taken_is_taken_by_the_next_invalidation)
{
	int inodes, more, names;
	char from[32], to[32];

	hand_out_many();
	tree_invalidate_all(tree);
	take_some(MANY + MANY / 2, &inodes, &names);
	for (int n = 0; n < MANY; n++) {
		snprintf(from, sizeof from, "f%d", n);
		snprintf(to, sizeof to, "g%d", n);
		rename_in_root(from, to, many[n]);
	}
	take_outdated(&inodes, &more);
	names += more;
	cr_expect(lt(int, names, MANY), "some moved to where names had been taken");
	invalidate_and_take(&inodes, &more);
	cr_expect(eq(int, names + more, MANY));
	kernel_forgets_many();
}

Test(tree, an_inode_that_loses_its_number_while_inodes_are_taken_is_taken_by_the_next_invalidation)
{
	int before, inodes, more, names;
	char name[32];

	hand_out_many();
	tree_invalidate_all(tree);
	take_some(MANY / 2, &before, &names);
	for (uint64_t n = 0; n < MANY; n++) {
		snprintf(name, sizeof name, "h%llu", (unsigned long long)(n % 10));
		learn(root, name, 1000 + n, S_IFIFO | 0644);
	}
	take_outdated(&inodes, &names);
	invalidate_and_take(&more, &names);
	cr_expect(lt(int, before + inodes, MANY), "some went where inodes had been taken");
	cr_expect(eq(int, before + inodes + more, MANY));
	kernel_forgets_many();
}

/* One at a time is taken, of each bucket: the rest is not passed over for good. */
Test(tree, an_inode_without_room_is_taken_by_the_next_invalidation)
{
	struct tree_outdated taken;
	size_t all = 0, count, before;
	bool has_more;

	hand_out_many();
	do {
		before = all;
		has_more = true;
		tree_invalidate_all(tree);
		while (has_more) {
			has_more = tree_take_outdated(tree, &taken, 1, &count);
			if (count)
				free(taken.name);
			all += count;
		}
	} while (all > before);
	cr_expect(eq(sz, all, 2 * MANY));
	kernel_forgets_many();
}

Test(tree, an_invalidation_looks_at_nothing_that_the_kernel_does_not_use)
{
	struct tree_outdated taken[TAKEN_AT_ONCE];
	int inodes, names;
	size_t count;

	hand_out_many();
	invalidate_and_take(&inodes, &names);
	cr_expect(eq(int, inodes + names, 2 * MANY));
	tree_invalidate_all(tree);
	cr_expect(not(tree_take_outdated(tree, taken, TAKEN_AT_ONCE, &count)), "one step");
	cr_expect(zero(sz, count));
	cr_assert(zero(int, tree_open(tree, many[7], NULL)));
	tree_invalidate_all(tree);
	cr_expect(not(tree_take_outdated(tree, taken, TAKEN_AT_ONCE, &count)),
		"who has it open asks for no name");
	cr_expect(eq(sz, count, 1));
	cr_expect(zero(ptr, tree_close(tree, many[7])));
	kernel_forgets_many();
}

static bool is_valid(struct inode *i, const char *name)
{
	struct inode *found = NULL;
	struct attr attr;
	bool has_name = tree_find(tree, root, name, 0, &found, NULL) == TREE_KNOWN;

	if (found)
		tree_unpin(tree, found);
	return has_name || tree_attr(tree, i, &attr);
}

static void expect_invalidation_ends(struct inode *i, const char *name)
{
	cr_expect(is_valid(i, name), "%s", name);
	tree_invalidate_all(tree);
	cr_expect(not(is_valid(i, name)), "%s", name);
}

/* Each case follows an invalidation that found nothing else with a time of its own. */
Test(tree, an_invalidation_ends_every_validity_with_a_time_of_its_own)
{
	struct tree_news news = {
		.attr = attr_of(3, S_IFREG | 0644), .until_ms = LATER, .name_until_ms = LATER
	};
	struct tree_listing from = { 0 }, longer = { .until_ms = LATER, .name_until_ms = LATER };
	struct inode *f = learn(root, "f", 3, S_IFREG | 0644);
	struct attr attr;
	bool changed;

	expect_invalidation_ends(f, "f");
	cr_assert(zero(int, tree_learn_attr(tree, f, tree_seen(tree), &news, &changed, NULL)));
	expect_invalidation_ends(f, "f");
	rename_in_root("f", "g", f);
	tree_invalidate_all(tree);
	from.seen = tree_seen(tree);
	tree_extend_validity(tree, root, &from, &longer);
	expect_invalidation_ends(f, "g");
	cr_assert(zero(int, tree_learn_attr(tree, f, tree_seen(tree), &news, &changed, NULL)));
	rename_in_root("g", "h", f);
	expect_invalidation_ends(f, "h");
	cr_assert(zero(int, tree_learn_attr(tree, f, tree_seen(tree), &news, &changed, NULL)));
	expect_invalidation_ends(f, "h");
	news.attr = attr_of(5, S_IFREG | 0644);
	news.begun = tree_seen(tree);
	f = tree_made(tree, root, "made", &news);
	expect_invalidation_ends(f, "made");
	tree_unpin(tree, f);
	cr_expect(zero(i64, tree_attr(tree, root, &attr)));
}

/* The listing that taught the name goes on, and would make it valid for longer. */
Test(tree, no_listing_revives_what_had_ended_before_an_invalidation)
{
	struct tree_listing l = { .until_ms = 1, .name_until_ms = 1 };
	const struct tree_listing longer = { .until_ms = LATER, .name_until_ms = LATER };
	struct tree_news news = {
		.attr = attr_of(3, S_IFREG | 0644), .until_ms = 1, .name_until_ms = 1
	};
	struct inode *f, *found = NULL;
	struct attr attr;
	bool changed;

	tree_listing_begins(tree, &l);
	f = tree_learn_name(tree, root, "f", l.seen, &news, &changed);
	cr_assert(not(zero(ptr, f)));
	cr_assert(tree_learn_complete(tree, root, &l));
	tree_invalidate_all(tree);
	tree_extend_validity(tree, root, &l, &longer);
	cr_expect(ne(int, tree_find(tree, root, "f", 2, &found, NULL), TREE_KNOWN));
	cr_expect(le(i64, tree_attr(tree, f, &attr), 1));
	cr_expect(not(tree_is_listed(tree, root, 2)));
	tree_listing_ends(tree, &l);
	tree_unpin(tree, f);
}

/* The answer of an audit that was asked after the invalidation. */
static void confirm(void)
{
	cr_assert(tree_validate(tree, TREE_HELD, NULL));
}

static struct inode *learn_held(struct inode *dir, const char *name, uint64_t ino)
{
	tree_holds(tree, 1000, TREE_HELD);
	return learn(dir, name, ino, S_IFREG | 0644);
}

/* The root is complete, and the kernel has all that is known, and that "none" does not exist. */
static struct inode *hand_out_all(void)
{
	struct inode *f = learn_held(root, "f", 3);
	struct tree_listing l = { .until_ms = LATER, .name_until_ms = LATER };

	tree_listing_begins(tree, &l);
	tree_unpin(tree, learn_late(l.seen, root, "f", attr_of(3, S_IFREG | 0644)));
	cr_assert(tree_learn_complete(tree, root, &l));
	tree_listing_ends(tree, &l);
	hand_out(f, "f");
	cr_assert(tree_give_negative(tree, root, "none", LATER));
	return f;
}

Test(tree, what_an_audit_confirms_stays_with_the_kernel)
{
	struct inode *f = hand_out_all();
	int inodes, names;

	tree_invalidate_all(tree);
	confirm();
	take_outdated(&inodes, &names);
	cr_expect(eq(int, inodes + names, 0));
	invalidate_and_take(&inodes, &names);
	cr_expect(eq(int, inodes, 1), "the kernel still has them");
	cr_expect(eq(int, names, 2));
	tree_kernel_forget(tree, f, 1);
}

Test(tree, what_an_audit_finds_otherwise_the_kernel_forgets)
{
	struct inode *f = hand_out_all();
	struct tree_news news = { .attr = attr_of(3, S_IFREG | 0600), .until_ms = LATER };
	bool changed;
	int inodes, names;

	tree_invalidate_all(tree);
	confirm();
	cr_assert(
		eq(int, tree_learn_attr(tree, f, tree_seen(tree), &news, &changed, NULL), ERR_OK));
	learn(root, "none", 4, S_IFREG | 0644);
	take_outdated(&inodes, &names);
	cr_expect(eq(int, inodes, 1));
	cr_expect(eq(int, names, 1));
	tree_kernel_forget(tree, f, 1);
}

/* One answer may have overtaken the other on the way to the kernel. */
Test(tree, of_a_file_that_the_kernel_was_given_in_two_states_it_forgets_both)
{
	struct inode *f = learn_held(root, "f", 3);
	struct tree_news news = { .attr = attr_of(3, S_IFREG | 0600), .until_ms = LATER };
	bool changed;
	int inodes, names;

	hand_out(f, "f");
	cr_assert(
		eq(int, tree_learn_attr(tree, f, tree_seen(tree), &news, &changed, NULL), ERR_OK));
	hand_out(f, "f");
	tree_invalidate_all(tree);
	confirm();
	take_outdated(&inodes, &names);
	cr_expect(eq(int, inodes, 1));
	tree_kernel_forget(tree, f, 2);
}

Test(tree, what_is_shown_because_nobody_answers_the_kernel_forgets)
{
	struct inode *f = learn_held(root, "f", 3);
	int inodes, names;

	hand_out(f, "f");
	tree_invalidate_all(tree);
	tree_validate_offline(tree, TREE_HELD);
	take_outdated(&inodes, &names);
	cr_expect(eq(int, inodes, 1));
	cr_expect(eq(int, names, 1));
	tree_kernel_forget(tree, f, 1);
}

/* Contents may have changed again within the tick, and who has the file mapped asks for nothing. */
Test(tree, of_an_open_file_that_changed_just_now_the_kernel_forgets_the_pages)
{
	struct inode *f = learn_held(root, "f", 3);
	int inodes, names;

	hand_out(f, "f");
	cr_assert(eq(int, tree_open(tree, f, NULL), ERR_OK));
	tree_invalidate_all(tree);
	confirm();
	take_outdated(&inodes, &names);
	cr_expect(eq(int, inodes, 1));
	cr_expect(eq(int, names, 0));
	free(tree_close(tree, f));
	tree_kernel_forget(tree, f, 1);
}

static int name_reports, gone_reports, inode_reports;

static void count_reports(void *context, const struct tree_report *report)
{
	(void)context;
	inode_reports += report->inode != NULL;
	name_reports += report->name != NULL;
	gone_reports += report->is_gone;
}

Test(tree, a_name_that_a_listing_dropped_is_reported_as_gone)
{
	struct inode *gone = learn(root, "gone", 3, S_IFREG | 0644);
	struct tree_listing listing = { .until_ms = LATER, .name_until_ms = LATER };

	learn(root, "unused", 4, S_IFREG | 0644);
	hand_out(gone, "gone");
	tree_tells(tree, count_reports, NULL);
	tree_listing_begins(tree, &listing);
	cr_assert(tree_learn_complete(tree, root, &listing));
	cr_expect(eq(int, gone_reports, 1), "the kernel still has it");
	cr_expect(eq(int, name_reports, 1), "and never had the other");
	tree_listing_ends(tree, &listing);
	tree_kernel_forget(tree, gone, 1);
}

Test(tree, what_others_change_is_reported_only_where_the_kernel_uses_it)
{
	struct inode *used = learn(root, "used", 3, S_IFREG | 0644);
	struct watch_event event = { .kind = WATCH_REMOVED };

	learn(root, "unused", 4, S_IFREG | 0644);
	hand_out(used, "used");
	tree_tells(tree, count_reports, NULL);
	event.path = "unused";
	tree_apply_event(tree, &event);
	cr_expect(eq(int, name_reports + inode_reports, 0));
	event.path = "used";
	tree_apply_event(tree, &event);
	cr_expect(eq(int, name_reports, 1));
	cr_expect(eq(int, inode_reports, 1));
	tree_apply_event(tree, &event);
	cr_expect(eq(int, name_reports + inode_reports, 2), "it was given nothing since");
	tree_kernel_forget(tree, used, 1);
}

/* ---- Names end with their inodes ---- */

static uint64_t known(void)
{
	uint64_t inodes, names;

	tree_counts(tree, &inodes, &names);
	return inodes + names;
}

/* dir/sub/f and dir/f: three directories with the root, and two files of two names. */
static struct inode *learn_below(void)
{
	struct inode *dir = learn(root, "dir", 10, S_IFDIR | 0755);
	struct inode *sub = learn(dir, "sub", 11, S_IFDIR | 0755);

	learn(sub, "f", 12, S_IFREG | 0644);
	learn(dir, "f", 13, S_IFREG | 0644);
	return dir;
}

Test(tree, all_that_is_below_a_directory_that_others_removed_ends_with_it)
{
	uint64_t before = known();

	learn_below();
	cr_assert(tree_learn_absent(tree, root, "dir", tree_seen(tree)));
	cr_expect(eq(u64, known(), before));
}

Test(tree, what_is_below_a_directory_that_others_replaced_ends_with_it)
{
	uint64_t before = known();

	learn_below();
	learn(root, "dir", 20, S_IFDIR | 0755);
	cr_expect(eq(u64, known(), before + 2));
}

Test(tree, what_the_kernel_has_of_a_removed_directory_ends_when_the_kernel_forgets_it)
{
	uint64_t before = known();
	struct inode *dir = learn_below();

	tree_kernel_get(tree, dir);
	cr_assert(tree_learn_absent(tree, root, "dir", tree_seen(tree)));
	cr_expect(eq(u64, known(), before + 1), "the directory itself is in use");
	tree_kernel_forget(tree, dir, 1);
	cr_expect(eq(u64, known(), before));
}

Test(tree, names_that_an_answer_teaches_of_a_removed_directory_end_when_nobody_uses_it)
{
	uint64_t before = known();
	struct inode *dir = learn_below();

	tree_pin(tree, dir);
	cr_assert(tree_learn_absent(tree, root, "dir", tree_seen(tree)));
	learn(dir, "late", 30, S_IFREG | 0644);
	cr_expect(lt(u64, before + 1, known()));
	tree_unpin(tree, dir);
	cr_expect(eq(u64, known(), before));
}

Test(tree, a_name_known_not_to_exist_does_not_keep_its_directory)
{
	uint64_t before = known();
	struct inode *dir = learn_below();

	cr_assert(tree_give_negative(tree, dir, "none", LATER));
	cr_assert(tree_learn_absent(tree, root, "dir", tree_seen(tree)));
	cr_expect(eq(u64, known(), before));
}

/*
 * The event has a name that is not known, in a directory whose entries are not known either: an
 * answer may know more.
 */
Test(tree, an_event_of_a_directory_does_not_keep_the_directory)
{
	const struct watch_event event = { .kind = WATCH_CREATED, .path = "dir/sub/told" };
	uint64_t before = known();

	learn_below();
	tree_apply_event(tree, &event);
	cr_assert(tree_learn_absent(tree, root, "dir", tree_seen(tree)));
	cr_expect(eq(u64, known(), before));
}

Test(tree, a_change_of_ours_keeps_what_it_is_about_until_it_ends)
{
	uint64_t before = known();
	struct inode *dir = learn_below(), *f;
	struct tree_scope scope = { 0 };

	cr_assert(eq(int, tree_find(tree, dir, "f", 0, &f, NULL), TREE_KNOWN));
	scope.inodes[0] = f;
	tree_change_begins(tree, &scope);
	tree_unpin(tree, f);
	cr_assert(tree_learn_absent(tree, root, "dir", tree_seen(tree)));
	cr_expect(eq(u64, known(), before + 3), "the file, its name, and the directory of that");
	tree_change_ends(tree, &scope);
	cr_expect(eq(u64, known(), before));
}

Test(tree, a_name_that_leads_nowhere_is_passed_over)
{
	struct inode *f = learn(root, "b", 3, S_IFREG | 0644);
	struct inode *dir = learn(root, "dir", 4, S_IFDIR | 0755);

	tree_kernel_get(tree, dir);
	cr_assert(eq(ptr, learn(dir, "x", 3, S_IFREG | 0644), f));
	cr_assert(tree_learn_absent(tree, root, "dir", tree_seen(tree)));
	cr_expect(eq(str, (char *)path_of(f, NULL), "b"));
	tree_kernel_forget(tree, dir, 1);
}

Test(tree, depth_counts_the_directories_above)
{
	struct inode *a = learn(root, "a", 2, S_IFDIR | 0755);
	struct inode *b = learn(a, "b", 3, S_IFDIR | 0755);

	cr_expect(eq(int, (int)tree_depth_in(tree, root).depth, 0));
	cr_expect(eq(int, (int)tree_depth_in(tree, a).depth, 1));
	cr_expect(eq(int, (int)tree_depth_in(tree, b).depth, 2));
}

static void expect_depth(struct inode *dir, unsigned depth, unsigned least)
{
	struct tree_depth at = tree_depth_in(tree, dir);

	cr_expect(eq(uint, at.depth, depth));
	cr_expect(eq(uint, at.least, least));
}

static void wait_until_steady(struct inode *dir)
{
	while (tree_depth_in(tree, dir).settles_ms)
		usleep(1000);
}

/* The kernel has the directory at its old place until the rename is answered. */
Test(tree, what_is_below_a_directory_that_moves_is_as_deep_as_at_the_nearer_of_both_places)
{
	struct inode *a = learn(root, "a", 2, S_IFDIR | 0755);
	struct inode *b = learn(a, "b", 3, S_IFDIR | 0755);
	struct inode *d = learn(root, "d", 4, S_IFDIR | 0755);
	struct inode *e = learn(d, "e", 5, S_IFDIR | 0755);

	expect_depth(e, 2, 2);
	move(d, root, "d", b, "d");
	expect_depth(d, 3, 1);
	expect_depth(e, 4, 2);
	expect_depth(b, 2, 2);
	tree_move_answered(tree);
	wait_until_steady(e);
	expect_depth(e, 4, 4);
	move(d, b, "d", root, "d");
	expect_depth(e, 2, 2);
}

Test(tree, an_exchange_moves_both_directories)
{
	struct inode *a = learn(root, "a", 2, S_IFDIR | 0755);
	struct inode *b = learn(a, "b", 3, S_IFDIR | 0755);
	struct inode *d = learn(root, "d", 4, S_IFDIR | 0755);

	tree_exchanged(tree, a, "b", root, "d");
	expect_depth(b, 1, 1);
	expect_depth(d, 2, 1);
}

Test(tree, where_more_directories_move_than_are_counted_nothing_is_sure_to_be_deep)
{
	struct inode *a = learn(root, "a", 2, S_IFDIR | 0755);
	struct inode *deep = learn(a, "deep", 3, S_IFDIR | 0755);

	for (uint64_t n = 0; n < 20; n++) {
		char name[32];

		snprintf(name, sizeof name, "d%u", (unsigned)n);
		move(learn(root, name, 10 + n, S_IFDIR | 0755), root, name, a, name);
	}
	expect_depth(deep, 2, 0);
	tree_move_answered(tree);
	wait_until_steady(deep);
	expect_depth(deep, 2, 2);
}

/* On a busy machine the time of a reader may be over before tree_move_answer_waits() is called. */
static bool waits_for_climbers(int tries_max)
{
	for (int tries = 0; tries < tries_max; tries++) {
		tree_climbs(tree);
		if (tree_move_answer_waits(tree) > 0)
			return true;
	}
	return false;
}

Test(tree, a_rename_that_brings_a_directory_up_waits_for_readers_of_links_that_climb)
{
	struct inode *a = learn(root, "a", 2, S_IFDIR | 0755);
	struct inode *d = learn(root, "d", 4, S_IFDIR | 0755);

	cr_expect(not(waits_for_climbers(1)));
	move(d, root, "d", a, "d");
	cr_expect(not(waits_for_climbers(1)));
	tree_move_answered(tree);
	move(d, a, "d", root, "d");
	cr_expect(waits_for_climbers(10000));
	tree_move_answered(tree);
	cr_expect(not(waits_for_climbers(1)));
}

Test(tree, a_rename_that_brought_a_directory_up_has_risen_what_is_below_it_alone)
{
	struct inode *a = learn(root, "a", 2, S_IFDIR | 0755);
	struct inode *d = learn(a, "d", 4, S_IFDIR | 0755);
	struct inode *e = learn(d, "e", 5, S_IFDIR | 0755);
	uint64_t seen = tree_seen(tree);

	move(d, a, "d", a, "beside");
	cr_expect(not(tree_has_risen(tree, e, seen)));
	move(d, a, "beside", root, "d");
	cr_expect(tree_has_risen(tree, d, seen));
	cr_expect(tree_has_risen(tree, e, seen));
	cr_expect(not(tree_has_risen(tree, a, seen)));
	cr_expect(not(tree_has_risen(tree, e, tree_seen(tree))));
}

Test(tree, below_a_directory_that_lost_its_name_depth_counts_what_is_left)
{
	struct inode *a = learn(root, "a", 2, S_IFDIR | 0755);
	struct inode *b = learn(a, "b", 3, S_IFDIR | 0755);

	tree_kernel_get(tree, a);
	tree_kernel_get(tree, b);
	tree_learn_absent(tree, root, "a", tree_seen(tree));
	cr_expect(eq(int, (int)tree_depth_in(tree, a).depth, 0));
	cr_expect(eq(int, (int)tree_depth_in(tree, b).depth, 0));
	tree_kernel_forget(tree, b, 1);
	tree_kernel_forget(tree, a, 1);
}

static struct inode *learn_sized(
	struct inode *dir, const char *name, uint32_t mode, uint64_t dev, uint64_t size)
{
	static uint64_t ino = 100;
	struct tree_news news = {
		.attr = attr_of(++ino, mode), .until_ms = LATER, .name_until_ms = LATER
	};
	bool changed;

	news.attr.dev = dev;
	news.attr.size = size;
	struct inode *i = tree_learn_name(tree, dir, name, tree_seen(tree), &news, &changed);

	cr_assert(ne(ptr, i, NULL));
	tree_unpin(tree, i);
	return i;
}

Test(tree, a_size_is_not_true_where_neither_files_nor_directories_have_an_extent)
{
	static const struct {
		const char *what;
		uint64_t dev, dir_size, size;
		bool is_true;
	} rows[] = {
		{ "in /proc", 2, 0, 0, false },
		{ "in /sys", 2, 0, 4096, false },
		{ "in a directory of another disk", 2, 40, 0, true },
		{ "in an empty directory where the root lies", 1, 0, 0, true },
	};

	for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
		char name[] = { 'a' + (char)n, 0 };
		struct inode *dir =
			learn_sized(root, name, S_IFDIR | 0755, rows[n].dev, rows[n].dir_size);
		struct inode *f = learn_sized(dir, "f", S_IFREG | 0644, rows[n].dev, rows[n].size);

		cr_expect(eq(int, tree_size_is_true(tree, f), rows[n].is_true), "%s", rows[n].what);
		cr_expect(tree_size_is_true(tree, dir), "%s: the directory", rows[n].what);
	}
}
