#include "cache/blocks/shown.h"

#include "providers/base/time.h"
#include "tests/support/scratch.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <sys/stat.h>

static struct scratch scratch;
static struct shown *shown;

/* Opens the file of shown inodes as one more mount does. */
static struct shown *open_shown(const char *sandbox, const char *root)
{
	const struct shown_options options = {
		.dir = scratch.path, .provider = "e2b", .sandbox = sandbox, .root = root
	};
	struct error e = { 0 };
	struct shown *s;

	cr_assert(eq(int, shown_new(&s, &options, &e), ERR_OK), "%s", e.text);
	return s;
}

static void setup(void)
{
	scratch_make(&scratch);
	shown = open_shown("one", "/home/user");
}

static void teardown(void)
{
	shown_free(shown);
	scratch_remove(&scratch);
}

TestSuite(shown, .init = setup, .fini = teardown, .timeout = 300);

static const struct attr file = { .dev = 1,
	.ino = 2,
	.btime_ns = 3,
	.mode = S_IFREG | 0644,
	.ctime = { .tv_sec = 4, .tv_nsec = 5 } };
static const struct shown_inode as = { .number = 77, .ctime = { .tv_sec = -3, .tv_nsec = 9 } };

static bool knows(struct shown *s, struct attr attr)
{
	struct shown_inode out;

	return shown_find(s, &attr, &out) && out.number == as.number &&
		time_equals(out.ctime, as.ctime);
}

Test(shown, the_next_mount_of_the_sandbox_knows_it)
{
	cr_expect(not(knows(shown, file)));
	shown_note(shown, &file, &as);
	struct shown *next = open_shown("one", "/another/directory");
	struct shown *other = open_shown("two", "/home/user");

	cr_expect(knows(next, file));
	cr_expect(not(knows(other, file)));
	shown_free(next);
	shown_free(other);
}

Test(shown, no_other_file_is_taken_for_it)
{
	struct attr others[] = { file, file, file };

	shown_note(shown, &file, &as);
	others[0].dev = others[1].ino = others[2].btime_ns = 9;
	for (int n = 0; n < 3; n++)
		cr_expect(not(knows(shown, others[n])), "%d", n);
}

Test(shown, what_others_changed_keeps_its_number_and_has_the_sandboxs_ctime)
{
	struct attr changed = file;
	struct shown_inode out;

	shown_note(shown, &file, &as);
	changed.ctime.tv_nsec++;
	cr_assert(shown_find(shown, &changed, &out));
	cr_expect(eq(u64, out.number, as.number));
	cr_expect(time_equals(out.ctime, changed.ctime));
}

/* The number may be free again, and with another file. */
Test(shown, where_no_birth_is_known_it_keeps_nothing)
{
	struct attr changed = file;
	struct shown_inode out;

	changed.btime_ns = 0;
	shown_note(shown, &changed, &as);
	cr_expect(knows(shown, changed));
	changed.ctime.tv_nsec++;
	cr_expect(not(shown_find(shown, &changed, &out)));
}

/* Another helper does not tell it. */
Test(shown, a_birth_that_passes_is_in_no_record)
{
	struct attr passing = file, unborn = file;

	unborn.btime_ns = 0;
	passing.btime_ns |= BIRTH_PASSES;
	shown_note(shown, &passing, &as);
	cr_expect(knows(shown, unborn));
	cr_expect(not(knows(shown, file)));
}

Test(shown, a_link_is_known_by_its_text_where_it_was_put)
{
	struct attr another = file;

	another.ino = 9;
	cr_expect(not(shown_knows_link(shown, &file, "d/link", "/etc/passwd")));
	shown_note_link(shown, &file, "d/link", "/etc/passwd");
	struct shown *elsewhere = open_shown("one", "/home");

	cr_expect(shown_knows_link(shown, &file, "d/link", "/etc/passwd"));
	cr_expect(not(shown_knows_link(shown, &file, "d/link", "/etc/passwe")));
	cr_expect(not(shown_knows_link(shown, &file, "e/link", "/etc/passwd")));
	cr_expect(not(shown_knows_link(shown, &file, "d/lin", "k/etc/passwd")));
	cr_expect(not(shown_knows_link(shown, &another, "d/link", "/etc/passwd")));
	cr_expect(not(shown_knows_link(elsewhere, &file, "d/link", "/etc/passwd")));
	shown_free(elsewhere);
}
