/*
 * script.h - the one script that an attach runs in the sandbox, and its report; internal to
 * providers/remote.
 *
 * The script finds the directory to show, makes staging, looks for the helper and, where that is
 * there, becomes it: so the helper's answer follows the report in the same output. The report is
 * one line of text, with the fields as hexadecimal digits, so that any path gets through any
 * transport. Needed: a POSIX sh, GNU or BusyBox stat, od, tr and find.
 */
#pragma once

#include "providers/client/frames.h"
#include "providers/remote/remote.h"

extern const char remote_script_text[];
/* The prefix of the report. */
#define REMOTE_REPORT_MARK "sandboxfs:"

/* The number of bytes kept of a program's standard error. */
#define REMOTE_SAID_MAX 300

struct remote_said {
	char text[REMOTE_SAID_MAX + 1];
	size_t len;
};

void remote_said_add(struct remote_said *s, const void *bytes, size_t len);
/* " (exit code 126: sh: ...)" for a sentence; the text is cut at its first line end. */
void remote_said_describe(const struct remote_said *s, int exit_code, char *out, size_t size);

/* A request to watch, which the helper answers after its hello, for as long as the run lasts. */
struct remote_second {
	const struct buf *request; /* the payload */
	const struct listener *listener;
	/* Called after the hello, when `out` of remote_script_run() is filled in. */
	void (*begins)(void *context);
	void *context;
};

struct remote_opening;

struct remote_question {
	const char *path;        /* the directory to show; NULL: `working_dir` */
	const char *working_dir; /* as for remote_attach() */
	const char *images;      /* "MACHINE NAME SIZE" for each helper program in sandboxfs */
	const char *stored;      /* an upload in staging that becomes the helper; NULL: none */
	const struct remote_second *second; /* NULL: only the hello is asked for */
	/* for remote_find(): holds the run; NULL: the run ends with the hello */
	struct remote_opening *opening;
};

enum remote_state {
	REMOTE_NO_IMAGE, /* there is no helper program for this machine */
	REMOTE_ABSENT,   /* the helper is missing, or not whole */
	REMOTE_NOEXEC,   /* no file may be executed, and nothing loads the helper into memory */
	REMOTE_BROKEN,   /* the helper was started and cannot run here */
	REMOTE_READY,    /* the helper sent its hello */
};

struct remote_report {
	enum remote_state state;
	char why[400]; /* why the state is not REMOTE_READY, where a reason is known */
	struct buf fields;
	const char *home, *root, *staging, *machine; /* within `fields` */
	/* within `fields`: the helper's directory; REMOTE_NOEXEC: all that were tried */
	const char *place;
	/* within `fields`: the program that runs the helper from memory; "": none is needed */
	const char *loader;
	struct hello hello; /* REMOTE_READY */
};

void remote_report_release(struct remote_report *r);
#define AUTO_REMOTE_REPORT __attribute__((cleanup(remote_report_release)))

/*
 * One run. ERR_NOT_FOUND, ERR_NOT_DIR, ERR_DENIED: the directory to show. `out` must be released in
 * any case.
 */
enum err remote_script_run(struct remote_report *out, const struct remote_ops *ops,
	const struct remote_question *question, const struct call *call, struct error *e);
