#include "fs/control/exec_response.h"

#include "providers/base/utf8.h"
#include "providers/json.h"

#include <stdatomic.h>
#include <stdlib.h>

/*
 * This much of each stream always finds room: six bytes for each printed one, and base64; each
 * twice.
 */
#define LIMIT_MIN (EXEC_RESPONSE_MAX / 64)

struct exec_response {
	atomic_uint references;
	struct buf text;
};

/* The two streams as one text: standard output, then standard error on a line of its own. */
static void join(struct buf *out, const struct buf *first, const struct buf *second)
{
	buf_add(out, first->bytes, first->len);
	if (first->len && second->len)
		buf_add_byte(out, '\n');
	buf_add(out, second->bytes, second->len);
}

static bool is_text(const struct buf *bytes)
{
	return utf8_valid(bytes->bytes, bytes->len);
}

static void put_facts(struct json_writer *w, const struct exec_outcome *outcome, bool truncated)
{
	if (outcome->has_exit_code)
		json_put_integer(w, "exit_code", outcome->exit_code);
	else
		json_put_null(w, "exit_code");
	json_put_boolean(w, "truncated", truncated);
	json_put_boolean(w, "timed_out", outcome->timed_out);
	if (outcome->error)
		json_put_text(w, "error", outcome->error);
	else
		json_put_null(w, "error");
	json_put_integer(w, "duration_ms", outcome->duration_ms);
}

static bool write_whole(struct buf *out, const struct exec_outcome *outcome,
	const struct exec_capture *stdout_bytes, const struct exec_capture *stderr_bytes)
{
	AUTO_BUF struct buf joined = BUF_INIT(EXEC_CAPTURE_MAX * 2 + 1);
	struct json_writer w = { .out = out };

	join(&joined, &stdout_bytes->bytes, &stderr_bytes->bytes);
	json_put_open(&w, NULL);
	json_put_bytes(&w, "output", joined.bytes, joined.len);
	json_put_bytes(&w, "stdout", stdout_bytes->bytes.bytes, stdout_bytes->bytes.len);
	json_put_bytes(&w, "stderr", stderr_bytes->bytes.bytes, stderr_bytes->bytes.len);
	put_facts(&w, outcome, stdout_bytes->truncated || stderr_bytes->truncated);
	if (!is_text(&stdout_bytes->bytes) || !is_text(&stderr_bytes->bytes)) {
		json_put_base64(&w, "output_b64", joined.bytes, joined.len);
		json_put_base64(
			&w, "stdout_b64", stdout_bytes->bytes.bytes, stdout_bytes->bytes.len);
		json_put_base64(
			&w, "stderr_b64", stderr_bytes->bytes.bytes, stderr_bytes->bytes.len);
	}
	json_put_close(&w);
	return buf_add_byte(out, '\n') && !joined.failed;
}

static void write_without_output(struct buf *out, struct exec_outcome outcome)
{
	struct json_writer w = { .out = out };

	outcome.error = "no memory for the output";
	buf_reset(out);
	json_put_open(&w, NULL);
	json_put_text(&w, "output", "");
	json_put_text(&w, "stdout", "");
	json_put_text(&w, "stderr", "");
	put_facts(&w, &outcome, true);
	json_put_close(&w);
	buf_add_byte(out, '\n');
}

/* Cuts bytes of a stream, of the longer one first. */
static bool shrink(struct exec_capture *a, struct exec_capture *b)
{
	struct exec_capture *longer = a->bytes.len >= b->bytes.len ? a : b;

	if (!longer->bytes.len)
		return false;
	while (longer->limit >= longer->bytes.len)
		longer->limit /= 2;
	exec_capture_end(longer);
	return longer->limit >= LIMIT_MIN;
}

struct exec_response *exec_response_new(const struct exec_outcome *outcome,
	struct exec_capture *stdout_bytes, struct exec_capture *stderr_bytes)
{
	struct exec_response *r = calloc(1, sizeof *r);
	bool is_written;

	if (!r)
		return NULL;
	*r = (struct exec_response){ .references = 1, .text = BUF_INIT(EXEC_RESPONSE_MAX) };
	is_written = write_whole(&r->text, outcome, stdout_bytes, stderr_bytes);
	while (!is_written && shrink(stdout_bytes, stderr_bytes)) {
		buf_reset(&r->text);
		is_written = write_whole(&r->text, outcome, stdout_bytes, stderr_bytes);
	}
	if (!is_written)
		write_without_output(&r->text, *outcome);
	return r;
}

struct exec_response *exec_response_get(struct exec_response *r)
{
	if (r)
		atomic_fetch_add(&r->references, 1);
	return r;
}

void exec_response_put(struct exec_response *r)
{
	if (!r || atomic_fetch_sub(&r->references, 1) > 1)
		return;
	buf_release(&r->text);
	free(r);
}

const struct buf *exec_response_text(const struct exec_response *r)
{
	return &r->text;
}
