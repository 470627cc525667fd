/*
 * session.h - a program of this machine that reaches a sandbox: its start, its standard input and
 * output, its end.
 *
 * The program runs a shell there that reads its commands from standard input (session_open()). So
 * nothing of ours has to be quoted for the program's arguments or for a login shell. The first line
 * makes the shell print a unique mark. Output before the mark comes from start-up files and is
 * skipped. Only that line is sent before the mark, since a shell may read more of its input than
 * needed.
 */
#pragma once

#include "providers/base/buf.h"
#include "providers/base/call.h"
#include "providers/command/words.h"

#include <sys/types.h>

/*
 * The size of the kept text of standard error, and of the output before the mark: the last bytes.
 */
#define SESSION_SAID_MAX 2000

enum session_flags {
	/*
	 * without a terminal: the program cannot ask, and no key ends it; it is terminated with
	 * the programs that it started
	 */
	SESSION_APART = 1,
	/* standard error is not read: the pipe keeps its first MiB or less, the rest is refused */
	SESSION_KEPT = 2,
};

struct session {
	pid_t pid; /* 0: none, or already waited for */
	int fd;    /* standard input and output, which never blocks; -1: closed */
	int err;   /* a pipe of standard error; -1: ended */
	bool is_kept, is_apart;
	struct buf said;  /* text of standard error */
	struct buf noise; /* output before the mark */
	size_t noise_len; /* bytes of both that came before the mark, or while input was sent */
	int file;         /* the program's descriptor 3, the caller's own; -1: none */
	/* The exit code where no program of this machine runs; NULL: that of `pid`. */
	enum err (*exit_of)(
		struct session *s, const struct call *call, int *exit_code, struct error *e);
	void *exit_context; /* for exit_of; outlives the session */
	char exit_id[80];   /* for exit_of */
};

#define SESSION_NONE                                                                               \
	{                                                                                          \
		.fd = -1, .err = -1, .said = BUF_INIT(2 * SESSION_SAID_MAX),                       \
		.noise = BUF_INIT(2 * SESSION_SAID_MAX), .file = -1                                \
	}
#define AUTO_SESSION __attribute__((cleanup(session_release)))

/* Receives both outputs piece by piece; any result but ERR_OK ends the reading. */
typedef enum err (*session_sink)(
	void *context, bool is_error, const void *bytes, size_t len, struct error *e);

/*
 * The descriptors of a program that is yet to be started: *in is for its input and output, *err for
 * its standard error, both the caller's. Ours are then in `s`.
 */
enum err session_pair(struct session *s, unsigned flags, int *in, int *err, struct error *e);
/* ERR_NOT_FOUND: the program is not installed here. */
enum err session_start(
	struct session *s, const struct words *words, unsigned flags, struct error *e);

/*
 * Makes the shell at the other end read `text`, a line, and returns when the line begins to run.
 * ERR_UNREACHABLE: the program ended before; session_words() then has the reason. ERR_PROTOCOL:
 * more than a MiB came in place of the line's beginning.
 */
enum err session_open(
	struct session *s, const struct call *call, const struct buf *text, struct error *e);

/* Sends all bytes. Output that arrives meanwhile is kept for session_words(). */
enum err session_send(
	struct session *s, const struct call *call, const void *bytes, size_t len, struct error *e);
/* Ends the input. */
void session_send_end(struct session *s);

/* Passes both outputs on until they end, and waits for the program; *exit_code is as a shell's. */
enum err session_follow(struct session *s, const struct call *call, session_sink sink,
	void *context, int *exit_code, struct error *e);

/* The program's error text: standard error, or else the output in place of the mark; "": none. */
const char *session_words(struct session *s);

/* Gives away the descriptor and the process, or 0, of a session that goes on. */
void session_take(struct session *s, int *fd, pid_t *pid);

/* Closes the input; a program that does not end then is terminated. */
void session_release(struct session *s);
/* Waits for a process that should end, and terminates it after a while. */
void session_reap(pid_t pid);
