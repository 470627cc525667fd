/*
 * apply.h - one function for each kind of change, shared by the apply*.c files.
 *
 * Each works on places that are already open and whose directories are the expected ones, checks the inodes it is about,
 * makes the change and fills what it knows of the result. The process runs with umask 0: modes are meant as they come.
 */
#pragma once

#include "providers/helper/copied.h"
#include "providers/helper/follow.h"
#include "providers/helper/sequence.h"

/*
 * The file that changes of one batch write to, one after the other: it stays open from one to the
 * next, so that a watcher in the sandbox sees one close for all of them.
 */
struct writer {
	int fd; /* -1: none */
	uint64_t dev, ino;
};

#define WRITER_NONE                                                                                \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/* Whether the change writes or cuts. */
bool change_is_writing(const struct change *c);
void writer_close(struct writer *writer);

struct work {
	const struct root *root;
	const struct change *change; /* that of the request, or `followed` */
	struct change
		followed; /* the same, whose targets have been copied from a lower layer since */
	const struct copied *copied; /* by the batch */
	struct expect found;         /* what was there of change_keeps_inode() */
	struct change_result *result;
	struct place at, at2; /* of change->path and, where the change has one, change->path2 */
	struct before
		before; /* what the change's own name named: that of path, of a new link that of path2 */
	/* A run that did not live to record the end began it: it may have been done, wholly or in part. */
	bool is_again;
	struct writer *writer; /* the batch's; NULL: what is opened is closed at once */
	/* A change of a name before it was refused: by that name it may be meant for nobody. */
	bool stays;
	struct follow *follow; /* the batch's */
};

#define WORK_ON(r, c, out)                                                                         \
	{                                                                                          \
		.root = (r), .change = (c), .result = (out), .at = PLACE_NONE, .at2 = PLACE_NONE   \
	}

/*
 * One change: prepared, which refuses what can be refused beforehand and fills `before`; carried out; and released in any
 * case. Of one that is over only the present can be told.
 */
enum err work_prepare(struct work *w, struct error *e);
enum err work_carry_out(struct work *w, struct error *e);
/* It is refused for good: what was made for it alone goes. */
void work_refused(const struct work *w);
void work_describe(struct work *w);
/* Of one that was refused before: the directories as they are now. */
void work_tell_parents(struct work *w);
void work_release(struct work *w);

/* What is to be known of a change that is done again: apply_again.c */
/* Whether what is asked to go or to move has done so. */
bool again_is_gone(const struct work *w);
/* Whether what is asked to move is at its new name, whatever is at the old one. */
bool again_has_moved(const struct work *w);
/* Whether what is at the new name is exactly what the change would have put there. */
bool again_is_made(const struct work *w, mode_t type);

/* Names: apply_names.c */
enum err change_mkdir(struct work *w, struct error *e);
enum err change_create(struct work *w, struct error *e);
/* The same of what must not exist, open for writing. */
enum err work_create(struct work *w, int *out_fd, struct error *e);
enum err change_mknod(struct work *w, struct error *e);
enum err change_symlink(struct work *w, struct error *e);
enum err change_link(struct work *w, struct error *e);
enum err change_unlink(struct work *w, struct error *e);
enum err change_rmdir(struct work *w, struct error *e);

/* apply_rename.c */
enum err change_rename(struct work *w, struct error *e);
/* renameat2(RENAME_NOREPLACE), also where the file system lacks it: -1 and errno. */
int rename_new(const struct place *from, const struct place *to);
/* Whether rename flags are what is lacking, by errno. */
bool rename_lacks_flags(int number);
/* Whether the entry is, right now, the inode `a`. */
bool place_is(const struct place *p, const struct attr *a);
/*
 * Whether the entry is the inode held as `pin`, by what that is right now: a rename or a link
 * copies a file from a lower layer, where one with several names gets another number by that.
 */
bool place_is_held(const struct place *p, int pin);

/* Inodes: apply_inode.c */
enum err change_setattr(struct work *w, struct error *e);
enum err change_setxattr(struct work *w, struct error *e);
enum err change_removexattr(struct work *w, struct error *e);
enum err change_sync(struct work *w, struct error *e);

/* Contents: apply_contents.c */
enum err change_write(struct work *w, struct error *e);
/* The same to what is open. */
enum err work_write(struct work *w, int fd, struct error *e);
/*
 * The time that the change says, where it says one. Of a file that is not ours to set the time of,
 * the time stays that of the change.
 */
void work_set_mtime(const struct work *w, int fd);
enum err change_append(struct work *w, struct error *e);
enum err change_fallocate(struct work *w, struct error *e);
enum err change_copy(struct work *w, struct error *e);

/* apply_place.c */
enum err change_place(struct work *w, struct error *e);
/* What is to be placed is made: before that begins, so that who does it again knows which file it is. */
enum err place_make(struct work *w, struct error *e);

/*
 * apply_over.c: the bytes and the times of a staged file over those of one that stays.
 * ERR_NO_SPACE, where the disk has no room for what is written beside it: the file that is there is
 * as it was.
 */
enum err copy_over(struct work *w, int from, int to, struct error *e);

/* copy.c: up to `len` bytes from one file into another; *count says how many also when -1 is returned. */
int copy_bytes(
	int from, uint64_t from_offset, int to, uint64_t to_offset, uint64_t len, uint64_t *count);

/* What the open or held inode is afterwards, into the result. */
enum err work_done(struct work *w, int fd, struct error *e);

/* place_open() of the change's path or path2, with the change's own idea of whose mode bits count. */
enum err work_open(struct work *w, int flags, int *out_fd, struct error *e);
/* To write to the inode `target`: the writer's, where the change may go on with it. */
enum err work_open_writer(
	struct work *w, const struct expect *target, int *out_fd, struct error *e);
enum err work_open2(struct work *w, int flags, int *out_fd, struct error *e);
