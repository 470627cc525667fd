/*
 * tree_inside.h - what the files of the tree share among themselves; nobody else includes it.
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
	int64_t until_ms;          /* believed until; 0: only good for building paths */
	int64_t kernel_until_ms;   /* the kernel may use the name until then */
	uint32_t listed : 31;      /* the number of the newest listing when it was last learned */
	uint32_t link_is_ours : 1; /* a symbolic link was given this name through this mount */
	uint32_t hash;
	struct dentry *next_in_bucket;
	struct dentry *sibling_prev, *sibling_next;
	struct dentry *next_of_inode;
	char name[];
};

/* Powers of two. */
#define LATE_BUCKETS     1024
#define NEGATIVE_BUCKETS 1024

/* A directory that the kernel may have where it was before a rename of ours. */
struct moved_dir {
	const struct inode *dir; /* only to be compared with; NULL: any */
	unsigned least;          /* the depth of its entries at the nearer of both places */
	int64_t until_ms;        /* monotonic; over: the place is free */
	pthread_t by;            /* the thread that makes the rename, as long as that */
	bool is_asked;           /* and is not answered */
	bool has_risen;
};

#define TREE_MOVED_DIRS 16

struct tree {
	pthread_mutex_t lock;   /* guards everything below and every inode and dentry */
	pthread_cond_t settled; /* a move or a removal ended */
	struct inode *root;
	uint64_t serial;       /* of the last step of a local change */
	uint64_t provisionals; /* the last number of ours that was given */
	uint64_t doubted;      /* when everything was last doubted */
	uint64_t told_beyond;  /* when others last changed what lies beyond what is known */
	/* What was asked then or later, by serial number, may be held; UINT64_MAX: nothing. */
	uint64_t held_from;
	int64_t validated_until_ms; /* what is held is believed until then, monotonic; 0: it is in doubt */
	bool decides; /* there was a change stream when it was last trusted by what the sandbox said */
	bool is_offline;  /* since then nobody answered */
	int64_t timed_ms; /* how long what may not be held is believed */
	/* Every belief with a time of its own ends by then, but for the root's attributes. */
	int64_t timed_until_ms;
	uint32_t listings; /* begun so far */
	LIST_HEAD(, tree_listing) under_way;
	uint64_t held_alone;  /* the serial number of a listing that is held in any case; 0: none */
	uint64_t held_before; /* held_from, while a stream begins */
	struct path_set unwatched; /* directories that the stream does not report */
	bool is_blind;             /* `unwatched` is full: nothing is held */
	TAILQ_HEAD(, deferred_event)
	late; /* events not yet judged, in the order in which they came */
	LIST_HEAD(, deferred_event) late_by_name[LATE_BUCKETS], late_by_dir[LATE_BUCKETS];
	size_t late_count;
	int64_t deferred_event_resolved_ms; /* when those that waited for long were judged last */
	struct shown *shown;                /* set before anything is heard, as the next */
	tree_tell tell;
	void *tell_context;
	unsigned strays; /* directories that were moved here and not yet in the sandbox */
	bool has_missed; /* something was told that may be of what is below one of those */
	unsigned moves;  /* renames under way */
	struct moved_dir moved_dirs[TREE_MOVED_DIRS]; /* places.c */
	uint64_t rose;      /* the serial number of the last rename that brought a directory up */
	int64_t climbed_ms; /* when a link's text that climbs was last shown */
	unsigned stops;     /* who makes renames wait */
	/* Buckets, a power of two: by (dev, ino), or by address where no lookup is by these. */
	struct inode **inodes;
	size_t inodes_count /* found by number or not */, inodes_room;
	struct dentry **names; /* by (directory, name) */
	size_t names_count, names_room;
	struct inode *idle_oldest, *idle_newest;
	size_t idle_count, idle_max;
	unsigned holds;        /* while there are any, nothing idle is forgotten */
	bool is_trimming;      /* by a caller further up the stack */
	int64_t root_until_ms; /* so long the root's attributes are believed, though they are in doubt */
	TAILQ_HEAD(, negative) negatives; /* oldest first */
	LIST_HEAD(, negative) negatives_by_name[NEGATIVE_BUCKETS];
	size_t negatives_count;
	uint64_t given, given_before;    /* attributes, to the kernel: tree_kernel_uses_names() */
	struct negative *negative_taken; /* the first one that tree_take_outdated() has not seen */
	/* Buckets of which tree_take_outdated() has taken what is outdated. */
	size_t inodes_taken, names_taken;
	int64_t kernel_until_ms; /* after that the kernel uses nothing but the root's attributes */
	int64_t kernel_keeps_until_ms; /* likewise, when all that is outdated has been taken */
	size_t opens;                  /* handles, of all inodes */
};

/* How long a handler waits for another handler's change of the same inode: one call's progress limit. */
#define TREE_WAIT_MS 30000

/* Every inode of the tree: found by number or not. */
#define FOR_EACH_INODE(t, i)                                                                       \
	for (size_t bucket_ = 0; bucket_ < (t)->inodes_room; bucket_++)                            \
		for (struct inode *i = (t)->inodes[bucket_]; i; i = i->next_in_bucket)

int64_t tree_now_ms(void);
/* Waits on `settled`; false at `end_ms`. */
bool tree_wait_locked(struct tree *t, int64_t end_ms);

/* Which contents are meant: two equal versions of an inode have the same bytes. */
uint64_t version_of(const struct attr *attr);
/* Adds what is to be shown otherwise than the sandbox has it. */
void show_locked(const struct tree *t, const struct inode *i, struct attr *attr);
/* By number, type and time of birth. */
bool is_same_file(const struct attr *a, const struct attr *b);
/* Whether an answer to what was asked at `seen` can speak of `i`: no change of it has begun or ended since. */
bool is_news_locked(const struct tree *t, const struct inode *i, uint64_t seen);
/* Takes the attributes of an answer that is news. Whether the contents changed, and not by our doing. */
bool take_news_locked(struct tree *t, struct inode *i, uint64_t seen, const struct tree_news *news);
/* Adopts an own change's answer, as tree_adopt() says; false: doubts what is known instead. */
bool adopt_locked(struct tree *t, struct inode *i, const struct tree_scope *s,
	const struct attr *attr, int64_t until_ms);
/* Whether the change is the only one of `i` under way. */
bool is_only_change_locked(const struct tree_scope *s, const struct inode *i);
/* What a CHANGE_SETATTR sets, but for the size. */
void set_attr(struct attr *attr, const struct change *what, struct timespec now);
/* Sets the attributes to what an own change made them: the kernel's pages, if they were right, still are. */
void set_own_attr_locked(struct tree *t, struct inode *i, const struct attr *attr);
/* What tree_attr() returns. */
int64_t attr_until_locked(const struct tree *t, const struct inode *i);
/* The attributes that tree_delegate() gave are, or may be, others from now on. */
void take_back_locked(struct tree *t, struct inode *i);
/* One more rename or removal of a name of `i` is under way, or has ended. */
void move_begins_locked(struct tree *t, struct inode *i);
void move_ends_locked(struct tree *t, struct inode *i);

/* A table has room for so many at first. */
#define TREE_ROOM_FIRST 1024

/* What few inodes have, all zero of the others; and to be changed: NULL without memory. */
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
/* Whether an inode that is gone is still remembered by the number in `attr`. */
bool is_number_kept_locked(const struct tree *t, const struct attr *attr);
/* The opposite, by the numbers in its attributes: another one that had them is not found by them any more. */
void inode_hash_locked(struct tree *t, struct inode *i);
/* Puts an unused inode on the idle list, or frees one that has no name; undoes the former when it is used again. */
void inode_rest_locked(struct tree *t, struct inode *i);
/* It has no names, and nobody uses it. */
void inode_free_locked(struct tree *t, struct inode *i);
/* Forgets the inodes that were unused for longest, and with each that its directories are complete, down to tree.idle_max. */
void inodes_trim_locked(struct tree *t);
void inode_wake_locked(struct tree *t, struct inode *i);
/* It may be freed by this. */
void inode_unpin_locked(struct tree *t, struct inode *i);

uint32_t dentry_hash(const struct inode *dir, const char *name);
struct dentry *dentry_find_locked(struct tree *t, const struct inode *dir, const char *name);
/*
 * Whether the tree stays a tree when `i` stands in `dir`, whatever the sandbox answered: the root
 * stands nowhere, and no directory is in itself or in anything below itself.
 */
bool may_be_in_locked(const struct tree *t, const struct inode *i, const struct inode *dir);
/*
 * Gives `i` the name; a dentry of that name in `dir` must not exist. NULL: there is no memory, or
 * the tree would not stay a tree; a directory has one name.
 */
struct dentry *dentry_new_locked(
	struct tree *t, struct inode *dir, const char *name, struct inode *i);
/* Takes the name away; the inode may be freed by it when nobody uses it. */
void dentry_drop_locked(struct tree *t, struct dentry *d);
/* Drops a name that the sandbox does not have any more. The kernel forgets the name. */
void dentry_lost_locked(struct tree *t, struct dentry *d);
/*
 * Drops the names in a directory that has no name itself, and all below. Names under a change of
 * ours stay until the change has ended.
 */
void names_prune_locked(struct tree *t, struct inode *dir);
/* A change of `i` ended. */
void names_prune_after_locked(struct tree *t, struct inode *i);
/* Makes the dentry name `i` instead. */
void dentry_retarget_locked(struct tree *t, struct dentry *d, struct inode *i);

/* Whether the name, or the attributes, are believed; those of an inode that the sandbox does not have so far always are. */
bool is_name_valid_locked(const struct tree *t, const struct dentry *d, int64_t now_ms);
bool is_attr_valid_locked(const struct tree *t, const struct inode *i, int64_t now_ms);
/* As tree_size_is_true() says. */
bool is_size_true_locked(const struct tree *t, const struct inode *i);
/* Whether every entry of `dir` is known and believed. */
bool is_complete_locked(const struct tree *t, const struct inode *dir, int64_t now_ms);

/* Whether what has no dentry in `dir` is known not to be there, or will be when the tree is trusted again. */
bool is_absent_locked(const struct tree *t, const struct inode *dir);

/* ---- kernel.c ---- */

/*
 * The kernel uses something until then, but for the root's attributes, or the tree has it elsewhere
 * now: the next tree_take_outdated() must come to it.
 */
void kernel_uses_until_locked(struct tree *t, int64_t until_ms);
/* The kernel is given attributes of `i` that it may use until then. */
void kernel_has_attr_locked(struct tree *t, struct inode *i, int64_t until_ms);
/* Attributes of `i` are outdated, `pages`: contents too. The kernel is told if it may use them. */
void kernel_forgets_inode_locked(struct tree *t, struct inode *i, bool pages);
/*
 * A name is outdated, `is_gone`: does not exist any more. `d` stands for the name; NULL: none
 * does. The kernel is told if it may use the name.
 */
void kernel_forgets_name_locked(
	struct tree *t, struct inode *dir, const char *name, struct dentry *d, bool is_gone);
/* Any name may be in this directory now. */
void kernel_forgets_absent_locked(struct tree *t, struct inode *dir);
/* Everything is in doubt: tree_take_outdated() begins anew. */
void taking_begins_locked(struct tree *t);
/* The kernel does not look in this directory any more. */
void negatives_drop_locked(struct tree *t, struct inode *dir);

/* ---- validity.c ---- */

/* Until when what has this belief is believed: of what is held, as long as the tree is trusted. */
int64_t valid_until_locked(const struct tree *t, int64_t until_ms);
bool is_valid_locked(const struct tree *t, int64_t until_ms, int64_t now_ms);
/* Held, but the tree is not trusted. */
bool is_invalid_locked(const struct tree *t, int64_t until_ms, int64_t now_ms);
/* How long an answer of `i` to what was asked at serial number `asked` is believed: held if it may be, else as given. */
int64_t plain_belief_locked(
	const struct tree *t, const struct inode *i, uint64_t asked, int64_t until_ms);
/* Notes a time until which something is believed, but for the root's attributes, and returns it. */
int64_t timed_locked(struct tree *t, int64_t until_ms);
/* plain_belief_locked(), noted. */
int64_t belief_locked(struct tree *t, const struct inode *i, uint64_t asked, int64_t until_ms);
/* Whether any change of it would be told at once, or would have been when it was last trusted. */
bool is_maybe_foreign_locked(const struct tree *t, const struct inode *i);
/* Its attributes are not held any more, but believed for as long as any others. */
void stop_holding_locked(struct tree *t, struct inode *i);
/* Others took a name of `i`. Without any name `i` is not valid, and what is below ends. */
void lost_from_sight_locked(struct tree *t, struct inode *i);

/* A directory is on its way down from the root: whether it is one that the change stream tells nothing of. */
void note_unwatched_locked(struct tree *t, struct inode *dir);
void unwatched_release_locked(struct tree *t);
/* Nothing that was told of its entries is believed, or of all that is below it. */
void invalidate_entries_locked(struct inode *dir);
void invalidate_below_locked(struct inode *top);
/* The same, and what tree_tells() set is told. */
void invalidate_and_tell_below_locked(struct tree *t, struct inode *top);

/* ---- provisional.c ---- */

bool path_is_unsynced_locked(const struct tree *t, const struct inode *i);
/* Whether the sandbox had not done by `seen` all that was done here to names of its inode: it does not speak of this one. */
bool is_only_here_locked(const struct dentry *d, uint64_t seen);
/* The sandbox made it, with these attributes. */
void take_identity_locked(struct tree *t, struct inode *i, const struct attr *attr);
/* A number that only this mount knows: it is no other inode's. */
uint64_t number_locked(struct tree *t);

/* ---- ctime.c ---- */

/* The ctime that is shown of `i` where the attributes have this one. */
struct timespec shown_ctime_locked(const struct inode *i, struct timespec ctime);
/* This is shown instead of the attributes' own; and that is over. */
void keep_ctime_locked(struct inode *i, struct timespec shown);
void forget_ctime_locked(struct inode *i);
/*
 * A change of `i` was done, about at `ctime`, and what was told of the inode is not valid: what is
 * shown stays if the next word of the sandbox is of nothing but that change.
 */
void await_ctime_locked(struct tree *t, struct inode *i, struct timespec ctime);
/* That word, before the attributes are taken. */
void awaited_ctime_told_locked(const struct tree *t, struct inode *i, const struct attr *told);
/* What is shown of `i` otherwise than the sandbox has it, which is `real`, is noted for later mounts. */
void note_shown_locked(const struct tree *t, const struct inode *i, const struct attr *real);
/* What was noted of a file that this mount has just learned of. */
void find_shown_locked(struct tree *t, struct inode *i);
/* Whether it is what was foreseen, but for what only the sandbox can say. */
bool is_as_applied(const struct attr *foreseen, const struct attr *now);

/* ---- events.c ---- */

/* What tree_tells() set. */
void tell_locked(const struct tree *t, const struct tree_told *told);
/* The deepest directory on the way to `path` that is known; *rest: what of the path lies beyond. */
struct inode *deepest_locked(struct tree *t, const char *path, const char **rest);
/*
 * Whether what is told of `name` in `dir`, for which `d` stands, can only be judged later: a change of ours is under way,
 * or an answer that knows more than we do.
 */
bool is_early_locked(
	const struct inode *dir, const struct dentry *d, const struct watch_event *event);
/* The echo of what is known already says nothing; else it is taken as news. */
void resolve_locked(
	struct tree *t, struct inode *dir, const char *name, const struct watch_event *event);
void news_locked(struct tree *t, struct inode *dir, const char *name, struct dentry *d,
	const struct watch_event *event);

/* A foreseen change moves `i`, if that is a directory: what is told by its old path is not understood until it is done. */
void stray_begins_locked(struct tree *t, struct inode *i);
/* The last foreseen change of `i` ended: if anything was missed meanwhile, what is below it is in doubt. */
void stray_ends_locked(struct tree *t, struct inode *i);

/* ---- deferred_events.c ---- */

/* Keeps it until it can be judged. */
void put_off_locked(
	struct tree *t, struct inode *dir, const char *name, const struct watch_event *event);
/* Whether something is kept that was told of a name of `i`. */
bool is_put_off_locked(struct tree *t, const struct inode *i);
/* A change of ours of `i` ended: what was told of it, or of names in it, is judged. */
void resolve_late_locked(struct tree *t, struct inode *i);
/* The answer to what was asked at `seen` told of a name; or of all names of `dir`. */
void resolve_learned_locked(struct tree *t, struct inode *dir, const char *name, uint64_t seen);
void resolve_complete_locked(struct tree *t, struct inode *dir, uint64_t seen);
/* Nobody asks for what is in `dir` any more: what was told of it is not to be judged. */
void deferred_event_forget_locked(struct tree *t, const struct inode *dir);
void deferred_event_release_locked(struct tree *t);

/* ---- Paths ---- */

/* The path of `i`, or of `name` in it; to be freed. NULL: it has none, or no memory. */
char *path_build_locked(struct tree *t, struct inode *i, const char *name);
/* As tree_may_be_copied_up(). */
bool may_be_copied_up_locked(const struct inode *i);
/* `i` loses its last name by others: while it is in use it is remembered where that was. */
void remember_place_locked(struct tree *t, struct inode *i);

/*
 * When anything on the way was last moved; *moving: it is being moved. Of a way that changed, the lowest step that did is
 * still on it and newer than the whole way was.
 */
uint64_t path_stamp_locked(const struct tree *t, const struct inode *i, bool *moving);

/* Whether `i` is below `dir`, or is it. */
bool is_above_locked(const struct tree *t, const struct inode *dir, const struct inode *i);

/* What tree_depth_in() says, but for renames that are not settled. */
unsigned depth_in_locked(const struct tree *t, const struct inode *dir);

/* ---- places.c ---- */

/* A rename of ours moved `i`, whose entries were so deep before; UINT_MAX: nobody knows. */
void places_moved_locked(struct tree *t, const struct inode *i, unsigned depth_before);

/* ---- links.c ---- */

/* Whether every name of the link was given to it through this mount. */
bool are_names_ours_locked(const struct inode *link);
/* A name of a link, and its text, were learned: both may have been given through an earlier mount. */
void find_link_locked(struct tree *t, struct inode *link);
/* Of a link whose text was written here: its places are noted for later mounts. */
void note_link_locked(struct tree *t, struct inode *link);
