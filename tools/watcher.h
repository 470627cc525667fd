/*
 * watcher.h - the id of this mount for the change stream of a sandbox (watch_request.watcher).
 *
 * The stream begins with the attach, before the mount's journal is known. So the id follows from
 * the mounted source: another mount of the same source has the same id, and ends a stream that a
 * killed mount has left in the sandbox. While a mount is alive another one of the same source has
 * no id, and so does not end its stream.
 */
#pragma once

#include "providers/provider.h"

struct watcher {
	unsigned char id[WATCHER_ID_SIZE]; /* all zero: no id */
	int fd;                            /* holds the id; -1: no id */
};

#define WATCHER_NONE                                                                               \
	(struct watcher)                                                                           \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/*
 * `dir`: user_journals_dir(). Its file ".watchers" makes this user's ids different from other
 * users'. NULL, or where the file cannot be made: there is no id. Of `cfg` only the fields count
 * that say which directory of which sandbox is shown.
 */
struct watcher watcher_new(
	const char *dir, const char *provider, const struct provider_config *cfg);
void watcher_release(struct watcher *w);
