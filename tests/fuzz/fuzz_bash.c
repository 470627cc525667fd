/*
 * Answers of an Agent Infra Sandbox to commands: results, pieces of output, sessions and refusals,
 * their fields as the input says or any text. The input's first byte says how the command is run.
 */
#include "tests/fuzz/scripted_exchange.h"

#include "providers/aio/aio.h"
#include "providers/aio/verdict.h"
#include "providers/base/cleanup.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

/* ---- Answers ---- */

static void put_text(struct buf *out)
{
	static const char *const texts[] = { "completed", "running", "pending", "killed",
		"timed_out", "", "s1", "a\\u0000b", "\\u001b[2J", "c1" };
	uint8_t which = script_byte();
	size_t len;

	buf_add_byte(out, '"');
	if (which < 200) {
		buf_add_string(out, texts[which % 10]);
	} else {
		const uint8_t *bytes = script_bytes(which - 200, &len);

		buf_add(out, bytes, len);
	}
	buf_add_byte(out, '"');
}

static void put_number(struct buf *out)
{
	static const char *const numbers[] = { "0", "1", "5", "-9", "255", "256", "-65",
		"9223372036854775807", "99999999999999999999", "1e3", "0.5" };

	buf_add_string(out, numbers[script_byte() % 11]);
}

static void put_member(struct buf *out, const char *name, bool is_number)
{
	uint8_t how = script_byte();

	if (how < 25)
		return;
	buf_printf(out, "\"%s\":", name);
	if (how > 240)
		buf_add_string(out, how & 1 ? "null" : "[{}]");
	else if (is_number != (how > 225))
		put_number(out);
	else
		put_text(out);
	buf_add_byte(out, ',');
}

static void put_command(struct buf *out)
{
	buf_add_string(out, "\"command\":{");
	put_member(out, "status", false);
	put_member(out, "exit_code", true);
	buf_add_string(out, "\"z\":1},");
}

static void script_answer(const char *url, struct buf *body)
{
	uint8_t how = script_byte();
	size_t len;

	(void)url;
	if (how > 235) {
		const uint8_t *bytes = script_bytes(200, &len);

		buf_add(body, bytes, len);
		return;
	}
	buf_printf(body, "{\"success\":%s,", how % 16 ? "true" : "false");
	put_member(body, "message", false);
	buf_add_string(body, "\"data\":{");
	put_member(body, "session_id", false);
	put_member(body, "command_id", false);
	put_member(body, "status", false);
	put_member(body, "exit_code", true);
	put_member(body, "stdout", false);
	put_member(body, "stderr", false);
	put_member(body, "offset", true);
	put_member(body, "stderr_offset", true);
	if (how & 32)
		put_command(body);
	buf_add_string(body, "\"z\":1}}");
}

/* ---- Commands ---- */

static enum err take_output(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	(void)context, (void)e;
	must(bytes && len && (stream == STREAM_OUT || stream == STREAM_ERR));
	return ERR_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const argv[] = { "echo", "it", NULL };
	static const struct call impatient = { .progress_ms = 1000 };
	static struct http *http;
	struct aio a = { .address = { .id = "localhost_1" } };
	const struct remote_upload upload = { .path = "/f", .bytes = "x", .len = 1 };
	int exit_code = -1;
	enum err kind;

	script = (struct script){ .bytes = data, .left = size };
	if (!http && http_new(&http, "fuzz", NULL))
		abort();
	a.account.http = http;
	must(!rest_init(
		&a.account.rest, http, "aio", "http://127.0.0.1:1", NULL, 0, aio_verdict, NULL));
	must(!sessions_init(&a.sessions, &a.account.rest, a.address.id, NULL));
	for (int times = 0; times < 3; times++) {
		uint8_t how = script_byte();

		if (how % 4 == 0)
			kind = aio_stream(
				&a, &impatient, argv, take_output, NULL, &exit_code, NULL);
		else
			kind = aio_run(&a, &impatient, argv, how & 4 ? RUN_REPEATABLE : 0,
				how & 8 ? &upload : NULL, take_output, NULL, &exit_code, NULL);
		must(kind || (exit_code >= 0 && exit_code <= 255));
	}
	sessions_release(&a.sessions);
	rest_release(&a.account.rest);
	return 0;
}
