/*
 * mounted.h - a mount of sandboxfs on this machine, as the mount table has it.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* The type that the mount table shows. */
#define MOUNTED_TYPE "fuse.sandboxfs"

struct mntent;

struct mounted {
	char *dir;    /* absolute */
	char *source; /* PROVIDER:ID[:PATH]; NULL: not asked for */
	uid_t uid;    /* owner of the mount: FUSE admits no other user, not even root */
	gid_t gid;
};

/* From a line of the table; root, where the line names no owner. */
void mounted_take_owner(struct mounted *m, const struct mntent *line);

/*
 * Whether this errno of a call below a mount means that no process serves the mount any more.
 * ECONNABORTED is the answer to a call that was waiting at that moment. ECONNREFUSED: the mount's
 * process ended before it answered the kernel's first request, and a child of it still has the
 * device.
 */
bool mounted_is_dead(int number);

/*
 * For a process of its own (apart.h): root cannot enter other users' mounts unless it becomes the
 * owner. A process cannot become a user without a number here (user_map.h), which may be the
 * outside user of this user namespace's root. false: errno.
 */
bool mounted_become_owner(const struct mounted *m);
