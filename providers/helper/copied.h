/*
 * copied.h - files that changes of one batch have copied from a lower layer.
 *
 * Such a file may get another inode number by that (overlayfs: one with several names, unless it
 * keeps an index). What follows in the batch still expects the old one.
 */
#pragma once

#include "providers/verbs.h"

struct copied {
	struct copied_file {
		struct expect from, to;
	} * all;
	size_t count;
};

#define AUTO_COPIED __attribute__((cleanup(copied_release)))

void copied_release(struct copied *c);

/* `change` was done to what was `before`. Without memory nothing is noted. */
void copied_note(struct copied *c, const struct change *change, const struct expect *before,
	const struct change_result *done);

/* Whether what is expected as `x` has become the inode `there`. */
bool copied_has(const struct copied *c, const struct expect *x, const struct attr *there);
