/*
 * sessions.c - sandboxctl session: lists and ends the sessions of a sandbox.
 */
#include "providers/base/cleanup.h"
#include "providers/user_session.h"
#include "tools/ctl/command.h"
#include "tools/ctl/sandboxes.h"
#include "tools/ctl/target.h"
#include "tools/say.h"

#include <stdio.h>
#include <string.h>

#define TEXT_MAX ((size_t)1024 * 1024)

struct sessions_options {
	const char *verb, *sandbox, *name;
};

static enum err keep(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	(void)e;
	if (stream == STREAM_OUT)
		buf_add(context, bytes, len);
	return ERR_OK;
}

static enum err ask(struct target *t, const struct buf *command, struct buf *said, int *exit_code,
	struct error *e)
{
	const struct execute_request request = { .command = buf_text(command) };
	struct execute_result result = { 0 };
	enum err kind = provider_execute(t->provider, &t->call, &request, keep, said, &result, e);

	if (!kind && !result.has_exit_code)
		kind = error_set(
			e, ERR_PROTOCOL, "how the sandbox took it could not be determined");
	*exit_code = result.exit_code;
	return kind ? kind : buf_check(said, "the sessions", e);
}

static enum err tell(const struct buf *names, bool is_json, struct error *e)
{
	AUTO_BUF struct buf json = BUF_INIT(2 * TEXT_MAX);
	struct json_writer w = { .out = &json };
	const char *name = buf_text(names);

	json_put_open_list(&w, NULL);
	for (size_t len; *name; name += len + (name[len] == '\n')) {
		len = strcspn(name, "\n");
		if (is_json)
			json_put_bytes(&w, NULL, name, len);
		else if (!say(stdout, "%.*s", (int)len, name))
			return error_errno(e, errno, "standard output");
	}
	json_put_close_list(&w);
	return is_json ? print_json(&json, stdout, e) : ERR_OK;
}

static enum err act(
	const struct sessions_options *r, const struct ctl_common *common, struct error *e)
{
	AUTO_BUF struct buf command = BUF_INIT(TEXT_MAX), said = BUF_INIT(TEXT_MAX);
	AUTO_TARGET struct target t = { 0 };
	int exit_code = 0;
	enum err kind = target_open(&t, r->sandbox, common, e);

	if (kind)
		return kind;
	if (r->name)
		user_session_end(&command, r->name);
	else
		user_session_list(&command);
	kind = ask(&t, &command, &said, &exit_code, e);
	if (!kind && exit_code)
		kind = error_set(e, ERR_NOT_FOUND,
			"%s: no session '%s'; sandboxctl session list %s shows those there are",
			r->sandbox, r->name ? r->name : "", r->sandbox);
	return kind || r->name ? kind : tell(&said, common->json, e);
}

static error_t check(const struct sessions_options *r, const struct argp_state *state)
{
	bool ends = r->verb && !strcmp(r->verb, "end");

	if (!r->verb || (!ends && strcmp(r->verb, "list") != 0))
		return ctl_usage(state, "list or end, as in %s list local:demo", state->argv[0]);
	if (!r->sandbox)
		return ctl_usage(state, "the sandbox is missing, as in %s %s local:demo",
			state->argv[0], r->verb);
	if (ends && (!r->name || !user_session_name_is_valid(r->name)))
		return ctl_usage(state,
			"the session's name is missing; %s list %.60s shows those there are",
			state->argv[0], r->sandbox);
	if (!ends && r->name)
		return ctl_usage(state, "'%.60s': one word too many; see %s --help", r->name,
			state->argv[0]);
	return 0;
}

static error_t take_word(int key, char *value, struct argp_state *state)
{
	struct sessions_options *r = state->input;

	if (key == ARGP_KEY_END)
		return check(r, state);
	if (key != ARGP_KEY_ARG || r->name)
		return ARGP_ERR_UNKNOWN;
	*(!r->verb ? &r->verb : !r->sandbox ? &r->sandbox : &r->name) = value;
	return 0;
}

static enum err run(struct ctl_run *run, struct error *e)
{
	struct sessions_options request = { 0 };
	struct ctl_common common;
	enum err kind = ctl_parse(run, &request, &common, e);

	return kind ? kind : act(&request, &common, e);
}

const struct ctl_command ctl_session = {
	.name = "session",
	.arguments = "list|end PROVIDER:ID [NAME]",
	.summary = "List or end the sessions that commands of a sandbox go on in",
	.details = "A command that exec or run is given --session NAME for begins in the directory "
		   "where the last one of that session ended, with its variables. Nothing runs "
		   "between them: a session is a file in the sandbox, and end removes it.",
	.flags = CTL_JSON | CTL_ACCOUNT | CTL_USER,
	.argp = &(const struct argp){ .parser = take_word },
	.run = run,
};
