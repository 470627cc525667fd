/* The ctime that was shown of a change made here, once the sandbox has made it. */
#include "cache/tree/tree.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <sys/stat.h>

enum { BEFORE = 100, HERE = 200, THERE = 205 };

static struct tree *tree;
static struct inode *root, *f;

static struct attr attr_of(uint64_t ino, uint32_t mode)
{
	return (struct attr){ .dev = 1,
		.ino = ino,
		.btime_ns = ino,
		.mode = mode,
		.nlink = 1,
		.size = 10,
		.mtime = { .tv_sec = BEFORE },
		.ctime = { .tv_sec = BEFORE } };
}

/* A file that the kernel knows. */
static void setup(void)
{
	struct attr attr = attr_of(1, S_IFDIR | 0755);
	struct tree_news news = { .attr = attr_of(7, S_IFREG | 0644),
		.until_ms = TREE_HELD,
		.name_until_ms = TREE_HELD };
	bool changed;

	tree = tree_new(&attr, 10000);
	root = tree_root(tree);
	tree_holds(tree, 1000, TREE_HELD);
	f = tree_learn_name(tree, root, "f", tree_seen(tree), &news, &changed);
	cr_assert(ne(ptr, f, NULL));
	tree_kernel_get(tree, f);
	tree_unpin(tree, f);
}

static void teardown(void)
{
	tree_free(tree);
}

TestSuite(tree_ctime, .init = setup, .fini = teardown, .timeout = 300);

static long shown(void)
{
	struct attr attr;

	tree_attr(tree, f, &attr);
	return tree_shown_ctime(tree, f, &attr).tv_sec;
}

static long known(void)
{
	struct attr attr;

	tree_attr(tree, f, &attr);
	return attr.ctime.tv_sec;
}

/*
 * A new mode, decided at `here` and done in the sandbox at `there`, where the file had `size` bytes
 * by then.
 */
static void change(long here, long there, uint64_t size)
{
	struct tree_scope scope = { .inodes = { f }, .has_local_effect = true };
	struct change set = { .set = SET_MODE, .mode = 0600 };
	struct attr answer = attr_of(7, S_IFREG | 0600);

	answer.ctime.tv_sec = there;
	answer.size = size;
	tree_change_begins(tree, &scope);
	tree_apply_local(
		tree, f, &(struct tree_local_effect){ .set = &set, .now = { .tv_sec = here } });
	cr_expect(eq(long, shown(), here));
	tree_confirm(tree, &scope, f, &answer, TREE_HELD);
	tree_change_ends(tree, &scope);
}

Test(tree_ctime, a_shown_ctime_stays_when_the_sandbox_has_another)
{
	change(HERE, THERE, 10);
	cr_expect(eq(long, shown(), HERE));
	cr_expect(eq(long, known(), THERE));
}

Test(tree_ctime, the_next_change_moves_it)
{
	change(HERE, THERE, 10);
	change(HERE + 10, THERE + 10, 10);
	cr_expect(eq(long, shown(), HERE + 10));
}

Test(tree_ctime, a_shown_ctime_never_goes_back_when_the_sandbox_is_behind)
{
	struct tree_scope scope = { .inodes = { f }, .has_local_effect = true };

	change(HERE, HERE - 50, 10);
	tree_change_begins(tree, &scope);
	tree_apply_local(
		tree, f, &(struct tree_local_effect){ .end = 20, .now = { .tv_sec = HERE - 10 } });
	cr_expect(eq(long, shown(), HERE));
	cr_expect(eq(long, known(), HERE));
	tree_change_ends(tree, &scope);
}

Test(tree_ctime, what_others_did_meanwhile_is_seen)
{
	change(HERE, THERE, 11);
	cr_expect(eq(long, shown(), THERE));
}

Test(tree_ctime, changes_by_others_afterwards_are_seen)
{
	struct watch_event event = { .kind = WATCH_CHANGED,
		.path = "f",
		.has_attr = true,
		.attr = attr_of(7, S_IFREG | 0600) };

	change(HERE, THERE, 10);
	event.attr.ctime.tv_sec = THERE + 1;
	tree_apply_event(tree, &event);
	cr_expect(eq(long, shown(), THERE + 1));
}

Test(tree_ctime, a_shown_ctime_stays_when_the_kernel_has_forgotten_the_file)
{
	tree_pin(tree, f);
	change(HERE, THERE, 10);
	tree_kernel_forget(tree, f, 1);
	cr_expect(eq(long, shown(), HERE));
	tree_unpin(tree, f);
}

/* The next word of the sandbox, with this mode. */
static void learn(uint32_t mode)
{
	struct tree_news news = { .attr = attr_of(7, S_IFREG | mode),
		.until_ms = TREE_HELD,
		.name_until_ms = TREE_HELD };
	bool changed;

	news.attr.ctime.tv_sec = THERE;
	cr_assert(
		eq(int, tree_learn_attr(tree, f, tree_seen(tree), &news, &changed, NULL), ERR_OK));
}

/*
 * The answer has no attributes, as that of a file that a rename replaces and that has another name.
 */
static void change_untold(void)
{
	struct tree_scope scope = { .inodes = { f }, .has_local_effect = true };

	tree_change_begins(tree, &scope);
	tree_apply_local(tree, f,
		&(struct tree_local_effect){ .keeps_mtime = true, .now = { .tv_sec = HERE } });
	tree_confirm_unknown(tree, f, (struct timespec){ .tv_sec = THERE });
	tree_change_ends(tree, &scope);
}

Test(tree_ctime, a_shown_ctime_stays_when_the_answer_has_none)
{
	change_untold();
	learn(0644);
	cr_expect(eq(long, shown(), HERE));
	cr_expect(eq(long, known(), THERE));
}

Test(tree_ctime, what_others_did_is_seen_where_the_answer_did_not_tell)
{
	change_untold();
	learn(0600);
	cr_expect(eq(long, shown(), THERE));
}
