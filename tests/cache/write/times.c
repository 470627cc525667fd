/*
 * Times that were shown stay when the sandbox has what was done here, and their order over all
 * files is the order of the calls: every operation alone, and every two, with the first one in the
 * sandbox before the second or not.
 */
#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/lease/invalidate.h"
#include "cache/contents.h"
#include "cache/cache.h"
#include "tests/cache/distant.h"
#include "tests/cache/twin.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct distant far;
static struct mounted mounted;

static void setup(void)
{
	distant_start_watched(&far);
	distant_await_deciding(&far);
	mounted = (struct mounted){ .cache = far.cache };
}

static void teardown(void)
{
	mounted_release(&mounted);
	distant_stop(&far);
}

TestSuite(times, .init = setup, .fini = teardown, .timeout = 7200);

/* ---- The operations ---- */

#define ACTS_MAX 4

/* A touch is a step of its own here: UTIME_NOW. */
#define STEP_TOUCH STEP_END

/* Names are of the case's directory; NULL: of the handle. */
struct act {
	bool is_there;
	enum step_kind kind;
	const char *path, *path2;
	uint32_t flags;
	uint64_t number;
	size_t len;
};

#define ACT(...)                                                                                   \
	{                                                                                          \
		.is_there = true, __VA_ARGS__                                                      \
	}
#define CREATE(name)   ACT(.kind = STEP_CREATE, .path = (name))
#define OPEN(name)     ACT(.kind = STEP_OPEN, .path = (name))
#define WRITE(size)    ACT(.kind = STEP_WRITE, .len = (size))
#define APPEND(size)   ACT(.kind = STEP_APPEND, .len = (size))
#define EMPTY          ACT(.kind = STEP_EMPTY)
#define CLOSE          ACT(.kind = STEP_CLOSE)
#define MKDIR(name)    ACT(.kind = STEP_MKDIR, .path = (name))
#define SYMLINK(name)  ACT(.kind = STEP_SYMLINK, .path = (name))
#define LINK(from, to) ACT(.kind = STEP_LINK, .path = (from), .path2 = (to))
#define RENAME(from, to, how)                                                                      \
	ACT(.kind = STEP_RENAME, .path = (from), .path2 = (to), .flags = (how))
#define UNLINK(name)    ACT(.kind = STEP_UNLINK, .path = (name))
#define RMDIR(name)     ACT(.kind = STEP_RMDIR, .path = (name))
#define CHMOD(name, to) ACT(.kind = STEP_CHMOD, .path = (name), .number = (to))
#define TOUCH(name)     ACT(.kind = STEP_TOUCH, .path = (name))
#define TIMES(name, to) ACT(.kind = STEP_TIMES, .path = (name), .number = (to))
#define CUT(name, to)   ACT(.kind = STEP_CUT, .path = (name), .number = (to))
#define COPY(from, to)  ACT(.kind = STEP_COPY, .path = (from), .path2 = (to))

/* `sets` has the time that was asked for, which has no order. */
static const struct operation {
	const char *text;
	struct act acts[ACTS_MAX];
	const char *sets;
	bool is_timed_there; /* by the sandbox, whose clock is coarse: some ms earlier */
} operations[] = {
	{ .text = "make empty", .acts = { CREATE("new"), CLOSE } },
	{ .text = "make", .acts = { CREATE("new"), WRITE(5), CLOSE } },
	{ .text = "make and chmod",
		.acts = { CREATE("new"), WRITE(5), CLOSE, CHMOD("new", 0600) } },
	{ .text = "make and leave open", .acts = { CREATE("new"), WRITE(5) } },
	{ .text = "make in a new directory", .acts = { MKDIR("made"), CREATE("made/new"), CLOSE } },
	{ .text = "mkdir", .acts = { MKDIR("made") } },
	{ .text = "symlink", .acts = { SYMLINK("pointer") } },
	{ .text = "link", .acts = { LINK("old", "new") } },
	{ .text = "link into another", .acts = { LINK("old", "sub/new") } },
	{ .text = "rename", .acts = { RENAME("old", "new", 0) } },
	{ .text = "rename into another", .acts = { RENAME("old", "sub/new", 0) } },
	{ .text = "rename over one of two names", .acts = { RENAME("old", "two", 0) } },
	{ .text = "exchange", .acts = { RENAME("old", "two", CHANGE_EXCHANGE) } },
	{ .text = "rename a directory", .acts = { RENAME("sub", "made", 0) } },
	{ .text = "unlink", .acts = { UNLINK("old") } },
	{ .text = "unlink one of two names", .acts = { UNLINK("two") } },
	{ .text = "rmdir", .acts = { RMDIR("hole") } },
	{ .text = "chmod", .acts = { CHMOD("old", 0600) } },
	{ .text = "chmod a directory", .acts = { CHMOD("sub", 0700) } },
	{ .text = "touch", .acts = { TOUCH("old") } },
	{ .text = "touch a directory", .acts = { TOUCH("sub") } },
	{ .text = "set times", .acts = { TIMES("old", 1000) }, .sets = "old" },
	{ .text = "truncate", .acts = { CUT("old", 1) }, .is_timed_there = true },
	{ .text = "write", .acts = { OPEN("old"), WRITE(2), CLOSE } },
	{ .text = "write and leave open", .acts = { OPEN("old"), WRITE(2) } },
	{ .text = "append", .acts = { OPEN("old"), APPEND(2), CLOSE } },
	{ .text = "append and leave open", .acts = { OPEN("old"), APPEND(2) } },
	{ .text = "empty", .acts = { OPEN("old"), EMPTY, CLOSE } },
	{ .text = "write anew", .acts = { OPEN("old"), EMPTY, WRITE(5), CLOSE } },
	{ .text = "copy", .acts = { COPY("old", "new") }, .is_timed_there = true },
};

#define OPERATIONS (sizeof operations / sizeof *operations)

static const char *const names[] = { "", "old", "two", "alias", "sub", "sub/in", "sub/new", "hole",
	"empty", "new", "made", "made/in", "made/new", "pointer" };

#define NAMES (sizeof names / sizeof *names)

static void path_in(char out[TWIN_PATH_MAX], unsigned number, const char *name)
{
	snprintf(out, TWIN_PATH_MAX, "c%u%s%.200s", number, *name ? "/" : "", name);
}

static void touch(const char *path)
{
	const struct timespec now = { .tv_nsec = UTIME_NOW };
	const struct change change = { .set = SET_ATIME | SET_MTIME, .atime = now, .mtime = now };
	struct inode *i;

	if (mounted_find(&mounted, path, &i))
		return;
	cache_setattr(far.cache, NULL, i, &change, false, NULL);
	mounted_forget(&mounted, i);
}

/* An act on a file that another operation removed before fails; the failure is ignored. */
static void act(unsigned number, const struct act *a, unsigned handle)
{
	struct step step = { .kind = a->kind,
		.flags = a->flags,
		.number = a->number,
		.len = a->len,
		.byte = 'x',
		.handle = handle };

	if (a->path)
		path_in(step.path, number, a->path);
	if (a->path2)
		path_in(step.path2, number, a->path2);
	if (a->kind == STEP_SYMLINK)
		snprintf(step.path2, sizeof step.path2, "to");
	if (a->kind == STEP_TOUCH)
		touch(step.path);
	else if (a->path || mounted.handles[handle])
		mounted_do(&mounted, &step);
}

static void operate(unsigned number, const struct operation *o, unsigned handle)
{
	for (int n = 0; n < ACTS_MAX && o->acts[n].is_there; n++)
		act(number, &o->acts[n], handle);
}

/* ---- The times that are shown ---- */

struct shown {
	bool is_there;
	uint64_t ino;
	struct timespec mtime, ctime;
};

/* The inodes that were looked at; the kernel knows them until the case is over. */
static struct inode *known[16 * NAMES];
static size_t known_count;

static void forget_known(void)
{
	while (known_count)
		mounted_forget(&mounted, known[--known_count]);
}

static struct shown look_at(unsigned number, const char *name)
{
	char path[TWIN_PATH_MAX];
	struct inode *i;
	struct attr attr;

	path_in(path, number, name);
	if (mounted_find(&mounted, path, &i))
		return (struct shown){ 0 };
	cr_assert(eq(int, mounted_attr(&mounted, i, &attr), ERR_OK), "%s", path);
	const struct shown shown = { .is_there = true,
		.ino = attr.ino,
		.mtime = attr.mtime,
		.ctime = cache_shown_ctime(far.cache, i, &attr) };

	known[known_count++] = i;
	return shown;
}

static void look(unsigned number, struct shown out[NAMES])
{
	for (size_t n = 0; n < NAMES; n++)
		out[n] = look_at(number, names[n]);
}

static const struct shown *found_before(const struct shown before[NAMES], uint64_t ino)
{
	for (size_t n = 0; n < NAMES; n++)
		if (before[n].is_there && before[n].ino == ino)
			return &before[n];
	return NULL;
}

static struct timespec latest_of(const struct shown all[NAMES])
{
	struct timespec latest = { 0 };

	for (size_t n = 0; n < NAMES; n++) {
		if (time_is_after(all[n].mtime, latest))
			latest = all[n].mtime;
		if (time_is_after(all[n].ctime, latest))
			latest = all[n].ctime;
	}
	return latest;
}

/* Every time that an operation moved is later than all times that were shown before. */
static void expect_order(const struct shown before[NAMES], const struct shown after[NAMES],
	const struct operation *o, const char *text)
{
	const struct timespec latest = latest_of(before);
	uint64_t set = 0;

	if (o->is_timed_there)
		return;

	for (size_t n = 0; n < NAMES; n++)
		if (o->sets && !strcmp(o->sets, names[n]))
			set = after[n].ino;

	for (size_t n = 0; n < NAMES; n++) {
		const struct shown *was =
			after[n].is_there ? found_before(before, after[n].ino) : NULL;
		bool is_moved =
			after[n].is_there && (!was || !time_equals(was->mtime, after[n].mtime));

		if (is_moved && after[n].ino != set)
			cr_expect(time_is_after(after[n].mtime, latest),
				"%s: mtime of %s is not later than all before", text, names[n]);
		if (after[n].is_there && (!was || !time_equals(was->ctime, after[n].ctime)))
			cr_expect(time_is_after(after[n].ctime, latest),
				"%s: ctime of %s is not later than all before", text, names[n]);
	}
}

static void expect_same(const struct shown before[NAMES], const struct shown after[NAMES],
	const char *text, const char *when)
{
	for (size_t n = 0; n < NAMES; n++) {
		cr_expect(eq(int, after[n].is_there, before[n].is_there), "%s: %s %s", text,
			names[n], when);
		cr_expect(time_equals(before[n].mtime, after[n].mtime), "%s: mtime of %s moves %s",
			text, names[n], when);
		cr_expect(time_equals(before[n].ctime, after[n].ctime), "%s: ctime of %s moves %s",
			text, names[n], when);
	}
}

static void expect_there(unsigned number, const struct shown shown[NAMES], const char *text)
{
	for (size_t n = 0; n < NAMES; n++) {
		char path[TWIN_PATH_MAX];
		struct stat st;

		path_in(path, number, names[n]);
		if (shown[n].is_there && !fstatat(far.scratch.fd, path, &st, AT_SYMLINK_NOFOLLOW))
			cr_expect(time_equals(shown[n].mtime, st.st_mtim),
				"%s: the sandbox has another mtime of %s", text, names[n]);
	}
}

/* ---- One case ---- */

static void sync_all(void)
{
	cr_assert(eq(int, cache_sync(far.cache, NULL, NULL), ERR_OK));
}

static void make_world(unsigned number)
{
	static const struct act acts[] = { MKDIR(""), MKDIR("sub"), MKDIR("hole"), CREATE("old"),
		WRITE(4), CLOSE, CREATE("two"), CLOSE, LINK("two", "alias"), CREATE("sub/in"),
		CLOSE, CREATE("empty"), CLOSE };

	for (size_t n = 0; n < sizeof acts / sizeof *acts; n++)
		act(number, &acts[n], 0);
}

static void close_all(unsigned number)
{
	static const struct act close = CLOSE;

	for (unsigned handle = 0; handle < 2; handle++)
		act(number, &close, handle);
}

static void expect_stays(unsigned number, const struct shown shown[NAMES], const char *text)
{
	struct shown now[NAMES];

	sync_all();
	look(number, now);
	expect_same(shown, now, text, "when the sandbox has it");
	expect_there(number, now, text);
	cache_invalidate_all(far.cache);
	look(number, now);
	expect_same(shown, now, text, "when it is asked for again");
	close_all(number);
	sync_all();
	look(number, now);
	expect_same(shown, now, text, "when it is closed");
	forget_known();
}

Test(times, what_one_operation_has_shown_stays)
{
	struct shown before[NAMES], after[NAMES];

	for (unsigned n = 0; n < OPERATIONS; n++) {
		const struct operation *o = &operations[n];

		make_world(n);
		sync_all();
		look(n, before);
		operate(n, o, 0);
		look(n, after);
		expect_order(before, after, o, o->text);
		expect_stays(n, after, o->text);
	}
}

/* ---- Two ---- */

static void expect_lands(unsigned number, const struct shown shown[NAMES], const char *text)
{
	struct shown now[NAMES];

	sync_all();
	look(number, now);
	expect_same(shown, now, text, "between");
}

static void try_two(
	unsigned number, const struct operation *one, const struct operation *two, bool is_landed)
{
	struct shown before[NAMES], between[NAMES], after[NAMES];
	char text[128];

	snprintf(text, sizeof text, "%s, %s%s", one->text, is_landed ? "in the sandbox, " : "",
		two->text);
	make_world(number);
	look(number, before);
	operate(number, one, 0);
	look(number, between);
	expect_order(before, between, one, text);
	if (is_landed)
		expect_lands(number, between, text);
	operate(number, two, 1);
	look(number, after);
	expect_order(between, after, two, text);
	expect_stays(number, after, text);
}

/* After so many cases the mount is another one: each case costs a look at all that is known. */
#define TOGETHER 25

/* One case in 23: SANDBOXFS_CASES_STRIDE=1 has all. */
Test(times, what_two_operations_have_shown_stays)
{
	const char *wanted = getenv("SANDBOXFS_CASES_STRIDE");
	unsigned stride = wanted ? (unsigned)atoi(wanted) : 23, tried = 0;

	for (unsigned n = 0; n < 2 * OPERATIONS * OPERATIONS; n += stride) {
		const struct operation *one = &operations[n / 2 / OPERATIONS];
		const struct operation *two = &operations[n / 2 % OPERATIONS];

		if (tried++ % TOGETHER == TOGETHER - 1) {
			teardown();
			setup();
		}
		try_two(n, one, two, n & 1);
	}
	cr_log_info("%u cases", tried);
}
