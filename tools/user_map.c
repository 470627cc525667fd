#include "tools/user_map.h"

#include <stdint.h>
#include <stdio.h>

/* All numbers except the one that means none. */
#define WHOLE UINT32_MAX

/*
 * Whether one row has `count` numbers from `first` on. Where the file is missing the kernel has no
 * user namespaces.
 */
static bool is_mapped(const char *file, uint32_t first, uint32_t count)
{
	FILE *map = fopen(file, "re");
	unsigned inside, outside, length;
	bool is = !map;

	while (!is && fscanf(map, "%u %u %u", &inside, &outside, &length) == 3)
		is = first >= inside && first - inside < length &&
			length - (first - inside) >= count;
	if (map)
		fclose(map);
	return is;
}

bool user_map_has_uid(uid_t uid)
{
	return is_mapped("/proc/self/uid_map", uid, 1);
}

bool user_map_has_gid(gid_t gid)
{
	return is_mapped("/proc/self/gid_map", gid, 1);
}

bool user_map_is_whole(void)
{
	return is_mapped("/proc/self/uid_map", 0, WHOLE);
}
