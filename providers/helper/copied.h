/*
 * copied.h - files that changes of one batch have copied from a lower layer.
 *
 * The copy may have another inode number (overlayfs: a file with several names, unless there is an
 * index). Later changes of the batch still expect the old number.
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

/* `change` was made to the inode `before`. Without memory nothing is recorded. */
void copied_note(struct copied *c, const struct change *change, const struct expect *before,
	const struct change_result *done);

/* Whether the inode expected as `x` has become the inode `there`. */
bool copied_has(const struct copied *c, const struct expect *x, const struct attr *there);
