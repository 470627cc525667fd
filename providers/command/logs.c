/* Logs of containers and pods: the output of their first program, each line behind its time. */
#include "providers/base/cleanup.h"
#include "providers/command/container.h"
#include "providers/command/engine.h"
#include "providers/command/kubernetes.h"

#include <stdio.h>
#include <string.h>

#define LOG_MAX ((size_t)16 * 1024 * 1024)
/* LOG_LINES_MAX, as words. */
#define TAIL "1000"

static enum err pass_lines(char *text, log_sink sink, void *context, struct error *e)
{
	enum err kind = ERR_OK;
	char *line;

	while (!kind && (line = strsep(&text, "\n"))) {
		char *blank = strchr(line, ' ');

		if (blank)
			*blank = 0;
		if (*line || text)
			kind = sink(context,
				&(struct log_line){ .time = blank ? line : "",
					.kind = "",
					.text = blank ? blank + 1 : line },
				e);
	}
	return kind;
}

/* docker(1) and podman(1) write each of the container's outputs to their own, and then why not. */
static enum err ask_program(
	struct command *c, const struct call *call, struct buf *out, struct error *e)
{
	AUTO_WORDS struct words words = { 0 };
	struct error why = { 0 };
	enum err kind;

	words_add_all(&words,
		(const char *const[]){ "/bin/sh", "-c", "exec \"$0\" \"$@\" 2>&1",
			c->transport->program, "logs", "--timestamps", "--tail=" TAIL, c->at.id,
			NULL });
	kind = command_ask(c, call, &words, out, &why);
	return kind ? command_verdict_of(c, buf_text(out), &why, e) : ERR_OK;
}

static enum err read_container(
	struct command *c, const struct call *call, struct buf *out, struct error *e)
{
	char path[256];

	if (!c->engine)
		return ask_program(c, call, out, e);
	snprintf(path, sizeof path, "/containers/%s/logs?stdout=1&stderr=1&timestamps=1&tail=" TAIL,
		c->at.id);
	return engine_read(c, call, path, out, e);
}

enum err container_logs(
	struct provider *p, const struct call *call, log_sink sink, void *context, struct error *e)
{
	AUTO_BUF struct buf text = BUF_INIT(LOG_MAX);
	enum err kind = read_container((struct command *)p, call, &text, e);

	return kind ? kind : pass_lines((char *)buf_text(&text), sink, context, e);
}

enum err kubernetes_logs(
	struct provider *p, const struct call *call, log_sink sink, void *context, struct error *e)
{
	struct command *c = (struct command *)p;
	AUTO_BUF struct buf text = BUF_INIT(LOG_MAX);
	AUTO_WORDS struct words words = { 0 };
	enum err kind;

	words_add_all(&words,
		(const char *const[]){ "kubectl", "logs", "--timestamps", "--tail=" TAIL, NULL });
	words_add_all(&words, (const char *const *)c->options.argv);
	kind = command_ask(c, call, &words, &text, e);
	return kind ? kind : pass_lines((char *)buf_text(&text), sink, context, e);
}
