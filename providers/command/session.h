/*
 * session.h - a program of this machine that reaches a sandbox: started, spoken with by its standard input and output, and
 * ended.
 *
 * What it is to run there is a shell that reads its commands from its input (session_open()). So neither the words of the
 * program nor a login shell of any kind ever has anything of ours to quote. The first line tells the shell to print a mark
 * that nobody else prints. What comes before the mark is the talk of start-up files, and skipped; nothing else is sent
 * before it, since a shell may read more of its input than it needs.
 */
#pragma once

#include "providers/base/buf.h"
#include "providers/base/call.h"
#include "providers/command/words.h"

#include <sys/types.h>

/* Of what it says on its standard error, and before the mark: the last bytes. */
#define SESSION_SAID_MAX 2000

enum session_flags {
	SESSION_APART = 1, /* from a terminal: nobody is asked, and no key ends it */
	SESSION_KEPT = 2,  /* what it says on standard error is kept until it ends, not read */
};

struct session {
	pid_t pid; /* 0: none, or it was waited for */
	int fd;    /* its input and output, which never blocks; -1: closed */
	int err;   /* its standard error: a pipe, or, SESSION_KEPT, a file in memory; -1: ended */
	bool is_kept;
	struct buf said;  /* on standard error */
	struct buf noise; /* before the mark */
};

#define SESSION_NONE                                                                               \
	{                                                                                          \
		.fd = -1, .err = -1, .said = BUF_INIT(2 * SESSION_SAID_MAX),                       \
		.noise = BUF_INIT(2 * SESSION_SAID_MAX)                                            \
	}
#define AUTO_SESSION __attribute__((cleanup(session_release)))

/* Takes either output as it comes; anything but ERR_OK ends the reading. */
typedef enum err (*session_sink)(
	void *context, bool is_error, const void *bytes, size_t len, struct error *e);

/* ERR_NOT_FOUND: there is no such program here. */
enum err session_start(
	struct session *s, const struct words *words, unsigned flags, struct error *e);

/*
 * Has the shell at its other end read `text`, a line, and returns when that begins. ERR_UNREACHABLE: the program ended
 * before; session_words() then has why.
 */
enum err session_open(
	struct session *s, const struct call *call, const struct buf *text, struct error *e);

/* Sends it all; with what it says meanwhile kept for session_words(). */
enum err session_send(
	struct session *s, const struct call *call, const void *bytes, size_t len, struct error *e);
/* No more will be sent. */
void session_send_end(struct session *s);

/* Hands both outputs on until they end, and waits for the program; *exit_code is as a shell's. */
enum err session_follow(struct session *s, const struct call *call, session_sink sink,
	void *context, int *exit_code, struct error *e);

/* What the program complained of: its standard error, else what came instead of the mark; "": nothing. */
const char *session_words(struct session *s);

/* Gives away the descriptor and the process of one that goes on. */
void session_take(struct session *s, int *fd, pid_t *pid);

/* Closes its input; a program that does not end by that is ended. */
void session_release(struct session *s);
/* Waits for a process that is to end, for a while, and ends it then. */
void session_reap(pid_t pid);
