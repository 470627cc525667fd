/*
 * cgroup.h - a control group (cgroups(7), version 2) that bounds the resources of several processes
 * together.
 *
 * The group is made in the nearest group above our own that has the needed controllers and in which
 * this process may make groups: for root any group, for a user one that systemd delegates
 * (systemd-run --user --scope).
 */
#pragma once

#include "providers/base/error.h"

#include <sys/types.h>

/* 0: no bound. */
struct cgroup_limits {
	double cpus;
	int64_t memory_mb, pids; /* MiB of 1024 * 1024 bytes; processes and threads */
};

struct cgroup {
	int parent, procs; /* -1: no group */
	char *name;
};

#define CGROUP_NONE                                                                                \
	(struct cgroup)                                                                            \
	{                                                                                          \
		.parent = -1, .procs = -1                                                          \
	}

/* Makes the group `name`. ERR_UNSUPPORTED: no group can be made here; the sentence says why. */
enum err cgroup_make(
	struct cgroup *out, const char *name, const struct cgroup_limits *limits, struct error *e);
/*
 * cgroup_make() where groups are mounted at `mount` and this process is in the group `own`
 * ("/a/b").
 */
enum err cgroup_make_in(struct cgroup *out, const char *mount, const char *own, const char *name,
	const struct cgroup_limits *limits, struct error *e);
/* Puts the process, and with it each that it starts later, into the group. */
enum err cgroup_admit(const struct cgroup *c, pid_t pid, struct error *e);
/* Removes the group once no process is in it. */
void cgroup_release(struct cgroup *c);
