/*
 * differences - prints, as a table of README.md, in what the vendors differ, and with the word
 * "variables" what they read of the environment (providers/variables.h).
 *
 * The former is read from their tables of functions (providers/provider.h). What an absent function means is not known
 * here either: it is called for, and what comes back is shown as the errno that a program would see.
 */
#include "fs/errmap.h"
#include "providers/provider.h"
#include "providers/variables.h"

#include <stdio.h>
#include <string.h>

/* ---- What may be absent ---- */

struct slot {
	const char *title;
	bool (*is_there)(const struct provider_ops *ops);
	enum err (*call)(struct provider *p); /* where it is not there */
};

#define IS_THERE(slot)                                                                             \
	static bool has_##slot(const struct provider_ops *ops)                                     \
	{                                                                                          \
		return ops->slot != NULL;                                                          \
	}

IS_THERE(create)
IS_THERE(list_sandboxes)
IS_THERE(delete)
IS_THERE(pause)
IS_THERE(resume)
IS_THERE(extend)
IS_THERE(url)

static enum err call_create(struct provider *p)
{
	const struct provider_config cfg = { 0 };
	char id[128];

	return provider_create(p->ops, &cfg, NULL, id, NULL);
}

static enum err call_list(struct provider *p)
{
	const struct provider_config cfg = { 0 };

	return provider_list_sandboxes(p->ops, &cfg, NULL, NULL, NULL, NULL);
}

static enum err call_delete(struct provider *p)
{
	const struct provider_config cfg = { 0 };

	return provider_delete(p->ops, &cfg, NULL, NULL);
}

static enum err call_pause(struct provider *p)
{
	return provider_pause(p, NULL, NULL);
}

static enum err call_resume(struct provider *p)
{
	return provider_resume(p, NULL, NULL);
}

static enum err call_extend(struct provider *p)
{
	return provider_extend(p, NULL, 1, NULL);
}

static enum err call_url(struct provider *p)
{
	return provider_url(p, NULL, 1, NULL, NULL);
}

static const struct slot slots[] = {
	{ "make", has_create, call_create },
	{ "list", has_list_sandboxes, call_list },
	{ "delete", has_delete, call_delete },
	{ "pause", has_pause, call_pause },
	{ "resume", has_resume, call_resume },
	{ "more time", has_extend, call_extend },
	{ "a port's URL", has_url, call_url },
};
#define SLOTS_COUNT (sizeof slots / sizeof *slots)

static void print_slot(const struct slot *slot, const struct provider_ops *ops)
{
	struct provider nothing = { .ops = ops };
	enum err kind;

	if (slot->is_there(ops)) {
		printf(" yes |");
		return;
	}
	kind = slot->call(&nothing);
	if (kind == ERR_OK)
		printf(" needs none |");
	else
		printf(" %s |", strerrorname_np(errmap_errno(kind)));
}

/* ---- A row ---- */

/* As code, one by one. */
static void print_names(const char *names)
{
	while (*names) {
		size_t len = strcspn(names, ", ");

		printf(" `%.*s`%s", (int)len, names, names[len] ? "," : "");
		names += len;
		names += strspn(names, ", ");
	}
}

static void print_cell(const char *names, const char *otherwise)
{
	if (*names)
		print_names(names);
	else
		printf(" %s", otherwise);
	printf(" |");
}

static void print_options(unsigned options)
{
	AUTO_BUF struct buf names = BUF_INIT(1000);

	provider_option_names(options, &names);
	print_cell(buf_text(&names), "nothing");
}

static void print_watch(const struct provider_ops *ops)
{
	struct provider nothing = { .ops = ops };

	if (ops->watch || ops->caps & PROVIDER_KEEPS_HELPER)
		printf(" the helper's |\n");
	else
		printf(" %s |\n",
			strerrorname_np(errmap_errno(provider_watch(
				&nothing, NULL, &(struct watch_request){ 0 }, NULL, NULL, NULL))));
}

static const char *found_by(const struct provider_ops *ops)
{
	if (ops->caps & PROVIDER_SINGLE)
		return "address";
	if (ops->caps & PROVIDER_NAMES_IDS)
		return "name";
	return ops->caps & PROVIDER_FINDS_NAMES ? "ID or name" : "ID";
}

static void print_row(const struct provider_ops *ops)
{
	printf("| `%s:` %s | %s |", ops->name, ops->title, found_by(ops));
	print_cell(ops->key_names, "none");
	print_options(ops->create_options);
	print_options(ops->connect_options);
	for (size_t i = 0; i < SLOTS_COUNT; i++)
		print_slot(&slots[i], ops);
	print_watch(ops);
}

static void print_head(void)
{
	printf("| provider | found by | key | a new one takes | any takes |");
	for (size_t i = 0; i < SLOTS_COUNT; i++)
		printf(" %s |", slots[i].title);
	printf(" stream of changes |\n|---|---|---|---|---|");
	for (size_t i = 0; i < SLOTS_COUNT; i++)
		printf("---|");
	printf("---|\n");
}

static void print_differences(void)
{
	const struct provider_ops *ops;

	print_head();
	for (size_t i = 0; (ops = provider_at(i)); i++)
		print_row(ops);
}

static void print_variables(void)
{
	const struct variable *v;

	printf("| provider | variable | what it is |\n|---|---|---|\n");
	for (size_t i = 0; (v = variable_at(i)); i++) {
		printf(*v->provider ? "| `%s:` |" : "| all |", v->provider);
		printf(" `%s` | %s", v->name, v->help);
		printf(v->otherwise ? " (`%s`) |\n" : " |\n", v->otherwise);
	}
}

/* One word: the table. */
int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "variables"))
		print_variables();
	else
		print_differences();
	return fflush(stdout) ? 1 : 0;
}
