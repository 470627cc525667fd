/*
 * room.h - whether the sandbox's disk has room for a write, before any byte of it is sent.
 *
 * The free room in the last list is lowered by the growth of files here. Where it is not enough,
 * the sandbox is asked: pending changes are sent first, and a list tells the free room. A disk that
 * cannot be asked counts as having room: the change waits in the journal, and a refusal is reported
 * late.
 */
#pragma once

#include "providers/provider.h"

struct cache; /* cache/session/session.h */
struct inode; /* cache/tree/tree.h */

/*
 * Checks the room for `len` bytes at `offset` of a file, or behind its end for an append.
 * ERR_NO_SPACE: the disk of the shown root has no room for all of them, and the caller accepts
 * none. Files on other disks are not checked.
 */
enum err room_for_write(struct cache *c, const struct call *call, struct inode *i,
	enum change_op op, uint64_t offset, size_t len, struct error *e);
/* Whether the disk has room for a second copy of the file, to write it anew in staging. */
bool room_for_copy(struct cache *c, const struct call *call, struct inode *i);
