/*
 * create.c - sandboxctl create: makes a sandbox and prints its name, which is a source for
 * sandboxfs.
 *
 *     sandboxfs "$(sandboxctl create e2b)" /mnt/sbx
 */
#include "providers/base/cleanup.h"
#include "providers/variables.h"
#include "tools/ctl/new_sandbox.h"
#include "tools/ctl/sandboxes.h"
#include "tools/say.h"

/* Room for an id and a few words. */
#define JSON_MAX 4096

enum key { KEY_REUSE = 0x5000 };

struct create_options {
	struct new_sandbox making; /* first: the input of its options */
	const char *provider;
};

static enum err tell_json(const struct target *t, struct error *e)
{
	AUTO_BUF struct buf json = BUF_INIT(JSON_MAX);
	struct json_writer w = { .out = &json };

	json_put_open(&w, NULL);
	json_put_text(&w, "provider", t->source.ops->name);
	json_put_text(&w, "id", t->source.id);
	if (t->source.path)
		json_put_text(&w, "directory", t->source.path);
	json_put_close(&w);
	return print_json(&json, stdout, e);
}

static enum err tell(const struct target *t, bool is_json, struct error *e)
{
	AUTO_FREE char *source = source_text(&t->source, t->source.id);

	if (is_json)
		return tell_json(t, e);
	if (!source)
		return error_set(e, ERR_NO_MEMORY, "%s", t->source.id);
	if (!say(stdout, "%s", source) || fflush(stdout))
		return error_errno(e, errno, "standard output");
	return ERR_OK;
}

static enum err create(
	const struct create_options *r, const struct ctl_common *common, struct error *e)
{
	AUTO_TARGET struct target t = { 0 };
	struct guard guard = GUARD_NONE;
	enum err kind;

	if (r->making.reuse && r->making.setup.keep_failed)
		return error_set(e, ERR_INVALID,
			"options '--reuse' and '--keep-failed': the next one would take a sandbox "
			"whose script failed; leave one of the two out");
	if (r->making.reuse && r->making.git.url)
		return error_set(e, ERR_INVALID,
			"options '--reuse' and '--git': the next one would find no clone of its "
			"own; leave one of the two out");
	kind = new_sandbox_do(&r->making, r->provider, common, &t, &guard, e);

	if (kind)
		return kind;
	kind = tell(&t, common->json, e);
	/*
	 * The name of a new sandbox was not printed, so the sandbox is deleted; one that was found
	 * is kept.
	 */
	if (kind && guard.pid)
		new_sandbox_undo(&t);
	guard_end(&guard);
	return kind;
}

static error_t take_word(int key, char *value, struct argp_state *state)
{
	static const struct ctl_value values[] = {
		{ KEY_REUSE, "--reuse", NULL, option_set_flag,
			offsetof(struct create_options, making.reuse) },
		{ 0 },
	};
	struct create_options *r = state->input;

	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &r->making; return 0;
	case ARGP_KEY_ARG:
		if (r->provider)
			return ARGP_ERR_UNKNOWN;
		r->provider = value;
		return 0;
	case ARGP_KEY_NO_ARGS:
		r->provider = variable("SANDBOX_PROVIDER");
		return r->provider ? 0
				   : ctl_usage(state, "the provider is missing, as in %s local",
					     state->argv[0]);
	default: return ctl_take_value(values, key, value, state);
	}
}

static enum err run(struct ctl_run *run, struct error *e)
{
	struct create_options r = { .making = NEW_SANDBOX_INIT };
	struct ctl_common common;
	enum err kind = ctl_parse(run, &r, &common, e);

	if (!kind)
		kind = create(&r, &common, e);
	new_sandbox_release(&r.making);
	return kind;
}

static const struct argp_option options[] = {
	{ "reuse", KEY_REUSE, NULL, 0,
		"print the name of the sandbox that has the labels asked for, and make one only "
		"where there is none",
		0 },
	{ 0 },
};

const struct ctl_command ctl_create = {
	.name = "create",
	.arguments = "PROVIDER",
	.summary = "Make a sandbox and print its name",
	.details =
		"The name is what sandboxfs mounts: sandboxfs \"$(sandboxctl create e2b)\" /mnt. "
		"What "
		"a provider cannot give is refused before anything is made. What the setup script "
		"prints comes on standard error.",
	.flags = CTL_JSON | CTL_ACCOUNT | CTL_USER,
	.argp =
		&(const struct argp){
			.options = options,
			.parser = take_word,
			.children = (const struct argp_child[]){ { &new_sandbox_argp, 0, NULL, 0 },
				{ 0 } },
		},
	.run = run,
};
