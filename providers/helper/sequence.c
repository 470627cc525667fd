#include "providers/helper/sequence.h"

#include "providers/base/cleanup.h"
#include "providers/helper/helper.h"
#include "providers/helper/journal_file.h"
#include "providers/helper/version_text.h"
#include "providers/helper/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

/* The longest line: a number, a kind and a sentence of struct change_result; or a version. */
#define LINE_MAX_SIZE 256
/* Lines for every change of the largest batch. */
#define LINES_MAX ((size_t)WIRE_BATCH_MAX * LINE_MAX_SIZE)
/*
 * Room reserved for the record: a full disk may refuse changes, but their refusals must still be
 * recorded.
 */
#define ROOM_KEPT ((off_t)512 * 1024)
/* From one try for the lock to the next. */
#define LOCK_TRY_MS 20

/* ---- Reading ---- */

/* An invalid first line means that nothing was done. */
static void read_head(struct sequence *s, const char *text)
{
	uint64_t number;
	char state;

	s->over = s->begun = 0;
	if (sscanf(text, "%" SCNu64 " %c %" SCNu64 " %" SCNu64, &number, &state, &s->before.size,
		    &s->before.ino) != 4)
		return;
	s->over = state == 'e' || !number ? number : number - 1;
	s->begun = state == 'e' ? 0 : number;
}

/* Keeps whole lines only: a partial last line was never recorded. */
static void cut_torn_line(struct buf *text)
{
	while (text->len && text->bytes[text->len - 1] != '\n')
		text->len--;
	if (text->bytes)
		text->bytes[text->len] = 0;
}

static enum err read_all(int fd, struct buf *out, struct error *e)
{
	for (;;) {
		char piece[16 * 1024];
		ssize_t got = pread(fd, piece, sizeof piece, (off_t)out->len);

		if (got < 0)
			return journal_file_failed(e);
		if (!got)
			break;
		if (!buf_add(out, piece, (size_t)got))
			return buf_check(out, "the journal's record", e);
	}
	cut_torn_line(out);
	return ERR_OK;
}

/* A change with a line is over, also where the first line does not yet say so. */
static void count_lines(struct sequence *s)
{
	const char *lines = buf_text(&s->lines) + SEQUENCE_HEAD_SIZE;
	const char *before = memrchr(lines, '\n', s->lines.len - SEQUENCE_HEAD_SIZE - 1);
	uint64_t number = strtoull(before ? before + 1 : lines, NULL, 10);

	if (number > s->over)
		s->over = number;
	if (s->begun <= s->over)
		s->begun = 0;
}

static enum err read_record(struct sequence *s, struct error *e)
{
	enum err k = read_all(s->fd, &s->lines, e);

	if (k != ERR_OK || s->lines.len < SEQUENCE_HEAD_SIZE)
		return k;
	read_head(s, buf_text(&s->lines));
	s->next_line = SEQUENCE_HEAD_SIZE;
	s->end = (off_t)s->lines.len;
	if (s->lines.len > SEQUENCE_HEAD_SIZE)
		count_lines(s);
	return ERR_OK;
}

/* ---- Opening ---- */

/*
 * The lines of the last batch can go: a new batch is sent after the answers to the last one came.
 */
static enum err forget_lines(struct sequence *s, struct error *e)
{
	bool has_some = s->end > SEQUENCE_HEAD_SIZE;

	if (has_some && ftruncate(s->fd, SEQUENCE_HEAD_SIZE))
		return journal_file_failed(e);
	/* Not every file system supports this: refusals then need free room when they come. */
	if (has_some || !s->lines.len)
		fallocate(s->fd, FALLOC_FL_KEEP_SIZE, 0, ROOM_KEPT);
	s->end = s->next_line = SEQUENCE_HEAD_SIZE;
	s->lines.len = 0;
	return ERR_OK;
}

enum err sequence_open(const struct root *r, const struct call *call,
	const unsigned char journal[JOURNAL_ID_SIZE], uint64_t first, struct sequence *out,
	struct error *e)
{
	enum err k;

	*out = (struct sequence){ .fd = -1,
		.lines = BUF_INIT(SEQUENCE_HEAD_SIZE + LINES_MAX),
		.end = SEQUENCE_HEAD_SIZE };
	if (!journal_file_is_kept(r, journal))
		return ERR_OK;
	out->fd = journal_file_open(
		r, first & SEQUENCE_ASIDE ? STAGED_ASIDE : STAGED_SEQUENCE, journal);
	if (out->fd < 0)
		return journal_file_failed(e);
	k = journal_file_lock(out->fd, LOCK_EX, LOCK_TRY_MS, call, e);
	if (k == ERR_OK)
		k = read_record(out, e);
	out->is_new = k == ERR_OK && !out->lines.len;
	return k == ERR_OK && first > out->over ? forget_lines(out, e) : k;
}

void sequence_release(struct sequence *s)
{
	cleanup_close(&s->fd);
	s->fd = -1;
	buf_release(&s->lines);
}

/* ---- Asking ---- */

bool sequence_is_over(const struct sequence *s, uint64_t number)
{
	return s->fd >= 0 && number <= s->over;
}

/* "@KIND SENTENCE"; a record of a shell also has a tool's error text. */
static enum err parse_refusal(const char *text, const char **why)
{
	size_t len = strcspn(text, " ");

	*why = text;
	if (*text != '@')
		return ERR_IO;
	*why = text + len + (text[len] == ' ');
	return error_named(text + 1, len - 1);
}

/* Ends the line at `at` with a NUL and returns the start of the next one. */
static size_t end_line(struct buf *record, size_t at)
{
	unsigned char *line = record->bytes + at;
	unsigned char *end = memchr(line, '\n', record->len - at);

	*end = 0;
	return at + (size_t)(end - line) + 1;
}

static struct fate parse_fate(const char *text)
{
	struct fate fate = { .why = "" };

	if (*text != '=')
		fate.err = parse_refusal(text, &fate.why);
	else if ((text = version_read(text, &fate.left)) && *text)
		version_read(text + 1, &fate.over);
	return fate;
}

/* Every line is whole here, so each has its end. */
struct fate sequence_fate(struct sequence *s, uint64_t number)
{
	static const struct fate unknown = { .why = "" };

	while (s->next_line < s->lines.len) {
		char *text, *line = (char *)s->lines.bytes + s->next_line;
		uint64_t recorded = strtoull(line, &text, 10);

		if (recorded > number)
			return unknown;
		s->next_line = end_line(&s->lines, s->next_line);
		if (recorded == number)
			return parse_fate(text + (*text == ' '));
	}
	return unknown;
}

/* ---- Recording ---- */

static enum err write_record(
	struct sequence *s, const char *text, size_t len, off_t at, struct error *e)
{
	ssize_t written = pwrite(s->fd, text, len, at);

	if (written >= 0 && (size_t)written < len)
		errno = ENOSPC;
	return written == (ssize_t)len ? ERR_OK : journal_file_failed(e);
}

static enum err write_head(struct sequence *s, uint64_t number, char state,
	const struct before *before, struct error *e)
{
	char head[SEQUENCE_HEAD_SIZE + 1];

	if (s->fd < 0)
		return ERR_OK;
	snprintf(head, sizeof head, "%20" PRIu64 " %c %20" PRIu64 " %20" PRIu64 "\n", number, state,
		before->size, before->ino);
	return write_record(s, head, SEQUENCE_HEAD_SIZE, 0, e);
}

static enum err add_line(struct sequence *s, const char *line, struct error *e)
{
	size_t len = strlen(line);
	enum err k = s->fd < 0 ? ERR_OK : write_record(s, line, len, s->end, e);

	if (s->fd >= 0 && k == ERR_OK)
		s->end += (off_t)len;
	return k;
}

enum err sequence_begin(
	struct sequence *s, uint64_t number, const struct before *before, struct error *e)
{
	return write_head(s, number, 'b', before, e);
}

enum err sequence_refuse(
	struct sequence *s, uint64_t number, enum err err, const char *why, struct error *e)
{
	char line[LINE_MAX_SIZE];

	snprintf(line, sizeof line, "%" PRIu64 " @%s %s\n", number, error_name(err), why);
	return add_line(s, line, e);
}

enum err sequence_leave(
	struct sequence *s, uint64_t number, const struct fate *fate, struct error *e)
{
	char left[VERSION_TEXT_MAX], over[VERSION_TEXT_MAX], line[LINE_MAX_SIZE];

	version_write(&fate->left, left);
	version_write(&fate->over, over);
	snprintf(line, sizeof line, "%" PRIu64 " %s%s%s\n", number, left,
		fate->over.ctime.tv_sec ? " " : "", fate->over.ctime.tv_sec ? over : "");
	/* No part of a line may remain. */
	if (add_line(s, line, NULL) && ftruncate(s->fd, s->end))
		return journal_file_failed(e);
	return ERR_OK;
}

enum err sequence_end(struct sequence *s, uint64_t number, struct error *e)
{
	return write_head(s, number, 'e', &(struct before){ 0 }, e);
}
