#include "tools/describe/describe.h"

#include "fs/errmap.h"
#include "providers/provider.h"
#include "providers/user_shell.h"

#include <stdio.h>
#include <string.h>

/* ---- Optional slots ---- */

struct slot {
	const char *command; /* a command of sandboxctl */
	bool (*is_there)(const struct provider_ops *ops);
	enum err (*call)(struct provider *p); /* called where the slot is absent */
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
IS_THERE(snapshot)
IS_THERE(fork)
IS_THERE(set_network)
IS_THERE(logs)

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

static enum err call_snapshot(struct provider *p)
{
	char id[SNAPSHOT_ID_SIZE];

	return provider_snapshot(p, NULL, NULL, id, NULL);
}

static enum err call_fork(struct provider *p)
{
	char id[128];

	return provider_fork(p, NULL, id, NULL);
}

static enum err call_network(struct provider *p)
{
	return provider_set_network(p, NULL, false, NULL, NULL);
}

static enum err call_logs(struct provider *p)
{
	return provider_logs(p, NULL, NULL, NULL, NULL);
}

/* By the names of sandboxctl's commands. */
static const struct slot slots[] = {
	{ "create", has_create, call_create },
	{ "list", has_list_sandboxes, call_list },
	{ "delete", has_delete, call_delete },
	{ "pause", has_pause, call_pause },
	{ "resume", has_resume, call_resume },
	{ "extend", has_extend, call_extend },
	{ "url", has_url, call_url },
	{ "snapshot", has_snapshot, call_snapshot },
	{ "fork", has_fork, call_fork },
	{ "network", has_set_network, call_network },
	{ "logs", has_logs, call_logs },
};
#define SLOTS_COUNT (sizeof slots / sizeof *slots)

/*
 * Only provider.c knows what an absent function means: the call gives the errno that a program
 * gets.
 */
static const char *slot_word(const struct slot *slot, const struct provider_ops *ops)
{
	struct provider nothing = { .ops = ops };
	enum err kind;

	if (slot->is_there(ops))
		return "yes";
	kind = slot->call(&nothing);
	return kind ? strerrorname_np(errmap_errno(kind)) : "needs none";
}

static const char *watch_word(const struct provider_ops *ops)
{
	struct provider nothing = { .ops = ops };
	struct watch_request request = { 0 };

	if (ops->watch || ops->caps & PROVIDER_KEEPS_HELPER)
		return "the helper's";
	return strerrorname_np(
		errmap_errno(provider_watch(&nothing, NULL, &request, NULL, NULL, NULL)));
}

/* ---- A row ---- */

static const char *found_by(const struct provider_ops *ops)
{
	if (ops->caps & PROVIDER_SINGLE || ops->take_id)
		return "address";
	if (ops->caps & PROVIDER_NAMES_IDS)
		return "name";
	return ops->caps & PROVIDER_FINDS_NAMES ? "ID or name" : "ID";
}

static void print_options(unsigned options)
{
	AUTO_BUF struct buf names = BUF_INIT(1000);

	provider_option_names(options, &names);
	printf("\t%s", buf_text(&names));
}

static void print_row(const struct provider_ops *ops)
{
	printf("provider\t%s\t%s\t%s\t%s", ops->name, ops->title, found_by(ops), ops->key_names);
	print_options(ops->create_options);
	print_options(ops->connect_options);
	for (size_t i = 0; i < SLOTS_COUNT; i++)
		printf("%c%s=%s", i ? ',' : '\t', slots[i].command, slot_word(&slots[i], ops));
	printf("\t%s\t%s\n", watch_word(ops), user_shell_auto(ops->caps));
}

void describe_providers(void)
{
	const struct provider_ops *ops;

	for (size_t i = 0; (ops = provider_at(i)); i++)
		print_row(ops);
}
