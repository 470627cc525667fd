/*
 * logs.c - sandboxctl logs: what the vendor has logged of a sandbox.
 */
#include "providers/base/cleanup.h"
#include "tools/ctl/each.h"
#include "tools/ctl/sandboxes.h"
#include "tools/say.h"

/* A vendor's answer, each byte escaped. */
#define JSON_MAX ((size_t)128 * 1024 * 1024)

static enum err print_line(void *context, const struct log_line *line, struct error *e)
{
	(void)context;
	if (say(stdout, "%s%s%s%s%s", line->time, *line->time ? " " : "", line->kind,
		    *line->kind ? ": " : "", line->text))
		return ERR_OK;
	return error_errno(e, errno, "standard output");
}

static enum err add_line(void *context, const struct log_line *line, struct error *e)
{
	struct json_writer *w = context;

	json_put_open(w, NULL);
	if (*line->time)
		json_put_text(w, "time", line->time);
	if (*line->kind)
		json_put_text(w, "kind", line->kind);
	json_put_text(w, "message", line->text);
	json_put_close(w);
	return buf_check(w->out, "a log", e);
}

static enum err print_list(const struct target *t, struct error *e)
{
	AUTO_BUF struct buf json = BUF_INIT(JSON_MAX);
	struct json_writer w = { .out = &json };
	enum err kind;

	json_put_open_list(&w, NULL);
	kind = provider_logs(t->provider, &t->call, add_line, &w, e);
	json_put_close_list(&w);
	return kind ? kind : print_json(&json, stdout, e);
}

static enum err show(struct target *t, void *context, struct error *e)
{
	const bool *is_json = context;
	enum err kind = target_reach_account(t, e);

	if (kind)
		return kind;
	return *is_json ? print_list(t, e)
			: provider_logs(t->provider, &t->call, print_line, NULL, e);
}

static enum err run(struct ctl_run *run, struct error *e)
{
	struct ctl_common common;
	char **words = NULL;
	enum err kind = ctl_parse(run, &words, &common, e);

	return kind ? kind : each_do(words, &common, show, &common.json, e);
}

const struct ctl_command ctl_logs = {
	.name = "logs",
	.arguments = "PROVIDER:ID...",
	.summary = "Show what was logged of sandboxes: the newest 1,000 lines",
	.details = "A paused sandbox stays paused.",
	.flags = CTL_JSON | CTL_ACCOUNT,
	.argp = &each_argp,
	.run = run,
};
