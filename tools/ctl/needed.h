/*
 * needed.h - the sandboxes of a provider that this user needs here: those that a mount shows, and
 * those that do not have all changes of a journal on this machine.
 *
 * A mount and a journal may have another name of a sandbox than the vendor's list, so they are
 * compared by the IDs that a connection tells, too.
 */
#pragma once

#include "tools/ctl/journals.h"
#include "tools/ctl/mounts.h"
#include "tools/ctl/target.h"

struct needed {
	const struct provider_ops *ops;
	struct mounts mounts;
	char **ids; /* the IDs of sandboxes, one for each of `mounts`; NULL: of another provider */
	struct journals journals;
};

/*
 * Finds out what is mounted, and which journals there are. Released also after an error, which is
 * returned where a mount's sandbox could not be found out.
 */
enum err needed_find(struct needed *out, const struct provider_ops *ops,
	const struct ctl_common *common, struct error *e);
void needed_release(struct needed *n);

/*
 * Whether `t`, which is parsed, is needed at this moment; then a line on stderr says what for. May
 * connect `t`, without touching the sandbox's inside.
 */
enum err needed_check(const struct needed *n, struct target *t, bool *is_needed, struct error *e);
