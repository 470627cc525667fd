/*
 * extend.c - sandboxctl extend: gives sandboxes more time to live.
 */
#include "tools/ctl/each.h"
#include "tools/ctl/sandboxes.h"

/* As much as a mount gives a sandbox each time while it is in use. */
#define SECONDS_DEFAULT 300

struct extend_options {
	char **words;
	int64_t ms;
	struct sandboxes sandboxes;
};

/* A provider gives as much as it can, so the result is asked for and shown. */
static enum err extend_it(struct target *t, void *context, struct error *e)
{
	struct extend_options *r = context;
	struct sandbox_info info;
	enum err kind;

	t->config.resume = RESUME_NEVER;
	kind = target_reach_account(t, e);
	if (!kind)
		kind = provider_extend(t->provider, &t->call, (r->ms + 999) / 1000, e);
	if (!kind)
		kind = provider_info(t->provider, &t->call, &info, e);
	if (!kind)
		sandboxes_add(&r->sandboxes, t->source.ops->name,
			&(struct sandbox_entry){ .id = info.id,
				.state = info.state,
				.expires_s = info.expires_s,
				.age_s = -1 });
	return kind;
}

static error_t take_word(int key, char *value, struct argp_state *state)
{
	static const struct ctl_value values[] = {
		{ 't', "--timeout=", "SECONDS", option_set_seconds,
			offsetof(struct extend_options, ms) },
		{ 0 },
	};
	struct extend_options *r = state->input;

	if (key != ARGP_KEY_INIT)
		return ctl_take_value(values, key, value, state);
	state->child_inputs[0] = &r->words;
	return 0;
}

/* The result is printed also when some could not be extended: the others were. */
static enum err extend(struct extend_options *r, const struct ctl_common *common, struct error *e)
{
	enum err kind = each_do(r->words, common, extend_it, r, e), printed = ERR_OK;
	struct error why = { 0 };

	if (r->sandboxes.count)
		printed = sandboxes_print(&r->sandboxes, &why);
	return printed && !kind ? error_set(e, printed, "%s", why.text) : kind;
}

static enum err run(struct ctl_run *run, struct error *e)
{
	struct extend_options r = { .ms = SECONDS_DEFAULT * 1000 };
	struct ctl_common common;
	enum err kind = ctl_parse(run, &r, &common, e);

	if (kind)
		return kind;
	sandboxes_init(&r.sandboxes, common.json, false);
	kind = extend(&r, &common, e);
	sandboxes_release(&r.sandboxes);
	return kind;
}

const struct ctl_command ctl_extend = {
	.name = "extend",
	.arguments = "PROVIDER:ID...",
	.summary = "Give sandboxes more time to live",
	.details =
		"Nothing is ever taken away. How long they live then is printed: a provider gives "
		"what it can. A mount does the same for its sandbox while it is in use.",
	.flags = CTL_JSON | CTL_ACCOUNT,
	.argp =
		&(const struct argp){
			.options =
				(const struct argp_option[]){
					{ "timeout", 't', "SECONDS", 0,
						"how long they live from now on, at least (300)",
						0 },
					{ 0 },
				},
			.parser = take_word,
			.children =
				(const struct argp_child[]){ { &each_argp, 0, NULL, 0 }, { 0 } },
		},
	.run = run,
};
