/* Directories in which contents and changes are kept: cache/session/disk.h. */
#include "cache/session/disk.h"

#include "tests/support/scratch.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SOMEBODY 65534

static struct scratch scratch;

static void begin(void)
{
	scratch_make(&scratch);
	chmod(scratch.path, 0700);
}

static void end(void)
{
	scratch_remove(&scratch);
}

TestSuite(disk, .init = begin, .fini = end, .timeout = 300);

/* `why`: "": the way is accepted. */
static void expect_way(const char *below, const char *why)
{
	struct error e = { 0 };
	char path[200];
	enum err kind;

	snprintf(path, sizeof path, "%s/%s", scratch.path, below);
	kind = disk_check_way(path, &e);
	cr_expect(eq(int, kind, *why ? ERR_DENIED : ERR_OK), "%s: %s", below, e.text);
	cr_expect(strstr(e.text, why) != NULL, "%s: %s", below, e.text);
}

static void make_link(const char *name, const char *target)
{
	cr_assert(zero(int, symlinkat(target, scratch.fd, name)));
}

static void give_away(const char *name)
{
	cr_assert(zero(int, fchownat(scratch.fd, name, SOMEBODY, SOMEBODY, AT_SYMLINK_NOFOLLOW)));
}

Test(disk, a_place_of_ones_own_is_accepted)
{
	scratch_mkdir(&scratch, "own", 0700);
	make_link("link", "own");
	scratch_mkdir(&scratch, "tmp", 01777);
	scratch_mkdir(&scratch, "tmp/own", 0755);
	expect_way("own", "");
	expect_way("own/", "");
	expect_way("own/not/there", "");
	expect_way("link", "");
	expect_way("link/below", "");
	expect_way("tmp/own", "");
	expect_way("tmp/not-there", "");
	expect_way("not/there", "");
}

Test(disk, a_place_that_others_can_change_is_refused)
{
	scratch_mkdir(&scratch, "shared", 0777);
	scratch_mkdir(&scratch, "shared/own", 0700);
	scratch_mkdir(&scratch, "tmp", 01777);
	scratch_mkdir(&scratch, "group", 0770);
	expect_way("shared", "can be written to by others: chmod 700 it");
	expect_way("shared/own", "shared can be written to by everybody");
	expect_way("shared/not-there", "shared can be written to by everybody");
	expect_way("tmp", "can be written to by others: chmod 700 it");
	expect_way("group", "can be written to by others: chmod 700 it");
}

Test(disk, a_place_of_another_user_and_one_behind_that_users_link_are_refused)
{
	if (geteuid())
		return;
	scratch_mkdir(&scratch, "theirs", 0755);
	scratch_mkdir(&scratch, "theirs/own", 0700);
	scratch_mkdir(&scratch, "own", 0700);
	scratch_mkdir(&scratch, "own/below", 0700);
	make_link("link", "own");
	give_away("theirs");
	give_away("link");
	expect_way("theirs", "theirs belongs to another user");
	expect_way("theirs/own", "theirs belongs to another user");
	expect_way("theirs/not/there", "theirs belongs to another user");
	expect_way("link", "link is a link of another user");
	expect_way("link/below", "link is a link of another user");
}
