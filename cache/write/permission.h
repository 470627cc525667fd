/*
 * permission.h - whether the sandbox's user may do a thing, by the attributes of the file.
 */
#pragma once

#include "providers/verbs.h"

#define PERMISSION_EXEC  1u
#define PERMISSION_WRITE 2u
#define PERMISSION_READ  4u

/*
 * Checks as the sandbox's kernel does: the bits of the owner, else of the group, else of others.
 * The superuser may do everything, but executes a file only with an x bit.
 */
bool permission_allows(const struct identity *who, const struct attr *attr, unsigned want);
