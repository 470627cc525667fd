/*
 * limits.h - the limits of an embedded sandbox's programs, kept in a file in its directory.
 *
 *      by a cgroup (cgroup.h)  memory, processors, processes: of all commands of one mount together
 *      else by rlimits         memory of each process, processes of each command; no processors
 */
#pragma once

#include "providers/base/error.h"
#include "providers/local/cgroup.h"
#include "providers/provider.h"

/*
 * Default limit on the processes of a command: enough for any build, and a bound for a fork bomb.
 */
#define LOCAL_PIDS 1024

struct local_limits {
	struct cgroup_limits taken; /* 0: no limit asked for */
	int64_t disk_mb;            /* disk.h; not in the file */
	enum network network;       /* NETWORK_DEFAULT: as NETWORK_HOST */
};

#define LOCAL_LIMIT_OPTIONS                                                                        \
	(OPTION_CPUS | OPTION_MEMORY | OPTION_DISK | OPTION_PIDS | OPTION_NETWORK |                \
		OPTION_BLOCK_NETWORK)

/* ERR_INVALID: two different networks are asked for. */
enum err local_limits_asked(
	const struct provider_config *cfg, struct local_limits *out, struct error *e);

/* Reads the limits in the sandbox's directory, if any; limits that are set in `l` stay. */
enum err local_limits_read(int sandbox, struct local_limits *l, struct error *e);
enum err local_limits_write(int sandbox, const struct local_limits *l, struct error *e);

/*
 * Makes a group that bounds memory, processors and processes. No group is made where only the
 * default limit applies, nor where rlimits are used instead, which is logged: as a warning where
 * `cfg` asks for these limits. ERR_UNSUPPORTED: no group can be made, and processors are to be
 * bounded.
 */
enum err local_limits_bound(const struct local_limits *l, const struct provider_config *cfg,
	struct cgroup *out, struct error *e);

/*
 * "512 MiB of memory, 4096 processes, by rlimits; no network": for a person. `by`: NULL: not known.
 */
void local_limits_text(const struct local_limits *l, const char *by, char *out, size_t size);
