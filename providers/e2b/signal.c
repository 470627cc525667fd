/*
 * Ends a command from outside: its processes are found by the marker in their environment, as it runs in the sandbox.
 */
#include "providers/e2b/e2b.h"
#include "providers/reaper.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

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
	const char *argv[REAPER_ARGC];
	const struct envd_command command = { .argv = argv, .cwd = "/" };
	struct envd_outcome outcome = { 0 };
	bool is_there = false;
	enum err kind;

	reaper_argv(argv, h->marker, h->signal);
	buf_reset(&h->pids);
	kind = envd_run(d, call, &command, NULL, take_pids, h, &outcome, e);
	*is_done = false;
	if (kind)
		return kind;
	/* It may have another environment by now; the daemon knows its own children, so no stranger is hit. */
	if (h->pid && !has_pid(&h->pids, h->pid))
		kind = envd_kill(d, call, h->pid, h->signal, &is_there, e);
	*h->found = h->pids.len || is_there;
	return kind;
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
