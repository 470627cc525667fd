#include "tools/cache_dir.h"

#include "providers/base/buf.h"
#include "providers/base/cleanup.h"

#include <limits.h>
#include <pwd.h>
#include <string.h>

static const char *absolute(const char *variable)
{
	const char *path = getenv(variable);

	return path && *path == '/' ? path : NULL;
}

static const char *home(void)
{
	const char *path = absolute("HOME");
	const struct passwd *user = path ? NULL : getpwuid(geteuid());

	return user && *user->pw_dir == '/' ? user->pw_dir : path;
}

static char *below(const char *dir, const char *rest)
{
	AUTO_BUF struct buf path = BUF_INIT(PATH_MAX);

	buf_printf(&path, "%s/%s", dir, rest);
	return path.failed ? NULL : strdup(buf_text(&path));
}

char *cache_dir(const char *asked)
{
	const char *caches = absolute("XDG_CACHE_HOME"), *dir = home();

	if (asked)
		return strcmp(asked, "off") ? strdup(asked) : NULL;
	if (caches)
		return below(caches, "sandboxfs");
	return dir ? below(dir, ".cache/sandboxfs") : NULL;
}
