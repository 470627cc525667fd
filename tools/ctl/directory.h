/*
 * directory.h - a directory of this machine as one side of a copy: list, fetch and apply, and no
 * other verb of a provider.
 *
 * No link inside is followed on the way to a file, so that a user who can make links there cannot
 * lead a copy out of the directory.
 */
#pragma once

#include "providers/provider.h"

/* Released by provider_release(). */
enum err directory_open(const char *path, struct provider **out, struct error *e);
