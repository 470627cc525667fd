/*
 * host_provider.h - a provider that runs commands with /bin/sh on this very machine, and works on
 * its files in process.
 *
 * There is no jail: the shown root is a scratch directory, with staging next to it.
 */
#pragma once

#include "providers/helper/helper.h"
#include "providers/provider.h"

struct host_provider {
	struct provider base;
	char root[128], staging[128];
	struct root files;
	_Atomic size_t executed; /* commands so far */
};

/* `dir`: absolute; "tree" and "staging" are made in it. */
void host_provider_init(struct host_provider *h, const char *dir);
void host_provider_end(struct host_provider *h);
