/*
 * verbs.h - the batch verbs: the requests to a provider, and their answers.
 *
 * Every operation of the file system on a sandbox's files is one of list, fetch, apply and watch,
 * and each takes a batch. This header is shared by sandboxfs and by its helper program inside the
 * sandbox: libc only.
 *
 * Paths are those of base/path.h: relative to the shown root, "" the root, "/name" a file of
 * staging. Every pointer in a request belongs to the caller and must outlive the call. Every
 * pointer in an answer belongs to the callee and is valid only during the callback that carries it,
 * unless a `_release` function says otherwise. Offsets and sizes are bytes.
 */
#pragma once

#include "providers/base/error.h"
#include "providers/base/time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* Contents travel in pieces of at most this size (1 MiB: FUSE's own largest request). */
#define VERB_DATA_MAX (1024 * 1024)
/*
 * Linux's own limits: PATH_MAX for a link's text, XATTR_SIZE_MAX for a value, XATTR_LIST_MAX for
 * all names.
 */
#define VERB_LINK_MAX  4096
#define VERB_XATTR_MAX 65536

/* ---- Attributes ---- */

/* The attributes of stat(2), to the nanosecond, as the sandbox has them. */
struct attr {
	uint64_t dev, ino;
	/*
	 * time of birth since 1970 in ns, perhaps with BIRTH_PASSES; 0: unknown. Distinguishes a
	 * reused inode number
	 */
	uint64_t btime_ns;
	uint32_t mode, nlink, uid, gid;
	uint64_t rdev; /* makedev() of a device, else 0 */
	uint64_t size;
	uint64_t blocks; /* units of 512 bytes */
	uint32_t blksize;
	bool no_xattrs; /* the inode has no extended attribute of the user's; false: not known */
	struct timespec atime, mtime, ctime; /* the sandbox's clock */
};

/* The bit of a time of birth that a later helper may not know: it is in no lasting record. */
#define BIRTH_PASSES (1ull << 63)

static inline uint64_t attr_lasting_birth(const struct attr *a)
{
	return a->btime_ns & BIRTH_PASSES ? 0 : a->btime_ns;
}

/* Whether both times of birth are known, and differ. */
static inline bool is_born_apart(uint64_t one, uint64_t other)
{
	return one && other && (one ^ other) & ~BIRTH_PASSES;
}

/* Whether the contents are the same, as far as attributes show. */
static inline bool attr_is_same_version(const struct attr *a, const struct attr *b)
{
	return a->size == b->size && time_equals(a->mtime, b->mtime) &&
		time_equals(a->ctime, b->ctime);
}

/*
 * The inode that is expected. All zero: any. A verb that finds another one answers ERR_STALE and
 * does nothing.
 */
struct expect {
	uint64_t dev, ino, btime_ns; /* btime_ns 0 on either side: not compared */
};

/*
 * The version of a file when a change was made here. All zero: any. A change that finds another
 * version, or no file, answers ERR_CONFLICT and does nothing.
 */
struct version {
	uint64_t size;
	struct timespec mtime, ctime;
};

/* The values of statvfs(3) for the shown root. */
struct space {
	uint64_t block_size, blocks, free, available; /* counts of `block_size` bytes */
	uint64_t files, files_free;
	uint32_t name_max;
	bool is_read_only; /* no change is possible on that file system */
};

/* The shown root, as it was at `now` by the sandbox's clock. */
struct root_facts {
	struct attr attr;
	struct space space;
	struct timespec now;
};

/* The owner of commands and files in the sandbox. */
#define IDENTITY_GROUPS_MAX 64

struct identity {
	uint32_t uid, gid;
	uint32_t groups_count;
	uint32_t groups[IDENTITY_GROUPS_MAX]; /* supplementary; may repeat gid */
};

struct xattr {
	const char *name;
	const void *value;
	size_t value_len;
};

/* ---- list: the metadata of subtrees ---- */

#define LIST_DEPTH_ALL UINT32_MAX

enum list_flags {
	LIST_XATTRS = 1, /* the start's own extended attributes (user.*) come with LIST_SELF */
	LIST_CROSS_DEVICES = 2, /* enter directories of other file systems than the start's */
	/*
	 * With `changed_since_ns`: a directory without changed entries need not be named. So a
	 * directory that is not named did not change, and neither did its entries. A directory
	 * whose entries cannot all be looked at is named with an error, which also stands for
	 * everything below it.
	 */
	LIST_CHANGED_ONLY = 4,
};

struct list_request {
	const char *const *starts;
	size_t starts_count;
	/* 0: only the starts themselves; 1: also their entries; LIST_DEPTH_ALL: everything */
	uint32_t depth;
	uint32_t flags;       /* enum list_flags */
	uint64_t entries_max; /* stop after this many entries; 0: no limit */
	/*
	 * 0: everything. Otherwise only entries whose ctime is not older than this (sandbox's
	 * clock). A directory that changed itself may be listed in full, so that removed names are
	 * noticed. Every directory is entered.
	 */
	int64_t changed_since_ns;
};

enum list_kind {
	/* `start`, `err`; on ERR_OK `attr`, `link`, `xattrs`. One for each start, in order */
	LIST_SELF = 1,
	LIST_DIR,   /* `start`, `path`: the entries up to LIST_DIR_END are in this directory */
	LIST_ENTRY, /* `name`, `attr`, `link` */
	/* `err`, `complete`: every entry was named, none was skipped, none changed meanwhile */
	LIST_DIR_END,
	LIST_END, /* `now`, `space`: once, the last item */
};

/*
 * Directories come breadth first; entries of a repository's .git may come sooner. The entries of
 * one directory come in the file system's order.
 */
struct list_item {
	enum list_kind kind;
	uint32_t start; /* index into `starts` */
	enum err err;
	bool complete;
	const char *path; /* LIST_DIR: from the shown root */
	const char *name;
	const char *link; /* text of a symbolic link, else NULL */
	const struct xattr *xattrs;
	size_t xattrs_count;
	struct attr attr;
	struct timespec now; /* the sandbox's clock */
	struct space space;
};

/*
 * Called for each item in order, never from two threads at once. Any error ends the list with that
 * error.
 */
typedef enum err (*list_sink)(void *context, const struct list_item *item, struct error *e);

/* ---- apply: changes in order ---- */

/*
 * SET_MTIME in a change that makes a name, and in WRITE, APPEND and COPY: the file has this mtime
 * afterwards, unless the writer may not set the mtime. A file that existed before and is taken
 * keeps its own.
 */
enum change_op {
	CHANGE_MKDIR = 1, /* path, mode, uid, gid */
	/* path, mode, uid, gid: a regular file; without CHANGE_EXCL an existing file is taken */
	CHANGE_CREATE,
	CHANGE_MKNOD,   /* path, mode with type, rdev, uid, gid */
	CHANGE_SYMLINK, /* path, data = text, uid, gid */
	CHANGE_LINK,    /* path = existing, path2 = new name */
	/* path; path2, if set: a staging name that keeps the inode alive for open handles */
	CHANGE_UNLINK,
	CHANGE_RMDIR, /* path */
	/*
	 * path -> path2; CHANGE_NOREPLACE, CHANGE_EXCHANGE; keep: staging name for a replaced file
	 */
	CHANGE_RENAME,
	CHANGE_SETATTR,   /* path; the attributes in `set` */
	CHANGE_WRITE,     /* path, offset, data */
	CHANGE_APPEND,    /* path, data; the result's `offset` is where the data begins */
	CHANGE_FALLOCATE, /* path, offset, length, mode = fallocate(2)'s */
	/* path, offset -> path2, offset2, length: within the sandbox; the result's `count` */
	CHANGE_COPY,
	/*
	 * path (staged) becomes path2. Renamed where there is no path2; otherwise copied over it
	 * with its times, and path2 keeps its inode.
	 *
	 * CHANGE_EXCHANGE: path2 was made empty to take its name. If path2 is still so, with one
	 * name and only a mode and an owner, it is replaced in one step, and path gets its mode and
	 * owner. The result is another inode, and no program sees the file in part.
	 *
	 * CHANGE_MAKES: path is made first, as by CHANGE_CREATE and one CHANGE_WRITE of all its
	 * data (mode, uid, gid, data; SET_MTIME), whatever an earlier attempt left there. Where the
	 * change is refused path is removed again.
	 */
	CHANGE_PLACE,
	/* path, name, data; CHANGE_EXCL: XATTR_CREATE; CHANGE_REPLACE: XATTR_REPLACE */
	CHANGE_SETXATTR,
	CHANGE_REMOVEXATTR, /* path, name */
	CHANGE_SYNC,        /* path: fsync(2) of the file or directory in the sandbox */
	CHANGE_OP_END,      /* one past the last */
};

/*
 * Staging names with this prefix are files that were removed while a mount had them open. Without
 * that mount they have no use.
 */
#define STAGED_UNLINKED "u-"
/*
 * Staging names with this prefix are new files, which get their names when they are whole. The id
 * of the journal follows.
 */
#define STAGED_NEW "n-"
/*
 * The helper's files of a journal and of a watcher in staging; "-" and the id in hexadecimal
 * follow.
 */
#define STAGED_SEQUENCE "seq"
#define STAGED_ASIDE    "seq-aside"
#define STAGED_FENCE    "fence"
#define STAGED_ONCE     "once"
#define STAGED_WATCH    "watch"
/* Files of jobs (fs/control/job_script.h), and the pipes of a command with input (input_pipe.h). */
#define STAGED_JOB "job-"
#define STAGED_FED "fed-"

enum change_flags {
	CHANGE_EXCL = 1,      /* must not exist */
	CHANGE_NOREPLACE = 2, /* rename: the new name must not exist */
	/* rename: swap the two names; place: replace the file that was made empty for it */
	CHANGE_EXCHANGE = 4,
	CHANGE_REPLACE = 8, /* must exist */
	/* through an open handle: the mode bits were checked at the open, and are not now */
	CHANGE_BY_HANDLE = 16,
	CHANGE_MAKES = 32, /* place: make the staged file, too */
	/* mkdir: an existing directory is taken as it is; the result's `count` is 1 */
	CHANGE_TAKES = 64,
};

enum change_set {
	SET_MODE = 1,
	SET_UID = 2,
	SET_GID = 4,
	SET_SIZE = 8,
	SET_ATIME = 16, /* tv_nsec may be UTIME_NOW: the sandbox's clock */
	SET_MTIME = 32,
};

/* No owner asked for: the sandbox user, as the kernel there sets it. */
#define CHANGE_NO_OWNER UINT32_MAX

struct change {
	enum change_op op;
	uint32_t flags; /* enum change_flags */
	/*
	 * 1 + the index of an earlier change of this batch; if that one fails, this one is
	 * ERR_SKIPPED. 0: none.
	 */
	uint32_t needs;
	const char *path, *path2; /* path2 NULL where the op has none */
	const char *keep;         /* CHANGE_RENAME: staging path, or NULL */
	/*
	 * Preconditions: the directories of path and of path2, and the inodes that path and path2
	 * name.
	 */
	struct expect parent, target, parent2, target2;
	/*
	 * The versions of those two inodes on which the change is based: for a change that is sent
	 * long after it was made.
	 */
	struct version version, version2;
	uint32_t set; /* enum change_set */
	uint32_t mode, uid, gid;
	uint64_t rdev;
	uint64_t size;
	struct timespec atime, mtime;
	uint64_t offset, offset2, length;
	const char *name; /* extended attribute */
	const void *data;
	size_t data_len; /* at most VERB_DATA_MAX */
};

/*
 * The expected inode (perhaps any) that the result's `attr` describes; NULL: none. On a layered
 * file system the change may have given that inode another number: it was copied up from a lower
 * layer.
 */
static inline const struct expect *change_keeps_inode(const struct change *c)
{
	bool is_placed_anew = c->op == CHANGE_PLACE && c->flags & CHANGE_EXCHANGE;

	if (c->op < CHANGE_LINK || c->op == CHANGE_RMDIR || is_placed_anew)
		return NULL;
	return c->op == CHANGE_COPY || c->op == CHANGE_PLACE ? &c->target2 : &c->target;
}

struct change_result {
	enum err err;
	char why[160];   /* a sentence for a person; "" on success */
	uint64_t count;  /* bytes written or copied */
	uint64_t offset; /* CHANGE_APPEND: where the data begins */
	bool has_attr, has_parent, has_parent2;
	bool was_over; /* an earlier run made the change: the attributes are those of now */
	/*
	 * was_over: the version of a regular file after the earlier run; all zero: not known any
	 * more
	 */
	struct version left;
	/*
	 * For a change that keeps the contents of a regular file, or writes to them: the version of
	 * path just before. All zero: not reported.
	 */
	struct version before;
	/*
	 * RENAME: the version now of the regular file that path2 named before; was_over: after the
	 * earlier run. All zero: it has no other name, or it is not known any more.
	 */
	struct version over;
	/*
	 * the inode of path (LINK, RENAME, PLACE, COPY: path2) afterwards; UNLINK: the kept or
	 * still linked inode
	 */
	struct attr attr;
	struct attr parent;  /* the directory of path afterwards */
	struct attr parent2; /* the directory of path2 afterwards, where it is another directory */
};

#define JOURNAL_ID_SIZE 16

/*
 * A bit in the number of a recorded change: the number counts in the journal's second record. The
 * numbers of each record only rise. A batch of one record may run at the same time as a batch of
 * the other.
 */
#define SEQUENCE_ASIDE ((uint64_t)1 << 62)

/* The most plain batches of one journal that are under way at one time. */
#define PLAIN_OPEN_MAX 4

/*
 * The plain batches that the sandbox must not carry out any more: the owner of the journal has
 * their answers, or has given them up.
 */
struct closed_batches {
	uint64_t below;                /* all batches with a smaller number; 0: none */
	uint64_t open[PLAIN_OPEN_MAX]; /* except these; 0: no more of them */
};

struct apply_request {
	/*
	 * The journal of these changes; all zero: not recorded. The sandbox keeps, for each
	 * journal, how far it has got. So a batch may be sent again until its answer has come, also
	 * in parts that begin later: each change is done once, and a refusal stays. One batch of a
	 * record at a time: ERR_TIMEOUT where another run does not end.
	 */
	unsigned char journal[JOURNAL_ID_SIZE];
	/*
	 * The number of changes[0], in one of the two records (SEQUENCE_ASIDE); the next ones
	 * follow without a gap. A change whose number is already done is not done again.
	 */
	uint64_t first_sequence;
	/*
	 * The batch is not recorded, and may run at the same time as others of its journal.
	 * `first_sequence` is the number of the batch. Once that number is closed the whole batch
	 * is refused (ERR_CONFLICT). 0: the batch has no number, and is never closed.
	 */
	bool is_plain;
	struct closed_batches
		closed; /* as of now; the sandbox keeps the largest that it received */
	/*
	 * For a plain request with one change: a number that no other request of the journal ever
	 * has. When a copy of the request arrived before and was done, the change is not done
	 * again. 0: no number.
	 */
	uint64_t once;
	const struct change *changes;
	size_t changes_count;
};

/* ---- fetch: contents of many files or ranges ---- */

enum fetch_kind {
	FETCH_BYTES = 1, /* `length` bytes from `offset`; fewer at the end of the file */
	/*
	 * XXH3-128 (canonical, 16 bytes each) of the blocks of `block_size` in the range, which
	 * starts at a multiple of it. A piece's `offset` is that of the block of its first hash.
	 * The last block ends with the range or the file.
	 */
	FETCH_HASHES,
	FETCH_SEEK_DATA, /* lseek(2): the piece FETCH_DONE carries the offset found */
	FETCH_SEEK_HOLE,
	/* the bytes are the present path of `target`, unless that is a path of staging */
	FETCH_WHERE,
	/* nothing is read: ERR_READ_ONLY where `target` cannot be changed by anybody */
	FETCH_CHANGEABLE,
};

struct fetch_item {
	enum fetch_kind kind;
	const char *path;
	struct expect target;
	uint64_t offset, length;
	uint32_t block_size; /* FETCH_HASHES */
	uint32_t flags;      /* CHANGE_BY_HANDLE, FETCH_NOATIME */
};

/* As O_NOATIME of open(2), where the sandbox allows it. */
#define FETCH_NOATIME 0x10000u

enum fetch_piece_kind {
	FETCH_DATA =
		1,  /* `offset`, `bytes`, `len`: pieces of one item come in order, without gaps */
	FETCH_DONE, /* `err`; on ERR_OK `attr` while the bytes were read; `offset` for the seeks */
};

struct fetch_piece {
	enum fetch_piece_kind kind;
	uint32_t item; /* index into the request */
	enum err err;
	char why[160];
	uint64_t offset;
	const void *bytes;
	size_t len;
	struct attr attr;
};

/*
 * Exactly one FETCH_DONE for each item, items in order. A file that changed while it was read is
 * ERR_CONFLICT, and the pieces already delivered are then worthless. Same threading and stopping
 * rules as list_sink.
 */
typedef enum err (*fetch_sink)(void *context, const struct fetch_piece *piece, struct error *e);

/* ---- watch: a stream of changes ---- */

/*
 * The most bytes of the starts of the list that a watch begins with, together: some vendors take
 * the request as an argument.
 */
#define WATCH_STARTS_MAX ((size_t)12 * 1024)
/* The bytes that a start takes besides its path. */
#define WATCH_START_COST 8

/*
 * An event has the state of its path when the event is sent. A change that was undone meanwhile is
 * never reported as it was, nor is a file whose name is another file's by now. So a stream need not
 * be read to its end before its events are correct.
 */
enum watch_kind {
	WATCH_READY = 1, /* from here on no change is missed; `lists` */
	/* `path` appeared, also by a rename into the tree, or names another file now */
	WATCH_CREATED,
	WATCH_CHANGED, /* contents */
	WATCH_ATTR,    /* mode, owner, times, links */
	WATCH_REMOVED, /* there is no `path` any more; also after a rename */
	/*
	 * the queue overflowed or a directory could not be watched: everything below `path` may
	 * have changed
	 */
	WATCH_LOST,
	WATCH_FOUND, /* `path`, reported as lost, is watched from here on, or is gone */
	WATCH_ITEM,  /* `item` of the requested list */
};

#define WATCHER_ID_SIZE 16

struct watch_request {
	/*
	 * The id of the watcher; all zero: none given. The helper ends a watch (ERR_CONFLICT) when
	 * another one of the same watcher begins. So the watch of a mount that was killed, whose
	 * stream no process reads, ends with the next mount.
	 */
	unsigned char watcher[WATCHER_ID_SIZE];
	/*
	 * NULL, or a list to make once the watch stands. Its items follow WATCH_READY, up to
	 * LIST_END, and then come the changes made meanwhile. So a caller that takes in the list
	 * and then the changes misses none, for one request. The starts keep to WATCH_STARTS_MAX.
	 */
	const struct list_request *first;
};

struct watch_event {
	enum watch_kind kind;
	bool is_dir; /* WATCH_REMOVED: whether a directory was removed */
	/*
	 * CREATED, CHANGED and ATTR; false: the provider does not know all attributes, or may not
	 * look
	 */
	bool has_attr;
	const char *path; /* from the shown root */
	const char *from; /* CREATED: the path before a rename to `path`; or NULL */
	struct attr attr; /* attributes of `path` */
	/*
	 * WATCH_READY: the items of `first` follow; false: the provider cannot, and the caller must
	 * list
	 */
	bool lists;
	const struct list_item *item; /* WATCH_ITEM: as for list_sink */
};

typedef enum err (*watch_sink)(void *context, const struct watch_event *event, struct error *e);
