#include "tools/mounted.h"

#include "tools/user_map.h"

#include <errno.h>
#include <grp.h>
#include <mntent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* 0, which is root, where the table names none. */
static unsigned option_number(const struct mntent *line, const char *name)
{
	const char *option = hasmntopt(line, name);

	return option ? (unsigned)strtoul(option + strlen(name) + 1, NULL, 10) : 0;
}

void mounted_take_owner(struct mounted *m, const struct mntent *line)
{
	m->uid = option_number(line, "user_id");
	m->gid = option_number(line, "group_id");
}

bool mounted_is_dead(int number)
{
	return number == ENOTCONN || number == ECONNABORTED || number == ECONNREFUSED;
}

bool mounted_become_owner(const struct mounted *m)
{
	if (geteuid() != 0 || m->uid == 0 || !user_map_has_uid(m->uid))
		return true;
	return !setgroups(0, NULL) && !setresgid(m->gid, m->gid, m->gid) &&
		!setresuid(m->uid, m->uid, m->uid);
}
