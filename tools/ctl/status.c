/*
 * status.c - sandboxctl status: the mounts of this user, and the state of each.
 */
#include "tools/apart.h"
#include "tools/ctl/command.h"
#include "tools/ctl/status_list.h"

static enum err report(bool as_json, struct error *e)
{
	AUTO_MOUNTS struct mounts mounts = { 0 };
	struct mount_answer *answers;
	enum err kind = mounts_find(&mounts, e);

	if (!kind)
		kind = mounts_ask(&mounts, APART_NO_LIMIT, &answers, e);
	if (kind)
		return kind;
	kind = status_list(&mounts, answers, as_json, e);
	mounts_answers_free(answers, &mounts);
	return kind;
}

static enum err run(struct ctl_run *run, struct error *e)
{
	struct ctl_common common;
	enum err kind = ctl_parse(run, NULL, &common, e);

	return kind ? kind : report(common.json, e);
}

const struct ctl_command ctl_status = {
	.name = "status",
	.summary = "Show your mounts, and what is wrong with them",
	.details =
		"PENDING is what the sandbox does not have yet, REFUSED how many changes it did "
		"not "
		"take, KNOWN how many files and directories are known without asking, CACHE what "
		"contents take on this machine, of all your mounts that share a directory, "
		"and may take at most. Below the "
		"table stand the refused changes, and the last errors. A mount whose process is "
		"gone is dead; one that did not answer within ten seconds, or of another user's "
		"two, "
		"is silent.",
	.flags = CTL_JSON,
	.run = run,
};
