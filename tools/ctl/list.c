/*
 * list.c - sandboxctl list: the sandboxes of an account.
 */
#include "tools/ctl/command.h"
#include "tools/ctl/sandboxes.h"
#include "tools/ctl/target.h"
#include "tools/ctl/values.h"

#include <string.h>

struct request {
	const char *provider;
	char **labels; /* "key=value" or "key", ended by NULL; owned, NULL: none */
};

struct listing {
	const struct request *request;
	const char *provider;
	struct sandboxes *sandboxes;
};

/* ---- Which of them ---- */

/* A key alone stands for all its values. */
static bool is_label(const char *label, const char *wanted)
{
	size_t len = strlen(wanted);

	return !strncmp(label, wanted, len) &&
		(!label[len] || (label[len] == '=' && !strchr(wanted, '=')));
}

static bool has_label(const struct sandbox_entry *entry, const char *wanted)
{
	for (const char *const *label = entry->labels; *label; label++)
		if (is_label(*label, wanted))
			return true;
	return false;
}

static bool has_labels(const struct sandbox_entry *entry, char **wanted)
{
	for (; wanted && *wanted; wanted++)
		if (!has_label(entry, *wanted))
			return false;
	return true;
}

static enum err add(void *context, const struct sandbox_entry *entry, struct error *e)
{
	const struct listing *l = context;

	if (l->request->labels && !entry->labels)
		return error_set(e, ERR_UNSUPPORTED,
			"%s does not say which labels its sandboxes have; leave --label out",
			l->provider);
	if (has_labels(entry, l->request->labels))
		sandboxes_add(l->sandboxes, l->provider, entry);
	return ERR_OK;
}

/* ---- The command ---- */

static enum err list(const struct request *r, const struct ctl_common *common, struct error *e)
{
	AUTO_TARGET struct target t = { 0 };
	AUTO_SANDBOXES struct sandboxes sandboxes;
	struct listing l = { .request = r, .sandboxes = &sandboxes };
	enum err kind;

	sandboxes_init(&sandboxes, common->json, true);
	kind = target_parse_provider(&t, r->provider, common, e);
	if (kind)
		return kind;
	l.provider = t.source.ops->name;
	kind = provider_list_sandboxes(t.source.ops, &t.config, &t.call, add, &l, e);
	return kind ? kind : sandboxes_print(&sandboxes, e);
}

static error_t take_word(int key, char *value, struct argp_state *state)
{
	static const struct value values[] = {
		{ 'l', "--label=", VALUE_WORD, offsetof(struct request, labels) },
		{ 0 },
	};
	struct request *r = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (r->provider)
			return ARGP_ERR_UNKNOWN;
		r->provider = value;
		return 0;
	case ARGP_KEY_NO_ARGS: return ctl_usage(state, "the provider is missing, as in list local");
	default: return ctl_take_value(values, key, value, state);
	}
}

static enum err run(struct ctl_run *run, struct error *e)
{
	struct request r = { 0 };
	struct ctl_common common;
	enum err kind = ctl_parse(run, &r, &common, e);

	if (!kind)
		kind = list(&r, &common, e);
	value_list_free(r.labels);
	return kind;
}

const struct ctl_command ctl_list = {
	.name = "list",
	.arguments = "PROVIDER",
	.summary = "List the sandboxes of an account",
	.flags = CTL_JSON | CTL_ACCOUNT,
	.argp =
		&(const struct argp){
			.options =
				(const struct argp_option[]){
					{ "label", 'l', "KEY[=VALUE]", 0,
						"only those with that label; may be repeated", 0 },
					{ 0 },
				},
			.parser = take_word,
		},
	.run = run,
};
