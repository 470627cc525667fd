/*
 * watcher.h - who this mount is to the change stream of a sandbox (watch_request.watcher).
 *
 * The stream begins with the attach, before it is known which journal the mount has. So this goes by what was asked to be
 * mounted: the same again has the same id, and ends a stream that a mount which was killed has left in the sandbox. While a
 * mount lives another one like it has none, and so does not end its stream.
 */
#pragma once

#include "providers/provider.h"

struct watcher {
	unsigned char id[WATCHER_ID_SIZE]; /* all zero: none */
	int fd;                            /* holds the id; -1: nothing does */
};

#define WATCHER_NONE                                                                               \
	(struct watcher)                                                                           \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/*
 * `dir`: user_journals_dir(), in whose file ".watchers" is what makes this user's ids no one else's; NULL: there is no id.
 * So it is where the file cannot be made. Of `cfg` what says which directory of which sandbox is shown.
 */
struct watcher watcher_new(
	const char *dir, const char *provider, const struct provider_config *cfg);
void watcher_release(struct watcher *w);
