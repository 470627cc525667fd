/*
 * cgroup.h - a control group (cgroups(7), version 2) that bounds what some processes take together.
 *
 * The group is made in the nearest group above our own that this process may make groups in and
 * that has the controllers needed: for root any group, for a user one that systemd delegates
 * (systemd-run --user --scope).
 */
#pragma once

#include "providers/base/error.h"

#include <sys/types.h>

/* 0: no bound. */
struct cgroup_limits {
	double cpus;
	int64_t memory_mb, pids; /* of 1024 * 1024 bytes; processes and threads */
};

struct cgroup {
	int parent, procs; /* -1: there is none */
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
/* The same where groups are mounted at `mount` and this process is in the group `own` ("/a/b"). */
enum err cgroup_make_in(struct cgroup *out, const char *mount, const char *own, const char *name,
	const struct cgroup_limits *limits, struct error *e);
/* From now on the process, and each that it starts, is in the group. */
enum err cgroup_admit(const struct cgroup *c, pid_t pid, struct error *e);
/* The group goes when no process is in it. */
void cgroup_release(struct cgroup *c);
