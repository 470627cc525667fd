/*
 * tree.h - metadata of the sandbox: inodes, their names, and until when each is valid.
 *
 * The pair (dev, ino) and the time of birth tell inodes apart; two names of one file are two
 * dentries of one inode. A directory that others moved becomes a new inode here. Only a rename
 * through the mount moves a directory that the kernel has, so that what is below it stands at least
 * as deep in the kernel as here. An inode that was made here is provisional until the sandbox
 * answers: it has a number of our own, by which nothing is found.
 *
 * The tree makes no provider calls. One lock covers the tree and is held only inside the functions
 * below; any thread may call them.
 *
 * A serial number keeps answers and changes apart. Every local change takes one when it begins and
 * one when it ends.
 *   seen    Read before a question to the sandbox (tree_seen) and handed back with the answer. The
 *           answer is not valid for an inode that changed here since.
 *   stamp   Of a path: the newest number at which a name on the path was renamed or removed here. A
 *           result is asked for again where the stamp of its path has moved (tree_path_held).
 */
#pragma once

#include "providers/verbs.h"

#include <pthread.h>
#include <sys/queue.h>

struct tree;
struct tree_listing;
struct dentry;

/* Fields that few inodes need at a time. */
struct inode_extra {
	/* The inode's shown number, kept while a program may remember it; 0: attr.ino is shown. */
	uint64_t shown_ino;
	struct kept_ctime *kept_ctime;   /* ctime.c: shown instead; NULL: attr.ctime is shown */
	char *staged;                    /* staging path while unlinked but open; else NULL */
	char *was_at;                    /* the path of the last name, which others took; or NULL */
	char *link;                      /* a symbolic link's text; NULL: not known */
	LIST_HEAD(, negative) negatives; /* a directory's negative entries in the kernel */
	int64_t delegated_until_ms;      /* the kernel uses what tree_delegate() gave until then */
	/* The thread that the attributes are delegated to; -1: several; 0: none. */
	pid_t delegated_to;
	unsigned replacing; /* pending changes that make this another inode of the sandbox */
	uint64_t replaced;  /* the serial number of the last such change */
};

/*
 * Hundreds of thousands are known, so an inode is small: flags are bits, fields leave no gaps of
 * alignment, and rare fields are in `extra`.
 */
struct inode {
	uint32_t magic;    /* INODE_MAGIC, checked where the kernel hands a number back */
	bool stable : 1;   /* attributes read at least one clock tick after the last change */
	bool removing : 1; /* an unlink without a staged copy is under way: do not open */
	bool hashed : 1;   /* found by (dev, ino) */
	bool gone : 1;     /* removed through the mount, no name left */
	/* Gone, and remembered by its number: no other inode shows that number. */
	bool keeps_number : 1;
	bool complete : 1;     /* every entry of this directory is a dentry here */
	bool lists_alone : 1;  /* listed without what is below: too large, or unreadable */
	bool link_is_ours : 1; /* the text was written through this mount */
	bool has_pages : 1;
	bool is_idle : 1;
	bool own : 1;         /* the attributes come from a change of ours */
	bool unwatched : 1;   /* the change stream does not report the entries of this directory */
	bool provisional : 1; /* made here, not yet answered by the sandbox */
	bool made_here : 1;   /* made by a change of this mount */
	/* a directory that is moved locally: the sandbox still has the old path */
	bool moved_locally : 1;
	bool maybe_foreign : 1; /* maybe changed by others since tree_base() */
	uint16_t moving;        /* renames and removals of its names under way */
	struct attr attr;       /* as the sandbox has it */
	int64_t attr_until_ms;  /* monotonic; the attributes are valid until then */
	uint64_t changed;       /* the serial number of its last local change */
	/* The serial number of the last rename or removal of one of its names. */
	uint64_t moved;
	unsigned changing;       /* local changes under way */
	unsigned local_effects;  /* changes under way whose local effect the attributes show */
	unsigned unsynced;       /* pending changes of its own names */
	unsigned pins;           /* uses inside the cache */
	unsigned opens;          /* handles */
	uint32_t awaited;        /* the listing under way that will list this directory; 0: none */
	int64_t kernel_until_ms; /* the kernel may use its attributes until then */
	/* A hash of the attributes that the kernel has; 0: none, or one of several answers. */
	uint64_t kernel_attr;
	uint64_t kernel_refs; /* lookups the kernel has not forgotten */
	/* Fields of regular files share space with fields of directories. */
	union {
		uint64_t pages;   /* the version that the kernel's pages were filled from */
		int64_t asked_ms; /* when an entry of the directory was last asked for alone */
	};
	union {
		/*
		 * The next offset of a sequential reader: cache/read/read_ahead.h, under its lock.
		 */
		uint64_t read_next;
		/* The entries' attributes of the directory's last listing are valid until then. */
		int64_t listed_until_ms;
	};
	struct inode_extra *extra; /* NULL, as for nearly all inodes: all zero */
	struct inode_ops *pending; /* pending ops: cache/write/writeback.h, under its lock */
	int64_t complete_until_ms;
	struct dentry *names;    /* dentries of this inode */
	struct dentry *children; /* a directory's dentries */
	struct inode *next_in_bucket;
	/* The idle list, oldest first. `idle_next` also chains directories that were just lost. */
	struct inode *idle_prev, *idle_next;
};

/*
 * An inode takes 288 bytes with malloc's overhead, a dentry 96: half a kilobyte a name, with the
 * tables.
 */
_Static_assert(sizeof(struct inode) <= 280, "200,000 entries no longer fit into 100 MB");

#define INODE_MAGIC 0x1d0de511u

/* `idle_max`: the number of unused inodes kept. `root`: the shown directory's attributes. */
struct tree *tree_new(const struct attr *root, size_t idle_max);
void tree_free(struct tree *t);
struct inode *tree_root(struct tree *t);

/*
 * Records in `shown` what is shown of files that are made or changed here, and shows earlier
 * records again. Call it before the tree learns anything but the root.
 */
struct shown;
void tree_remembers(struct tree *t, struct shown *shown);

/* A pinned inode stays. */
void tree_pin(struct tree *t, struct inode *i);
void tree_unpin(struct tree *t, struct inode *i);
void tree_kernel_get(struct tree *t, struct inode *i);
/* As tree_close(), for files that may be open without a handle. */
char *tree_kernel_forget(struct tree *t, struct inode *i, uint64_t count);

/* ---- Paths ---- */

struct tree_path {
	char *text; /* to be freed */
	uint64_t stamp;
	/*
	 * A change on the path, or a local change of the inode, is pending: the sandbox's answer
	 * would differ from what is shown here. A caller that asks the sandbox waits for these
	 * changes first.
	 */
	bool is_unsynced;
	const struct inode *dir; /* the directory of its last name; only to be compared with */
};

#define AUTO_TREE_PATH __attribute__((cleanup(tree_path_release)))
void tree_path_release(struct tree_path *p);

/*
 * The path of `i`, or of `name` in it when `name` is not NULL. ERR_STALE: `i` has no name any more.
 */
enum err tree_path(
	struct tree *t, struct inode *i, const char *name, struct tree_path *out, struct error *e);

/*
 * The last path of `i`, which is in use and has no name any more; to be freed. NULL: `i` has a
 * name, or was removed by a change of ours, or a search was in vain.
 */
char *tree_was_at(struct tree *t, struct inode *i);
void tree_looked_in_vain(struct tree *t, struct inode *i);

/* Whether no name on the path has been moved since tree_path(). Waits for moves under way. */
bool tree_path_held(struct tree *t, struct inode *i, const struct tree_path *p);

/*
 * The number of directories between the root and an entry of a directory: 0 for entries of the
 * root. For a directory without a name, or below one, the number is the least that is certain.
 */
struct tree_depth {
	unsigned depth;
	unsigned least;     /* while a rename moves the directory: the lesser of both depths */
	int64_t settles_ms; /* the kernel has moved the directory in so many ms; 0: no rename */
};

struct tree_depth tree_depth_in(struct tree *t, const struct inode *dir);
/* Call this before and after making a link's text that climbs more than once. */
void tree_climbs(struct tree *t);
/*
 * The ms that the answer to a rename of this thread has to wait. By then programs that resolve such
 * a text are through, and the kernel may move a directory up.
 */
int64_t tree_move_answer_waits(struct tree *t);
/* A rename of this thread was answered. */
void tree_move_answered(struct tree *t);
/*
 * Whether a rename since `since` (tree_seen()) brought a directory up, and one moved `dir` or a
 * directory above it.
 */
bool tree_has_risen(struct tree *t, const struct inode *dir, uint64_t since);

/* ---- Asking ---- */

/* TREE_INVALID: only the tree's validity is missing for TREE_KNOWN or TREE_ABSENT. */
enum tree_answer { TREE_KNOWN, TREE_ABSENT, TREE_INVALID, TREE_UNKNOWN };

/*
 * TREE_KNOWN: *out is pinned. TREE_ABSENT: *absent_until_ms (may be NULL) is the end of its
 * validity.
 */
enum tree_answer tree_find(struct tree *t, struct inode *dir, const char *name, int64_t now_ms,
	struct inode **out, int64_t *absent_until_ms);

/*
 * The longest time that the kernel keeps an answer, since an answer may cross the notice that
 * invalidates it.
 */
#define TREE_KERNEL_MAX_MS 60000

/*
 * The kernel is given `name`, which stands for `i`, and may use the name until the returned time.
 */
int64_t tree_give_name(struct tree *t, struct inode *dir, const char *name, const struct inode *i);

/*
 * Copies the attributes to be shown. Returns until when they are valid (monotonic ms; 0: invalid).
 */
int64_t tree_attr(struct tree *t, struct inode *i, struct attr *out);

/*
 * Changes the sandbox's attributes of `i` into the ones to be shown: a name in staging does not
 * count.
 */
void tree_show(struct tree *t, struct inode *i, struct attr *attr);

/* The attributes to be shown of a directory and of the one above it. */
void tree_dot_attrs(struct tree *t, struct inode *dir, struct attr *self, struct attr *above);

/* A new serial number: no earlier question has the same. */
uint64_t tree_seen(struct tree *t);
/* All zero while a pending change makes `i` another inode of the sandbox. */
struct expect tree_expect(struct tree *t, struct inode *i);
/* The inode that `i` is until that change. */
struct expect tree_expect_replaced(struct tree *t, struct inode *i);
/* Whether `attr` belongs to this inode. */
bool tree_is(struct tree *t, struct inode *i, const struct attr *attr);

/* ---- Answers of the sandbox ---- */

struct tree_news {
	struct attr attr;
	const char *link;
	int64_t until_ms;      /* the attributes are valid until then */
	int64_t name_until_ms; /* the name is valid until then */
	struct timespec now;   /* the sandbox's clock when it answered; 0: unknown */
	uint64_t begun;        /* an own change's serial number, as in struct tree_scope */
};

/*
 * Learns that `name` in `dir` is this inode. Returns the inode pinned; NULL without memory.
 *
 * An answer is not valid if `dir` changed here since `seen`. The known inode of that name then
 * stays and is returned, if it is valid or newer than `seen`; tree_is_named() finds out. *changed:
 * the contents differ from the known ones, and not by a change of ours.
 */
struct inode *tree_learn_name(struct tree *t, struct inode *dir, const char *name, uint64_t seen,
	const struct tree_news *news, bool *changed);
/*
 * Checks what tree_learn_name() returned. true: a name leads to `i`, and `i` is the answered file
 * or under a change of ours, which is newer than the answer. false: the answer and the tree
 * disagree, and only another question tells which is right.
 */
bool tree_is_named(struct tree *t, struct inode *i, const struct attr *answered);
/* Learns that `name` in `dir` does not exist. Whether the answer is valid. */
bool tree_learn_absent(struct tree *t, struct inode *dir, const char *name, uint64_t seen);
/* ERR_STALE: the answer is about another inode. *changed: as for tree_learn_name(). */
enum err tree_learn_attr(struct tree *t, struct inode *i, uint64_t seen,
	const struct tree_news *news, bool *changed, struct error *e);
/*
 * Notes a negative entry that the kernel is about to get, valid until then. false: the kernel must
 * not keep the entry.
 */
bool tree_give_negative(struct tree *t, struct inode *dir, const char *name, int64_t until_ms);

/* One report to the observer: an inode, a name in a directory, or a change by others. */
struct tree_report {
	struct inode *inode, *dir;
	bool pages;   /* an inode's contents are outdated, too */
	bool revoked; /* an inode's delegated attributes end at once */
	const char *name;
	bool is_gone;                    /* the name does not exist any more */
	const struct watch_event *event; /* not NULL: a change by others */
};

typedef void (*tree_tell)(void *context, const struct tree_report *report);

/*
 * Invalidates everything. Leased answers become valid again with the tree. tree_take_outdated()
 * starts again, for the kernel's part.
 */
void tree_invalidate_all(struct tree *t);
/*
 * Invalidates everything but the root's own attributes. `root` is an answer to a question of
 * `seen`, read after the events that cause this call, and is valid until `root->until_ms`. The root
 * is invalidated, too, where an event or a local change came after `seen`.
 */
void tree_invalidate_all_but_root(struct tree *t, uint64_t seen, const struct tree_news *root);

/* An inode whose attributes the kernel has to forget, or a directory with one such name. */
struct tree_outdated {
	struct inode *inode; /* not pinned: only its address */
	char *name;          /* to be freed; NULL: the attributes */
	bool pages;          /* the contents, too */
};

/*
 * Takes attributes and names that are invalid and that the kernel may still use, each once. The
 * kernel keeps an entry that is leased again after an audit, if it has the same attributes. The
 * root's own attributes are left out; pages are those of open files. false: no more are left.
 */
bool tree_take_outdated(struct tree *t, struct tree_outdated *out, size_t room, size_t *count);
/*
 * Whether the kernel may use `count` names or more, and was given anything but the root's
 * attributes since the last true. Otherwise no program seems to need them.
 */
bool tree_kernel_uses_names(struct tree *t, size_t count);
/* Whether the kernel may use `count` names or more. */
bool tree_kernel_has_names(struct tree *t, size_t count);
/* Whether `dir` has no such name, as far as is known. `dir` may be freed by now. */
bool tree_is_nameless(struct tree *t, const struct inode *dir, const char *name);
/*
 * Invalidates everything for good: no audit makes it valid again. The kernel's part is not touched.
 */
void tree_forget(struct tree *t);

/*
 * The path by which `i` was asked for leads nowhere, or to another file: the name is dropped.
 * Whether `i` may have another name.
 */
bool tree_name_failed(struct tree *t, struct inode *i, const struct tree_path *path);
/* The kernel's pages of `i` differ from the sandbox's contents. */
void tree_drop_pages(struct tree *t, struct inode *i);
/* The directory differs from the known state: the next question goes to the sandbox. */
void tree_invalidate(struct tree *t, struct inode *i);
/* The inode of that name, valid or not, pinned; NULL: none is known. */
struct inode *tree_peek(struct tree *t, struct inode *dir, const char *name);

/* ---- Our own changes ---- */

#define TREE_SCOPE_MAX 4

/* The inodes that one change touches. One inode may stand twice; NULL entries are skipped. */
struct tree_scope {
	struct inode *inodes[TREE_SCOPE_MAX];
	uint64_t begun;        /* the change's serial number */
	bool has_local_effect; /* tree_apply_local() shows its local effect while it is under way */
};

void tree_change_begins(struct tree *t, struct tree_scope *s);
/*
 * Adds `i`, which the change may have made, to a change that has begun: the scope must have a free
 * entry.
 */
void tree_change_touches(struct tree *t, struct tree_scope *s, struct inode *i);
void tree_change_ends(struct tree *t, struct tree_scope *s);
/* An event waits at most this long in a directory where local changes never pause. */
#define TREE_DEFERRED_MS 1000
/*
 * Applies overdue deferred events. Needed while a change is deferred, since no end of a change does
 * it then.
 */
void tree_resolve_overdue(struct tree *t);
/*
 * Adopts the attributes that an own change answered with. They are valid only when no other change
 * of `i` ran at the same time.
 */
void tree_adopt(struct tree *t, const struct tree_scope *s, struct inode *i,
	const struct attr *attr, int64_t until_ms);

/*
 * The local effect of one change on an inode, a file or a directory. A file ends at `end` or later.
 * The inode gets `links` more links (for a directory: entries that are directories). `set` names
 * further changes (a CHANGE_SETATTR, or NULL; UTIME_NOW is `now`). The ctime becomes `now`, and the
 * mtime, too, unless `keeps_mtime`.
 */
struct tree_local_effect {
	uint64_t begin, end; /* the bytes that are written; end 0: none */
	int links; /* -1, 0 or 1; 0 for an unlink into staging, where the file keeps the link */
	bool keeps_mtime;
	const struct change *set;
	struct timespec now; /* the sandbox's clock */
	/*
	 * The kernel asked for this write, so it forgets the file's delegated attributes by itself,
	 * whichever thread has them.
	 */
	bool is_forgotten;
	/*
	 * The thread that makes an entry in the directory: the kernel forgets attributes that were
	 * delegated to this thread alone. 0: unknown.
	 */
	pid_t asker;
};

/*
 * The time of a change of `i` that begins at `now` by the sandbox's clock: later than the shown
 * ctime. tree_apply_local() shows this time when given it as `now`.
 */
struct timespec tree_time_of_change(struct tree *t, struct inode *i, struct timespec now);
/* Shows the local effect. `i` must be under a local change. */
void tree_apply_local(struct tree *t, struct inode *i, const struct tree_local_effect *f);
/*
 * Whether only local changes are under way and their base is valid: *out are the attributes to be
 * shown for now. Times and blocks change once the sandbox has applied the changes.
 */
bool tree_local_attr(struct tree *t, struct inode *i, struct attr *out);

/* How the kernel is given attributes. */
struct tree_delegation {
	bool ahead; /* local effects, too */
	/* The thread that asks: it gets the answer before it asks anything else; 0: unknown. */
	pid_t asker;
	/* The longest time that the kernel keeps the attributes; 0: no such limit. */
	int64_t most_ms;
};

/*
 * As tree_attr(), for the kernel, which may keep the attributes until then.
 *
 * A change of ours revokes them first, if they are a directory's or a local effect: the function
 * set by tree_tells() is called under the lock. So no program learns of the change, or of its
 * application, while the kernel still shows the state before, and the receiver drops an answer
 * that the change overtakes. Changes by others are reported as for any inode.
 */
int64_t tree_delegate(
	struct tree *t, struct inode *i, const struct tree_delegation *how, struct attr *out);
/*
 * Whether names in `dir` can be changed locally. Every entry is leased, and so is the path; the
 * tree was last validated under a live stream; and only local changes of `dir` are under way.
 */
bool tree_may_decide(struct tree *t, struct inode *dir, int64_t now_ms);
/* Whether a local change of names lacks nothing but the entries of `dir`. */
bool tree_may_decide_once_listed(struct tree *t, struct inode *dir, int64_t now_ms);
/*
 * The sandbox answered a local change of `i` with `attr`. Answers of one inode come in the order in
 * which the changes began, each before tree_change_ends(). While further local changes are under
 * way, the shown attributes and their validity stay; the last answer is adopted, as by
 * tree_adopt(). A provisional inode becomes the sandbox's. For an answer without attributes use
 * tree_invalidate().
 */
void tree_confirm(struct tree *t, const struct tree_scope *s, struct inode *i,
	const struct attr *attr, int64_t until_ms);
/*
 * As tree_confirm(), for an answer without attributes of `i`, which may have other names. The
 * change was done at about `ctime`.
 */
void tree_confirm_unknown(struct tree *t, struct inode *i, struct timespec ctime);
/*
 * The ctime to be shown of `i`, of which *attr is a copy. A local change keeps the ctime that was
 * shown, also after the answer, until the sandbox reports another change.
 */
struct timespec tree_shown_ctime(struct tree *t, struct inode *i, const struct attr *attr);
/* Whether an answer to a question of `seen`, with these attributes, may still be current. */
bool tree_still(struct tree *t, struct inode *i, uint64_t seen, const struct attr *attr);

/* ---- Provisional inodes ---- */

/*
 * Numbers of provisional inodes follow this one. No file system counts so far. The highest bits
 * alone would clash with overlayfs, which uses them to tell its layers apart (xino).
 */
#define TREE_PROVISIONAL ((uint64_t)0x5a << 56)

/*
 * A local change makes `name`, which is absent in `dir`: an inode with the mode, owner, size and
 * times of news->attr; this function fills in the rest. Returned pinned; NULL without memory.
 *
 * The inode is valid until the sandbox answers, through any invalidation, since no other side knows
 * it. Its tree_expect() is all zero. A directory is complete and empty. The shown number stays for
 * good.
 */
struct inode *tree_apply_local_made(
	struct tree *t, struct inode *dir, const char *name, const struct tree_news *news);
bool tree_is_provisional(struct tree *t, const struct inode *i);
/*
 * The directory `i` was made here and was there already, and the existing one was adopted. Its
 * entries must be asked for, since others may have put some into it.
 */
void tree_taken(struct tree *t, struct inode *i);
/*
 * The sandbox moved `i` from staging to its path, where it is an inode with these attributes,
 * whichever inode it was before.
 */
void tree_rebind(struct tree *t, struct inode *i, const struct attr *attr);
/*
 * A change copied `i` up from a lower layer, where it had several names. The file is now another
 * inode, with these attributes, at the names that the change found or left at the paths (`path2`
 * may be NULL). The other names are asked for again, unless pending changes concern other names
 * than the `ended` ones.
 */
void tree_copied_up(struct tree *t, struct inode *i, const char *path, const char *path2,
	unsigned ended, const struct attr *attr);
/*
 * Whether the sandbox can rename `i` into `to`, which must not be below it. A layered file system,
 * which has no time of birth, refuses this (EXDEV) for a directory of a lower layer, and only the
 * sandbox knows which directories these are.
 */
bool tree_is_movable(struct tree *t, struct inode *i, const struct inode *to);
/*
 * Whether a change of `i` may make it another inode, as tree_copied_up() says. The name used for
 * the change matters then. The last name found while the inode was unused is taken, so the kernel
 * looks the names up each time.
 */
bool tree_may_be_copied_up(struct tree *t, struct inode *i);
/*
 * The sandbox refused to make `i`. The inode loses its names, and every use of it is ERR_STALE. The
 * directories are invalidated, and the function set by tree_tells() is called.
 */
void tree_refused_made(struct tree *t, struct inode *i);

/*
 * Shows a number of our own from now on, as for a file made here: the sandbox gives the present
 * number to another file.
 */
void tree_number(struct tree *t, struct inode *i);
/*
 * Counts `delta` more changes, deferred or under way, that make `i` another inode of the sandbox.
 * Until then that inode has none of the contents, and the shown attributes are valid.
 */
void tree_replacing(struct tree *t, struct inode *i, int delta);

/*
 * Counts `delta` more pending changes of the names of `i` itself (made, renamed, linked, staged).
 */
void tree_mark_unsynced(struct tree *t, struct inode *i, int delta);
/*
 * Whether such changes are pending for `i` or a directory on its path: the sandbox finds nothing by
 * the path, or another file.
 */
bool tree_path_is_unsynced(struct tree *t, const struct inode *i);
/* The lowest such inode on the path, pinned; NULL: none. */
struct inode *tree_unsynced_on_path(struct tree *t, struct inode *i);
/* As tree_unsynced_on_path(), for every name of `i`. */
struct inode *tree_unsynced_on_paths(struct tree *t, struct inode *i);

/* ---- Moving ---- */

/* A rename of a name of `one`, and of `two` where names are exchanged; each may be NULL. */
void tree_move_begins(struct tree *t, struct inode *one, struct inode *two);
void tree_move_ends(struct tree *t, struct inode *one, struct inode *two);
/*
 * Waits for the moves under way and makes others wait, so that a caller whose paths keep moving
 * comes to an end. A thread that has begun a move must not call this.
 */
void tree_stop_moves(struct tree *t);
void tree_let_moves(struct tree *t);

/* An own change made `name`. Returns the inode pinned. */
struct inode *tree_made(
	struct tree *t, struct inode *dir, const char *name, const struct tree_news *news);
/*
 * An own link(2) gave `i` this name, valid until then and no longer than the attributes. An inode
 * that had the name loses it.
 */
void tree_named(
	struct tree *t, struct inode *dir, const char *name, struct inode *i, int64_t until_ms);
/* A name in a directory. */
struct tree_name {
	struct inode *dir;
	const char *name;
};

/* An own rename moved the name of `i` from `from` to `to`: as tree_named(), in one step. */
void tree_renamed(struct tree *t, const struct tree_name *from, const struct tree_name *to,
	struct inode *i, int64_t until_ms);
/* An own unlink, rmdir or rename took the name. */
void tree_unnamed(struct tree *t, struct inode *dir, const char *name);
/* An own RENAME_EXCHANGE. */
void tree_exchanged(
	struct tree *t, struct inode *dir, const char *name, struct inode *dir2, const char *name2);

/*
 * An inode that was removed through the mount lives on in memory alone, as a removed directory that
 * is still open. false: `i` is no such inode. Times given as UTIME_NOW become `now`.
 */
bool tree_is_gone(struct tree *t, struct inode *i);
bool tree_set_gone(struct tree *t, struct inode *i, const struct change *what, struct timespec now);

/* ---- Handles ---- */

/*
 * Makes an inode that has only a staging name, `staged`, which it takes; returned pinned. The file
 * has no links.
 */
struct inode *tree_made_nameless(struct tree *t, const struct tree_news *news, char *staged);

/* Waits for a removal under way. ERR_STALE: the inode is gone. */
enum err tree_open(struct tree *t, struct inode *i, struct error *e);
/*
 * As tree_open(), for an inode just found by a lookup: others may have taken its last name since.
 */
enum err tree_open_found(struct tree *t, struct inode *i);
/* Not NULL: the staged file had its last use. The caller removes this staging path and frees it. */
char *tree_close(struct tree *t, struct inode *i);
/* Whether `i` has a name or handles: otherwise no program can read it any more. */
bool tree_may_be_read(struct tree *t, const struct inode *i);
/* Whether there are handles. */
bool tree_is_open(struct tree *t, const struct inode *i);
/*
 * Call before an unlink or a replacing rename of a name of `i`. true: the inode must be kept in
 * staging, since it may be open and no other name is known. Unless another name remains, no handle
 * can be opened until tree_removal_ends(), since the last handle may be closed meanwhile. Questions
 * about the inode meanwhile find that its path moves.
 */
bool tree_removal_begins(struct tree *t, struct inode *i);
void tree_removal_ends(struct tree *t, struct inode *i);
/* The inode lives on in staging. Takes `staged`. */
void tree_staged(struct tree *t, struct inode *i, char *staged);
/*
 * For the end of the mount: the staging path of any inode that has one, to be removed and freed;
 * NULL: none is left.
 */
char *tree_take_staged(struct tree *t);

/* Whether the kernel's pages are of the present version; from now on they are. */
bool tree_pages_current(struct tree *t, struct inode *i);
/*
 * Whether the attributes are younger than a clock tick of the sandbox: equal attributes need not
 * mean equal contents.
 */
bool tree_is_unstable(struct tree *t, struct inode *i);
/*
 * Whether attributes read when the sandbox's clock showed at least `now` are stable: no later
 * contents have the same attributes.
 */
bool tree_stable_at(const struct attr *attr, struct timespec now);
/*
 * Whether attributes are stable whenever they were read. A write sets both times to one clock, so
 * a file with two different times has other attributes after its next write.
 */
bool tree_stable_by_times(const struct attr *attr);
/*
 * Whether the size says where the contents end. File systems that make contents on reading do not
 * say so: /proc (size 0) and /sys (a page). Their files and directories have no blocks, and their
 * directories have no size.
 */
bool tree_size_is_true(struct tree *t, const struct inode *i);
/*
 * Copies the attributes to *out. Whether they identify the contents: valid at `now_ms`, stable,
 * and no change under way.
 */
bool tree_version(struct tree *t, struct inode *i, int64_t now_ms, struct attr *out);

/*
 * The version that local changes of `i` are made on: as tree_version(), but the tree itself need
 * not be valid. Call it before the first local change begins; changes that begin while others are
 * under way share that base.
 */
bool tree_base(struct tree *t, struct inode *i, struct attr *out);
/*
 * Whether `i` is still based on that version, as far as is known. Since tree_base() only local
 * changes were under way, no event of the file was left undecided because of them, and the shown
 * attributes are valid.
 */
bool tree_base_holds(struct tree *t, struct inode *i);

/* ---- Symbolic links ---- */

/* Copies the text; false: not known. *is_ours: the text was written through this mount. */
bool tree_link_text(struct tree *t, struct inode *i, char *out, size_t room, bool *is_ours);
/* The link was made through this mount, under the only name that it has. */
void tree_link_is_ours(struct tree *t, struct inode *i);
/*
 * Whether the link `i` was given `name` in `dir` through this mount or an earlier one: made, linked
 * or renamed here. A name that the sandbox gave does not count, and neither does a name that is
 * given here to a link that has such a name.
 */
bool tree_link_name_is_ours(
	struct tree *t, struct inode *dir, const char *name, const struct inode *i);
/*
 * `top` was made, linked or renamed. Records the paths of links whose texts were written here,
 * `top` itself and below, for later mounts. tree_confirm() records links that the sandbox does not
 * have yet.
 */
void tree_note_links(struct tree *t, struct inode *top);
/*
 * Calls `tell` without the lock, for every symbolic link that is `top` or below it and that the
 * kernel may know.
 */
void tree_each_link(struct tree *t, struct inode *top,
	void (*tell)(void *context, struct inode *link), void *context);

/* ---- Validity ---- */

/*
 * The end of validity of a leased answer: as long as the tree as a whole is valid. When the tree
 * loses validity an audit restores it: one listing of what changed in all directories since the
 * loss, after which leased answers are right again. So an answer is leased only if an audit would
 * report its changes (the root's file system, no staging) and the question came late enough.
 */
#define TREE_HELD INT64_MAX

/* Answers are leased from now on. An answer that cannot be leased is valid for `timed_ms`. */
void tree_holds(struct tree *t, int64_t timed_ms, int64_t validated_until_ms);
/*
 * Makes the tree valid until then; TREE_HELD: without end. false, and no change: the tree was
 * invalidated after `audit` (may be NULL) was asked.
 */
bool tree_validate(struct tree *t, int64_t until_ms, const struct tree_listing *audit);
/*
 * Makes the tree valid until then, offline. Leased answers are valid. Names are changed locally if
 * they were when the tree was last valid, since the sandbox refuses changes that do not fit any
 * more.
 */
void tree_validate_offline(struct tree *t, int64_t until_ms);
/*
 * Whether the tree was last validated offline: local changes may be made on a state long out of
 * date.
 */
bool tree_is_offline(struct tree *t);
/*
 * Whether names were changed locally when the tree was last valid, and the tree is not valid any
 * more.
 */
bool tree_wants_validity(struct tree *t, int64_t now_ms);
/* Makes the tree valid for longer, unless it was invalidated. */
void tree_validate_longer(struct tree *t, int64_t until_ms);
bool tree_is_valid(struct tree *t, int64_t now_ms);
/* Whether nothing but the root itself is known. */
bool tree_is_bare(struct tree *t);
/* Whether only the tree's validity is missing for the attributes. */
bool tree_attr_is_invalid(struct tree *t, const struct inode *i, int64_t now_ms);
/* Whether the attributes come from the sandbox, however long ago, and no later change is known. */
bool tree_attr_is_from_sandbox(struct tree *t, const struct inode *i);
bool tree_entries_are_invalid(struct tree *t, const struct inode *dir, int64_t now_ms);

/* ---- The change stream ---- */

/*
 * A stream of changes begins. While it lives validity has no end, and answers are leased if they
 * were asked for after the stream had begun, or came with the stream in the listing `first`. Until
 * the stream is ready only `first` is leased.
 */
void tree_stream_begins(struct tree *t, const struct tree_listing *first);
void tree_stream_ready(struct tree *t);
/* The listing does not come with the stream: its asker left, or asks for the listing alone. */
void tree_stream_leaves(struct tree *t);
/* The caller invalidates the tree itself. */
void tree_stream_ends(struct tree *t);

/*
 * Sets the function that reports what tree_apply_event() finds new, with the lock held. Call it
 * before any event.
 */
void tree_tells(struct tree *t, tree_tell tell, void *context);
/*
 * Applies an event. The echo of a change of ours is dropped. A known inode takes the new
 * attributes. Anything else is invalidated, and answers under way are not valid for it. Nothing
 * else is learned.
 */
void tree_apply_event(struct tree *t, const struct watch_event *event);
/* The stream reports nothing below this directory: answers about it are not leased. */
void tree_apply_unwatched(struct tree *t, const char *path);
/* The directory is watched again, or gone: answers to later questions are leased. */
void tree_apply_watched(struct tree *t, const char *path);
/* The number of unwatched directories. */
size_t tree_unwatched(struct tree *t);

/* ---- Listings ---- */

/*
 * Between these two calls no inode is forgotten for lack of room: a directory may have more entries
 * than unused inodes are kept.
 */
void tree_hold(struct tree *t);
void tree_release(struct tree *t);

/* One listing of one directory or of many, under way or over. */
struct tree_listing {
	uint32_t number; /* later ones have greater numbers */
	uint64_t seen;
	struct timespec now; /* a lower limit of the sandbox's clock at the question */
	/* The validity of what the listing teaches, as in struct tree_news. */
	int64_t until_ms, name_until_ms;
	struct timespec audits_from; /* an audit: the next one asks from then on */
	LIST_ENTRY(tree_listing) link;
};

/* Call before asking: fills `number` and `seen`. The listing stays at its address until it ends. */
void tree_listing_begins(struct tree *t, struct tree_listing *l);
void tree_listing_ends(struct tree *t, struct tree_listing *l);
/*
 * This listing asks only for changes. Fills `audits_from`: no answer from before that time is
 * leased from now on.
 */
void tree_audit_begins(struct tree *t, struct tree_listing *l);
/*
 * Every entry of `dir` was listed. The directory is complete, and names that nothing has taught
 * since the listing began are dropped. false, and nothing done: `dir` changed here meanwhile.
 */
bool tree_learn_complete(struct tree *t, struct inode *dir, const struct tree_listing *l);
/*
 * An audit of changes since `since_ns` came to `dir` and did not list all entries. Entries stay
 * valid if `dir` changed neither there nor here; otherwise the ones not listed are invalidated.
 */
void tree_audited_in_part(
	struct tree *t, struct inode *dir, const struct tree_listing *l, int64_t since_ns);
/* Invalidates the entries of `dir`: the answer had none of them. */
void tree_invalidate_entries(struct tree *t, struct inode *dir);
/* Invalidates all that is below `dir`. */
void tree_invalidate_below(struct tree *t, struct inode *dir);
/*
 * Attributes and names of `dir` and its entries that are valid at least until `from` are valid
 * until `until` if that is later. Nothing changes where all was invalidated since the `seen` of
 * `from`.
 */
void tree_extend_validity(struct tree *t, struct inode *dir, const struct tree_listing *from,
	const struct tree_listing *until);

/*
 * Listing `number`, which is under way, will come to `dir`; and has come to it or ended. The latter
 * does nothing where another listing will come to `dir` by now.
 */
void tree_await(struct tree *t, struct inode *dir, uint32_t number);
void tree_await_ends(struct tree *t, struct inode *dir, uint32_t number);
/* The number of the listing that will come to `dir`; 0: none. */
uint32_t tree_awaited(struct tree *t, const struct inode *dir);

/* Whether `dir` is complete, and it and its listed attributes of entries are still valid. */
bool tree_is_listed(struct tree *t, const struct inode *dir, int64_t now_ms);
/* Whether `dir` was complete when last listed; for the second, `dir` or the directory above it. */
bool tree_was_complete(struct tree *t, const struct inode *dir);
bool tree_was_listed(struct tree *t, const struct inode *dir);
/*
 * One entry of `dir` is about to be asked for alone. Returns the ms since the last such question.
 */
int64_t tree_asked_alone(struct tree *t, struct inode *dir, int64_t now_ms);
bool tree_lists_alone(struct tree *t, const struct inode *dir);
void tree_set_lists_alone(struct tree *t, struct inode *dir, bool alone);

/* The directory above `i`, pinned; the root for the root itself; NULL: none. */
struct inode *tree_parent(struct tree *t, struct inode *i);

/* A directory to be listed. */
struct tree_start {
	struct inode *dir; /* pinned */
	char *path;
	uint64_t stamp; /* the path's stamp: tree_start_holds() */
};

/*
 * The highest directories that are known and neither listed nor awaited: breadth first, at most
 * `room`, with paths of at most `bytes` together. `except`, directories above it and directories
 * below it are left out. Returns the count.
 */
size_t tree_unlisted(struct tree *t, const struct inode *except, int64_t now_ms,
	struct tree_start *out, size_t room, size_t bytes);
void tree_start_release(struct tree *t, struct tree_start *s);
/* Whether no name on the path was moved here since. */
bool tree_start_holds(struct tree *t, const struct tree_start *s);
/*
 * Every directory of the root's file system with known entries, the root first, as an array to be
 * freed; NULL: no memory. Directories that the sandbox would not find by their paths
 * (tree_path_is_unsynced) are left out, and their entries invalidated.
 */
struct tree_start *tree_known_dirs(struct tree *t, size_t *count);

struct tree_entry {
	char *name;
	struct inode *inode; /* pinned */
};

/*
 * All entries of a complete directory, in a fixed order; false: not complete at `now_ms`, or no
 * memory. `anyway`: the known entries, complete or not.
 */
bool tree_entries(struct tree *t, struct inode *dir, int64_t now_ms, bool anyway,
	struct tree_entry **out, size_t *count);
void tree_entries_free(struct tree *t, struct tree_entry *entries, size_t count);

void tree_counts(struct tree *t, uint64_t *inodes, uint64_t *names);

/* ---- Small files ---- */

/* A file to be fetched. */
struct tree_file {
	struct inode *inode; /* pinned */
	char *path;
	/* The part to be fetched: all, or one end. */
	uint64_t offset, size;
	bool has_end;
	struct expect target;
};

/* How far from a file others are looked for. */
enum tree_reach {
	TREE_ALONE, /* files next to it with the same name but for the extension */
	TREE_NEAR,  /* then its directory, then what is below that */
	TREE_FAR,   /* then what follows in the order of a walk through the whole tree */
};

/*
 * The largest file that is fetched whole: 40 ms on 100 Mbit/s, as long as a question for the next
 * part takes over a usual distance.
 */
#define TREE_WHOLE_MAX ((uint64_t)512 * 1024)

/* The limit for this file: larger where files are always read to their end. */
uint64_t tree_whole_max(struct tree *t, const struct inode *i);

/*
 * Whether `i` is in a repository's .git itself, next to the index: git reads there before it looks
 * at the tracked files.
 */
bool tree_is_gits(struct tree *t, const struct inode *i);

struct tree_file_query {
	enum tree_reach reach;
	size_t files_max;
	uint64_t bytes_max; /* the sum of all files, except the first */
	/*
	 * For TREE_FAR: where the walk was before. A file that is not below a common directory of
	 * both comes only within `beyond_max` bytes.
	 */
	const struct inode *before; /* pinned; NULL: unknown */
	uint64_t beyond_max;
	/*
	 * Whether a file is still wanted; called once for each. Runs under the tree's lock: it may
	 * neither call the tree nor block.
	 */
	bool (*wants)(void *context, const struct inode *i);
	void *context;
};

/*
 * Gathers `first` and the regular files around it whose names and attributes are valid, in the
 * order in which a walk through the tree reads them. Files larger than tree_whole_max() are left
 * out, except both ends of those next to the first, and of a repository's newest pack. Directories
 * that are seldom read whole (files.c) are not entered from outside, and not left from inside.
 * Returns the count; `out` has room for files_max, which is at least 1. 0: `first` has no path.
 */
size_t tree_gather_files(struct tree *t, struct inode *first, int64_t now_ms,
	const struct tree_file_query *g, struct tree_file *out);
void tree_file_release(struct tree *t, struct tree_file *f);

/* The directory above `i`, only to be compared with; NULL: none. */
const struct inode *tree_place(struct tree *t, const struct inode *i);
