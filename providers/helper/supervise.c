/*
 * The supervisor is the subreaper of all that the command starts: orphans become its children, so
 * that every process can be ended at the command's time limit. The supervisor waits for output, for
 * signals (the requests to stop, and SIGCHLD) and for the end of the stage. The command is over
 * when its shell is; processes that outlive the shell go on, and their later output is dropped.
 */
#include "providers/base/cleanup.h"
#include "providers/helper/record.h"
#include "providers/helper/supervise_inside.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* The most unread bytes in the record; above this the command has to wait. */
#define UNREAD_MAX ((uint64_t)64 * 1024 * 1024)
/* The pause until the next check whether output was read. */
#define UNREAD_LOOK_MS 20
/* A pipe of a shell that ended may still hold so much: more than Linux's default of 64 KiB. */
#define DRAIN_MAX ((size_t)1024 * 1024)
/* The longest time limit: ten years. */
#define TIMEOUT_MAX_MS ((int64_t)10 * 365 * 24 * 3600 * 1000)
/* An attach removes records that were not touched for an hour. */
#define TOUCH_MS (10 * 60 * 1000)

/* ---- Events ---- */

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

/*
 * Output that cannot be recorded must not be lost silently: the command is ended, and the record
 * gets no end.
 */
static void record_output(
	struct supervisor *v, enum command_kind kind, const void *bytes, size_t len)
{
	if (v->is_unwanted || v->is_broken || record_add(v->record, kind, bytes, len))
		return;
	v->is_broken = true;
	supervisor_send_term(v);
}

/* False: there is no output, for now or for good. */
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

/* ---- The life of a supervisor ---- */

static uint32_t exit_code(const struct supervisor *v)
{
	if (v->timed_out)
		return 124;
	if (!v->has_ended)
		return 128 + SIGKILL;
	return WIFEXITED(v->status) ? (uint32_t)WEXITSTATUS(v->status)
				    : 128 + (uint32_t)WTERMSIG(v->status);
}

/*
 * The end of an unwanted command is recorded, so that a start that arrives late does not run the
 * command again.
 */
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
 * Reads and drops output: processes that the command left must not die of a pipe without a reader.
 * Orphans become our children and must not become zombies.
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

/* Forks twice, so that the supervisor is not our child. */
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
