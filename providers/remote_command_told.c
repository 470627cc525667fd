#include "providers/remote_command_told.h"

#include "providers/base/base64.h"

#include <stdio.h>
#include <string.h>

/* The lines of base64 are short; others come from who knows whom. */
#define LINE_MAX_LEN ((size_t)64 * 1024)
/* Passed on in pieces of about this size. */
#define PIECE_ENOUGH ((size_t)64 * 1024)
#define LAST_LEN     (MARKER_SIZE - 1 + sizeof REMOTE_TOLD_LAST - 1)

void remote_told_init(struct remote_told *t, struct remote_run *run)
{
	*t = (struct remote_told){
		.run = run, .line = BUF_INIT(LINE_MAX_LEN), .output = BUF_INIT(2 * PIECE_ENOUGH)
	};
}

void remote_told_release(struct remote_told *t)
{
	buf_release(&t->line);
	buf_release(&t->output);
}

/* ---- Output ---- */

/* Where the command's own output ends; NULL: not here. */
static const unsigned char *find_last(const struct remote_told *t)
{
	char last[LAST_LEN + 1];

	snprintf(last, sizeof last, "%s" REMOTE_TOLD_LAST, t->run->marker);
	return t->output.len ? memmem(t->output.bytes, t->output.len, last, LAST_LEN) : NULL;
}

/* All but the last `kept` bytes, which may be the beginning of the end. */
static enum err pass_on(struct remote_told *t, size_t kept, struct error *e)
{
	const unsigned char *last = find_last(t);
	enum stream stream = t->stream;
	size_t len = t->output.len > kept ? t->output.len - kept : 0;
	enum err kind = ERR_OK;

	if (last) {
		t->is_whole[stream] = true;
		t->stream = 0;
		len = (size_t)(last - t->output.bytes);
	}
	if (len)
		kind = remote_run_output(t->run, stream, t->output.bytes, len, e);
	if (last || !kept)
		buf_reset(&t->output);
	else
		buf_consume(&t->output, len);
	return kind;
}

/* ---- Lines ---- */

static enum err take_word(struct remote_told *t, const char *word, struct error *e)
{
	enum err kind = pass_on(t, 0, e);

	t->stream = strcmp(word, "out") == 0 ? STREAM_OUT
		: strcmp(word, "err") == 0   ? STREAM_ERR
					     : 0;
	t->is_nowhere |= strcmp(word, "nowhere") == 0;
	t->has_end |= sscanf(word, "end %d %d", &t->code, &t->late) == 2;
	sscanf(word, "lacks %31[a-z0-9 ]", t->lacks);
	return kind;
}

static enum err take_line(struct remote_told *t, struct error *e)
{
	const char *line = buf_text(&t->line);
	size_t marker_len = strlen(t->run->marker);
	enum err kind;

	if (strncmp(line, t->run->marker, marker_len) == 0 && line[marker_len] == ' ')
		return take_word(t, line + marker_len + 1, e);
	if (!t->stream)
		return ERR_OK;
	kind = base64_decode(&t->output, line, t->line.len, e);
	return kind == ERR_OK && t->output.len >= PIECE_ENOUGH ? pass_on(t, LAST_LEN - 1, e) : kind;
}

/* A terminal's line ends have two characters. */
static enum err end_line(struct remote_told *t, struct error *e)
{
	enum err kind;

	if (t->line.len && t->line.bytes[t->line.len - 1] == '\r')
		t->line.bytes[--t->line.len] = 0;
	kind = take_line(t, e);
	buf_reset(&t->line);
	return kind;
}

enum err remote_told_take(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	struct remote_told *t = context;
	const char *text = bytes;
	enum err kind = ERR_OK;

	if (stream != STREAM_OUT)
		return ERR_OK;
	while (len && kind == ERR_OK) {
		const char *newline = memchr(text, '\n', len);
		size_t part = newline ? (size_t)(newline - text) : len;

		if (!buf_add(&t->line, text, part))
			return buf_check(&t->line, "a line of a command's output", e);
		part += newline != NULL;
		if (newline)
			kind = end_line(t, e);
		text += part;
		len -= part;
	}
	return kind;
}

/* ---- The end ---- */

enum err remote_told_judge(const struct remote_told *t, struct error *e)
{
	struct execute_result *result = t->run->result;

	result->may_have_run = !t->is_nowhere && !*t->lacks;
	if (t->is_nowhere)
		return error_set(e, ERR_NOT_FOUND, "%s: no such directory to run in", t->run->cwd);
	if (*t->lacks)
		return error_set(e, ERR_UNSUPPORTED,
			"without the helper program commands need %s in the sandbox", t->lacks);
	if (!t->has_end)
		return error_set(e, ERR_UNREACHABLE, "the output of the command was cut off");
	result->has_exit_code = true;
	result->timed_out = t->late == 3;
	result->exit_code = result->timed_out ? 124 : t->code;
	if (t->is_whole[STREAM_OUT] && t->is_whole[STREAM_ERR])
		return ERR_OK;
	return error_set(e, ERR_TOO_LARGE,
		"the command was ended by its output: without the helper program it may print %d "
		"MiB to "
		"each stream, or what the sandbox's disk has room for",
		t->run->r->ops.is_live ? REMOTE_TOLD_MAX_MIB : REMOTE_TOLD_LATE_MAX_MIB);
}
