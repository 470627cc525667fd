#include "tools/ctl/guard.h"

#include "providers/base/cleanup.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * The byte that guard_end() sends, after the directory and its NUL if there is one. An end of the
 * pipe without it means that we were killed.
 */
#define LET_GO 'g'

/* ---- The guard's process ---- */

/*
 * Ctrl-C and the end of the terminal do not concern the guard, and a reader of our output must not
 * wait for it. Signals stay blocked, as in this process: only KILL ends the guard while it watches.
 */
static void stand_apart(void)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	dup2(nothing, STDIN_FILENO);
	dup2(nothing, STDOUT_FILENO);
}

/*
 * Waits for LET_GO, or for the end of the pipe: then false. The bytes before are in `dir`, which is
 * "" at first.
 */
static bool is_let_go(int end, char dir[PATH_MAX + 1])
{
	size_t len = 0;
	ssize_t got;

	while ((got = read(end, dir + len, PATH_MAX + 1 - len)) > 0 ||
		(got < 0 && errno == EINTR)) {
		len += got > 0 ? (size_t)got : 0;
		if (len && dir[len - 1] == LET_GO)
			return true;
	}
	return false;
}

/*
 * Signals that came while the guard watched are still pending, and would cancel the delete at once.
 * A later TERM may cancel it.
 */
static void forget_signals(void)
{
	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGTERM, SIG_DFL);
}

/* The delete is a new program, because after a fork only this process's forking thread exists. */
static _Noreturn void watch(int end, char *const argv[])
{
	char dir[PATH_MAX + 1] = "";

	stand_apart();
	if (is_let_go(end, dir))
		_exit(0);
	forget_signals();
	rmdir(dir);
	if (*argv)
		execv("/proc/self/exe", argv);
	_exit(*argv != NULL);
}

/* ---- The watched process ---- */

static enum err start(struct guard *g, char *const argv[], struct error *e)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return error_errno(e, errno, "a pipe");
	g->pid = fork();
	if (!g->pid) {
		close(ends[1]);
		watch(ends[0], argv);
	}
	close(ends[0]);
	g->held = ends[1];
	if (g->pid > 0)
		return ERR_OK;
	close(g->held);
	*g = (struct guard)GUARD_NONE;
	return error_errno(e, errno, "a process that deletes the sandbox when this one is killed");
}

enum err guard_start(struct guard *g, const struct target *t, struct error *e)
{
	AUTO_FREE char *source = source_text(&t->source, t->source.id);
	const char *key_file = t->config.key_file;
	const char *argv[] = { "sandboxctl", "delete", source, key_file ? "--key-file" : NULL,
		key_file, NULL };

	*g = (struct guard)GUARD_NONE;
	if (t->source.ops->caps & PROVIDER_SINGLE)
		*argv = NULL;
	if (!source)
		return error_set(e, ERR_NO_MEMORY, "%s", t->source.id);
	return start(g, (char *const *)argv, e);
}

void guard_add_dir(const struct guard *g, const char *dir)
{
	if (g->pid <= 0 || strlen(dir) >= PATH_MAX)
		return;
	while (write(g->held, dir, strlen(dir) + 1) < 0 && errno == EINTR)
		;
}

void guard_end(struct guard *g)
{
	const char byte = LET_GO;

	if (g->pid <= 0)
		return;
	while (write(g->held, &byte, 1) < 0 && errno == EINTR)
		;
	close(g->held);
	while (waitpid(g->pid, NULL, 0) < 0 && errno == EINTR)
		;
	*g = (struct guard)GUARD_NONE;
}
