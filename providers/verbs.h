/*
 * verbs.h - the vocabulary of the batch verbs: what a provider is asked and what it answers.
 *
 * Everything the filesystem does to a sandbox's files is one of list, fetch, apply and watch, and each takes a batch.
 * This header is shared by sandboxfs and by its helper program inside the sandbox: libc only.
 *
 * Paths are those of base/path.h: relative to the shown root, "" the root, "/name" a file of staging. Every pointer in a
 * request belongs to the caller and must outlive the call; every pointer in an answer belongs to the callee and is valid
 * only during the callback that carries it, unless a `_release` function says otherwise. Offsets and sizes are bytes.
 */
#pragma once

#include "providers/base/error.h"
#include "providers/base/times.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* Contents travel in pieces of at most this size (1 MiB: FUSE's own largest request). */
#define VERB_DATA_MAX (1024 * 1024)
/* Linux's own limits: PATH_MAX for a link's text, XATTR_SIZE_MAX for a value, XATTR_LIST_MAX for all names. */
#define VERB_LINK_MAX  4096
#define VERB_XATTR_MAX 65536

/* ---- Attributes ---- */

/* What stat(2) says, to the nanosecond, as the sandbox has it. */
struct attr {
	uint64_t dev, ino;
	uint64_t
		btime_ns; /* time of birth since 1970 in ns; 0 unknown. Tells a reused inode number from the old file */
	uint32_t mode, nlink, uid, gid;
	uint64_t rdev; /* makedev() of a device, else 0 */
	uint64_t size;
	uint64_t blocks; /* of 512 bytes */
	uint32_t blksize;
	bool no_xattrs; /* it has no extended attribute of the user's; false: not known */
	struct timespec atime, mtime, ctime; /* the sandbox's clock */
};

/* Whether the contents are those of then, as far as attributes tell. */
static inline bool attr_is_same_version(const struct attr *a, const struct attr *b)
{
	return a->size == b->size && time_equals(a->mtime, b->mtime) &&
		time_equals(a->ctime, b->ctime);
}

/* Which inode is meant. All zero: any. A verb that finds another one answers ERR_STALE and does nothing. */
struct expect {
	uint64_t dev, ino, btime_ns; /* btime_ns 0 on either side: not compared */
};

/*
 * What a file was when a change was decided. All zero: any. A change that finds another one answers ERR_CONFLICT and does
 * nothing, also where the file is gone.
 */
struct version {
	uint64_t size;
	struct timespec mtime, ctime;
};

/* What statvfs(3) says of the shown root. */
struct space {
	uint64_t block_size, blocks, free, available; /* counts of `block_size` bytes */
	uint64_t files, files_free;
	uint32_t name_max;
	bool is_read_only; /* nothing on that file system can be changed */
};

/* The shown root, as it was at `now` by the sandbox's clock. */
struct root_facts {
	struct attr attr;
	struct space space;
	struct timespec now;
};

/* Who commands and files belong to in the sandbox. */
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
	 * With `changed_since_ns`: a directory need not be named where nothing in it is. So a directory that is not named did not
	 * change, and neither did its entries; one whose entries cannot all be looked at is named with an error, which
	 * stands for everything below it, too.
	 */
	LIST_CHANGED_ONLY = 4,
};

struct list_request {
	const char *const *starts;
	size_t starts_count;
	uint32_t
		depth; /* 0: only the starts themselves; 1: and their entries; LIST_DEPTH_ALL: everything */
	uint32_t flags;       /* enum list_flags */
	uint64_t entries_max; /* stop after so many entries; 0: no limit */
	/*
	 * 0: everything; else only entries whose ctime is not older than this (sandbox's clock). A directory that changed
	 * itself may be listed in full, so that what went can be told; every directory is descended into.
	 */
	int64_t changed_since_ns;
};

enum list_kind {
	LIST_SELF =
		1, /* `start`, `err`; on ERR_OK `attr`, `link`, `xattrs`. One for each start, in order */
	LIST_DIR, /* `start`, `path`: the entries that follow, up to LIST_DIR_END, are this directory's */
	LIST_ENTRY, /* `name`, `attr`, `link` */
	LIST_DIR_END, /* `err`, `complete`: every entry was named, none was skipped, nothing changed meanwhile */
	LIST_END, /* `now`, `space`: once, the last item */
};

/* Directories come breadth first; what is in a repository's .git may come sooner. The order of entries within one is the file system's. */
struct list_item {
	enum list_kind kind;
	uint32_t start; /* index into `starts` */
	enum err err;
	bool complete;
	const char *path; /* LIST_DIR: from the shown root */
	const char *name;
	const char *link; /* a symbolic link's text, else NULL */
	const struct xattr *xattrs;
	size_t xattrs_count;
	struct attr attr;
	struct timespec now; /* the sandbox's clock */
	struct space space;
};

/* Called for each item in order, never from two threads at once. Anything but ERR_OK ends the list with that. */
typedef enum err (*list_sink)(void *context, const struct list_item *item, struct error *e);

/* ---- apply: an ordered list of changes ---- */

/*
 * SET_MTIME in what makes a name, and in WRITE, APPEND and COPY: the file has this mtime
 * afterwards, unless the mtime is not the writer's to set. A file that was there and is taken keeps
 * its own.
 */
enum change_op {
	CHANGE_MKDIR = 1, /* path, mode, uid, gid */
	CHANGE_CREATE, /* path, mode, uid, gid: a regular file; CHANGE_EXCL or an existing one is taken */
	CHANGE_MKNOD,   /* path, mode with type, rdev, uid, gid */
	CHANGE_SYMLINK, /* path, data = text, uid, gid */
	CHANGE_LINK,    /* path = existing, path2 = new name */
	CHANGE_UNLINK, /* path; path2 if set: a staging name that keeps the inode alive for open handles */
	CHANGE_RMDIR, /* path */
	CHANGE_RENAME, /* path -> path2; CHANGE_NOREPLACE, CHANGE_EXCHANGE; keep: staging name for a replaced file */
	CHANGE_SETATTR,   /* path; what `set` names */
	CHANGE_WRITE,     /* path, offset, data */
	CHANGE_APPEND,    /* path, data; the result's `offset` is where it landed */
	CHANGE_FALLOCATE, /* path, offset, length, mode = fallocate(2)'s */
	CHANGE_COPY, /* path, offset -> path2, offset2, length: within the sandbox; result's `count` */
	/*
	 * path (staged) becomes path2: renamed where nothing is, else copied over with its times, inode kept. CHANGE_EXCHANGE:
	 * path2 was made empty so that its name is taken. Where it still is, with one name and nothing but a mode and an owner,
	 * it is replaced in one step, and path gets these: another inode, which nobody sees in part. CHANGE_MAKES: path is made
	 * first, as CHANGE_CREATE and one CHANGE_WRITE of all its data would (mode, uid, gid, data; SET_MTIME), whatever an
	 * attempt before may have left there; where the change is refused it is removed again.
	 */
	CHANGE_PLACE,
	CHANGE_SETXATTR, /* path, name, data; CHANGE_EXCL = XATTR_CREATE, CHANGE_REPLACE = XATTR_REPLACE */
	CHANGE_REMOVEXATTR, /* path, name */
	CHANGE_SYNC,        /* path: fsync(2) of the file or directory in the sandbox */
	CHANGE_OP_END,      /* one past the last */
};

/* Staging names that begin so are of files that were removed while a mount had them open: nothing without that mount. */
#define STAGED_UNLINKED "u-"
/* And these of what is put in its place when it is whole; the id of the journal follows. */
#define STAGED_NEW "n-"
/* What the helper keeps there of a journal and of a watcher; "-" and its id in hexadecimal follow. */
#define STAGED_SEQUENCE "seq"
#define STAGED_ASIDE    "seq-aside"
#define STAGED_FENCE    "fence"
#define STAGED_ONCE     "once"
#define STAGED_WATCH    "watch"
/* Files of jobs (fs/control/job_script.h), and the pipes of a command that is fed (input_pipe.h). */
#define STAGED_JOB "job-"
#define STAGED_FED "fed-"

enum change_flags {
	CHANGE_EXCL = 1,      /* must not exist */
	CHANGE_NOREPLACE = 2, /* rename: the new name must not exist */
	CHANGE_EXCHANGE =
		4, /* rename: swap the two names; place: replace what was made empty for it */
	CHANGE_REPLACE = 8, /* must exist */
	CHANGE_BY_HANDLE =
		16, /* asked through an open handle: the mode bits were judged at open, not now */
	CHANGE_MAKES = 32, /* place: the staged file, too */
	/*
	 * mkdir: a directory that is there is the one asked for, as it is; the result's `count` is
	 * 1
	 */
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

/* No owner asked for: the sandbox user's, as the kernel there gives it. */
#define CHANGE_NO_OWNER UINT32_MAX

struct change {
	enum change_op op;
	uint32_t flags; /* enum change_flags */
	/* 1 + the index of an earlier change of this batch without which this one is ERR_SKIPPED; 0: none. */
	uint32_t needs;
	const char *path, *path2; /* path2 NULL where the op has none */
	const char *keep;         /* CHANGE_RENAME: staging path, or NULL */
	/* Preconditions: the directory of path and of path2, and the inodes that path and path2 name. */
	struct expect parent, target, parent2, target2;
	/* And of those two inodes what they are based on: for a change that is done long after it was decided. */
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
 * Which of the inodes that a change expects (perhaps any) its result's `attr` is of; NULL: of none.
 * On a file system of layers that inode may have got another number by the change: it was copied
 * from a lower one.
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
	uint64_t offset; /* CHANGE_APPEND: where */
	bool has_attr, has_parent, has_parent2;
	bool was_over; /* done by an earlier run: the attributes are those of now */
	struct version
		left; /* was_over: what it left then of a regular file; all zero: nobody knows any more */
	/*
	 * Of a change that leaves the contents of a regular file as they are, or writes to them: what path
	 * named just before. All zero: nobody told.
	 */
	struct version before;
	/* RENAME: the regular file that path2 named before, now. All zero: it has no other name. */
	struct version over;
	struct attr
		attr; /* what path (LINK, RENAME, PLACE, COPY: path2) names afterwards; UNLINK: the kept or still linked inode */
	struct attr parent;  /* the directory of path afterwards */
	struct attr parent2; /* the directory of path2 afterwards, where it is another */
};

#define JOURNAL_ID_SIZE 16

/*
 * In the number of a recorded change: the second record of the journal counts it. The numbers of
 * each record only rise, and a batch of one may be done beside a batch of the other.
 */
#define SEQUENCE_ASIDE ((uint64_t)1 << 62)

/* Plain batches of one journal that are on their way at once. */
#define SETTLED_OPEN_MAX 4

/* Of which plain batches nothing is to be done any more: whoever owns the journal has their answers, or gave them up. */
struct settled {
	uint64_t below;                  /* all whose number is smaller; 0: none */
	uint64_t open[SETTLED_OPEN_MAX]; /* but these; 0: no more of them */
};

struct apply_request {
	/*
	 * Whose changes these are; all zero: not recorded. The sandbox keeps, per journal, how far
	 * it has got, so that a batch may be sent again, also in parts that begin later, until its
	 * answer has come: each change is done once, and a refusal stays. One batch of a record at
	 * a time: ERR_TIMEOUT where another run does not end.
	 */
	unsigned char journal[JOURNAL_ID_SIZE];
	/*
	 * Of changes[0], in one of the two records (SEQUENCE_ASIDE); the next ones follow without
	 * a gap. A number already done is not done again.
	 */
	uint64_t first_sequence;
	/*
	 * It is not recorded, and may be done beside others of its journal. `first_sequence` is the number of the batch, which
	 * is refused as a whole (ERR_CONFLICT) once that is settled; 0: it has none, and never is.
	 */
	bool is_plain;
	struct settled settled; /* by now; the sandbox remembers the most that it heard */
	/*
	 * Of a plain request with one change: a number that no other request of the journal ever has. When a copy of the
	 * request arrived before and was done, it is not done again. 0: it has none.
	 */
	uint64_t once;
	const struct change *changes;
	size_t changes_count;
};

/* ---- fetch: contents of many files or ranges ---- */

enum fetch_kind {
	FETCH_BYTES = 1, /* `length` bytes from `offset`; fewer at the end of the file */
	/*
	 * XXH3-128 (canonical, 16 bytes each) of the blocks of `block_size` in the range, which starts at a multiple of it. A
	 * piece's `offset` is that of the first block it has the hash of; the last block ends with the range or the file.
	 */
	FETCH_HASHES,
	FETCH_SEEK_DATA, /* lseek(2): the piece FETCH_DONE carries the offset found */
	FETCH_SEEK_HOLE,
	FETCH_WHERE, /* the bytes are the path that `target` has by now, not one of staging */
};

struct fetch_item {
	enum fetch_kind kind;
	const char *path;
	struct expect target;
	uint64_t offset, length;
	uint32_t block_size; /* FETCH_HASHES */
	uint32_t flags;      /* CHANGE_BY_HANDLE, FETCH_NOATIME */
};

/* As O_NOATIME of open(2), where the sandbox lets it. */
#define FETCH_NOATIME 0x10000u

enum fetch_piece_kind {
	FETCH_DATA =
		1, /* `offset`, `bytes`, `len`: pieces of one item come in order, without gaps */
	FETCH_DONE, /* `err`; on ERR_OK `attr` as it was while the bytes were read; `offset` for the seeks */
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
 * Exactly one FETCH_DONE for each item, items in order. A file that changed while it was read is ERR_CONFLICT (the pieces
 * already delivered are then worthless). Same threading and stopping rules as list_sink.
 */
typedef enum err (*fetch_sink)(void *context, const struct fetch_piece *piece, struct error *e);

/* ---- watch: a stream of changes ---- */

/* The starts of the list that a watch begins with have so many bytes together at most: there are vendors who take the request as an argument. */
#define WATCH_STARTS_MAX ((size_t)12 * 1024)
/* What a start takes in it beside its path. */
#define WATCH_START_COST 8

/*
 * What a path names is told as it is at the moment of telling: a change that was undone meanwhile, or a name that is
 * another file's by now, is never told as it was. So a stream need not be read to its end to know that it was right.
 */
enum watch_kind {
	WATCH_READY = 1, /* from here on nothing is missed; `lists` */
	WATCH_CREATED, /* `path` appeared, also by a rename into the tree, or is another file's now */
	WATCH_CHANGED, /* contents */
	WATCH_ATTR,    /* mode, owner, times, links */
	WATCH_REMOVED, /* nothing is at `path`: it went, also by a rename */
	WATCH_LOST, /* the queue overflowed or a directory could not be watched: everything below `path` is in doubt */
	WATCH_FOUND, /* `path`, reported as lost, is watched from here on, or is gone */
	WATCH_ITEM,  /* `item` of the list that was asked for */
};

#define WATCHER_ID_SIZE 16

struct watch_request {
	/*
	 * Who watches; all zero: it is not said. The helper ends a watch (ERR_CONFLICT) when another one of the same watcher
	 * begins: so that of a mount that was killed, whose stream nobody reads, ends with the next mount.
	 */
	unsigned char watcher[WATCHER_ID_SIZE];
	/*
	 * NULL, or what is listed once the watch stands: its items follow WATCH_READY, up to LIST_END, and what changed
	 * meanwhile follows them. So whoever takes the list in and then the changes misses nothing, for one request. Its starts
	 * keep to WATCH_STARTS_MAX.
	 */
	const struct list_request *first;
};

struct watch_event {
	enum watch_kind kind;
	bool is_dir; /* WATCH_REMOVED: of what went */
	bool has_attr; /* of CREATED, CHANGED and ATTR; false: the provider does not know all of them, or may not look */
	const char *path; /* from the shown root */
	const char *from; /* CREATED: where it was before it was renamed to `path`; or NULL */
	struct attr attr; /* what `path` names */
	bool lists; /* WATCH_READY: the items of `first` follow; false: the provider cannot, and the caller lists */
	const struct list_item *item; /* WATCH_ITEM; as list_sink has them */
};

typedef enum err (*watch_sink)(void *context, const struct watch_event *event, struct error *e);
