/*
 * unused.h - a mount that was not used yet, and that has no sandbox behind it.
 *
 * Requests that only look at the mount from outside are answered here: the attributes of its root,
 * how full it is, and that there is no `.sandbox` yet. The first request of any other kind is a
 * use. It is kept until the file system is there to answer it, or refused where that fails.
 */
#pragma once

#include "providers/base/call.h"

#include <sys/types.h>

struct fuse_session;

struct unused {
	struct fuse_session *session; /* mounted */
	uid_t uid;                    /* the shown owner of the root */
	gid_t gid;
	bool has_begun; /* FUSE_INIT is answered */
	void *request;  /* the use that waits, `len` bytes; NULL: there is none */
	size_t len;
};

/* ERR_OK: the mount is used. ERR_INTERRUPTED: cancelled. ERR_GONE: unmounted before that. */
enum err unused_wait(struct unused *u, const struct cancel *cancel, struct error *e);
/* Refuses the request that waits. */
void unused_refuse(struct unused *u, int number);
/* Has the session answer the request that waits. */
void unused_pass_on(struct unused *u);
void unused_release(struct unused *u);
