/*
 * script.h - the one script that an attach runs in the sandbox, and what it says; internal to remote*.c.
 *
 * It finds the directory to show, makes staging, looks for the helper and, where that is there, becomes it: so the helper's
 * answer follows the report in the same output. The report is one line of text, with the fields as hexadecimal digits, so
 * that any path gets through any transport. Needed: a POSIX sh, GNU or BusyBox stat, od, tr and
 * find.
 */
#pragma once

#include "providers/client/frames.h"
#include "providers/remote/remote.h"

extern const char remote_script_text[];
/* What its report begins with. */
#define REMOTE_REPORT_MARK "sandboxfs:"

/* Text that is kept of what a program writes to its standard error. */
#define REMOTE_SAID_MAX 300

struct remote_said {
	char text[REMOTE_SAID_MAX + 1];
	size_t len;
};

void remote_said_add(struct remote_said *s, const void *bytes, size_t len);
/* " (exit code 126: sh: ...)" for a sentence; the text is cut at its end of line. */
void remote_said_describe(const struct remote_said *s, int exit_code, char *out, size_t size);

/* A request to watch, which the helper answers behind its hello, for as long as the run lasts. */
struct remote_second {
	const struct buf *request; /* the payload */
	const struct listener *listener;
	/* The hello has come, and what `out` of remote_script_run() says is known. */
	void (*begins)(void *context);
	void *context;
};

struct remote_opening;

struct remote_question {
	const char *path;        /* to show; NULL: `working_dir` */
	const char *working_dir; /* as remote_attach() has it */
	const char *images;      /* "MACHINE NAME SIZE" for each that is carried */
	const char *stored;      /* an upload in staging that is to become the helper; NULL: none */
	const struct remote_second *second; /* NULL: the hello is all that is asked for */
	struct remote_opening
		*opening; /* for remote_find(): who holds the run; NULL: it ends with the hello */
};

enum remote_state {
	REMOTE_NO_IMAGE, /* none is carried for this machine */
	REMOTE_ABSENT,   /* it is not there, or not whole */
	REMOTE_NOEXEC,   /* no file may be executed, and nothing loads it into memory */
	REMOTE_BROKEN,   /* it was started and cannot run here */
	REMOTE_READY,    /* it said hello */
};

struct remote_report {
	enum remote_state state;
	char why[400]; /* of what is not REMOTE_READY, where there is something to say */
	struct buf fields;
	const char *home, *root, *staging, *machine; /* within `fields` */
	const char
		*place; /* likewise: the helper's directory; REMOTE_NOEXEC: all that were tried */
	const char *loader; /* likewise: what runs the helper from memory; "": nothing has to */
	struct hello hello; /* REMOTE_READY */
};

void remote_report_release(struct remote_report *r);
#define AUTO_REMOTE_REPORT __attribute__((cleanup(remote_report_release)))

/* One run. ERR_NOT_FOUND, ERR_NOT_DIR, ERR_DENIED: the directory to show. `out` is to be released in any case. */
enum err remote_script_run(struct remote_report *out, const struct remote_ops *ops,
	const struct remote_question *question, const struct call *call, struct error *e);
