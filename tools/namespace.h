/*
 * namespace.h - `mount -N` and `umount -N`: mount(8) starts its helpers outside and leaves entering to them.
 */
#pragma once

#include "providers/base/error.h"

/* Enters the mount namespace that the file `path` stands for. Before threads start. */
enum err namespace_enter(const char *path, struct error *e);
