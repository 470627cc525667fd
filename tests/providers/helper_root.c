#include "tests/support/shown.h"

#include "providers/base/cleanup.h"
#include "providers/base/path.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static struct shown shown;

static void set_up(void)
{
	shown_make(&shown, false);
}

static void tear_down(void)
{
	shown_remove(&shown);
}

TestSuite(helper_root, .init = set_up, .fini = tear_down, .timeout = 300);

static enum err place_of(const char *path, const struct expect *parent)
{
	AUTO_PLACE struct place p = PLACE_NONE;

	return root_place(&shown.root, path, parent, &p, NULL);
}

static enum err open_of(const char *path, int flags, const struct expect *target)
{
	AUTO_PLACE struct place p = PLACE_NONE;
	AUTO_CLOSE int fd = -1;
	enum err k = root_place(&shown.root, path, NULL, &p, NULL);

	return k == ERR_OK ? place_open(&p, flags, target, false, &fd, path, NULL) : k;
}

static void make_ways(void)
{
	scratch_mkdir(&shown.scratch, "tree/d", 0755);
	scratch_mkdir(&shown.scratch, "tree/d/e", 0755);
	scratch_write_text(&shown.scratch, "tree/d/f", "f");
	cr_assert(symlinkat("d", shown.scratch.fd, "tree/link") == 0);
	cr_assert(symlinkat("../outside", shown.scratch.fd, "tree/d/out") == 0);
	cr_assert(symlinkat("/proc/self/root", shown.scratch.fd, "tree/d/abs") == 0);
}

/* Checks that both ways to open a directory give equal results. */
static void expect_ways(void)
{
	static const struct {
		const char *path;
		enum err want;
	} rows[] = {
		{ "", ERR_OK },
		{ "d", ERR_OK },
		{ "d/e/new", ERR_OK },
		{ "d/f", ERR_OK },
		{ "d/f/x", ERR_NOT_DIR },
		{ "d/f/x/y", ERR_NOT_DIR },
		{ "d/none/x", ERR_NOT_FOUND },
		{ "none/x/y", ERR_NOT_FOUND },
		{ "link", ERR_OK },
		{ "link/f", ERR_STALE },
		{ "link/e/x", ERR_STALE },
		{ "d/out/secret", ERR_STALE },
		{ "d/abs/etc/passwd", ERR_STALE },
		{ "..", ERR_INVALID },
		{ "d/../d/f", ERR_INVALID },
		{ "./d", ERR_INVALID },
		{ "d//f", ERR_INVALID },
		{ "d/", ERR_INVALID },
		{ "/t-1", ERR_OK },
		{ "/t/x", ERR_INVALID },
		{ "/..", ERR_INVALID },
		{ "/", ERR_INVALID },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect(eq(int, place_of(rows[i].path, NULL), rows[i].want), "row %zu: '%s'", i,
			rows[i].path);
}

Test(helper_root, the_way_to_a_place_never_follows_a_link)
{
	make_ways();
	expect_ways();
}

Test(helper_root, the_walk_without_openat2_gives_the_same_answers)
{
	shown.root.walk = true;
	make_ways();
	expect_ways();
}

Test(helper_root, a_name_that_is_too_long_is_refused)
{
	char name[PATH_NAME_MAX + 2];

	memset(name, 'n', sizeof name);
	name[sizeof name - 1] = 0;
	cr_expect(eq(int, place_of(name, NULL), ERR_NAME_TOO_LONG));
	name[PATH_NAME_MAX] = 0;
	cr_expect(eq(int, place_of(name, NULL), ERR_OK));
}

/* Deeper than PATH_MAX: no single system call takes such a path. */
Test(helper_root, a_path_longer_than_path_max_is_reached)
{
	AUTO_FREE char *path = strdup("");

	for (int i = 0; i < 30; i++) {
		char name[200];
		struct change c = { .op = CHANGE_MKDIR,
			.mode = 0755,
			.uid = CHANGE_NO_OWNER,
			.gid = CHANGE_NO_OWNER };
		char *longer;

		memset(name, 'a' + i % 26, sizeof name - 1);
		name[sizeof name - 1] = 0;
		longer = path_join(path, name);
		free(path);
		path = longer;
		c.path = path;
		cr_assert(eq(int, shown_apply(&shown, &c).err, ERR_OK));
	}
	cr_assert(strlen(path) > PATH_MAX);
	cr_expect(eq(int, open_of(path, O_RDONLY, NULL), ERR_OK));
}

Test(helper_root, a_place_in_another_directory_than_meant_is_stale)
{
	struct expect d;

	make_ways();
	d = expect_of(&(struct attr){ 0 });
	cr_expect(eq(int, place_of("d/f", &d), ERR_OK));
	struct attr dir = shown_attr(&shown, "tree/d");

	d = expect_of(&dir);
	cr_expect(eq(int, place_of("d/f", &d), ERR_OK));
	d.btime_ns++;
	cr_expect(eq(int, place_of("d/f", &d), ERR_STALE));
	d.btime_ns = 0;
	cr_expect(eq(int, place_of("d/f", &d), ERR_OK));
	d.ino++;
	cr_expect(eq(int, place_of("d/f", &d), ERR_STALE));
}

Test(helper_root, without_staging_its_names_are_unsupported)
{
	char tree[128];
	struct root plain;

	snprintf(tree, sizeof tree, "%s/tree", shown.scratch.path);
	cr_assert(eq(int, root_open(&plain, tree, NULL, NULL), ERR_OK));
	AUTO_PLACE struct place p = PLACE_NONE;

	cr_expect(eq(int, root_place(&plain, "/t", NULL, &p, NULL), ERR_UNSUPPORTED));
	root_close(&plain);
}

Test(helper_root, the_shown_directory_is_whatever_its_path_leads_to)
{
	const struct expect other = { .dev = 1, .ino = 1 };
	AUTO_ROOT struct root now;
	AUTO_PLACE struct place p = PLACE_NONE;

	cr_assert(renameat(shown.scratch.fd, "tree", shown.scratch.fd, "was") == 0);
	root_find(&shown.root, &now);
	cr_expect(eq(int, root_check(&now, NULL), ERR_NOT_FOUND));
	cr_expect(eq(int, root_place(&now, "f", NULL, &p, NULL), ERR_NOT_FOUND));
	cr_expect(eq(int, root_place(&now, "", NULL, &p, NULL), ERR_NOT_FOUND));
	scratch_mkdir(&shown.scratch, "tree", 0755);
	scratch_write_text(&shown.scratch, "tree/f", "new");
	root_find(&shown.root, &now);
	cr_assert(eq(int, root_check(&now, NULL), ERR_OK));
	cr_assert(eq(int, root_place(&now, "f", &other, &p, NULL), ERR_OK));
	place_release(&p);
	cr_expect(eq(int, root_place(&now, "d/f", &other, &p, NULL), ERR_NOT_FOUND));
}

Test(helper_root, staging_is_closed_to_others)
{
	char tree[128], staging[128];
	struct root again;

	cr_expect(eq(uint, shown_attr(&shown, "staging").mode, S_IFDIR | 0700));
	cr_assert(fchmodat(shown.scratch.fd, "staging", 0777, 0) == 0);
	snprintf(tree, sizeof tree, "%s/tree", shown.scratch.path);
	snprintf(staging, sizeof staging, "%s/staging", shown.scratch.path);
	cr_assert(eq(int, root_open(&again, tree, staging, NULL), ERR_OK));
	root_close(&again);
	cr_expect(eq(uint, shown_attr(&shown, "staging").mode, S_IFDIR | 0700));
	if (geteuid() != 0)
		shown_skip(&shown, "only root can make a directory that is someone else's");
	cr_assert(fchownat(shown.scratch.fd, "staging", 65534, 65534, 0) == 0);
	cr_expect(eq(int, root_open(&again, tree, staging, NULL), ERR_DENIED));
}

/* As another tmpfs has, on a kernel without times of birth there. */
Test(helper_root, a_directory_of_the_number_of_staging_is_shown_where_its_file_system_is_another)
{
	struct attr attr = shown_attr(&shown, "staging");

	cr_expect(root_hides(&shown.root, &attr));
	shown.root.staging.dev = makedev(0, 40);
	attr.dev = makedev(0, 41);
	cr_expect(not(root_hides(&shown.root, &attr)));
}

Test(helper_root, nothing_but_files_and_directories_is_opened)
{
	make_ways();
	cr_assert(mkfifoat(shown.scratch.fd, "tree/fifo", 0644) == 0);
	cr_expect(eq(int, open_of("d/f", O_RDONLY, NULL), ERR_OK));
	cr_expect(eq(int, open_of("d", O_RDONLY, NULL), ERR_OK));
	cr_expect(eq(int, open_of("d", O_WRONLY, NULL), ERR_IS_DIR));
	cr_expect(eq(int, open_of("", O_RDONLY, NULL), ERR_OK));
	cr_expect(eq(int, open_of("fifo", O_RDONLY, NULL), ERR_INVALID));
	cr_expect(eq(int, open_of("link", O_RDONLY, NULL), ERR_STALE));
	cr_expect(eq(int, open_of("none", O_RDONLY, NULL), ERR_NOT_FOUND));
}

Test(helper_root, every_field_is_as_lstat_has_it)
{
	AUTO_PLACE struct place p = PLACE_NONE;
	struct attr attr;
	struct stat st;

	make_ways();
	cr_assert(eq(int, root_place(&shown.root, "d/f", NULL, &p, NULL), ERR_OK));
	cr_assert(eq(int, place_stat(&p, &attr, "d/f", NULL), ERR_OK));
	cr_assert(fstatat(shown.scratch.fd, "tree/d/f", &st, AT_SYMLINK_NOFOLLOW) == 0);
	cr_expect(eq(u64, attr.dev, st.st_dev));
	cr_expect(eq(u64, attr.ino, st.st_ino));
	cr_expect(eq(uint, attr.mode, st.st_mode));
	cr_expect(eq(uint, attr.nlink, (unsigned)st.st_nlink));
	cr_expect(eq(uint, attr.uid, st.st_uid));
	cr_expect(eq(uint, attr.gid, st.st_gid));
	cr_expect(eq(u64, attr.size, (uint64_t)st.st_size));
	cr_expect(eq(u64, attr.blocks, (uint64_t)st.st_blocks));
	cr_expect(eq(uint, attr.blksize, (unsigned)st.st_blksize));
	cr_expect(eq(long, attr.mtime.tv_sec, st.st_mtim.tv_sec));
	cr_expect(eq(long, attr.mtime.tv_nsec, st.st_mtim.tv_nsec));
	cr_expect(eq(long, attr.ctime.tv_nsec, st.st_ctim.tv_nsec));
	cr_expect(eq(long, attr.atime.tv_nsec, st.st_atim.tv_nsec));
}

/* A hostile process swaps a directory with a link to `outside`: a path leads inside, or nowhere. */
static void expect_no_way_out(void)
{
	struct attr inside, outside;
	struct swapper *hostile;
	unsigned reached = 0;

	scratch_mkdir(&shown.scratch, "tree/d", 0755);
	scratch_write_text(&shown.scratch, "tree/d/secret", "inside");
	cr_assert(symlinkat("../outside", shown.scratch.fd, "tree/l") == 0);
	inside = shown_attr(&shown, "tree/d/secret");
	outside = shown_attr(&shown, "outside/secret");
	hostile = shown_swap_start(&shown, "tree/d", "tree/l");
	for (int i = 0; i < 3000 || !reached; i++) {
		AUTO_PLACE struct place p = PLACE_NONE;
		struct attr attr;

		if (root_place(&shown.root, "d/secret", NULL, &p, NULL) != ERR_OK)
			continue;
		cr_assert(eq(int, place_stat(&p, &attr, "", NULL), ERR_OK));
		cr_assert(ne(u64, attr.ino, outside.ino));
		cr_assert(eq(u64, attr.ino, inside.ino));
		reached++;
	}
	shown_swap_stop(hostile);
}

Test(helper_root, a_swapped_directory_does_not_lead_out)
{
	expect_no_way_out();
}

Test(helper_root, a_swapped_directory_does_not_lead_the_walk_out)
{
	shown.root.walk = true;
	expect_no_way_out();
}
