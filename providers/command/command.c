#include "providers/command/command.h"

#include "providers/base/cleanup.h"
#include "providers/command/engine.h"

#include <stdio.h>
#include <string.h>

/* The longest argument on Linux. */
#define ARGUMENT_MAX 131071
/* The longest answer of a program of this machine. */
#define ANSWER_MAX ((size_t)1024 * 1024)

static struct command *command_of(struct provider *p)
{
	return (struct command *)p;
}

/* ---- Asking a program of this machine ---- */

static enum err take_answer(
	void *context, bool is_error, const void *bytes, size_t len, struct error *e)
{
	(void)is_error, (void)e;
	buf_add(context, bytes, len);
	return ERR_OK;
}

/* No input at all ends as well: a program that reads some does not wait for it. */
static enum err feed(
	struct session *s, const struct call *call, const struct buf *input, struct error *e)
{
	enum err kind = input ? session_send(s, call, input->bytes, input->len, e) : ERR_OK;

	session_send_end(s);
	return kind == ERR_UNREACHABLE ? ERR_OK
				       : kind; /* the exit says why the program reads no more */
}

/* Standard error is kept, not followed: a program that only complains makes no progress. */
static enum err ask(struct command *c, const struct call *call, const struct words *words, int file,
	const struct buf *input, struct buf *out, struct error *e)
{
	AUTO_SESSION struct session s = SESSION_NONE;
	struct error why = { 0 };
	int exit_code = 0;
	enum err kind;

	s.file = file;
	kind = session_start(&s, words, SESSION_KEPT | (c->asks_nobody ? SESSION_APART : 0), &why);
	if (kind == ERR_NOT_FOUND)
		return command_lacks(c, words->argv[0], e);
	if (!out->max)
		out->max = ANSWER_MAX;
	if (!kind)
		kind = feed(&s, call, input, &why);
	if (!kind)
		kind = session_follow(&s, call, take_answer, out, &exit_code, &why);
	if (!kind && exit_code)
		kind = error_set(&why, ERR_UNREACHABLE, "%s ended with exit code %d",
			words->argv[0], exit_code);
	return kind ? command_verdict(c, &s, &why, e) : buf_check(out, "an answer", e);
}

enum err command_ask(struct command *c, const struct call *call, const struct words *words,
	struct buf *out, struct error *e)
{
	return ask(c, call, words, -1, NULL, out, e);
}

enum err command_ask_with(struct command *c, const struct call *call, const struct words *words,
	int file, struct buf *out, struct error *e)
{
	return ask(c, call, words, file, NULL, out, e);
}

enum err command_ask_fed(struct command *c, const struct call *call, const struct words *words,
	const struct buf *input, struct buf *out, struct error *e)
{
	return ask(c, call, words, -1, input, out, e);
}

/* ---- Life of a connection ---- */

void command_release(struct provider *p)
{
	struct command *c = command_of(p);

	attachment_detach(&c->at);
	if (c->transport && c->transport->close)
		c->transport->close(c);
	command_reap_kept(c);
	engine_close(c->engine);
	free(c->denied);
	words_release(&c->options);
	pthread_mutex_destroy(&c->kept_lock);
	attachment_free(&c->at);
}

enum err command_new(struct command **out, const struct provider_ops *ops,
	const struct transport *transport, const struct provider_config *cfg, struct error *e)
{
	AUTO_ATTACHMENT struct command *c = attachment_new(sizeof *c, ops, cfg, e);

	if (!c)
		return ERR_NO_MEMORY;
	pthread_mutex_init(&c->kept_lock, NULL);
	c->transport = transport;
	c->asks_nobody = cfg->asks_nobody;
	if (!cfg->id)
		return error_set(e, ERR_INVALID, "%s: no sandbox is named", ops->name);
	if (strlen(cfg->id) >= sizeof c->given)
		return error_set(e, ERR_INVALID, "%s: '%.100s...' is too long", ops->name, cfg->id);
	strcpy(c->given, cfg->id);
	strcpy(c->at.id, cfg->id);
	if (transport->socket) {
		enum err kind = engine_open(c, transport->socket(), e);

		if (kind)
			return kind;
	}
	*out = take(c);
	return ERR_OK;
}

enum err command_connect(const struct provider_ops *ops, const struct transport *transport,
	const struct provider_config *cfg, const struct call *call, struct provider **out,
	struct error *e)
{
	static const struct remote_ops remote = { .run = command_run,
		.upload = command_upload,
		.keep = command_keep,
		.argument_max = ARGUMENT_MAX,
		.inline_max = ARGUMENT_MAX,
		.is_live = true };
	AUTO_ATTACHMENT struct command *c = NULL;
	enum err kind = command_new(&c, ops, transport, cfg, e);

	if (!kind && transport->open)
		kind = transport->open(c, cfg, call, e);
	if (!kind && !cfg->account_only)
		kind = attachment_attach(&c->at, &remote, cfg, transport->working_dir, call, e);
	if (!kind)
		*out = &take(c)->at.base;
	return kind;
}

enum err command_offer_ids(const struct provider_ops *ops, const struct transport *transport,
	const struct call *call, id_sink sink, void *context, struct error *e)
{
	const struct provider_config all = { .id = "", .asks_nobody = true };
	AUTO_ATTACHMENT struct command *c = NULL;
	AUTO_WORDS struct words words = { 0 };
	AUTO_BUF struct buf answer = { 0 };
	enum err kind = command_new(&c, ops, transport, &all, e);
	char *line, *rest;

	words_add_all(&words, transport->names);
	if (!kind)
		kind = command_ask(c, call, &words, &answer, e);
	if (kind)
		return kind;
	buf_text(&answer);
	rest = (char *)answer.bytes;
	while ((line = strsep(&rest, "\n")))
		if (*line)
			sink(context, line);
	return ERR_OK;
}

enum err command_info(
	struct provider *p, const struct call *call, struct sandbox_info *out, struct error *e)
{
	struct command *c = command_of(p);
	enum err kind = ERR_OK;

	*out = (struct sandbox_info){ .state = SANDBOX_RUNNING, .expires_s = -1 };
	if (c->transport->state)
		kind = c->transport->state(c, call, out, e);
	attachment_describe(&c->at, out);
	return kind;
}
