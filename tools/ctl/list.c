/*
 * list.c - sandboxctl list: the sandboxes of an account, or of all accounts whose keys are here.
 */
#include "tools/ctl/command.h"
#include "tools/ctl/keys.h"
#include "tools/ctl/sandboxes.h"
#include "tools/ctl/target.h"
#include "tools/labels.h"
#include "tools/say.h"

#include <stdio.h>
#include <string.h>

/* With all providers: how long a sandbox is looked for where there is just one, often none. */
#define SINGLE_MS 1000

struct list_options {
	const char *provider; /* NULL: all */
	char **labels;        /* "key=value" or "key", ended by NULL; owned, NULL: none */
};

struct listing {
	const struct list_options *request;
	const struct ctl_common *common;
	const char *provider; /* the present one */
	struct sandboxes *sandboxes;
};

static enum err add(void *context, const struct sandbox_entry *entry, struct error *e)
{
	const struct listing *l = context;
	const char *const *labels = (const char *const *)l->request->labels;
	enum err kind = labels_check(l->provider, entry, labels, e);

	if (!kind && labels_match(entry, labels))
		sandboxes_add(l->sandboxes, l->provider, entry);
	return kind;
}

/* ---- The command ---- */

static enum err list_provider(struct listing *l, const char *provider, struct error *e)
{
	AUTO_TARGET struct target t = { 0 };
	enum err kind = target_parse_provider(&t, provider, l->common, e);

	if (kind)
		return kind;
	if (!l->request->provider && provider_is_program(t.source.ops)) {
		t.config.asks_nobody = true;
		if (!t.call.progress_ms)
			t.call.progress_ms = PROGRAM_MS;
	}
	if (!l->request->provider && t.source.ops->caps & PROVIDER_SINGLE && !t.call.progress_ms)
		t.call.progress_ms = SINGLE_MS;
	l->provider = t.source.ops->name;
	return provider_list_sandboxes(t.source.ops, &t.config, &t.call, add, l, e);
}

/*
 * With all providers: this one cannot list, has no labels, its user has no key for it, or it does
 * not run or answer. ERR_NOT_FOUND: what answers its program is something else.
 */
static bool is_left_out(const struct provider_ops *ops, enum err kind)
{
	return kind == ERR_UNSUPPORTED ||
		(kind == ERR_AUTH && (provider_is_program(ops) || !provider_key_is_set(ops))) ||
		((kind == ERR_TIMEOUT || kind == ERR_NOT_FOUND) && provider_is_program(ops)) ||
		((kind == ERR_UNREACHABLE || kind == ERR_DENIED) &&
			(ops->caps & PROVIDER_SINGLE || provider_is_program(ops)));
}

/*
 * A failure of one hides no other. As each_do(): the last failure is returned, and earlier ones are
 * printed.
 */
static enum err list_all(struct listing *l, struct error *e)
{
	const struct provider_ops *ops;
	enum err failure = ERR_OK;

	for (size_t i = 0; failure != ERR_INTERRUPTED && (ops = provider_at(i)); i++) {
		struct error why = { 0 };
		enum err kind = list_provider(l, ops->name, &why);

		if (!kind || is_left_out(ops, kind))
			continue;
		if (failure)
			say(stderr, "sandboxctl: %s", e->text);
		failure = error_set(e, kind, "list %s: %s", ops->name, why.text);
	}
	return failure;
}

static enum err list(const struct list_options *r, const struct ctl_common *common, struct error *e)
{
	AUTO_SANDBOXES struct sandboxes sandboxes;
	struct listing l = { .request = r, .common = common, .sandboxes = &sandboxes };
	enum err kind, printed = ERR_OK;
	struct error why = { 0 };

	sandboxes_init(&sandboxes, common->json, true);
	kind = r->provider ? list_provider(&l, r->provider, e) : list_all(&l, e);
	if (!kind || !r->provider || sandboxes.count)
		printed = sandboxes_print(&sandboxes, &why);
	return printed && !kind ? error_set(e, printed, "%s", why.text) : kind;
}

static error_t take_word(int key, char *value, struct argp_state *state)
{
	static const struct ctl_value values[] = {
		{ 'l', "--label=", "KEY=VALUE", option_set_word,
			offsetof(struct list_options, labels) },
		{ 0 },
	};
	struct list_options *r = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (r->provider)
			return ARGP_ERR_UNKNOWN;
		r->provider = value;
		return 0;
	default: return ctl_take_value(values, key, value, state);
	}
}

static enum err check(const struct list_options *r, const struct ctl_common *common,
	struct ctl_run *run, struct error *e)
{
	if ((!common->key_file && !common->url) || r->provider)
		return ERR_OK;
	run->status = CTL_WRONG_USAGE;
	return error_set(e, ERR_INVALID,
		"list: %s of one provider: name that, as in sandboxctl list e2b",
		common->key_file ? "--key-file is the key" : "--url is the address");
}

static enum err run(struct ctl_run *run, struct error *e)
{
	struct list_options r = { 0 };
	struct ctl_common common;
	enum err kind = ctl_parse(run, &r, &common, e);

	if (!kind)
		kind = check(&r, &common, run, e);
	if (!kind)
		kind = list(&r, &common, e);
	option_list_free(r.labels);
	return kind;
}

const struct ctl_command ctl_list = {
	.name = "list",
	.arguments = "[PROVIDER]",
	.summary = "List the sandboxes of an account",
	.details = "Without PROVIDER those of all accounts whose keys are here, and those of this "
		   "machine. An account that cannot be asked, and a sandbox in an answer that "
		   "cannot be "
		   "read, is told, hides no other, and makes the exit status 1.",
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
