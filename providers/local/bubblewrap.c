/*
 * How a command is run:
 *
 *      we ── bwrap (our child) ── bwrap (process 1 of the jail) ── /bin/sh PROLOGUE
 *
 * The shell of the prologue becomes the command. bwrap's options travel in a file (JAIL_ARGS), and
 * its own environment is empty, because the jail's processes can read both in /proc/1. The prologue
 * reports on JAIL_REPORT that the jail stands and the command begins: standard error before that is
 * an error of bwrap. Standard input is a file in memory, so no thread has to write it. When our
 * child ends, so does process 1 (--die-with-parent), and then the kernel ends every process of the
 * jail. While the jail is being made process 1 has not asked for that yet, so process 1 is killed
 * before our child.
 *
 * Limits: process 1 waits (JAIL_GATE) until it is in the cgroup, where there is one. Otherwise the
 * prologue sets rlimits. The kernel counts no processes of root's, so those are counted here, while
 * the command runs.
 */
#include "providers/local/bubblewrap.h"

#include "providers/base/cleanup.h"
#include "providers/helper/descendants.h"
#include "providers/local/jail_options.h"
#include "providers/local/nat.h"
#include "providers/spawn.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* The time from TERM to KILL, for a command to tidy up: provider.h. */
#define TERM_GRACE_MS 5000
/*
 * bwrap reports process 1 within milliseconds after its start, on a busy machine within seconds;
 * after this time bwrap is killed without the report.
 */
#define TELL_MS 10000
/* The interval of counting processes: a fork bomb has some thousand by then. */
#define COUNT_MS 50
/* An error of bwrap while it makes the jail is a line or two. */
#define COMPLAINT_MAX 4096
/* Linux's MAX_ARG_STRLEN: one argument of execve(2) with its NUL. */
#define ARGUMENT_MAX (32 * 4096)
/* The file in the jail with the text of a longer command. */
#define LONG_COMMAND "/run/sandboxfs/command"

/*
 * $1 is the directory, $2 the limit of a process in KiB, $3 the limit of processes (0: none); the
 * rest is for /bin/sh. Our own umask is 0, as a mount needs. A lower limit stays. The option is
 * ulimit -u in bash, -p in dash and busybox.
 */
static const char prologue[] = "umask 022; cd \"$1\" 2>/dev/null || { echo d >&5; exit 1; }; "
			       "[ \"$2\" = 0 ] || ulimit -v \"$2\" 2>/dev/null; "
			       "[ \"$3\" = 0 ] || ulimit -u \"$3\" 2>/dev/null || "
			       "ulimit -p \"$3\" 2>/dev/null; "
			       "shift 3; unset OLDPWD; echo s >&5; exec 5>&-; exec /bin/sh \"$@\"";
_Static_assert(JAIL_REPORT == 5, "the prologue names it");
enum report { REPORT_NO_DIRECTORY = 'd', REPORT_STARTED = 's' };

/* The settings that forbid namespaces, and the commands that allow them. */
static const struct {
	const char *setting;
	char forbids;
	const char *way_out;
} namespace_settings[] = {
	{ "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", '1',
		"give bwrap an AppArmor profile that allows userns, or run: "
		"sysctl kernel.apparmor_restrict_unprivileged_userns=0" },
	{ "/proc/sys/kernel/unprivileged_userns_clone", '0',
		"run: sysctl kernel.unprivileged_userns_clone=1" },
	{ "/proc/sys/user/max_user_namespaces", '0', "run: sysctl user.max_user_namespaces=10000" },
};

/* ---- Starting a command ---- */

struct run {
	pid_t pid; /* bwrap; 0 after waitpid(2) */
	int pid_fd;
	/*
	 * Process 1 of the jail as numbered here, which leads the session of the command; 0: not
	 * known yet.
	 */
	pid_t session;
	int out, err, info, report; /* our ends of the pipes; -1: ended */
	int gate;                   /* process 1 goes on when this is closed */
	struct nat nat;
	int64_t pids_max; /* counted by this thread; 0: no count */
	bool has_started, no_directory, timed_out, had_too_many;
	bool goes_before; /* this thread has a raised priority, and had `niceness` */
	int niceness;
	/* monotonic clock, -1: none; while the command is stopped the time of the next step */
	int64_t deadline_ms;
	struct buf complaint; /* output of bwrap before the command started */
};

/* `ours` never blocks; `theirs` is an ordinary pipe. */
static enum err pipe_from_jail(int *ours, int *theirs, struct error *e)
{
	enum err kind = spawn_pipe(ours, theirs, "a command", e);

	if (!kind && fcntl(*ours, F_SETFL, O_NONBLOCK))
		return error_errno(e, errno, "pipe for a command");
	return kind;
}

static enum err open_input(const struct execute_request *request, int *out, struct error *e)
{
	if (request->input)
		return spawn_memory(request->input, request->input_len, "input", out, e);
	*out = spawn_fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
	return *out < 0 ? error_errno(e, errno, "/dev/null") : ERR_OK;
}

static enum err open_options(const struct jail *jail, const struct execute_request *request,
	bool is_long, int fds[JAIL_FDS], struct error *e)
{
	const char *const own[] = { "--die-with-parent", "--info-fd", "4", "--block-fd", "7",
		is_long ? "--ro-bind-data" : NULL, "9", LONG_COMMAND, NULL };

	return jail_options_open(jail, own, request->env, fds, e);
}
_Static_assert(JAIL_INFO == 4 && JAIL_GATE == 7 && JAIL_TEXT == 9, "open_options() names them");

static enum err start_bwrap(struct run *run, const struct jail *jail,
	const struct execute_request *request, const char *cwd, const int fds[JAIL_FDS],
	struct error *e)
{
	bool is_long = fds[JAIL_TEXT] >= 0;
	char kib[24], pids[24];
	const char *argv[] = { "bwrap", "--args", "3", "--", "/bin/sh", "-c", prologue, "sh", cwd,
		kib, pids, is_long ? LONG_COMMAND : "-c", is_long ? NULL : request->command, NULL };
	enum err kind;

	snprintf(kib, sizeof kib, "%" PRId64, jail->memory_mb << 10);
	snprintf(pids, sizeof pids, "%" PRId64, jail->pids);
	kind = jail_start(&run->pid, argv, fds, is_long ? JAIL_FDS : JAIL_TEXT, e);
	if (kind)
		return kind;
	run->pid_fd = (int)syscall(SYS_pidfd_open, run->pid, 0);
	return run->pid_fd < 0 ? error_errno(e, errno, "pidfd_open") : ERR_OK;
}
_Static_assert(JAIL_ARGS == 3, "start_bwrap() names it");

static enum err run_start(struct run *run, const struct jail *jail,
	const struct execute_request *request, const char *cwd, struct error *e)
{
	bool is_long = strlen(request->command) >= ARGUMENT_MAX;
	int fds[JAIL_FDS] = JAIL_FDS_NONE;
	enum err kind = open_input(request, &fds[JAIL_IN], e);

	if (!kind && is_long)
		kind = spawn_memory(request->command, strlen(request->command), "a command",
			&fds[JAIL_TEXT], e);
	if (!kind)
		kind = open_options(jail, request, is_long, fds, e);
	if (!kind)
		kind = pipe_from_jail(&run->out, &fds[JAIL_OUT], e);
	if (!kind)
		kind = pipe_from_jail(&run->err, &fds[JAIL_ERR], e);
	if (!kind)
		kind = pipe_from_jail(&run->info, &fds[JAIL_INFO], e);
	if (!kind)
		kind = pipe_from_jail(&run->report, &fds[JAIL_REPORT], e);
	if (!kind)
		kind = spawn_pipe(&fds[JAIL_GATE], &run->gate, "a command", e);
	if (!kind)
		kind = start_bwrap(run, jail, request, cwd, fds, e);
	for (int i = 0; i < JAIL_FDS; i++)
		cleanup_close(&fds[i]);
	return kind;
}

/* Reads the report of the prologue so far. */
static void read_report(struct run *run)
{
	char mark;

	while (run->report >= 0 && read(run->report, &mark, 1) == 1) {
		run->has_started |= mark == REPORT_STARTED;
		run->no_directory |= mark == REPORT_NO_DIRECTORY;
	}
}

/* ---- Stopping a command ---- */

static void read_info(struct run *run)
{
	char info[1024];
	ssize_t len = run->session ? 0 : read(run->info, info, sizeof info - 1);
	const char *number;

	if (len <= 0)
		return;
	info[len] = 0;
	number = strstr(info, "\"child-pid\":");
	if (number)
		run->session = (pid_t)strtol(number + strlen("\"child-pid\":"), NULL, 10);
}

/* An ended bwrap may have waited for process 1, whose number may be in use again. */
static bool has_ended(const struct run *run)
{
	struct pollfd ended = { .fd = run->pid_fd, .events = POLLIN };

	return poll(&ended, 1, 0) > 0;
}

/* ---- Bounds ---- */

/* Waits until bwrap has reported process 1, which goes on after the report, or has ended. */
static void await_info(struct run *run)
{
	struct pollfd polled[] = { { .fd = run->info, .events = POLLIN },
		{ .fd = run->pid_fd, .events = POLLIN } };
	int64_t until_ms = monotonic_ms() + TELL_MS, left_ms = TELL_MS;

	while (left_ms > 0 && poll(polled, 2, (int)left_ms) < 0 && errno == EINTR)
		left_ms = until_ms - monotonic_ms();
	read_info(run);
}

/*
 * Raises this thread's priority: a fork bomb leaves little time to others, and the count must not
 * wait for it.
 */
static void go_before(struct run *run)
{
	errno = 0;
	run->niceness = getpriority(PRIO_PROCESS, 0);
	run->goes_before = !errno && !setpriority(PRIO_PROCESS, 0, -20);
}

/* Puts process 1, and with it each process that it starts, into the cgroup and the network. */
static enum err bound(
	struct run *run, const struct jail *jail, const struct call *call, struct error *e)
{
	enum err kind = ERR_OK;

	await_info(run);
	/* Without a process 1 bwrap has written an error. */
	if (run->session <= 1)
		return has_ended(run)
			? ERR_OK
			: error_set(e, ERR_TIMEOUT, "the command could not be bounded");
	if (jail->cgroup)
		kind = cgroup_admit(jail->cgroup, run->session, e);
	if (!kind && jail->network == NETWORK_NAT)
		kind = nat_start(&run->nat, run->session, call, e);
	return kind;
}

static enum err open_gate(
	struct run *run, const struct jail *jail, const struct call *call, struct error *e)
{
	enum err kind = ERR_OK;

	if (jail->cgroup || jail->network == NETWORK_NAT)
		kind = bound(run, jail, call, e);
	if (run->pids_max)
		go_before(run);
	if (!kind)
		close(take_fd(&run->gate));
	return kind;
}

static int64_t count_processes(const struct run *run)
{
	char proc[64];
	int64_t count = 0;
	DIR *dir;

	snprintf(proc, sizeof proc, "/proc/%d/root/proc", (int)run->session);
	dir = opendir(proc);
	if (!dir)
		return 0;
	for (const struct dirent *d; (d = readdir(dir));)
		count += d->d_name[0] >= '1' && d->d_name[0] <= '9';
	closedir(dir);
	return count;
}

static void run_kill(struct run *run);

static void check_count(struct run *run)
{
	read_info(run);
	read_report(run);
	/* Before the command begins, the root of its session may be this machine's. */
	if (run->had_too_many || !run->has_started || run->session <= 1 ||
		count_processes(run) <= run->pids_max)
		return;
	run->had_too_many = true;
	run_kill(run);
}

static void run_kill(struct run *run)
{
	if (!run->pid)
		return;
	if (!run->session)
		await_info(run);
	if (run->session > 1 && !has_ended(run))
		kill(run->session, SIGKILL);
	kill(run->pid, SIGKILL);
}

/* The first call sends TERM to all processes of the jail, the next one KILL. */
static void run_stop(struct run *run)
{
	bool is_first = !run->timed_out;

	read_report(run);
	read_info(run);
	run->timed_out = true;
	run->deadline_ms = -1;
	if (!is_first || !run->has_started || run->session <= 1) {
		run_kill(run);
		return;
	}
	run->deadline_ms = monotonic_ms() + TERM_GRACE_MS;
	descendants_signal(run->session, SIGTERM);
}

/* Waits for bwrap, which has ended or was killed, and gives its status of waitpid(2). */
static int run_reap(struct run *run)
{
	int status = 0;

	while (run->pid && waitpid(run->pid, &status, 0) < 0 && errno == EINTR)
		;
	run->pid = 0;
	return status;
}

static void run_release(struct run *run)
{
	run_kill(run);
	run_reap(run);
	cleanup_close(&run->pid_fd);
	cleanup_close(&run->out);
	cleanup_close(&run->err);
	cleanup_close(&run->info);
	cleanup_close(&run->report);
	cleanup_close(&run->gate);
	nat_stop(&run->nat);
	if (run->goes_before)
		setpriority(PRIO_PROCESS, 0, run->niceness);
	buf_release(&run->complaint);
}
#define AUTO_RUN __attribute__((cleanup(run_release)))

/* ---- Reading output ---- */

/* Delivers one piece of a stream. `*fd` becomes -1 at the end; `*got`: whether there was output. */
static enum err read_stream(struct run *run, int *fd, enum stream stream, execute_sink sink,
	void *context, bool *got, struct error *e)
{
	char piece[65536];
	ssize_t len = *fd < 0 ? -1 : read(*fd, piece, sizeof piece);

	*got = len > 0;
	if (!len) {
		close(*fd);
		*fd = -1;
	}
	if (len <= 0)
		return ERR_OK;
	/* The report precedes any output of the command. */
	if (!run->has_started)
		read_report(run);
	if (run->has_started)
		return sink(context, stream, piece, (size_t)len, e);
	if (stream == STREAM_ERR)
		buf_add(&run->complaint, piece, (size_t)len);
	return ERR_OK;
}

/* Delivers the rest in the pipes after all writers are gone. */
static enum err drain(struct run *run, execute_sink sink, void *context, struct error *e)
{
	bool more_out = true, more_err = true;
	enum err kind = ERR_OK;

	while (!kind && (more_out || more_err)) {
		kind = read_stream(run, &run->out, STREAM_OUT, sink, context, &more_out, e);
		if (!kind)
			kind = read_stream(run, &run->err, STREAM_ERR, sink, context, &more_err, e);
	}
	return kind;
}

static int until_deadline(const struct run *run)
{
	int64_t left_ms = run->deadline_ms - monotonic_ms();
	int64_t most_ms = run->pids_max ? COUNT_MS : 3600000;

	if (run->deadline_ms < 0)
		return run->pids_max ? COUNT_MS : -1;
	return left_ms < 0 ? 0 : (int)(left_ms > most_ms ? most_ms : left_ms);
}

static bool is_due(const struct run *run)
{
	return run->deadline_ms >= 0 && monotonic_ms() >= run->deadline_ms;
}

/*
 * From the start to the end of bwrap: delivers output and keeps deadlines. A command that ended
 * while the sink was at work was in time.
 */
static enum err run_listen(
	struct run *run, const struct call *call, execute_sink sink, void *context, struct error *e)
{
	for (;;) {
		struct pollfd polled[] = { { .fd = run->out, .events = POLLIN },
			{ .fd = run->err, .events = POLLIN },
			{ .fd = run->pid_fd, .events = POLLIN },
			{ .fd = call && call->cancel ? call->cancel->fd : -1, .events = POLLIN } };
		bool got;
		enum err kind = ERR_OK;

		if (poll(polled, 4, until_deadline(run)) < 0 && errno != EINTR)
			return error_errno(e, errno, "poll");
		if (polled[3].revents)
			return error_set(e, ERR_INTERRUPTED, "the command was interrupted");
		if (polled[0].revents)
			kind = read_stream(run, &run->out, STREAM_OUT, sink, context, &got, e);
		if (!kind && polled[1].revents)
			kind = read_stream(run, &run->err, STREAM_ERR, sink, context, &got, e);
		if (kind)
			return kind;
		if (run->pids_max)
			check_count(run);
		if (polled[2].revents)
			return drain(run, sink, context, e);
		if (is_due(run) && !has_ended(run))
			run_stop(run);
	}
}

/* ---- The result ---- */

static enum err namespaces_forbidden(const char *complaint, struct error *e)
{
	const char *way_out = "in a container, the container must allow user namespaces";

	for (size_t i = 0; i < sizeof namespace_settings / sizeof *namespace_settings; i++) {
		AUTO_CLOSE int fd = open(namespace_settings[i].setting, O_RDONLY | O_CLOEXEC);
		char value = 0;

		if (fd >= 0 && read(fd, &value, 1) == 1 && value == namespace_settings[i].forbids) {
			way_out = namespace_settings[i].way_out;
			break;
		}
	}
	return error_set(e, ERR_UNSUPPORTED,
		"this system does not let bubblewrap make namespaces; %s (%s)", way_out, complaint);
}

/*
 * Errors of bwrap 0.8 and 0.9: "bwrap: No permissions to create new namespace, likely because the
 * kernel does not allow non-privileged user namespaces. ...", "bwrap: Creating new namespace
 * failed: Operation not permitted" and, under Ubuntu's AppArmor, "bwrap: setting up uid map:
 * Permission denied".
 */
static enum err not_started(struct run *run, const char *cwd, struct error *e)
{
	const char *complaint = buf_text(&run->complaint);

	if (run->no_directory)
		return error_set(e, ERR_NOT_FOUND, "%s: no such directory to run in", cwd);
	if (strstr(complaint, "namespace") || strstr(complaint, "uid map"))
		return namespaces_forbidden(complaint, e);
	return error_set(e, ERR_IO, "bubblewrap could not start the command: %s",
		*complaint ? complaint : "it says nothing");
}

static enum err run_result(
	struct run *run, const char *cwd, struct execute_result *result, struct error *e)
{
	int status = run_reap(run);

	if (run->had_too_many) {
		result->has_exit_code = true;
		result->exit_code = 128 + SIGKILL;
		return ERR_OK;
	}
	result->timed_out = run->timed_out;
	if (run->timed_out) {
		result->has_exit_code = true;
		result->exit_code = 124;
		return ERR_OK;
	}
	if (!run->has_started)
		return not_started(run, cwd, e);
	/*
	 * bwrap returns the command's status, 128 + N for a signal. A signal that ended bwrap
	 * itself says nothing about the command.
	 */
	result->has_exit_code = WIFEXITED(status);
	result->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
	return ERR_OK;
}

static enum err explain_count(
	const struct run *run, execute_sink sink, void *context, struct error *e)
{
	char text[100];
	int len = snprintf(text, sizeof text,
		"sandboxfs: more than %" PRId64 " processes: the command was ended\n",
		run->pids_max);

	return sink(context, STREAM_ERR, text, (size_t)len, e);
}

enum err bubblewrap_run(const struct jail *jail, const struct call *call,
	const struct execute_request *request, const char *cwd, execute_sink sink, void *context,
	struct execute_result *result, struct error *e)
{
	AUTO_RUN struct run run = { .pid_fd = -1,
		.out = -1,
		.err = -1,
		.info = -1,
		.report = -1,
		.gate = -1,
		.nat = NAT_NONE,
		.pids_max = geteuid() ? 0 : jail->pids,
		.deadline_ms = request->timeout_ms ? monotonic_ms() + request->timeout_ms : -1,
		.complaint = BUF_INIT(COMPLAINT_MAX) };
	enum err kind;

	*result = (struct execute_result){ 0 };
	if (call && call->cancel && cancel_thrown(call->cancel))
		return error_set(e, ERR_INTERRUPTED, "the command was interrupted");
	kind = run_start(&run, jail, request, cwd, e);
	if (kind)
		return kind;
	kind = open_gate(&run, jail, call, e);
	if (!kind)
		kind = run_listen(&run, call, sink, context, e);
	if (!kind && run.had_too_many)
		kind = explain_count(&run, sink, context, e);
	read_report(&run);
	result->may_have_run = run.has_started;
	return kind ? kind : run_result(&run, cwd, result, e);
}
