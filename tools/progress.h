/*
 * progress.h - progress on a terminal: a bar, the rate, and the time left. Prints nothing
 * elsewhere.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The longest line, and the NUL. */
#define PROGRESS_LINE_SIZE 80

struct progress_bar {
	const char *what;         /* "push" */
	bool is_shown;            /* standard error is a terminal */
	int64_t began_ms;         /* monotonic, as shown_ms */
	_Atomic int64_t shown_ms; /* 0: no line is shown */
};

void progress_begin(struct progress_bar *p, const char *what);
/*
 * Updates the line some times a second, however often it is called. May be called from any thread.
 */
void progress_tell(struct progress_bar *p, uint64_t bytes, uint64_t total);
/* Removes the line: at the end, and before other output. */
void progress_clear(struct progress_bar *p);

/* The line after `elapsed_ms`: "push [####      ]  40 %  4.0 MB of 10.0 MB  2.0 MB/s  3 s left". */
void progress_line(const char *what, uint64_t bytes, uint64_t total, int64_t elapsed_ms,
	char out[PROGRESS_LINE_SIZE]);
