/*
 * journal_list.h - the journals that owe something, printed.
 */
#pragma once

#include "tools/ctl/journals.h"

/* One that cannot be read, or that a mount has, is shown as that. */
enum err journal_list(const struct journals *journals, bool as_json, struct error *e);
