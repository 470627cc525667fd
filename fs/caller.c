#include "fs/caller.h"

#include "providers/base/cleanup.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What follows the line's name, "Tgid:"; NULL: there is no such line. */
static const char *field(const char *status, const char *name)
{
	size_t len = strlen(name);

	for (const char *line = status; line; line = strchr(line, '\n')) {
		if (*line == '\n')
			line++;
		if (strncmp(line, name, len) == 0)
			return line + len;
	}
	return NULL;
}

static bool parse_number(const char *status, const char *name, int base, uint64_t *out)
{
	const char *text = field(status, name);
	char *end;

	if (!text)
		return false;
	errno = 0;
	*out = strtoull(text, &end, base);
	return !errno && end != text && *end == '\n';
}

bool caller_parse(const char *status, struct caller *out)
{
	uint64_t process, of_thread, of_process, blocked;

	if (!parse_number(status, "Tgid:", 10, &process) ||
		!parse_number(status, "SigPnd:", 16, &of_thread) ||
		!parse_number(status, "ShdPnd:", 16, &of_process) ||
		!parse_number(status, "SigBlk:", 16, &blocked))
		return false;
	*out = (struct caller){
		.process = (pid_t)process,
		.pending = (of_thread | of_process) & ~blocked,
	};
	return true;
}

static uint64_t bit(int signal_number)
{
	return UINT64_C(1) << (signal_number - 1);
}

/* A signal that ends the process by default shows as KILL: the kernel has then begun to end it. */
bool caller_is_stopped(const struct caller *caller)
{
	return caller->pending &
		(bit(SIGINT) | bit(SIGTERM) | bit(SIGHUP) | bit(SIGQUIT) | bit(SIGKILL));
}

static bool caller_read(pid_t thread, struct caller *out)
{
	char path[64], status[8192];
	AUTO_CLOSE int fd = -1;
	ssize_t len;

	if (thread <= 0)
		return false;
	snprintf(path, sizeof path, "/proc/%d/status", (int)thread);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, status, sizeof status - 1);
	if (len <= 0)
		return false;
	status[len] = 0;
	return caller_parse(status, out);
}

pid_t caller_process(pid_t thread)
{
	struct caller caller;

	return caller_read(thread, &caller) ? caller.process : thread;
}

bool caller_gives_up(pid_t thread)
{
	struct caller caller;

	return caller_read(thread, &caller) && caller_is_stopped(&caller);
}

bool caller_is_dying(pid_t thread)
{
	struct caller caller;

	return caller_read(thread, &caller) && caller.pending & bit(SIGKILL);
}
