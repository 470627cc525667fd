/*
 * limits.h - what bounds the programs of an embedded sandbox, kept in a file beside it.
 *
 *      by a cgroup (cgroup.h)      memory, processors, processes: of all commands of one mount together
 *      else by rlimits             memory of each process alone, processes of each command; no processors
 */
#pragma once

#include "providers/base/error.h"
#include "providers/local/cgroup.h"
#include "providers/provider.h"

/* Processes of a command where nothing else is asked for: a fork bomb ends there, no build does. */
#define LOCAL_PIDS 1024

struct local_limits {
	struct cgroup_limits taken; /* 0: not asked for */
	int64_t disk_mb;            /* disk.h; not in the file */
	enum network network;       /* NETWORK_DEFAULT: as NETWORK_HOST */
};

#define LOCAL_LIMIT_OPTIONS                                                                        \
	(OPTION_CPUS | OPTION_MEMORY | OPTION_DISK | OPTION_PIDS | OPTION_NETWORK |                \
		OPTION_BLOCK_NETWORK)

/* ERR_INVALID: the network is asked for twice, each time another one. */
enum err local_limits_asked(
	const struct provider_config *cfg, struct local_limits *out, struct error *e);

/* Those that the sandbox's directory has, where it has some, under those that are set in `l`. */
enum err local_limits_read(int sandbox, struct local_limits *l, struct error *e);
enum err local_limits_write(int sandbox, const struct local_limits *l, struct error *e);

/*
 * A group for what bounds memory, processors and processes. None where nothing but the default
 * does, and none where rlimits do instead, which the log says: a warning where `cfg` asks for it.
 * ERR_UNSUPPORTED: no group, and processors are to be bounded.
 */
enum err local_limits_bound(const struct local_limits *l, const struct provider_config *cfg,
	struct cgroup *out, struct error *e);

/* "512 MiB of memory, 4096 processes, by rlimits; no network": for people. `by`: NULL: not known. */
void local_limits_text(const struct local_limits *l, const char *by, char *out, size_t size);
