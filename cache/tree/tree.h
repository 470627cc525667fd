/*
 * tree.h - the metadata we know: inodes, their names, and how long each may be believed.
 *
 * An inode is what (dev, ino) and the time of birth tell apart; two names of one file are two
 * dentries of one inode. A directory that the sandbox moved becomes a new inode here: only a rename
 * through the mount moves one that the kernel has, so that what is below it stands at least as deep
 * in the kernel as here. What was made here and the sandbox has not heard of is provisional: it has
 * a number of our own, by which nothing is found. The tree makes no provider calls. One lock covers
 * it all and is held only inside the functions below; they may be called from any thread.
 *
 * A serial number that every local change takes when it begins and when it ends keeps answers and changes apart:
 *   seen    Whoever asks the sandbox reads it before (tree_seen) and hands it back with the answer. What it says of an
 *           inode that changed here since is not believed.
 *   stamp   of a path: the newest number at which anything on the way was renamed or removed here. A result that was got
 *           through a path whose stamp moved is asked for again (tree_path_held).
 */
#pragma once

#include "providers/verbs.h"

#include <pthread.h>
#include <sys/queue.h>

struct tree;
struct tree_listing;
struct dentry;

/* What few inodes have at a time. */
struct inode_extra {
	/* A number of its own, while somebody may remember it; 0: attr.ino is shown. */
	uint64_t shown_ino;
	struct kept_ctime *kept_ctime;   /* shown instead: ctime.c; NULL: attr.ctime is */
	char *staged;                    /* staging path while unlinked but open; else NULL */
	char *was_at;                    /* where it lost its last name by others; or NULL */
	char *link;                      /* a symbolic link's text; NULL: not known */
	LIST_HEAD(, negative) negatives; /* a directory's negative entries in the kernel */
	int64_t delegated_until_ms;      /* the end of the use of what tree_delegate() gave */
	pid_t delegated_to; /* the thread that uses the kernel's; -1: several; 0: none */
	unsigned replacing; /* changes to come that make it another inode of the sandbox */
	uint64_t replaced;  /* the serial number of the last one that did */
};

/*
 * Small, because hundreds of thousands are known: flags are bits, nothing stands between
 * alignments, and what few have is apart.
 */
struct inode {
	uint32_t magic;   /* INODE_MAGIC: checked where the kernel hands a number back */
	bool settled : 1; /* the attributes were read at least one clock tick after the last change */
	bool removing : 1;     /* an unlink without a staged copy is under way: do not open */
	bool hashed : 1;       /* found by (dev, ino) */
	bool gone : 1;         /* removed through the mount, no name left */
	bool keeps_number : 1; /* gone, and remembered by its number: no other inode shows that */
	bool complete : 1;     /* every entry of this directory is a dentry here */
	bool lists_alone : 1; /* too large for a listing of what is below it, too, or not to be read */
	bool link_is_ours : 1; /* the text was written through this mount */
	bool has_pages : 1;
	bool is_idle : 1;
	bool own : 1;         /* the attributes are what a change of ours made them */
	bool unwatched : 1;   /* the change stream tells nothing of what is in this directory */
	bool provisional : 1; /* made here, and the sandbox has not answered yet */
	bool made_here : 1;   /* by a change of this mount */
	bool strays : 1; /* a directory that was moved here, and the sandbox has it where it was */
	bool maybe_foreign : 1;  /* since tree_base(): it may be that others changed it */
	uint16_t moving;         /* renames and removals of its names under way */
	struct attr attr;        /* as the sandbox has it */
	int64_t attr_until_ms;   /* monotonic; believed until then */
	uint64_t changed;        /* the serial number of its last local change */
	uint64_t moved;          /* likewise: of a rename or a removal of one of its names */
	unsigned changing;       /* local changes under way */
	unsigned foreseen;       /* those of them whose effect the attributes show already */
	unsigned owed;           /* changes of its own names that were not sent yet */
	unsigned pins;           /* uses inside the cache */
	unsigned opens;          /* handles */
	uint32_t awaited;        /* the listing under way that will tell its entries; 0: none */
	int64_t kernel_until_ms; /* the kernel may use attributes that it was given until then */
	uint64_t
		kernel_attr; /* a hash of what the kernel was given; 0: one of several, or nothing */
	uint64_t kernel_refs; /* lookups the kernel has not forgotten */
	/* What only regular files have stands where only directories have something. */
	union {
		uint64_t pages;   /* which version the kernel's pages were filled from */
		int64_t asked_ms; /* when an entry of the directory was last asked for alone */
	};
	union {
		/* Where a sequential reader goes on: cache/read/read_ahead.h, under its lock. */
		uint64_t read_next;
		/* What the directory's last listing said of the entries' attributes is believed until then. */
		int64_t listed_until_ms;
	};
	struct inode_extra *extra; /* NULL: nothing of it, as of nearly all */
	struct inode_ops
		*backlog; /* writes not sent yet: cache/write/writeback.h, under its lock */
	int64_t complete_until_ms;
	struct dentry *names;    /* its dentries */
	struct dentry *children; /* of a directory */
	struct inode *next_in_bucket;
	/* Not used by anyone: oldest first. `idle_next` also chains directories that were just lost. */
	struct inode *idle_prev, *idle_next;
};

/* 288 bytes with what malloc adds, and a dentry has 96: half a kilobyte a name, with the tables. */
_Static_assert(sizeof(struct inode) <= 280, "200,000 entries no longer fit into 100 MB");

#define INODE_MAGIC 0x1d0de511u

/* `idle_max`: inodes kept though nobody uses them. `root`: the shown directory's attributes. */
struct tree *tree_new(const struct attr *root, size_t idle_max);
void tree_free(struct tree *t);
struct inode *tree_root(struct tree *t);

/*
 * What is shown of files that are made or changed here is noted in `shown`, and what was noted is
 * shown again. To be called before anything is learned but the root.
 */
struct shown;
void tree_remembers(struct tree *t, struct shown *shown);

/* Pins: while one is held the inode stays. */
void tree_pin(struct tree *t, struct inode *i);
void tree_unpin(struct tree *t, struct inode *i);
void tree_kernel_get(struct tree *t, struct inode *i);
/* As tree_close() says, for what may be open without a handle. */
char *tree_kernel_forget(struct tree *t, struct inode *i, uint64_t count);

/* ---- Paths ---- */

struct tree_path {
	char *text; /* to be freed */
	uint64_t stamp;
	/*
	 * The sandbox has not heard of what leads there, or of foreseen changes of the inode: what it would answer now is
	 * not what is shown here. Whoever asks waits until it has.
	 */
	bool is_unsynced;
	const struct inode *dir; /* where its last name stands; only to be compared with */
};

#define AUTO_TREE_PATH __attribute__((cleanup(tree_path_release)))
void tree_path_release(struct tree_path *p);

/* The path of `i`, or of `name` in it when `name` is not NULL. ERR_STALE: it has no name (any more). */
enum err tree_path(
	struct tree *t, struct inode *i, const char *name, struct tree_path *out, struct error *e);

/*
 * Where `i`, which is in use and has no name any more, stood last; to be freed. NULL: it has a
 * name, or went by a change of ours, or was looked for in vain.
 */
char *tree_was_at(struct tree *t, struct inode *i);
void tree_looked_in_vain(struct tree *t, struct inode *i);

/* Whether the path still leads where it led, nothing on it having been moved since; waits for moves under way. */
bool tree_path_held(struct tree *t, struct inode *i, const struct tree_path *p);

/*
 * How many directories lie between the root and an entry of a directory: 0 where that is the root.
 * Of a directory that has lost its name, or below one, fewer: as many as are sure to be there,
 * wherever it was.
 */
struct tree_depth {
	unsigned depth;
	unsigned least;     /* while a rename moves the directory: the lesser of both depths */
	int64_t settles_ms; /* the kernel has moved it in so many ms; 0: no rename moves it */
};

struct tree_depth tree_depth_in(struct tree *t, const struct inode *dir);
/* To be called before and after a link's text is made that climbs more than once. */
void tree_climbs(struct tree *t);
/*
 * How many ms the answer to a rename of this thread has to wait, so that programs which resolve
 * such a text are through before the kernel moves a directory up.
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

/* TREE_INVALID: it would be known, or absent, were the tree trusted. */
enum tree_answer { TREE_KNOWN, TREE_ABSENT, TREE_INVALID, TREE_UNKNOWN };

/* TREE_KNOWN: *out is pinned. TREE_ABSENT: *absent_until_ms (may be NULL) says until when. */
enum tree_answer tree_find(struct tree *t, struct inode *dir, const char *name, int64_t now_ms,
	struct inode **out, int64_t *absent_until_ms);

/*
 * The kernel keeps any answer for so long at most: the answer may cross a notice that outdates it.
 */
#define TREE_KERNEL_MAX_MS 60000

/*
 * The kernel is given `name`, which stands for `i`, and may use the name until the returned time.
 */
int64_t tree_give_name(struct tree *t, struct inode *dir, const char *name, const struct inode *i);

/* A copy of the attributes as they are to be shown, and until when they are believed (monotonic ms, 0: not at all). */
int64_t tree_attr(struct tree *t, struct inode *i, struct attr *out);

/* Adjusts attributes of `i` that the sandbox gave to what is to be shown: a name in staging does not count. */
void tree_show(struct tree *t, struct inode *i, struct attr *attr);

/* Of a directory and of the one above it, as they are to be shown. */
void tree_dot_attrs(struct tree *t, struct inode *dir, struct attr *self, struct attr *above);

/* A number of its own: nothing that was asked earlier has the same. */
uint64_t tree_seen(struct tree *t);
/* All zero while it is to become another inode of the sandbox. */
struct expect tree_expect(struct tree *t, struct inode *i);
/* The one that it is until then. */
struct expect tree_expect_replaced(struct tree *t, struct inode *i);
/* Whether `attr` is of this inode. */
bool tree_is(struct tree *t, struct inode *i, const struct attr *attr);

/* ---- Answers of the sandbox ---- */

struct tree_news {
	struct attr attr;
	const char *link;
	int64_t until_ms;      /* the attributes are believed until then */
	int64_t name_until_ms; /* and the name */
	struct timespec now;   /* the sandbox's clock when it answered; 0 unknown */
	uint64_t begun;        /* of an own change: its serial number, as in struct tree_scope */
};

/*
 * `name` in `dir` is this inode. Returns it pinned (NULL without memory). If `dir` changed here since `seen` this is not
 * believed. What the name stood for stays then, and is returned, if that is valid or newer than
 * `seen`: tree_is_named() finds out. *changed: contents differ from what was known, and not by our
 * doing.
 */
struct inode *tree_learn_name(struct tree *t, struct inode *dir, const char *name, uint64_t seen,
	const struct tree_news *news, bool *changed);
/*
 * Whether a name leads to `i`, which tree_learn_name() returned, and `i` is the file that was
 * answered, or under a change of ours, which knows more than the answer. false: the answer and what
 * is known do not agree, and only another question tells which is right.
 */
bool tree_is_named(struct tree *t, struct inode *i, const struct attr *answered);
/* `name` in `dir` does not exist. Whether that is believed. */
bool tree_learn_absent(struct tree *t, struct inode *dir, const char *name, uint64_t seen);
/* ERR_STALE: the answer is about another inode. *changed as above. */
enum err tree_learn_attr(struct tree *t, struct inode *i, uint64_t seen,
	const struct tree_news *news, bool *changed, struct error *e);
/* The kernel is going to be told that the name does not exist until then. false: it must not believe it. */
bool tree_give_negative(struct tree *t, struct inode *dir, const char *name, int64_t until_ms);

/* An inode, or a name in a directory. */
struct tree_told {
	struct inode *inode, *dir;
	bool pages;   /* of an inode: the contents, too */
	bool revoked; /* of an inode: what tree_delegate() gave, and at once */
	const char *name;
	bool is_gone;                    /* the name does not exist any more */
	const struct watch_event *event; /* or that somebody else made a change */
};

typedef void (*tree_tell)(void *context, const struct tree_told *told);

/*
 * No belief is valid any more; leased ones are again when the tree is trusted. The outdated part of
 * what the kernel has is taken by tree_take_outdated(), which begins anew by this.
 */
void tree_invalidate_all(struct tree *t);
/*
 * The same, but the root's own attributes are what an answer told that was asked for at `seen` and
 * read when all had happened that is doubted, and are believed until `root->until_ms`. Where
 * something else has put them in doubt since, or changed them here, they are in doubt like all else.
 */
void tree_invalidate_all_but_root(struct tree *t, uint64_t seen, const struct tree_news *root);

/* Attributes of `inode`, or a name in it, that the kernel has to forget. */
struct tree_outdated {
	struct inode *inode; /* not pinned: only its address */
	char *name;          /* to be freed; NULL: the attributes */
	bool pages;          /* the contents, too */
};

/*
 * Takes attributes and names that the kernel may use and that are in doubt, each once. What is held
 * again, because an audit was answered since, and as the kernel was given it, is left with the
 * kernel. The root's own attributes are left out; pages are of open files. false: there are no more.
 */
bool tree_take_outdated(struct tree *t, struct tree_outdated *out, size_t room, size_t *count);
/*
 * Whether the kernel may use so many names, or more, and was given anything but the root's attributes
 * since this was last so: else nobody seems to need them.
 */
bool tree_kernel_uses_names(struct tree *t, size_t count);
/* The same, whether or not the kernel was given anything since. */
bool tree_kernel_has_names(struct tree *t, size_t count);
/* Whether `dir`, which may be freed by now, has no such name, so far as is known. */
bool tree_is_nameless(struct tree *t, const struct inode *dir, const char *name);
/* Nothing that was learned so far will be believed again. What the kernel knows is its own affair. */
void tree_forget(struct tree *t);

/* The path by which `i` was asked for leads nowhere, or to another file: that name goes. Whether there may be another. */
bool tree_name_failed(struct tree *t, struct inode *i, const struct tree_path *path);
/* What the kernel has of its contents is not what the sandbox has. */
void tree_drop_pages(struct tree *t, struct inode *i);
/* The directory is not what we thought: the next question goes to the sandbox. */
void tree_invalidate(struct tree *t, struct inode *i);
/* Whatever is known by that name, believed or not, pinned; NULL nothing. */
struct inode *tree_peek(struct tree *t, struct inode *dir, const char *name);

/* ---- Our own changes ---- */

#define TREE_SCOPE_MAX 4

/* The inodes that one change touches; the same one may stand twice; NULL entries are skipped. */
struct tree_scope {
	struct inode *inodes[TREE_SCOPE_MAX];
	uint64_t begun;        /* its serial number */
	bool has_local_effect; /* tree_apply_local() shows what it does while it is under way */
};

void tree_change_begins(struct tree *t, struct tree_scope *s);
/* The change that has begun touches `i`, which was made by it, too: a place in the scope must be free. */
void tree_change_touches(struct tree *t, struct tree_scope *s, struct inode *i);
void tree_change_ends(struct tree *t, struct tree_scope *s);
/* In a directory in which we never stop to change something what others do is told after so long. */
#define TREE_LATE_MS 1000
/* Tells it, where nothing of ours ends that would: while a change is held back. */
void tree_resolve_overdue(struct tree *t);
/* Adopts the attributes an own change answered with; believed only when no other change ran at the same time. */
void tree_adopt(struct tree *t, const struct tree_scope *s, struct inode *i,
	const struct attr *attr, int64_t until_ms);

/*
 * What a change that the sandbox does not have yet makes of an inode, a file or a directory: a file ends at `end` or later,
 * it has `links` more links (of a directory: entries that are directories), and what `set` names (a CHANGE_SETATTR, or
 * NULL; UTIME_NOW is `now`). It changed at `now`, and its contents or entries with it, unless it `keeps_mtime`.
 */
struct tree_local_effect {
	uint64_t begin, end; /* the bytes that are written; end 0: none */
	int links; /* -1, 0 or 1; 0 of a file that is unlinked into staging, where it keeps the link */
	bool keeps_mtime;
	const struct change *set;
	struct timespec now; /* the sandbox's clock */
	/* A write that the kernel asked for: by that it forgets what it was lent of the file, whoever asked for that. */
	bool is_forgotten;
	/* Who makes an entry in the directory: by that the kernel forgets what was lent to this thread alone. 0: unknown. */
	pid_t asker;
};

/*
 * The time of a change of `i` that begins at `now` by the sandbox's clock: later than what is shown
 * of the inode. tree_apply_local() shows this one when it is given it.
 */
struct timespec tree_time_of_change(struct tree *t, struct inode *i, struct timespec now);
/* Shows it. The inode is under a foreseen change. */
void tree_apply_local(struct tree *t, struct inode *i, const struct tree_local_effect *f);
/*
 * Whether only foreseen changes are under way and what they were built on is believed: *out are the attributes to be
 * shown, for now. Their times and blocks become others once the sandbox has the changes.
 */
bool tree_local_attr(struct tree *t, struct inode *i, struct attr *out);

/* How the kernel is given attributes. */
struct tree_delegation {
	bool ahead; /* what is foreseen, too */
	pid_t asker; /* the thread that asks: it has the answer before it asks for anything else; 0: unknown */
	int64_t most_ms; /* the kernel keeps it for so long at most; 0: without such a limit */
};

/*
 * As tree_attr(), for the kernel, which may keep them until then. Whatever we do that moves what is kept of a directory, or
 * was foreseen, takes it back first: what tree_tells() set is told, under the lock, so that nobody hears of the change, or
 * that the sandbox has it, while the kernel still shows what was before, and an answer that the change overtakes is dropped.
 * What others do is told as of any inode.
 */
int64_t tree_delegate(
	struct tree *t, struct inode *i, const struct tree_delegation *how, struct attr *out);
/*
 * Whether what a change of the names in `dir` does can be said here: every entry is held, so is the way to it, the trust was
 * one without end when the sandbox was last heard, and no change but foreseen ones is under way in it.
 */
bool tree_may_decide(struct tree *t, struct inode *dir, int64_t now_ms);
/* Whether all that is missing for that are the entries of `dir`. */
bool tree_may_decide_once_listed(struct tree *t, struct inode *dir, int64_t now_ms);
/*
 * The sandbox answered to a foreseen change of `i` with `attr`, the changes of one inode in the order in which they
 * began; before tree_change_ends(). While other foreseen ones are under way what is shown stays as it is, and so does the
 * belief in it; the last answer is adopted, as tree_adopt() does it. A provisional inode is the sandbox's from now on. An
 * answer without attributes: tree_invalidate().
 */
void tree_answered(struct tree *t, const struct tree_scope *s, struct inode *i,
	const struct attr *attr, int64_t until_ms);
/*
 * The same where the answer told nothing of the inode, which may have other names; the change was
 * done about at `ctime`.
 */
void tree_answered_untold(struct tree *t, struct inode *i, struct timespec ctime);
/*
 * The ctime to be shown of `i`, of which *attr is a copy. That of a foreseen change stays when the
 * sandbox answers, for as long as the sandbox reports no other change.
 */
struct timespec tree_shown_ctime(struct tree *t, struct inode *i, const struct attr *attr);
/* Whether what was asked at `seen` and had these attributes may still be what is there. */
bool tree_still(struct tree *t, struct inode *i, uint64_t seen, const struct attr *attr);

/* ---- Provisional inodes ---- */

/*
 * The numbers that are given to them follow this one. No file system counts so far, and the highest bits alone would be
 * those by which overlayfs tells its layers apart (xino).
 */
#define TREE_PROVISIONAL ((uint64_t)0x5a << 56)

/*
 * A foreseen change makes `name`, which is absent in `dir`: an inode with the mode, owner, size and times of news->attr;
 * the rest of it is filled in here. It is believed until the sandbox answers, whatever comes into doubt meanwhile: nobody
 * else knows of it. tree_expect() of it is all zero. A directory is complete and empty. Returned pinned, NULL without
 * memory. The number that is shown of it stays.
 */
struct inode *tree_apply_local_made(
	struct tree *t, struct inode *dir, const char *name, const struct tree_news *news);
bool tree_is_provisional(struct tree *t, const struct inode *i);
/*
 * The directory `i`, made here, was there already, and has been adopted: its entries are to be
 * asked for, for others may have put some into it.
 */
void tree_taken(struct tree *t, struct inode *i);
/* The sandbox took `i` from staging to its place, where it is an inode with these attributes: whatever it was before. */
void tree_placed(struct tree *t, struct inode *i, const struct attr *attr);
/*
 * A change of `i` copied it from a lower layer, where it had several names: the file is another
 * inode now, with these attributes, at the names that the change found or left at the paths
 * (`path2` may be NULL). The other names are asked for again, unless changes of names other than
 * the `ended` ones are still to be told.
 */
void tree_copied_up(struct tree *t, struct inode *i, const char *path, const char *path2,
	unsigned ended, const struct attr *attr);
/*
 * Whether the sandbox can rename `i` into `to`, which must not be below it: one whose file system is made of layers, which has no time of
 * birth, refuses that (EXDEV) of a directory of a lower layer, and nobody but the sandbox knows
 * which these are.
 */
bool tree_is_movable(struct tree *t, struct inode *i, const struct inode *to);
/*
 * Whether a change of `i` may make it another inode, as tree_copied_up() says. By which of its
 * names it is changed matters then: that is the one that was found last while nobody used it, so
 * the kernel asks for them each time.
 */
bool tree_may_be_copied_up(struct tree *t, struct inode *i);
/*
 * The sandbox refused to make it: it has no names any more, and every use of it is ERR_STALE; what tree_tells() set is
 * told, and the directories are in doubt.
 */
void tree_refused_made(struct tree *t, struct inode *i);

/* Shows a number of its own from now on, as of one that was made here: the sandbox gives another file what it has now. */
void tree_number(struct tree *t, struct inode *i);
/*
 * `delta` more changes, held back or under way, that make `i` another inode of the sandbox: until then that has none of its
 * contents, and what is shown of it is believed.
 */
void tree_replacing(struct tree *t, struct inode *i, int delta);

/* `delta` more changes of the names of `i` itself (made, renamed, linked, staged) that the sandbox has not done. */
void tree_mark_unsynced(struct tree *t, struct inode *i, int delta);
/* Whether there are any of `i` or of a directory on its way: by its path the sandbox finds nothing, or something else. */
bool tree_path_is_unsynced(struct tree *t, const struct inode *i);
/* The lowest of those, pinned; NULL: none. */
struct inode *tree_owing_on_path(struct tree *t, struct inode *i);
/* The same of every name that it has. */
struct inode *tree_owing_on_paths(struct tree *t, struct inode *i);

/* ---- Moving ---- */

/* A rename of a name of `one`, and of `two` where names are exchanged; each may be NULL. */
void tree_move_begins(struct tree *t, struct inode *one, struct inode *two);
void tree_move_ends(struct tree *t, struct inode *one, struct inode *two);
/*
 * Waits for the moves under way and makes others wait, so that somebody whose paths keep moving comes to an end. Not for
 * whoever has begun a move.
 */
void tree_stop_moves(struct tree *t);
void tree_let_moves(struct tree *t);

/* An own change made `name`; returns the inode pinned. */
struct inode *tree_made(
	struct tree *t, struct inode *dir, const char *name, const struct tree_news *news);
/*
 * An own link(2) gave `i` this name, which is believed until then and as long as the attributes. What
 * stood there is unnamed.
 */
void tree_named(
	struct tree *t, struct inode *dir, const char *name, struct inode *i, int64_t until_ms);
/* A name in a directory. */
struct tree_name {
	struct inode *dir;
	const char *name;
};

/* An own rename gave `i` its name at `to` for the one at `from`: as tree_named(), in one step. */
void tree_renamed(struct tree *t, const struct tree_name *from, const struct tree_name *to,
	struct inode *i, int64_t until_ms);
/* An own unlink, rmdir or rename took the name. */
void tree_unnamed(struct tree *t, struct inode *dir, const char *name);
/* An own RENAME_EXCHANGE. */
void tree_exchanged(
	struct tree *t, struct inode *dir, const char *name, struct inode *dir2, const char *name2);

/*
 * An inode that was removed through the mount lives on in memory alone, as a removed directory that somebody still has
 * open. false: it is not one. Times given as UTIME_NOW become `now`.
 */
bool tree_is_gone(struct tree *t, struct inode *i);
bool tree_set_gone(struct tree *t, struct inode *i, const struct change *what, struct timespec now);

/* ---- Handles ---- */

/* An inode that has only a staging name, which it takes; returned pinned. It is a file without links. */
struct inode *tree_made_nameless(struct tree *t, const struct tree_news *news, char *staged);

/* Waits for a removal under way. ERR_STALE: the inode is gone. */
enum err tree_open(struct tree *t, struct inode *i, struct error *e);
/* The same of one that a lookup has just found: others may have taken its last name since. */
enum err tree_open_found(struct tree *t, struct inode *i);
/* Not NULL: that was the last use of a staged file, whose staging path the caller gets to remove, and to free. */
char *tree_close(struct tree *t, struct inode *i);
/* Whether it has a name, or handles: else nobody can read it any more. */
bool tree_may_be_read(struct tree *t, const struct inode *i);
/* Whether there are handles. */
bool tree_is_open(struct tree *t, const struct inode *i);
/*
 * Before an unlink or a replacing rename of a name of `i`: returns true when it may be open, no other name is known and
 * the inode must be kept in staging. Unless another name remains, no handle can be opened until tree_removal_ends(): the
 * last one may be closed meanwhile. Whoever asks for the inode meanwhile is told that it moves.
 */
bool tree_removal_begins(struct tree *t, struct inode *i);
void tree_removal_ends(struct tree *t, struct inode *i);
/* The inode lives on in staging. Takes `staged`. */
void tree_staged(struct tree *t, struct inode *i, char *staged);
/* At the end: the staging path of any inode that has one, to be removed and freed; NULL: none has. */
char *tree_take_staged(struct tree *t);

/* Whether the kernel's pages are of the present version; from now on they are. */
bool tree_pages_current(struct tree *t, struct inode *i);
/* The attributes are younger than a clock tick of the sandbox: equal ones need not mean equal contents. */
bool tree_unsettled(struct tree *t, struct inode *i);
/* The same of what was asked when the sandbox's clock showed at least `now`: no later contents have these attributes. */
bool tree_settled_at(const struct attr *attr, struct timespec now);
/*
 * The same, whenever the question was asked: a write sets both times to one clock, so that a file
 * which was given a time after it has other attributes once it is written to again.
 */
bool tree_settled_by_times(const struct attr *attr);
/*
 * Whether the size says where the contents end: not so in file systems that make contents when
 * they are read, such as /proc (size 0) and /sys (a page). Neither their files nor their
 * directories have blocks, and their directories have no size.
 */
bool tree_size_is_true(struct tree *t, const struct inode *i);
/* *out are the attributes of its contents: believed at `now_ms`, settled, and nothing changes them; else false. */
bool tree_version(struct tree *t, struct inode *i, int64_t now_ms, struct attr *out);

/*
 * The same before a foreseen change of it begins that is the only one, and also where it would be believed were the tree
 * trusted: what all changes are made to that begin while any of them are under way.
 */
bool tree_base(struct tree *t, struct inode *i, struct attr *out);
/*
 * Whether it is that still, as far as we know: since then none but foreseen changes were under way, nobody told of the file
 * what could not be judged because of them, and what is shown of it is believed.
 */
bool tree_base_holds(struct tree *t, struct inode *i);

/* ---- Symbolic links ---- */

/* Copies the text; false: not known. *is_ours: it was written through this mount. */
bool tree_link_text(struct tree *t, struct inode *i, char *out, size_t room, bool *is_ours);
/* The link was made through this mount, under the one name that it has. */
void tree_link_is_ours(struct tree *t, struct inode *i);
/*
 * Whether `name` in `dir` is a name of the link that was given to it through this mount, or an
 * earlier one: made, linked or renamed here. A name that the sandbox gave to the same link is not,
 * where others of the link are neither one that is given to it then.
 */
bool tree_link_name_is_ours(
	struct tree *t, struct inode *dir, const char *name, const struct inode *i);
/*
 * `top` was made, linked or renamed: the places of links whose texts were written here, `top`
 * itself and below it, are noted for later mounts; of those that the sandbox does not have yet by
 * tree_answered().
 */
void tree_note_links(struct tree *t, struct inode *top);
/* Calls `tell` for every symbolic link that is `top` or below it and that the kernel may know, without the lock. */
void tree_each_link(struct tree *t, struct inode *top,
	void (*tell)(void *context, struct inode *link), void *context);

/* ---- Trust ---- */

/*
 * The time of a belief that is held: it lasts as long as the tree as a whole is trusted. Trust that ended comes back with an
 * audit: one listing of what changed in all directories since it began, after which what is held is right again. So held
 * is only what an audit would tell of (the root's file system, no staging) and what was asked late enough.
 */
#define TREE_HELD INT64_MAX

/* From now on answers are held; what may not be held is believed for `timed_ms`. */
void tree_holds(struct tree *t, int64_t timed_ms, int64_t validated_until_ms);
/*
 * The tree is trusted until then; TREE_HELD: without end. Not if it was doubted after `audit` was asked (may be NULL): false.
 */
bool tree_validate(struct tree *t, int64_t until_ms, const struct tree_listing *audit);
/*
 * Likewise, though nobody could be asked: what was held is believed, and names are decided if they were when it was last
 * trusted, since the sandbox refuses what does not fit any more.
 */
void tree_validate_offline(struct tree *t, int64_t until_ms);
/* Whether that was the last word: what is decided here may be long out of date in the sandbox. */
bool tree_is_offline(struct tree *t);
/* Whether names were decided here when it was last trusted, and it is not any more. */
bool tree_wants_validity(struct tree *t, int64_t now_ms);
/* The same, later than so far, unless it was doubted. */
void tree_validate_longer(struct tree *t, int64_t until_ms);
bool tree_is_valid(struct tree *t, int64_t now_ms);
/* Nothing is known but the root itself. */
bool tree_is_bare(struct tree *t);
/* Whether it would be believed were the tree trusted. */
bool tree_attr_is_invalid(struct tree *t, const struct inode *i, int64_t now_ms);
/* Whether the sandbox told them, however long ago, and nothing is known to have moved since. */
bool tree_attr_was_told(struct tree *t, const struct inode *i);
bool tree_entries_are_invalid(struct tree *t, const struct inode *dir, int64_t now_ms);

/* ---- The change stream ---- */

/*
 * While a stream of changes lives, trust has no end, and what is held is what was asked after the stream had begun, or
 * told by the listing `first` that came with it. Until the stream is ready nothing else is held.
 */
void tree_stream_begins(struct tree *t, const struct tree_listing *first);
void tree_stream_ready(struct tree *t);
/* The listing does not come with the stream: its asker left, or asks for the listing alone. */
void tree_stream_leaves(struct tree *t);
/* Trust is the caller's to take away. */
void tree_stream_ends(struct tree *t);

/* What tree_apply_event() finds new is told by this, with the lock held. To be called before. */
void tree_tells(struct tree *t, tree_tell tell, void *context);
/*
 * The sandbox told of a change. What is known already is the echo of a change of ours and says nothing; of an inode that
 * is known new attributes are taken; anything else is in doubt from now on, and answers under way are not believed. Nothing
 * else is learned.
 */
void tree_apply_event(struct tree *t, const struct watch_event *event);
/* The stream reports nothing below this directory: nothing there is held. */
void tree_apply_unwatched(struct tree *t, const char *path);
/* The directory is watched again, or gone: answers to later questions are held. */
void tree_apply_watched(struct tree *t, const char *path);
/* The number of such directories. */
size_t tree_unwatched(struct tree *t);

/* ---- Listings ---- */

/* Between these nothing is forgotten for lack of room: a directory may have more entries than are kept unused. */
void tree_hold(struct tree *t);
void tree_release(struct tree *t);

/* One listing of one directory or of many, under way or over. */
struct tree_listing {
	uint32_t number; /* later ones have greater numbers */
	uint64_t seen;
	struct timespec now; /* the sandbox's clock was at least this when it was asked */
	int64_t until_ms,
		name_until_ms; /* what it teaches is believed until then, as in struct tree_news */
	struct timespec audits_from; /* of an audit: from when on the next one asks */
	LIST_ENTRY(tree_listing) link;
};

/* Before asking: fills `number` and `seen`. Until it ends the listing stays where it is. */
void tree_listing_begins(struct tree *t, struct tree_listing *l);
void tree_listing_ends(struct tree *t, struct tree_listing *l);
/* This one asks only for what changed: fills `audits_from`, before which nothing was asked that is held from now on. */
void tree_audit_begins(struct tree *t, struct tree_listing *l);
/*
 * Every entry of `dir` was told: names that neither this listing nor anybody since it began has learned are dropped, and
 * the directory is complete, unless it changed here meanwhile (false: nothing was done).
 */
bool tree_learn_complete(struct tree *t, struct inode *dir, const struct tree_listing *l);
/*
 * An audit of what changed since `since_ns` came to `dir` and did not tell all its entries: if it did not change, and not
 * here either, they are what they were; else what was not told is in doubt.
 */
void tree_audited_in_part(
	struct tree *t, struct inode *dir, const struct tree_listing *l, int64_t since_ns);
/* Nothing was told of its entries. */
void tree_invalidate_entries(struct tree *t, struct inode *dir);
/* Nor of anything below them. */
void tree_invalidate_below(struct tree *t, struct inode *dir);
/*
 * What is believed of `dir` and its entries at least until `from`, is believed until `until` if
 * that is later; not where all came into doubt since the `seen` of `from`.
 */
void tree_extend_validity(struct tree *t, struct inode *dir, const struct tree_listing *from,
	const struct tree_listing *until);

/* Listing `number`, which is under way, will come to `dir`; and has come to it or ended (unless it is another's by now). */
void tree_await(struct tree *t, struct inode *dir, uint32_t number);
void tree_await_ends(struct tree *t, struct inode *dir, uint32_t number);
/* The number of the listing that will come to `dir`; 0: none. */
uint32_t tree_awaited(struct tree *t, const struct inode *dir);

/* Whether `dir` is complete, and it and what it said of its entries' attributes are still believed. */
bool tree_is_listed(struct tree *t, const struct inode *dir, int64_t now_ms);
/* Whether `dir` was complete when it was last listed; or that, or so was the directory it stands in. */
bool tree_was_complete(struct tree *t, const struct inode *dir);
bool tree_was_listed(struct tree *t, const struct inode *dir);
/* One entry of `dir` is going to be asked for alone. Returns how long ago that was so the last time, in ms. */
int64_t tree_asked_alone(struct tree *t, struct inode *dir, int64_t now_ms);
bool tree_lists_alone(struct tree *t, const struct inode *dir);
void tree_set_lists_alone(struct tree *t, struct inode *dir, bool alone);

/* The directory in which `i` stands, of the root itself, pinned; NULL: in none. */
struct inode *tree_parent(struct tree *t, struct inode *i);

/* A directory to be listed. */
struct tree_start {
	struct inode *dir; /* pinned */
	char *path;
	uint64_t stamp; /* of the path: tree_start_holds() */
};

/*
 * The highest directories that are known and neither listed nor awaited: breadth first, at most `room`, with paths of at
 * most `bytes` together. None of them is `except`, above it or below it. Returns how many.
 */
size_t tree_unlisted(struct tree *t, const struct inode *except, int64_t now_ms,
	struct tree_start *out, size_t room, size_t bytes);
void tree_start_release(struct tree *t, struct tree_start *s);
/* Whether nothing on the path was moved here since. */
bool tree_start_holds(struct tree *t, const struct tree_start *s);
/*
 * Every directory of the root's file system of whose entries anything is known, the root first, as an array to be freed;
 * those that the sandbox would not find by their paths (tree_path_is_unsynced) are left out, and their entries doubted. NULL: no
 * memory.
 */
struct tree_start *tree_known_dirs(struct tree *t, size_t *count);

struct tree_entry {
	char *name;
	struct inode *inode; /* pinned */
};

/*
 * All entries of a complete directory, in a fixed order; false: not complete at `now_ms`, or no memory.
 * `anyway`: what is known, complete or not.
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
	/* What is meant of it: all, or one end. */
	uint64_t offset, size;
	bool has_end;
	struct expect target;
};

/* How far from a file others are looked for. */
enum tree_reach {
	TREE_ALONE, /* what is beside it by the same name but for the extension */
	TREE_NEAR,  /* then its directory, then what is below that */
	TREE_FAR,   /* then what follows in the order of a walk through the whole tree */
};

/*
 * A file of at most so many bytes is fetched whole: on 100 Mbit/s that takes 40 ms, as long as asking for its next part
 * would through a usual distance.
 */
#define TREE_WHOLE_MAX ((uint64_t)512 * 1024)

/* The same of this one: more where it stands among those that are always read to their end. */
uint64_t tree_whole_max(struct tree *t, const struct inode *i);

/* Whether it stands in a repository's .git itself, with its index: before git looks at what it keeps, it reads there. */
bool tree_is_gits(struct tree *t, const struct inode *i);

struct tree_gathering {
	enum tree_reach reach;
	size_t files_max;
	uint64_t bytes_max; /* of all files together, but for the first */
	/* Of TREE_FAR: where the walk was before. Of what is not below a directory that is above both it is to be so much. */
	const struct inode *before; /* pinned; NULL: nobody knows */
	uint64_t beyond_max;
	/* Whether one is still wanted; each is asked for once. Under the tree's lock: it may neither call the tree nor block. */
	bool (*wants)(void *context, const struct inode *i);
	void *context;
};

/*
 * `first`, and the regular files around it whose names and attributes are believed: in the order in which one who walks
 * the tree reads them. Larger ones than tree_whole_max() are left out, but for both ends of those beside the first, and of
 * a repository's newest pack. Directories that hold what nobody reads as a whole (files.c) are not entered from
 * outside, and not left from inside. Returns how many; `out` has room for files_max, which is at least 1. 0: `first` has no path.
 */
size_t tree_gather_files(struct tree *t, struct inode *first, int64_t now_ms,
	const struct tree_gathering *g, struct tree_file *out);
void tree_file_release(struct tree *t, struct tree_file *f);

/* The directory in which `i` stands, only to be compared with; NULL: in none. */
const struct inode *tree_place(struct tree *t, const struct inode *i);
