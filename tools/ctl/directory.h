/*
 * directory.h - a directory of this machine as the side of a copy: list, fetch and apply, and nothing else of a provider.
 *
 * No link in it is followed on the way to a file, so that nobody who may put links there leads a copy out of it.
 */
#pragma once

#include "providers/provider.h"

/* Released by provider_release(). */
enum err directory_open(const char *path, struct provider **out, struct error *e);
