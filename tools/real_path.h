/*
 * real_path.h - realpath(3) that does not hang on a mount that does not answer.
 */
#pragma once

#include "providers/base/error.h"

/*
 * Allocated; NULL: errno, ETIMEDOUT where a mount in the path does not answer within seconds. To be
 * called before threads start.
 */
char *real_path(const char *path);
