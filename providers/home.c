#include "providers/home.h"

#include "providers/base/cleanup.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The largest row of the user database: no real row is nearly so long. */
#define ROW_MAX 16384

char *home_dir(void)
{
	const char *home = secure_getenv("HOME");
	char row[ROW_MAX];
	struct passwd user, *found = NULL;

	if (home && *home == '/')
		return strdup(home);
	getpwuid_r(geteuid(), &user, row, sizeof row, &found);
	return found && *found->pw_dir == '/' ? strdup(found->pw_dir) : NULL;
}

char *config_dir(void)
{
	const char *config = secure_getenv("XDG_CONFIG_HOME");
	AUTO_FREE char *home = home_dir();
	char *dir;

	if (config && *config == '/')
		return strdup(config);
	return home && asprintf(&dir, "%s/.config", home) >= 0 ? dir : NULL;
}
