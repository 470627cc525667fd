/*
 * Runs a program to its end: starts it, and follows both outputs and its end at once. A file that
 * the program waits for comes through the program's input: a shell writes it to the file first.
 * Then the program has no input, since a worker leaves every program's input open. A program whose
 * arguments are too long comes through a shell's input itself.
 */
#include "providers/base/cleanup.h"
#include "providers/modal/modal.h"
#include "providers/remote/text.h"

#include <limits.h>
#include <poll.h>
#include <string.h>

/* Text may be four times as long as the arguments in it, which Linux limits. */
#define TEXT_MAX ((size_t)16 * 1024 * 1024)
/* The room that "/bin/sh -c" leaves. */
#define LINE_MAX_LEN (WORKER_ARGUMENTS_MAX - 16)
#define LEGS         3

struct run {
	struct modal *m;
	const struct call *call;
	struct worker_exec exec;
	struct follower legs[LEGS];
	execute_sink sink;
	void *sink_context;
	enum grpc_status status; /* the failed call's */
	int64_t moved_ms;
};

/* ---- The program's text ---- */

static enum err put_text(struct buf *text, const char *const *argv,
	const struct remote_upload *upload, struct error *e)
{
	static const char store[] = "exec cat >\"$0\"";
	const char *const storing[] = { "/bin/sh", "-c", store, upload ? upload->path : "", NULL };

	if (upload) {
		remote_text_add(text, storing);
		buf_add_string(text, " || exit 127; ");
	}
	remote_text_add(text, argv);
	buf_add_string(text, " </dev/null\n");
	return buf_check(text, "a command", e);
}

/* A program may have stopped reading: then its end says why. */
static enum err feed(struct run *r, const void *bytes, size_t len, struct error *e)
{
	struct error why = { 0 };
	enum err kind = exec_write(&r->exec, r->call, bytes, len, true, &why);

	return kind && kind != ERR_BUSY ? error_set(e, kind, "%s", why.text) : ERR_OK;
}

/* Arguments that are too long are sent as a script to a shell's input. */
static enum err start_long(struct run *r, const struct buf *text, struct error *e)
{
	const char *const shell[] = { "/bin/sh", NULL };
	enum err kind = exec_start(&r->exec, r->m->worker, r->call, shell, &r->status, e);

	return kind ? kind : feed(r, text->bytes, text->len, e);
}

static enum err start(
	struct run *r, const char *const *argv, const struct remote_upload *upload, struct error *e)
{
	AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);
	const char *shell[] = { "/bin/sh", "-c", NULL, NULL };
	enum err kind = put_text(&text, argv, upload, e);

	if (kind)
		return kind;
	shell[2] = buf_text(&text);
	if (!upload && text.len > LINE_MAX_LEN)
		return start_long(r, &text, e);
	kind = exec_start(&r->exec, r->m->worker, r->call, shell, &r->status, e);
	return kind || !upload ? kind : feed(r, upload->bytes, upload->len, e);
}

/* ---- Following the program ---- */

static bool is_over(const struct run *r)
{
	return r->legs[FOLLOW_OUT].is_over && r->legs[FOLLOW_ERR].is_over &&
		r->legs[FOLLOW_EXIT].is_over;
}

/* Half of the call's time without progress; the other half is for asking whether there is life. */
static int64_t quiet_ms(const struct run *r)
{
	return call_progress_ms(r->call) / 2;
}

static int left_ms(const struct run *r)
{
	int64_t left;

	if (call_progress_ms(r->call) < 0)
		return -1;
	left = r->moved_ms + quiet_ms(r) - monotonic_ms();
	return left < 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
}

/*
 * An open connection may be dead although a new one works. Each stream is opened again at its
 * offset.
 */
static enum err reopen(struct run *r, struct error *e)
{
	enum err kind = ERR_OK;

	for (size_t i = 0; i < LEGS && !kind; i++) {
		follow_end(&r->legs[i]);
		kind = follow_begin(&r->legs[i], r->call, e);
	}
	return kind;
}

/* A program may be silent for any time, but its worker may not. */
static enum err feel_pulse(struct run *r, struct error *e)
{
	const struct call rest = { .progress_ms = call_progress_ms(r->call) - quiet_ms(r),
		.cancel = r->call ? r->call->cancel : NULL };
	bool has_ended;
	enum err kind = exec_poll(&r->exec, &rest, &has_ended, &r->status, e);

	r->moved_ms = monotonic_ms();
	if (!kind)
		call_moved(r->call);
	return !kind && has_ended ? reopen(r, e) : kind;
}

static enum err wait_for_any(struct run *r, struct pollfd fds[LEGS + 1], struct error *e)
{
	for (size_t i = 0; i < LEGS; i++)
		fds[i] = (struct pollfd){ .fd = follower_fd(&r->legs[i]), .events = POLLIN };
	fds[LEGS] = (struct pollfd){ .fd = r->call && r->call->cancel ? r->call->cancel->fd : -1,
		.events = POLLIN };
	if (poll(fds, LEGS + 1, left_ms(r)) == 0)
		return feel_pulse(r, e);
	return fds[LEGS].revents ? error_set(e, ERR_INTERRUPTED, "modal: interrupted") : ERR_OK;
}

static enum err take_turn(struct run *r, struct error *e)
{
	struct pollfd fds[LEGS + 1];
	enum err kind = wait_for_any(r, fds, e);

	for (size_t i = 0; i < LEGS && !kind; i++) {
		if (!fds[i].revents)
			continue;
		r->moved_ms = monotonic_ms();
		kind = follow(&r->legs[i], r->call, r->sink, r->sink_context, &r->status, e);
	}
	return kind;
}

static enum err follow_all(struct run *r, struct error *e)
{
	enum err kind = ERR_OK;

	for (size_t i = 0; i < LEGS && !kind; i++) {
		r->legs[i] = (struct follower){ .exec = &r->exec, .kind = (enum follow_kind)i };
		kind = follow_begin(&r->legs[i], r->call, e);
	}
	r->moved_ms = call_since_ms(r->call);
	while (!kind && !is_over(r))
		kind = take_turn(r, e);
	for (size_t i = 0; i < LEGS; i++)
		follow_end(&r->legs[i]);
	return kind;
}

/* ---- For remote.h ---- */

/* Whether the arguments may be too long once they are text; a shell's input is used then. */
static bool is_long(const char *const *argv)
{
	size_t len = 0;

	for (; *argv; argv++)
		len += strlen(*argv);
	return len > WORKER_ARGUMENTS_MAX / 8;
}

/* Nothing here is done twice, whatever breaks, so `flags` make no difference. */
enum err modal_run(void *context, const struct call *call, const char *const *argv, unsigned flags,
	const struct remote_upload *upload, execute_sink sink, void *sink_context, int *exit_code,
	struct error *e)
{
	struct run r = { .m = context,
		.call = call,
		.sink = sink,
		.sink_context = sink_context,
		.status = GRPC_LOCAL };
	enum err kind = attachment_check(&r.m->at, e);
	struct error why = { 0 };

	(void)flags;
	if (!kind && upload && is_long(argv)) {
		kind = modal_upload(context, call, upload, e);
		upload = NULL;
	}
	if (kind)
		return kind;
	kind = start(&r, argv, upload, &why);
	if (!kind)
		kind = follow_all(&r, &why);
	if (!kind)
		*exit_code = r.legs[FOLLOW_EXIT].exit_code;
	else if (e)
		*e = why;
	return modal_explain(r.m, call, kind, r.status, e);
}

static enum err ignore(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	(void)context, (void)stream, (void)bytes, (void)len, (void)e;
	return ERR_OK;
}

enum err modal_upload(
	void *context, const struct call *call, const struct remote_upload *upload, struct error *e)
{
	static const char *const nothing[] = { "true", NULL };
	int exit_code;
	enum err kind = modal_run(context, call, nothing, 0, upload, ignore, NULL, &exit_code, e);

	return !kind && exit_code ? error_set(e, ERR_NOT_FOUND, "%s cannot be stored", upload->path)
				  : kind;
}
