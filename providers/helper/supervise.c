/*
 * The supervisor is the subreaper of all that the command starts: what was orphaned becomes its child, so that at the
 * command's time nothing gets away. It waits for output, for signals (its own, and SIGCHLD) and for the next stage to be
 * due. The command is over when its shell is; what that left behind lives on, and its output goes nowhere from then.
 */
#include "providers/helper/supervise.h"

#include "providers/base/cleanup.h"
#include "providers/helper/descendants.h"
#include "providers/helper/record.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* Between TERM and KILL. */
#define GRACE_MS 5000
/* KILL is sent again so often, since what is killed may just have started another, and for so long. */
#define KILL_AGAIN_MS 20
#define KILL_LAST_MS  2000
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

/* Standard input, output and error, and the text of a long command. */
#define GIVEN_FDS 4

enum stage { STAGE_RUNNING, STAGE_TERM, STAGE_KILL, STAGE_OVER };

struct supervisor {
	int record, signals;
	int out, err; /* our ends; -1: closed by all who had them */
	pid_t shell;
	int status; /* of the shell, once it ended */
	bool has_ended, is_alone;
	enum stage stage;
	int64_t due_ms; /* of the stage; INT64_MAX: never */
	int64_t touch_ms, kill_until_ms;
	bool timed_out, is_unwanted, is_broken; /* nobody listens; the record cannot be written */
};

/* ---- Becoming one ---- */

static bool is_kept(const struct supervision *s, int fd)
{
	return fd < 0 || fd == s->record || fd == s->cwd || fd == s->input || fd == s->text;
}

static void close_others(const struct supervision *s)
{
	DIR *dir = opendir("/proc/self/fd");

	for (int fd = 0; !dir && fd < 1024; fd++)
		if (!is_kept(s, fd))
			close(fd);
	for (const struct dirent *d; dir && (d = readdir(dir));) {
		int fd = d->d_name[0] == '.' ? -1 : (int)strtol(d->d_name, NULL, 10);

		if (fd != dirfd(dir) && !is_kept(s, fd))
			close(fd);
	}
	if (dir)
		closedir(dir);
}

/* Those we are given stand above. */
static void open_standard(void)
{
	while (open("/dev/null", O_RDWR) < STDERR_FILENO)
		;
}

static int open_signals(void)
{
	sigset_t ours;

	sigemptyset(&ours);
	sigaddset(&ours, SIGCHLD);
	sigaddset(&ours, SUPERVISE_STOP);
	sigaddset(&ours, SUPERVISE_STOP_NOW);
	signal(SIGCHLD, SIG_DFL);
	signal(SIGXFSZ, SIG_IGN);
	sigprocmask(SIG_SETMASK, &ours, NULL);
	return signalfd(-1, &ours, SFD_NONBLOCK | SFD_CLOEXEC);
}

/* Out of the way of those that a program is given. */
static int lift_fd(int fd)
{
	return fd < 0 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, GIVEN_FDS);
}

static struct supervision lift_all(const struct supervision *s)
{
	return (struct supervision){ lift_fd(s->record), lift_fd(s->cwd), lift_fd(s->input),
		lift_fd(s->text), s->request };
}

/* ---- The command ---- */

/* A long one comes as descriptor 3 and closes that itself: the shell reads it by another of its own. */
static const char read_text[] = ". /proc/self/fd/3";

static void reset_signals(void)
{
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void set_environment(const struct command_request *request)
{
	unsetenv("OLDPWD");
	for (size_t i = 0; i < request->env_count; i++)
		putenv((char *)request->env[i]);
}

_Noreturn static void become_shell(const struct supervision *s, const int ends[2])
{
	const int fds[] = { s->input, ends[0], ends[1], s->text };

	setpgid(0, 0);
	for (int i = 0; i < 4; i++)
		if (fds[i] >= 0 && dup2(fds[i], i) < 0)
			_exit(126);
	if (fchdir(s->cwd))
		_exit(126);
	umask(022);
	set_environment(s->request);
	reset_signals();
	execl("/bin/sh", "sh", "-c", s->text < 0 ? s->request->text : read_text, (char *)NULL);
	_exit(127);
}

/* Ours never blocks; the command's is an ordinary pipe. */
static bool open_pipe(int *ours, int *theirs)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return false;
	*ours = ends[0];
	*theirs = ends[1];
	return fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
}

static bool start(struct supervisor *v, const struct supervision *s)
{
	AUTO_CLOSE int out = -1;
	AUTO_CLOSE int err = -1;

	if (!open_pipe(&v->out, &out) || !open_pipe(&v->err, &err))
		return false;
	v->shell = fork();
	if (v->shell == 0)
		become_shell(s, (const int[]){ out, err });
	return v->shell > 0;
}

/* ---- Stages ---- */

static void enter(struct supervisor *v, enum stage stage, int64_t wait_ms)
{
	v->stage = stage;
	v->due_ms = wait_ms < 0 ? INT64_MAX : monotonic_ms() + wait_ms;
}

static void send_term(struct supervisor *v)
{
	descendants_signal(SIGTERM);
	enter(v, STAGE_TERM, GRACE_MS);
}

/* Again and again, until nobody is left. */
static void send_kill(struct supervisor *v)
{
	if (v->stage != STAGE_KILL)
		v->kill_until_ms = monotonic_ms() + KILL_LAST_MS;
	descendants_signal(SIGKILL);
	if (monotonic_ms() < v->kill_until_ms)
		enter(v, STAGE_KILL, KILL_AGAIN_MS);
	else
		enter(v, STAGE_OVER, -1);
}

static void end_stage(struct supervisor *v)
{
	switch (v->stage) {
	case STAGE_RUNNING:
		v->timed_out = true;
		send_term(v);
		return;
	case STAGE_TERM:
	case STAGE_KILL: send_kill(v); return;
	case STAGE_OVER: return;
	}
}

/* A command that is being ended is over when nothing of it is left. */
static bool is_over(const struct supervisor *v)
{
	return v->stage == STAGE_OVER ||
		(v->has_ended && (v->stage == STAGE_RUNNING || v->is_alone));
}

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

static void stop(struct supervisor *v, bool now)
{
	v->is_unwanted = true;
	if (now)
		send_kill(v);
	else if (v->stage == STAGE_RUNNING)
		send_term(v);
}

static void take_signals(struct supervisor *v)
{
	struct signalfd_siginfo info;

	while (read(v->signals, &info, sizeof info) == sizeof info) {
		if (info.ssi_signo == SIGCHLD)
			reap(v);
		else
			stop(v, info.ssi_signo == SUPERVISE_STOP_NOW);
	}
}

/* What cannot be recorded is not to be lost silently: the command ends, and so does its record, without an end. */
static void record_output(
	struct supervisor *v, enum command_kind kind, const void *bytes, size_t len)
{
	if (v->is_unwanted || v->is_broken || record_add(v->record, kind, bytes, len))
		return;
	v->is_broken = true;
	send_term(v);
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
		end_stage(v);
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

static void finish(struct supervisor *v)
{
	drain(v, &v->out, COMMAND_OUT);
	drain(v, &v->err, COMMAND_ERR);
	if (!v->is_broken)
		record_end(v->record, exit_code(v), v->timed_out);
	close(v->record);
}

/* What the command left behind is not to die of a pipe that nobody reads. */
static void swallow(struct supervisor *v)
{
	v->is_unwanted = true;
	while (v->out >= 0 || v->err >= 0) {
		struct pollfd polled[] = { { .fd = v->out, .events = POLLIN },
			{ .fd = v->err, .events = POLLIN } };

		if (poll(polled, 2, -1) < 0)
			continue;
		if (polled[0].revents)
			take_output(v, &v->out, COMMAND_OUT);
		if (polled[1].revents)
			take_output(v, &v->err, COMMAND_ERR);
		reap(v);
	}
}

static int64_t limit_ms(const struct command_request *request)
{
	if (!request->timeout_ms)
		return -1;
	return request->timeout_ms < TIMEOUT_MAX_MS ? (int64_t)request->timeout_ms : TIMEOUT_MAX_MS;
}

static void close_given(const struct supervision *s)
{
	close(s->cwd);
	close(s->input);
	if (s->text >= 0)
		close(s->text);
}

_Noreturn static void be_supervisor(const struct supervision *given)
{
	const struct supervision s = lift_all(given);
	struct supervisor v = { .record = s.record, .out = -1, .err = -1 };

	close_others(&s);
	open_standard();
	v.signals = open_signals();
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (v.signals < 0 || !record_begin(v.record, getpid()) || !start(&v, &s))
		_exit(1);
	close_given(&s);
	enter(&v, STAGE_RUNNING, limit_ms(s.request));
	touch(&v);
	while (!is_over(&v))
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
