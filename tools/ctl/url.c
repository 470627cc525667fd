/*
 * url.c - sandboxctl url: the address of a sandbox's port from outside.
 */
#include "providers/base/cleanup.h"
#include "providers/json.h"
#include "tools/ctl/command.h"
#include "tools/ctl/output.h"
#include "tools/ctl/target.h"
#include "tools/say.h"

#include <stdio.h>
#include <string.h>

/* Far more than a vendor's URL has, with room for escapes. */
#define URL_MAX 65536

struct url_options {
	const char *word;
	unsigned port;
};

static error_t take_port(struct url_options *r, const char *value, const struct argp_state *state)
{
	char *end;
	unsigned long port = strtoul(value, &end, 10);

	if (*value < '1' || *value > '9' || *end || port > 65535)
		return ctl_usage(state, "'%.60s': a port is a number from 1 to 65535", value);
	r->port = (unsigned)port;
	return 0;
}

static error_t take_word(int key, char *value, struct argp_state *state)
{
	struct url_options *r = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (r->port)
			return ARGP_ERR_UNKNOWN;
		if (r->word)
			return take_port(r, value, state);
		r->word = value;
		return 0;
	case ARGP_KEY_END:
		return r->word
			? 0
			: ctl_usage(state,
				  "a sandbox and a port are needed, as in %s local:demo 8080",
				  state->argv[0]);
	default: return ARGP_ERR_UNKNOWN;
	}
}

static enum err print_object(const struct url_options *r, const struct buf *url, struct error *e)
{
	AUTO_BUF struct buf json = BUF_INIT(2 * URL_MAX);
	struct json_writer w = { .out = &json };
	size_t len = strcspn(buf_text(url), "\n");

	json_put_open(&w, NULL);
	json_put_integer(&w, "port", r->port);
	json_put_bytes(&w, "url", buf_text(url), len);
	if (len < url->len)
		json_put_text(&w, "header", buf_text(url) + len + 1);
	json_put_close(&w);
	return print_json(&json, stdout, e);
}

static enum err print_pages(const struct buf *pages, bool is_json, struct error *e)
{
	AUTO_BUF struct buf json = BUF_INIT(2 * URL_MAX);
	AUTO_FREE char *text = strdup(buf_text(pages));
	struct json_writer w = { .out = &json };
	char *rest = text, *line, *url;

	json_put_open(&w, NULL);
	while (rest && (line = strsep(&rest, "\n")) && (url = strchr(line, ' '))) {
		if (!is_json)
			say(stdout, "%s", line);
		*url++ = 0;
		json_put_text(&w, line, url);
	}
	json_put_close(&w);
	return is_json ? print_json(&json, stdout, e) : ERR_OK;
}

static enum err tell_pages(const struct target *t, bool is_json, struct error *e)
{
	AUTO_BUF struct buf pages = BUF_INIT(URL_MAX);
	enum err kind = provider_pages(t->provider, &pages, e);

	return kind ? kind : print_pages(&pages, is_json, e);
}

static enum err tell(const struct url_options *r, const struct ctl_common *common, struct error *e)
{
	AUTO_TARGET struct target t = { 0 };
	AUTO_BUF struct buf url = BUF_INIT(URL_MAX);
	enum err kind = target_parse(&t, r->word, common, e);
	int len;

	if (!kind)
		kind = target_reach_account(&t, e);
	if (!kind && !r->port)
		return tell_pages(&t, common->json, e);
	if (!kind)
		kind = provider_url(t.provider, &t.call, r->port, &url, e);
	if (kind)
		return target_explain(&t, kind, e);
	if (common->json)
		return print_object(r, &url, e);
	len = (int)strcspn(buf_text(&url), "\n");
	say(stdout, "%.*s", len, buf_text(&url));
	if (buf_text(&url)[len])
		say(stdout, "%s", buf_text(&url) + len + 1);
	return ERR_OK;
}

static enum err run(struct ctl_run *run, struct error *e)
{
	struct url_options request = { 0 };
	struct ctl_common common;
	enum err kind = ctl_parse(run, &request, &common, e);

	return kind ? kind : tell(&request, &common, e);
}

const struct ctl_command ctl_url = {
	.name = "url",
	.arguments = "PROVIDER:ID [PORT]",
	.summary = "Tell where a port of a sandbox is reached from outside",
	.details = "Whether something listens on it is not asked. Of a private port a second line "
		   "has the header that each request needs. Without a port it tells the web "
		   "pages that the sandbox itself has, where it has some.",
	.flags = CTL_JSON | CTL_ACCOUNT,
	.argp = &(const struct argp){ .parser = take_word },
	.run = run,
};
