/*
 * find_again.h - the names of inodes that others renamed while they are in use here.
 */
#pragma once

#include "cache/tree/tree.h"

struct cache; /* cache/session/session.h */

/*
 * Whether `i`, which others' changes had left without a name, has one again. Asks the sandbox
 * twice.
 */
bool find_again(struct cache *c, struct inode *i);
