/*
 * openings.h - which file each thread has opened last.
 *
 * An open that truncates comes as two requests: the open, without that flag, and then a size of 0.
 * The second request names no handle, and so looks like one of truncate(2). Both are of one thread,
 * and that thread opens no other file between them. Functions may be called from any thread.
 */
#pragma once

#include "fs/lowlevel.h"
#include "providers/base/error.h"

#include <stdbool.h>
#include <sys/types.h>

struct openings;

enum err openings_new(struct openings **out, struct error *e);
void openings_free(struct openings *o);
/*
 * `thread` opens `ino`. To be called before the reply. `thread` is the number that the kernel gives
 * for the request.
 */
void openings_note(struct openings *o, pid_t thread, fuse_ino_t ino);
/* Whether `thread` opened `ino` last. After this call it counts as opened no more. */
bool openings_take(struct openings *o, pid_t thread, fuse_ino_t ino);
