/*
 * shown.h - the results of stat(2) and readlink(2) for files made or changed here, for the mounts
 * that follow.
 *
 * A file that is made here is shown with a number and times of this machine before the sandbox has
 * it. A record keeps them, found by what the sandbox says of the file: its device, number and time
 * of birth. The record is of use for no other file, and only while the sandbox says the same: the
 * ctime for one ctime, the number for that birth (where births are not known, for that ctime). A
 * file without a record is shown as the sandbox has it.
 *
 * The text of a symbolic link that was written through the mount is shown as it was written,
 * wherever it leads. So the key of its record is a hash for which no other bytes can be found: of
 * the text, of the path at which the link was put here, and of the link itself. Neither another
 * text nor the same one elsewhere is taken for it, whatever the sandbox claims.
 *
 * Records of all sandboxes of a user are in one table of a fixed size (records.h). Functions take
 * NULL for `s`: nothing is remembered. Nothing here fails. Any function may be called from any
 * thread.
 */
#pragma once

#include "providers/verbs.h"

struct shown;

struct shown_options {
	const char *dir;      /* the directory of the block store (block_store.h) */
	const char *provider; /* the vendor's name of the sandbox */
	const char *sandbox;  /* the sandbox's ID */
	const char *root;     /* the directory that paths begin in */
};

/* The error says what is wrong with the directory. */
enum err shown_new(struct shown **out, const struct shown_options *options, struct error *e);
void shown_free(struct shown *s);

struct shown_inode {
	uint64_t number;       /* 0: the sandbox's own number is shown */
	struct timespec ctime; /* the ctime that is shown */
};

/* `real`: the attributes in the sandbox. */
void shown_note(struct shown *s, const struct attr *real, const struct shown_inode *as);
/* false: the file is shown as the sandbox has it. */
bool shown_find(struct shown *s, const struct attr *real, struct shown_inode *out);

/*
 * The link has this text, which was written through the mount, and was given this path through it.
 */
void shown_note_link(struct shown *s, const struct attr *link, const char *path, const char *text);
bool shown_knows_link(struct shown *s, const struct attr *link, const char *path, const char *text);
