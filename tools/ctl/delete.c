/*
 * delete.c - sandboxctl delete: ends sandboxes for good.
 */
#include "tools/ctl/each.h"

static enum err delete_it(struct target *t, void *context, struct error *e)
{
	(void)context;
	return provider_delete(t->source.ops, &t->config, &t->call, e);
}

static enum err run(struct ctl_run *run, struct error *e)
{
	return each_run(run, delete_it, e);
}

const struct ctl_command ctl_delete = {
	.name = "delete",
	.arguments = "PROVIDER:ID...",
	.summary = "Delete sandboxes with all that is in them",
	.details = "One that does not exist is deleted already: that is no failure.",
	.flags = CTL_ACCOUNT,
	.argp = &each_argp,
	.run = run,
};
