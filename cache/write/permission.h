/*
 * permission.h - whether the sandbox user may do a thing, judged here by what the sandbox says of the file.
 */
#pragma once

#include "providers/verbs.h"

#define JUDGE_EXEC  1u
#define JUDGE_WRITE 2u
#define JUDGE_READ  4u

/* As the kernel in the sandbox would: owner, then groups, then others; the superuser may, but executes only with an x. */
bool permission_allows(const struct identity *who, const struct attr *attr, unsigned want);
