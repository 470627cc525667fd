/*
 * network.c - sandboxctl network: changes what the programs of sandboxes reach.
 */
#include "tools/ctl/each.h"

enum key { KEY_OPEN = 0x3000, KEY_BLOCK, KEY_ALLOW };

struct network_options {
	char **words;
	int is_open, is_blocked; /* --open, --block-network */
	char **allowed;          /* owned, ended by NULL; NULL: none */
};

static enum err change_it(struct target *t, void *context, struct error *e)
{
	const struct network_options *r = context;
	enum err kind = target_reach_account(t, e);

	return kind ? kind
		    : provider_set_network(t->provider, &t->call, r->is_blocked,
			      (const char *const *)r->allowed, e);
}

static error_t take_word(int key, char *value, struct argp_state *state)
{
	static const struct ctl_value values[] = {
		{ KEY_OPEN, "--open", NULL, option_set_flag,
			offsetof(struct network_options, is_open) },
		{ KEY_BLOCK, "--block-network", NULL, option_set_flag,
			offsetof(struct network_options, is_blocked) },
		{ KEY_ALLOW, "--allow=", "HOST|CIDR", option_set_allowed,
			offsetof(struct network_options, allowed) },
		{ 0 },
	};
	struct network_options *r = state->input;

	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &r->words; return 0;
	case ARGP_KEY_END:
		if (r->is_open + r->is_blocked + !!r->allowed == 1)
			return 0;
		return ctl_usage(state, "one of --open, --block-network and --allow is needed");
	default: return ctl_take_value(values, key, value, state);
	}
}

static enum err run(struct ctl_run *run, struct error *e)
{
	struct network_options r = { 0 };
	struct ctl_common common;
	enum err kind = ctl_parse(run, &r, &common, e);

	if (!kind)
		kind = each_do(r.words, &common, change_it, &r, e);
	option_list_free(r.allowed);
	return kind;
}

const struct ctl_command ctl_network = {
	.name = "network",
	.arguments = "PROVIDER:ID...",
	.summary = "Change what the programs of sandboxes reach",
	.details = "The new rules take the place of all earlier ones.",
	.flags = CTL_ACCOUNT,
	.argp =
		&(const struct argp){
			.options =
				(const struct argp_option[]){
					{ "open", KEY_OPEN, NULL, 0, "they reach everything", 0 },
					{ "block-network", KEY_BLOCK, NULL, 0,
						"they reach nothing outside", 0 },
					{ "allow", KEY_ALLOW, "HOST|CIDR", 0,
						"they reach this alone, as in pypi.org, "
						"*.npmjs.org, 10.0.0.0/8; may be repeated",
						0 },
					{ 0 },
				},
			.parser = take_word,
			.children =
				(const struct argp_child[]){ { &each_argp, 0, NULL, 0 }, { 0 } },
		},
	.run = run,
};
