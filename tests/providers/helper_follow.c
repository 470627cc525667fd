/* Where an inode that others renamed is looked for, and for how long. */
#include "providers/helper/follow.h"

#include "tests/support/shown.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static struct shown shown;

static void set_up(void)
{
	shown_make(&shown, false);
	scratch_mkdir(&shown.scratch, "tree/d", 0755);
	scratch_mkdir(&shown.scratch, "tree/e", 0755);
	scratch_write_text(&shown.scratch, "tree/d/f", "text");
}

static void tear_down(void)
{
	shown_remove(&shown);
}

TestSuite(helper_follow, .init = set_up, .fini = tear_down, .timeout = 300);

static struct expect expect_at(const char *path)
{
	struct attr attr = shown_attr(&shown, path);

	return expect_of(&attr);
}

static void move(const char *from, const char *to)
{
	cr_assert(renameat(shown.scratch.fd, from, shown.scratch.fd, to) == 0);
}

/* The path where `target`, last known as d/f, is found; "": it is not. */
static const char *found_by(
	struct follow *f, const struct expect *target, const struct version *known)
{
	static char text[128];
	AUTO_PLACE struct place p = PLACE_NONE;
	enum err k = root_place(&shown.root, "d/f", NULL, &p, NULL);

	k = follow_place(f, "d/f", target, known, k, &p, NULL);
	snprintf(text, sizeof text, "%s", k == ERR_OK && p.moved ? p.moved : "");
	return text;
}

static const char *found(const struct expect *target, const struct version *known)
{
	struct follow f = { .root = &shown.root, .left = FOLLOW_ENTRIES_MAX };

	return found_by(&f, target, known);
}

Test(helper_follow, a_file_is_found_in_its_directory_and_in_any_other)
{
	const struct expect f = expect_at("tree/d/f");

	cr_expect(eq(str, (char *)found(&f, NULL), ""));
	move("tree/d/f", "tree/d/f.1");
	cr_expect(eq(str, (char *)found(&f, NULL), "d/f.1"));
	scratch_mkdir(&shown.scratch, "tree/e/deep", 0755);
	move("tree/d/f.1", "tree/e/deep/g");
	cr_expect(eq(str, (char *)found(&f, NULL), "e/deep/g"));
	move("tree/d", "tree/was");
	cr_expect(eq(str, (char *)found(&f, NULL), "e/deep/g"));
	move("tree/e/deep/g", "outside/g");
	cr_expect(eq(str, (char *)found(&f, NULL), ""));
}

/* As of a file that was removed, and whose number another file got. */
Test(helper_follow, a_number_alone_is_no_file)
{
	struct expect f = expect_at("tree/d/f");
	const struct attr attr = shown_attr(&shown, "tree/d/f");
	struct version known = { .size = attr.size, .mtime = attr.mtime, .ctime = attr.ctime };

	if (!f.btime_ns)
		shown_skip(&shown, "no time of birth here");
	move("tree/d/f", "tree/d/g");
	f.btime_ns++;
	cr_expect(eq(str, (char *)found(&f, NULL), ""));
	f.btime_ns = 0;
	cr_expect(eq(str, (char *)found(&f, NULL), ""));
	cr_expect(eq(str, (char *)found(&f, &(struct version){ 0 }), ""));
	known.ctime.tv_sec = attr.ctime.tv_sec - 1;
	cr_expect(eq(str, (char *)found(&f, &known), ""));
	known.ctime.tv_sec = attr.ctime.tv_sec + 1;
	cr_expect(eq(str, (char *)found(&f, &known), "d/g"));
}

Test(helper_follow, a_request_searches_no_further_than_its_bound)
{
	const struct expect f = expect_at("tree/d/f");
	struct follow little = { .root = &shown.root, .left = 20 };
	char path[64];

	for (int n = 0; n < 30; n++) {
		snprintf(path, sizeof path, "tree/d/other%d", n);
		scratch_write_text(&shown.scratch, path, "");
	}
	move("tree/d/f", "tree/e/g");
	cr_expect(eq(str, (char *)found_by(&little, &f, NULL), ""));
	cr_expect(eq(sz, little.left, 0));
	/* The next search finds the bound used up. */
	move("tree/e/g", "tree/d/g");
	cr_expect(eq(str, (char *)found_by(&little, &f, NULL), ""));
	cr_expect(eq(str, (char *)found(&f, NULL), "d/g"));
}

Test(helper_follow, what_lies_in_staging_is_not_found)
{
	const struct expect f = expect_at("tree/d/f");

	move("tree/d/f", "staging/u-1");
	cr_expect(eq(str, (char *)found(&f, NULL), ""));
}

Test(helper_follow, no_symbolic_link_leads_out)
{
	const struct expect f = expect_at("tree/d/f");

	move("tree/d/f", "outside/f");
	cr_assert(symlinkat("../outside", shown.scratch.fd, "tree/out") == 0);
	cr_assert(symlinkat("../../outside", shown.scratch.fd, "tree/d/out") == 0);
	cr_expect(eq(str, (char *)found(&f, NULL), ""));
}
