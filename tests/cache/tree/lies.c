/*
 * Answers by which the tree would become a graph with cycles. The tree stays a tree, whatever is
 * answered.
 */
#include "cache/tree/tree.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LATER INT64_MAX / 2
/* More than a path of 65,535 bytes has, and than a stack has room for calls. */
#define DEEP 500000

static struct tree *tree;
static struct inode *root;

static struct attr attr_of(uint64_t ino, uint32_t type)
{
	return (struct attr){ .dev = 1, .ino = ino, .mode = type | 0755, .nlink = 2, .size = 10 };
}

static void begin(size_t idle_max)
{
	struct attr attr = attr_of(2, S_IFDIR);

	tree = tree_new(&attr, idle_max);
	root = tree_root(tree);
	tree_kernel_get(tree, root);
}

static void setup(void)
{
	begin(100);
}

static void teardown(void)
{
	tree_free(tree);
}

TestSuite(tree_lies, .init = setup, .fini = teardown, .timeout = 300);

/* Learns the answer to a request that was made at `seen`; the inode is pinned. */
static struct inode *learn_at(
	uint64_t seen, struct inode *dir, const char *name, uint64_t ino, uint32_t type)
{
	struct tree_news news = {
		.attr = attr_of(ino, type), .until_ms = LATER, .name_until_ms = LATER
	};
	bool changed;
	struct inode *i = tree_learn_name(tree, dir, name, seen, &news, &changed);

	cr_assert(ne(ptr, i, NULL));
	return i;
}

static struct inode *learn(struct inode *dir, const char *name, uint64_t ino, uint32_t type)
{
	struct inode *i = learn_at(tree_seen(tree), dir, name, ino, type);

	tree_unpin(tree, i);
	return i;
}

static void change(struct inode *i)
{
	struct tree_scope scope = { .inodes = { i } };

	tree_change_begins(tree, &scope);
	tree_change_ends(tree, &scope);
}

/* Every walk ends: up from `i`, and down from the root. */
static void walk(struct inode *i)
{
	AUTO_TREE_PATH struct tree_path path = { 0 };
	size_t count = 0;
	struct tree_start *starts = tree_known_dirs(tree, &count);

	tree_path(tree, i, NULL, &path, NULL);
	tree_depth_in(tree, i);
	tree_invalidate_below(tree, root);
	for (size_t n = 0; n < count; n++)
		tree_start_release(tree, &starts[n]);
	free(starts);
}

/* The false answers: `in` is listed as having an entry with the number `ino`. */
static const struct lie {
	const char *name, *in;
	uint64_t ino;
	bool is_old;  /* the answer is older than a change of the directory */
	bool is_gone; /* `top` has no name any more */
} lies[] = {
	{ "the root is in itself", "", 2, false, false },
	{ "the root is in a directory", "below", 2, false, false },
	{ "a directory is in itself", "top", 3, false, false },
	{ "a directory is in what it has", "below", 3, false, false },
	{ "a directory is in its parent twice", "", 3, false, false },
	{ "of old, the root is in itself", "", 2, true, false },
	{ "of old, the root is in a directory", "below", 2, true, false },
	{ "of old, a directory is in itself", "top", 3, true, false },
	{ "of old, a directory is in what it has", "below", 3, true, false },
	{ "of old, a directory is in its parent twice", "", 3, true, false },
	{ "a removed directory is in itself", "top", 3, false, true },
	{ "a removed directory is in what it had", "below", 3, false, true },
	{ "of old, a removed directory is in itself", "top", 3, true, true },
	{ "of old, a removed directory is in what it had", "below", 3, true, true },
};

static struct inode *by_name(const char *name, struct inode *top, struct inode *below)
{
	return !*name ? root : strcmp(name, "top") ? below : top;
}

/*
 * A later listing reports once more that `below` is in `top`. With the lie that would close the
 * circle.
 */
static void tell(const struct lie *lie, struct inode *top, struct inode *below)
{
	struct inode *dir = by_name(lie->in, top, below);
	uint64_t seen = tree_seen(tree);

	if (lie->is_gone)
		tree_learn_absent(tree, root, "top", tree_seen(tree));
	if (lie->is_old)
		change(dir);
	struct inode *liar =
		learn_at(lie->is_old ? seen : tree_seen(tree), dir, "lie", lie->ino, S_IFDIR);

	seen = tree_seen(tree);
	change(top);
	tree_unpin(tree, learn_at(seen, top, "below", 4, S_IFDIR));
	cr_expect(ne(ptr, liar, dir), "%s", lie->name);
	walk(liar);
	walk(below);
	tree_unpin(tree, liar);
}

Test(tree_lies, no_answer_makes_a_directory_stand_below_itself)
{
	for (size_t n = 0; n < sizeof lies / sizeof *lies; n++) {
		struct inode *top = learn(root, "top", 3, S_IFDIR);
		struct inode *below = learn(top, "below", 4, S_IFDIR);

		tree_kernel_get(tree, top);
		tree_kernel_get(tree, below);
		tell(&lies[n], top, below);
		cr_expect(eq(ptr, root, tree_root(tree)));
		tree_kernel_forget(tree, below, 1);
		tree_kernel_forget(tree, top, 1);
		teardown();
		setup();
	}
}

/* The sandbox's answer may claim such a rename. */
Test(tree_lies, no_rename_takes_a_directory_into_itself)
{
	struct inode *top = learn(root, "top", 3, S_IFDIR);
	struct inode *below = learn(top, "below", 4, S_IFDIR);

	tree_kernel_get(tree, top);
	tree_kernel_get(tree, below);
	cr_expect(not(tree_is_movable(tree, top, below)));
	cr_expect(not(tree_is_movable(tree, top, top)));
	cr_expect(not(tree_is_movable(tree, root, below)));
	tree_renamed(tree, &(struct tree_name){ root, "top" }, &(struct tree_name){ below, "x" },
		top, LATER);
	walk(top);
	walk(below);
	tree_kernel_forget(tree, below, 1);
	tree_kernel_forget(tree, top, 1);
}

Test(tree_lies, no_exchange_takes_a_directory_into_itself)
{
	struct inode *top = learn(root, "top", 3, S_IFDIR);
	struct inode *below = learn(top, "below", 4, S_IFDIR);

	tree_kernel_get(tree, top);
	tree_kernel_get(tree, below);
	learn(below, "x", 5, S_IFREG);
	tree_exchanged(tree, root, "top", below, "x");
	walk(top);
	walk(below);
	tree_kernel_forget(tree, below, 1);
	tree_kernel_forget(tree, top, 1);
}

/*
 * A thread that goes up from an entry of the directory might otherwise come to one of two
 * directories, and never back.
 */
Test(tree_lies, a_directory_that_is_renamed_never_has_two_names)
{
	struct inode *from = learn(root, "from", 3, S_IFDIR);
	struct inode *to = learn(root, "to", 4, S_IFDIR);
	struct inode *dir = learn(from, "d", 5, S_IFDIR);

	learn(dir, "x", 6, S_IFREG);
	tree_renamed(
		tree, &(struct tree_name){ from, "d" }, &(struct tree_name){ to, "d" }, dir, LATER);
	tree_named(tree, from, "again", dir, LATER);
	tree_invalidate_below(tree, from);
	tree_invalidate_below(tree, to);
	cr_expect(eq(ptr, tree_peek(tree, from, "again"), NULL));
	cr_expect(eq(ptr, tree_peek(tree, from, "d"), NULL));
	cr_expect(eq(ptr, tree_peek(tree, to, "d"), dir));
	tree_unpin(tree, dir);
}

Test(tree_lies, the_answer_to_a_change_leaves_a_file_what_it_is)
{
	struct inode *f = learn(root, "f", 5, S_IFREG);
	struct tree_scope scope = { .inodes = { f } };
	struct attr lie = attr_of(5, S_IFDIR), shown;

	tree_change_begins(tree, &scope);
	tree_adopt(tree, &scope, f, &lie, LATER);
	tree_change_ends(tree, &scope);
	cr_expect(zero(i64, tree_attr(tree, f, &shown)));
	cr_expect(eq(u32, shown.mode, S_IFREG | 0755));
}

/* Makes `depth` directories, each of which is the only entry of the one above. */
static struct inode *make_deep(size_t depth)
{
	struct inode *dir = root;

	for (size_t n = 0; n < depth; n++) {
		struct inode *below = learn_at(tree_seen(tree), dir, "d", 10 + n, S_IFDIR);

		tree_unpin(tree, dir == root ? NULL : dir);
		dir = below;
	}
	return dir;
}

Test(tree_lies, what_is_deeper_than_a_stack_is_lost_at_once)
{
	uint64_t inodes, names;

	tree_unpin(tree, make_deep(DEEP));
	tree_learn_absent(tree, root, "d", tree_seen(tree));
	tree_counts(tree, &inodes, &names);
	cr_expect(zero(u64, names));
	cr_expect(eq(u64, inodes, 1));
}

/* Each file that is forgotten leaves its directory without entries, which is forgotten in turn. */
Test(tree_lies, many_directories_of_one_file_are_forgotten_without_a_deep_stack)
{
	uint64_t inodes, names;
	char name[32];

	tree_hold(tree);
	for (size_t n = 0; n < DEEP; n++) {
		snprintf(name, sizeof name, "d%zu", n);
		struct inode *dir = learn_at(tree_seen(tree), root, name, 10 + 2 * n, S_IFDIR);

		learn(dir, "f", 11 + 2 * n, S_IFREG);
		tree_unpin(tree, dir);
	}
	tree_release(tree);
	tree_counts(tree, &inodes, &names);
	cr_expect(le(u64, names, 200));
}
