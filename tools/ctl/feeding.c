#include "tools/ctl/feeding.h"

#include "providers/base/thread.h"

#include "tools/command_call.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define SCRIPT_MAX    ((size_t)64 * 1024)
#define COMPLAINT_MAX ((size_t)512)
/* After giving up, files that no process uses are not worth a longer wait. */
#define REMOVE_MS 700

bool feeding_is_possible(const struct provider *p, const char *command)
{
	return p->staging && strlen(command) < INPUT_PIPE_COMMAND_MAX;
}

/* ---- A piece ---- */

static enum err note_complaint(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	(void)stream, (void)e;
	buf_add(context, bytes, len);
	return ERR_OK;
}

/* *is_read: the command reads the pipe, or will. Bytes that it cannot take yet are kept. */
static enum err offer_piece(struct feeding *f, bool *is_read, struct error *e)
{
	const struct call silent = command_call(f->provider, &f->call);
	AUTO_BUF struct buf script = BUF_INIT(SCRIPT_MAX), complaint = BUF_INIT(COMPLAINT_MAX);
	struct input *in = f->input;
	struct execute_request request = { .input = in->bytes.bytes, .input_len = in->bytes.len };
	struct execute_result result = { 0 };
	enum err kind;

	input_pipe_feed(&script, f->base,
		(f->is_begun ? 0 : INPUT_PIPE_AWAIT) | (in->has_ended ? INPUT_PIPE_LAST : 0));
	request.command = buf_text(&script);
	kind = buf_check(&script, "a script", e);
	if (!kind)
		kind = provider_execute(
			f->provider, &silent, &request, note_complaint, &complaint, &result, e);
	if (kind)
		return kind;
	f->is_begun = !result.has_exit_code || result.exit_code != INPUT_PIPE_NOT_YET;
	*is_read = result.exit_code != INPUT_PIPE_GONE;
	if (f->is_begun)
		buf_consume(&in->bytes, in->bytes.len);
	if (f->is_begun && (!result.has_exit_code || (*is_read && result.exit_code)))
		return error_set(e, ERR_IO, "%.300s",
			complaint.len ? buf_text(&complaint) : "the sandbox does not take it");
	return ERR_OK;
}

/* Repeats until the command starts, however late: the command's end cancels the call. */
static enum err send_piece(struct feeding *f, bool *is_read, struct error *e)
{
	enum err kind = offer_piece(f, is_read, e);

	while (!kind && !f->is_begun)
		kind = offer_piece(f, is_read, e);
	return kind;
}

/* ---- The thread ---- */

static void *feed(void *context)
{
	struct feeding *f = context;
	struct error why = { 0 };
	bool is_read = true;
	enum err kind = f->input->bytes.len ? send_piece(f, &is_read, &why) : ERR_OK;

	while (!kind && is_read && !f->input->has_ended) {
		kind = input_await(f->input, &f->call, &why);
		if (!kind && (f->input->bytes.len || f->input->has_ended))
			kind = send_piece(f, &is_read, &why);
	}
	if (kind && kind != ERR_INTERRUPTED) {
		error_set(&f->error, kind, "standard input: %s", why.text);
		cancel_throw(&f->over);
	}
	return NULL;
}

/* No SIGTTIN stops the thread where the terminal is another process group's. */
static enum err start_thread(struct feeding *f, struct error *e)
{
	int failure = thread_start(&f->thread, feed, f);

	f->has_thread = !failure;
	return failure ? error_errno(e, failure, "cannot start a thread") : ERR_OK;
}

enum err feeding_begin(struct feeding *f, struct provider *p, const struct call *call,
	struct input *input, struct error *e)
{
	enum err kind = input_pipe_base(f->base, p->staging, e);

	f->provider = p;
	f->input = input;
	if (!kind)
		kind = cancel_init(&f->over, e);
	if (!kind)
		kind = cancel_join(&f->both, &f->over, call->cancel, e);
	f->call = *call;
	f->call.cancel = &f->both;
	return kind ? kind : start_thread(f, e);
}

/* ---- End ---- */

/* A command that is given up, or that timed out, may be killed before it removes its pipes. */
static void remove_pipes(const struct feeding *f)
{
	const struct call brief = { .progress_ms = REMOVE_MS };
	static const char *const ends[] = INPUT_PIPE_ENDS;
	enum { COUNT = sizeof ends / sizeof *ends - 1 };
	struct change changes[COUNT];
	struct change_result results[COUNT];
	char paths[COUNT][sizeof f->base];

	for (size_t i = 0; i < COUNT; i++) {
		snprintf(paths[i], sizeof paths[i], "%s%s", strrchr(f->base, '/'), ends[i]);
		changes[i] = (struct change){ .op = CHANGE_UNLINK, .path = paths[i] };
	}
	provider_apply(f->provider, &brief,
		&(struct apply_request){ .changes = changes, .changes_count = COUNT }, results,
		NULL);
}

void feeding_release(struct feeding *f)
{
	if (f->has_thread) {
		cancel_throw(&f->over);
		pthread_join(f->thread, NULL);
	}
	f->has_thread = false;
	cancel_release(&f->both);
	cancel_release(&f->over);
}

enum err feeding_end(struct feeding *f, enum err kind, bool is_killed, struct error *e)
{
	feeding_release(f);
	if (kind || is_killed)
		remove_pipes(f);
	if (kind == ERR_INTERRUPTED && f->error.kind)
		return error_set(e, f->error.kind, "%s", f->error.text);
	return kind;
}
