/*
 * exits.h - the exit statuses of the programs: for mounting and unmounting those of mount(8) and
 * umount(8), for sandboxctl those of timeout(1), env(1) and the shell.
 */
#pragma once

#include "providers/base/error.h"

enum exits {
	EXITS_OK = 0,
	EXITS_USAGE = 1,  /* wrong words, or the caller may not do this */
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

enum ctl_exits {
	CTL_OK = 0,
	CTL_FAILED = 1,
	CTL_WRONG_USAGE = 2,
	/* For commands that run a command, whose own status is passed on otherwise: */
	CTL_TIMED_OUT = 124,
	CTL_BROKEN = 125, /* an error of sandboxctl itself */
	CTL_CANNOT_RUN = 126,
	CTL_NO_COMMAND = 127,
};
