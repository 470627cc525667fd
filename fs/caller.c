#include "fs/caller.h"

#include "providers/base/cleanup.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* PF_EXITING of the kernel, in the flags of /proc/PID/stat. */
#define FLAG_EXITING 0x4U

/* The text behind the line's name, as "Tgid:"; NULL: there is no such line. */
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

static uint64_t bit(int signal_number)
{
	return UINT64_C(1) << (signal_number - 1);
}

static uint64_t stopping_signals(void)
{
	return bit(SIGINT) | bit(SIGTERM) | bit(SIGHUP) | bit(SIGQUIT) | bit(SIGKILL);
}

static bool parse_status(const char *status, struct caller *out)
{
	uint64_t process, of_thread, of_process, blocked, ignored;

	if (!parse_number(status, "Tgid:", 10, &process) ||
		!parse_number(status, "SigPnd:", 16, &of_thread) ||
		!parse_number(status, "ShdPnd:", 16, &of_process) ||
		!parse_number(status, "SigBlk:", 16, &blocked) ||
		!parse_number(status, "SigIgn:", 16, &ignored))
		return false;
	out->process = (pid_t)process;
	out->pending = (of_thread | of_process) & ~blocked;
	out->process_pending = of_process & ~blocked;
	out->shielded = blocked | ignored;
	return true;
}

/*
 * The fields of proc(5) by their numbers. The second field, a program's name, may contain any
 * character.
 */
enum stat_field {
	STAT_NAME = 2,
	STAT_GROUP = 5,
	STAT_SESSION,
	STAT_TERMINAL,
	STAT_FOREGROUND, /* the group that is in the foreground of its terminal */
	STAT_FLAGS,
	STAT_EXIT_CODE = 52,
	STAT_END,
};

static bool parse_stat(const char *stat, struct caller *out)
{
	int64_t fields[STAT_END] = { 0 };
	const char *text = strrchr(stat, ')');

	for (int number = STAT_NAME; text && number < STAT_EXIT_CODE;) {
		text = strchr(text + 1, ' ');
		number++;
		if (text)
			fields[number] = strtoll(text, NULL, 10);
	}
	if (!text)
		return false;
	/*
	 * As in wait(2), without the exit status; 0 where this user may not look into the process.
	 */
	out->killed_by = (int)(fields[STAT_EXIT_CODE] & 0x7f);
	out->is_exiting = fields[STAT_FLAGS] & FLAG_EXITING;
	out->session = (pid_t)fields[STAT_SESSION];
	out->has_terminal = fields[STAT_TERMINAL];
	out->is_foreground = out->has_terminal && fields[STAT_GROUP] == fields[STAT_FOREGROUND];
	return true;
}

bool caller_parse(const char *status, const char *stat, struct caller *out)
{
	*out = (struct caller){ 0 };
	return parse_status(status, out) && parse_stat(stat, out);
}

/* A signal that ends the process by default shows as KILL: the kernel has then begun to end it. */
bool caller_is_stopped(const struct caller *caller)
{
	return caller->pending & stopping_signals();
}

static bool read_text(pid_t thread, const char *name, char *text, size_t size)
{
	char path[64];
	AUTO_CLOSE int fd = -1;
	ssize_t len;

	snprintf(path, sizeof path, "/proc/%d/%s", (int)thread, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, text, size - 1);
	text[len > 0 ? len : 0] = 0;
	return len > 0;
}

/* A daemon in a PID namespace of its own may have been left the /proc of another one. */
static bool numbers_are_ours(void)
{
	char text[24] = "";

	return readlink("/proc/self", text, sizeof text - 1) > 0 && atoi(text) == (int)getpid();
}

static bool caller_read(pid_t thread, struct caller *out)
{
	char status[8192], stat[2048];

	return thread > 0 && numbers_are_ours() &&
		read_text(thread, "status", status, sizeof status) &&
		read_text(thread, "stat", stat, sizeof stat) && caller_parse(status, stat, out);
}

pid_t caller_process(pid_t thread)
{
	struct caller caller;

	return caller_read(thread, &caller) ? caller.process : thread;
}

bool caller_is_dying(pid_t thread)
{
	struct caller caller;

	return caller_read(thread, &caller) && caller.pending & bit(SIGKILL);
}

bool caller_was_killed(pid_t thread)
{
	struct caller caller;

	return caller_read(thread, &caller) && caller.is_exiting && caller.killed_by;
}

/* ---- A caller that waits for an answer ---- */

void caller_watch_begin(struct caller_watch *w, pid_t thread)
{
	struct caller caller;

	*w = (struct caller_watch){ .thread = thread, .lost = LOST_SIGNALS_NONE };
	if (!caller_read(thread, &caller) || !caller.is_exiting)
		return;
	w->is_exiting = true;
	w->may_lose_terminal = caller.is_foreground && !(caller.shielded & bit(SIGHUP));
	lost_signals_begin(&w->lost, caller.process, stopping_signals() & ~caller.shielded);
}

void caller_watch_end(struct caller_watch *w)
{
	lost_signals_end(&w->lost);
}

/*
 * When the leader of a session ends, the kernel sends HUP to the processes in the foreground, and
 * takes the terminal from all. A process that is exiting keeps no trace of the signal, but its
 * terminal is gone.
 */
static bool has_lost_terminal(const struct caller_watch *w, const struct caller *caller)
{
	struct caller leader;

	return w->may_lose_terminal && !caller->has_terminal && caller->session > 0 &&
		(!caller_read(caller->session, &leader) || leader.is_exiting);
}

/*
 * KILL is pending for each thread of a process that exits, so only signals at the whole process
 * count.
 */
static bool exiting_gives_up(const struct caller_watch *w, const struct caller *caller)
{
	return caller->killed_by || caller->process_pending & stopping_signals() ||
		lost_signals_any(&w->lost) || has_lost_terminal(w, caller);
}

bool caller_gives_up(const struct caller_watch *w, bool is_interrupted)
{
	struct caller caller;

	if (!(w->is_exiting || is_interrupted) || !caller_read(w->thread, &caller))
		return false;
	return w->is_exiting ? exiting_gives_up(w, &caller) : caller_is_stopped(&caller);
}
