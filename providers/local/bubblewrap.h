/*
 * bubblewrap.h - one command in a jail on this machine, through the program bwrap(1).
 *
 * The jail shows /usr and its kin and a short list of /etc (read-only), the sandbox's directories
 * (writable but for /) and a new /proc, /dev and /run. The caller's home, environment and processes
 * are never visible. The network is the machine's, one behind an address translation (nat.h), or
 * none. The command's first process leads its session; processes that it leaves running end with
 * the command.
 *
 * Any function may be called from any thread. The process needs no privilege: bwrap makes a user
 * namespace unless we are root.
 */
#pragma once

#include "providers/local/cgroup.h"
#include "providers/provider.h"

/* The HOME of commands, and the path of staging for them. */
#define JAIL_HOME    "/home/user"
#define JAIL_STAGING "/home/.staging"

struct jail {
	const char *name; /* the host name of the jail */
	const char *root; /* absolute directory of this machine: / of the jail, jail_root.h */
	const char *home; /* absolute directory of this machine: /home of the jail */
	/* absolute directory for JAIL_HOME; a mount, which no command can replace */
	const char *user_home;
	const char *staging; /* absolute directory for JAIL_STAGING; NULL: no staging */
	const char *tmp;     /* absolute directory for /tmp */
	const char *user;    /* USER and LOGNAME */
	/* A directory of devices (devices.h) that replaces this machine's; NULL: no replacement. */
	const char *devices;
	/* unless it is this machine's, each command has a network of its own */
	enum network network;
	/* Bounds all commands; NULL: the next two limits bound them. */
	const struct cgroup *cgroup;
	int64_t memory_mb, pids; /* bounds of each process and of each command; 0: no bound */
};

/*
 * Runs `request` as provider_ops.execute says, in the directory `cwd` (absolute, in the jail);
 * request->cwd is ignored. ERR_UNSUPPORTED: bwrap is missing or may not make namespaces; the
 * sentence says what to do. ERR_NOT_FOUND: no such `cwd`. The calling thread must not end before
 * the function returns, since the jail would end with the thread.
 */
enum err bubblewrap_run(const struct jail *jail, const struct call *call,
	const struct execute_request *request, const char *cwd, execute_sink sink, void *context,
	struct execute_result *result, struct error *e);
