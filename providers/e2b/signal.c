/*
 * Ends a command from outside: its processes are found by the marker in their environment, as it runs in the sandbox.
 */
#include "providers/e2b/e2b.h"
#include "providers/e2b/reaper.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/*
 * $1: the signal, $2: the marker, $3: how often to look, since what is killed may just have started another. Prints the
 * processes it found. Its own environment has no marker. The shell drops NULs, so tr puts line ends in their place. What
 * the command started with an environment of its own choice (env -i) or as another user (sudo) is not found.
 */
static const char signal_script[] =
	"rounds=$3\n"
	"while [ \"$rounds\" -gt 0 ]; do\n"
	"	found=\n"
	"	for file in /proc/[0-9]*/environ; do\n"
	"		case $(tr '\\0' '\\n' <\"$file\") in\n"
	"		*" MARKER_NAME "=\"$2\"*)\n"
	"			pid=${file#/proc/} pid=${pid%/environ}\n"
	"			kill -s \"$1\" \"$pid\" && echo \"$pid\" && found=yes ;;\n"
	"		esac\n"
	"	done\n"
	"	[ \"$found\" ] || break\n"
	"	rounds=$((rounds - 1))\n"
	"done 2>/dev/null\n"
	"exit 0\n";

#define KILL_ROUNDS "10"

struct hunt {
	const char *marker;
	uint32_t pid;
	int signal;
	bool *found;
	struct buf pids; /* a line each */
};

static enum err take_pids(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	struct hunt *h = context;

	(void)e;
	if (stream == STREAM_OUT)
		buf_add(&h->pids, bytes, len);
	return ERR_OK;
}

static bool has_pid(const struct buf *pids, uint32_t pid)
{
	char line[16];
	size_t len = (size_t)snprintf(line, sizeof line, "%u\n", (unsigned)pid);

	for (const char *at = buf_text(pids); (at = strstr(at, line)); at += len)
		if (at == buf_text(pids) || at[-1] == '\n')
			return true;
	return false;
}

/* A signal sent once more does no harm that the first did not. */
static enum err hunt_step(
	struct envd *d, const struct call *call, void *context, bool *is_done, struct error *e)
{
	struct hunt *h = context;
	bool is_kill = h->signal == SIGKILL;
	const char *const argv[] = { "/bin/sh", "-c", signal_script, "sh",
		is_kill ? "KILL" : "TERM", h->marker, is_kill ? KILL_ROUNDS : "1", NULL };
	const struct envd_command command = { .argv = argv, .cwd = "/" };
	struct envd_outcome outcome = { 0 };
	enum err kind;

	buf_reset(&h->pids);
	kind = envd_run(d, call, &command, NULL, take_pids, h, &outcome, e);
	*is_done = false;
	if (kind)
		return kind;
	*h->found = h->pids.len != 0;
	/* It may have another environment by now; the daemon knows its own children, so no stranger is hit. */
	if (h->pid && !has_pid(&h->pids, h->pid))
		return envd_kill(d, call, h->pid, h->signal, e);
	return ERR_OK;
}

enum err e2b_signal(void *context, const struct call *call, const char *marker, uint32_t pid,
	int signal, bool *found, struct error *e)
{
	struct hunt h = { .marker = marker,
		.pid = pid,
		.signal = signal,
		.found = found,
		.pids = BUF_INIT(256 * 1024) };
	enum err kind = e2b_reach(context, call, hunt_step, &h, e);

	buf_release(&h.pids);
	return kind;
}
