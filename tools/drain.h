/*
 * drain.h - makes a mount send its pending changes.
 */
#pragma once

#include "providers/base/error.h"
#include "tools/mounted.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Returns when the sandbox has everything, or when the mount gives up; at the latest after
 * `limit_ms` (negative: no limit). A terminal shows on standard error how much is left. An error
 * says what is left, why, and where it is kept. *has_nobody: no process is there that could send
 * the rest. To be called before threads start.
 */
enum err drain_send(const struct mounted *m, int64_t limit_ms, bool *has_nobody, struct error *e);

/*
 * drain_send() before an unmount: an error also has a remedy, unless the unmount `goes_anyway`.
 * ERR_OK also where no process is there that could send the rest.
 */
enum err drain(const struct mounted *m, int64_t limit_ms, bool goes_anyway, struct error *e);
