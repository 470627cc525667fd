/* Changes of which an attempt gets no answer of the sandbox's. */
#include "tests/cache/distant.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>

static struct distant far;

static void setup(void)
{
	distant_start_trusting(&far);
}

static void teardown(void)
{
	distant_stop(&far);
}

TestSuite(unanswered, .init = setup, .fini = teardown, .timeout = 300);

/* ---- Asked for directly: names are not decided here ---- */

static enum err make_dir(const char *name, struct error *e)
{
	static const struct making dir = { .op = CHANGE_MKDIR, .mode = 0755 };
	struct cache_entry entry;
	enum err kind = cache_make(far.cache, NULL, cache_root(far.cache), name, &dir, &entry, e);

	if (!kind)
		cache_forget(far.cache, entry.inode, 1);
	return kind;
}

Test(unanswered, a_directory_whose_making_got_no_answer_is_made_once)
{
	static const enum err losses[] = { ERR_UNREACHABLE, ERR_PROTOCOL, ERR_BUSY };

	for (size_t n = 0; n < sizeof losses / sizeof *losses; n++) {
		char name[20];
		struct error e = { 0 };

		snprintf(name, sizeof name, "d%zu", n);
		cr_assert(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
		far.lost_as = losses[n];
		far.lose_next = 1;
		cr_expect(eq(int, make_dir(name, &e), ERR_OK), "%s: %s", name, e.text);
		cr_expect(eq(uint, far.lose_next, 0));
		cr_expect(eq(int, make_dir(name, NULL), ERR_EXISTS));
	}
}

Test(unanswered, a_directory_whose_making_gets_no_answer_for_seconds_is_given_up)
{
	unsigned before = distant_applies(&far);

	far.lose_answers = true;
	cr_expect(eq(int, make_dir("d", NULL), ERR_UNREACHABLE));
	far.lose_answers = false;
	cr_expect(lt(uint, before + 1, distant_applies(&far)));
}
