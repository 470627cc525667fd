/*
 * child.h - programs that sandboxctl starts here.
 */
#pragma once

#include "tools/signals.h"

#include <stdbool.h>
#include <sys/types.h>

struct child_request {
	char *const *argv; /* ended by NULL; the program is looked for as a shell does */
	const char *dir;   /* where it runs; NULL: here */
	/* Signals of the terminal do not reach it, and it is sent TERM when sandboxctl ends, whatever ends it. */
	bool is_apart;
	mode_t file_mask; /* its umask */
	/*
	 * A descriptor that is open as long as the program lives, as its standard input: of what else
	 * it inherits, sandboxfs keeps nothing. 0 or -1: none.
	 */
	int held;
};

/*
 * It has the signals as whoever started sandboxctl has them. A program that is not there ends with 127, one that cannot be
 * run with 126, with a message.
 */
enum err child_start(const struct child_request *r, pid_t *out, struct error *e);

/*
 * Waits until it has ended; *status as of waitpid(2). Signals that `s` takes meanwhile are passed on to it, except what the
 * terminal sends to both. After TERM or HUP it has ten seconds to end.
 */
void child_wait(pid_t pid, const struct signals *s, int *status);

/* As a shell tells a status: 128 and the signal's number where one ended it. */
int child_exit_code(int status);
