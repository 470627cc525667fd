/*
 * status_list.h - what `sandboxctl status` prints: a line for each mount and what is wrong with
 * them, or JSON.
 */
#pragma once

#include "tools/ctl/mounts.h"

#include <stdbool.h>

/* `answers`: of mounts_ask(), one for each mount. One that cannot be read becomes MOUNT_CLOSED. */
enum err status_list(
	const struct mounts *mounts, struct mount_answer *answers, bool as_json, struct error *e);
