/*
 * apply.h - one function for each kind of change, shared by the apply*.c files.
 *
 * A function works on places that are already open and whose directories are the expected ones. The
 * function checks the inodes of the change, makes the change and fills in what is known of the
 * result. The process runs with umask 0, so modes are applied as given.
 */
#pragma once

#include "providers/helper/copied.h"
#include "providers/helper/follow.h"
#include "providers/helper/sequence.h"

/*
 * The file that changes of one batch write to, one after the other. The file stays open between
 * them, so that a watcher in the sandbox sees one close for all of them.
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
	const struct change *change; /* the change of the request, or `followed` */
	struct change
		followed; /* `change` with targets that were since copied from a lower layer */
	const struct copied *copied; /* by changes of this batch */
	struct expect found;         /* the inode there of change_keeps_inode() */
	struct change_result *result;
	struct place at, at2; /* the places of change->path and of change->path2, if any */
	/* the inode of the change's own name: that of `path`, for a new link that of `path2` */
	struct before before;
	/*
	 * An earlier run began the change and was killed before the end was recorded: the change
	 * may be done in full, in part or not at all.
	 */
	bool is_again;
	struct writer *writer; /* owned by the batch; NULL: an opened file is closed at once */
	/*
	 * An earlier change of a name in this batch was refused. The inode is then not searched
	 * under other names: the path may have been meant for a file that was never put there.
	 */
	bool stays;
	struct follow *follow; /* owned by the batch */
};

#define WORK_ON(r, c, out)                                                                         \
	{                                                                                          \
		.root = (r), .change = (c), .result = (out), .at = PLACE_NONE, .at2 = PLACE_NONE   \
	}

/*
 * The steps of one change. work_prepare() refuses what can be refused beforehand and fills
 * `before`; work_carry_out() makes the change; work_release() is called in any case.
 * work_describe() gives the present state for a change that is already over.
 */
enum err work_prepare(struct work *w, struct error *e);
enum err work_carry_out(struct work *w, struct error *e);
/* The change is refused for good: removes what was made for this change alone. */
void work_refused(const struct work *w);
void work_describe(struct work *w);
/* Fills in the directories as they are now, for a change that was refused before. */
void work_tell_parents(struct work *w);
void work_release(struct work *w);

/* Questions about a change that an earlier run began: apply_again.c */
/* Whether the name to be removed or moved is gone. */
bool again_is_gone(const struct work *w);
/* Whether the moved inode is at its new name, whatever is at the old one. */
bool again_has_moved(const struct work *w);
/* Whether the new name already has exactly what the change would put there. */
bool again_is_made(const struct work *w, mode_t type);

/* Names: apply_names.c */
enum err change_mkdir(struct work *w, struct error *e);
enum err change_create(struct work *w, struct error *e);
/* Makes a file that must not exist and leaves it open for writing. */
enum err work_create(struct work *w, int *out_fd, struct error *e);
enum err change_mknod(struct work *w, struct error *e);
enum err change_symlink(struct work *w, struct error *e);
enum err change_link(struct work *w, struct error *e);
enum err change_unlink(struct work *w, struct error *e);
enum err change_rmdir(struct work *w, struct error *e);

/* apply_rename.c */
/*
 * For staging on another file system: the file at `from`, held with O_PATH as `held`, gets a copy
 * at the staged name `kept`, with all that a rename would have kept. What is no regular file is not
 * open here and gets none. Returns -1 and errno, without a copy; ESTALE: another file is at `from`.
 */
int copy_kept(const struct place *from, const struct place *kept, int held);
/* Removes a copy that is not needed; errno stays. */
void drop_kept(const struct place *kept);
enum err change_rename(struct work *w, struct error *e);
/* renameat2(RENAME_NOREPLACE), also where the file system lacks the flag: -1 and errno. */
int rename_new(const struct place *from, const struct place *to);
/* Whether an errno says that rename flags are unsupported. */
bool rename_lacks_flags(int number);
/* Whether the entry names, right now, the inode `a`. */
bool place_is(const struct place *p, const struct attr *a);
/*
 * Whether the entry names the inode held as `pin`, compared by the present attributes of both. A
 * rename or a link copies a file from a lower layer, and a file with several names then gets
 * another number.
 */
bool place_is_held(const struct place *p, int pin);

/* Inodes: apply_inode.c */
enum err change_setattr(struct work *w, struct error *e);
enum err change_setxattr(struct work *w, struct error *e);
enum err change_removexattr(struct work *w, struct error *e);
enum err change_sync(struct work *w, struct error *e);

/* Contents: apply_contents.c */
enum err change_write(struct work *w, struct error *e);
/* Writes the change's data to an open file. */
enum err work_write(struct work *w, int fd, struct error *e);
/*
 * Sets the modification time that the change names, if any. On a file of another owner the call is
 * refused, and the time of the write stays.
 */
void work_set_mtime(const struct work *w, int fd);
enum err change_append(struct work *w, struct error *e);
enum err change_fallocate(struct work *w, struct error *e);
enum err change_copy(struct work *w, struct error *e);

/* apply_place.c */
enum err change_place(struct work *w, struct error *e);
/*
 * Makes the file that is to be placed. The file is made before the change begins, so that a
 * repeated run knows which file was meant.
 */
enum err place_make(struct work *w, struct error *e);

/*
 * apply_over.c: copies the bytes and times of a staged file over a file whose inode stays.
 * ERR_NO_SPACE, where the disk has no room for the bytes by which the staged file is larger: the
 * existing file is unchanged.
 */
enum err copy_over(struct work *w, int from, int to, struct error *e);

/*
 * copy.c: up to `len` bytes from one file into another; *count is the number of copied bytes, also
 * when -1 is returned.
 */
int copy_bytes(
	int from, uint64_t from_offset, int to, uint64_t to_offset, uint64_t len, uint64_t *count);

/* Puts the attributes of the open or held inode into the result, after the change. */
enum err work_done(struct work *w, int fd, struct error *e);

/*
 * place_open() of the change's path or path2. CHANGE_BY_HANDLE of the change decides whether mode
 * bits count.
 */
enum err work_open(struct work *w, int flags, int *out_fd, struct error *e);
/*
 * Opens the inode `target` for writing: the writer's descriptor, where the change may go on with
 * it.
 */
enum err work_open_writer(
	struct work *w, const struct expect *target, int *out_fd, struct error *e);
enum err work_open2(struct work *w, int flags, int *out_fd, struct error *e);
