/*
 * writeback_inside.h - what the files of cache/write share.
 *
 * Functions that end in _locked expect writeback.lock to be held.
 */
#pragma once

#include "cache/write/op.h"
#include "cache/write/writeback.h"

#include "providers/base/call.h"

#include <pthread.h>

/*
 * Limits, in bytes: WRITEBACK_WRITE_MAX is FUSE's largest request; a batch keeps a link of 100 Mbit/s and any round trip below
 * 0.6 s busy, and its request fits into 8 MiB.
 */
#define WRITEBACK_WRITE_MAX VERB_DATA_MAX
#define WRITEBACK_BATCH_MAX ((size_t)15 * 512 * 1024)
/*
 * Changes in one batch, whose paths and results take a few hundred bytes each; a quarter of them do not wait for more, and while
 * these are on their way a burst of small files makes as many again.
 */
#define WRITEBACK_CHANGES_MAX 8192
#define WRITEBACK_CHANGES_DUE (WRITEBACK_CHANGES_MAX / 4)
/* Memory for all that is pending: whoever makes more waits. */
#define WRITEBACK_COST_MAX ((size_t)32 * 1024 * 1024)
/* So long a change waits for others, and for those that follow it closely, in ms. */
#define WRITEBACK_WAIT_MS      100
#define WRITEBACK_WAIT_MOST_MS 500
/*
 * Batches at once: a recorded one, others of nothing but contents, and one of small saves. A batch
 * takes twice its bytes while it is sent, so all batches together have a bound: the rest leaves
 * later.
 */
#define WRITEBACK_SENDERS_MAX 4
#define WRITEBACK_SENT_MAX    (2 * WRITEBACK_BATCH_MAX)
/*
 * The most that a small save loads a link with, in bytes: at 2 Mbit/s that takes a second. Where
 * more than this is pending, a small save that somebody waits for does not wait for what it is not
 * bound to. A change without contents loads the link, too.
 */
#define WRITEBACK_SMALL_MAX   ((uint64_t)256 * 1024)
#define WRITEBACK_CHANGE_LOAD 256
/* From one attempt to the next while the sandbox cannot be reached, in ms; the first while somebody waits for it. */
#define WRITEBACK_PAUSE_MS      1000
#define WRITEBACK_PAUSE_MOST_MS 30000
/* A file that stays open is seen all the same where so long, in ms, it was not given as much as is sent at once. */
#define WRITEBACK_OPEN_MS 5000
/*
 * What is not worth a call of its own waits so long for one, in ms, and what others do beside it is not seen here meanwhile.
 * A file that stays open has left by then.
 */
#define WRITEBACK_LAZY_MS (WRITEBACK_OPEN_MS + 1000)

/* What the changes of a file are made to, none of which was answered yet. */
struct base {
	struct attr version;
	uint64_t number; /* no two have the same */
};

/* What is pending of one inode, or refused and not reported, or being waited for. */
struct inode_ops {
	TAILQ_ENTRY(inode_ops) link;
	struct inode *inode;      /* pinned; its `backlog` leads here */
	unsigned owes;            /* changes in the queue that touch it */
	unsigned copied;          /* of these, those that only copy from it */
	struct version copied_as; /* and the version that the last of them is held against */
	unsigned held;            /* and those that touch it and are held back */
	unsigned waiters;
	struct op *last;              /* the youngest of them */
	struct op *maker;             /* in the queue: makes it, and nothing else; or NULL */
	struct op *place;             /* held back: puts it in its place when it is whole */
	int64_t place_look_ms;        /* monotonic: when it is judged whether it is being copied */
	size_t place_bytes;           /* written since that was done last */
	struct version shown;         /* before the first of them; all zero: it is not known */
	struct attr answered;         /* the latest state that an answer told while it owes */
	uint64_t answered_of;         /* the gathering of the batch that told that */
	uint64_t answered_at;         /* and the last gathering before the answer */
	bool is_answer_unsure;        /* another batch told another state of the same moment */
	struct base *base;            /* NULL: the sandbox may have something else by now */
	struct error refused;         /* the first that was not reported */
	bool for_handle, for_barrier; /* who is still to hear of it */
	bool is_lost;       /* the sandbox refused to make it: nothing can be done to it any more */
	bool lost_contents; /* since the last report: its name must not move on top of others */
	bool lacks_part;    /* likewise: the disk had no room for a part of its contents */
	bool goes_beside;   /* some of its contents left while others of them were on their way */
	bool is_time_late; /* small saves moved the time that the directory shows, and did not set it */
	uint64_t refused_order; /* of the last change refused */
	/* While a batch is being gathered (batch.c): */
	uint64_t gathering;          /* which one the rest is about */
	bool is_blocked;             /* something of it was passed over: what follows waits, too */
	uint64_t busy_from, busy_to; /* contents on their way beside this batch */
	size_t step;                 /* 1 + the index of the change that the next one of it needs */
	size_t name_step;            /* likewise of the last that is not about its contents */
	size_t version_step;         /* likewise of attributes that carry its version */
};

/* A refused change of an earlier mount, of which no handle was told. */
struct untold {
	TAILQ_ENTRY(untold) link;
	char *path;
	struct error why;
};

/* More of them than so many are told to barriers alone. */
#define UNTOLD_MAX 1024

/* Refused changes of an earlier mount, which are known by their paths. */
struct inherited {
	TAILQ_HEAD(, untold) untold;
	unsigned untold_count;
	uint64_t refused;   /* all of them */
	struct error first; /* of these */
	bool for_barrier;   /* no barrier was told of one */
};

struct writeback {
	struct cache *cache;
	struct journal *journal;
	uint64_t journal_max; /* bytes */
	char *place;          /* its directory; NULL: in memory */
	struct cancel cancel; /* thrown at the end: sending is given up */
	pthread_mutex_t lock; /* guards what follows, every backlog and what is queued */
	pthread_cond_t changed;
	struct progress moved; /* of batches on their way */
	struct op_list queue;
	struct op_list held; /* not yet in it: staging.c */
	TAILQ_HEAD(, inode_ops) backlogs;
	uint64_t orders;          /* given out so far */
	uint64_t recovered;       /* of these the last one to a change of an earlier mount */
	struct named_list *named; /* those, by their names: buckets, a power of two; or NULL */
	size_t named_room;
	uint64_t looked_at;      /* changes passed while one of an earlier mount was looked for */
	uint64_t sequences;      /* likewise, to recorded changes and to batches of others */
	uint64_t asked;          /* likewise, to what is not queued */
	uint64_t gatherings;     /* likewise, to batches */
	uint64_t bases;          /* likewise, to what changes are made to */
	uint64_t changes, bytes; /* in the queue */
	uint64_t sent;           /* of them, in batches under way */
	uint64_t unsent_bytes;
	size_t cost;     /* in memory */
	int64_t last_ms; /* when something was added last, monotonic */
	uint64_t parked;
	uint64_t answers;        /* batches answered so far */
	uint64_t failures;       /* and attempts that failed for lack of an answer */
	struct error failure;    /* the last of those; none: the last attempt was answered */
	uint64_t attempts;       /* begun so far */
	uint64_t failed_attempt; /* that of `failure` */
	uint64_t failed_uses;    /* cache_uses() at that time */
	uint64_t doubted;        /* somebody believes none up to this one */
	uint64_t refused_order;  /* of the last change refused */
	struct error refused;
	struct inherited inherited;
	unsigned moves;     /* that the sandbox is asked for */
	unsigned under_way; /* batches */
	unsigned waiting;   /* calls, for an answer */
	int64_t looked_ms;  /* when somebody last looked whether there is one, and did not wait */
	bool is_scheduled; /* the senders have seen when the first change is due: one more is no news */
	bool recorded_under_way;   /* a batch of the first record of the journal */
	bool aside_under_way;      /* one of small saves, or of the second record */
	TAILQ_HEAD(, batch) plain; /* those under way that are not recorded */
	/* What the way to the sandbox takes at once, after it refused more (limits.c). */
	struct {
		size_t changes, bytes;
		int64_t until_ms;       /* monotonic */
		int64_t alone_until_ms; /* no batch leaves beside another */
	} most;
	uint64_t departures; /* batches that left so far */
	int64_t pause_ms;    /* from one attempt to the next: WRITEBACK_PAUSE_MS, less in tests */
	int64_t open_ms; /* WRITEBACK_OPEN_MS, likewise; tests set the next three as they need */
	int64_t wait_ms, wait_most_ms; /* WRITEBACK_WAIT_MS, WRITEBACK_WAIT_MOST_MS */
	int64_t lazy_ms;               /* WRITEBACK_LAZY_MS */
	pthread_t senders[WRITEBACK_SENDERS_MAX];
	unsigned senders_count, senders_idle;
	bool stopping;
};

/* ---- Waiting (barrier.c) ---- */

/*
 * While batches move, and answers come, the wait goes on. Else the wait ends at the caller's
 * deadline, with the reason why no answer came.
 */
struct progress_deadline {
	const struct call *call;
	int64_t since_ms; /* from when the deadline counts */
	uint64_t answers, failures;
	uint64_t attempts;    /* what an earlier one found out may be mended */
	int64_t doubt_end_ms; /* but so long only */
};

struct progress_deadline progress_deadline_of(const struct writeback *p, const struct call *call);
/* Waits for a while: whoever calls it looks again at what is awaited. */
enum err progress_deadline_wait_locked(
	struct writeback *p, struct progress_deadline *w, struct error *e);

/* ---- The queue (inode_ops.c) ---- */

/* What is pending of `i`; made where there is nothing yet. NULL without memory. */
struct inode_ops *inode_ops_of_locked(struct writeback *p, struct inode *i);
/* What was refused and no handle has heard of: it counts as told. `b` may be NULL. */
enum err inode_ops_report_locked(struct inode_ops *b, struct error *e);
/* Frees it if nothing keeps it. */
void inode_ops_rest_locked(struct writeback *p, struct inode_ops *b);

/*
 * Writes a change into the journal and queues it; the inodes of about->scope are under change from now on, and the tree is
 * the caller's to change before the lock is let go. Fails before anything is done.
 */
enum err writeback_add_locked(struct writeback *p, const struct change *change,
	const struct change_about *about, struct op **out, struct error *e);
/* The same in two parts: in the journal, and in the queue; in between it is the caller's. */
enum err writeback_prepare_locked(struct writeback *p, const struct change *change,
	const struct change_about *about, struct op **out, struct error *e);
void writeback_enter_locked(struct writeback *p, struct op *q);
/* What a change that is made now counts as attempts that had failed before. */
uint64_t writeback_failures_locked(const struct writeback *p);
/* `i`, made by `q`, is touched by it, too. */
enum err writeback_touch_locked(
	struct writeback *p, struct op *q, struct inode *i, struct error *e);
/* Takes it out of the queue: it was answered. */
void writeback_remove_locked(struct writeback *p, struct op *q, enum op_state end, const char *why);
/* Of a file that is shown so. */
struct version version_shown(const struct attr *attr);
/* Whether the queue leaves `i` as it is: nothing touches it, or only what copies from it. */
bool writeback_leaves_alone_locked(const struct inode *i);
/*
 * What the next change of `i` is based on, as the sandbox told it last: zero where others of ours
 * change it before, or that is known to have moved.
 */
struct version writeback_version_locked(struct writeback *p, struct inode *i);
/* The same of a regular file; of anything else nothing. */
struct version writeback_version_of_file_locked(struct writeback *p, struct inode *i);
/* Waits while the sandbox is asked to move something. */
enum err writeback_still_locked(struct writeback *p, const struct call *call, struct error *e);
/* The same, and while the journal is full. */
enum err writeback_room_locked(
	struct writeback *p, const struct call *call, size_t len, struct error *e);
/* Whether the journal, and memory, take so many bytes more. */
bool writeback_has_room_locked(const struct writeback *p, size_t len);

/* ---- Attributes (attributes.c) ---- */

/* Queues a CHANGE_SETATTR of `i`, or sets it with one that is queued, and shows it; its path and what it expects are filled in here. */
enum err writeback_set_locked(
	struct writeback *p, struct inode *i, struct change *change, struct error *e);
/* The same of what is shown already: *out is a change of its own, or the one by which a staged file was just written. */
enum err writeback_set_unseen_locked(struct writeback *p, struct inode *i, struct change *change,
	struct op **out, struct error *e);

/* ---- What is read of it (read_dirty.c, read_offline.c) ---- */

/* Lays what is queued over `out`, which has what `base` had there, and zeros behind its end. *served as writeback_read() says. */
enum err writeback_lay_locked(struct writeback *p, struct inode *i, const struct attr *base,
	uint64_t offset, void *out, size_t len, size_t *got, bool *served, struct error *e);
/* The first of the changes of `i` is about to begin; one of them was answered. */
void base_note_locked(struct writeback *p, struct inode *i);
void base_drop_locked(struct inode_ops *b);

/* ---- What an earlier mount left (replay.c) ---- */

/* Takes it out of the journal into the queue. Before anything else. */
enum err writeback_recover(struct writeback *p, struct error *e);
/* Some of that is still owed. It touches no inode that is known, and may change any. */
bool writeback_has_recovered_locked(const struct writeback *p);
/* And some of that is about `i`, by whatever name. */
bool writeback_recovered_changes_locked(const struct writeback *p, struct inode *i);

/* ---- The same by name and number (replay_names.c) ---- */

/* All that is in the queue, in that order: before anything else is. */
enum err writeback_enter_named(struct writeback *p, struct error *e);
void writeback_leave_named_locked(struct op *q);

/* A file, by the name that it has by then, and by its number, which other names have, too. */
struct followed {
	char *path;                /* allocated; NULL: that name is gone */
	const struct expect *file; /* all zero: the sandbox does not have it yet */
};

/*
 * What comes next of the file, behind `before`, which is one of them; what copies from the file
 * leaves it as it is. f->path becomes where it is by that time, if a directory above it moves in
 * between. NULL: nothing.
 */
struct op *writeback_next_of_file_locked(
	struct writeback *p, const struct op *before, struct followed *f);

/*
 * ---- What is staged (staging.c) ----
 *
 * A new file, and one that was emptied to be written anew: what is written to it goes to a file in staging, and the change
 * that puts this in its place is held back until the last handle is closed, or somebody waits for the file or moves it, or
 * it stays open without being copied: then nobody knows when it will be whole, or ever.
 */

/* The path of a new file in staging; NULL without memory. */
char *writeback_new_name(struct writeback *p);
/* `i` was made there; `place` gives it its name in `dir`. */
enum err writeback_stage_new_locked(struct writeback *p, struct inode *i, struct inode *dir,
	const struct change *place, bool may_replace, struct error *e);
/* What is written to `i` from now on is all that will be in it. */
enum err writeback_stage_over_locked(struct writeback *p, struct inode *i, struct error *e);
/*
 * Where a change of its contents goes, and of what else `set` names; *is_beside: that is not `i` itself. NULL: to its own
 * path.
 */
const char *writeback_staged_path_locked(
	struct writeback *p, struct inode *i, unsigned set, bool *is_beside);
/* So many bytes were written there. */
void writeback_staged_more_locked(struct inode *i, size_t len);
/* What stays open and is not being copied is held back no longer; returns when to look again, monotonic. */
int64_t writeback_release_open_locked(struct writeback *p, int64_t now_ms);
/* What is held back and touches `i` is not any longer; likewise all. */
void writeback_release_locked(struct writeback *p, const struct inode *i);
void writeback_release_all_locked(struct writeback *p);
/* And all of which it is not sure what is there as long as they are held back: what was made empty is known. */
void writeback_release_unsure_locked(struct writeback *p);

/* ---- What others did at the same name (conflict.c) ---- */

/* The refused change is queued again, for another name, and owed no more itself. false: it is not of that kind. */
bool writeback_keep_both_locked(
	struct writeback *p, struct op *q, enum err refusal, struct error *why);

/* Whether `again` is what became of `q`: it is for another name, and `q` is owed no more. */
bool writeback_is_again(const struct op *q, const struct change *again);
/* Whether it can be that of any change, by its new name. */
bool writeback_may_be_again(const struct change *again);

/* ---- What the sandbox need not hear of (elide.c) ---- */

/*
 * `i`, which nobody has open and which has no other name, is removed. Where it was made here and nothing of it was sent,
 * the journal owes nothing of it from now on: true: the caller shows it gone and calls writeback_drop_locked().
 */
bool writeback_cancel_locked(struct writeback *p, struct inode *i);
/* Takes all that touches `i` out of the queue. It is pinned. */
void writeback_drop_locked(struct writeback *p, struct inode *i);

/* ---- What comes after others of ours (base.c) ---- */

/* Some of what was queued has left: what comes next of the same files is based on what that left. */
void writeback_base_next_locked(struct writeback *p);
/* The same of what an earlier mount left, where only names are known: `answered` left that. It is in the queue still. */
void writeback_base_recovered_locked(
	struct writeback *p, const struct op *answered, const struct change_result *result);
/*
 * Whether it is to be held against its version. Attributes alone are set whoever was at the file, but what left in an
 * earlier mount is refused for good where it is refused: only for what goes on with the file behind it.
 */
bool writeback_version_matters_locked(const struct op *q);
/* Nothing was done to the file of which it carries the version: what goes on with that is held against the same. */
void writeback_base_hand_on_locked(struct writeback *p, const struct op *carrier);
/* Somebody was at it: what goes on with that meets the conflict itself. */
void writeback_base_gone_locked(struct writeback *p, const struct op *carrier);
/* Likewise, and it leaves once more without a version. */
void writeback_base_overtaken_locked(struct writeback *p, struct op *carrier);
/* One that no file has: what is held against it is refused. */
extern const struct version writeback_version_gone;
/* Whether it is one that no file has: others have moved what a change was based on. The journal keeps it. */
bool writeback_version_is_gone(const struct version *version);
/* The same of what gave a file another name, if the answer shows it. */
void writeback_base_moved_locked(
	struct writeback *p, const struct op *mover, const struct change_result *result);
/* What goes on with the contents of the file of which it carries the version; NULL: nothing. */
struct op *writeback_base_waits_locked(const struct op *carrier);

/* ---- Times (times.c) ---- */

/*
 * The time of a change of the contents of `i` that is made now and shown next, into the change, so
 * that the sandbox gives the file the same mtime; left out where the mtime is not the sandbox
 * user's to set. Returns the time.
 */
struct timespec writeback_stamp_locked(struct writeback *p, struct inode *i, struct change *change);
/* The directory shows a time of which the sandbox has not heard: it hears of it with other changes. */
void writeback_keep_time_lazily_locked(struct writeback *p, struct inode *dir);
/*
 * Before a batch is gathered: of directories and the like, what they show is set behind what moves
 * it; or behind small saves alone.
 */
void writeback_keep_other_times_locked(struct writeback *p, bool is_urgent_only);
/* Before a barrier: sets those times that small saves did not set, since one was in the queue. */
void writeback_keep_late_times_locked(struct writeback *p);
/* Before a barrier: sets the times that open files show, so that no close sets them behind it. */
void writeback_keep_open_times_locked(struct writeback *p);

/* ---- When a batch is to leave (schedule.c) ---- */

/* What so many changes, with so many bytes of contents, load the link with, in bytes. */
uint64_t writeback_load(uint64_t changes, uint64_t bytes);
/*
 * Whether a part of a small save waits for the batch of small saves that is on its way. No such part
 * leaves with anything else meanwhile: programs that save without end would keep the first record.
 */
bool writeback_waits_aside(const struct writeback *p, const struct op *q);
/* Whether there are contents for a whole one; and those, or as many changes as go at once. */
bool writeback_is_full(const struct writeback *p);
bool writeback_is_whole(const struct writeback *p);
/* `is_urgent`: somebody waits for one of the changes. false: nothing is due, *next_ms says when to look again. */
bool writeback_is_due_locked(
	struct writeback *p, int64_t now_ms, int64_t *next_ms, bool *is_urgent);

/* ---- Batches (batch.c) ---- */

struct batch {
	struct op **queued;
	struct change *changes; /* of those */
	struct change_result *results;
	size_t count, room;
	size_t bytes;            /* of contents */
	uint64_t first_sequence; /* 0: not recorded */
	uint64_t ticket; /* then: one number for all, by which the sandbox knows a late copy */
	struct settled settled;   /* when this attempt began */
	struct progress progress; /* of this attempt */
	TAILQ_ENTRY(batch) link;  /* among those that are not recorded */
	bool is_aside;            /* of small saves, or of the second record */
	bool is_urgent;           /* a user asks for this attempt */
	bool is_repeated;         /* an answer was lost: perhaps it was done already */
	unsigned char *contents;  /* of all changes */
	bool is_ready;            /* they are read, and the journal knows that they leave */
	bool is_too_large;        /* for the way to the sandbox: see batch_cut_locked() */
	bool has_no_room;         /* on the sandbox's disk, as a request: likewise */
	uint64_t departures; /* when this attempt began, where it left alone; 0: beside others */
	bool is_alone;       /* no other batch was on its way during this attempt */
	bool is_cut;         /* its changes leave again in smaller batches */
	size_t damaged;      /* 1 + the index of one that cannot be read back; 0: none */
	bool renames;        /* one of an earlier mount, which may be a directory's */
	struct error why;    /* of what was refused, where that is not one of the results */
};

/* ---- What a change of an earlier mount needs of its batch (replay_steps.c) ---- */

/* The paths stay those of the changes, which are in the queue. */
struct steps {
	struct steps_name *names; /* a hash table, its room a power of two */
	size_t room, count;
	struct steps_note *notes; /* all of those of a name, not only the last one */
	size_t notes_room, notes_count;
	uint64_t *looked_at; /* writeback.looked_at */
};

/* Room for one step more; false: no memory. */
bool steps_reserve(struct steps *s);
/* Notes that the change is the step of this number, from 1. */
void steps_note(struct steps *s, const struct op *q, size_t step);
/* The last step that leads to `q`, as op_leads_to_from() says; 0: none. */
size_t steps_needed(const struct steps *s, const struct op *q);
/*
 * The last one of the first `count` steps that tells of the file at the path
 * (op_tells_file_at()), or gives it or a directory above it another name; 0: none.
 */
size_t steps_about(const struct steps *s, const char *path, size_t count);
void steps_release(struct steps *s);

/* Takes what may leave now: false: nothing, *next_ms says when to look again. */
bool batch_gather_locked(struct writeback *p, struct batch *b, int64_t *next_ms);
/*
 * Reads the contents, and notes in the journal what is sent. Without the lock. An error is one of this machine, and may be
 * gone the next time, unless it tells of a change that is damaged.
 */
enum err batch_prepare(struct writeback *p, struct batch *b, struct error *e);
/*
 * What a rename replaces that others may have been at since, where it does not say which version: it depends on what was
 * done to that before. NULL: nothing.
 */
struct inode *batch_replaced_late(const struct writeback *p, const struct op *q);
/* An attempt was in vain: from now on its changes are held against what they are based on. */
void batch_is_late_locked(struct writeback *p, struct batch *b);
/* Before each attempt: of which batches no copy may be done any more. */
void batch_learn_settled_locked(struct writeback *p, struct batch *b);
/* It was answered, or is given up. */
void batch_settle_locked(struct writeback *p, struct batch *b);
void batch_release(struct batch *b);
/* The journal's entries of those that were not refused, to be freed; NULL without memory. `results` are there. */
uint64_t *batch_numbers(const struct batch *b, size_t *count);

/* ---- What a change of a batch needs of the others (needs.c) ---- */

/*
 * Where the change of this step, from 1, takes a file away, takes its place or goes on with it, and
 * has no version of it, it needs from now on what is done to that file before. `steps` are those
 * before it; NULL: they are not known by their names, or nothing is left of an earlier mount.
 */
void batch_needs_file(struct batch *b, size_t step, const struct steps *steps);
/* Of an earlier mount: whether the batch makes the file what `q`, behind it, finds. */
bool batch_tells_file_of(const struct batch *b, const struct op *q, const struct steps *steps);
/*
 * The same, and the batch then moves a directory above that: what was done to the file is to be
 * answered first.
 */
bool batch_moves_file_of(const struct batch *b, const struct op *q, const struct steps *steps);

/* ---- Batches sent again (resend.c) ---- */

/*
 * Puts into the results of a batch that was sent again what became of each file. Fails where the question failed for lack
 * of an answer; what the sandbox could not tell is missing in the results. Without the lock.
 */
enum err batch_find_moved(
	struct writeback *p, const struct call *call, struct batch *b, struct error *e);

/* ---- Contents that had left without a number (verify.c) ---- */

/*
 * Of those that were done already it drops what they were based on. Before the batch is sent, and without the lock. Fails
 * where the question failed for lack of an answer.
 */
enum err batch_find_done(
	struct writeback *p, const struct call *call, struct batch *b, struct error *e);
/*
 * Of those that were refused since others seemed to have been at the file it looks whether they were done meanwhile: who
 * sent them first may have been at it until just now. They are sent again then. Likewise.
 */
enum err batch_find_late(
	struct writeback *p, const struct call *call, struct batch *b, struct error *e);

/* ---- Answers (complete.c) ---- */

void batch_answered_locked(struct writeback *p, struct batch *b);
/* A change of it leaves once more. */
void batch_put_back_locked(struct writeback *p, struct op *q);
/* Nothing more is done with it. */
void batch_end_locked(struct writeback *p, const struct batch *b);
/* Before that, and without the lock: what it brought there is stored here. */
void batch_keep_contents(struct writeback *p, const struct batch *b);
/* Nothing of it was done, for this reason. */
void batch_refused_locked(struct writeback *p, struct batch *b, const struct error *e);
/* One of its changes is damaged: that is parked with what needs it, and the others leave again. */
void batch_damaged_locked(struct writeback *p, struct batch *b, const struct error *e);

/* ---- What the way takes at once (limits.c) ---- */

/*
 * Nothing of the batch has reached the sandbox, since its request was too large for the way there.
 * Its changes leave again, in batches of half the size. false: the batch cannot be cut.
 */
bool batch_cut_locked(struct writeback *p, struct batch *b);
/* Whether the way takes one more change of so many bytes with those of the batch. */
bool batch_takes_locked(const struct writeback *p, const struct batch *b, size_t bytes);
/* Whether the next batch leaves when those on their way are answered. */
bool batch_waits_alone_locked(const struct writeback *p);

/* ---- Refusals (fail.c) ---- */

/* The change of this index was: it is marked as lost, or queued again. */
void refuse_locked(struct writeback *p, struct batch *b, size_t n);
/* All refused of the batch, and what in the queue makes no sense without that, is noted and leaves. */
void refused_leave_locked(struct writeback *p, const struct batch *b);
/* What was queued again leaves, with what in the queue makes no sense any more. */
void refused_again_locked(struct writeback *p, struct op *q);
/* It leaves the queue for the state `end`: it was answered. */
void writeback_leave_locked(struct writeback *p, struct op *q, enum op_state end, const char *why);

/* ---- Refusals of what an earlier mount left (inherited.c) ---- */

/* The next barrier is told, and the next close or fsync of a file that it is about. */
void inherited_refused_locked(struct writeback *p, const struct op *q, const struct error *why);
/* What of that is about the path of `i` is to be told by its handles from now on. */
void inherited_find_locked(struct writeback *p, struct inode *i);
/* To a barrier, once. */
enum err inherited_report_locked(struct writeback *p, struct error *e);
/* One line in the log, where there is any. */
void inherited_log_locked(struct writeback *p);
void inherited_release(struct inherited *h);

/* ---- Senders (send.c) ---- */

/* One more thread, if none is idle and there may be one more; without memory the others have more to do. */
void senders_wake_locked(struct writeback *p);
void senders_stop(struct writeback *p);
