#include "providers/helper/command.h"

#include "providers/base/buf.h"
#include "providers/base/cleanup.h"
#include "providers/base/path.h"
#include "providers/helper/record.h"
#include "providers/helper/supervise.h"
#include "providers/helper/sys.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>

/* Linux's MAX_ARG_STRLEN: one argument of execve(2) with its NUL. */
#define ARGUMENT_MAX ((size_t)32 * 4096)
/* The pauses between two looks at a record: with inotify, and without it. */
#define LOOK_MS       100
#define LOOK_BLIND_MS 5
/*
 * The first looks do without inotify: the kernel takes 8 to 36 ms to close an instance, and the end
 * of a short command would wait for that. The very first looks are close together.
 */
#define BLIND_MS     1000
#define SOON_MS      20
#define LOOK_SOON_MS 1
/* A command that is being started has a supervisor within this time. */
#define STOP_WAIT_MS 5000
/* The exit code of a shell that was stopped before it ran: as of SIGTERM. */
#define STOPPED_CODE (128 + SIGTERM)

/* ---- Starting ---- */

/* Makes a file without a name, at offset 0. */
static enum err open_memory(const void *bytes, size_t len, int *out, struct error *e)
{
	AUTO_CLOSE int fd = memfd_create("command", MFD_CLOEXEC);

	if (fd < 0)
		return error_errno(e, errno, "memory for a command");
	for (size_t done = 0; done < len;) {
		ssize_t n = pwrite(fd, (const char *)bytes + done, len - done, (off_t)done);

		if (n < 0 && errno != EINTR)
			return error_errno(e, errno, "memory for a command");
		if (n > 0)
			done += (size_t)n;
	}
	*out = take_fd(&fd);
	return ERR_OK;
}

static enum err open_cwd(const struct root *r, const char *cwd, int *out, struct error *e)
{
	enum err kind = path_check(cwd, e);

	if (kind == ERR_OK)
		kind = root_check(r, e);
	if (kind != ERR_OK)
		return kind;
	if (path_is_staged(cwd))
		return error_set(e, ERR_INVALID, "'%s': commands do not run in staging", cwd);
	*out = openat(r->dir_fd, *cwd ? cwd : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (*out < 0 && (errno == ENOENT || errno == ENOTDIR))
		return error_set(e, ERR_NOT_FOUND, "%s: no such directory to run in", cwd);
	return *out < 0 ? error_errno(e, errno, "%s", cwd) : ERR_OK;
}

static enum err open_input(const struct command_request *request, int *out, struct error *e)
{
	if (request->input_len)
		return open_memory(request->input, request->input_len, out, e);
	*out = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return *out < 0 ? error_errno(e, errno, "/dev/null") : ERR_OK;
}

static enum err open_text(const char *text, int *out, struct error *e)
{
	size_t len = strlen(text);
	AUTO_BUF struct buf whole = BUF_INIT(len + sizeof SUPERVISE_TEXT_FIRST);

	if (len < ARGUMENT_MAX)
		return ERR_OK;
	buf_add_string(&whole, SUPERVISE_TEXT_FIRST);
	if (!buf_add(&whole, text, len))
		return buf_check(&whole, "a command", e);
	return open_memory(whole.bytes, whole.len, out, e);
}

static enum err start(
	const struct root *r, const struct command_request *request, int record, struct error *e)
{
	AUTO_CLOSE int cwd = -1;
	AUTO_CLOSE int input = -1;
	AUTO_CLOSE int text = -1;
	enum err kind = open_cwd(r, request->cwd, &cwd, e);

	if (kind == ERR_OK)
		kind = open_input(request, &input, e);
	if (kind == ERR_OK)
		kind = open_text(request->text, &text, e);
	if (kind != ERR_OK)
		return kind;
	return supervise(&(struct supervision){ record, cwd, input, text, request }, e);
}

static enum err say_refused(
	command_sink sink, void *context, const struct error *why, struct error *e)
{
	struct command_piece piece = { .kind = COMMAND_REFUSED, .err = why->kind };
	size_t len = strnlen(why->text, sizeof piece.why - 1);

	memcpy(piece.why, why->text, len);
	return sink(context, &piece, e);
}

/* ERR_OK: there is a record to follow, unless *is_refused. */
static enum err start_once(const struct root *r, const struct command_request *request,
	command_sink sink, void *context, bool *is_refused, struct error *e)
{
	AUTO_CLOSE int record = -1;
	struct error why = { 0 };
	bool is_ours;
	enum err kind = record_claim(r, request->marker, &record, &is_ours, e);

	if (kind != ERR_OK || !is_ours || start(r, request, record, &why) == ERR_OK)
		return kind;
	*is_refused = true;
	record_remove(r, request->marker);
	return say_refused(sink, context, &why, e);
}

/* ---- Following ---- */

struct follower {
	const struct root *root;
	const struct command_request *request;
	const atomic_bool *is_stopped;
	command_sink sink;
	void *context;
	int record, changes; /* inotify; -1: there is none */
	bool has_tried;      /* whether inotify was tried */
	int64_t begin_ms;    /* the times of this answer */
	int64_t end_ms;
	struct command_piece piece;
	size_t passed_on;
	unsigned char memory[RECORD_PIECE_MAX];
};

static bool is_answer_over(const struct follower *f)
{
	return monotonic_ms() >= f->end_ms || f->passed_on >= f->request->answer_max;
}

static int watch_changes(int record)
{
	AUTO_CLOSE int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	char path[40];

	snprintf(path, sizeof path, "/proc/self/fd/%d", record);
	if (fd < 0 || inotify_add_watch(fd, path, IN_MODIFY | IN_CLOSE_WRITE) < 0)
		return -1;
	return take_fd(&fd);
}

static int64_t look_ms(const struct follower *f, int64_t past_ms)
{
	if (f->changes >= 0)
		return LOOK_MS;
	return past_ms < SOON_MS ? LOOK_SOON_MS : LOOK_BLIND_MS;
}

static void wait_for_more(struct follower *f)
{
	int64_t now_ms = monotonic_ms(), left_ms = f->end_ms - now_ms;
	int64_t pause_ms = look_ms(f, now_ms - f->begin_ms);
	struct pollfd changed = { .fd = f->changes, .events = POLLIN };
	char events[4096];

	if (!f->has_tried && now_ms - f->begin_ms >= BLIND_MS) {
		f->has_tried = true;
		f->changes = watch_changes(f->record);
		return; /* the record may have changed just before */
	}
	left_ms = left_ms < pause_ms ? left_ms : pause_ms;
	if (poll(&changed, 1, left_ms < 0 ? 0 : (int)left_ms) > 0 &&
		read(f->changes, events, sizeof events) < 0)
		return;
}

static enum err say_state(struct follower *f, enum command_kind state, struct error *e)
{
	struct command_piece piece = { .kind = state, .next = f->piece.next };

	return f->sink(f->context, &piece, e);
}

static enum err pass_on(struct follower *f, struct error *e)
{
	int64_t more_end_ms = monotonic_ms() + f->request->more_ms;

	if (!f->passed_on && more_end_ms < f->end_ms)
		f->end_ms = more_end_ms;
	f->passed_on += f->piece.len;
	return f->sink(f->context, &f->piece, e);
}

/*
 * The lock is checked before the record is read: so the last output of a supervisor that has ended
 * is in the record.
 */
static enum err take_step(struct follower *f, bool *is_over, struct error *e)
{
	bool is_held = record_is_held(f->record), has_come;
	enum err kind = record_read(f->record, &f->piece, f->memory, &has_come, e);

	if (kind != ERR_OK)
		return kind;
	if (has_come) {
		*is_over = f->piece.kind == COMMAND_ENDED;
		if (*is_over && sys_stat(f->root->dir_fd, "", &f->piece.root))
			f->piece.root.mode = 0;
		return pass_on(f, e);
	}
	*is_over = !is_held || is_answer_over(f);
	if (*is_over)
		return say_state(f, is_held ? COMMAND_RUNNING : COMMAND_LOST, e);
	wait_for_more(f);
	return ERR_OK;
}

static enum err follow_record(struct follower *f, struct error *e)
{
	enum err kind = ERR_OK;
	bool is_over = false;

	while (kind == ERR_OK && !is_over) {
		if (atomic_load_explicit(f->is_stopped, memory_order_relaxed))
			return error_set(e, ERR_INTERRUPTED, "cancelled");
		if (f->passed_on && is_answer_over(f))
			return say_state(f, COMMAND_RUNNING, e);
		kind = take_step(f, &is_over, e);
	}
	return kind;
}

static enum err follow(const struct root *r, const struct command_request *request,
	const atomic_bool *is_stopped, command_sink sink, void *context, struct error *e)
{
	AUTO_CLOSE int record = -1;
	enum err kind = record_open(r, request->marker, &record, e);
	int64_t now_ms = monotonic_ms();
	struct follower f = { .root = r,
		.request = request,
		.is_stopped = is_stopped,
		.sink = sink,
		.context = context,
		.changes = -1,
		.begin_ms = now_ms,
		.end_ms = now_ms + request->wait_ms,
		.piece.next = request->from };

	if (kind != ERR_OK)
		return kind;
	record_acknowledge(record, request->from);
	f.record = record;
	kind = follow_record(&f, e);
	cleanup_close(&f.changes);
	return kind;
}

enum err helper_command(const struct root *r, const struct command_request *request,
	const atomic_bool *is_stopped, command_sink sink, void *context, struct error *e)
{
	bool is_refused = false;
	enum err kind = ERR_OK;

	for (size_t i = 0; i < request->forget_count; i++)
		record_remove(r, request->forget[i]);
	if (request->text)
		kind = start_once(r, request, sink, context, &is_refused, e);
	if (kind != ERR_OK || is_refused)
		return kind;
	return follow(r, request, is_stopped, sink, context, e);
}

/* ---- Ending ---- */

/* A command that was not started yet gets a record with an end. */
static enum err record_stopped(int record, struct error *e)
{
	if (record_begin(record, getpid()) && record_end(record, STOPPED_CODE, false))
		return ERR_OK;
	return error_errno(e, errno, "the record of a command");
}

static enum err try_stop(
	const struct root *r, const char *marker, bool now, bool *is_done, struct error *e)
{
	AUTO_CLOSE int record = -1;
	bool is_ours;
	enum err kind = record_claim(r, marker, &record, &is_ours, e);
	pid_t supervisor;

	*is_done = true;
	if (kind != ERR_OK)
		return kind;
	if (is_ours)
		return record_stopped(record, e);
	if (!record_is_held(record))
		return ERR_OK;
	supervisor = record_supervisor(record);
	*is_done = supervisor > 1;
	if (*is_done && kill(supervisor, now ? SUPERVISE_STOP_NOW : SUPERVISE_STOP))
		return error_errno(e, errno, "ending a command");
	return ERR_OK;
}

enum err helper_command_stop(const struct root *r, const char *marker, bool now, struct error *e)
{
	int64_t end_ms = monotonic_ms() + STOP_WAIT_MS;
	bool is_done;
	enum err kind = try_stop(r, marker, now, &is_done, e);

	while (kind == ERR_OK && !is_done) {
		if (monotonic_ms() >= end_ms)
			return error_set(e, ERR_BUSY, "a command that is being started");
		poll(NULL, 0, LOOK_BLIND_MS);
		kind = try_stop(r, marker, now, &is_done, e);
	}
	return kind;
}
