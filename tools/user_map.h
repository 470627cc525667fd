/*
 * user_map.h - the users that exist in this process's user namespace.
 *
 * In a user namespace such as that of a rootless container most users of the machine have no
 * number: their files can be seen and not be changed, not even by root there, and no process can
 * become such a user.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

bool user_map_has_uid(uid_t uid);
bool user_map_has_gid(gid_t gid);
/* Whether all users have a number, as outside of containers. */
bool user_map_is_whole(void);
