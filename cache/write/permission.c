#include "cache/write/permission.h"

#include <sys/stat.h>

static bool is_in_group(const struct identity *who, uint32_t gid)
{
	if (who->gid == gid)
		return true;
	for (uint32_t n = 0; n < who->groups_count; n++)
		if (who->groups[n] == gid)
			return true;
	return false;
}

bool permission_allows(const struct identity *who, const struct attr *attr, unsigned want)
{
	unsigned granted = attr->mode & 7;

	if (who->uid == 0)
		return !(want & PERMISSION_EXEC) || S_ISDIR(attr->mode) || attr->mode & 0111;
	if (who->uid == attr->uid)
		granted = attr->mode >> 6 & 7;
	else if (is_in_group(who, attr->gid))
		granted = attr->mode >> 3 & 7;
	return (granted & want) == want;
}
