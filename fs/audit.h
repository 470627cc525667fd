/*
 * audit.h - a record of what a mount was asked to change and to run: a line of JSON each, in a file of this machine.
 *
 *	{"time": "2026-11-27T04:40:01.123Z", "op": "rename", "path": "a", "to": "b", "pid": 12, "uid": 1000}
 *
 * A record says names, numbers of bytes, commands, how they ended, when, and who asked: no contents and
 * no environment. What failed has no record, but for commands. Names are paths below the shown
 * directory; bytes that are not UTF-8 stand as U+FFFD.
 *
 * A thread of its own writes: a disk that is full or stands stops nothing. Records that find no room are
 * counted, and the next line that is written says how many were lost: {"time", "op": "lost", "count"}.
 *
 * Functions may be called from any thread; NULL for `struct audit *` is no record, and allowed.
 */
#pragma once

#include "providers/base/buf.h"

#include <sys/types.h>

struct audit;

/* Who asked, as the kernel here numbers them; pid 0: nobody in particular. */
struct audit_who {
	pid_t pid;
	uid_t uid;
};

/*
 * Opens `path` for appending, made with mode 0600 where it is missing. ERR_*: errno's. Starts a
 * thread.
 */
enum err audit_new(struct audit **out, const char *path, struct error *e);
/* Writes what waits, and ends. */
void audit_free(struct audit *a);

/* The file of that name is another one by now (logrotate): the next record goes there. */
void audit_reopen(struct audit *a);

/* `to` may be NULL. */
void audit_change(struct audit *a, const struct audit_who *who, const char *op, const char *path,
	const char *to);
/* So many bytes went into a file, which is known by `file`; its path is told when it is closed. */
void audit_wrote(struct audit *a, const struct audit_who *who, const void *file, uint64_t bytes);
/*
 * A handle for writing was closed: the bytes since the last such time are one record. NULL: it has
 * no name.
 */
void audit_closed(struct audit *a, const void *file, const char *path);
/* Whether a close of it would be a record. */
bool audit_has_written(struct audit *a, const void *file);

struct audit_end {
	bool has_exit_code;
	int exit_code;
	bool timed_out;
	const char *error; /* why it did not run; NULL */
	int64_t duration_ms;
};

/* A command of .sandbox/exec has ended. */
void audit_command(struct audit *a, const struct audit_who *who, const char *command,
	const struct audit_end *end);
/* A job begins; and has ended, as was noticed now. */
void audit_job(struct audit *a, const struct audit_who *who, uint64_t id, const char *command);
void audit_job_ended(struct audit *a, uint64_t id, bool has_exit_code, int exit_code);
