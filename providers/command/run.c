/* Programs in the sandbox: each is a session of its own; the session of the helper stays. */
#include "providers/base/cleanup.h"
#include "providers/command/command.h"
#include "providers/command/engine.h"
#include "providers/errno_words.h"
#include "providers/remote/text.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>

/* Quoted text may be four times as long as the original, whose length Linux bounds. */
#define TEXT_MAX ((size_t)16 * 1024 * 1024)
/* More words than any caller passes. */
#define ARGC_MAX 1024

/* ---- A shell's line ---- */

/* The shell becomes the program by exec. */
static enum err put_text(
	struct buf *text, const char *const *argv, const char *rest, struct error *e)
{
	const char *words[ARGC_MAX + 2] = { "exec" };
	size_t count = 1;

	for (; argv[count - 1] && count <= ARGC_MAX; count++)
		words[count] = argv[count - 1];
	if (argv[count - 1])
		return error_set(e, ERR_TOO_LARGE, "more than %d words", ARGC_MAX);
	remote_text_add(text, words);
	buf_add_string(text, rest);
	return buf_check(text, "a command", e);
}

static enum err start_program(struct command *c, struct session *s, unsigned flags,
	const struct call *call, struct error *e)
{
	bool asks = !c->at.has_remote;
	AUTO_WORDS struct words words = { 0 };
	struct error why = { 0 };
	enum err kind = !asks && c->transport->check ? c->transport->check(c, call, e) : ERR_OK;

	if (kind)
		return kind;
	c->transport->put_words(c, asks, &words);
	kind = session_start(s, &words, flags | (asks ? 0 : SESSION_APART), &why);
	if (kind == ERR_NOT_FOUND)
		return command_lacks(c, words.argv[0], e);
	return kind ? command_verdict(c, s, &why, e) : ERR_OK;
}

static enum err begin(struct command *c, struct session *s, unsigned flags, const struct call *call,
	const struct buf *text, struct error *e)
{
	struct error why = { 0 };
	enum err kind =
		c->engine ? engine_exec(c, s, flags, call, e) : start_program(c, s, flags, call, e);

	if (kind)
		return kind;
	kind = session_open(s, call, text, &why);
	return kind ? command_verdict(c, s, &why, e) : ERR_OK;
}

/* ---- Running a program to its end ---- */

struct output {
	struct session *session;
	execute_sink sink;
	void *context;
	bool is_refused;
};

static enum err pass_on(
	void *context, bool is_error, const void *bytes, size_t len, struct error *e)
{
	struct output *o = context;
	enum err kind = o->sink(o->context, is_error ? STREAM_ERR : STREAM_OUT, bytes, len, e);

	if (is_error && o->session->said.len + len <= SESSION_SAID_MAX)
		buf_add(&o->session->said, bytes, len);
	o->is_refused = kind != ERR_OK;
	return kind;
}

static enum err follow(struct command *c, struct session *s, const struct call *call,
	struct output *o, int *exit_code, struct error *e)
{
	struct error why = { 0 };
	enum err kind;

	buf_reset(&s->said);
	kind = session_follow(s, call, pass_on, o, exit_code, &why);
	if (o->is_refused)
		return error_set(e, kind, "%s", why.text);
	if (!kind && *exit_code && *exit_code == c->transport->lost_code)
		kind = error_set(&why, ERR_UNREACHABLE, "the session ended");
	return kind ? command_verdict(c, s, &why, e) : ERR_OK;
}

enum err command_run(void *context, const struct call *call, const char *const *argv,
	unsigned flags, const struct remote_upload *upload, execute_sink sink, void *sink_context,
	int *exit_code, struct error *e)
{
	struct command *c = context;
	AUTO_SESSION struct session s = SESSION_NONE;
	AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);
	struct output o = { &s, sink, sink_context, false };
	enum err kind = attachment_check(&c->at, e);

	(void)flags;
	if (!kind)
		kind = put_text(&text, argv, " </dev/null", e);
	if (!kind && upload)
		kind = command_upload(c, call, upload, e);
	if (!kind)
		kind = begin(c, &s, 0, call, &text, e);
	return kind ? kind : follow(c, &s, call, &o, exit_code, e);
}

/* ---- Files ---- */

static enum err keep_said(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	(void)context, (void)stream, (void)bytes, (void)len, (void)e;
	return ERR_OK;
}

enum err command_upload(
	void *context, const struct call *call, const struct remote_upload *upload, struct error *e)
{
	const char *const store[] = { "/bin/sh", "-c", "exec cat >\"$0\"", upload->path, NULL };
	struct command *c = context;
	AUTO_SESSION struct session s = SESSION_NONE;
	AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);
	struct output o = { &s, keep_said, NULL, false };
	struct error why = { 0 };
	int exit_code;
	enum err kind = put_text(&text, store, "", e);

	if (!kind)
		kind = begin(c, &s, 0, call, &text, e);
	if (kind)
		return kind;
	kind = session_send(&s, call, upload->bytes, upload->len, &why);
	if (kind && kind != ERR_UNREACHABLE)
		return command_verdict(c, &s, &why, e);
	session_send_end(&s);
	kind = follow(c, &s, call, &o, &exit_code, e);
	if (kind || !exit_code)
		return kind;
	return error_set(e, errno_words_kind(buf_text(&s.said), ERR_NOT_FOUND),
		"%s cannot be stored: %.*s", upload->path, (int)strcspn(buf_text(&s.said), "\n"),
		buf_text(&s.said));
}

/* ---- A helper that stays ---- */

static void remember(struct command *c, pid_t pid)
{
	pid_t oldest;

	pthread_mutex_lock(&c->kept_lock);
	for (size_t i = 0; i < KEPT_MAX; i++)
		if (c->kept[i] && waitpid(c->kept[i], NULL, WNOHANG) == c->kept[i])
			c->kept[i] = 0;
	oldest = c->kept[0];
	memmove(c->kept, c->kept + 1, sizeof c->kept - sizeof *c->kept);
	c->kept[KEPT_MAX - 1] = pid;
	pthread_mutex_unlock(&c->kept_lock);
	if (oldest)
		session_reap(oldest);
}

void command_reap_kept(struct command *c)
{
	for (size_t i = 0; i < KEPT_MAX; i++)
		if (c->kept[i])
			session_reap(c->kept[i]);
}

enum err command_keep(
	void *context, const struct call *call, const char *const *argv, int *fd, struct error *e)
{
	struct command *c = context;
	AUTO_SESSION struct session s = SESSION_NONE;
	AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);
	pid_t pid;
	enum err kind = attachment_check(&c->at, e);

	if (!kind)
		kind = put_text(&text, argv, " 2>/dev/null", e);
	if (!kind)
		kind = begin(c, &s, SESSION_KEPT, call, &text, e);
	if (kind == ERR_TIMEOUT)
		c->way++;
	if (kind)
		return kind;
	session_take(&s, fd, &pid);
	if (pid)
		remember(c, pid);
	return ERR_OK;
}
