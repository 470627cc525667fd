/*
 * build_log.h - what a vendor says while it builds what a sandbox is made from.
 */
#pragma once

/* Called by the thread that makes the sandbox. */
struct build_log {
	/* A line of the build, without its end, or the vendor's word for the state that it is in. */
	void (*line)(struct build_log *log, const char *text);
};

/* Each line of `text`, but for empty ones. `log` NULL: nobody asks. */
void build_log_tell(struct build_log *log, const char *text);
