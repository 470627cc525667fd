/* Commands and their records, below the coding: cases that the contract cannot bring about. */
#include "providers/helper/command.h"

#include "providers/base/buf.h"
#include "providers/base/call.h"
#include "providers/base/cleanup.h"
#include "providers/helper/record.h"
#include "tests/support/scratch.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <dirent.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARKER "0123456789abcdef0123456789abcdef"
#define OTHER  "fedcba9876543210fedcba9876543210"

static struct room {
	struct scratch scratch;
	struct root root;
	atomic_bool is_stopped;
	/* The output and the last piece of the last answer. */
	struct buf out;
	struct command_piece last;
} room = { .out = BUF_INIT(16 * 1024 * 1024) };

static void room_open(void)
{
	char dir[128], staging[128];
	struct error e = { 0 };

	scratch_make(&room.scratch);
	scratch_mkdir(&room.scratch, "tree", 0755);
	snprintf(dir, sizeof dir, "%s/tree", room.scratch.path);
	snprintf(staging, sizeof staging, "%s/staging", room.scratch.path);
	root_open(&room.root, dir, staging, &e);
	cr_assert(eq(int, e.kind, ERR_OK), "%s", e.text);
}

static void room_close(void)
{
	root_close(&room.root);
	buf_release(&room.out);
	scratch_remove(&room.scratch);
}

TestSuite(helper_command, .init = room_open, .fini = room_close, .timeout = 300);

static enum err take_piece(void *context, const struct command_piece *piece, struct error *e)
{
	(void)context, (void)e;
	room.last = *piece;
	if (piece->kind == COMMAND_OUT || piece->kind == COMMAND_ERR)
		buf_add(&room.out, piece->bytes, piece->len);
	return ERR_OK;
}

static struct command_request request_of(const char *text)
{
	return (struct command_request){ .marker = MARKER,
		.text = text,
		.cwd = "",
		.wait_ms = 60000,
		.more_ms = 60000,
		.answer_max = UINT32_MAX };
}

static enum err ask(const struct command_request *request)
{
	struct error e = { 0 };

	buf_reset(&room.out);
	return helper_command(&room.root, request, &room.is_stopped, take_piece, NULL, &e);
}

/*
 * A follower of a stopped command may find that its output was dropped. The end is in the record
 * from then on.
 */
static void ask_how_it_was_stopped(void)
{
	struct command_request request = request_of(NULL);

	do
		cr_assert(eq(int, ask(&request), ERR_OK));
	while (room.last.kind == COMMAND_LOST || room.last.kind == COMMAND_RUNNING);
}

static bool is_there(const char *path)
{
	return faccessat(room.scratch.fd, path, F_OK, 0) == 0;
}

/*
 * From then on only the record shows that the command ran: the process that ran it holds no lock.
 */
static void await_record_let_go(void)
{
	int fd = openat(room.root.staging_fd, "command-" MARKER, O_RDWR | O_CLOEXEC);

	cr_assert(fd >= 0 && flock(fd, LOCK_EX) == 0);
	close(fd);
}

Test(helper_command, a_start_that_is_asked_again_runs_once)
{
	struct command_request request = request_of("echo x >>ran; echo said; exit 3");

	for (int i = 0; i < 3; i++) {
		cr_assert(eq(int, ask(&request), ERR_OK));
		cr_expect(eq(str, (char *)buf_text(&room.out), "said\n"));
		cr_expect(room.last.kind == COMMAND_ENDED && room.last.exit_code == 3);
		cr_expect(eq(u32, room.last.root.mode & S_IFMT, S_IFDIR), "the root as it is then");
		await_record_let_go();
	}
	AUTO_FREE char *ran = scratch_read(&room.scratch, "tree/ran", NULL);

	cr_expect(eq(str, ran, "x\n"));
}

Test(helper_command, an_answer_ends_when_it_is_large_enough_and_the_next_begins_there)
{
	struct command_request request = request_of("head -c 1000000 /dev/zero; echo end");
	size_t got = 0, answers = 0;

	request.answer_max = 100000;
	do {
		cr_assert(eq(int, ask(&request), ERR_OK));
		got += room.out.len;
		answers++;
		request.from = room.last.next;
		request.text = NULL;
	} while (room.last.kind == COMMAND_RUNNING);
	cr_expect(room.last.kind == COMMAND_ENDED);
	cr_expect(eq(ulong, got, 1000004));
	cr_expect(ge(ulong, answers, 6));
}

Test(helper_command, what_was_received_is_given_back_to_the_disk)
{
	struct command_request request = request_of("head -c 8388608 /dev/zero");
	struct stat st;

	cr_assert(eq(int, ask(&request), ERR_OK));
	request.from = room.last.next;
	request.text = NULL;
	request.wait_ms = 0;
	cr_expect(ne(int, ask(&request), ERR_IO));
	cr_assert(fstatat(room.scratch.fd, "staging/command-" MARKER, &st, 0) == 0);
	cr_expect(lt(long, (long)st.st_blocks * 512, 4 * 1024 * 1024));
}

Test(helper_command, a_command_that_is_stopped_before_it_starts_never_does)
{
	struct command_request request = request_of("touch ran");

	cr_assert(eq(int, helper_command_stop(&room.root, MARKER, false, NULL), ERR_OK));
	cr_assert(eq(int, ask(&request), ERR_OK));
	cr_expect(room.last.kind == COMMAND_ENDED && room.last.exit_code == 128 + SIGTERM);
	cr_expect(not(is_there("tree/ran")));
}

Test(helper_command, a_command_that_is_stopped_at_once_ends_whatever_it_ignores)
{
	struct command_request request = request_of("trap '' TERM; echo up; while :; do :; done");

	request.answer_max = 1;
	cr_assert(eq(int, ask(&request), ERR_OK));
	cr_assert(eq(int, helper_command_stop(&room.root, MARKER, true, NULL), ERR_OK));
	ask_how_it_was_stopped();
	cr_expect(room.last.kind == COMMAND_ENDED && room.last.exit_code == 128 + SIGKILL);
}

static pid_t supervisor_of(void)
{
	AUTO_CLOSE int fd = -1;

	cr_assert(eq(int, record_open(&room.root, MARKER, &fd, NULL), ERR_OK));
	return record_supervisor(fd);
}

Test(helper_command, a_killed_supervisor_is_reported)
{
	struct command_request request = request_of("echo up; read line <fifo");

	cr_assert(mkfifoat(room.scratch.fd, "tree/fifo", 0600) == 0);
	request.answer_max = 1;
	cr_assert(eq(int, ask(&request), ERR_OK));
	cr_expect(room.last.kind == COMMAND_RUNNING);
	kill(supervisor_of(), SIGKILL);
	request.text = NULL;
	request.from = room.last.next;
	cr_assert(eq(int, ask(&request), ERR_OK));
	cr_expect(room.last.kind == COMMAND_LOST);
	scratch_write_text(&room.scratch, "tree/fifo", "\n");
}

Test(helper_command, what_it_left_behind_lives_on_and_may_write)
{
	struct command_request request =
		request_of("(read line <fifo; echo more; echo more; touch wrote) & echo up");

	cr_assert(mkfifoat(room.scratch.fd, "tree/fifo", 0600) == 0);
	cr_assert(eq(int, ask(&request), ERR_OK));
	cr_expect(room.last.kind == COMMAND_ENDED && room.last.exit_code == 0);
	cr_expect(eq(str, (char *)buf_text(&room.out), "up\n"));
	scratch_write_text(&room.scratch, "tree/fifo", "\n");
	for (int i = 0; i < 60000 && !is_there("tree/wrote"); i++)
		poll(NULL, 0, 1);
	cr_expect(is_there("tree/wrote"));
}

/* Waits until the file has a line, and returns the number in it. */
static pid_t number_soon(const char *path)
{
	int number = 0;

	for (int i = 0; i < 60000 && !number; i++) {
		AUTO_FREE char *text =
			is_there(path) ? scratch_read(&room.scratch, path, NULL) : NULL;

		if (text && strchr(text, '\n'))
			number = atoi(text);
		else
			poll(NULL, 0, 1);
	}
	cr_assert(lt(int, 0, number));
	return number;
}

/* An orphan would stay a zombie until the supervisor ends, and that may never be. */
Test(helper_command, what_is_orphaned_by_what_it_left_behind_is_buried)
{
	struct command_request request = request_of(
		"(read line <begin; (sh -c 'echo $$ >orphan' &); read line <end) & echo up");
	pid_t orphan;

	/* With one pipe for both, the first line's writer could end the second read. */
	cr_assert(mkfifoat(room.scratch.fd, "tree/begin", 0600) == 0);
	cr_assert(mkfifoat(room.scratch.fd, "tree/end", 0600) == 0);
	cr_assert(eq(int, ask(&request), ERR_OK));
	cr_expect(room.last.kind == COMMAND_ENDED);
	scratch_write_text(&room.scratch, "tree/begin", "\n");
	orphan = number_soon("tree/orphan");
	for (int i = 0; i < 60000 && !kill(orphan, 0); i++)
		poll(NULL, 0, 1);
	cr_expect(ne(int, kill(orphan, 0), 0));
	scratch_write_text(&room.scratch, "tree/end", "\n");
}

static bool has_inotify(void)
{
	DIR *dir = opendir("/proc/self/fd");
	bool has = false;

	cr_assert(dir != NULL);
	for (const struct dirent *d; (d = readdir(dir));) {
		char target[64] = "";

		if (readlinkat(dirfd(dir), d->d_name, target, sizeof target - 1) > 0)
			has |= strstr(target, "inotify") != NULL;
	}
	closedir(dir);
	return has;
}

static enum err look_at_end(void *context, const struct command_piece *piece, struct error *e)
{
	bool *had_inotify = context;

	(void)e;
	if (piece->kind == COMMAND_ENDED)
		*had_inotify = has_inotify();
	return ERR_OK;
}

/* Closing an instance of inotify takes longer than a short command. */
Test(helper_command, a_short_command_is_followed_without_inotify)
{
	/* Long enough that the helper has to wait. */
	struct command_request request = request_of("sleep 0.2");
	int64_t end_ms = monotonic_ms() + 60000, took_ms;
	bool had_inotify;

	/* Where the machine pauses, a short command may take long. */
	do {
		took_ms = -monotonic_ms();
		cr_assert(eq(int,
			helper_command(&room.root, &request, &room.is_stopped, look_at_end,
				&had_inotify, NULL),
			ERR_OK));
		took_ms += monotonic_ms();
		record_remove(&room.root, MARKER);
	} while (took_ms > 500 && monotonic_ms() < end_ms);
	cr_expect(not(had_inotify));
}

/* Where this process stands still for as long as the command lasts, the command counts as short. */
Test(helper_command, a_long_command_is_followed_with_inotify)
{
	bool had_inotify = false;

	for (int seconds = 2; !had_inotify && seconds <= 32; seconds *= 2) {
		AUTO_FREE char *text = NULL;

		cr_assert(lt(int, 0, asprintf(&text, "sleep %d", seconds)));
		struct command_request request = request_of(text);

		cr_assert(eq(int,
			helper_command(&room.root, &request, &room.is_stopped, look_at_end,
				&had_inotify, NULL),
			ERR_OK));
		record_remove(&room.root, MARKER);
	}
	cr_expect(had_inotify);
}

Test(helper_command, records_are_forgotten_when_asked)
{
	static const char *const done[] = { MARKER, "../../etc/passwd", "" };
	struct command_request request = request_of("true");

	cr_assert(eq(int, ask(&request), ERR_OK));
	cr_expect(is_there("staging/command-" MARKER));
	request.marker = OTHER;
	request.forget = done;
	request.forget_count = 3;
	cr_assert(eq(int, ask(&request), ERR_OK));
	cr_expect(not(is_there("staging/command-" MARKER)));
	cr_expect(is_there("staging/command-" OTHER));
}

Test(helper_command, a_record_that_was_overwritten_is_an_error_and_no_more)
{
	struct command_request request = request_of("true");

	scratch_write_text(&room.scratch, "staging/command-" MARKER,
		"this is no record, and long enough that its entries are not what they should be: "
		"........................................");
	cr_expect(eq(int, ask(&request), ERR_IO));
}

Test(helper_command, what_cannot_be_is_refused)
{
	struct command_request request = request_of("touch ran");

	request.cwd = "absent";
	cr_assert(eq(int, ask(&request), ERR_OK));
	cr_expect(room.last.kind == COMMAND_REFUSED && room.last.err == ERR_NOT_FOUND);
	cr_expect(not(is_there("staging/command-" MARKER)));
	request.cwd = "/t";
	cr_assert(eq(int, ask(&request), ERR_OK));
	cr_expect(room.last.kind == COMMAND_REFUSED && room.last.err == ERR_INVALID);
	request.marker = "../" MARKER;
	cr_expect(eq(int, ask(&request), ERR_INVALID));
	request.marker = MARKER "/../../x";
	cr_expect(eq(int, ask(&request), ERR_INVALID));
	request.marker = MARKER;
	request.text = NULL;
	cr_expect(eq(int, ask(&request), ERR_NOT_FOUND));
}

/* ---- Costs ---- */

static struct stat record_stat(void)
{
	struct stat st;

	cr_assert(fstatat(room.scratch.fd, "staging/command-" MARKER, &st, 0) == 0);
	return st;
}

Test(helper_command, of_one_that_was_stopped_only_its_end_is_kept)
{
	struct command_request request = request_of("head -c 5000000 /dev/zero; exec sleep 1000");

	request.answer_max = 4000000;
	cr_assert(eq(int, ask(&request), ERR_OK));
	cr_assert(eq(int, helper_command_stop(&room.root, MARKER, false, NULL), ERR_OK));
	ask_how_it_was_stopped();
	request.text = "touch ran";
	request.answer_max = UINT32_MAX;
	cr_assert(eq(int, ask(&request), ERR_OK));
	cr_expect(room.last.kind == COMMAND_ENDED && room.last.exit_code == 128 + SIGTERM);
	cr_expect(eq(sz, room.out.len, 0));
	cr_expect(lt(long, (long)record_stat().st_size, 200));
	cr_expect(not(is_there("tree/ran")));
}

/* The process's anonymous memory, in KiB. */
static long private_kib(pid_t pid)
{
	char path[64], line[256];
	long kib = -1;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	f = fopen(path, "r");
	cr_assert(f != NULL);
	while (fgets(line, sizeof line, f))
		sscanf(line, "RssAnon: %ld", &kib);
	fclose(f);
	return kib;
}

Test(helper_command, its_supervisor_keeps_nothing_of_the_request)
{
	size_t len = (size_t)64 * 1024 * 1024;
	AUTO_FREE char *input = malloc(len);
	struct command_request request = request_of("cat >/dev/null; echo up; read line <fifo");

	memset(input, 'x', len);
	cr_assert(mkfifoat(room.scratch.fd, "tree/fifo", 0600) == 0);
	request.input = input;
	request.input_len = len;
	request.answer_max = 1;
	cr_assert(eq(int, ask(&request), ERR_OK));
	cr_expect(eq(str, (char *)buf_text(&room.out), "up\n"));
	cr_expect(lt(long, private_kib(supervisor_of()), private_kib(getpid()) - 60 * 1024));
	scratch_write_text(&room.scratch, "tree/fifo", "\n");
}

/* The most that a record may hold unread, and a piece or two on their way into it. */
#define HELD_MAX (66L * 1024 * 1024)

Test(helper_command, a_writer_that_nobody_reads_is_held)
{
	struct command_request request = request_of("head -c 104857600 /dev/zero; touch done");
	size_t got = 0;
	long most = 0;

	request.answer_max = 4 * 1024 * 1024;
	cr_assert(eq(int, ask(&request), ERR_OK));
	got += room.out.len;
	for (int i = 0; i < 60000 && record_stat().st_size < 64L * 1024 * 1024; i++)
		poll(NULL, 0, 1);
	cr_expect(not(is_there("tree/done")));
	for (request.text = NULL; room.last.kind == COMMAND_RUNNING; got += room.out.len) {
		long used = (long)record_stat().st_blocks * 512;

		most = used > most ? used : most;
		request.from = room.last.next;
		cr_assert(eq(int, ask(&request), ERR_OK));
	}
	cr_expect(eq(sz, got, 104857600));
	cr_expect(room.last.kind == COMMAND_ENDED && is_there("tree/done"));
	cr_expect(most > 32L * 1024 * 1024);
	cr_expect(lt(long, most, HELD_MAX));
}

/* For this process alone. False: that is not allowed. */
static bool make_null_read_only(void)
{
	char path[128];

	scratch_write_text(&room.scratch, "null", "");
	snprintf(path, sizeof path, "%s/null", room.scratch.path);
	return !unshare(CLONE_NEWNS) && !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
		!mount(path, "/dev/null", NULL, MS_BIND, NULL) &&
		!mount("none", "/dev/null", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL);
}

Test(helper_command, a_command_runs_where_nothing_can_be_thrown_away)
{
	struct command_request request = request_of("echo said; exit 3");

	if (!make_null_read_only()) {
		room_close();
		cr_skip_test("mounting needs root");
	}
	request.wait_ms = 60000;
	cr_assert(eq(int, ask(&request), ERR_OK));
	cr_expect(eq(str, (char *)buf_text(&room.out), "said\n"));
	cr_expect(room.last.kind == COMMAND_ENDED && room.last.exit_code == 3);
	umount2("/dev/null", MNT_DETACH);
}

Test(helper_command, many_run_at_once)
{
	enum { COUNT = 40 };
	char markers[COUNT][COMMAND_MARKER_LEN + 1], text[64];

	for (int i = 0; i < COUNT; i++) {
		struct command_request request = request_of(text);

		snprintf(markers[i], sizeof markers[i], "%032x", i);
		snprintf(text, sizeof text, "echo out %d; echo err >&2; exit %d", i, i);
		request.marker = markers[i];
		request.wait_ms = 0;
		cr_assert(eq(int, ask(&request), ERR_OK));
	}
	for (int i = COUNT; i--;) {
		struct command_request request = request_of(NULL);

		request.marker = markers[i];
		cr_assert(eq(int, ask(&request), ERR_OK));
		snprintf(text, sizeof text, "out %d\n", i);
		cr_expect(room.last.kind == COMMAND_ENDED && (int)room.last.exit_code == i);
		cr_expect(
			strstr(buf_text(&room.out), text) && strstr(buf_text(&room.out), "err\n"));
	}
}
