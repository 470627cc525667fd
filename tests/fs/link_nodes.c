/* Symbolic links as the kernel knows them: a node for each name (fs/link_nodes.h). */
#include "tests/fs/hasty_kernel.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <errno.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct kernel kernel;
static struct answer answer;

static fuse_req_t request(void)
{
	return kernel_request(&kernel, &answer, NULL);
}

static void make_link(const char *text, const char *path)
{
	char at[4096];

	snprintf(at, sizeof at, "%s/tree/%s", kernel.scratch.path, path);
	cr_assert(zero(int, symlink(text, at)));
}

static void make_name(const char *path, const char *path2)
{
	char from[4096], to[4096];

	snprintf(from, sizeof from, "%s/tree/%s", kernel.scratch.path, path);
	snprintf(to, sizeof to, "%s/tree/%s", kernel.scratch.path, path2);
	cr_assert(zero(int, link(from, to)));
}

/*
 * One link with two names, a deep one and one in the root; a link that leads out; and one that has
 * one name.
 */
static void setup(void)
{
	kernel_make(&kernel);
	scratch_mkdir(&kernel.scratch, "tree/d/e", 0755);
	make_link("../../f", "d/e/deep");
	make_name("d/e/deep", "top");
	make_link("/etc/passwd", "d/out");
	make_link("x", "d/one");
}

static void teardown(void)
{
	kernel_on_notice = NULL;
	kernel_remove(&kernel);
}

TestSuite(link_nodes, .init = setup, .fini = teardown, .timeout = 300);

/* The text that a kernel with this number follows; or an error. */
static const char *text_of(fuse_ino_t ino)
{
	fs_ops.readlink(request(), ino);
	kernel_await(&answer);
	return answer.error ? strerror(answer.error) : answer.bytes;
}

static void expect_text(fuse_ino_t ino, const char *wanted)
{
	cr_expect(eq(str, (char *)text_of(ino), (char *)wanted));
}

static void move(const char *dir, const char *name, const char *dir2, const char *name2)
{
	fuse_ino_t from = *dir ? kernel_lookup(&kernel, dir) : FUSE_ROOT_ID;
	fuse_ino_t to = *dir2 ? kernel_lookup(&kernel, dir2) : FUSE_ROOT_ID;

	fs_ops.rename(request(), from, name, to, name2, 0);
	kernel_await(&answer);
	cr_assert(zero(int, answer.error));
}

static void forget(fuse_ino_t ino, uint64_t count)
{
	fs_ops.forget(request(), ino, count);
	kernel_await(&answer);
}

Test(link_nodes, each_name_of_a_link_is_a_node_with_the_text_for_its_depth)
{
	fuse_ino_t deep = kernel_lookup(&kernel, "d/e/deep"), top = kernel_lookup(&kernel, "top");

	cr_expect(ne(u64, deep, top));
	expect_text(deep, "../../f");
	expect_text(top, "f");
	expect_text(deep, "../../f");
}

Test(link_nodes, a_name_that_is_looked_up_again_is_the_same_node)
{
	fuse_ino_t first = kernel_lookup(&kernel, "top");

	cr_expect(eq(u64, kernel_lookup(&kernel, "top"), first));
	forget(first, 1);
	expect_text(first, "f");
	forget(first, 1);
	expect_text(kernel_lookup(&kernel, "top"), "f");
}

static off_t size_of(fuse_ino_t ino)
{
	fs_ops.getattr(request(), ino, NULL);
	kernel_await(&answer);
	cr_assert(zero(int, answer.error));
	return answer.size;
}

Test(link_nodes, the_size_of_a_link_is_that_of_the_text_by_the_same_name)
{
	cr_expect(eq(long, size_of(kernel_lookup(&kernel, "d/e/deep")), 7));
	cr_expect(eq(long, size_of(kernel_lookup(&kernel, "top")), 1));
	cr_expect(
		eq(long, size_of(kernel_lookup(&kernel, "d/out")), (long)strlen("../etc/passwd")));
}

/* The kernel does not see a change of one node of the link in its other nodes. */
Test(link_nodes, attributes_of_a_link_with_two_names_are_not_kept)
{
	size_of(kernel_lookup(&kernel, "top"));
	cr_expect(answer.valid_s == 0);
	size_of(kernel_lookup(&kernel, "d/one"));
	cr_expect(answer.valid_s > 0);
}

Test(link_nodes, a_rename_within_its_directory_leaves_a_node_what_it_is)
{
	fuse_ino_t out = kernel_lookup(&kernel, "d/out");

	move("d", "out", "d", "renamed");
	expect_text(out, "../etc/passwd");
	cr_expect(eq(u64, kernel_lookup(&kernel, "d/renamed"), out));
}

Test(link_nodes, a_link_that_was_moved_to_another_directory_is_looked_up_again)
{
	fuse_ino_t out = kernel_lookup(&kernel, "d/out");

	move("d", "out", "d/e", "out");
	expect_text(out, strerror(ESTALE));
	fuse_ino_t moved = kernel_lookup(&kernel, "d/e/out");

	cr_expect(ne(u64, moved, out));
	expect_text(moved, "../../etc/passwd");
	move("d/e", "out", "", "out");
	expect_text(moved, strerror(ESTALE));
	expect_text(kernel_lookup(&kernel, "out"), "etc/passwd");
	forget(out, 1);
	forget(moved, 1);
}

Test(link_nodes, a_link_that_leads_nowhere_above_its_directory_is_read_wherever_it_was_moved)
{
	fuse_ino_t one = kernel_lookup(&kernel, "d/one");

	move("d", "one", "", "one");
	expect_text(one, "x");
}

Test(link_nodes, names_that_are_exchanged_are_looked_up_again)
{
	fuse_ino_t d = kernel_lookup(&kernel, "d"), out = kernel_lookup(&kernel, "d/out"),
		   top = kernel_lookup(&kernel, "top");

	fs_ops.rename(request(), d, "out", FUSE_ROOT_ID, "top", RENAME_EXCHANGE);
	kernel_await(&answer);
	cr_assert(zero(int, answer.error));
	expect_text(out, strerror(ESTALE));
	expect_text(top, strerror(ESTALE));
	expect_text(kernel_lookup(&kernel, "top"), "etc/passwd");
	expect_text(kernel_lookup(&kernel, "d/out"), "../f");
}

Test(link_nodes, a_link_in_a_directory_that_was_moved_here_has_the_text_for_its_new_depth)
{
	fuse_ino_t deep = kernel_lookup(&kernel, "d/e/deep");

	move("d", "e", "", "e");
	expect_text(deep, "../f");
	move("", "e", "d", "e");
	expect_text(deep, "../../f");
}

struct reading {
	fuse_ino_t ino;
	struct answer answer;
};

static void read_text(void *context)
{
	struct reading *r = context;

	fs_ops.readlink(kernel_request(&kernel, &r->answer, NULL), r->ino);
	kernel_await(&r->answer);
}

/* The kernel has a directory at its old place until the answer comes. */
Test(link_nodes, a_link_that_is_read_while_its_directory_moves_down_stays_inside_from_where_it_was)
{
	fuse_ino_t d = kernel_lookup(&kernel, "d");

	move("d", "e", "", "e");
	struct reading deep = { .ino = kernel_lookup(&kernel, "e/deep") };
	const struct follower reader = { .run = read_text, .context = &deep };

	fs_ops.rename(kernel_request(&kernel, &answer, &reader), FUSE_ROOT_ID, "e", d, "e", 0);
	kernel_await(&answer);
	cr_assert(zero(int, answer.error));
	cr_expect(eq(str, deep.answer.bytes, "../f"));
	expect_text(deep.ino, "../../f");
}

static fuse_ino_t made_link(fuse_ino_t parent, const char *name, const char *text)
{
	fs_ops.symlink(request(), text, parent, name);
	kernel_await(&answer);
	cr_assert(zero(int, answer.error));
	return answer.ino;
}

Test(link_nodes, what_was_written_here_reads_back_by_every_name_that_it_was_given_here)
{
	fuse_ino_t d = kernel_lookup(&kernel, "d"), ours = made_link(d, "ours", "/etc/hosts");

	expect_text(ours, "/etc/hosts");
	fs_ops.link(request(), ours, FUSE_ROOT_ID, "linked");
	kernel_await(&answer);
	cr_assert(zero(int, answer.error));
	cr_expect(ne(u64, answer.ino, ours));
	expect_text(answer.ino, "/etc/hosts");
	move("d", "ours", "", "moved");
	expect_text(ours, "/etc/hosts");
	expect_text(kernel_lookup(&kernel, "moved"), "/etc/hosts");
}

Test(link_nodes, what_was_written_here_is_rewritten_by_a_name_that_the_sandbox_gave_it)
{
	made_link(kernel_lookup(&kernel, "d"), "ours", "/etc/hosts");
	make_name("d/ours", "theirs");
	expect_text(kernel_lookup(&kernel, "theirs"), "etc/hosts");
	expect_text(kernel_lookup(&kernel, "d/ours"), "/etc/hosts");
}

static unsigned noticed;
static fuse_ino_t noticed_ino;

static void note(fuse_ino_t ino, off_t off)
{
	(void)off;
	noticed += ino == noticed_ino;
}

Test(link_nodes, who_links_to_a_link_is_answered_when_the_kernel_has_forgotten_its_attributes)
{
	noticed_ino = kernel_lookup(&kernel, "d/one");
	kernel_on_notice = note;
	fs_ops.link(request(), noticed_ino, FUSE_ROOT_ID, "two");
	kernel_await(&answer);
	cr_assert(zero(int, answer.error));
	cr_expect(noticed > 0);
}
