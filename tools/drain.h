/*
 * drain.h - has a mount send what is pending.
 */
#pragma once

#include "providers/base/error.h"
#include "tools/mounted.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Returns when the sandbox has everything, or when the mount gives up; at the latest after `limit_ms`, negative: none. On a
 * terminal it shows on standard error how much is left. An error says what is left, why, and where it is kept; *has_nobody:
 * but it is because nobody is there who could send. Before threads start.
 */
enum err drain_send(const struct mounted *m, int64_t limit_ms, bool *has_nobody, struct error *e);

/*
 * The same before it is unmounted: unless that `goes_anyway`, an error names the way out. ERR_OK also where nobody is there
 * who could send.
 */
enum err drain(const struct mounted *m, int64_t limit_ms, bool goes_anyway, struct error *e);
