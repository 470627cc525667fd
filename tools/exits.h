/*
 * exits.h - the exit statuses of the programs: those that mount(8) and umount(8) document.
 */
#pragma once

#include "providers/base/error.h"

enum exits {
	EXITS_OK = 0,
	EXITS_USAGE = 1,  /* how it was called, or what the caller may not do */
	EXITS_MOUNT = 32, /* mounting or unmounting failed */
};

static inline enum exits exits_for(enum err kind)
{
	switch ((int)kind) {
	case ERR_OK: return EXITS_OK;
	case ERR_INVALID:
	case ERR_DENIED:
	case ERR_NOT_OWNER:
	case ERR_AUTH: return EXITS_USAGE;
	default: return EXITS_MOUNT;
	}
}
