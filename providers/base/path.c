#include "providers/base/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool path_name_ok(const char *name, size_t len)
{
	if (len == 0 || len > PATH_NAME_MAX || memchr(name, '/', len) || memchr(name, 0, len))
		return false;
	return !(name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.')));
}

enum err path_check(const char *path, struct error *e)
{
	const char *rest = path_is_staged(path) ? path + 1 : path;

	if (strlen(path) > PATH_LENGTH_MAX)
		return error_set(e, ERR_NAME_TOO_LONG, "path of %zu bytes", strlen(path));
	if (path_is_staged(path) && strchr(rest, '/'))
		return error_set(e, ERR_INVALID, "'%s': staging has no directories", path);
	while (*rest || rest != path) {
		size_t len = strcspn(rest, "/");

		if (len > PATH_NAME_MAX)
			return error_set(e, ERR_NAME_TOO_LONG, "name of %zu bytes", len);
		if (!path_name_ok(rest, len))
			return error_set(e, ERR_INVALID, "'%s': not a path of the tree", path);
		if (!rest[len])
			break;
		rest += len + 1;
	}
	return ERR_OK;
}

const char *path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

char *path_join(const char *dir, const char *name)
{
	char *joined;

	if (asprintf(&joined, "%s%s%s", dir, *dir ? "/" : "", name) < 0)
		return NULL;
	return joined;
}
