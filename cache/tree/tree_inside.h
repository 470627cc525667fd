/*
 * tree_inside.h - declarations that only the files of the tree share.
 *
 * Functions that end in _locked expect tree.lock to be held.
 */
#pragma once

#include "cache/blocks/shown.h"
#include "cache/tree/tree.h"

#include "providers/base/path_set.h"

#include <sys/queue.h>

struct dentry {
	struct inode *dir, *inode;
	/* The name is valid until then; 0: only good for building paths. */
	int64_t until_ms;
	int64_t kernel_until_ms;   /* the kernel may use the name until then */
	uint32_t listed : 31;      /* the newest listing's number when the name was last learned */
	uint32_t link_is_ours : 1; /* a symbolic link's name, given through this mount */
	uint32_t hash;
	struct dentry *next_in_bucket;
	struct dentry *sibling_prev, *sibling_next;
	struct dentry *next_of_inode;
	char name[];
};

/* Powers of two. */
#define DEFERRED_BUCKETS 1024
#define NEGATIVE_BUCKETS 1024

/* A directory that the kernel may still have at its path before a rename of ours. */
struct moved_dir {
	const struct inode *dir; /* only to be compared with; NULL: any */
	unsigned least;          /* the lesser depth of its entries, before and after the rename */
	int64_t until_ms;        /* monotonic; when past, this entry is free */
	pthread_t by;            /* the thread that makes the rename, while `is_asked` */
	bool is_asked;           /* the rename is not answered yet */
	bool has_risen;
};

#define TREE_MOVED_DIRS 16

struct tree {
	pthread_mutex_t lock;      /* guards everything below and every inode and dentry */
	pthread_cond_t move_ended; /* a move or a removal ended */
	struct inode *root;
	uint64_t serial;       /* the number of the last step of a local change */
	uint64_t provisionals; /* the last number that was given to a provisional inode */
	uint64_t invalidated;  /* the serial number of the last invalidation of everything */
	/* The serial number of the last change by others outside the known tree. */
	uint64_t event_beyond;
	/* Answers to questions from this serial number on may be leased; UINT64_MAX: none. */
	uint64_t held_from;
	int64_t validated_until_ms; /* leased answers are valid until then, monotonic; 0: invalid */
	/* A stream was live when an answer last validated the tree: names are changed locally. */
	bool decides;
	bool is_offline;  /* the tree was last validated offline */
	int64_t timed_ms; /* the validity of answers that cannot be leased */
	/* The latest end of all validity with a limit of time, except the root's attributes. */
	int64_t timed_until_ms;
	uint32_t listings; /* the count of listings begun so far */
	LIST_HEAD(, tree_listing) under_way;
	/* The serial number of a listing that is leased in any case; 0: none. */
	uint64_t held_alone;
	uint64_t held_before;      /* held_from, while a stream begins */
	struct path_set unwatched; /* directories that the stream does not report */
	bool is_blind;             /* `unwatched` is full: nothing is leased */
	TAILQ_HEAD(, deferred_event)
	deferred; /* deferred events, in the order of arrival */
	LIST_HEAD(, deferred_event)
	deferred_by_name[DEFERRED_BUCKETS], deferred_by_dir[DEFERRED_BUCKETS];
	size_t deferred_count;
	int64_t deferred_event_resolved_ms; /* when overdue events were last resolved */
	struct shown *shown;                /* set before the first event, as are the next two */
	tree_tell tell;
	void *tell_context;
	unsigned moved_locally; /* directories that are moved locally */
	bool has_missed;        /* an event may have been about something below such a directory */
	unsigned moves;         /* renames under way */
	struct moved_dir moved_dirs[TREE_MOVED_DIRS]; /* places.c */
	uint64_t rose;      /* the serial number of the last rename that brought a directory up */
	int64_t climbed_ms; /* when a link's text that climbs was last shown */
	unsigned stops;     /* callers that make renames wait */
	/* Buckets, a power of two: by (dev, ino), or by address where no lookup is by these. */
	struct inode **inodes;
	size_t inodes_count /* hashed or not */, inodes_room;
	struct dentry **names; /* by (directory, name) */
	size_t names_count, names_room;
	struct inode *idle_oldest, *idle_newest;
	size_t idle_count, idle_max;
	unsigned holds;   /* no idle inode is forgotten while there are any */
	bool is_trimming; /* a caller further up the stack is trimming */
	/* The root's attributes are valid until then, though all else is invalid. */
	int64_t root_until_ms;
	TAILQ_HEAD(, negative) negatives; /* oldest first */
	LIST_HEAD(, negative) negatives_by_name[NEGATIVE_BUCKETS];
	size_t negatives_count;
	/* Counts attributes given to the kernel: tree_kernel_uses_names(). */
	uint64_t given, given_before;
	/* The first entry that tree_take_outdated() has not seen. */
	struct negative *negative_taken;
	/* Buckets that tree_take_outdated() has been through. */
	size_t inodes_taken, names_taken;
	int64_t kernel_until_ms; /* later the kernel uses nothing but the root's attributes */
	/* The next value of kernel_until_ms, once tree_take_outdated() is through. */
	int64_t kernel_keeps_until_ms;
	size_t opens; /* handles of all inodes */
};

/*
 * How long a handler waits for another handler's change of the same inode: one call's limit on
 * progress.
 */
#define TREE_WAIT_MS 30000

/* Every inode of the tree, hashed or not. */
#define FOR_EACH_INODE(t, i)                                                                       \
	for (size_t bucket_ = 0; bucket_ < (t)->inodes_room; bucket_++)                            \
		for (struct inode *i = (t)->inodes[bucket_]; i; i = i->next_in_bucket)

int64_t tree_now_ms(void);
/* Waits on `move_ended`; false at `end_ms`. */
bool tree_wait_locked(struct tree *t, int64_t end_ms);

/* The version of the contents: two equal versions of an inode have the same bytes. */
uint64_t version_of(const struct attr *attr);
/* Applies what is shown otherwise than the sandbox has it. */
void show_locked(const struct tree *t, const struct inode *i, struct attr *attr);
/* Compares number, type and time of birth. */
bool is_same_file(const struct attr *a, const struct attr *b);
/*
 * Whether an answer to a question of `seen` is valid for `i`: no change of `i`, and no invalidation
 * of everything, came since.
 */
bool is_news_locked(const struct tree *t, const struct inode *i, uint64_t seen);
/*
 * Takes the attributes of a valid answer. Whether the contents changed, and not by a change of
 * ours.
 */
bool take_news_locked(struct tree *t, struct inode *i, uint64_t seen, const struct tree_news *news);
/*
 * Adopts an own change's answer, as tree_adopt() says. false: invalidates the attributes instead.
 */
bool adopt_locked(struct tree *t, struct inode *i, const struct tree_scope *s,
	const struct attr *attr, int64_t until_ms);
/* Whether no other change of `i` is under way. */
bool is_only_change_locked(const struct tree_scope *s, const struct inode *i);
/* Applies a CHANGE_SETATTR, except the size. */
void set_attr(struct attr *attr, const struct change *what, struct timespec now);
/* Sets the attributes that an own change made. The kernel's pages stay current if they were. */
void set_own_attr_locked(struct tree *t, struct inode *i, const struct attr *attr);
/* The result of tree_attr(). */
int64_t attr_until_locked(const struct tree *t, const struct inode *i);
/* Revokes the attributes that tree_delegate() gave: they change, or may change. */
void take_back_locked(struct tree *t, struct inode *i);
/* A rename or removal of a name of `i` begins, or ends. */
void move_begins_locked(struct tree *t, struct inode *i);
void move_ends_locked(struct tree *t, struct inode *i);

/* The first size of a table. */
#define TREE_ROOM_FIRST 1024

/*
 * The rare fields of `i`, all zero where it has none. The second returns them to be changed; NULL
 * without memory.
 */
const struct inode_extra *inode_extra_locked(const struct inode *i);
struct inode_extra *inode_extra_make_locked(struct inode *i);
/* Sets the text of a symbolic link; without memory the text is not known. */
void inode_set_link_locked(struct inode *i, const char *text);

struct inode *inode_new_locked(struct tree *t, const struct attr *attr);
struct inode *inode_find_locked(struct tree *t, const struct attr *attr);
void inode_unhash_locked(struct tree *t, struct inode *i);
/*
 * Unhashes an inode that is gone in the sandbox, which may give the number to a new inode at once.
 * An O_PATH descriptor, a working directory or an open directory may still remember the old inode
 * by that number.
 */
void inode_retire_locked(struct tree *t, struct inode *i);
/* Whether a gone inode is still remembered by the number in `attr`. */
bool is_number_kept_locked(const struct tree *t, const struct attr *attr);
/*
 * Hashes `i` by the numbers in its attributes. Another inode with these numbers is not found by
 * them any more.
 */
void inode_hash_locked(struct tree *t, struct inode *i);
/*
 * Puts an unused inode on the idle list, or frees an inode without a name. A used inode leaves the
 * list again by inode_wake_locked().
 */
void inode_rest_locked(struct tree *t, struct inode *i);
/* The inode must be unused and have no names. */
void inode_free_locked(struct tree *t, struct inode *i);
/*
 * Forgets the inodes that were unused for longest, down to tree.idle_max. Their directories are not
 * complete any more.
 */
void inodes_trim_locked(struct tree *t);
void inode_wake_locked(struct tree *t, struct inode *i);
/* May free the inode. */
void inode_unpin_locked(struct tree *t, struct inode *i);

uint32_t dentry_hash(const struct inode *dir, const char *name);
struct dentry *dentry_find_locked(struct tree *t, const struct inode *dir, const char *name);
/*
 * Whether the tree stays a tree with `i` in `dir`, whatever the sandbox answered: the root has no
 * name, and no directory is in itself or in anything below itself.
 */
bool may_be_in_locked(const struct tree *t, const struct inode *i, const struct inode *dir);
/*
 * Gives `i` the name. `dir` must not have a dentry of that name, and a directory gets one name
 * only. NULL: no memory, or the tree would not stay a tree.
 */
struct dentry *dentry_new_locked(
	struct tree *t, struct inode *dir, const char *name, struct inode *i);
/* Takes the name away, which may free the inode. */
void dentry_drop_locked(struct tree *t, struct dentry *d);
/* Drops a name that the sandbox does not have any more. The kernel forgets the name. */
void dentry_lost_locked(struct tree *t, struct dentry *d);
/*
 * Drops the names in a directory that has no name itself, and all names below. Names under a change
 * of ours stay until the change has ended.
 */
void names_prune_locked(struct tree *t, struct inode *dir);
/* As names_prune_locked(), at the end of a change of `i`. */
void names_prune_after_locked(struct tree *t, struct inode *i);
/* Makes the dentry a name of `i` instead. */
void dentry_retarget_locked(struct tree *t, struct dentry *d, struct inode *i);

/* Whether the name, or the attributes, are valid. A provisional inode's always are. */
bool is_name_valid_locked(const struct tree *t, const struct dentry *d, int64_t now_ms);
bool is_attr_valid_locked(const struct tree *t, const struct inode *i, int64_t now_ms);
/* As tree_size_is_true(). */
bool is_size_true_locked(const struct tree *t, const struct inode *i);
/* Whether every entry of `dir` is known and valid. */
bool is_complete_locked(const struct tree *t, const struct inode *dir, int64_t now_ms);

/*
 * Whether a name without a dentry in `dir` is known not to exist, or will be once the tree is valid
 * again.
 */
bool is_absent_locked(const struct tree *t, const struct inode *dir);

/* ---- kernel.c ---- */

/*
 * The kernel uses an entry until then, except the root's attributes, or the tree has moved an entry
 * to another bucket. The next tree_take_outdated() must come to that entry.
 */
void kernel_uses_until_locked(struct tree *t, int64_t until_ms);
/* The kernel is given attributes of `i` that it may use until then. */
void kernel_has_attr_locked(struct tree *t, struct inode *i, int64_t until_ms);
/*
 * Attributes of `i` are outdated; `pages`: contents, too. A report goes to the kernel if it may use
 * them.
 */
void kernel_forgets_inode_locked(struct tree *t, struct inode *i, bool pages);
/*
 * A name is outdated; `is_gone`: does not exist any more. `d` is its dentry; NULL: none. A report
 * goes to the kernel if it may use the name.
 */
void kernel_forgets_name_locked(
	struct tree *t, struct inode *dir, const char *name, struct dentry *d, bool is_gone);
/* Any name may exist in this directory now. */
void kernel_forgets_absent_locked(struct tree *t, struct inode *dir);
/* Everything is invalid: tree_take_outdated() starts again. */
void taking_begins_locked(struct tree *t);
/* The kernel does not look names up in this directory any more. */
void negatives_drop_locked(struct tree *t, struct inode *dir);

/* ---- validity.c ---- */

/* The end of validity: for leased answers, that of the tree. */
int64_t valid_until_locked(const struct tree *t, int64_t until_ms);
bool is_valid_locked(const struct tree *t, int64_t until_ms, int64_t now_ms);
/* Leased, but the tree is not valid. */
bool is_invalid_locked(const struct tree *t, int64_t until_ms, int64_t now_ms);
/*
 * The validity of an answer about `i` to a question of serial number `asked`: leased if possible,
 * else `until_ms`.
 */
int64_t plain_validity_end_locked(
	const struct tree *t, const struct inode *i, uint64_t asked, int64_t until_ms);
/* Notes and returns an end of validity, for all but the root's attributes. */
int64_t timed_locked(struct tree *t, int64_t until_ms);
/* plain_validity_end_locked() with timed_locked(). */
int64_t validity_end_locked(
	struct tree *t, const struct inode *i, uint64_t asked, int64_t until_ms);
/* Whether any change of `i` is reported at once, or was when the tree was last valid. */
bool is_maybe_foreign_locked(const struct tree *t, const struct inode *i);
/* Ends the lease of the attributes: they stay valid for as long as any that cannot be leased. */
void stop_holding_locked(struct tree *t, struct inode *i);
/* A name of `i` was taken by others. Without a name `i` is invalid, and all below is dropped. */
void lost_from_sight_locked(struct tree *t, struct inode *i);

/*
 * Notes whether the change stream leaves out the entries of this directory, newly found on the way
 * down from the root.
 */
void note_unwatched_locked(struct tree *t, struct inode *dir);
void unwatched_release_locked(struct tree *t);
/* Invalidates the entries of a directory, or all that is below one. */
void invalidate_entries_locked(struct inode *dir);
void invalidate_below_locked(struct inode *top);
/* As invalidate_below_locked(), and reports to the kernel. */
void invalidate_and_tell_below_locked(struct tree *t, struct inode *top);

/* ---- provisional.c ---- */

bool path_is_unsynced_locked(const struct tree *t, const struct inode *i);
/*
 * Whether a local change of the inode's names, or of which inode it is, was not applied by `seen`:
 * an answer of then is not about this inode.
 */
bool is_only_here_locked(const struct dentry *d, uint64_t seen);
/* The sandbox made `i`, with these attributes. */
void take_identity_locked(struct tree *t, struct inode *i, const struct attr *attr);
/* A number that no other inode has, known to this mount only. */
uint64_t number_locked(struct tree *t);

/* ---- ctime.c ---- */

/* The ctime shown of `i` for this ctime of its attributes. */
struct timespec shown_ctime_locked(const struct inode *i, struct timespec ctime);
/* Shows this ctime instead of the attributes' own. The second function ends that. */
void keep_ctime_locked(struct inode *i, struct timespec shown);
void forget_ctime_locked(struct inode *i);
/*
 * A change of `i` was done at about `ctime`, and the inode's attributes are invalid. The shown
 * ctime stays if the sandbox's next report has nothing but that change.
 */
void await_ctime_locked(struct tree *t, struct inode *i, struct timespec ctime);
/* Takes this next report, before the attributes are set. */
void awaited_ctime_received_locked(
	const struct tree *t, struct inode *i, const struct attr *reported);
/* Records for later mounts what is shown of `i` otherwise than `real`, the sandbox's state. */
void note_shown_locked(const struct tree *t, const struct inode *i, const struct attr *real);
/* Applies the record of a file that this mount has just learned of. */
void find_shown_locked(struct tree *t, struct inode *i);
/* Whether the local effect came true, except for what only the sandbox can say. */
bool is_as_applied(const struct attr *applied, const struct attr *now);

/* ---- events.c ---- */

/* Calls the function set by tree_tells(). */
void tell_locked(const struct tree *t, const struct tree_report *reported);
/* The deepest known directory on `path`; *rest: the part of the path beyond it. */
struct inode *deepest_locked(struct tree *t, const char *path, const char **rest);
/*
 * Whether an event of `name` in `dir`, with the dentry `d`, must be deferred: a change of ours is
 * under way, or an answer that may know more.
 */
bool is_early_locked(
	const struct inode *dir, const struct dentry *d, const struct watch_event *event);
/* Drops the echo of what is known; applies anything else as news. */
void resolve_locked(
	struct tree *t, struct inode *dir, const char *name, const struct watch_event *event);
void news_locked(struct tree *t, struct inode *dir, const char *name, struct dentry *d,
	const struct watch_event *event);

/*
 * A local change moves `i`. Of a directory, events by its old path are not understood until the
 * change is applied.
 */
void local_move_begins_locked(struct tree *t, struct inode *i);
/* The last local change of `i` ended. All below is invalidated if an event was missed meanwhile. */
void local_move_ends_locked(struct tree *t, struct inode *i);

/* ---- deferred_events.c ---- */

/* Defers an event. */
void defer_event_locked(
	struct tree *t, struct inode *dir, const char *name, const struct watch_event *event);
/* Whether an event of a name of `i` is deferred. */
bool has_deferred_event_locked(struct tree *t, const struct inode *i);
/* A change of ours of `i` ended: resolves the deferred events of `i` and of names in it. */
void resolve_late_locked(struct tree *t, struct inode *i);
/*
 * The answer to a question of `seen` had a name; or all names of `dir`. Resolves their deferred
 * events.
 */
void resolve_learned_locked(struct tree *t, struct inode *dir, const char *name, uint64_t seen);
void resolve_complete_locked(struct tree *t, struct inode *dir, uint64_t seen);
/* Drops the deferred events of `dir`, whose entries no caller asks for any more. */
void deferred_event_forget_locked(struct tree *t, const struct inode *dir);
void deferred_event_release_locked(struct tree *t);

/* ---- Paths ---- */

/* The path of `i`, or of `name` in it; to be freed. NULL: no path, or no memory. */
char *path_build_locked(struct tree *t, struct inode *i, const char *name);
/* As tree_may_be_copied_up(). */
bool may_be_copied_up_locked(const struct inode *i);
/* Remembers the path of `i`, whose last name others take, while the inode is in use. */
void remember_place_locked(struct tree *t, struct inode *i);

/*
 * The serial number of the last move of a name on the path; *moving: a move is under way. When a
 * path changes, the lowest changed step stays on it and is newer than the whole path was.
 */
uint64_t path_stamp_locked(const struct tree *t, const struct inode *i, bool *moving);

/* Whether `i` is below `dir`, or is it. */
bool is_above_locked(const struct tree *t, const struct inode *dir, const struct inode *i);

/* As tree_depth_in(), without renames that the kernel may not have made. */
unsigned depth_in_locked(const struct tree *t, const struct inode *dir);

/* ---- places.c ---- */

/* A rename of ours moved `i`, whose entries had this depth before; UINT_MAX: unknown. */
void places_moved_locked(struct tree *t, const struct inode *i, unsigned depth_before);

/* ---- links.c ---- */

/* Whether every name of the link was given through this mount. */
bool are_names_ours_locked(const struct inode *link);
/* A link's name and text were learned. Both may have been given through an earlier mount. */
void find_link_locked(struct tree *t, struct inode *link);
/* Records the paths of a link whose text was written here, for later mounts. */
void note_link_locked(struct tree *t, struct inode *link);
