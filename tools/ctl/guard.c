#include "tools/ctl/guard.h"

#include "providers/base/cleanup.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What guard_end() sends, behind a directory and its NUL if there is one. The end of the pipe without it: we were killed. */
#define LET_GO 'g'

/* ---- In the process of its own ---- */

/*
 * Ctrl-C and the end of the terminal are none of its business, and whoever reads our output does not wait for it. Signals
 * stay blocked, as we have them: only KILL ends it while it watches.
 */
static void stand_apart(void)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	dup2(nothing, STDIN_FILENO);
	dup2(nothing, STDOUT_FILENO);
}

/* Then, or when it knows that it never will be; what came before is in `dir`, which is "" at first. */
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

/* What came while it watched is still pending, and would cancel the delete at once. A later TERM may. */
static void forget_signals(void)
{
	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGTERM, SIG_DFL);
}

/* It is a new program, because of this one's threads only the one that forked is here. */
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

/* ---- For the one that is watched ---- */

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
