/*
 * Changes that the sandbox has not applied yet: what the tree shows of them, and what it makes of
 * the answers.
 */
#include "cache/tree/tree.h"
#include "providers/base/call.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FOREVER TREE_HELD

static struct tree *tree;
static struct inode *root;

static struct attr attr_of(uint64_t ino, uint32_t mode)
{
	return (struct attr){ .dev = 1,
		.ino = ino,
		.btime_ns = ino,
		.mode = mode,
		.nlink = S_ISDIR(mode) ? 2 : 1,
		.size = 10,
		.mtime = { .tv_sec = 100 },
		.ctime = { .tv_sec = 100 } };
}

/* Learns an answer to a request that was made at `seen`. */
static struct inode *learn_of(
	uint64_t seen, struct inode *dir, const char *name, uint64_t ino, uint32_t mode)
{
	struct tree_news news = {
		.attr = attr_of(ino, mode), .until_ms = FOREVER, .name_until_ms = FOREVER
	};
	bool changed;
	struct inode *i = tree_learn_name(tree, dir, name, seen, &news, &changed);

	cr_assert(ne(ptr, i, NULL));
	tree_unpin(tree, i);
	return i;
}

static struct inode *learn(struct inode *dir, const char *name, uint64_t ino, uint32_t mode)
{
	return learn_of(tree_seen(tree), dir, name, ino, mode);
}

/* Every entry of `dir` was reported. */
static void complete(struct inode *dir)
{
	struct tree_listing listing = { .until_ms = FOREVER, .name_until_ms = FOREVER };
	struct tree_news news = { .until_ms = FOREVER };
	bool changed;

	tree_attr(tree, dir, &news.attr);
	tree_listing_begins(tree, &listing);
	tree_learn_attr(tree, dir, listing.seen, &news, &changed, NULL);
	cr_assert(tree_learn_complete(tree, dir, &listing));
	tree_listing_ends(tree, &listing);
}

/* A root that is complete and valid without end. */
static void setup(void)
{
	struct attr attr = attr_of(1, S_IFDIR | 0755);

	tree = tree_new(&attr, 10000);
	root = tree_root(tree);
	tree_holds(tree, 1000, FOREVER);
	complete(root);
}

static void teardown(void)
{
	tree_free(tree);
}

TestSuite(tree_apply_local, .init = setup, .fini = teardown, .timeout = 300);

static int64_t now(void)
{
	return 1;
}

static struct tree_scope begin(struct inode *one, struct inode *two)
{
	struct tree_scope scope = { .inodes = { one, two }, .has_local_effect = true };

	tree_change_begins(tree, &scope);
	return scope;
}

static void answer(struct tree_scope *scope, struct inode *i, struct attr attr)
{
	tree_confirm(tree, scope, i, &attr, FOREVER);
}

static struct attr shown(struct inode *i)
{
	struct attr attr;

	tree_attr(tree, i, &attr);
	return attr;
}

/* The inode as a lookup finds it: known, and not pinned. */
static struct inode *find(struct inode *dir, const char *name)
{
	struct inode *i;

	if (tree_find(tree, dir, name, now(), &i, NULL) != TREE_KNOWN)
		return NULL;
	tree_unpin(tree, i);
	return i;
}

static struct inode *make(struct inode *dir, const char *name, uint32_t mode)
{
	struct tree_news news = { .attr = attr_of(0, mode),
		.link = S_ISLNK(mode) ? "text" : NULL,
		.until_ms = FOREVER,
		.name_until_ms = FOREVER };
	struct inode *i = tree_apply_local_made(tree, dir, name, &news);

	cr_assert(ne(ptr, i, NULL));
	return i;
}

/* ---- The attributes that an inode shows ---- */

Test(tree_apply_local, a_link_and_its_removal_move_the_count_and_only_the_ctime)
{
	struct inode *f = learn(root, "f", 7, S_IFREG | 0644);
	struct tree_scope scope = begin(f, root);
	struct tree_local_effect one = {
		.links = 1, .keeps_mtime = true, .now = { .tv_sec = 200 }
	};

	tree_apply_local(tree, f, &one);
	cr_expect(eq(u32, shown(f).nlink, 2));
	cr_expect(eq(long, shown(f).ctime.tv_sec, 200));
	cr_expect(eq(long, shown(f).mtime.tv_sec, 100));
	one.links = -1;
	tree_apply_local(tree, f, &one);
	cr_expect(eq(u32, shown(f).nlink, 1));
	tree_change_ends(tree, &scope);
}

Test(tree_apply_local, a_directory_shows_what_is_made_in_it)
{
	struct tree_scope scope = begin(root, NULL);
	struct tree_local_effect one = { .links = 1, .now = { .tv_sec = 200 } };
	struct attr attr;

	tree_apply_local(tree, root, &one);
	cr_expect(tree_local_attr(tree, root, &attr));
	cr_expect(eq(u32, attr.nlink, 3));
	cr_expect(eq(u64, attr.size, 10));
	cr_expect(eq(long, attr.mtime.tv_sec, 200));
	tree_change_ends(tree, &scope);
}

Test(tree_apply_local, a_directory_that_does_not_count_its_directories_keeps_one_link)
{
	struct tree_news news = {
		.attr = attr_of(5, S_IFDIR | 0755), .until_ms = FOREVER, .name_until_ms = FOREVER
	};
	struct tree_local_effect one = { .links = 1 };
	bool changed;

	news.attr.nlink = 1;
	struct inode *d = tree_learn_name(tree, root, "d", tree_seen(tree), &news, &changed);
	struct tree_scope scope = begin(d, NULL);

	tree_apply_local(tree, d, &one);
	cr_expect(eq(u32, shown(d).nlink, 1));
	struct inode *sub = make(d, "sub", S_IFDIR | 0755);

	cr_expect(eq(u32, shown(sub).nlink, 1));
	tree_unpin(tree, sub);
	tree_change_ends(tree, &scope);
	tree_unpin(tree, d);
}

Test(tree_apply_local, what_is_set_is_shown)
{
	struct inode *f = learn(root, "f", 7, S_IFREG | 0644);
	struct tree_scope scope = begin(f, NULL);
	struct change set = { .set = SET_MODE | SET_UID | SET_GID | SET_ATIME | SET_MTIME,
		.mode = 04711,
		.uid = 3,
		.gid = 4,
		.atime = { .tv_nsec = UTIME_NOW },
		.mtime = { .tv_sec = 50 } };
	struct tree_local_effect one = { .set = &set, .now = { .tv_sec = 200 } };

	tree_apply_local(tree, f, &one);
	cr_expect(eq(u32, shown(f).mode, S_IFREG | 04711));
	cr_expect(eq(u32, shown(f).uid, 3));
	cr_expect(eq(u32, shown(f).gid, 4));
	cr_expect(eq(long, shown(f).atime.tv_sec, 200));
	cr_expect(eq(long, shown(f).mtime.tv_sec, 50));
	cr_expect(eq(long, shown(f).ctime.tv_sec, 200));
	tree_change_ends(tree, &scope);
}

Test(tree_apply_local, a_new_mode_leaves_the_mtime)
{
	struct inode *f = learn(root, "f", 7, S_IFREG | 0644);
	struct tree_scope scope = begin(f, NULL);
	struct change set = { .set = SET_MODE, .mode = 0600 };
	struct tree_local_effect one = { .set = &set, .now = { .tv_sec = 200 } };

	tree_apply_local(tree, f, &one);
	cr_expect(eq(long, shown(f).mtime.tv_sec, 100));
	cr_expect(eq(long, shown(f).ctime.tv_sec, 200));
	tree_change_ends(tree, &scope);
}

Test(tree_apply_local, a_file_is_cut_and_grows_by_its_size)
{
	struct inode *f = learn(root, "f", 7, S_IFREG | 0644);
	struct tree_scope scope = begin(f, NULL);
	struct change set = { .set = SET_SIZE, .size = 5000 };
	struct tree_local_effect cut = { .set = &set, .now = { .tv_sec = 200 } };

	tree_apply_local(
		tree, f, &(struct tree_local_effect){ .end = 10000, .now = { .tv_sec = 150 } });
	cr_expect(eq(u64, shown(f).size, 10000));
	tree_apply_local(tree, f, &cut);
	cr_expect(eq(u64, shown(f).size, 5000));
	cr_expect(eq(u64, shown(f).blocks, 10));
	cr_expect(eq(long, shown(f).mtime.tv_sec, 200));
	set.size = 100000;
	tree_apply_local(tree, f, &cut);
	cr_expect(eq(u64, shown(f).size, 100000));
	cr_expect(eq(u64, shown(f).blocks, 10));
	tree_change_ends(tree, &scope);
}

/* Each row goes on where the one before ended. */
Test(tree_apply_local, bytes_that_are_written_have_blocks_and_no_more_than_the_file_has_room_for)
{
	static const struct {
		const char *what;
		uint64_t begin, end, size, blocks;
	} rows[] = {
		{ "a byte in a hole", 5000, 5001, 100000, 1 },
		{ "a byte on either side of a border", 1023, 1025, 100000, 3 },
		{ "beyond the end, behind a gap", 200000, 200100, 200100, 4 },
		{ "everything", 0, 200100, 200100, 391 },
		{ "once more", 0, 512, 200100, 391 },
		{ "small writes at the end", 200100, 200110, 200110, 391 },
		{ "one more of them", 200110, 200120, 200120, 391 },
	};
	struct inode *f = learn(root, "f", 7, S_IFREG | 0644);
	struct tree_scope scope = begin(f, NULL);
	struct change set = { .set = SET_SIZE, .size = 100000 };

	tree_apply_local(
		tree, f, &(struct tree_local_effect){ .set = &set, .now = { .tv_sec = 200 } });
	for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
		struct tree_local_effect write = {
			.begin = rows[n].begin, .end = rows[n].end, .now = { .tv_sec = 200 }
		};

		tree_apply_local(tree, f, &write);
		cr_expect(eq(u64, shown(f).size, rows[n].size), "%s", rows[n].what);
		cr_expect(eq(u64, shown(f).blocks, rows[n].blocks), "%s", rows[n].what);
	}
	tree_change_ends(tree, &scope);
}

/* ---- Directories with changes that were applied locally ---- */

Test(tree_apply_local, a_directory_with_foreseen_changes_stays_complete)
{
	struct tree_scope scope = begin(root, NULL);
	struct inode *i;

	cr_expect(tree_is_listed(tree, root, now()));
	cr_expect(eq(int, tree_find(tree, root, "none", now(), &i, NULL), TREE_ABSENT));
	struct tree_scope other = { .inodes = { root } };

	tree_change_begins(tree, &other);
	cr_expect(not(tree_is_listed(tree, root, now())));
	cr_expect(eq(int, tree_find(tree, root, "none", now(), &i, NULL), TREE_UNKNOWN));
	tree_change_ends(tree, &other);
	tree_change_ends(tree, &scope);
}

Test(tree_apply_local, what_is_held_may_be_decided)
{
	struct inode *d = learn(root, "d", 5, S_IFDIR | 0755);

	cr_expect(tree_may_decide(tree, root, now()));
	cr_expect(not(tree_may_decide(tree, d, now())));
	complete(d);
	cr_expect(tree_may_decide(tree, d, now()));
	tree_validate(tree, 1000, NULL);
	cr_expect(not(tree_may_decide(tree, d, now())));
	tree_validate(tree, FOREVER, NULL);
	cr_expect(tree_may_decide(tree, d, now()));
	tree_invalidate_entries(tree, root);
	cr_expect(not(tree_may_decide(tree, d, now())));
}

Test(tree_apply_local, what_was_decided_is_decided_while_nobody_answers)
{
	tree_invalidate_all(tree);
	cr_expect(not(tree_may_decide(tree, root, now())));
	tree_validate_offline(tree, now() + 60000);
	cr_expect(tree_may_decide(tree, root, now()));
	tree_validate(tree, now() + 60000, NULL);
	cr_expect(not(tree_may_decide(tree, root, now())));
	tree_invalidate_all(tree);
	tree_validate_offline(tree, now() + 60000);
	cr_expect(not(tree_may_decide(tree, root, now())));
}

Test(tree_apply_local, nothing_is_applied_locally_during_a_remote_change)
{
	struct tree_scope foreseen = begin(root, NULL), asked = { .inodes = { root } };

	cr_expect(tree_may_decide(tree, root, now()));
	tree_change_begins(tree, &asked);
	cr_expect(not(tree_may_decide(tree, root, now())));
	tree_change_ends(tree, &asked);
	cr_expect(tree_may_decide(tree, root, now()));
	tree_change_ends(tree, &foreseen);
}

/* ---- Answers ---- */

Test(tree_apply_local, the_last_answer_is_adopted)
{
	struct inode *f = learn(root, "f", 7, S_IFREG | 0644);
	struct tree_scope one = begin(f, NULL);
	struct attr attr = attr_of(7, S_IFREG | 0644);

	tree_apply_local(
		tree, f, &(struct tree_local_effect){ .end = 20, .now = { .tv_sec = 200 } });
	struct tree_scope two = begin(f, NULL);

	tree_apply_local(
		tree, f, &(struct tree_local_effect){ .end = 30, .now = { .tv_sec = 201 } });
	attr.size = 20;
	answer(&one, f, attr);
	tree_change_ends(tree, &one);
	cr_expect(eq(u64, shown(f).size, 30));
	cr_expect(tree_local_attr(tree, f, &attr));
	attr.size = 30;
	attr.mtime.tv_sec = attr.ctime.tv_sec = 300;
	answer(&two, f, attr);
	tree_change_ends(tree, &two);
	cr_expect(eq(long, shown(f).mtime.tv_sec, 300));
	cr_expect(eq(i64, tree_attr(tree, f, &attr), FOREVER));
}

Test(tree_apply_local, an_answer_during_a_remote_change_is_not_valid)
{
	struct inode *f = learn(root, "f", 7, S_IFREG | 0644);
	struct tree_scope foreseen = begin(f, NULL), asked = { .inodes = { f } };
	struct attr attr = attr_of(7, S_IFREG | 0644);

	tree_change_begins(tree, &asked);
	tree_change_ends(tree, &asked);
	answer(&foreseen, f, attr);
	tree_change_ends(tree, &foreseen);
	cr_expect(eq(i64, tree_attr(tree, f, &attr), 0));
}

Test(tree_apply_local, an_answer_about_another_file_is_not_valid)
{
	struct inode *f = learn(root, "f", 7, S_IFREG | 0644);
	struct tree_scope one = begin(f, NULL), two = begin(f, NULL);
	struct attr attr;

	answer(&one, f, attr_of(8, S_IFREG | 0644));
	tree_change_ends(tree, &one);
	cr_expect(not(tree_local_attr(tree, f, &attr)));
	tree_change_ends(tree, &two);
}

/* Contents are sent in parallel, and either may be answered first. */
Test(tree_apply_local, the_last_answer_is_adopted_whichever_change_it_is_of)
{
	struct inode *f = learn(root, "f", 7, S_IFREG | 0644);
	struct tree_scope one = begin(f, NULL), two = begin(f, NULL);
	struct attr attr = attr_of(7, S_IFREG | 0644);

	answer(&two, f, attr);
	tree_change_ends(tree, &two);
	attr.size = 30;
	answer(&one, f, attr);
	tree_change_ends(tree, &one);
	cr_expect(eq(i64, tree_attr(tree, f, &attr), FOREVER));
	cr_expect(eq(u64, attr.size, 30));
}

Test(tree_apply_local, what_a_change_made_is_touched_by_it)
{
	struct tree_scope scope = begin(root, NULL);
	struct inode *f = make(root, "f", S_IFREG | 0644);
	struct attr attr;

	tree_change_touches(tree, &scope, f);
	cr_expect(eq(i64, tree_attr(tree, f, &attr), 0));
	answer(&scope, f, attr_of(42, S_IFREG | 0644));
	answer(&scope, root, attr_of(1, S_IFDIR | 0755));
	tree_change_ends(tree, &scope);
	cr_expect(eq(i64, tree_attr(tree, f, &attr), FOREVER));
	cr_expect(eq(i64, tree_attr(tree, root, &attr), FOREVER));
	tree_unpin(tree, f);
}

/* ---- Files made here ---- */

Test(tree_apply_local, what_was_made_here_is_known_at_once)
{
	struct inode *f = make(root, "f", S_IFREG | 0640);
	struct tree_scope scope = begin(root, f);
	struct expect x = tree_expect(tree, f);
	struct attr attr;

	cr_expect(eq(ptr, find(root, "f"), f));
	cr_expect(tree_is_provisional(tree, f));
	cr_expect(tree_local_attr(tree, f, &attr));
	cr_expect(eq(u32, attr.mode, S_IFREG | 0640));
	cr_expect(attr.ino > TREE_PROVISIONAL);
	cr_expect(zero(u64, x.dev | x.ino | x.btime_ns));
	tree_unpin(tree, f);
	tree_change_ends(tree, &scope);
}

Test(tree_apply_local, a_directory_made_here_is_complete_and_empty)
{
	struct inode *d = make(root, "d", S_IFDIR | 0755), *i;
	struct tree_scope scope = begin(root, d);
	struct tree_entry *entries;
	size_t count;

	cr_expect(tree_may_decide(tree, d, now()));
	cr_expect(eq(int, tree_find(tree, d, "x", now(), &i, NULL), TREE_ABSENT));
	cr_expect(tree_entries(tree, d, now(), false, &entries, &count));
	cr_expect(zero(sz, count));
	tree_entries_free(tree, entries, count);
	tree_unpin(tree, d);
	tree_change_ends(tree, &scope);
}

Test(tree_apply_local, the_text_of_a_link_made_here_is_known)
{
	struct inode *l = make(root, "l", S_IFLNK | 0777);
	struct tree_scope scope = begin(root, l);
	char text[16];
	bool is_ours;

	cr_expect(tree_link_text(tree, l, text, sizeof text, &is_ours));
	cr_expect(eq(str, text, "text"));
	tree_unpin(tree, l);
	tree_change_ends(tree, &scope);
}

/* Only this mount knows the file. */
Test(tree_apply_local, a_file_that_was_made_here_is_shown_though_everything_is_invalid)
{
	struct inode *f = make(root, "f", S_IFREG | 0644);
	struct tree_scope scope = begin(root, f);
	struct attr attr;

	tree_invalidate_all(tree);
	cr_expect(eq(ptr, find(root, "f"), f));
	cr_expect(tree_local_attr(tree, f, &attr));
	tree_unpin(tree, f);
	tree_change_ends(tree, &scope);
}

Test(tree_apply_local, an_answer_older_than_it_does_not_take_its_name)
{
	struct tree_listing listing = { .until_ms = FOREVER, .name_until_ms = FOREVER };

	tree_listing_begins(tree, &listing);
	struct inode *f = make(root, "f", S_IFREG | 0644);

	cr_expect(not(tree_learn_complete(tree, root, &listing)));
	cr_expect(not(tree_learn_absent(tree, root, "f", listing.seen)));
	tree_listing_ends(tree, &listing);
	cr_expect(eq(ptr, find(root, "f"), f));
	tree_unpin(tree, f);
}

Test(tree_apply_local, the_answer_makes_it_the_sandboxs)
{
	struct inode *f = make(root, "f", S_IFREG | 0644);
	struct tree_scope scope = begin(root, f);

	answer(&scope, f, attr_of(42, S_IFREG | 0644));
	tree_change_ends(tree, &scope);
	tree_unpin(tree, f);
	cr_expect(not(tree_is_provisional(tree, f)));
	cr_expect(eq(u64, tree_expect(tree, f).ino, 42));
	cr_expect(eq(ptr, learn(root, "again", 42, S_IFREG | 0644), f));
}

Test(tree_apply_local, its_number_stays_when_nobody_remembers_it)
{
	struct inode *f = make(root, "f", S_IFREG | 0644);
	struct tree_scope scope = begin(root, f);
	uint64_t number = shown(f).ino;

	tree_kernel_get(tree, f);
	cr_assert(eq(int, tree_open(tree, f, NULL), ERR_OK));
	answer(&scope, f, attr_of(42, S_IFREG | 0644));
	tree_change_ends(tree, &scope);
	cr_expect(eq(u64, shown(f).ino, number));
	cr_expect(eq(u64, tree_expect(tree, f).ino, 42));
	tree_kernel_forget(tree, f, 1);
	cr_expect(eq(u64, shown(f).ino, number));
	tree_close(tree, f);
	cr_expect(eq(u64, shown(f).ino, number));
	tree_unpin(tree, f);
}

/* Some file systems have directories on one device and files on another. */
Test(tree_apply_local, its_device_is_shown_as_it_was)
{
	struct inode *f = make(root, "f", S_IFREG | 0644);
	struct tree_scope scope = begin(root, f);
	struct attr attr = attr_of(42, S_IFREG | 0644);

	tree_kernel_get(tree, f);
	attr.dev = 2;
	answer(&scope, f, attr);
	tree_change_ends(tree, &scope);
	cr_expect(eq(u64, shown(f).dev, 1));
	tree_kernel_forget(tree, f, 1);
	cr_expect(eq(u64, shown(f).dev, 1));
	tree_unpin(tree, f);
}

Test(tree_apply_local, another_inode_of_that_number_is_found_by_it_no_more)
{
	struct inode *old = learn(root, "old", 42, S_IFREG | 0644);
	struct inode *f = make(root, "f", S_IFREG | 0644);
	struct tree_scope scope = begin(root, f);

	tree_kernel_get(tree, old);
	answer(&scope, f, attr_of(42, S_IFREG | 0644));
	tree_change_ends(tree, &scope);
	cr_expect(eq(ptr, learn(root, "again", 42, S_IFREG | 0644), f));
	tree_kernel_forget(tree, old, 1);
	tree_unpin(tree, f);
}

Test(tree_apply_local, what_was_removed_before_the_answer_is_found_by_no_number)
{
	struct inode *f = make(root, "f", S_IFREG | 0644);
	struct tree_scope made = begin(root, f), removed = begin(root, f);

	tree_kernel_get(tree, f);
	tree_unnamed(tree, root, "f");
	answer(&made, f, attr_of(42, S_IFREG | 0644));
	tree_change_ends(tree, &made);
	tree_change_ends(tree, &removed);
	cr_expect(tree_is_gone(tree, f));
	cr_expect(ne(ptr, learn(root, "other", 42, S_IFREG | 0644), f));
	tree_unpin(tree, f);
	tree_kernel_forget(tree, f, 1);
}

Test(tree_apply_local, what_was_refused_has_no_name_and_no_attributes)
{
	struct inode *d = make(root, "d", S_IFDIR | 0755);
	struct tree_scope scope = begin(root, d);
	AUTO_TREE_PATH struct tree_path path = { 0 };
	struct attr attr;

	tree_kernel_get(tree, d);
	tree_refused_made(tree, d);
	tree_change_ends(tree, &scope);
	tree_unpin(tree, d);
	cr_expect(eq(ptr, find(root, "d"), NULL));
	cr_expect(eq(int, tree_path(tree, d, NULL, &path, NULL), ERR_STALE));
	cr_expect(eq(i64, tree_attr(tree, d, &attr), 0));
	cr_expect(not(tree_local_attr(tree, d, &attr)));
	cr_expect(not(tree_is_listed(tree, d, now())));
	cr_expect(not(tree_is_listed(tree, root, now())));
	tree_kernel_forget(tree, d, 1);
}

/* ---- Paths that the sandbox does not have ---- */

static bool is_unsynced(struct inode *i, const char *name)
{
	AUTO_TREE_PATH struct tree_path path = { 0 };

	cr_assert(eq(int, tree_path(tree, i, name, &path, NULL), ERR_OK));
	return path.is_unsynced;
}

Test(tree_apply_local, a_path_is_unsynced_while_a_name_on_it_is)
{
	struct inode *d = learn(root, "d", 5, S_IFDIR | 0755);
	struct inode *f = learn(d, "f", 7, S_IFREG | 0644);

	cr_expect(not(tree_path_is_unsynced(tree, f)));
	tree_mark_unsynced(tree, d, 1);
	cr_expect(tree_path_is_unsynced(tree, f));
	cr_expect(is_unsynced(f, NULL));
	cr_expect(not(is_unsynced(root, "x")));
	tree_mark_unsynced(tree, d, -1);
	cr_expect(not(is_unsynced(f, NULL)));
}

Test(tree_apply_local, what_is_asked_of_a_directory_waits_for_its_foreseen_changes)
{
	struct inode *d = learn(root, "d", 5, S_IFDIR | 0755);
	struct tree_scope scope = begin(root, NULL);

	cr_expect(is_unsynced(root, "x"));
	cr_expect(not(is_unsynced(d, NULL)));
	tree_change_ends(tree, &scope);
	cr_expect(not(is_unsynced(root, "x")));
}

Test(tree_apply_local, a_path_that_is_unsynced_and_leads_nowhere_keeps_its_name)
{
	struct inode *f = learn(root, "f", 7, S_IFREG | 0644);
	AUTO_TREE_PATH struct tree_path path = { 0 };

	cr_assert(eq(int, tree_path(tree, f, NULL, &path, NULL), ERR_OK));
	tree_mark_unsynced(tree, f, 1);
	cr_expect(tree_name_failed(tree, f, &path));
	cr_expect(eq(ptr, find(root, "f"), f));
	tree_mark_unsynced(tree, f, -1);
	cr_expect(not(tree_name_failed(tree, f, &path)));
}

Test(tree_apply_local, an_audit_leaves_out_what_it_would_not_find_and_invalidates_it)
{
	struct inode *d = learn(root, "d", 5, S_IFDIR | 0755);
	size_t count;

	complete(d);
	learn(d, "f", 7, S_IFREG | 0644);
	tree_mark_unsynced(tree, d, 1);
	struct tree_start *starts = tree_known_dirs(tree, &count);

	cr_assert(ne(ptr, starts, NULL));
	cr_expect(eq(sz, count, 1));
	cr_expect(eq(ptr, starts[0].dir, root));
	for (size_t n = 0; n < count; n++)
		tree_start_release(tree, &starts[n]);
	free(starts);
	tree_mark_unsynced(tree, d, -1);
	cr_expect(eq(ptr, find(d, "f"), NULL));
	cr_expect(not(tree_is_listed(tree, d, now())));
}

/* ---- Attributes that the kernel keeps meanwhile ---- */

static const struct inode *revoked;

static void note_taken_back(void *context, const struct tree_report *one)
{
	(void)context;
	if (one->revoked)
		revoked = one->inode;
}

static void watch_delegated(void)
{
	revoked = NULL;
	tree_tells(tree, note_taken_back, NULL);
}

static const struct tree_delegation plainly, ahead = { .ahead = true };

static bool delegate(struct inode *i)
{
	struct attr attr;

	return tree_delegate(tree, i, &ahead, &attr) > now();
}

static void apply_end(struct inode *i, uint64_t end)
{
	tree_apply_local(
		tree, i, &(struct tree_local_effect){ .end = end, .now = { .tv_sec = 200 } });
}

Test(tree_apply_local, shown_attributes_are_delegated_until_the_last_answer)
{
	struct inode *f = learn(root, "f", 7, S_IFREG | 0644);
	struct tree_scope first = begin(f, NULL), second = begin(f, NULL);
	struct attr attr;

	watch_delegated();
	apply_end(f, 50);
	cr_expect(lt(i64, now(), tree_delegate(tree, f, &ahead, &attr)));
	cr_expect(eq(u64, attr.size, 50));
	answer(&first, f, attr_of(7, S_IFREG | 0644));
	tree_change_ends(tree, &first);
	cr_expect(eq(ptr, (void *)revoked, NULL));
	answer(&second, f, attr_of(7, S_IFREG | 0644));
	tree_change_ends(tree, &second);
	cr_expect(eq(ptr, (void *)revoked, f));
}

Test(tree_apply_local, attributes_that_nobody_asked_for_are_not_revoked)
{
	struct inode *f = learn(root, "f", 7, S_IFREG | 0644);
	struct tree_scope scope = begin(f, NULL);

	watch_delegated();
	apply_end(f, 50);
	answer(&scope, f, attr_of(7, S_IFREG | 0644));
	tree_change_ends(tree, &scope);
	cr_expect(eq(ptr, (void *)revoked, NULL));
}

Test(tree_apply_local, attributes_under_another_change_are_not_delegated)
{
	struct inode *f = learn(root, "f", 7, S_IFREG | 0644);
	struct tree_scope scope = begin(f, NULL), other = { .inodes = { f } };

	watch_delegated();
	cr_expect(delegate(f));
	tree_change_begins(tree, &other);
	cr_expect(eq(ptr, (void *)revoked, f));
	cr_expect(not(delegate(f)));
	tree_change_ends(tree, &other);
	tree_change_ends(tree, &scope);
}

/*
 * A change that the cache makes by itself, as the one that keeps times: no request of the kernel
 * announces it.
 */
Test(tree_apply_local, delegated_attributes_are_revoked_when_more_is_applied_locally)
{
	struct inode *d = learn(root, "d", 7, S_IFDIR | 0755);
	struct tree_scope scope = begin(d, NULL), kept = begin(d, NULL);
	const struct change change = {
		.op = CHANGE_SETATTR, .set = SET_MTIME, .mtime.tv_sec = 150
	};

	watch_delegated();
	cr_expect(delegate(d));
	tree_apply_local(tree, d,
		&(struct tree_local_effect){
			.keeps_mtime = true, .set = &change, .now = { .tv_sec = 200 } });
	cr_expect(eq(ptr, (void *)revoked, d));
	revoked = NULL;
	cr_expect(delegate(d));
	apply_end(d, 0);
	cr_expect(eq(ptr, (void *)revoked, d));
	tree_change_ends(tree, &kept);
	tree_change_ends(tree, &scope);
}

/*
 * The kernel drops by itself what its own write or setattr overtakes, but not what a new entry
 * does.
 */
Test(tree_apply_local, what_is_known_of_a_directory_is_taken_back_before_it_changes)
{
	struct inode *d = learn(root, "d", 7, S_IFDIR | 0755),
		     *f = learn(d, "f", 8, S_IFREG | 0644);
	struct tree_scope asked = { .inodes = { d, f } };
	struct attr attr;

	watch_delegated();
	cr_expect(tree_delegate(tree, f, &plainly, &attr) > now());
	cr_expect(tree_delegate(tree, d, &plainly, &attr) > now());
	tree_change_begins(tree, &asked);
	cr_expect(eq(ptr, (void *)revoked, d));
	cr_expect(eq(i64, tree_delegate(tree, d, &ahead, &attr), 0));
	tree_change_ends(tree, &asked);
}

Test(tree_apply_local, what_is_known_of_a_directory_is_taken_back_before_more_is_shown)
{
	struct inode *d = learn(root, "d", 7, S_IFDIR | 0755);
	struct attr attr;

	watch_delegated();
	cr_expect(tree_delegate(tree, d, &plainly, &attr) > now());
	struct tree_scope scope = begin(d, NULL);

	cr_expect(eq(ptr, (void *)revoked, NULL));
	apply_end(d, 0);
	cr_expect(eq(ptr, (void *)revoked, d));
	cr_expect(eq(i64, tree_delegate(tree, d, &plainly, &attr), 0));
	tree_change_ends(tree, &scope);
}

static bool delegate_to(struct inode *i, pid_t asker)
{
	struct attr attr;

	return tree_delegate(tree, i, &(struct tree_delegation){ .asker = asker }, &attr) > now();
}

/* Whether the delegated attributes of `d` are revoked when `asker` makes an entry of `d`. */
static bool is_taken_back_by(struct inode *d, pid_t asker)
{
	struct tree_scope scope = begin(d, NULL);

	revoked = NULL;
	tree_apply_local(
		tree, d, &(struct tree_local_effect){ .now = { .tv_sec = 200 }, .asker = asker });
	bool is = revoked == d;

	tree_change_ends(tree, &scope);
	return is;
}

Test(tree_apply_local, the_maker_of_an_entry_drops_its_delegated_attributes_of_the_directory)
{
	struct inode *d = learn(root, "d", 7, S_IFDIR | 0755);

	watch_delegated();
	cr_expect(delegate_to(d, 12));
	cr_expect(delegate_to(d, 12));
	cr_expect(not(is_taken_back_by(d, 12)));
}

Test(tree_apply_local, who_makes_an_entry_does_not_forget_what_others_were_given)
{
	struct inode *d = learn(root, "d", 7, S_IFDIR | 0755),
		     *e = learn(root, "e", 8, S_IFDIR | 0755),
		     *f = learn(root, "f", 9, S_IFDIR | 0755);

	watch_delegated();
	cr_expect(delegate_to(d, 12));
	cr_expect(delegate_to(d, 13));
	cr_expect(is_taken_back_by(d, 13));
	cr_expect(delegate_to(e, 12));
	cr_expect(is_taken_back_by(e, 13));
	cr_expect(delegate_to(f, 0));
	cr_expect(delegate_to(f, 12));
	cr_expect(is_taken_back_by(f, 12));
}

Test(tree_apply_local, what_the_kernel_writes_it_forgets_by_itself)
{
	struct inode *f = learn(root, "f", 7, S_IFREG | 0644);
	struct tree_scope scope = begin(f, NULL);

	watch_delegated();
	cr_expect(delegate(f));
	tree_apply_local(tree, f,
		&(struct tree_local_effect){
			.end = 50, .now = { .tv_sec = 200 }, .is_forgotten = true });
	cr_expect(eq(ptr, (void *)revoked, NULL));
	cr_expect(delegate(f));
	tree_change_ends(tree, &scope);
	cr_expect(eq(ptr, (void *)revoked, f), "what it was shown since");
}

Test(tree_apply_local, attributes_delegated_for_a_moment_are_not_revoked_afterwards)
{
	struct inode *f = learn(root, "f", 7, S_IFREG | 0644);
	struct tree_scope scope = begin(f, NULL);
	struct attr attr;
	int64_t until_ms;

	watch_delegated();
	until_ms = tree_delegate(
		tree, f, &(struct tree_delegation){ .ahead = true, .most_ms = 1 }, &attr);
	cr_expect(le(i64, until_ms, monotonic_ms() + 1));
	while (monotonic_ms() < until_ms)
		sched_yield();
	tree_change_ends(tree, &scope);
	cr_expect(eq(ptr, (void *)revoked, NULL));
}

Test(tree_apply_local, delegated_attributes_are_revoked_when_they_are_invalidated)
{
	struct inode *f = learn(root, "f", 7, S_IFREG | 0644);
	struct tree_scope scope = begin(f, NULL);

	watch_delegated();
	cr_expect(delegate(f));
	tree_invalidate(tree, f);
	cr_expect(eq(ptr, (void *)revoked, f));
	cr_expect(not(delegate(f)));
	tree_change_ends(tree, &scope);
}

Test(tree_apply_local, delegated_attributes_are_revoked_when_the_name_is_gone)
{
	struct inode *f = learn(root, "f", 7, S_IFREG | 0644);
	struct tree_scope scope = begin(root, f);

	watch_delegated();
	cr_expect(delegate(f));
	tree_unnamed(tree, root, "f");
	cr_expect(eq(ptr, (void *)revoked, f));
	tree_change_ends(tree, &scope);
}

Test(tree_apply_local, delegated_attributes_of_a_refused_file_are_revoked_with_its_directory)
{
	struct inode *f = make(root, "f", S_IFREG | 0644);
	struct tree_scope scope = begin(root, f);
	struct attr attr;

	watch_delegated();
	cr_expect(delegate(f));
	cr_expect(eq(i64, tree_delegate(tree, f, &ahead, &attr), INT64_MAX));
	tree_refused_made(tree, f);
	cr_expect(eq(ptr, (void *)revoked, f));
	tree_unpin(tree, f);
	tree_change_ends(tree, &scope);
}

/* ---- Events meanwhile ---- */

static void receive(enum watch_kind kind, const char *path, struct attr attr)
{
	const struct watch_event event = {
		.kind = kind, .path = path, .has_attr = kind != WATCH_REMOVED, .attr = attr
	};

	tree_apply_event(tree, &event);
}

static unsigned reports;

static void count_reports(void *context, const struct tree_report *one)
{
	(void)context;
	reports += one->event != NULL;
}

static void count(void)
{
	reports = 0;
	tree_tells(tree, count_reports, NULL);
}

Test(tree_apply_local, the_echo_of_a_local_change_is_not_reported)
{
	struct inode *f = make(root, "f", S_IFREG | 0644);
	struct tree_scope scope = begin(root, f);
	struct attr attr = attr_of(42, S_IFREG | 0644);

	count();
	receive(WATCH_CREATED, "f", attr);
	receive(WATCH_CHANGED, "f", attr);
	cr_expect(eq(ptr, find(root, "f"), f));
	answer(&scope, f, attr);
	tree_change_ends(tree, &scope);
	cr_expect(eq(uint, reports, 0));
	cr_expect(eq(ptr, find(root, "f"), f));
	tree_unpin(tree, f);
}

Test(tree_apply_local, changes_by_others_before_the_answer_are_reported)
{
	struct inode *f = make(root, "f", S_IFREG | 0644);
	struct tree_scope scope = begin(root, f);
	struct attr attr = attr_of(42, S_IFREG | 0644);

	count();
	attr.ctime.tv_sec++;
	attr.size = 77;
	receive(WATCH_CHANGED, "f", attr);
	answer(&scope, f, attr_of(42, S_IFREG | 0644));
	tree_change_ends(tree, &scope);
	cr_expect(eq(uint, reports, 1));
	cr_expect(eq(u64, shown(f).size, 77));
	tree_unpin(tree, f);
}

Test(tree_apply_local, another_file_that_has_its_name_is_news)
{
	struct inode *f = make(root, "f", S_IFREG | 0644);
	struct tree_scope scope = begin(root, f);

	receive(WATCH_CREATED, "f", attr_of(43, S_IFREG | 0644));
	answer(&scope, f, attr_of(42, S_IFREG | 0644));
	tree_change_ends(tree, &scope);
	cr_expect(eq(ptr, find(root, "f"), NULL));
	tree_unpin(tree, f);
}

/*
 * The directory is listed while a file in it is written to. The event has the file as it was
 * before.
 */
Test(tree_apply_local, an_event_of_a_file_waits_for_its_changes_though_its_directory_becomes_known)
{
	struct inode *f = learn(root, "f", 7, S_IFREG | 0644);
	struct tree_listing listing = { .until_ms = FOREVER, .name_until_ms = FOREVER };
	struct tree_scope scope = begin(f, NULL);
	const struct tree_local_effect written = { .end = 17, .now = { .tv_sec = 200 } };
	struct attr before = attr_of(7, S_IFREG | 0644);

	tree_apply_local(tree, f, &written);
	tree_listing_begins(tree, &listing);
	learn(root, "f", 7, S_IFREG | 0644);
	receive(WATCH_CHANGED, "f", before);
	cr_assert(tree_learn_complete(tree, root, &listing));
	tree_listing_ends(tree, &listing);
	cr_expect(eq(u64, shown(f).size, 17));
	tree_change_ends(tree, &scope);
}

/* Others make a file and remove it again. The answer to a listing in between comes last. */
Test(tree_apply_local, a_file_that_others_made_and_removed_is_reported_and_no_older_answer_shows_it)
{
	struct tree_listing listing = { .until_ms = FOREVER, .name_until_ms = FOREVER };

	count();
	receive(WATCH_CREATED, "made", attr_of(7, S_IFREG | 0644));
	cr_expect(eq(uint, reports, 1));
	tree_listing_begins(tree, &listing);
	receive(WATCH_REMOVED, "made", (struct attr){ 0 });
	cr_expect(eq(uint, reports, 2));
	learn_of(listing.seen, root, "made", 7, S_IFREG | 0644);
	cr_expect(not(tree_learn_complete(tree, root, &listing)));
	tree_listing_ends(tree, &listing);
	cr_expect(eq(ptr, find(root, "made"), NULL));
}

/* A build writes its log into a directory in which we make files all the time. */
Test(tree_apply_local, an_event_of_a_file_next_to_changing_ones_is_resolved_at_once)
{
	struct inode *f = learn(root, "log", 7, S_IFREG | 0644);
	struct tree_scope scope = begin(root, NULL);
	struct attr attr = attr_of(7, S_IFREG | 0644);

	count();
	attr.ctime.tv_sec++;
	attr.size = 77;
	receive(WATCH_CHANGED, "log", attr);
	cr_expect(eq(uint, reports, 1));
	cr_expect(eq(u64, shown(f).size, 77));
	tree_change_ends(tree, &scope);
}

Test(tree_apply_local, events_are_resolved_when_the_change_of_their_inode_ends)
{
	enum { FILES = 3000 };
	struct inode *files[FILES];
	struct tree_scope scopes[FILES];
	char name[16];

	count();
	for (uint64_t n = 0; n < FILES; n++) {
		snprintf(name, sizeof name, "f%u", (unsigned)n);
		files[n] = make(root, name, S_IFREG | 0644);
		scopes[n] = begin(root, files[n]);
	}
	for (uint64_t n = 0; n < FILES; n++) {
		snprintf(name, sizeof name, "f%u", (unsigned)n);
		receive(WATCH_CREATED, name, attr_of(100 + n, S_IFREG | 0644));
	}
	receive(WATCH_CREATED, "others", attr_of(99, S_IFREG | 0644));
	for (uint64_t n = 0; n < FILES; n++) {
		answer(&scopes[n], files[n], attr_of(100 + n, S_IFREG | 0644));
		tree_change_ends(tree, &scopes[n]);
		tree_unpin(tree, files[n]);
	}
	cr_expect(eq(uint, reports, 1));
	cr_expect(not(tree_is_listed(tree, root, now())));
}

static void rename_in_root(const char *from, const char *to, struct inode *i)
{
	tree_renamed(tree, &(struct tree_name){ root, from }, &(struct tree_name){ root, to }, i,
		FOREVER);
}

/* The old path of the directory leads to nothing here any more. */
Test(tree_apply_local, an_event_of_a_directory_that_was_moved_here_invalidates_it)
{
	static const char *const paths[] = { "elsewhere/y", "new/x", "old/x" };

	for (int n = 0; n < 3; n++) {
		struct inode *d = learn(root, "old", 5, S_IFDIR | 0755);

		complete(d);
		learn(d, "x", 7, S_IFREG | 0644);
		struct tree_scope scope = begin(root, d);

		rename_in_root("old", "new", d);
		receive(WATCH_CHANGED, paths[n], attr_of(7, S_IFREG | 0644));
		answer(&scope, d, attr_of(5, S_IFDIR | 0755));
		tree_change_ends(tree, &scope);
		cr_expect(eq(ptr, find(root, "new"), d));
		cr_expect(eq(ptr, find(d, "x"), NULL), "%s", paths[n]);
		cr_expect(not(tree_is_listed(tree, d, now())));
		teardown();
		setup();
	}
}

Test(tree_apply_local, a_directory_that_was_moved_here_stays_known_where_no_event_comes)
{
	struct inode *d = learn(root, "old", 5, S_IFDIR | 0755);

	complete(d);
	struct inode *x = learn(d, "x", 7, S_IFREG | 0644);
	struct tree_scope scope = begin(root, d);

	rename_in_root("old", "new", d);
	receive(WATCH_CREATED, "other", attr_of(8, S_IFREG | 0644));
	answer(&scope, d, attr_of(5, S_IFDIR | 0755));
	tree_change_ends(tree, &scope);
	cr_expect(eq(ptr, find(d, "x"), x));
	cr_expect(tree_is_listed(tree, d, now()));
}

Test(tree_apply_local, an_answer_older_than_a_removal_does_not_bring_the_name_back)
{
	struct tree_entry *entries;
	size_t entries_count;

	learn(root, "f", 7, S_IFREG | 0644);
	uint64_t seen = tree_seen(tree);
	struct tree_scope scope = begin(root, find(root, "f"));
	struct tree_news news = {
		.attr = attr_of(7, S_IFREG | 0644), .until_ms = FOREVER, .name_until_ms = FOREVER
	};
	bool changed;

	tree_unnamed(tree, root, "f");
	tree_unpin(tree, tree_learn_name(tree, root, "f", seen, &news, &changed));
	tree_change_ends(tree, &scope);
	cr_expect(tree_entries(tree, root, now(), false, &entries, &entries_count));
	cr_expect(zero(sz, entries_count));
	tree_entries_free(tree, entries, entries_count);
}

/* ---- A file that its staged file replaces ---- */

static void replace(struct inode *i, uint64_t ino)
{
	const struct attr placed = attr_of(ino, S_IFREG | 0644);
	struct tree_scope scope = { .inodes = { i }, .has_local_effect = true };

	tree_change_begins(tree, &scope);
	tree_replacing(tree, i, 1);
	tree_mark_unsynced(tree, i, 1);
	tree_rebind(tree, i, &placed);
	tree_confirm(tree, &scope, i, &placed, FOREVER);
	tree_mark_unsynced(tree, i, -1);
	tree_replacing(tree, i, -1);
	tree_change_ends(tree, &scope);
}

Test(tree_apply_local, an_answer_from_before_a_file_was_replaced_names_no_other_one)
{
	struct inode *f = learn(root, "f", 7, S_IFREG | 0644);
	struct tree_listing listing = { .until_ms = FOREVER, .name_until_ms = FOREVER };
	uint64_t asked = tree_seen(tree);

	tree_listing_begins(tree, &listing);
	replace(f, 8);
	cr_expect(eq(ptr, learn_of(asked, root, "f", 7, S_IFREG | 0644), f));
	cr_expect(not(tree_learn_absent(tree, root, "f", asked)));
	tree_learn_complete(tree, root, &listing);
	tree_listing_ends(tree, &listing);
	cr_expect(eq(ptr, learn(root, "f", 8, S_IFREG | 0644), f));
	cr_expect(eq(u64, tree_expect(tree, f).ino, 8));
	cr_expect(ne(ptr, learn(root, "f", 9, S_IFREG | 0644), f));
}

/* ---- Copied from a lower layer ---- */

static struct inode *learn_layered(const char *name, uint64_t ino, uint32_t mode, uint32_t nlink)
{
	struct tree_news news = {
		.attr = attr_of(ino, mode), .until_ms = FOREVER, .name_until_ms = FOREVER
	};
	bool changed;

	news.attr.btime_ns = 0;
	news.attr.nlink = nlink;
	struct inode *i = tree_learn_name(tree, root, name, tree_seen(tree), &news, &changed);

	cr_assert(ne(ptr, i, NULL));
	tree_unpin(tree, i);
	return i;
}

static struct inode *known_as(const char *name)
{
	struct inode *i = tree_peek(tree, root, name);

	tree_unpin(tree, i);
	return i;
}

Test(tree_apply_local, a_file_of_several_names_that_was_copied_up_keeps_the_name_it_was_changed_by)
{
	struct inode *f = learn_layered("f", 7, S_IFREG | 0644, 2);
	struct attr copied = attr_of(8, S_IFREG | 0644);

	cr_assert(eq(ptr, learn_layered("g", 7, S_IFREG | 0644, 2), f));
	cr_expect(tree_may_be_copied_up(tree, f));
	copied.btime_ns = 0;
	tree_copied_up(tree, f, "f", NULL, 0, &copied);
	cr_expect(eq(u64, tree_expect(tree, f).ino, 8));
	cr_expect(eq(ptr, known_as("f"), f));
	cr_expect(eq(ptr, known_as("g"), NULL));
	cr_expect(ne(ptr, learn_layered("g", 7, S_IFREG | 0644, 2), f));
}

Test(tree_apply_local, a_file_that_was_copied_up_keeps_its_names_while_one_is_unsynced)
{
	struct inode *f = learn_layered("f", 7, S_IFREG | 0644, 2);
	const struct attr copied = attr_of(8, S_IFREG | 0644);

	learn_layered("g", 7, S_IFREG | 0644, 2);
	tree_mark_unsynced(tree, f, 1);
	tree_copied_up(tree, f, "f", NULL, 0, &copied);
	cr_expect(eq(ptr, known_as("g"), f));
	tree_mark_unsynced(tree, f, -1);
}

Test(tree_apply_local,
	a_file_that_may_be_copied_up_is_changed_by_the_name_found_last_while_it_is_not_open)
{
	struct inode *f = learn_layered("f", 7, S_IFREG | 0644, 2), *found;
	AUTO_TREE_PATH struct tree_path path = { 0 };

	learn_layered("g", 7, S_IFREG | 0644, 2);
	cr_assert(eq(int, tree_find(tree, root, "f", now(), &found, NULL), TREE_KNOWN));
	tree_unpin(tree, found);
	cr_expect(eq(i64, tree_give_name(tree, root, "f", f), 0));
	cr_assert(eq(int, tree_path(tree, f, NULL, &path, NULL), ERR_OK));
	cr_expect(eq(str, path.text, (char *)"f"));
	cr_assert(eq(int, tree_open(tree, f, NULL), ERR_OK));
	tree_find(tree, root, "g", now(), &found, NULL);
	tree_unpin(tree, found);
	cr_assert(eq(int, tree_path(tree, f, NULL, &path, NULL), ERR_OK));
	cr_expect(eq(str, path.text, (char *)"f"));
	free(tree_close(tree, f));
}

Test(tree_apply_local, a_directory_made_in_one_of_several_layers_counts_its_folders)
{
	const struct tree_news made = { .attr.mode = S_IFDIR | 0755, .until_ms = FOREVER };
	struct inode *merged = learn_layered("l", 6, S_IFDIR | 0755, 1);
	struct inode *here = tree_apply_local_made(tree, merged, "m", &made);
	struct attr shown;

	tree_attr(tree, here, &shown);
	cr_expect(eq(u32, shown.nlink, 2));
	tree_unpin(tree, here);
}

Test(tree_apply_local, a_directory_without_a_time_of_birth_is_movable_only_where_it_was_made_here)
{
	const struct tree_news made = { .attr.mode = S_IFDIR | 0755, .until_ms = FOREVER };

	cr_expect(tree_is_movable(tree, learn(root, "d", 5, S_IFDIR | 0755), root));
	cr_expect(not(tree_is_movable(tree, learn_layered("l", 6, S_IFDIR | 0755, 1), root)));
	cr_expect(tree_is_movable(tree, learn_layered("f", 7, S_IFREG | 0644, 1), root));
	struct inode *here = tree_apply_local_made(tree, root, "m", &made);

	cr_expect(tree_is_movable(tree, here, root));
	tree_unpin(tree, here);
}

Test(tree_apply_local, a_path_that_led_to_a_file_before_it_was_replaced_is_asked_again)
{
	struct inode *f = learn(root, "f", 7, S_IFREG | 0644);
	AUTO_TREE_PATH struct tree_path path = { 0 };

	cr_assert(eq(int, tree_path(tree, f, NULL, &path, NULL), ERR_OK));
	cr_expect(tree_path_held(tree, f, &path));
	replace(f, 8);
	cr_expect(not(tree_path_held(tree, f, &path)));
}

Test(tree_apply_local, while_a_file_is_being_replaced_no_inode_is_expected)
{
	struct inode *f = learn(root, "f", 7, S_IFREG | 0644);

	tree_replacing(tree, f, 1);
	tree_mark_unsynced(tree, f, 1);
	cr_expect(eq(u64, tree_expect(tree, f).ino, 0));
	cr_expect(eq(u64, tree_expect_replaced(tree, f).ino, 7));
	cr_expect(eq(ptr, learn(root, "f", 8, S_IFREG | 0644), f));
	tree_mark_unsynced(tree, f, -1);
	tree_replacing(tree, f, -1);
	cr_expect(eq(u64, tree_expect(tree, f).ino, 7));
}

/* The directory is removed here while events of its former entries are on their way. */
static void remove_directory(const char *name)
{
	struct inode *dir = learn(root, name, 7, S_IFDIR | 0755);
	struct tree_scope scope = begin(root, dir);

	tree_unnamed(tree, root, name);
	tree_change_ends(tree, &scope);
}

Test(tree_apply_local, what_was_in_a_directory_that_was_removed_here_is_no_news_when_it_goes)
{
	remove_directory("d");
	count();
	cr_assert(tree_may_decide(tree, root, now()));
	struct tree_scope scope = begin(root, NULL);

	receive(WATCH_REMOVED, "d/f", (struct attr){ 0 });
	receive(WATCH_REMOVED, "d/below/f", (struct attr){ 0 });
	answer(&scope, root, attr_of(1, S_IFDIR | 0755));
	tree_change_ends(tree, &scope);
	cr_expect(eq(uint, reports, 0));
	cr_expect(tree_may_decide(tree, root, now()));
}

Test(tree_apply_local, a_file_that_others_make_in_a_directory_that_was_removed_here_is_reported)
{
	remove_directory("d");
	count();
	receive(WATCH_CREATED, "d/f", attr_of(8, S_IFREG | 0644));
	cr_expect(eq(uint, reports, 1));
}

/* The file may exist by then, and a listing under way may be about to report it. */
Test(tree_apply_local, a_removal_in_an_unknown_directory_is_reported)
{
	remove_directory("d");
	count();
	receive(WATCH_CREATED, "d", attr_of(9, S_IFDIR | 0755));
	receive(WATCH_REMOVED, "d/f", (struct attr){ 0 });
	cr_expect(eq(uint, reports, 2));
}

/*
 * The directory's own time changed with each name that was removed in it. The event of that comes
 * late.
 */
Test(tree_apply_local, an_event_of_a_directory_that_was_removed_here_is_no_news)
{
	struct inode *dir = learn(root, "d", 7, S_IFDIR | 0755);
	struct tree_scope scope = begin(root, dir);

	count();
	receive(WATCH_CHANGED, "d", attr_of(7, S_IFDIR | 0755));
	tree_unnamed(tree, root, "d");
	receive(WATCH_ATTR, "d", attr_of(7, S_IFDIR | 0755));
	answer(&scope, root, attr_of(1, S_IFDIR | 0755));
	tree_change_ends(tree, &scope);
	receive(WATCH_CHANGED, "d", attr_of(7, S_IFDIR | 0755));
	cr_expect(eq(uint, reports, 0));
	cr_expect(tree_may_decide(tree, root, now()));
}

/*
 * The file at that name changes here, so the event of the file that others put there is deferred.
 */
Test(tree_apply_local, a_file_that_others_put_at_a_name_that_is_removed_here_is_reported)
{
	struct inode *f = learn(root, "f", 7, S_IFREG | 0644);
	struct tree_scope scope = begin(root, f);

	count();
	receive(WATCH_CREATED, "f", attr_of(8, S_IFREG | 0644));
	receive(WATCH_CHANGED, "f", attr_of(8, S_IFREG | 0644));
	tree_unnamed(tree, root, "f");
	answer(&scope, root, attr_of(1, S_IFDIR | 0755));
	tree_change_ends(tree, &scope);
	cr_expect(eq(uint, reports, 1));
	cr_expect(not(tree_may_decide(tree, root, now())));
}

Test(tree_apply_local, a_change_by_an_unknown_name_is_reported)
{
	count();
	receive(WATCH_CREATED, "f", attr_of(8, S_IFREG | 0644));
	receive(WATCH_CHANGED, "f", attr_of(8, S_IFREG | 0644));
	cr_expect(eq(uint, reports, 2));
}
