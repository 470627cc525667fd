/*
 * user_map.h - who there is in the user namespace that this process is in.
 *
 * In a user namespace such as that of a rootless container most users of the machine have no
 * number: their files can be seen and not be changed, not even by root there, and no process can
 * become them.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

bool user_map_has_uid(uid_t uid);
bool user_map_has_gid(gid_t gid);
/* Whether all users have a number, as outside of containers. */
bool user_map_is_whole(void);
