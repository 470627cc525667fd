/*
 * detach.h - takes a mount off its directory: umount2(2) for root, fusermount3 for everyone else.
 */
#pragma once

#include "providers/base/error.h"

enum detach_flags {
	DETACH_LAZY = 1,  /* off the tree at once, and gone when the last use ends */
	DETACH_FORCE = 2, /* requests that wait for an answer fail */
};

/*
 * ERR_BUSY: the mount is in use. fusermount3 has no force: for an ordinary user DETACH_FORCE is
 * DETACH_LAZY.
 */
enum err detach(const char *dir, unsigned flags, struct error *e);
