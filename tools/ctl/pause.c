/*
 * pause.c - sandboxctl pause and resume: a stopped sandbox costs less, and goes on where it was.
 */
#include "tools/ctl/each.h"

static enum err pause_it(struct target *t, void *context, struct error *e)
{
	enum err kind = target_reach_account(t, e);

	(void)context;
	return kind ? kind : provider_pause(t->provider, &t->call, e);
}

static enum err resume_it(struct target *t, void *context, struct error *e)
{
	enum err kind = target_reach_account(t, e);

	(void)context;
	return kind ? kind : provider_resume(t->provider, &t->call, e);
}

static enum err run_pause(struct ctl_run *run, struct error *e)
{
	return each_run(run, pause_it, e);
}

static enum err run_resume(struct ctl_run *run, struct error *e)
{
	return each_run(run, resume_it, e);
}

const struct ctl_command ctl_pause = {
	.name = "pause",
	.arguments = "PROVIDER:ID...",
	.summary = "Stop sandboxes so that they can be resumed",
	.details =
		"What a mount of it has not sent yet is sent when it is resumed. What runs in it "
		"goes on then only where the provider keeps its memory.",
	.flags = CTL_ACCOUNT,
	.argp = &each_argp,
	.run = run_pause,
};

const struct ctl_command ctl_resume = {
	.name = "resume",
	.arguments = "PROVIDER:ID...",
	.summary = "Wake paused sandboxes, and recover broken ones",
	.details =
		"One that runs is left as it is. One whose state is error or failed is recovered "
		"where its provider can; sandboxctl info says why it is broken.",
	.flags = CTL_ACCOUNT,
	.argp = &each_argp,
	.run = run_resume,
};
