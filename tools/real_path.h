/*
 * real_path.h - realpath(3) that does not hang with a mount on the way which does not answer.
 */
#pragma once

#include "providers/base/error.h"

/* Allocated; NULL: errno, ETIMEDOUT where a mount on the way does not answer within seconds. Before threads start. */
char *real_path(const char *path);
