/*
 * room.h - whether the disk of the sandbox has room for what is written here, before the sandbox
 * has any of it.
 *
 * The room that a list told last is lowered by what files grew here. Where that is not enough the
 * sandbox is asked: what is pending is sent first, and a list tells what is left. A disk that
 * cannot be asked is taken to have room: the change waits in the journal, and a refusal is told
 * late.
 */
#pragma once

#include "providers/provider.h"

struct cache; /* cache/session/session.h */
struct inode; /* cache/tree/tree.h */

/*
 * `len` bytes at `offset` of a file, or behind its end for an append. ERR_NO_SPACE: the disk of the
 * shown root has no room for them, and nothing of them may be taken. Of a file on another disk
 * nothing is known.
 */
enum err room_for_write(struct cache *c, const struct call *call, struct inode *i,
	enum change_op op, uint64_t offset, size_t len, struct error *e);
/* Whether the disk has room for the file once more, so that it can be written beside itself. */
bool room_for_copy(struct cache *c, const struct call *call, struct inode *i);
