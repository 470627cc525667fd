#include "providers/remote_runner.h"

#include "providers/base/base64.h"
#include "providers/base/cleanup.h"
#include "providers/remote_find.h"

#include <stdio.h>
#include <string.h>

/* ---- What to run ---- */

struct command {
	const char **argv;
	size_t argc;
	char **pieces; /* of the request, ended by NULL */
	char *path, size[24];
	struct remote_upload upload; /* path NULL: the request is in argv */
};

static void command_release(struct command *c)
{
	for (char **piece = c->pieces; piece && *piece; piece++)
		free(*piece);
	free(c->pieces);
	free(c->path);
	free(c->argv);
}
#define AUTO_COMMAND __attribute__((cleanup(command_release)))

static void add(struct command *c, const char *argument)
{
	c->argv[c->argc++] = argument;
}

/* Whole groups of base64, so that each piece can be decoded alone. */
static enum err add_pieces(
	struct command *c, const struct remote *r, const struct buf *frames, struct error *e)
{
	size_t piece_len = r->ops.argument_max / 4 * 3, count = 0;

	for (size_t at = 0; at < frames->len; at += piece_len) {
		size_t left = frames->len - at;
		AUTO_BUF struct buf text = BUF_INIT(r->ops.argument_max);

		base64_encode(&text, frames->bytes + at, left < piece_len ? left : piece_len);
		if (text.failed)
			return buf_check(&text, "a request", e);
		add(c, "-r");
		add(c, c->pieces[count++] = (char *)take(text.bytes));
	}
	return ERR_OK;
}

static enum err add_upload(
	struct command *c, const struct remote *r, const struct buf *frames, struct error *e)
{
	char name[REMOTE_NAME_SIZE];
	enum err kind = remote_new_name("request-", name, e);

	if (kind != ERR_OK)
		return kind;
	if (asprintf(&c->path, "%s/%s", r->staging, name) < 0) {
		c->path = NULL;
		return error_set(e, ERR_NO_MEMORY, "a request");
	}
	snprintf(c->size, sizeof c->size, "%zu", frames->len);
	c->upload = (struct remote_upload){ c->path, frames->bytes, frames->len };
	add(c, "-w");
	add(c, c->path);
	add(c, "-n");
	add(c, c->size);
	return ERR_OK;
}

/* HELPER once [-a] REQUEST ROOT STAGING */
static enum err command_make(
	struct command *c, const struct remote *r, const struct buf *frames, struct error *e)
{
	bool is_inline = frames->len <= r->ops.inline_max;
	size_t pieces = is_inline ? frames->len / (r->ops.argument_max / 4 * 3) + 1 : 0;
	enum err kind;

	*c = (struct command){ .argv = calloc(2 * pieces + 10, sizeof *c->argv),
		.pieces = calloc(pieces + 1, sizeof *c->pieces) };
	if (!c->argv || !c->pieces)
		return error_set(e, ERR_NO_MEMORY, "a request");
	add(c, r->helper_path);
	add(c, "once");
	if (r->ops.is_text)
		add(c, "-a");
	kind = is_inline ? add_pieces(c, r, frames, e) : add_upload(c, r, frames, e);
	add(c, r->root);
	add(c, r->staging);
	return kind;
}

/* ---- One run ---- */

struct run {
	execute_sink sink;
	void *sink_context;
	bool has_output;
	struct remote_said said;
	int exit_code;
};

static enum err take_output(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	struct run *r = context;

	if (stream == STREAM_ERR) {
		remote_said_add(&r->said, bytes, len);
		return ERR_OK;
	}
	r->has_output = r->has_output || len;
	return r->sink(r->sink_context, stream, bytes, len, e);
}

/* The helper ends what it complains of with the words for a kind. */
static enum err kind_said(const struct remote_said *said)
{
	size_t len = strcspn(said->text, "\n");

	for (unsigned kind = ERR_NOT_FOUND; error_is_kind(kind); kind++) {
		const char *words = error_words(kind);
		size_t words_len = strlen(words);

		if (len > words_len && !memcmp(said->text + len - words_len, words, words_len))
			return kind;
	}
	return ERR_IO;
}

static enum err judge(const struct run *run, struct error *e)
{
	char how[REMOTE_SAID_MAX + 40];

	if (!run->exit_code || run->has_output)
		return ERR_OK;
	remote_said_describe(&run->said, run->exit_code, how, sizeof how);
	return error_set(
		e, kind_said(&run->said), "the helper program in the sandbox failed%s", how);
}

/* Whether the helper did not even start: a shell's codes for what is not there or may not be executed. */
static bool was_missing(const struct run *run, enum err kind)
{
	bool says_so = kind == ERR_OK && (run->exit_code == 126 || run->exit_code == 127);

	return !run->has_output && (says_so || kind == ERR_NOT_FOUND);
}

/* ---- When somebody removed it ---- */

static bool is_same_place(const struct remote *r, const struct remote_report *report)
{
	return strcmp(r->root, report->root) == 0 && strcmp(r->staging, report->staging) == 0;
}

enum err remote_put_back(const struct remote *r, const struct call *call, struct error *e)
{
	const struct remote_question question = { .path = r->root };
	AUTO_REMOTE_REPORT struct remote_report report = { 0 };
	enum err kind = remote_find(&report, &r->ops, question, true, call, e);
	char why[800];

	if (kind != ERR_OK)
		return kind;
	if (!is_same_place(r, &report))
		return error_set(e, ERR_STALE,
			"%s is another directory by now, or its staging: mount it again", r->root);
	if (report.state == REMOTE_READY)
		return ERR_OK;
	remote_explain(&report, why, sizeof why);
	return error_set(e, ERR_UNSUPPORTED,
		"the helper program was removed from the sandbox and cannot be put back: %s", why);
}

enum err remote_runner_run(void *context, const struct call *call, const struct buf *frames,
	unsigned flags, execute_sink sink, void *sink_context, struct error *e)
{
	const struct remote *r = context;

	for (bool is_again = false;; is_again = true) {
		struct run run = { .sink = sink, .sink_context = sink_context };
		AUTO_COMMAND struct command c;
		struct error why = { 0 };
		enum err kind = command_make(&c, r, frames, e);

		if (kind != ERR_OK)
			return kind;
		kind = r->ops.run(r->ops.context, call, c.argv, flags,
			c.upload.path ? &c.upload : NULL, take_output, &run, &run.exit_code, &why);
		if (is_again || !was_missing(&run, kind)) {
			if (kind == ERR_OK)
				return judge(&run, e);
			if (e)
				*e = why;
			return kind;
		}
		kind = remote_put_back(r, call, e);
		if (kind != ERR_OK)
			return kind;
	}
}
