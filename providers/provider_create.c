/* A new sandbox, which is not left behind where the answer that names the sandbox is lost. */
#include "providers/provider_inside.h"

#include "providers/base/cleanup.h"
#include "providers/remote/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The caller may have given up, so the search has a time of its own. */
#define SEARCH_MS 5000

struct search {
	const char *mark;
	char id[128]; /* "": not found */
};

static const char **with_mark(const char *const *labels, const char *mark)
{
	size_t count = 0;

	while (labels && labels[count])
		count++;
	const char **all = calloc(count + 2, sizeof *all);

	for (size_t n = 0; all && n < count; n++)
		all[n] = labels[n];
	if (all)
		all[count] = mark;
	return all;
}

static enum err compare(void *context, const struct sandbox_entry *entry, struct error *e)
{
	struct search *s = context;

	(void)e;
	for (const char *const *label = entry->labels; label && *label; label++)
		if (!strcmp(*label, s->mark))
			snprintf(s->id, sizeof s->id, "%s", entry->id);
	return ERR_OK;
}

static bool delete_marked(
	const struct provider_ops *ops, const struct provider_config *cfg, const char *mark)
{
	const struct call call = { .progress_ms = SEARCH_MS };
	struct provider_config found = *cfg;
	struct search s = { .mark = mark };

	provider_list_sandboxes(ops, cfg, &call, compare, &s, NULL);
	found.id = s.id;
	return *s.id && !provider_delete(ops, &found, &call, NULL);
}

/*
 * Whether a sandbox may have been made though the vendor's answer did not come, or could not be
 * read.
 */
static bool may_exist(enum err kind)
{
	return kind == ERR_INTERRUPTED || kind == ERR_PROTOCOL || kind == ERR_TIMEOUT ||
		kind == ERR_UNREACHABLE || kind == ERR_IO;
}

/* An id is shown in the mount table and on terminals, and is typed: visible ASCII. */
bool provider_is_id(const char *id)
{
	for (const char *c = id; *c; c++)
		if (*c <= ' ' || *c > '~')
			return false;
	return *id;
}

static enum err create(const struct provider_ops *ops, const struct provider_config *cfg,
	const struct call *call, char id[128], struct error *e)
{
	enum err kind = ops->create(cfg, call, id, e);

	if (kind || provider_is_id(id))
		return kind;
	return error_set(e, ERR_PROTOCOL, "%s: '%.100s' is no ID of a sandbox", ops->name, id);
}

static enum err create_marked(const struct provider_ops *ops, const struct provider_config *cfg,
	const struct call *call, char id[128], struct error *e)
{
	char mark[REMOTE_NAME_SIZE];
	struct error why = { 0 };
	struct provider_config marked = *cfg;
	enum err kind = remote_new_name(PROVIDER_MARK "=", mark, e);

	if (kind)
		return kind;
	AUTO_FREE const char **labels = with_mark(cfg->labels, mark);

	if (!labels)
		return error_set(e, ERR_NO_MEMORY, "%s", ops->name);
	marked.labels = labels;
	kind = create(ops, &marked, call, id, &why);
	if (!may_exist(kind) || !delete_marked(ops, cfg, mark))
		return kind ? error_set(e, kind, "%s", why.text) : ERR_OK;
	return error_set(e, kind, "%s (one was made, and is deleted)", why.text);
}

enum err provider_create(const struct provider_ops *ops, const struct provider_config *cfg,
	const struct call *call, char id[128], struct error *e)
{
	enum err kind;

	if (!ops->create)
		return error_set(e, ERR_UNSUPPORTED,
			"%s: cannot make sandboxes; give the ID of one", ops->name);
	kind = provider_check_create(ops, cfg, e);
	if (kind)
		return kind;
	return ops->create_options & OPTION_LABELS ? create_marked(ops, cfg, call, id, e)
						   : create(ops, cfg, call, id, e);
}
