/*
 * namespace.h - `mount -N` and `umount -N`: mount(8) starts its helpers outside and lets them
 * enter.
 */
#pragma once

#include "providers/base/error.h"

/* Enters the mount namespace of the file `path`. To be called before threads start. */
enum err namespace_enter(const char *path, struct error *e);
