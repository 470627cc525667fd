/* Changes that are asked for one by one: a copy of the request is done once with it. */
#include "providers/base/cleanup.h"
#include "tests/support/changes.h"
#include "tests/support/shown.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <unistd.h>

static struct shown shown;

static void set_up(void)
{
	shown_make(&shown, false);
	scratch_write_text(&shown.scratch, "tree/f", "text");
}

static void tear_down(void)
{
	shown_remove(&shown);
}

TestSuite(helper_once, .init = set_up, .fini = tear_down, .timeout = 300);

static struct change_result ask(uint64_t once, struct change change)
{
	const struct call call = { .progress_ms = 1000 };
	const struct apply_request request = { .journal = { 0xab, [15] = 0x01 },
		.is_plain = true,
		.once = once,
		.changes = &change,
		.changes_count = 1 };
	struct change_result result;

	cr_assert(eq(int, helper_apply(&shown.root, &call, &request, &result, NULL), ERR_OK));
	return result;
}

static bool is_there(const char *name)
{
	char path[256];

	snprintf(path, sizeof path, "%s/tree/%s", shown.scratch.path, name);
	return access(path, F_OK) == 0;
}

static const struct change make = CHANGE_ROW(CREATE, "new", .flags = CHANGE_EXCL, .mode = 0644);
static const struct change move = CHANGE_ROW(RENAME, "new", .path2 = "moved");
static const struct change take_away = CHANGE_ROW(UNLINK, "f");

Test(helper_once, the_second_request_gets_the_same_answer)
{
	struct change_result first = ask(1, make), second = ask(1, make);

	cr_expect(eq(int, first.err, ERR_OK));
	cr_expect(eq(int, second.err, ERR_OK));
	cr_expect(second.was_over && second.has_attr && second.has_parent);
	cr_expect(eq(u64, second.attr.ino, first.attr.ino));
}

Test(helper_once, a_copy_that_comes_late_makes_nothing)
{
	ask(1, make);
	cr_expect(eq(int, ask(2, move).err, ERR_OK));
	cr_expect(eq(int, ask(1, make).err, ERR_OK));
	cr_expect(not(is_there("new")));
	cr_expect(is_there("moved"));
}

Test(helper_once, a_copy_that_comes_late_removes_nothing_that_came_since)
{
	ask(1, take_away);
	scratch_write_text(&shown.scratch, "tree/f", "another");
	cr_expect(eq(int, ask(1, take_away).err, ERR_OK));
	cr_expect(is_there("f"));
}

Test(helper_once, what_was_refused_stays_so)
{
	struct change again = make;

	again.path = "f";
	cr_expect(eq(int, ask(1, again).err, ERR_EXISTS));
	ask(2, take_away);
	cr_expect(eq(int, ask(1, again).err, ERR_EXISTS));
	cr_expect(not(is_there("f")));
}

Test(helper_once, another_request_for_the_same_is_another)
{
	cr_expect(eq(int, ask(1, take_away).err, ERR_OK));
	cr_expect(eq(int, ask(2, take_away).err, ERR_NOT_FOUND));
	cr_expect(eq(int, ask(257, take_away).err, ERR_NOT_FOUND));
}

Test(helper_once, without_a_place_for_it_everything_is_done)
{
	scratch_mkdir(&shown.scratch, "staging/once-ab000000000000000000000000000001", 0700);
	cr_expect(eq(int, ask(1, make).err, ERR_OK));
	cr_expect(eq(int, ask(1, make).err, ERR_EXISTS));
}
