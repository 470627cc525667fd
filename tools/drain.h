/*
 * drain.h - has a mount send what is pending, before it is unmounted.
 */
#pragma once

#include "providers/base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct mounted {
	char *dir; /* absolute */
	uid_t uid; /* whose mount it is: FUSE lets nobody else in, not even root */
	gid_t gid;
};

/*
 * Returns when the sandbox has everything, or when the mount gives up; at the latest after `limit_ms`, negative: none. On a
 * terminal it shows on standard error how much is left. An error says what is left, where it is kept and, unless
 * `goes_anyway`, the way out. ERR_OK also where there is nobody who could send. Before threads start.
 */
enum err drain(const struct mounted *m, int64_t limit_ms, bool goes_anyway, struct error *e);
