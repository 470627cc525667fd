/*
 * jail_helper.h - the helper program in a jail of its sandbox: for directories that are there only
 * in a jail, as / is.
 *
 * The program sees what commands see at the same paths, and can do no more than they. /proc and
 * /dev are those of its own jail, and /dev and /run take no changes, which no command would see.
 * It belongs to no cgroup: commands that use up their memory or processes do not end it.
 */
#pragma once

#include "providers/client/process.h"
#include "providers/local/bubblewrap.h"

/*
 * Serves the directory `dir`, absolute in the jail; links on the way are followed there. Errors are
 * those of bubblewrap_run() and helper_process_start(); ERR_NOT_FOUND or ERR_NOT_DIR: no such
 * directory. `jail` is used during the call only.
 */
enum err jail_helper_start(struct helper_process *h, const struct jail *jail, const char *dir,
	const struct call *call, struct error *e);
