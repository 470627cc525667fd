/*
 * user_map.h - who there is in the user namespace that this process is in.
 *
 * In one of its own, as a container without root has it, most users of the machine have no number: their files can be seen
 * and not be changed, not even by its root, and no process can become them.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

bool user_map_has_uid(uid_t uid);
bool user_map_has_gid(gid_t gid);
/* Everybody has a number: nobody is kept out. */
bool user_map_is_whole(void);
