/*
 * journal_list.h - prints the journals that have pending changes.
 */
#pragma once

#include "tools/ctl/journals.h"

/* A journal that cannot be read, or that a mount has, is listed as such. */
enum err journal_list(const struct journals *journals, bool as_json, struct error *e);
