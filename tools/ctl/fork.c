/*
 * fork.c - sandboxctl fork: a new sandbox with all that is in another.
 */
#include "providers/base/cleanup.h"
#include "tools/ctl/each.h"
#include "tools/ctl/sandboxes.h"
#include "tools/say.h"

static enum err tell(const struct target *t, const char *id, bool is_json, struct error *e)
{
	AUTO_BUF struct buf json = BUF_INIT(4096);
	struct json_writer w = { .out = &json };

	if (!is_json)
		return say(stdout, "%s:%s", t->source.ops->name, id) && !fflush(stdout)
			? ERR_OK
			: error_errno(e, errno, "standard output");
	json_put_open(&w, NULL);
	json_put_text(&w, "provider", t->source.ops->name);
	json_put_text(&w, "id", id);
	json_put_close(&w);
	return print_json(&json, stdout, e);
}

/* The name of a new sandbox was not printed, so the sandbox is deleted. */
static enum err tell_or_delete(
	const struct target *t, const char *id, bool is_json, struct error *e)
{
	struct provider_config config = t->config;
	enum err kind = tell(t, id, is_json, e);

	config.id = id;
	if (kind)
		provider_delete(t->source.ops, &config, &t->call, NULL);
	return kind;
}

static enum err fork_it(struct target *t, void *context, struct error *e)
{
	const bool *is_json = context;
	char id[128];
	enum err kind = target_reach_account(t, e);

	if (!kind)
		kind = provider_fork(t->provider, &t->call, id, e);
	return kind ? kind : tell_or_delete(t, id, *is_json, e);
}

static enum err run(struct ctl_run *run, struct error *e)
{
	struct ctl_common common;
	char **words = NULL;
	enum err kind = ctl_parse(run, &words, &common, e);

	return kind ? kind : each_do(words, &common, fork_it, &common.json, e);
}

const struct ctl_command ctl_fork = {
	.name = "fork",
	.arguments = "PROVIDER:ID...",
	.summary = "Make a new sandbox with all that is in another, and print its name",
	.details = "The other one goes on. What a mount has not sent yet is not in the new one: "
		   "sandboxctl sync sends that.",
	.flags = CTL_JSON | CTL_ACCOUNT,
	.argp = &each_argp,
	.run = run,
};
