/* In a directory that has a group's files, as the kernel gives a group in a place of its own. */
#include "providers/local/cgroup.h"

#include "tests/support/scratch.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static struct scratch mount;

static const struct cgroup_limits limits = { .cpus = 0.5, .memory_mb = 100, .pids = 20 };

/* A group that has these controllers and has enabled those for the groups below. */
static void make_group(const char *path, const char *controllers, const char *enabled)
{
	char name[200];

	if (*path && mkdirat(mount.fd, path, 0755))
		cr_assert(eq(int, errno, EEXIST));
	snprintf(name, sizeof name, "%s%scgroup.controllers", path, *path ? "/" : "");
	scratch_write_text(&mount, name, controllers);
	snprintf(name, sizeof name, "%s%scgroup.subtree_control", path, *path ? "/" : "");
	scratch_write_text(&mount, name, enabled);
}

/* The kernel makes these with the group, which here is there before. */
static void make_files(const char *group)
{
	static const char *const files[] = { "memory.max", "pids.max", "cpu.max", "cgroup.procs" };
	char name[200];

	scratch_mkdir(&mount, group, 0755);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		snprintf(name, sizeof name, "%s/%s", group, files[i]);
		scratch_write_text(&mount, name, "");
	}
}

static void expect_text(const char *path, const char *wanted)
{
	char name[300], text[100] = "";
	FILE *file;

	snprintf(name, sizeof name, "%s/%s", mount.path, path);
	file = fopen(name, "re");
	cr_assert(ne(ptr, file, NULL), "%s", path);
	cr_assert(fread(text, 1, sizeof text - 1, file) < sizeof text);
	fclose(file);
	cr_expect(eq(str, text, (char *)wanted), "%s", path);
}

static void set_up(void)
{
	scratch_make(&mount);
	make_group("", "cpuset cpu memory pids", "memory pids");
	make_group("app", "cpu memory pids", "cpu memory pids");
	make_group("app/own", "memory pids", "");
}

static void tear_down(void)
{
	scratch_remove(&mount);
}

TestSuite(cgroup, .init = set_up, .fini = tear_down, .timeout = 300);

Test(cgroup, is_made_below_the_nearest_that_has_what_is_bounded)
{
	struct cgroup c;
	struct error e = { 0 };

	make_files("app/box");
	cr_assert(eq(int, cgroup_make_in(&c, mount.path, "/app/own", "box", &limits, &e), ERR_OK),
		"%s", e.text);
	expect_text("app/box/memory.max", "104857600");
	expect_text("app/box/pids.max", "20");
	expect_text("app/box/cpu.max", "50000 100000");
	cr_assert(eq(int, cgroup_admit(&c, 1234, &e), ERR_OK));
	expect_text("app/box/cgroup.procs", "1234");
	cgroup_release(&c);
}

Test(cgroup, has_a_controller_enabled_that_its_parent_may_enable)
{
	struct cgroup c;

	make_group("app", "cpu memory pids", "pids");
	make_files("app/box");
	cr_assert(
		eq(int, cgroup_make_in(&c, mount.path, "/app/own", "box", &limits, NULL), ERR_OK));
	/* A file of the kernel's takes one at a time. */
	expect_text("app/cgroup.subtree_control", "+cpu");
	cgroup_release(&c);
}

Test(cgroup, is_none_where_no_parent_has_the_controller)
{
	struct error e = { 0 };
	struct cgroup c;

	make_group("", "cpuset memory pids", "memory pids");
	make_group("app", "memory pids", "memory pids");
	cr_expect(eq(int, cgroup_make_in(&c, mount.path, "/app/own", "box", &limits, &e),
		ERR_UNSUPPORTED));
	cr_expect(eq(str, e.text, "no cgroup above this process's lets it make one"));
	cr_expect(eq(int, c.procs, -1));
}

Test(cgroup, is_none_and_goes_where_the_bounds_cannot_be_set)
{
	struct stat st;
	struct cgroup c;

	/* The directory has no files, so a directory in it is no group. */
	cr_expect(eq(int, cgroup_make_in(&c, mount.path, "/app/own", "box", &limits, NULL),
		ERR_UNSUPPORTED));
	cr_expect(ne(int, fstatat(mount.fd, "app/box", &st, 0), 0));
}
