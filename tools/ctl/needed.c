#include "tools/ctl/needed.h"

#include "providers/base/cleanup.h"
#include "providers/rest/rest.h"
#include "tools/say.h"

#include <stdio.h>
#include <string.h>

/* ---- The ID of a mount's sandbox ---- */

/* A mount that answers knows it. Otherwise it is asked for; a sandbox that is gone has none. */
static enum err ask_id(const struct mounted *m, const struct ctl_common *common,
	struct sandbox_info *out, struct error *e)
{
	AUTO_TARGET struct target t = { 0 };
	struct error why = { 0 };
	enum err kind = target_parse(&t, m->source, common, &why);

	if (!kind)
		kind = target_reach_account(&t, &why);
	if (!kind)
		kind = provider_info(t.provider, &t.call, out, &why);
	if (!kind || kind == ERR_NOT_FOUND || kind == ERR_GONE)
		return ERR_OK;
	return error_set(
		e, kind, "%s: which sandbox it shows is not known: %.300s", m->dir, why.text);
}

static bool read_id(const struct mount_answer *answer, struct sandbox_info *out)
{
	AUTO_JSON struct json_object *status = NULL;

	if (answer->state != MOUNT_ALIVE || !rest_parse(&answer->text, &status))
		return false;
	snprintf(out->id, sizeof out->id, "%s",
		rest_text(rest_member(status, "sandbox"), "id", rest_text(status, "id", "")));
	return *out->id;
}

static enum err find_id(struct needed *n, size_t i, const struct mount_answer *answer,
	const struct ctl_common *common, struct error *e)
{
	const struct mounted *m = &n->mounts.list[i];
	struct sandbox_info info = { 0 };
	struct source source = { 0 };
	enum err kind = source_parse(&source, m->source, NULL);
	bool is_meant = !kind && source.ops == n->ops && source.id;

	source_release(&source);
	if (!is_meant)
		return ERR_OK;
	kind = read_id(answer, &info) ? ERR_OK : ask_id(m, common, &info, e);
	if (kind)
		return kind;
	n->ids[i] = strdup(info.id);
	return n->ids[i] ? ERR_OK : error_set(e, ERR_NO_MEMORY, "the mounts");
}

static enum err find_ids(struct needed *n, const struct ctl_common *common, struct error *e)
{
	struct mount_answer *answers = NULL;
	enum err kind = mounts_ask(&n->mounts, -1, &answers, e);

	n->ids = calloc(n->mounts.count + 1, sizeof *n->ids);
	if (!kind && !n->ids)
		kind = error_set(e, ERR_NO_MEMORY, "the mounts");
	for (size_t i = 0; !kind && i < n->mounts.count; i++)
		kind = find_id(n, i, &answers[i], common, e);
	mounts_answers_free(answers, &n->mounts);
	return kind;
}

enum err needed_find(struct needed *out, const struct provider_ops *ops,
	const struct ctl_common *common, struct error *e)
{
	*out = (struct needed){ .ops = ops };
	enum err kind = mounts_find_all(&out->mounts, e);

	if (!kind)
		kind = find_ids(out, common, e);
	return kind ? kind : journals_find(&out->journals, NULL, e);
}

void needed_release(struct needed *n)
{
	for (size_t i = 0; n->ids && i < n->mounts.count; i++)
		free(n->ids[i]);
	free(n->ids);
	mounts_release(&n->mounts);
	journals_release(&n->journals);
}

/* ---- Whether a sandbox is needed ---- */

/* An ID that ends with "@" and what no other sandbox has is the same with any name before. */
static bool is_same(const char *one, size_t len, const char *other)
{
	const char *own = memchr(one, '@', len), *others = strchr(other, '@');

	if (own && others) {
		len -= (size_t)(own - one);
		one = own;
		other = others;
	}
	return strlen(other) == len && !memcmp(one, other, len);
}

/* `source`: PROVIDER:ID[:PATH]. */
static bool is_source_of(const struct needed *n, const char *source, const char *id)
{
	size_t len = strlen(n->ops->name);

	if (strncmp(source, n->ops->name, len) != 0 || source[len] != ':')
		return false;
	source += len + 1;
	return is_same(source, strcspn(source, ":"), id);
}

static enum err is_mounted(
	const struct needed *n, const char *name, const char *id, bool *out, struct error *e)
{
	AUTO_MOUNTS struct mounts now = { 0 };
	enum err kind = mounts_find_all(&now, e);
	const char *dir = NULL;

	for (size_t i = 0; i < n->mounts.count; i++)
		if (n->ids[i] && is_same(n->ids[i], strlen(n->ids[i]), id))
			dir = n->mounts.list[i].dir;
	for (size_t i = 0; !kind && i < now.count; i++)
		if (is_source_of(n, now.list[i].source, id) ||
			is_source_of(n, now.list[i].source, name))
			dir = now.list[i].dir;
	*out = dir;
	if (dir)
		say(stderr, "%s:%s: kept: mounted on %s", n->ops->name, name, dir);
	return kind;
}

/* A journal that cannot be read may have changes. */
static bool has_pending(const struct journal_found *found)
{
	struct journal *journal = NULL;
	uint64_t entries = 1, bytes, failed;
	struct error why = { 0 };

	if (!journal_open_left(&journal, found->dir, &why))
		journal_usage(journal, &entries, &bytes, &failed);
	journal_close(journal);
	return entries > 0;
}

/* A journal that does not say whose it is may be this sandbox's. */
static bool is_pending_there(const struct needed *n, const char *name, const char *id)
{
	for (size_t i = 0; i < n->journals.count; i++) {
		const struct journal_found *found = &n->journals.list[i];
		AUTO_FREE char *own = journal_source(found);
		const char *source = own ? own : found->source;

		if ((!source || is_source_of(n, source, id) || is_source_of(n, source, name)) &&
			has_pending(found)) {
			say(stderr,
				"%s:%s: kept: it does not have all changes yet; see sandboxctl "
				"journal list",
				n->ops->name, name);
			return true;
		}
	}
	return false;
}

/* Without mounts and journals no ID is compared. One that cannot be attached has its name alone. */
static enum err learn_id(
	const struct needed *n, struct target *t, struct sandbox_info *out, struct error *e)
{
	struct error why = { 0 };
	enum err kind = ERR_OK;

	if (n->mounts.count || n->journals.count)
		kind = target_reach_account(t, &why);
	if (!kind && t->provider)
		kind = provider_info(t->provider, &t->call, out, &why);
	if (kind || !*out->id)
		snprintf(out->id, sizeof out->id, "%s", t->source.id);
	return !kind || kind == ERR_NOT_FOUND || kind == ERR_GONE
		? ERR_OK
		: error_set(e, kind, "%s", why.text);
}

enum err needed_check(const struct needed *n, struct target *t, bool *is_needed, struct error *e)
{
	struct sandbox_info info = { 0 };
	enum err kind = learn_id(n, t, &info, e);

	if (!kind)
		kind = is_mounted(n, t->source.id, info.id, is_needed, e);
	if (!kind && !*is_needed)
		*is_needed = is_pending_there(n, t->source.id, info.id);
	return kind;
}
