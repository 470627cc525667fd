/*
 * shell_script.h - scripts for a POSIX shell: building one, running it, and reading what it says. Internal to shell*.c.
 *
 * A script is the common functions (shell_script.c), the verb's own, and then one line for each item of the batch. Names
 * and link texts stand in it in single quotes, where only the quote itself means anything; they are never the result of
 * a command substitution, which would eat their trailing newlines. Contents travel on standard input, in order, with
 * their lengths in the script.
 *
 * What it says are messages: a record that begins with a letter, and as many more as the verb knows to follow it. A
 * record ends with NUL. Tools cannot disturb this: their standard output is the script's standard error. Before the first
 * and after the last message stands a word chosen for this run, so that a profile's greeting or a shell that dies midway
 * are noticed.
 */
#pragma once

#include "providers/base/buf.h"
#include "providers/provider.h"

struct script {
	const struct provider *provider;
	struct buf text, input;
	char word[33]; /* of this run */
};

#define AUTO_SCRIPT __attribute__((cleanup(script_release)))

/* Additions that fail are noticed by script_run(). */
void script_init(struct script *s, const struct provider *p, const char *functions);
void script_release(struct script *s);

/* ` 'argument'` */
void script_quote(struct buf *out, const char *argument);
/* The same as the definition of a variable. */
void script_define(struct script *s, const char *name, const char *value);
/* ` BASE 'directory' './name'`: the three arguments of the function `at`. */
void script_place(struct script *s, const char *path);
/* ` BASE 'directory'` for the directory `path` itself. */
void script_dir(struct script *s, const char *path);
/* ` 'device inode birth'`, '' for any. */
void script_expect(struct script *s, const struct expect *x);

/* Makes BusyBox's own tools the ones that `out` calls, where the shell is "busybox sh" or the like. */
void script_tools(struct buf *out, const struct provider *p);

struct script_reader {
	/* How many records follow this one; SIZE_MAX: it makes no sense. */
	size_t (*follow)(void *context, const char *record);
	/* One message; sets *raw to the number of plain bytes that come next. */
	enum err (*message)(
		void *context, char **records, size_t count, uint64_t *raw, struct error *e);
	/* Some of those; NULL where there are none. */
	enum err (*bytes)(void *context, const void *bytes, size_t len, struct error *e);
	void *context;
};

/* ERR_OK: it ran to its end. An error of the reader's ends it and is returned. */
enum err script_run(struct script *s, struct provider *p, const struct call *call,
	const struct script_reader *reader, struct error *e);

/* A line of the script's stat(1). */
bool script_attr(const char *line, struct attr *out);

/*
 * What a script gave as the reason of a failure, "" for none: '@' and the name of a kind, perhaps with a sentence behind a
 * space, or what a tool said, which ends in the C library's words for the errno. A tool's text never decides by what stands before that: it may hold a name.
 */
enum err script_reason(const char *text, char *why, size_t why_size);
