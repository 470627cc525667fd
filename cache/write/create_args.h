/*
 * create_args.h - the arguments for making an entry.
 */
#pragma once

#include "providers/verbs.h"

#include <stdbool.h>
#include <stdint.h>

struct create_args {
	enum change_op op; /* CHANGE_MKDIR, CHANGE_CREATE, CHANGE_MKNOD, CHANGE_SYMLINK */
	uint32_t mode;     /* with the type, for CHANGE_MKNOD */
	uint64_t rdev;
	uint32_t uid, gid; /* the caller's: used where owners come from the caller */
	const char *text;  /* CHANGE_SYMLINK */
	bool exclusive;    /* CHANGE_CREATE: must not exist */
	bool empties;      /* CHANGE_CREATE: an existing file is emptied */
	bool opens;        /* CHANGE_CREATE: cache_open_made() follows */
};
