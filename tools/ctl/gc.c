/*
 * gc.c - sandboxctl gc: deletes the sandboxes of an account that are old or have a label, and that
 * this user does not need any more.
 */
#include "providers/base/cleanup.h"
#include "tools/ctl/each.h"
#include "tools/ctl/needed.h"
#include "tools/labels.h"
#include "tools/say.h"

#include <stdio.h>
#include <string.h>

struct gc_options {
	const char *provider;
	char **labels;  /* as in labels.h; owned, NULL: none */
	int64_t age_ms; /* --older-than; -1: not given */
	bool is_dry;    /* --dry-run */
};

struct collection {
	const struct gc_options *options;
	const struct provider_ops *ops;
	struct needed needed;
	char **found; /* PROVIDER:ID of those that are old and have the labels; owned */
};

/* ---- Finding and deleting ---- */

static bool is_old(const struct gc_options *o, const struct sandbox_entry *entry, const char *name)
{
	if (o->age_ms < 0)
		return true;
	if (entry->age_s < 0)
		say(stderr, "%s: kept: its age is not known", name);
	return entry->age_s >= 0 && entry->age_s * 1000 >= o->age_ms;
}

/* Deletion waits for the end of the list, whose pages it would move. */
static enum err find(void *context, const struct sandbox_entry *entry, struct error *e)
{
	struct collection *c = context;
	const char *const *labels = (const char *const *)c->options->labels;
	AUTO_FREE char *name = NULL;
	enum err kind = labels_check(c->ops->name, entry, labels, e);

	if (kind || !labels_match(entry, labels))
		return kind;
	if (asprintf(&name, "%s:%s", c->ops->name, entry->id) < 0) {
		name = NULL;
		return error_set(e, ERR_NO_MEMORY, "%s", entry->id);
	}
	if (!is_old(c->options, entry, name))
		return ERR_OK;
	return option_set_word(NULL, name, &c->found, e);
}

static enum err delete_it(struct target *t, void *context, struct error *e)
{
	const struct collection *c = context;
	bool is_needed = false;
	enum err kind = needed_check(&c->needed, t, &is_needed, e);

	if (!kind && !is_needed && !c->options->is_dry)
		kind = provider_delete(t->source.ops, &t->config, &t->call, e);
	if (!kind && !is_needed)
		say(stdout, "%s:%s", t->source.ops->name, t->source.id);
	return kind;
}

static enum err collect(struct collection *c, const struct ctl_common *common, struct error *e)
{
	AUTO_TARGET struct target t = { 0 };
	enum err kind = target_parse_provider(&t, c->options->provider, common, e);

	c->ops = t.source.ops;
	if (!kind)
		kind = needed_find(&c->needed, c->ops, common, e);
	if (!kind)
		kind = provider_list_sandboxes(c->ops, &t.config, &t.call, find, c, e);
	if (!kind && c->found)
		kind = each_do(c->found, common, delete_it, c, e);
	return kind;
}

/* ---- The command ---- */

static error_t check(const struct gc_options *r, const struct argp_state *state)
{
	if (!r->provider)
		return ctl_usage(state, "the provider is missing, as in %s --older-than 86400 e2b",
			state->argv[0]);
	if (r->age_ms < 0 && !r->labels)
		return ctl_usage(
			state, "which sandboxes: --older-than SECONDS, --label KEY=VALUE, or both");
	return 0;
}

static error_t take_word(int key, char *value, struct argp_state *state)
{
	static const struct ctl_value values[] = {
		{ 'l', "--label=", "KEY=VALUE", option_set_word,
			offsetof(struct gc_options, labels) },
		{ 'o', "--older-than=", "SECONDS", option_set_seconds,
			offsetof(struct gc_options, age_ms) },
		{ 0 },
	};
	struct gc_options *r = state->input;

	switch (key) {
	case 'n': r->is_dry = true; return 0;
	case ARGP_KEY_ARG:
		if (r->provider)
			return ARGP_ERR_UNKNOWN;
		r->provider = value;
		return 0;
	case ARGP_KEY_END: return check(r, state);
	default: return ctl_take_value(values, key, value, state);
	}
}

static enum err run(struct ctl_run *run, struct error *e)
{
	struct gc_options r = { .age_ms = -1 };
	struct collection c = { .options = &r };
	struct ctl_common common;
	enum err kind = ctl_parse(run, &r, &common, e);

	if (!kind)
		kind = collect(&c, &common, e);
	needed_release(&c.needed);
	option_list_free(c.found);
	option_list_free(r.labels);
	return kind;
}

const struct ctl_command ctl_gc = {
	.name = "gc",
	.arguments = "PROVIDER",
	.summary = "Delete the sandboxes that are old or have a label, and are not needed",
	.details = "A sandbox is needed, and kept, while a mount of yours shows it, or while a "
		   "journal that sandboxctl journal list shows has changes that it does not have "
		   "yet. The sandboxes that were deleted are printed. A sandbox that only another "
		   "machine or another container uses, or a journal elsewhere, is not known.",
	.flags = CTL_ACCOUNT,
	.argp =
		&(const struct argp){
			.options =
				(const struct argp_option[]){
					{ "older-than", 'o', "SECONDS", 0,
						"only those that were made so long ago", 0 },
					{ "label", 'l', "KEY[=VALUE]", 0,
						"only those with that label; may be repeated", 0 },
					{ "dry-run", 'n', NULL, 0,
						"delete none: print those that would be", 0 },
					{ 0 },
				},
			.parser = take_word,
		},
	.run = run,
};
