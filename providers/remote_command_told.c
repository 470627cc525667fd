#include "providers/remote_command_told.h"

#include "providers/base/base64.h"
#include "providers/base/utf8.h"

#include <stdio.h>
#include <string.h>

/* The lines of base64 are short; others come from who knows whom. */
#define LINE_MAX_LEN ((size_t)64 * 1024)
/* Passed on in pieces of about this size. */
#define PIECE_ENOUGH ((size_t)64 * 1024)
#define LAST_LEN     (MARKER_SIZE - 1 + sizeof REMOTE_TOLD_LAST - 1)

void remote_told_init(struct remote_told *t, struct remote_run *run)
{
	*t = (struct remote_told){ .run = run,
		.line = BUF_INIT(LINE_MAX_LEN),
		.output = { [STREAM_OUT] = BUF_INIT(2 * PIECE_ENOUGH),
			[STREAM_ERR] = BUF_INIT(2 * PIECE_ENOUGH) } };
}

void remote_told_release(struct remote_told *t)
{
	buf_release(&t->line);
	buf_release(&t->output[STREAM_OUT]);
	buf_release(&t->output[STREAM_ERR]);
}

/* ---- Output ---- */

/* Where the command's own output ends; NULL: not here. */
static const unsigned char *find_last(const struct remote_told *t, const struct buf *output)
{
	char last[LAST_LEN + 1];

	snprintf(last, sizeof last, "%s" REMOTE_TOLD_LAST, t->run->marker);
	return output->len ? memmem(output->bytes, output->len, last, LAST_LEN) : NULL;
}

/* All but the last `kept` bytes, which may be the beginning of something. */
static enum err pass_on(struct remote_told *t, enum stream stream, size_t kept, struct error *e)
{
	struct buf *output = &t->output[stream];
	const unsigned char *last = find_last(t, output);
	size_t len = output->len > kept ? output->len - kept : 0;
	enum err kind = ERR_OK;

	if (!output->len)
		return ERR_OK;
	if (last) {
		t->is_whole[stream] = true;
		t->stream = 0;
		len = (size_t)(last - output->bytes);
	}
	if (len)
		kind = remote_run_output(t->run, stream, output->bytes, len, e);
	t->passed[stream] += len;
	buf_consume(output, last ? output->len : len);
	return kind;
}

/* The rest of a character that is being printed comes with what is told next. */
static enum err pause_stream(struct remote_told *t, struct error *e)
{
	const struct buf *output = &t->output[t->stream];

	if (!t->stream || !output->len)
		return ERR_OK;
	return pass_on(t, t->stream, utf8_cut_at_end(output->bytes, output->len), e);
}

/* Of characters that were cut neither half is of use. */
static void begin_end_of(struct remote_told *t, enum stream stream)
{
	buf_reset(&t->output[stream]);
	t->stream = stream;
	t->is_cut = t->is_after_cut = true;
}

static void drop_half_character(struct remote_told *t)
{
	struct buf *output = &t->output[t->stream];

	if (t->is_after_cut && output->len)
		buf_consume(output, utf8_cut_at_start(output->bytes, output->len));
	t->is_after_cut = false;
}

void remote_told_restart(struct remote_told *t)
{
	buf_reset(&t->line);
	buf_reset(&t->output[STREAM_OUT]);
	buf_reset(&t->output[STREAM_ERR]);
	t->stream = 0;
}

enum err remote_told_end(struct remote_told *t, struct error *e)
{
	enum err kind = pass_on(t, STREAM_OUT, 0, e);

	return kind == ERR_OK ? pass_on(t, STREAM_ERR, 0, e) : kind;
}

/* ---- Lines ---- */

static enum stream stream_of(const char *word)
{
	if (strcmp(word, "out") == 0)
		return STREAM_OUT;
	return strcmp(word, "err") == 0 ? STREAM_ERR : 0;
}

static enum err take_word(struct remote_told *t, const char *word, struct error *e)
{
	enum err kind = pause_stream(t, e);

	t->stream = stream_of(word);
	if (strncmp(word, "cut ", 4) == 0 && stream_of(word + 4))
		begin_end_of(t, stream_of(word + 4));
	t->is_nowhere |= strcmp(word, "nowhere") == 0;
	t->has_end |= sscanf(word, "end %d %d", &t->code, &t->late) == 2;
	sscanf(word, "lacks %31[a-z0-9 ]", t->lacks);
	if (kind == ERR_OK && t->has_end)
		kind = remote_told_end(t, e);
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
	kind = base64_decode(&t->output[t->stream], line, t->line.len, e);
	if (kind != ERR_OK)
		return kind;
	drop_half_character(t);
	return t->output[t->stream].len >= PIECE_ENOUGH ? pass_on(t, t->stream, LAST_LEN - 1, e)
							: ERR_OK;
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
	/* Without its end where the disk is full, or something that it left behind still prints. */
	result->is_cut = t->is_cut || !t->is_whole[STREAM_OUT] || !t->is_whole[STREAM_ERR];
	return ERR_OK;
}
