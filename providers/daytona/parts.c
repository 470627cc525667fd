#include "providers/daytona/parts.h"

#include "providers/rest.h"

#include <stdlib.h>
#include <string.h>

/* RFC 2046: a boundary has 70 characters at most. */
#define DELIMITER_MAX 80
#define HEADER_MAX    ((size_t)64 * 1024)
#define REFUSAL_MAX   ((size_t)64 * 1024)

void parts_init(struct parts_reader *p, parts_sink sink, void *context)
{
	*p = (struct parts_reader){ .held = BUF_INIT(HEADER_MAX + DELIMITER_MAX),
		.delimiter = BUF_INIT(DELIMITER_MAX),
		.refusal = BUF_INIT(REFUSAL_MAX),
		.sink = sink,
		.sink_context = context };
}

void parts_release(struct parts_reader *p)
{
	buf_release(&p->held);
	buf_release(&p->delimiter);
	buf_release(&p->refusal);
}

static enum err no_form(struct error *e)
{
	return error_set(e, ERR_PROTOCOL, "daytona: a downloaded file is no form in parts");
}

/* ---- Contents ---- */

static enum err give(struct parts_reader *p, const void *bytes, size_t len, struct error *e)
{
	if (!len)
		return ERR_OK;
	if (!p->is_error)
		return p->sink(p->sink_context, bytes, len, e);
	buf_add(&p->refusal, bytes, len);
	return buf_check(&p->refusal, "a download's refusal", e);
}

/* Of what is held, as much as belongs to the contents for sure. */
static enum err give_held(struct parts_reader *p, size_t len, struct error *e)
{
	enum err kind = give(p, p->held.bytes, len, e);

	buf_consume(&p->held, len);
	return kind;
}

static enum err scan(struct parts_reader *p, bool *is_stuck, struct error *e)
{
	const struct buf *held = &p->held, *mark = &p->delimiter;
	const unsigned char *found =
		held->len ? memmem(held->bytes, held->len, mark->bytes, mark->len) : NULL;
	size_t before = found ? (size_t)(found - held->bytes)
			      : held->len - (held->len < mark->len ? held->len : mark->len - 1);
	enum err kind = give_held(p, before, e);

	*is_stuck = !found;
	if (found) {
		buf_consume(&p->held, mark->len);
		p->state = PARTS_BEHIND;
	}
	return kind;
}

/* ---- Lines ---- */

/* The length of the first line that is held, without its end; `len` of all where there is none yet. */
static size_t line_len(const struct buf *held)
{
	const unsigned char *end = held->len ? memmem(held->bytes, held->len, "\r\n", 2) : NULL;

	return end ? (size_t)(end - held->bytes) : held->len;
}

static enum err take_boundary(struct parts_reader *p, size_t len, struct error *e)
{
	if (len < 3 || memcmp(p->held.bytes, "--", 2))
		return no_form(e);
	buf_add_string(&p->delimiter, "\r\n");
	buf_add(&p->delimiter, p->held.bytes, len);
	p->state = PARTS_HEADER;
	return p->delimiter.failed ? no_form(e) : ERR_OK;
}

static void take_header(struct parts_reader *p, const char *line)
{
	static const char length[] = "content-length:", disposition[] = "content-disposition:";

	if (!strncasecmp(line, length, strlen(length)))
		p->left = strtoull(line + strlen(length), NULL, 10);
	else if (!strncasecmp(line, disposition, strlen(disposition)))
		p->is_error = strstr(line, "; name=\"error\"") != NULL;
}

static void begin_contents(struct parts_reader *p)
{
	p->has_file |= !p->is_error;
	p->state = PARTS_COUNTED;
}

static enum err take_line(struct parts_reader *p, size_t len, struct error *e)
{
	enum err kind = ERR_OK;

	if (p->state == PARTS_BOUNDARY) {
		kind = take_boundary(p, len, e);
	} else if (len) {
		p->held.bytes[len] = 0; /* instead of its end */
		take_header(p, (const char *)p->held.bytes);
	} else {
		begin_contents(p);
	}
	buf_consume(&p->held, len + 2);
	return kind;
}

/* ---- Steps: each takes some of what is held, or needs more ---- */

static enum err step_line(struct parts_reader *p, bool *is_stuck, struct error *e)
{
	size_t len = line_len(&p->held);

	*is_stuck = len == p->held.len;
	if (*is_stuck)
		return len >= HEADER_MAX ? no_form(e) : ERR_OK;
	return take_line(p, len, e);
}

static enum err step_counted(struct parts_reader *p, bool *is_stuck, struct error *e)
{
	size_t len = p->left < p->held.len ? (size_t)p->left : p->held.len;

	p->left -= len;
	*is_stuck = p->left > 0;
	if (!p->left)
		p->state = PARTS_SCANNED;
	return give_held(p, len, e);
}

static enum err step_behind(struct parts_reader *p, bool *is_stuck, struct error *e)
{
	*is_stuck = p->held.len < 2;
	if (*is_stuck)
		return ERR_OK;
	if (!memcmp(p->held.bytes, "--", 2))
		p->state = PARTS_CLOSED;
	else if (!memcmp(p->held.bytes, "\r\n", 2))
		p->state = PARTS_HEADER;
	else
		return no_form(e);
	p->left = 0;
	p->is_error = false;
	buf_consume(&p->held, 2);
	return ERR_OK;
}

static enum err step(struct parts_reader *p, bool *is_stuck, struct error *e)
{
	switch (p->state) {
	case PARTS_BOUNDARY:
	case PARTS_HEADER: return step_line(p, is_stuck, e);
	case PARTS_COUNTED: return step_counted(p, is_stuck, e);
	case PARTS_SCANNED: return scan(p, is_stuck, e);
	case PARTS_BEHIND: return step_behind(p, is_stuck, e);
	case PARTS_CLOSED: break;
	}
	/* What follows the closing boundary means nothing. */
	buf_reset(&p->held);
	*is_stuck = true;
	return ERR_OK;
}

static enum err run(struct parts_reader *p, struct error *e)
{
	bool is_stuck = false;
	enum err kind = ERR_OK;

	while (!kind && !is_stuck)
		kind = step(p, &is_stuck, e);
	return kind;
}

enum err parts_take(struct parts_reader *p, const void *bytes, size_t len, struct error *e)
{
	enum err kind = ERR_OK;

	while (!kind && len) {
		size_t piece = len < HEADER_MAX / 2 ? len : HEADER_MAX / 2;

		/* Large contents are not copied. */
		if (p->state == PARTS_COUNTED && !p->held.len && p->left >= piece) {
			p->left -= piece;
			kind = give(p, bytes, piece, e);
		} else {
			buf_add(&p->held, bytes, piece);
			kind = buf_check(&p->held, "a download", e);
			if (!kind)
				kind = run(p, e);
		}
		bytes = (const unsigned char *)bytes + piece;
		len -= piece;
	}
	return kind;
}

/* ---- The end ---- */

static const struct {
	const char *code;
	enum err kind;
} codes[] = {
	{ "FILE_NOT_FOUND", ERR_NOT_FOUND },
	{ "FILE_ACCESS_DENIED", ERR_DENIED },
	{ "INVALID_FILE_PATH", ERR_INVALID },
};

/* Daemons before 0.163 tell it as plain text. */
static enum err refused(const struct buf *refusal, struct error *e)
{
	AUTO_JSON struct json_object *json = NULL;
	enum err kind = ERR_IO;

	rest_parse(refusal, &json);
	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
		if (!strcmp(rest_text(json, "code", ""), codes[i].code))
			kind = codes[i].kind;
	return error_set(e, kind, "daytona: downloading a file: %.250s",
		rest_text(json, "message", buf_text(refusal)));
}

enum err parts_end(struct parts_reader *p, struct error *e)
{
	if (p->state != PARTS_CLOSED)
		return error_set(
			e, ERR_UNREACHABLE, "daytona: a downloaded file was cut short on its way");
	if (p->refusal.len)
		return refused(&p->refusal, e);
	return p->has_file ? ERR_OK : no_form(e);
}
