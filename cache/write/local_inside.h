/*
 * local_inside.h - what the files of local.h share; nobody else includes it.
 *
 * All of them expect writeback.lock to be held, but local_has_names().
 */
#pragma once

#include "cache/write/local.h"
#include "cache/write/permission.h"
#include "cache/write/writeback_inside.h"

/* Whether changes are decided here at all. Those of a read-only file system the sandbox refuses. */
bool local_anything(struct cache *c);
/* Whether those of names are. */
bool local_has_names(struct cache *c);
/* Whether those in `dir` are. */
bool local_may(struct cache *c, struct inode *dir);

/*
 * Where the kernel here does not judge for the sandbox's user: whether he may do what JUDGE_* says, change the entries of a
 * directory, or take this one away; `name` is for the sentence.
 */
enum err local_permission(
	struct cache *c, struct inode *i, unsigned want, const char *name, struct error *e);
enum err local_dir_permission(
	struct cache *c, struct inode *dir, const char *name, struct error *e);
enum err local_removal_permission(struct cache *c, struct inode *dir, struct inode *target,
	const char *name, struct error *e);

bool local_is_owner(struct cache *c, struct inode *i);
bool local_is_dir(struct cache *c, struct inode *i);
/* Only of a directory whose entries are all known. */
bool local_is_empty(struct cache *c, struct inode *dir);
/* Whether its attributes are believed, or foreseen. */
bool local_is_known(struct cache *c, struct inode *i);
bool local_is_there(struct cache *c, struct inode *dir, const char *name);
enum err local_check_name(const char *name, struct error *e);
/* A file that is kept needs a staging name. */
enum err local_check_staged(bool keep, const char *staged, const char *name, struct error *e);

/* Shows what a change of names makes of the directory; and of an inode that has more or less of them. */
void local_show_dir(struct cache *c, struct inode *dir, int links);
void local_show_links(struct cache *c, struct inode *i, int links);
