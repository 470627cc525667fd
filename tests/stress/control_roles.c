#include "tests/stress/control_roles.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 60000
#define TEXT_MAX    8192

/* Reads the contents of the file as a text; false: the file cannot be opened or read. */
static bool read_text(struct worker *w, const char *path, char text[TEXT_MAX])
{
	int fd = CALL(w, open(path, O_RDONLY | O_CLOEXEC));
	size_t len = 0;
	ssize_t got = 0;

	if (fd < 0)
		return false;
	while (len < TEXT_MAX - 1 && (got = CALL(w, read(fd, text + len, TEXT_MAX - 1 - len))) > 0)
		len += (size_t)got;
	text[len] = '\0';
	CALL(w, close(fd));
	return got >= 0;
}

/* Writes a command to an open `exec` or `spawn`, and reads the answer. */
static bool ask(struct worker *w, int fd, const char *command, char answer[TEXT_MAX])
{
	ssize_t len = (ssize_t)strlen(command), got = -1;

	if (CALL(w, write(fd, command, (size_t)len)) == len)
		got = CALL(w, read(fd, answer, TEXT_MAX - 1));
	answer[got < 0 ? 0 : got] = '\0';
	return got >= 0;
}

static bool ask_file(
	struct shared *s, struct worker *w, const char *path, const char *command, char *answer)
{
	int fd = CALL(w, open(path, O_RDWR | O_CLOEXEC));
	bool is_answered = fd >= 0 && ask(w, fd, command, answer);

	stress_must(s, is_answered, "ask", path);
	if (fd >= 0)
		stress_must(s, !CALL(w, close(fd)), "close", path);
	return is_answered;
}

/* ---- Facts ---- */

static void facts_read(struct shared *s, struct worker *w)
{
	static const struct {
		const char *path, *begins;
	} files[] = { { CONTROL "stats", "#" }, { CONTROL "status", "{" }, { CONTROL "id", "" } };
	unsigned n = stress_chance(w) % (sizeof files / sizeof *files);
	char text[TEXT_MAX];

	if (!read_text(w, files[n].path, text))
		stress_must(s, false, "read", files[n].path);
	else if (strncmp(text, files[n].begins, strlen(files[n].begins)) || !*text)
		stress_fail(s, "%s: \"%.40s\"", files[n].path, text);
}

/* The job may be an old one, and is forgotten then. */
static void facts_read_job(struct worker *w)
{
	char text[TEXT_MAX], path[64];

	if (!read_text(w, CONTROL "spawn", text) || !*text)
		return;
	snprintf(path, sizeof path, CONTROL "jobs/%u/%s", (unsigned)atoi(text),
		stress_chance(w) % 2 ? "status" : "output");
	read_text(w, path, text);
}

static void facts_await_event(struct shared *s, struct worker *w)
{
	int fd = CALL(w, open(CONTROL "events", O_RDONLY | O_NONBLOCK | O_CLOEXEC));
	struct pollfd waiting = { .fd = fd, .events = POLLIN };
	char text[TEXT_MAX];

	stress_must(s, fd >= 0, "open", CONTROL "events");
	if (fd < 0)
		return;
	if (CALL(w, poll(&waiting, 1, (int)(stress_chance(w) % 50))) > 0)
		stress_must(s, CALL(w, read(fd, text, sizeof text)) > 0 || errno == EAGAIN, "read",
			CONTROL "events");
	CALL(w, close(fd));
}

void facts_round(struct shared *s, struct worker *w)
{
	for (int i = 0; i < 20; i++)
		facts_read(s, w);
	if (stress_chance(w) % 4 == 0)
		facts_read_job(w);
	if (stress_chance(w) % 4 == 0)
		facts_await_event(s, w);
}

/* ---- Commands ---- */

void commands_round(struct shared *s, struct worker *w)
{
	char command[64], wanted[64], answer[TEXT_MAX];

	snprintf(command, sizeof command, "echo %u-%" PRIu64, w->number, ++w->commands);
	snprintf(
		wanted, sizeof wanted, "\"stdout\": \"%u-%" PRIu64 "\\n\"", w->number, w->commands);
	if (ask_file(s, w, CONTROL "exec", command, answer) && !strstr(answer, wanted))
		stress_fail(s, "exec: \"%s\" says \"%s\"", command, answer);
}

/* ---- Jobs ---- */

static unsigned spawn(struct shared *s, struct worker *w, const char *command)
{
	char answer[TEXT_MAX];

	return ask_file(s, w, CONTROL "spawn", command, answer) ? (unsigned)atoi(answer) : 0;
}

static void job_path(char path[64], unsigned job, const char *file)
{
	snprintf(path, 64, CONTROL "jobs/%u/%s", job, file);
}

static void job_await_end(struct shared *s, struct worker *w, unsigned job)
{
	int64_t end_ms = stress_now_ms() + PATIENCE_MS;
	char path[64], text[TEXT_MAX];

	job_path(path, job, "status");
	do {
		stress_must(s, read_text(w, path, text), "read", path);
		if (strstr(text, "\"exited\""))
			return;
	} while (stress_now_ms() < end_ms);
	stress_fail(s, "%s: \"%s\"", path, text);
}

static void job_write(
	struct shared *s, struct worker *w, unsigned job, const char *file, const char *text)
{
	char path[64];

	job_path(path, job, file);
	int fd = CALL(w, open(path, O_WRONLY | O_CLOEXEC));

	stress_must(s, fd >= 0, "open", path);
	stress_must(s, CALL(w, write(fd, text, strlen(text))) > 0, "write", path);
	stress_must(s, !CALL(w, close(fd)), "close", path);
}

static void jobs_compare_output(
	struct shared *s, struct worker *w, unsigned job, const char *wanted)
{
	char path[64], text[TEXT_MAX];

	job_path(path, job, "output");
	stress_must(s, read_text(w, path, text), "read", path);
	if (strcmp(text, wanted))
		stress_fail(s, "%s: \"%s\", not \"%s\"", path, text, wanted);
}

void jobs_round(struct shared *s, struct worker *w)
{
	bool is_killed = stress_chance(w) % 4 == 0;
	char line[32];
	unsigned job = spawn(s, w, is_killed ? "exec sleep 1000" : "cat");

	if (!job)
		return;
	snprintf(line, sizeof line, "%" PRIu64 "\n", ++w->commands);
	job_write(s, w, job, is_killed ? "kill" : "stdin", is_killed ? "KILL" : line);
	job_await_end(s, w, job);
	jobs_compare_output(s, w, job, is_killed ? "" : line);
}

/* ---- Strangers ---- */

void strangers_prepare(struct shared *s)
{
	stress_must(s, !mkdir("strange", 0755), "mkdir", "strange");
}

/* Names come and go. A name may exist or not; its file must hold one number. */
static void strangers_look(struct shared *s, struct worker *w, const char *path)
{
	char text[TEXT_MAX], names[512];
	struct stat st;
	DIR *dir = CALL(w, opendir("strange"));

	stress_must(s, dir, "opendir", "strange");
	for (struct dirent *d; dir && (d = CALL(w, readdir(dir)));) {
		snprintf(names, sizeof names, "strange/%s", d->d_name);
		if (CALL(w, lstat(names, &st)))
			stress_must(s, errno == ENOENT, "stat", names);
	}
	if (dir)
		closedir(dir);
	if (read_text(w, path, text))
		for (const char *c = text; *c; c++)
			if (!strchr("0123456789\n", *c))
				stress_fail(s, "%s: \"%s\"", path, text);
}

void strangers_round(struct shared *s, struct worker *w)
{
	char command[256], path[64], text[TEXT_MAX];
	unsigned job;

	snprintf(path, sizeof path, "strange/%u", w->number);
	snprintf(command, sizeof command,
		"cd " FOLDER
		"/strange; for i in 1 2 3 4 5 6 7 8; do echo $i >%u.new; mv %u.new %u; "
		"done; rm %u",
		w->number, w->number, w->number, w->number);
	job = spawn(s, w, command);
	for (int i = 0; i < 8; i++)
		strangers_look(s, w, path);
	job_await_end(s, w, job);
	if (read_text(w, path, text))
		stress_fail(s, "%s: there after the job that removed it", path);
}

/* ---- Signals ---- */

void signals_prepare(struct shared *s)
{
	stress_must(s, !mkdir("killed", 0755), "mkdir", "killed");
}

/* System calls alone, since this runs after a fork. */
static void victim_use(const char *path, int flags, const char *text)
{
	char bytes[4096];
	int fd = open(path, flags | O_CLOEXEC, 0600);

	if (fd < 0)
		return;
	if (text && write(fd, text, strlen(text)) < 0)
		_exit(1);
	while (read(fd, bytes, sizeof bytes) > 0)
		;
	close(fd);
}

static _Noreturn void victim_run(unsigned number)
{
	char path[32];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(path, sizeof path, "killed/%u", number);
	for (;;) {
		victim_use(CONTROL "stats", O_RDONLY, NULL);
		victim_use(path, O_RDWR | O_CREAT | O_TRUNC, "text");
		victim_use(CONTROL "exec", O_RDWR, "true");
		victim_use(CONTROL "events", O_RDONLY, NULL);
	}
}

/* The moment is a random one. */
void signals_round(struct shared *s, struct worker *w)
{
	static const int signals[] = { SIGKILL, SIGTERM, SIGINT, SIGHUP };
	int number = signals[stress_chance(w) % (sizeof signals / sizeof *signals)], status;
	pid_t pid = fork();

	if (!pid)
		victim_run(w->number);
	stress_must(s, pid > 0, "fork", "a process");
	if (pid < 0)
		return;
	usleep((useconds_t)(stress_chance(w) % 100000));
	kill(pid, number);
	stress_must(s, CALL(w, waitpid(pid, &status, 0)) == pid, "wait for", "a killed process");
}
