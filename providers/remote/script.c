#include "providers/remote/script.h"

#include "providers/base/base64.h"
#include "providers/base/cleanup.h"
#include "providers/errno_words.h"
#include "providers/remote/loader.h"

#include <stdio.h>
#include <string.h>

/* Room for three paths of 4096 bytes as digits, and the rest. */
#define REPORT_MAX ((size_t)64 * 1024)
/* Room for a hello, and a list from one start. */
#define REQUESTS_MAX ((size_t)16 * 1024)

enum field {
	FIELD_STATE,
	FIELD_WHY,
	FIELD_HOME,
	FIELD_ROOT,
	FIELD_STAGING,
	FIELD_MACHINE,
	FIELD_PLACE,
	FIELD_LOADER,
	FIELDS
};

/* ---- Standard error ---- */

void remote_said_add(struct remote_said *s, const void *bytes, size_t len)
{
	size_t room = REMOTE_SAID_MAX - s->len;

	memcpy(s->text + s->len, bytes, len < room ? len : room);
	s->len += len < room ? len : room;
}

void remote_said_describe(const struct remote_said *s, int exit_code, char *out, size_t size)
{
	int len = (int)strcspn(s->text, "\n");

	snprintf(out, size, " (exit code %d%s%.*s)", exit_code, len ? ": " : "", len, s->text);
}

/* ---- Output: the report, then the helper's answer ---- */

struct output {
	struct buf line; /* the report's line, without its end */
	bool has_line;
	struct frames_reader *answer;
	struct remote_said said;
	struct remote_report *report;
	const struct remote_second *second; /* NULL: none */
	bool has_begun;
};

static enum err check_mark(const struct buf *line, struct error *e)
{
	size_t mark_len = strlen(REMOTE_REPORT_MARK);

	if (line->len >= mark_len && memcmp(line->bytes, REMOTE_REPORT_MARK, mark_len) == 0)
		return ERR_OK;
	return error_set(e, ERR_PROTOCOL,
		"instead of a report of the sandbox's shell came '%.160s'", buf_text(line));
}

/* The bytes behind the report's line in the same piece are the answer's beginning. */
static enum err take_line(struct output *o, const char *bytes, size_t len, struct error *e)
{
	const char *newline = memchr(bytes, '\n', len);
	size_t part = newline ? (size_t)(newline - bytes) : len;
	enum err kind;

	buf_add(&o->line, bytes, part);
	kind = buf_check(&o->line, "the report of the sandbox's shell", e);
	if (kind != ERR_OK || !newline)
		return kind;
	o->has_line = true;
	kind = check_mark(&o->line, e);
	if (kind != ERR_OK)
		return kind;
	return frames_reader_take(o->answer, newline + 1, len - part - 1, e);
}

static enum err take_output(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	struct output *o = context;

	if (stream == STREAM_OUT)
		return o->has_line ? frames_reader_take(o->answer, bytes, len, e)
				   : take_line(o, bytes, len, e);
	remote_said_add(&o->said, bytes, len);
	return ERR_OK;
}

/* ---- The report ---- */

static int digit(unsigned char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool decode_fields(const struct buf *line, struct buf *out)
{
	for (size_t i = strlen(REMOTE_REPORT_MARK); i + 1 < line->len; i += 2) {
		int high = digit(line->bytes[i]), low = digit(line->bytes[i + 1]);

		if (high < 0 || low < 0 || !buf_add_byte(out, (unsigned char)(high << 4 | low)))
			return false;
	}
	return line->len % 2 == strlen(REMOTE_REPORT_MARK) % 2 && out->len &&
		!out->bytes[out->len - 1];
}

static bool split_fields(const struct buf *fields, const char *out[FIELDS])
{
	size_t count = 0;

	for (size_t at = 0; at < fields->len; at += strlen((char *)fields->bytes + at) + 1) {
		if (count == FIELDS)
			return false;
		out[count++] = (char *)fields->bytes + at;
	}
	return count == FIELDS;
}

static const struct {
	const char *name;
	enum remote_state state;
} states[] = {
	{ "none", REMOTE_NO_IMAGE },
	{ "absent", REMOTE_ABSENT },
	{ "noexec", REMOTE_NOEXEC },
	{ "ready", REMOTE_READY },
};

static bool find_state(const char *name, enum remote_state *out)
{
	for (size_t i = 0; i < sizeof states / sizeof *states; i++)
		if (strcmp(states[i].name, name) == 0) {
			*out = states[i].state;
			return true;
		}
	return false;
}

/* Why there is no directory to show; ERR_OK: there is one. */
static enum err check_place(const char *const field[FIELDS], struct error *e)
{
	enum err kind;

	if (strcmp(field[FIELD_STATE], "unstaged") == 0)
		return error_set(e, ERR_DENIED,
			"no place for staging: %s, %s, /tmp, /dev/shm, /var/tmp and /run "
			"cannot be written to",
			field[FIELD_HOME], field[FIELD_ROOT]);
	if (strcmp(field[FIELD_STATE], "nowhere") != 0)
		return ERR_OK;
	kind = errno_words_kind(field[FIELD_WHY], ERR_IO);
	if (kind == ERR_IO)
		return error_set(e, ERR_IO, "%s: %.160s", field[FIELD_ROOT], field[FIELD_WHY]);
	return error_set(e, kind, "%s: %s", field[FIELD_ROOT], error_words(kind));
}

static enum err read_fields(struct remote_report *r, const struct buf *line, struct error *e)
{
	const char *field[FIELDS];
	enum err kind;

	if (!decode_fields(line, &r->fields) || !split_fields(&r->fields, field))
		return error_set(
			e, ERR_PROTOCOL, "the sandbox's shell cannot report: it needs od and tr");
	kind = check_place(field, e);
	if (kind != ERR_OK)
		return kind;
	if (!find_state(field[FIELD_STATE], &r->state) || field[FIELD_ROOT][0] != '/' ||
		field[FIELD_STAGING][0] != '/' || field[FIELD_HOME][0] != '/')
		return error_set(e, ERR_PROTOCOL, "the sandbox's shell reports '%s' at '%s'",
			field[FIELD_STATE], field[FIELD_ROOT]);
	snprintf(r->why, sizeof r->why, "%s", field[FIELD_WHY]);
	r->home = field[FIELD_HOME];
	r->root = field[FIELD_ROOT];
	r->staging = field[FIELD_STAGING];
	r->machine = field[FIELD_MACHINE];
	r->place = field[FIELD_PLACE];
	r->loader = field[FIELD_LOADER];
	return ERR_OK;
}

static enum err read_report(
	struct remote_report *r, const struct output *o, int exit_code, struct error *e)
{
	char how[REMOTE_SAID_MAX + 40];

	if (o->has_line)
		return read_fields(r, &o->line, e);
	remote_said_describe(&o->said, exit_code, how, sizeof how);
	if (exit_code)
		return error_set(e, ERR_UNSUPPORTED, "the sandbox's /bin/sh does not run%s", how);
	if (o->line.len && o->line.bytes[0] != REMOTE_REPORT_MARK[0])
		return check_mark(&o->line, e);
	return error_set(e, ERR_UNREACHABLE, "the report of the sandbox's shell was cut off");
}

/* ---- The helper's answer ---- */

/*
 * The helper's own exit codes are 1, with a message on standard error, and 2, for its usage.
 * Another code is of a program that did not start.
 */
static bool could_not_run(const struct output *o, int exit_code)
{
	return exit_code && exit_code != 1 && !o->answer->has_frame;
}

static enum err read_hello(
	struct remote_report *r, const struct output *o, int exit_code, struct error *e)
{
	char how[REMOTE_SAID_MAX + 40];
	enum err kind;

	remote_said_describe(&o->said, exit_code, how, sizeof how);
	if (could_not_run(o, exit_code)) {
		r->state = REMOTE_BROKEN;
		snprintf(r->why, sizeof r->why, "%s", how);
		return ERR_OK;
	}
	if (exit_code && !o->answer->has_frame)
		return error_set(e, ERR_IO, "the helper program in the sandbox failed%s", how);
	kind = frames_reader_end(o->answer, &(struct error){ 0 }, e);
	return kind == ERR_OK ? check_hello(&r->hello, e) : kind;
}

/* ---- The stream behind the hello ---- */

/* Called when the first answer is whole. */
static enum err begin_second(void *context, struct error *e)
{
	struct output *o = context;
	enum err kind = read_report(o->report, o, 0, e);

	if (kind == ERR_OK)
		kind = check_hello(&o->report->hello, e);
	if (kind != ERR_OK)
		return kind;
	o->has_begun = true;
	o->second->begins(o->second->context);
	return ERR_OK;
}

/* ---- One run ---- */

static enum err put_requests(const struct remote_question *q, struct buf *out, struct error *e)
{
	AUTO_BUF struct buf frames = BUF_INIT(REQUESTS_MAX);

	frames_of_request(&frames, 0, FRAME_HELLO);
	size_t second = frames.len;

	if (q->second && buf_add(&frames, q->second->request->bytes, q->second->request->len))
		frames_of_request(&frames, second, FRAME_WATCH);
	if (!frames.failed)
		base64_encode(out, frames.bytes, frames.len);
	return out->len ? buf_check(out, "a hello", e) : buf_check(&frames, "a hello", e);
}

static enum err run_script(const struct remote_ops *ops, const struct remote_question *q,
	const struct call *call, struct output *o, int *exit_code, struct error *e)
{
	AUTO_BUF struct buf requests = BUF_INIT(2 * REQUESTS_MAX);
	enum err kind = put_requests(q, &requests, e);
	const char *const argv[] = { "/bin/sh", "-c", remote_script_text, "sandboxfs",
		q->path ? q->path : "", q->working_dir ? q->working_dir : "", q->images,
		q->stored ? q->stored : "", buf_text(&requests), ops->is_text ? "-a" : "",
		q->second ? "-t " REMOTE_WATCH_S : "", remote_loader_python, remote_loader_perl,
		NULL };

	if (kind != ERR_OK)
		return kind;
	return q->second ? ops->listen(ops->context, call, argv, take_output, o, exit_code, e)
			 : ops->run(ops->context, call, argv, RUN_REPEATABLE, NULL, take_output, o,
				   exit_code, e);
}

/* The first bytes of the script, within one line, show whether words repeat the script. */
#define SCRIPT_HEAD 8

/* A vendor's words about a shell that it cannot start repeat the script before the reason. */
static enum err explain_run(const struct error *run, struct error *e)
{
	const char *reason = strrchr(run->text, ':');

	if (reason && memmem(run->text, strlen(run->text), remote_script_text, SCRIPT_HEAD))
		return error_set(e, run->kind, "the sandbox's /bin/sh does not run%s", reason);
	return error_set(e, run->kind, "%s", run->text);
}

static enum err read_first(struct remote_report *out, struct output *o, const struct error *run,
	int exit_code, struct error *e)
{
	enum err kind =
		run->kind == ERR_OK ? read_report(out, o, exit_code, e) : explain_run(run, e);

	return kind == ERR_OK && out->state == REMOTE_READY ? read_hello(out, o, exit_code, e)
							    : kind;
}

void remote_report_release(struct remote_report *r)
{
	buf_release(&r->fields);
}

enum err remote_script_run(struct remote_report *out, const struct remote_ops *ops,
	const struct remote_question *question, const struct call *call, struct error *e)
{
	struct hello_state hello = { .hello = &out->hello };
	struct listener listener = hello_listener(&hello);
	AUTO_FRAMES_READER struct frames_reader answer;
	struct output o = { .line = BUF_INIT(REPORT_MAX),
		.answer = &answer,
		.report = out,
		.second = question->second };
	struct error run = { 0 };
	int exit_code = 0;
	enum err kind;

	*out = (struct remote_report){ .fields = BUF_INIT(REPORT_MAX / 2) };
	frames_reader_init(&answer, &listener, ops->is_text);
	if (question->second) {
		answer.next = question->second->listener;
		answer.turn = begin_second;
		answer.turn_context = &o;
	}
	run.kind = run_script(ops, question, call, &o, &exit_code, &run);
	kind = o.has_begun ? frames_reader_end(&answer, &run, e)
			   : read_first(out, &o, &run, exit_code, e);
	buf_release(&o.line);
	return kind;
}
