/*
 * openings.h - which file each thread has opened last.
 *
 * An open that truncates comes as two requests: the open, without that flag, and then a size of 0.
 * That names no handle, and so looks like one of truncate(2). Both are of one thread, and nothing
 * that it opens comes between them. Functions may be called from any thread.
 */
#pragma once

#include "fs/lowlevel.h"
#include "providers/base/error.h"

#include <stdbool.h>
#include <sys/types.h>

struct openings;

enum err openings_new(struct openings **out, struct error *e);
void openings_free(struct openings *o);
/* The thread, as the kernel names who makes a request, opens `ino`. Before the reply. */
void openings_note(struct openings *o, pid_t thread, fuse_ino_t ino);
/* Whether that is what it opened last. By this it is not any more. */
bool openings_take(struct openings *o, pid_t thread, fuse_ino_t ino);
