#include "tools/ctl/target.h"

#include "providers/base/cleanup.h"
#include "tools/account_url.h"
#include "tools/ctl/option_name.h"

#include <stdio.h>
#include <string.h>

static enum err prepare(struct target *t, const struct ctl_common *common, struct error *e)
{
	t->call = (struct call){ .progress_ms = common->progress_ms,
		.ready_ms = common->ready_ms,
		.cancel = common->cancel };
	t->config = (struct provider_config){
		.id = t->source.id,
		.path = t->source.path,
		.user = common->user,
		.key_file = common->key_file,
		.app = common->app,
		.progress_ms = common->progress_ms,
		.may_lack_helper = true,
		.option_name = ctl_option_name,
	};
	enum err kind = account_insecure_use(common->insecure_http, e);

	return kind ? kind : account_url_use(t->source.ops, t->source.id, common->url, e);
}

static enum err no_id(const char *word, const struct provider_ops *ops, struct error *e)
{
	return error_set(e, ERR_INVALID,
		"'%.60s': the id is missing; sandboxctl list %s shows those there are", word,
		ops->name);
}

/* A provider with a single sandbox needs no ID. */
static enum err find_single(struct target *t, struct error *e)
{
	char id[128];
	enum err kind = provider_create(t->source.ops, &t->config, &t->call, id, e);

	if (kind)
		return kind;
	t->source.id = strdup(id);
	t->config.id = t->source.id;
	return t->source.id ? ERR_OK : error_set(e, ERR_NO_MEMORY, "%s", id);
}

enum err target_parse(
	struct target *t, const char *word, const struct ctl_common *common, struct error *e)
{
	const struct provider_ops *alone = provider_find(word, strlen(word));
	enum err kind;

	if (alone && !(alone->caps & PROVIDER_SINGLE))
		return no_id(word, alone, e);
	if (alone)
		return target_parse_provider(t, word, common, e) ? e->kind : find_single(t, e);
	kind = source_parse(&t->source, word, e);
	if (!kind)
		kind = prepare(t, common, e);
	if (kind || t->source.id)
		return kind;
	return t->source.ops->caps & PROVIDER_SINGLE ? find_single(t, e)
						     : no_id(word, t->source.ops, e);
}

enum err target_parse_provider(
	struct target *t, const char *word, const struct ctl_common *common, struct error *e)
{
	AUTO_FREE char *source = NULL;
	size_t len = strcspn(word, ":");
	enum err kind;

	if (word[len] && word[len + 1])
		return error_set(e, ERR_INVALID, "'%.150s': a provider alone, as in %.*s", word,
			len > 60 ? 60 : (int)len, word);
	if (asprintf(&source, "%.*s:", (int)len, word) < 0) {
		source = NULL;
		return error_set(e, ERR_NO_MEMORY, "%.60s", word);
	}
	kind = source_parse(&t->source, source, e);
	return kind ? kind : prepare(t, common, e);
}

enum err target_connect(struct target *t, struct error *e)
{
	return provider_connect(t->source.ops, &t->config, &t->call, &t->provider, e);
}

enum err target_reach_account(struct target *t, struct error *e)
{
	t->config.account_only = true;
	return target_connect(t, e);
}

/* With a PATH, the path may be missing and not the sandbox. */
static bool is_without_sandbox(const struct target *t, enum err kind)
{
	bool is_meant = t->config.account_only || !t->source.path;

	return kind == ERR_GONE || (kind == ERR_NOT_FOUND && is_meant);
}

enum err target_explain(const struct target *t, enum err kind, struct error *e)
{
	const struct error said = *e;

	if (!is_without_sandbox(t, kind) || !t->source.ops->list_sandboxes)
		return kind;
	return error_set(e, kind, "%s; sandboxctl list %s shows those there are", said.text,
		t->source.ops->name);
}

enum err target_open(
	struct target *t, const char *word, const struct ctl_common *common, struct error *e)
{
	enum err kind = target_parse(t, word, common, e);

	return kind ? kind : target_explain(t, target_connect(t, e), e);
}

void target_release(struct target *t)
{
	provider_release(t->provider);
	source_release(&t->source);
	*t = (struct target){ 0 };
}
