/*
 * build_log.h - a vendor's messages while it builds the image or template of a sandbox.
 */
#pragma once

/* Called by the thread that makes the sandbox. */
struct build_log {
	/* A line of the build, without its end, or the vendor's word for the build's state. */
	void (*line)(struct build_log *log, const char *text);
	/* Why a sandbox that was made does not run yet, a line: news, and no part of a log. */
	void (*state)(struct build_log *log, const char *text);
};

/* Passes on each line of `text` that is not empty. `log` NULL: the lines are dropped. */
void build_log_tell(struct build_log *log, const char *text);

/* Passes a state on. `log` NULL: it is dropped. */
void build_log_tell_state(struct build_log *log, const char *text);
