/*
 * bubblewrap.h - one command in a jail on this machine, through the program bwrap(1).
 *
 * What the jail shows: /usr and its kin and a short list of /etc to be read, the sandbox's
 * directories to be written, a fresh /proc, /dev and /run. Never the caller's home, environment or
 * processes. The network is the machine's, one behind an address translation (nat.h), or none. The
 * command's first process leads its session; whatever it leaves running ends when the command does.
 * Any function may be called from any thread. The process itself needs no privilege: bwrap makes a
 * user namespace unless we are root.
 */
#pragma once

#include "providers/local/cgroup.h"
#include "providers/provider.h"

/* The HOME of commands, and where they find staging. */
#define JAIL_HOME    "/home/user"
#define JAIL_STAGING "/home/.staging"

struct jail {
	const char *name;      /* its host name */
	const char *home;      /* a directory of this machine, absolute: /home of the jail */
	const char *user_home; /* likewise: JAIL_HOME; a mount, which no command can replace */
	const char *staging;   /* likewise: JAIL_STAGING; NULL: there is none */
	const char *tmp;       /* likewise: /tmp */
	const char *user;      /* USER and LOGNAME */
	/* A directory of devices (devices.h) to be seen instead of this machine's; NULL: there is none. */
	const char *devices;
	enum network network; /* but for this machine's each command has one of its own */
	/* What bounds commands; NULL: the next two do. */
	const struct cgroup *cgroup;
	int64_t memory_mb, pids; /* of each process, of each command; 0: no bound */
};

/*
 * Runs `request` as provider_ops.execute says, in the directory `cwd` (absolute, in the jail) and without looking at
 * request->cwd. ERR_UNSUPPORTED: bwrap is missing or not allowed to make namespaces; the sentence says the way out.
 * ERR_NOT_FOUND: no such `cwd`. The calling thread must not end before it returns, since the jail would end with it.
 */
enum err bubblewrap_run(const struct jail *jail, const struct call *call,
	const struct execute_request *request, const char *cwd, execute_sink sink, void *context,
	struct execute_result *result, struct error *e);
