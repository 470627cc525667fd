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
	char *source; /* PROVIDER:ID[:PATH]; NULL where nobody asked */
	uid_t uid;    /* whose mount it is: FUSE lets nobody else in, not even root */
	gid_t gid;
};

/* From a line of the table: root's, where it names none. */
void mounted_take_owner(struct mounted *m, const struct mntent *line);

/*
 * Whether this errno of a call below a mount says that nobody serves the mount any more. ECONNABORTED is the answer to
 * whoever was asking at that moment, ECONNREFUSED where the mount's process ended before it answered the kernel's first
 * request and a child of it still has the device.
 */
bool mounted_is_dead(int number);

/*
 * For a process of its own (apart.h): root is kept out of other users' mounts unless it becomes
 * them. No process becomes a user without a number here (user_map.h), who may be the one that root
 * of this user namespace is outside. false: errno.
 */
bool mounted_become_owner(const struct mounted *m);
