/*
 * A batch that is sent again: its first run had ended, is at work, or was killed wherever one can
 * be killed.
 */
#include "tests/support/changes.h"
#include "tests/support/shown.h"

#include "providers/base/cleanup.h"
#include "providers/helper/sequence.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>

TestSuite(helper_again, .timeout = 300);

#define RECORD "staging/seq-6a000000000000000000000000000000"

/* ---- Being killed at a write ---- */

enum moment { BEFORE, WITHIN, AFTER, MOMENTS };

/* Writes left until the child is killed; 0: it is not killed. */
static int writes_left;
static enum moment moment;

/* Runs at the next write that is not of a record, once. */
static void (*at_write)(void);

/* A line of the record is never torn: a signal does not end a write within a page. */
static bool is_record(int fd)
{
	char link[64], path[512];
	ssize_t len;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof path - 1);
	path[len > 0 ? len : 0] = 0;
	return strstr(path, "/seq-") != NULL;
}

static size_t len_of_write(int fd, size_t len)
{
	if (!writes_left || --writes_left)
		return len;
	if (moment == WITHIN && !is_record(fd))
		return len / 2;
	return moment == AFTER ? len : 0;
}

static void run_at_write(int fd)
{
	void (*run)(void) = at_write;

	if (!run || is_record(fd))
		return;
	at_write = NULL;
	run();
}

/* In place of the C library's. */
ssize_t pwrite(int fd, const void *bytes, size_t len, off_t offset)
{
	run_at_write(fd);
	bool is_armed = writes_left > 0;
	ssize_t written = syscall(SYS_pwrite64, fd, bytes, len_of_write(fd, len), offset);

	if (is_armed && !writes_left)
		raise(SIGKILL);
	return written;
}

ssize_t write(int fd, const void *bytes, size_t len)
{
	bool is_armed = writes_left > 0;
	ssize_t written = syscall(SYS_write, fd, bytes, len_of_write(fd, len));

	if (is_armed && !writes_left)
		raise(SIGKILL);
	return written;
}

/* ---- A batch of everything ---- */

static const struct change changes[] = {
	CHANGE_ROW(MKDIR, "d", .mode = 0751),
	CHANGE_ROW(CREATE, "d/f", .flags = CHANGE_EXCL, .mode = 0640),
	CHANGE_ROW(CREATE, "d/f", .mode = 0600),
	CHANGE_ROW(WRITE, "d/f", TEXT("hello")),
	CHANGE_ROW(APPEND, "d/f", TEXT(" world")),
	CHANGE_ROW(SETATTR, "d/f", .set = SET_MTIME, .mtime = { 1234567890, 123456789 }),
	CHANGE_ROW(SYMLINK, "d/l", TEXT("f")),
	CHANGE_ROW(LINK, "d/f", .path2 = "d/g"),
	CHANGE_ROW(MKNOD, "fifo", .mode = S_IFIFO | 0644),
	CHANGE_ROW(MKDIR, "empty", .mode = 0755),
	CHANGE_ROW(MKDIR, "empty/x", .mode = 0755, .needs = 10),
	CHANGE_ROW(RENAME, "old", .path2 = "d/moved"),
	CHANGE_ROW(RENAME, "a", .path2 = "b", .flags = CHANGE_EXCHANGE),
	CHANGE_ROW(RENAME, "a", .path2 = "b", .flags = CHANGE_NOREPLACE),
	CHANGE_ROW(RENAME, "empty", .path2 = "full"),
	CHANGE_ROW(UNLINK, "d/g"),
	CHANGE_ROW(UNLINK, "d/g"),
	CHANGE_ROW(UNLINK, "open", .path2 = "/u-1"),
	CHANGE_ROW(RMDIR, "empty"),
	CHANGE_ROW(APPEND, "log", TEXT("line\n")),
	CHANGE_ROW(APPEND, "log", TEXT("line\n")),
	CHANGE_ROW(CREATE, "/n-1", .flags = CHANGE_EXCL, .mode = 0600),
	CHANGE_ROW(WRITE, "/n-1", TEXT("new")),
	CHANGE_ROW(PLACE, "/n-1", .path2 = "new", .flags = CHANGE_EXCL),
	CHANGE_ROW(CREATE, "/n-1", .flags = CHANGE_EXCL, .mode = 0600),
	CHANGE_ROW(WRITE, "/n-1", TEXT("newer")),
	CHANGE_ROW(PLACE, "/n-1", .path2 = "new"),
	CHANGE_ROW(COPY, "log", .path2 = "new", .offset2 = 5, .length = 5),
	CHANGE_ROW(SETXATTR, "new", .name = "user.x", .flags = CHANGE_EXCL, TEXT("value")),
	CHANGE_ROW(REMOVEXATTR, "a", .name = "user.y"),
	CHANGE_ROW(SYNC, "new"),
	CHANGE_ROW(FALLOCATE, "long", .mode = FALLOC_FL_COLLAPSE_RANGE, .length = 4096),
	CHANGE_ROW(CREATE, "there", .flags = CHANGE_EXCL, .mode = 0640),
	CHANGE_ROW(CREATE, "made", .flags = CHANGE_EXCL, .mode = 0640),
	CHANGE_ROW(CREATE, "/n-2", .flags = CHANGE_EXCL, .mode = 0600),
	CHANGE_ROW(WRITE, "/n-2", TEXT("whole")),
	CHANGE_ROW(PLACE, "/n-2", .path2 = "made", .flags = CHANGE_REPLACE | CHANGE_EXCHANGE),
	CHANGE_ROW(PLACE, "/n-3", .path2 = "d/whole", .flags = CHANGE_MAKES | CHANGE_EXCL,
		.mode = 0604, TEXT("all of it")),
	CHANGE_ROW(PLACE, "/n-4", .path2 = "full/f", .flags = CHANGE_MAKES | CHANGE_EXCL,
		.mode = 0600, TEXT("never")),
	CHANGE_ROW(PLACE, "/n-4", .path2 = "full/f", .flags = CHANGE_MAKES, .mode = 0600,
		TEXT("over it")),
	CHANGE_ROW(
		PLACE, "/n-5", .path2 = "void", .flags = CHANGE_MAKES | CHANGE_EXCL, .mode = 0600),
};

enum { COUNT = sizeof changes / sizeof *changes };

static void fill(struct shown *s)
{
	char path[128];

	shown_make(s, false);
	scratch_write_text(&s->scratch, "tree/old", "old");
	scratch_write_text(&s->scratch, "tree/a", "a");
	scratch_write_text(&s->scratch, "tree/b", "b");
	scratch_write_text(&s->scratch, "tree/open", "open");
	scratch_write_text(&s->scratch, "tree/log", "line\n");
	scratch_write_text(&s->scratch, "tree/there", "");
	cr_assert(fchmodat(s->scratch.fd, "tree/there", 0640, 0) == 0);
	scratch_write_text(&s->scratch, "tree/long", "");
	snprintf(path, sizeof path, "%s/tree/long", s->scratch.path);
	cr_assert(truncate(path, 3L * 4096) == 0);
	scratch_mkdir(&s->scratch, "tree/full", 0755);
	scratch_write_text(&s->scratch, "tree/full/f", "f");
	snprintf(path, sizeof path, "%s/tree/b", s->scratch.path);
	cr_assert(setxattr(path, "user.y", "y", 1, 0) == 0);
}

static enum err apply(const struct shown *s, const struct call *call, const struct change *batch,
	size_t count, struct change_result *results, struct error *e)
{
	const struct apply_request request = {
		.journal = { 0x6a }, .first_sequence = 1, .changes = batch, .changes_count = count
	};

	return helper_apply(&s->root, call, &request, results, e);
}

static void apply_all(const struct shown *s, struct change_result *results)
{
	struct error e = { 0 };

	cr_assert(eq(int, apply(s, NULL, changes, COUNT, results, &e), ERR_OK), "%s", e.text);
}

/* ---- Results ---- */

static enum err describe_item(void *context, const struct list_item *item, struct error *e)
{
	const struct attr *a = &item->attr;

	(void)e;
	if (item->kind == LIST_DIR)
		buf_printf(context, "%s:\n", item->path);
	else if (item->kind == LIST_ENTRY)
		buf_printf(context, "%s %o %u %llu %s\n", item->name, a->mode, a->nlink,
			(unsigned long long)(S_ISDIR(a->mode) ? 0 : a->size),
			item->link ? item->link : "");
	return ERR_OK;
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The tree as text, independent of the order of its directories' entries. */
static void describe(const struct shown *s, struct buf *out)
{
	static const char *const files[] = { "tree/d/f", "tree/d/moved", "tree/a", "tree/b",
		"tree/log", "tree/new", "tree/made", "tree/d/whole", "tree/full/f", "tree/void",
		"staging/u-1" };
	const struct list_request request = {
		.starts = (const char *const[]){ "" }, .starts_count = 1, .depth = LIST_DEPTH_ALL
	};
	AUTO_BUF struct buf listed = BUF_INIT(1 << 20);
	char *lines[64], *rest;
	size_t count = 0;

	cr_assert(eq(int, helper_list(&s->root, &request, describe_item, &listed, NULL), ERR_OK));
	for (char *line = strtok_r((char *)listed.bytes, "\n", &rest); line && count < 64;
		line = strtok_r(NULL, "\n", &rest))
		lines[count++] = line;
	qsort(lines, count, sizeof *lines, compare_lines);
	for (size_t i = 0; i < count; i++)
		buf_printf(out, "%s\n", lines[i]);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		AUTO_FREE char *text = scratch_read(&s->scratch, files[i], NULL);

		buf_printf(out, "%s: %s\n", files[i], text);
	}
}

static void expect_same_results(
	const struct change_result *got, const struct change_result *want, const char *when)
{
	for (size_t i = 0; i < COUNT; i++) {
		cr_expect(eq(int, got[i].err, want[i].err), "%s, change %zu: %s", when, i,
			got[i].why);
		cr_expect(eq(str, (char *)got[i].why, (char *)want[i].why), "%s", when);
		/* How much was copied is not kept. */
		if (changes[i].data)
			cr_expect(eq(u64, got[i].count, want[i].count), "%s, change %zu", when, i);
	}
}

/* ---- Killed ---- */

/* Kills a run at its write number `nth`. False: the run came to its end, with fewer writes. */
static bool is_killed_at(const struct shown *s, int nth, enum moment when)
{
	struct change_result results[COUNT];
	int status;
	pid_t child = fork();

	cr_assert(child >= 0);
	if (!child) {
		moment = when;
		writes_left = nth;
		apply(s, NULL, changes, COUNT, results, NULL);
		_exit(0);
	}
	cr_assert(eq(int, waitpid(child, &status, 0), child));
	return WIFSIGNALED(status);
}

static bool is_done_once_after(
	int nth, enum moment when, const struct change_result *want, const char *want_tree)
{
	static const char *const words[] = { "before", "within", "after" };
	AUTO_BUF struct buf tree = BUF_INIT(1 << 20);
	struct change_result results[COUNT];
	struct shown s;
	bool was_killed;
	char label[64];

	snprintf(label, sizeof label, "killed %s write %d", words[when], nth);
	fill(&s);
	was_killed = is_killed_at(&s, nth, when);
	apply_all(&s, results);
	describe(&s, &tree);
	expect_same_results(results, want, label);
	cr_expect(eq(str, (char *)buf_text(&tree), (char *)want_tree), "%s", label);
	for (int n = 3; n <= 5; n++) {
		snprintf(label, sizeof label, "staging/n-%d", n);
		cr_expect(not(shown_exists(&s, label)), "%s, killed at write %d", label, nth);
	}
	shown_remove(&s);
	return was_killed;
}

Test(helper_again, every_change_is_done_once_wherever_the_first_run_was_killed)
{
	AUTO_BUF struct buf tree = BUF_INIT(1 << 20);
	struct change_result want[COUNT];
	struct shown s;

	fill(&s);
	apply_all(&s, want);
	describe(&s, &tree);
	shown_remove(&s);
	cr_assert(eq(int, want[9 + 1].err, ERR_OK));
	cr_assert(eq(int, want[13].err, ERR_EXISTS));
	cr_assert(eq(int, want[16].err, ERR_NOT_FOUND));
	cr_assert(eq(int, want[COUNT - 4].err, ERR_OK));
	cr_assert(eq(int, want[COUNT - 3].err, ERR_EXISTS));
	for (enum moment when = BEFORE; when < MOMENTS; when++) {
		int nth = 1;

		while (is_done_once_after(nth, when, want, buf_text(&tree)))
			nth++;
		cr_expect(nth > (int)COUNT);
	}
}

/* ---- Killed between two steps ---- */

static bool dies_at_unlink;

/* In place of the C library's. */
int unlinkat(int fd, const char *name, int flags)
{
	if (dies_at_unlink)
		raise(SIGKILL);
	return (int)syscall(SYS_unlinkat, fd, name, flags);
}

static const struct change place_over_made =
	CHANGE_ROW(PLACE, "/n-2", .path2 = "f", .flags = CHANGE_REPLACE | CHANGE_EXCHANGE);

/*
 * tree/f was made empty. A run replaces it, and is killed before it removes the file that came back
 * by the exchange.
 */
static void exchange_and_die(struct shown *s)
{
	struct change_result result;
	int status;

	shown_make(s, false);
	scratch_write_text(&s->scratch, "tree/f", "");
	scratch_write_text(&s->scratch, "staging/n-2", "whole");
	pid_t child = fork();

	cr_assert(child >= 0);
	if (!child) {
		dies_at_unlink = true;
		apply(s, NULL, &place_over_made, 1, &result, NULL);
		_exit(0);
	}
	cr_assert(eq(int, waitpid(child, &status, 0), child));
	cr_assert(eq(int, WIFSIGNALED(status), true));
	cr_assert(shown_exists(s, "staging/n-2"));
}

static void expect_file(const struct shown *s, const char *path, const char *want)
{
	AUTO_FREE char *text = scratch_read(&s->scratch, path, NULL);

	cr_expect(eq(str, text, (char *)want), "%s", path);
}

static const struct change append_line = CHANGE_ROW(APPEND, "log", TEXT("a whole line\n"));

Test(helper_again, a_part_behind_which_somebody_appended_is_written_again_whole)
{
	bool was_killed = true;

	for (int nth = 1; was_killed; nth++) {
		struct change_result result = { 0 };
		struct error e = { 0 };
		struct shown s;

		shown_make(&s, false);
		scratch_write_text(&s.scratch, "tree/log", "");
		pid_t child = fork();
		int status;

		cr_assert(child >= 0);
		if (!child) {
			moment = WITHIN;
			writes_left = nth;
			apply(&s, NULL, &append_line, 1, &result, NULL);
			_exit(0);
		}
		cr_assert(eq(int, waitpid(child, &status, 0), child));
		was_killed = WIFSIGNALED(status);
		AUTO_FREE char *part = scratch_read(&s.scratch, "tree/log", NULL);
		AUTO_FREE char *all = NULL;

		cr_assert(asprintf(&all, "%sother\n", part) > 0);
		scratch_write_text(&s.scratch, "tree/log", all);
		cr_expect(eq(int, apply(&s, NULL, &append_line, 1, &result, &e), ERR_OK), "%s",
			e.text);
		AUTO_FREE char *text = scratch_read(&s.scratch, "tree/log", NULL);

		cr_expect(ne(ptr, strstr(text, "a whole line\n"), NULL), "write %d: %s", nth, text);
		cr_expect(ne(ptr, strstr(text, "other\n"), NULL), "write %d: %s", nth, text);
		shown_remove(&s);
	}
}

Test(helper_again, what_came_back_for_a_file_that_was_placed_goes)
{
	struct change_result result;
	struct shown s;

	exchange_and_die(&s);
	expect_file(&s, "tree/f", "whole");
	uint64_t placed = shown_attr(&s, "tree/f").ino;

	cr_assert(eq(int, apply(&s, NULL, &place_over_made, 1, &result, NULL), ERR_OK));
	cr_expect(eq(int, result.err, ERR_OK), "%s", result.why);
	cr_expect(eq(u64, result.attr.ino, placed));
	expect_file(&s, "tree/f", "whole");
	cr_expect(not(shown_exists(&s, "staging/n-2")));
	shown_remove(&s);
}

Test(helper_again, what_came_back_for_a_placed_file_stays_where_somebody_wrote_to_it)
{
	struct change_result result;
	struct shown s;

	exchange_and_die(&s);
	scratch_write_text(&s.scratch, "staging/n-2", "theirs, and longer");
	uint64_t made = shown_attr(&s, "staging/n-2").ino;

	cr_assert(eq(int, apply(&s, NULL, &place_over_made, 1, &result, NULL), ERR_OK));
	cr_expect(eq(int, result.err, ERR_OK), "%s", result.why);
	cr_expect(eq(u64, result.attr.ino, made), "ours is copied over it");
	expect_file(&s, "tree/f", "whole");
	cr_expect(not(shown_exists(&s, "staging/n-2")));
	shown_remove(&s);
}

/* ---- Refused ---- */

Test(helper_again, the_refusals_of_an_earlier_batch_are_forgotten)
{
	enum { REFUSED = 500 };
	AUTO_FREE struct change *batch = calloc(REFUSED, sizeof *batch);
	AUTO_FREE struct change_result *results = calloc(REFUSED, sizeof *results);
	struct apply_request request = {
		.journal = { 0x6a }, .first_sequence = 1, .changes = batch, .changes_count = REFUSED
	};
	struct shown s;

	for (size_t i = 0; i < REFUSED; i++)
		batch[i] = CHANGE(RMDIR, "none");
	fill(&s);
	cr_assert(eq(int, helper_apply(&s.root, NULL, &request, results, NULL), ERR_OK));
	cr_expect(shown_attr(&s, RECORD).size > SEQUENCE_HEAD_SIZE + 500);
	memset(results, 0, REFUSED * sizeof *results);
	cr_assert(eq(int, helper_apply(&s.root, NULL, &request, results, NULL), ERR_OK));
	for (size_t i = 0; i < REFUSED; i++)
		cr_expect(eq(int, results[i].err, ERR_NOT_FOUND), "%zu", i);
	request.first_sequence += REFUSED;
	request.changes = &CHANGE(SYNC, "");
	request.changes_count = 1;
	cr_assert(eq(int, helper_apply(&s.root, NULL, &request, results, NULL), ERR_OK));
	cr_expect(eq(int, results[0].err, ERR_OK));
	cr_expect(eq(u64, shown_attr(&s, RECORD).size, SEQUENCE_HEAD_SIZE));
	shown_remove(&s);
}

/* A kill in the midst of a write to the record can leave no part of a line, but a full disk can. */
Test(helper_again, a_torn_refusal_is_none)
{
	struct change_result results[COUNT];
	struct shown s;
	int fd;

	fill(&s);
	apply_all(&s, results);
	fd = openat(s.scratch.fd, RECORD, O_WRONLY | O_APPEND);
	cr_assert(write(fd, "99 @EXI", 7) == 7);
	close(fd);
	apply_all(&s, results);
	cr_expect(eq(int, results[0].err, ERR_OK), "%s", results[0].why);
	cr_expect(eq(int, results[13].err, ERR_EXISTS), "%s", results[13].why);
	shown_remove(&s);
}

/* ---- At work ---- */

static void *run_again(void *context)
{
	struct change_result results[COUNT];

	apply_all(context, results);
	return NULL;
}

Test(helper_again, two_runs_at_once_do_it_once)
{
	AUTO_BUF struct buf want = BUF_INIT(1 << 20);
	struct change_result results[COUNT];
	struct shown s;

	fill(&s);
	apply_all(&s, results);
	describe(&s, &want);
	shown_remove(&s);
	for (int round = 0; round < 20; round++) {
		AUTO_BUF struct buf tree = BUF_INIT(1 << 20);
		pthread_t threads[4];

		fill(&s);
		for (size_t i = 0; i < 4; i++)
			cr_assert(pthread_create(&threads[i], NULL, run_again, &s) == 0);
		for (size_t i = 0; i < 4; i++)
			pthread_join(threads[i], NULL);
		describe(&s, &tree);
		cr_expect(eq(str, (char *)buf_text(&tree), (char *)buf_text(&want)));
		shown_remove(&s);
	}
}

Test(helper_again, who_waits_for_another_run_gives_up_in_time)
{
	const struct call call = { .progress_ms = 50 };
	struct change_result results[COUNT];
	struct error e = { 0 };
	struct shown s;
	int fd;

	fill(&s);
	fd = openat(s.scratch.fd, RECORD, O_RDWR | O_CREAT, 0600);
	cr_assert(flock(fd, LOCK_EX) == 0);
	cr_expect(eq(int, apply(&s, &call, changes, COUNT, results, &e), ERR_TIMEOUT));
	cr_expect(strstr(e.text, "still at work") != NULL, "%s", e.text);
	cr_expect(not(shown_exists(&s, "tree/d")));
	close(fd);
	apply_all(&s, results);
	cr_expect(eq(int, results[0].err, ERR_OK));
	shown_remove(&s);
}

/* ---- A copy in staging on another file system ---- */

static struct shown elsewhere;

/* False: there is no right to mount. */
static bool make_elsewhere(void)
{
	char path[128];

	shown_make(&elsewhere, false);
	scratch_mkdir(&elsewhere.scratch, "tree/m", 0755);
	snprintf(path, sizeof path, "%s/tree/m", elsewhere.scratch.path);
	if (mount("none", path, "tmpfs", 0, NULL))
		return false;
	scratch_write_text(&elsewhere.scratch, "tree/m/old", "old");
	scratch_write_text(&elsewhere.scratch, "tree/m/new", "new");
	return true;
}

static void remove_elsewhere(void)
{
	char path[128];

	snprintf(path, sizeof path, "%s/tree/m", elsewhere.scratch.path);
	cr_assert(umount(path) == 0);
	shown_remove(&elsewhere);
}

static void expect_elsewhere(const char *path, const char *text)
{
	AUTO_FREE char *there = scratch_read(&elsewhere.scratch, path, NULL);

	cr_expect(eq(str, there, (char *)text), "%s", path);
}

static void put_theirs(void)
{
	cr_assert(renameat(elsewhere.scratch.fd, "tree/m/theirs", elsewhere.scratch.fd,
			  "tree/m/old") == 0);
}

static const struct change unlink_old = CHANGE_ROW(UNLINK, "m/old", .path2 = "/u-1");
static const struct change rename_new_over_old =
	CHANGE_ROW(RENAME, "m/new", .path2 = "m/old", .keep = "/u-1");

static void expect_theirs_kept(const struct change *change)
{
	struct change_result result;

	scratch_write_text(&elsewhere.scratch, "tree/m/old", "old");
	scratch_write_text(&elsewhere.scratch, "tree/m/theirs", "theirs");
	at_write = put_theirs;
	result = shown_apply(&elsewhere, change);
	cr_expect(eq(int, result.err, ERR_STALE), "%s", result.why);
	expect_elsewhere("tree/m/old", "theirs");
	cr_expect(not(shown_exists(&elsewhere, "staging/u-1")));
}

Test(helper_again, a_file_that_comes_while_the_removed_one_is_copied_stays)
{
	if (!make_elsewhere())
		shown_skip(&elsewhere, "no right to mount");
	expect_theirs_kept(&unlink_old);
	expect_theirs_kept(&rename_new_over_old);
	expect_elsewhere("tree/m/new", "new");
	remove_elsewhere();
}

static void die(void)
{
	raise(SIGKILL);
}

Test(helper_again, a_copy_that_was_broken_off_is_made_again)
{
	struct change_result result;
	bool was_killed;
	int status;

	if (!make_elsewhere())
		shown_skip(&elsewhere, "no right to mount");
	pid_t child = fork();

	cr_assert(child >= 0);
	if (!child) {
		at_write = die;
		apply(&elsewhere, NULL, &rename_new_over_old, 1, &result, NULL);
		_exit(0);
	}
	cr_assert(eq(int, waitpid(child, &status, 0), child));
	was_killed = WIFSIGNALED(status);
	cr_assert(was_killed);
	expect_elsewhere("staging/u-1", "");
	cr_assert(eq(int, apply(&elsewhere, NULL, &rename_new_over_old, 1, &result, NULL), ERR_OK));
	cr_expect(eq(int, result.err, ERR_OK), "%s", result.why);
	expect_elsewhere("tree/m/old", "new");
	expect_elsewhere("staging/u-1", "old");
	remove_elsewhere();
}
