/*
 * path.h - names and paths as the verbs carry them.
 *
 * A path is relative to the shown root, without a leading slash; "" is the root itself. A path that
 * starts with one slash names a file of the staging directory ("/t-3"). Names hold any byte but '/'
 * and NUL. There is no "." and no "..", no empty component and no trailing slash.
 */
#pragma once

#include "providers/base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Linux's NAME_MAX: no file system that a sandbox offers takes longer ones. */
#define PATH_NAME_MAX 255
/*
 * Deep trees exceed PATH_MAX (4096). A longer path than this is refused, so that no sandbox chooses
 * our memory use.
 */
#define PATH_LENGTH_MAX 65535

/*
 * Whether `name` can stand in a directory: 1 to PATH_NAME_MAX bytes, without '/', not "." or "..".
 */
bool path_name_ok(const char *name, size_t len);

/* ERR_OK, ERR_INVALID or ERR_NAME_TOO_LONG. */
enum err path_check(const char *path, struct error *e);

static inline bool path_is_staged(const char *path)
{
	return path[0] == '/';
}

/* The last component, inside `path`: "" for the root, "t-3" for "/t-3". */
const char *path_name(const char *path);

/* DIR/NAME, or NAME where `dir` is the root. Allocated; NULL without memory. */
char *path_join(const char *dir, const char *name);
