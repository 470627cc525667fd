/*
 * audit.h - a record of the changes and commands that a mount was asked for: one line of JSON each,
 * in a file of this machine.
 *
 *	{"time": "2026-11-27T04:40:01.123Z", "op": "rename", "path": "a", "to": "b",
 *	 "pid": 12, "uid": 1000}
 *
 * A record has names, numbers of bytes, commands and how they ended, the time, and the process that
 * asked. It has no contents and no environment. Requests that failed have no record, except
 * commands. Names are paths below the shown directory; bytes that are not UTF-8 are written as
 * U+FFFD.
 *
 * A thread of its own writes, so a full or stalled disk blocks no request. Records that find no
 * room are counted, and the next line that is written has their number: {"time", "op": "lost",
 * "count"}.
 *
 * Functions may be called from any thread. NULL is allowed for `struct audit *`: no record is kept.
 */
#pragma once

#include "providers/base/buf.h"

#include <sys/types.h>

struct audit;

/* The process that asked, as the kernel here numbers it; pid 0: no particular process. */
struct audit_who {
	pid_t pid;
	uid_t uid;
};

/*
 * Opens `path` for appending; a missing file is made with mode 0600. ERR_*: errno's. Starts a
 * thread.
 */
enum err audit_new(struct audit **out, const char *path, struct error *e);
/* Writes the records that are queued, and ends the thread. */
void audit_free(struct audit *a);

/* Another file has that name by now (logrotate): the next record goes there. */
void audit_reopen(struct audit *a);

/* `to` may be NULL. */
void audit_change(struct audit *a, const struct audit_who *who, const char *op, const char *path,
	const char *to);
/* `bytes` were written to a file, which `file` identifies; its path is given when it is closed. */
void audit_wrote(struct audit *a, const struct audit_who *who, const void *file, uint64_t bytes);
/*
 * A handle for writing was closed: the bytes written since the last close are one record. `path`
 * NULL: the file has no name.
 */
void audit_closed(struct audit *a, const void *file, const char *path);
/* Whether a close of `file` would make a record. */
bool audit_has_written(struct audit *a, const void *file);

struct audit_end {
	bool has_exit_code;
	int exit_code;
	bool timed_out;
	const char *error; /* why the command did not run; NULL: it ran */
	int64_t duration_ms;
};

/* A command of .sandbox/exec has ended. */
void audit_command(struct audit *a, const struct audit_who *who, const char *command,
	const struct audit_end *end);
/* A job begins; a job has ended, as was noticed now. */
void audit_job(struct audit *a, const struct audit_who *who, uint64_t id, const char *command);
void audit_job_ended(struct audit *a, uint64_t id, bool has_exit_code, int exit_code);
