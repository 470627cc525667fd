/*
 * local_inside.h - declarations that the files of local.h and replay_bind.c share. No other file
 * includes it.
 *
 * All functions but local_anything() and local_has_names() expect writeback.lock to be held.
 */
#pragma once

#include "cache/write/local.h"
#include "cache/write/permission.h"
#include "cache/write/writeback_inside.h"

/*
 * Whether any change can be local. Changes to a read-only file system are left to the sandbox,
 * which refuses them.
 */
bool local_anything(struct cache *c);
/* Whether changes of names can be local. */
bool local_has_names(struct cache *c);
/* Whether changes of names in `dir` can be local. */
bool local_may(struct cache *c, struct inode *dir);

/*
 * Permission checks for the sandbox's user, where the kernel here does not check: PERMISSION_* on
 * an inode, changes to the entries of a directory, the removal of one entry. `name` is for the
 * message.
 */
enum err local_permission(
	struct cache *c, struct inode *i, unsigned want, const char *name, struct error *e);
enum err local_dir_permission(
	struct cache *c, struct inode *dir, const char *name, struct error *e);
enum err local_removal_permission(struct cache *c, struct inode *dir, struct inode *target,
	const char *name, struct error *e);

bool local_is_owner(struct cache *c, struct inode *i);
bool local_is_dir(struct cache *c, struct inode *i);
/* false also where not all entries of the directory are known. */
bool local_is_empty(struct cache *c, struct inode *dir);
/* Whether the attributes of `i` are valid, or applied locally. */
bool local_is_known(struct cache *c, struct inode *i);
bool local_is_there(struct cache *c, struct inode *dir, const char *name);
enum err local_check_name(const char *name, struct error *e);
/* A file that is kept after its removal needs a staging name. */
enum err local_check_staged(bool keep, const char *staged, const char *name, struct error *e);

/*
 * Apply a change of names to the tree: to the directory, and to an inode that gets or loses names.
 */
void local_show_dir(struct cache *c, struct inode *dir, int links);
void local_show_links(struct cache *c, struct inode *i, int links);

/* The inode that `q` makes, as the change says, and the directory that has it now. */
enum err local_show_made_locked(struct writeback *p, struct op *q, const struct create_args *m,
	struct inode *dir, const char *name, struct inode **out, struct error *e);
void local_show_entry(
	struct cache *c, const struct call *call, struct inode *dir, const struct create_args *m);

/* Each applies one whole change. `q` is the op of the change, where it gives a file a name. */
void local_show_removed(struct cache *c, struct inode *dir, const char *name, struct inode *target,
	enum change_op op);
void local_show_linked(
	struct cache *c, struct op *q, struct inode *i, struct inode *dir, const char *name);
void local_show_copied(
	struct cache *c, const struct change *change, struct inode *to, struct timespec now);

struct local_move {
	struct inode *dir, *dir2, *moved, *replaced; /* moved, replaced: pinned, or NULL */
	const char *name, *name2;
	uint32_t flags;
};

struct change_about local_about_move(const struct local_move *m);
/* The queued op `q` moves these names. */
void local_note_moved(struct cache *c, struct op *q, const struct local_move *m);
void local_show_renamed(struct cache *c, const struct local_move *m);
/* Whether a directory moves: ops known by a path below it would not find their files again. */
bool local_moves_dir(struct cache *c, const struct local_move *m);
/* Whether no layer of the sandbox, and no directory that would be inside itself, is in the way. */
bool local_are_movable(struct cache *c, const struct local_move *m);
