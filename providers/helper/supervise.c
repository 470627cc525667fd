/*
 * The supervisor is the subreaper of all that the command starts: what was orphaned becomes its child, so that at the
 * command's time nothing gets away. It waits for output, for signals (its own, and SIGCHLD) and for the next stage to be
 * due. The command is over when its shell is; what that left behind lives on, and its output goes nowhere from then.
 */
#include "providers/base/cleanup.h"
#include "providers/helper/record.h"
#include "providers/helper/supervise_inside.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* What may lie unread in the record before the command has to wait. */
#define UNREAD_MAX ((uint64_t)64 * 1024 * 1024)
/* Until the next look whether it was read. */
#define UNREAD_LOOK_MS 20
/* What a pipe may still hold of a shell that ended: more than Linux's default of 64 KiB. */
#define DRAIN_MAX ((size_t)1024 * 1024)
/* Of a time limit: ten years. */
#define TIMEOUT_MAX_MS ((int64_t)10 * 365 * 24 * 3600 * 1000)
/* An attach removes records that were not touched for an hour. */
#define TOUCH_MS (10 * 60 * 1000)

/* ---- What happens ---- */

static void reap(struct supervisor *v)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == v->shell) {
			v->has_ended = true;
			v->status = status;
		}
	v->is_alone = pid < 0 && errno == ECHILD;
}

static void take_signals(struct supervisor *v)
{
	struct signalfd_siginfo info;

	while (read(v->signals, &info, sizeof info) == sizeof info) {
		if (info.ssi_signo == SIGCHLD)
			reap(v);
		else
			supervisor_stop(v, info.ssi_signo == SUPERVISE_STOP_NOW);
	}
}

/* What cannot be recorded is not to be lost silently: the command ends, and so does its record, without an end. */
static void record_output(
	struct supervisor *v, enum command_kind kind, const void *bytes, size_t len)
{
	if (v->is_unwanted || v->is_broken || record_add(v->record, kind, bytes, len))
		return;
	v->is_broken = true;
	supervisor_send_term(v);
}

/* False: there is nothing, for now or for good. */
static bool take_output(struct supervisor *v, int *fd, enum command_kind kind)
{
	char piece[RECORD_PIECE_MAX];
	ssize_t len = *fd < 0 ? -1 : read(*fd, piece, sizeof piece);

	if (!len) {
		close(*fd);
		*fd = -1;
	}
	if (len <= 0)
		return false;
	record_output(v, kind, piece, (size_t)len);
	return true;
}

static void drain(struct supervisor *v, int *fd, enum command_kind kind)
{
	for (size_t left = DRAIN_MAX; left && take_output(v, fd, kind);)
		left -= left < RECORD_PIECE_MAX ? left : RECORD_PIECE_MAX;
}

static void touch(struct supervisor *v)
{
	futimens(v->record, NULL);
	v->touch_ms = monotonic_ms() + TOUCH_MS;
}

static int until_due(const struct supervisor *v, bool is_full)
{
	int64_t due_ms = v->due_ms < v->touch_ms ? v->due_ms : v->touch_ms;
	int64_t left_ms = due_ms - monotonic_ms();

	if (is_full && left_ms > UNREAD_LOOK_MS)
		left_ms = UNREAD_LOOK_MS;
	return left_ms < 0 ? 0 : (int)left_ms;
}

static void listen_once(struct supervisor *v)
{
	bool is_full = !v->is_unwanted && record_unread(v->record) > UNREAD_MAX;
	struct pollfd polled[] = { { .fd = v->signals, .events = POLLIN },
		{ .fd = is_full ? -1 : v->out, .events = POLLIN },
		{ .fd = is_full ? -1 : v->err, .events = POLLIN } };

	if (poll(polled, 3, until_due(v, is_full)) < 0)
		return;
	if (polled[1].revents)
		take_output(v, &v->out, COMMAND_OUT);
	if (polled[2].revents)
		take_output(v, &v->err, COMMAND_ERR);
	if (polled[0].revents)
		take_signals(v);
	if (v->due_ms <= monotonic_ms())
		supervisor_end_stage(v);
	if (v->touch_ms <= monotonic_ms())
		touch(v);
}

/* ---- Its life ---- */

static uint32_t exit_code(const struct supervisor *v)
{
	if (v->timed_out)
		return 124;
	if (!v->has_ended)
		return 128 + SIGKILL;
	return WIFEXITED(v->status) ? (uint32_t)WEXITSTATUS(v->status)
				    : 128 + (uint32_t)WTERMSIG(v->status);
}

/* Of one that nobody wants its end is kept, so that a start which comes late does not run it again. */
static void finish(struct supervisor *v)
{
	drain(v, &v->out, COMMAND_OUT);
	drain(v, &v->err, COMMAND_ERR);
	if (v->is_unwanted)
		record_clear(v->record);
	if (v->is_unwanted || !v->is_broken)
		record_end(v->record, exit_code(v), v->timed_out);
	close(v->record);
}

/*
 * What the command left behind is not to die of a pipe that nobody reads. Who is orphaned meanwhile becomes our child; it is
 * to leave no zombie.
 */
static void swallow(struct supervisor *v)
{
	v->is_unwanted = true;
	signal(SIGCHLD, SIG_IGN);
	reap(v);
	while (v->out >= 0 || v->err >= 0) {
		struct pollfd polled[] = { { .fd = v->out, .events = POLLIN },
			{ .fd = v->err, .events = POLLIN } };

		if (poll(polled, 2, -1) < 0)
			continue;
		if (polled[0].revents)
			take_output(v, &v->out, COMMAND_OUT);
		if (polled[1].revents)
			take_output(v, &v->err, COMMAND_ERR);
	}
}

static int64_t limit_ms(const struct command_request *request)
{
	if (!request->timeout_ms)
		return -1;
	return request->timeout_ms < TIMEOUT_MAX_MS ? (int64_t)request->timeout_ms : TIMEOUT_MAX_MS;
}

_Noreturn static void be_supervisor(const struct supervision *given)
{
	struct supervisor v;

	if (!supervisor_begin(&v, given))
		_exit(1);
	supervisor_enter_running(&v, limit_ms(given->request));
	touch(&v);
	while (!supervisor_is_over(&v))
		listen_once(&v);
	finish(&v);
	swallow(&v);
	_exit(0);
}

/* Twice, so that it is nobody's child. */
enum err supervise(const struct supervision *s, struct error *e)
{
	pid_t between = fork();

	if (between < 0)
		return error_errno(e, errno, "a process for a command");
	if (between == 0) {
		setsid();
		if (fork() == 0)
			be_supervisor(s);
		_exit(0);
	}
	while (waitpid(between, NULL, 0) < 0 && errno == EINTR)
		;
	return ERR_OK;
}
