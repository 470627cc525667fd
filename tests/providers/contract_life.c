#include "providers/base/cleanup.h"
#include "tests/providers/contract.h"

#include <stdio.h>
#include <unistd.h>

static struct provider *connect_to(
	const struct subject *s, const char *id, const char *path, enum err *kind, struct error *e)
{
	struct provider_config cfg = contract_config(s, id);
	struct provider *p = NULL;

	cfg.path = path;
	*kind = provider_connect(s->ops, &cfg, NULL, &p, e);
	return p;
}

struct search {
	const char *id;
	size_t found;
};

static enum err search(void *context, const struct sandbox_entry *entry, struct error *e)
{
	struct search *s = context;

	(void)e;
	s->found += !strcmp(entry->id, s->id);
	return ERR_OK;
}

static size_t count_listed(const struct subject *s, const char *id)
{
	struct provider_config cfg = contract_config(s, NULL);
	struct search found = { .id = id };
	struct error e = { 0 };

	cr_assert(eq(int, provider_list_sandboxes(s->ops, &cfg, NULL, search, &found, &e), ERR_OK),
		"%s", e.text);
	return found.found;
}

BEHAVIOUR(info, says_what_commands_say)
{
	AUTO_RAN struct ran r = run(s, "pwd; id -u; id -g");
	AUTO_BUF struct buf want = BUF_INIT(2000);
	struct sandbox_info info;
	struct error e = { 0 };

	cr_assert(eq(int, provider_info(s->p, NULL, &info, &e), ERR_OK), "%s", e.text);
	buf_printf(&want, "%s\n%u\n%u\n", info.root, info.identity.uid, info.identity.gid);
	cr_assert(eq(str, (char *)buf_text(&r.out), (char *)buf_text(&want)));
	cr_assert(eq(str, info.id, s->id));
	cr_assert(eq(int, (int)info.state, SANDBOX_RUNNING));
}

BEHAVIOUR(url, names_the_port)
{
	AUTO_BUF struct buf url = BUF_INIT(5000);
	struct error e = { 0 };
	enum err kind = provider_url(s->p, NULL, 8181, &url, &e);

	if (s->lacks & LACKS_PORTS) {
		cr_assert(eq(int, kind, ERR_UNSUPPORTED), "%s", e.text);
		return;
	}
	cr_assert(eq(int, kind, ERR_OK), "%s", e.text);
	cr_assert(eq(int, strncmp(buf_text(&url), "http", 4), 0), "%s", buf_text(&url));
	cr_assert(strstr(buf_text(&url), "8181") != NULL, "%s", buf_text(&url));
}

BEHAVIOUR(url, of_no_port_is_refused)
{
	AUTO_BUF struct buf url = BUF_INIT(5000);

	cr_assert(eq(int, provider_url(s->p, NULL, 0, &url, NULL), ERR_INVALID));
	cr_assert(eq(int, provider_url(s->p, NULL, 65536, &url, NULL), ERR_INVALID));
	cr_assert(eq(ulong, url.len, 0));
}

BEHAVIOUR(life, a_sandbox_is_made_used_and_deleted)
{
	if (s->lacks & IS_ALONE)
		return;
	struct provider_config cfg = contract_config(s, NULL);
	struct error e = { 0 };
	char id[128];
	struct provider *p;
	enum err kind;

	cr_assert(eq(int, provider_create(s->ops, &cfg, NULL, id, &e), ERR_OK), "%s", e.text);
	cr_assert(eq(ulong, count_listed(s, id), 1));
	p = connect_to(s, id, NULL, &kind, &e);
	cr_assert(p != NULL, "%s", e.text);
	provider_release(p);
	cfg.id = id;
	cr_assert(eq(int, provider_delete(s->ops, &cfg, NULL, &e), ERR_OK), "%s", e.text);
	cr_assert(eq(ulong, count_listed(s, id), 0));
	cr_assert(eq(int, provider_delete(s->ops, &cfg, NULL, &e), ERR_OK), "%s", e.text);
}

BEHAVIOUR(life, two_that_are_made_differ)
{
	if (s->lacks & IS_ALONE)
		return;
	struct provider_config cfg = contract_config(s, NULL);
	char one[128], two[128];

	cr_assert(eq(int, provider_create(s->ops, &cfg, NULL, one, NULL), ERR_OK));
	cr_assert(eq(int, provider_create(s->ops, &cfg, NULL, two, NULL), ERR_OK));
	cr_assert(ne(str, one, two));
	cfg.id = one;
	cr_assert(eq(int, provider_delete(s->ops, &cfg, NULL, NULL), ERR_OK));
	cfg.id = two;
	cr_assert(eq(int, provider_delete(s->ops, &cfg, NULL, NULL), ERR_OK));
}

BEHAVIOUR(life, one_that_was_given_a_name_is_found_and_deleted_by_it)
{
	if (s->lacks & IS_ALONE || !(s->ops->caps & PROVIDER_FINDS_NAMES))
		return;
	struct provider_config cfg = contract_config(s, NULL);
	struct sandbox_info info;
	struct error e = { 0 };
	char id[128], name[64];
	struct provider *p;
	enum err kind;

	snprintf(name, sizeof name, "contract-%s-%d", s->name, getpid());
	cfg.name = name;
	cr_assert(eq(int, provider_create(s->ops, &cfg, NULL, id, &e), ERR_OK), "%s", e.text);
	p = connect_to(s, name, NULL, &kind, &e);
	cr_assert(p != NULL, "%s", e.text);
	cr_expect(eq(int, provider_info(p, NULL, &info, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(str, info.id, id));
	provider_release(p);
	cfg.id = name;
	cr_assert(eq(int, provider_delete(s->ops, &cfg, NULL, &e), ERR_OK), "%s", e.text);
	cr_assert(eq(ulong, count_listed(s, id), 0));
	cr_assert(eq(int, provider_delete(s->ops, &cfg, NULL, &e), ERR_OK), "%s", e.text);
}

BEHAVIOUR(life, what_was_written_outlives_the_connection)
{
	struct error e = { 0 };
	enum err kind;
	struct provider *p;

	outside_write_text(s, "f", "kept");
	provider_release(s->p);
	s->p = NULL;
	p = connect_to(s, s->id, NULL, &kind, &e);
	cr_assert(p != NULL, "%s", e.text);
	s->p = p;
	AUTO_LISTED struct listed l = list_one(s, "f", 0);

	cr_assert(eq(u64, l.entries[0].attr.ino, outside_attr(s, "f").ino));
}

BEHAVIOUR(life, a_directory_below_can_be_shown)
{
	struct provider *whole = s->p, *below;
	struct error e = { 0 };
	enum err kind;

	outside_mkdir(s, "a", 0755);
	outside_mkdir(s, "a/b", 0755);
	outside_write_text(s, "a/b/f", "x");
	below = connect_to(s, s->id, "a//./b/", &kind, &e);
	cr_assert(below != NULL, "%s", e.text);
	s->p = below;
	AUTO_RAN struct ran r = run(s, "cat f");
	AUTO_LISTED struct listed l = list_one(s, "", 1);

	s->p = whole;
	provider_release(below);
	cr_assert(eq(str, (char *)buf_text(&r.out), "x"));
	cr_assert(eq(ulong, listed_count(&l, LIST_ENTRY), 1));
	cr_assert(listed_find(&l, LIST_ENTRY, "f") != NULL);
}

BEHAVIOUR(life, a_directory_that_cannot_be_shown_is_named)
{
	static const struct {
		const char *path;
		enum err want;
		bool may_elsewhere; /* any directory of a machine of its own can be shown */
	} rows[] = { { "missing", ERR_NOT_FOUND, false }, { "a/file", ERR_NOT_DIR, false },
		{ "a/file/x", ERR_NOT_DIR, false }, { "out", ERR_NOT_DIR, true },
		{ "out/ssl", ERR_NOT_DIR, true }, { "../..", ERR_INVALID, true } };

	outside_mkdir(s, "a", 0755);
	outside_write_text(s, "a/file", "");
	outside_symlink(s, "/etc", "out");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct error e = { 0 };
		enum err kind;
		struct provider *p;

		if (s->is_remote && rows[i].may_elsewhere)
			continue;
		p = connect_to(s, s->id, rows[i].path, &kind, &e);
		cr_expect(eq(int, kind, rows[i].want), "%s: %s", rows[i].path, e.text);
		cr_expect(strstr(e.text, rows[i].path) != NULL, "%s", e.text);
		provider_release(p);
	}
}

BEHAVIOUR(life, an_absent_slot_is_answered_with_the_name_of_the_provider)
{
	struct error e = { 0 };

	if (!s->ops->pause) {
		cr_assert(eq(int, provider_pause(s->p, NULL, &e), ERR_UNSUPPORTED));
		cr_assert(strstr(e.text, s->ops->name) != NULL, "%s", e.text);
	}
	cr_assert(eq(int, provider_extend(s->p, NULL, 60, &e), ERR_OK));
}

/* ---- Without attaching ---- */

static struct provider *reach_account(const struct subject *s, const char *id)
{
	struct provider_config cfg = contract_config(s, id);
	struct provider *p = NULL;
	struct error e = { 0 };

	cfg.account_only = true;
	cr_assert(eq(int, provider_connect(s->ops, &cfg, NULL, &p, &e), ERR_OK), "%s", e.text);
	return p;
}

static enum sandbox_state state_by_account(const struct subject *s, const char *id)
{
	struct provider *p = reach_account(s, id);
	struct sandbox_info info;
	struct error e = { 0 };

	cr_assert(eq(int, provider_info(p, NULL, &info, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(str, info.id, (char *)id));
	provider_release(p);
	return info.state;
}

BEHAVIOUR(life, of_a_paused_one_the_account_tells_without_waking_it)
{
	struct provider *p = reach_account(s, s->id);
	struct error e = { 0 };

	cr_assert(eq(int, (int)state_by_account(s, s->id), SANDBOX_RUNNING));
	if (!s->ops->pause) {
		provider_release(p);
		return;
	}
	cr_assert(eq(int, provider_pause(p, NULL, &e), ERR_OK), "%s", e.text);
	cr_assert(ne(int, (int)state_by_account(s, s->id), SANDBOX_RUNNING));
	cr_assert(eq(int, provider_pause(p, NULL, &e), ERR_OK), "again: %s", e.text);
	cr_assert(ne(int, (int)state_by_account(s, s->id), SANDBOX_RUNNING));
	cr_assert(eq(int, provider_resume(p, NULL, &e), ERR_OK), "%s", e.text);
	cr_assert(eq(int, (int)state_by_account(s, s->id), SANDBOX_RUNNING));
	provider_release(p);
}

static enum err compare_label(void *context, const struct sandbox_entry *entry, struct error *e)
{
	struct search *s = context;

	(void)e;
	for (const char *const *label = entry->labels; label && *label; label++)
		s->found += !strcmp(entry->id, s->id) && !strcmp(*label, "contract=its value");
	return ERR_OK;
}

BEHAVIOUR(life, a_list_tells_the_labels_that_it_was_made_with)
{
	if (s->lacks & IS_ALONE || !(s->ops->create_options & OPTION_LABELS))
		return;
	static const char *const labels[] = { "contract=its value", "empty=", NULL };
	struct provider_config cfg = contract_config(s, NULL);
	char id[128];
	struct search found = { .id = id };
	struct error e = { 0 };

	cfg.labels = labels;
	cr_assert(eq(int, provider_create(s->ops, &cfg, NULL, id, &e), ERR_OK), "%s", e.text);
	cfg.labels = NULL;
	cr_assert(eq(int, provider_list_sandboxes(s->ops, &cfg, NULL, compare_label, &found, &e),
			  ERR_OK),
		"%s", e.text);
	cr_expect(eq(ulong, found.found, 1));
	cfg.id = id;
	cr_assert(eq(int, provider_delete(s->ops, &cfg, NULL, &e), ERR_OK), "%s", e.text);
}
