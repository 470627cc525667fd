#include "providers/command/life.h"

#include "providers/base/cleanup.h"
#include "providers/remote/names.h"

#include <stdio.h>

/* How long a server may go on with a sandbox whose maker was ended, and how often it is asked. */
#define LATE_MS  5000
#define LATER_MS 100

enum err life_open(struct command **out, const struct provider_ops *ops,
	const struct transport *transport, const struct provider_config *cfg, struct error *e)
{
	struct provider_config all = *cfg;

	all.id = "";
	return command_new(out, ops, transport, &all, e);
}

enum err life_check_image(
	const struct provider_ops *ops, const struct provider_config *cfg, struct error *e)
{
	const char *name = provider_option_name(cfg, OPTION_IMAGE);

	return cfg->image ? ERR_OK
			  : error_set(e, ERR_INVALID, "%s: '%sNAME' is missing, as in %sdebian:12",
				    ops->name, name, name);
}

enum err life_choose_name(
	const struct provider_ops *ops, const char *wanted, char out[128], struct error *e)
{
	char name[REMOTE_NAME_SIZE];
	enum err kind = wanted ? ERR_OK : remote_new_name("sandboxfs-", name, e);

	if (kind || snprintf(out, 128, "%s", wanted ? wanted : name) < 128)
		return kind;
	return error_set(e, ERR_INVALID, "%s: the name '%.60s...' is too long", ops->name, wanted);
}

void life_await_late(struct command *c)
{
	const struct call call = { .progress_ms = LATE_MS };
	const int64_t end_ms = monotonic_ms() + LATE_MS;
	struct sandbox_info found;

	while (c->transport->state(c, &call, &found, NULL) == ERR_NOT_FOUND &&
		monotonic_ms() < end_ms)
		call_sleep(&call, LATER_MS, NULL);
}
