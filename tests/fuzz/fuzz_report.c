/*
 * The report of a sandbox's shell at an attach, and the helper's hello behind it. The first byte
 * says how long the pieces are, which must not matter; the second says how the shell ended, the
 * coding of the answer and what standard error takes. The rest is the output.
 */
#include "providers/remote/script.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

struct said {
	const uint8_t *bytes;
	size_t len, step;
	unsigned how;
};

static enum err run(void *context, const struct call *call, const char *const *argv, unsigned flags,
	const struct remote_upload *upload, execute_sink sink, void *sink_context, int *exit_code,
	struct error *e)
{
	const struct said *s = context;
	enum err kind = ERR_OK;

	(void)call, (void)argv, (void)flags, (void)upload;
	if (s->how & 1)
		kind = sink(sink_context, STREAM_ERR, s->bytes, s->len, e);
	for (size_t at = 0; kind == ERR_OK && at < s->len; at += s->step)
		kind = sink(sink_context, STREAM_OUT, s->bytes + at,
			s->len - at < s->step ? s->len - at : s->step, e);
	*exit_code = s->how >> 2;
	return kind;
}

/* Each field that paths and commands are made of is a path. */
static void check(const struct remote_report *r)
{
	must(r->state <= REMOTE_READY && strlen(r->why) < sizeof r->why);
	must(r->home[0] == '/' && r->root[0] == '/' && r->staging[0] == '/');
	must(r->machine && r->place && r->loader);
	if (r->state != REMOTE_READY)
		return;
	must(r->hello.version == WIRE_VERSION && S_ISDIR(r->hello.root.attr.mode));
	must(r->hello.root.attr.ino && r->hello.root.space.block_size);
}

static enum err attach(struct remote_report *out, struct said *s, struct error *e)
{
	const struct remote_ops ops = { .run = run,
		.argument_max = 131071,
		.inline_max = 65536,
		.is_text = s->how & 2,
		.is_live = true,
		.context = s };
	const struct remote_question question = { .images = "x86_64 helper 1" };
	enum err kind = remote_script_run(out, &ops, &question, NULL, e);

	if (kind == ERR_OK)
		check(out);
	else
		must(e->kind == kind && memchr(e->text, 0, sizeof e->text));
	return kind;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_REMOTE_REPORT struct remote_report whole = { 0 }, pieces = { 0 };
	struct error e = { 0 }, again = { 0 };

	if (size < 3)
		return 0;
	struct said s = { data + 2, size - 2, size - 2, data[1] };
	enum err kind = attach(&whole, &s, &e);

	s.step = 1 + data[0] % 64;
	must(attach(&pieces, &s, &again) == kind);
	must(kind || (whole.state == pieces.state && !strcmp(whole.root, pieces.root)));
	return 0;
}
