#include "tools/daemon.h"

#include "providers/base/cleanup.h"
#include "providers/base/log.h"
#include "tools/apart.h"
#include "tools/detach.h"
#include "tools/mounted.h"
#include "tools/say.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>

/* The time that the mount may take to answer its first request once the daemon serves. */
#define ANSWER_MS 30000

/* A report of the child: small enough that the pipe carries it whole or not at all (PIPE_BUF). */
struct report {
	enum { REPORT_LINE, REPORT_FAILED, REPORT_SERVING } kind;
	enum exits status;
	char text[400];
};

enum err daemon_split(struct daemon *d, struct error *e)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return error_errno(e, errno, "pipe");
	fflush(NULL);
	d->child = fork();
	if (d->child < 0) {
		close(ends[0]);
		close(ends[1]);
		return error_errno(e, errno, "cannot start a background process");
	}
	d->fd = ends[d->child == 0];
	close(ends[d->child != 0]);
	return ERR_OK;
}

/*
 * On standard error where standard output is closed or full: the user must see the name of a
 * sandbox.
 */
static void print_line(const char *text)
{
	if (!say(stdout, "%s", text) || fflush(stdout))
		say(stderr, "%s", text);
}

/* ---- The child ---- */

/* A parent that is gone is no error: SIGPIPE is ignored (signals.h). */
static void send_report(const struct daemon *d, const struct report *report)
{
	ssize_t sent;

	do
		sent = write(d->fd, report, sizeof *report);
	while (sent < 0 && errno == EINTR);
}

void daemon_say(struct daemon *d, const char *format, ...)
{
	struct report report = { .kind = REPORT_LINE };
	va_list args;

	va_start(args, format);
	vsnprintf(report.text, sizeof report.text, format, args);
	va_end(args);
	if (d->fd >= 0)
		send_report(d, &report);
	else
		print_line(report.text);
}

void daemon_failed(struct daemon *d, const struct error *why)
{
	struct report report = { .kind = REPORT_FAILED, .status = exits_for(why->kind) };

	if (d->fd < 0) {
		say(stderr, "sandboxfs: %s", why->text);
		return;
	}
	snprintf(report.text, sizeof report.text, "%s", why->text);
	send_report(d, &report);
}

static void leave_terminal(void)
{
	AUTO_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && null >= 0; fd++)
		dup2(null, fd);
	setsid();
}

void daemon_serving(struct daemon *d)
{
	if (chdir("/"))
		log_info(LOG_TOOLS, "the working directory stays in use: %s", strerror(errno));
	if (d->fd < 0)
		return;
	leave_terminal();
	send_report(d, &(struct report){ .kind = REPORT_SERVING });
}

/* ---- The parent ---- */

static bool read_report(const struct daemon *d, struct report *out)
{
	ssize_t got;

	do
		got = read(d->fd, out, sizeof *out);
	while (got < 0 && errno == EINTR);
	if (got != sizeof *out)
		return false;
	out->text[sizeof out->text - 1] = '\0';
	return true;
}

static enum exits complain(const char *text, enum exits status)
{
	say(stderr, "sandboxfs: %s", text);
	return status;
}

static int try_mount(const void *mountpoint)
{
	struct statfs facts;
	struct stat root;

	if (statfs(mountpoint, &facts) || stat(mountpoint, &root))
		return errno;
	return facts.f_type == FUSE_SUPER_MAGIC ? 0 : ENODEV;
}

/* The daemon ended without a report: because of a bug, or because it was killed. */
static enum exits explain_death(const struct daemon *d)
{
	char text[100];
	int status;

	if (waitpid(d->child, &status, 0) == d->child && WIFSIGNALED(status))
		snprintf(text, sizeof text, "the daemon was ended by signal %d (%s)",
			WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		snprintf(text, sizeof text, "the daemon ended before the mount was there");
	return complain(text, EXITS_MOUNT);
}

/*
 * The mount of a daemon that died or hangs would make every process that looks at it fail or hang.
 */
static void clear_away(struct daemon *d, const char *mountpoint, int number)
{
	if (number == ETIMEDOUT)
		kill(d->child, SIGKILL);
	if (number == ETIMEDOUT || mounted_is_dead(number))
		detach(mountpoint, DETACH_LAZY, NULL);
}

/*
 * `number`: the errno of the mount point. The daemon may have reported an error after it began to
 * serve.
 */
static enum exits give_up(struct daemon *d, const char *mountpoint, int number)
{
	struct report report;
	char text[300];

	clear_away(d, mountpoint, number);
	if (read_report(d, &report))
		return complain(report.text, report.status);
	if (number != ETIMEDOUT)
		return explain_death(d);
	snprintf(text, sizeof text, "%s: the mount did not answer within %d s", mountpoint,
		ANSWER_MS / 1000);
	return complain(text, EXITS_MOUNT);
}

enum exits daemon_wait(struct daemon *d, const char *mountpoint)
{
	struct report report;
	bool is_serving = false;

	while (!is_serving && read_report(d, &report)) {
		if (report.kind == REPORT_FAILED)
			return complain(report.text, report.status);
		if (report.kind == REPORT_LINE)
			print_line(report.text);
		is_serving = report.kind == REPORT_SERVING;
	}

	int number = apart_run(try_mount, mountpoint, ANSWER_MS);

	return is_serving && !number ? EXITS_OK : give_up(d, mountpoint, number);
}
