/*
 * host_provider.h - a provider that has nothing but `execute`, and runs commands with /bin/sh on this very machine.
 *
 * For the tests of what is derived from execute. No jail: the shown root is a scratch directory, and staging lies beside
 * it.
 */
#pragma once

#include "providers/provider.h"

struct host_provider {
	struct provider base;
	char root[128], staging[128];
	char shell[64];
	/* How the transport may be unkind: text before the command's own output, and an end after so many bytes of it. */
	const char *greeting;
	size_t cut_after;        /* 0: never */
	size_t garble_at;        /* 0: nowhere; else this byte of it is another */
	_Atomic size_t executed; /* commands so far */
};

/* `dir`: absolute; "tree" and "staging" are made in it. */
void host_provider_init(struct host_provider *h, const char *dir, const char *shell);
