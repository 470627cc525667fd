/*
 * progress.h - how far something is, on a terminal: a bar, the rate, and the time that is left. On anything else: nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A line of at most so many characters, and the NUL. */
#define PROGRESS_LINE_SIZE 80

struct progress_bar {
	const char *what;        /* "push" */
	bool is_shown;           /* standard error is a terminal */
	int64_t began_ms;        /* of the monotonic clock, as is the next */
	_Atomic int64_t told_ms; /* 0: no line is there */
};

void progress_begin(struct progress_bar *p, const char *what);
/* Some times a second at most, however often it is called, and from whichever thread. */
void progress_tell(struct progress_bar *p, uint64_t bytes, uint64_t total);
/* Takes the line away: for its end, and before something else is printed. */
void progress_clear(struct progress_bar *p);

/* The line after `elapsed_ms`: "push [####      ]  40 %  4.0 MB of 10.0 MB  2.0 MB/s  3 s left". */
void progress_line(const char *what, uint64_t bytes, uint64_t total, int64_t elapsed_ms,
	char out[PROGRESS_LINE_SIZE]);
