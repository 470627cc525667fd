#include "providers/base/cleanup.h"
#include "providers/variables.h"
#include "tools/apart.h"
#include "tools/ctl/checks.h"
#include "tools/ctl/keys.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* ---- In a process of its own ---- */

/* Shared with that process. */
struct probe {
	const struct provider_ops *ops;
	enum err kind;
	char text[sizeof((struct error *)0)->text];
};

/* One sandbox is enough to know that the key works. */
static enum err stop(void *context, const struct sandbox_entry *entry, struct error *e)
{
	(void)entry;
	*(bool *)context = true;
	return error_set(e, ERR_INTERRUPTED, "enough");
}

static int ask(const void *context)
{
	struct probe *p = *(struct probe *const *)context;
	bool is_program = provider_is_program(p->ops);
	const struct call call = { .progress_ms = is_program ? PROGRAM_MS : CHECK_PROVIDER_MS };
	struct error e = { 0 };
	bool has_some = false;

	p->kind = provider_list_sandboxes(p->ops, &(struct provider_config){ .asks_nobody = true },
		&call, stop, &has_some, &e);
	if (has_some)
		p->kind = ERR_OK;
	snprintf(p->text, sizeof p->text, "%s", e.text);
	return 0;
}

/* ---- The finding ---- */

/* Whether some variable has the provider's address or key. */
static bool is_set_up(const struct provider_ops *ops)
{
	const struct variable *v;

	for (size_t i = 0; (v = variable_at(i)); i++)
		if (!strcmp(v->provider, ops->name) && variable_value(v))
			return true;
	return false;
}

/*
 * A provider's one sandbox that is out of reach, and that no variable sets up, is not in use; nor
 * is a program of the user's own that reaches nothing.
 */
static bool is_absent(const struct probe *p)
{
	return provider_is_program(p->ops) ||
		(p->kind == ERR_UNREACHABLE && p->ops->caps & PROVIDER_SINGLE &&
			!is_set_up(p->ops));
}

/* "": there is no source. */
static void tell_source(const struct probe *p, char *out, size_t room)
{
	AUTO_BUF struct buf source = BUF_INIT(KEY_SOURCE_MAX);

	*out = '\0';
	if (!provider_key_source(p->ops, &source, NULL))
		snprintf(out, room, "%s", buf_text(&source));
}

static void tell_good(const struct probe *p, const char *source, struct finding *out)
{
	if (*source)
		finding_set(out, FINDING_OK, "answers, and takes the key: %s", source);
	else
		finding_set(out, FINDING_OK, "%s",
			*p->ops->key_names ? "answers, and wants no key" : "is here");
}

static void tell(const struct probe *p, struct finding *out)
{
	const char *names = p->ops->key_names;
	char source[sizeof out->text / 2];

	tell_source(p, source, sizeof source);
	switch ((int)p->kind) {
	case ERR_OK: tell_good(p, source, out); break;
	case ERR_UNSUPPORTED:
		finding_set(out, FINDING_UNUSED, "cannot list its sandboxes: not asked");
		break;
	case ERR_AUTH:
		if (is_absent(p))
			finding_set(out, FINDING_UNUSED, "%s", p->text);
		else if (*source)
			finding_set(out, FINDING_FAIL, "%s; the key is of %s", p->text, source);
		else if (provider_key_is_set(p->ops))
			finding_set(out, FINDING_FAIL, "%s", p->text);
		else
			finding_set(out, FINDING_UNUSED, "no key; to use it set %s", names);
		break;
	default: finding_set(out, is_absent(p) ? FINDING_UNUSED : FINDING_FAIL, "%s", p->text);
	}
}

void check_provider(const struct provider_ops *ops, struct finding *out)
{
	struct probe *p =
		mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		finding_set(out, FINDING_FAIL, "out of memory");
		return;
	}
	p->ops = ops;
	if (apart_run(ask, &p, CHECK_PROVIDER_MS) == 0)
		tell(p, out);
	else
		finding_set(out, FINDING_FAIL,
			"no answer within %d s; look at the network, and at https_proxy",
			CHECK_PROVIDER_MS / 1000);
	munmap(p, sizeof *p);
}
