/*
 * errmap.h - the errno for each kind of error, in one place.
 */
#pragma once

#include "providers/base/error.h"

/* 0 for ERR_OK; EIO for a number that is no kind. */
int errmap_errno(enum err kind);
