#include "providers/remote/runner.h"

#include "providers/base/base64.h"
#include "providers/base/cleanup.h"
#include "providers/errno_words.h"
#include "providers/remote/find.h"
#include "providers/remote/names.h"
#include "providers/remote/pack.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

/* The most names that one request removes, so that it stays short. */
#define REMOVED_MAX 8

/* ---- Words of a run ---- */

size_t remote_launch(const struct remote *r, const char *argv[REMOTE_LAUNCH_ARGC])
{
	size_t count = 0;

	for (; r->loader[count]; count++)
		argv[count] = r->loader[count];
	argv[count++] = r->helper_path;
	return count;
}

struct command {
	const char **argv;
	size_t argc;
	char **pieces; /* the request's pieces, ended by NULL */
	/* name of the request in staging; "": the request is in argv */
	char request[REMOTE_NAME_SIZE];
	char *path, size[24], hash[24], unpacked_size[24];
	struct buf packed;           /* the upload; empty: the request as it is */
	struct remote_upload upload; /* path NULL: the request is in argv */
	/* A large answer's file in staging and its path (NULL: none), and files to be removed. */
	char answer[REMOTE_NAME_SIZE], *answer_path, answer_min[24];
	char removed[REMOVED_MAX][REMOTE_NAME_SIZE];
	size_t removed_count;
};

static void command_release(struct command *c)
{
	for (char **piece = c->pieces; piece && *piece; piece++)
		free(*piece);
	free(c->pieces);
	free(c->path);
	buf_release(&c->packed);
	free(c->answer_path);
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
	enum err kind = remote_new_name("request-", c->request, e);

	if (kind != ERR_OK)
		return kind;
	if (asprintf(&c->path, "%s/%s", r->staging, c->request) < 0) {
		c->path = NULL;
		return error_set(e, ERR_NO_MEMORY, "a request");
	}
	const struct buf *sent = remote_pack(r->packer, frames, &c->packed) ? &c->packed : frames;

	snprintf(c->size, sizeof c->size, "%zu", sent->len);
	snprintf(c->hash, sizeof c->hash, "%016" PRIx64, XXH3_64bits(sent->bytes, sent->len));
	c->upload = (struct remote_upload){ c->path, sent->bytes, sent->len };
	add(c, "-w");
	add(c, c->path);
	add(c, "-n");
	add(c, c->size);
	add(c, "-c");
	add(c, c->hash);
	if (sent == frames)
		return ERR_OK;
	snprintf(c->unpacked_size, sizeof c->unpacked_size, "%zu", frames->len);
	add(c, "-z");
	add(c, c->unpacked_size);
	return ERR_OK;
}

static enum err add_answer(struct command *c, const struct remote *r, struct error *e)
{
	enum err kind = remote_new_name("answer-", c->answer, e);

	if (kind != ERR_OK)
		return kind;
	if (asprintf(&c->answer_path, "%s/%s", r->staging, c->answer) < 0) {
		c->answer_path = NULL;
		return error_set(e, ERR_NO_MEMORY, "a request");
	}
	snprintf(c->answer_min, sizeof c->answer_min, "%zu", r->ops.download_min);
	add(c, "-o");
	add(c, c->answer);
	add(c, "-m");
	add(c, c->answer_min);
	return ERR_OK;
}

static void add_removed(struct command *c, const struct remote *r)
{
	c->removed_count = remote_names_take(r->leftovers, c->removed, REMOVED_MAX);
	for (size_t i = 0; i < c->removed_count; i++) {
		add(c, "-d");
		add(c, c->removed[i]);
	}
}

/* As far as is known a run that failed has removed no file. */
static void put_removed_back(const struct command *c, const struct remote *r)
{
	for (size_t i = 0; i < c->removed_count; i++)
		remote_names_add(r->leftovers, c->removed[i]);
}

static bool is_inline_size(const struct remote *r, size_t len, unsigned flags)
{
	size_t packed_max = flags & RUN_COMPRESSES ? r->ops.inline_packed_max : 0;

	return len <= r->ops.inline_max || len <= packed_max;
}

/* HELPER once [-a] [-o NAME -m SIZE] [-d NAME]... REQUEST ROOT STAGING */
static enum err command_make(struct command *c, const struct remote *r, const struct buf *frames,
	unsigned flags, bool may_leave_file, struct error *e)
{
	bool is_inline = is_inline_size(r, frames->len, flags);
	size_t pieces = is_inline ? frames->len / (r->ops.argument_max / 4 * 3) + 1 : 0;
	enum err kind;

	*c = (struct command){ .argv = calloc(2 * (pieces + REMOVED_MAX) + 20 + REMOTE_LAUNCH_ARGC,
				       sizeof *c->argv),
		.packed = BUF_INIT(2 * frames->len + 1024),
		.pieces = calloc(pieces + 1, sizeof *c->pieces) };
	if (!c->argv || !c->pieces)
		return error_set(e, ERR_NO_MEMORY, "a request");
	c->argc = remote_launch(r, c->argv);
	add(c, "once");
	if (r->ops.is_text)
		add(c, "-a");
	kind = may_leave_file ? add_answer(c, r, e) : ERR_OK;
	if (kind != ERR_OK)
		return kind;
	add_removed(c, r);
	kind = is_inline ? add_pieces(c, r, frames, e) : add_upload(c, r, frames, e);
	add(c, r->root);
	add(c, r->staging);
	return kind;
}

/* ---- One run ---- */

struct run {
	const struct answer_sink *sink;
	bool has_output, is_in_file;
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
	return r->sink->output(r->sink->context, stream, bytes, len, e);
}

/* The helper ends its complaint with the words for a kind. */
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

static enum err check_run(const struct run *run, struct error *e)
{
	char how[REMOTE_SAID_MAX + 40];

	if (!run->exit_code || run->has_output || run->is_in_file)
		return ERR_OK;
	remote_said_describe(&run->said, run->exit_code, how, sizeof how);
	return error_set(
		e, kind_said(&run->said), "the helper program in the sandbox failed%s", how);
}

/*
 * Whether the helper did not even start: a shell's exit codes for a missing program, or one that
 * may not be executed.
 */
static bool was_missing(const struct run *run, enum err kind)
{
	bool says_so = kind == ERR_OK && (run->exit_code == 126 || run->exit_code == 127);

	return !run->has_output && !run->is_in_file && (says_so || kind == ERR_NOT_FOUND);
}

/* ---- A helper that was removed ---- */

static bool is_same_place(const struct remote *r, const struct remote_report *report)
{
	size_t len = strlen(report->place);

	return strcmp(r->root, report->root) == 0 && strcmp(r->staging, report->staging) == 0 &&
		strncmp(r->helper_path, report->place, len) == 0 && r->helper_path[len] == '/' &&
		remote_loader_find(report->loader) == r->loader;
}

enum err remote_put_back(const struct remote *r, const struct call *call, struct error *e)
{
	const struct remote_question question = { .path = r->root };
	AUTO_REMOTE_REPORT struct remote_report report = { 0 };
	enum err kind = remote_find(&report, &r->ops, question, call, e);
	char why[REMOTE_WHY_MAX];

	if (kind != ERR_OK)
		return kind;
	if (!is_same_place(r, &report))
		return error_set(e, ERR_STALE,
			"%s is another directory by now, or its staging: mount it again", r->root);
	if (report.state == REMOTE_READY)
		return ERR_OK;
	remote_explain(&report, why, sizeof why);
	return error_set(e, ERR_UNSUPPORTED,
		"the helper program was removed and cannot be put back: %s", why);
}

/* ---- A request ---- */

/* The output comes at the end in any case, and the request can be sent again after a failure. */
static bool may_leave_file(const struct remote *r, unsigned flags)
{
	return r->ops.download && r->ops.is_text && !r->ops.is_live && flags & RUN_REPEATABLE;
}

/* A missing answer is an error of its own, whatever the request was about. */
static enum err download_answer(const struct remote *r, const struct call *call,
	const struct command *c, const struct answer_sink *sink, struct error *e)
{
	struct error why = { 0 };
	enum err kind = r->ops.download(
		r->ops.context, call, c->answer_path, sink->file, sink->context, &why);

	if (kind == ERR_NOT_FOUND)
		return error_set(e, ERR_IO, "the helper's answer was removed: %s", why.text);
	return kind == ERR_OK ? ERR_OK : error_set(e, kind, "%s", why.text);
}

static enum err run_once(const struct remote *r, const struct call *call, const struct command *c,
	unsigned flags, struct run *run, struct error *e)
{
	int64_t begun_ms = monotonic_ms();
	enum err kind = r->ops.run(r->ops.context, call, c->argv, flags,
		c->upload.path ? &c->upload : NULL, take_output, run, &run->exit_code, e);

	if (kind == ERR_OK && c->upload.path)
		remote_pack_timed(r->packer, c->upload.len, monotonic_ms() - begun_ms);
	run->is_in_file = kind == ERR_OK && c->answer_path && run->exit_code == WIRE_EXIT_IN_FILE;
	if (run->is_in_file)
		kind = download_answer(r, call, c, run->sink, e);
	/* A run that failed may have left a file. */
	if (c->answer_path && (kind != ERR_OK || run->is_in_file))
		remote_names_add(r->leftovers, c->answer);
	/* A part of the request may be there. A run that still waits for the rest never gets it. */
	if (kind != ERR_OK && c->upload.path)
		remote_names_add(r->leftovers, c->request);
	if (kind != ERR_OK)
		put_removed_back(c, r);
	return kind;
}

/*
 * Whether the upload failed because the sandbox's disk is full, and not the vendor's account: the
 * words tell the two apart.
 */
static bool lacks_room(const struct command *c, enum err kind, const struct error *why)
{
	if (!c->upload.path)
		return false;
	return kind == ERR_NO_SPACE ||
		(kind == ERR_QUOTA && errno_words_kind(why->text, ERR_OK) == ERR_QUOTA);
}

/* Removes the leftovers. Returns whether these were more than the request itself left. */
static bool make_room(const struct remote *r, const struct call *call)
{
	const struct call quiet = { .progress_ms = call ? call->progress_ms : 0,
		.cancel = call ? call->cancel : NULL,
		.is_background = call && call->is_background };

	return remote_remove_leftovers(r, &quiet) > 1;
}

enum err remote_runner_run(void *context, const struct call *call, const struct buf *frames,
	unsigned flags, const struct answer_sink *sink, struct error *e)
{
	const struct remote *r = context;
	bool is_again = false, made_room = false, leaves_file = may_leave_file(r, flags);

	for (;;) {
		struct run run = { .sink = sink };
		AUTO_COMMAND struct command c;
		struct error why = { 0 };
		enum err kind = command_make(&c, r, frames, flags, leaves_file, e);

		if (kind != ERR_OK)
			return kind;
		kind = run_once(r, call, &c, flags, &run, &why);
		if (kind == ERR_OK && leaves_file && run.exit_code == WIRE_EXIT_NO_FILE) {
			leaves_file = false;
			continue;
		}
		if (kind == ERR_OK && c.packed.len && run.exit_code == WIRE_EXIT_NO_GZIP) {
			atomic_store(&r->packer->is_refused, true);
			continue;
		}
		if (lacks_room(&c, kind, &why) && !run.has_output) {
			bool is_more = make_room(r, call) && !made_room;

			made_room = true;
			if (is_more)
				continue;
			call_has_no_room(call);
			return error_set(e, kind, "%s", why.text);
		}
		if (is_again || !was_missing(&run, kind))
			return kind == ERR_OK ? check_run(&run, e)
					      : error_set(e, kind, "%s", why.text);
		is_again = true;
		kind = remote_put_back(r, call, e);
		if (kind != ERR_OK)
			return kind;
	}
}
