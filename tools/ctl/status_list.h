/*
 * status_list.h - the output of `sandboxctl status`: a line for each mount and its problems, or
 * JSON.
 */
#pragma once

#include "tools/ctl/mounts.h"

#include <stdbool.h>

/*
 * `answers`: of mounts_ask(), one for each mount. A mount whose answer cannot be read becomes
 * MOUNT_CLOSED.
 */
enum err status_list(
	const struct mounts *mounts, struct mount_answer *answers, bool as_json, struct error *e);
