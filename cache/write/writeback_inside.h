/*
 * writeback_inside.h - declarations that the files of cache/write share.
 *
 * Functions that end in _locked expect writeback.lock to be held.
 */
#pragma once

#include "cache/write/op.h"
#include "cache/write/writeback.h"

#include "providers/base/call.h"

#include <pthread.h>
#include <stdatomic.h>

/*
 * Limits, in bytes. WRITEBACK_WRITE_MAX is FUSE's largest request. A batch keeps a link of 100
 * Mbit/s busy for any round trip below 0.6 s, and its request fits into 8 MiB.
 */
#define WRITEBACK_WRITE_MAX VERB_DATA_MAX
#define WRITEBACK_BATCH_MAX ((size_t)15 * 512 * 1024)
/*
 * Changes in one batch: their paths and results take a few hundred bytes each. With a quarter of
 * them a batch does not wait for more: while these are on their way, a burst of small files makes
 * as many again.
 */
#define WRITEBACK_CHANGES_MAX 8192
#define WRITEBACK_CHANGES_DUE (WRITEBACK_CHANGES_MAX / 4)
/* Memory for all ops. A call that would add more waits. */
#define WRITEBACK_COST_MAX ((size_t)32 * 1024 * 1024)
/*
 * An op waits WRITEBACK_WAIT_MS for others to leave with it, and WRITEBACK_WAIT_MOST_MS at most
 * where others keep following. In ms.
 */
#define WRITEBACK_WAIT_MS      100
#define WRITEBACK_WAIT_MOST_MS 500
/*
 * Batches under way at once: a recorded one, plain ones, and one of small saves. A batch takes
 * twice its bytes while it is sent, so WRITEBACK_SENT_MAX bounds the bytes of all batches together.
 * The rest leaves later.
 */
#define WRITEBACK_SENDERS_MAX 4
#define WRITEBACK_SENT_MAX    (2 * WRITEBACK_BATCH_MAX)
/*
 * The most that a small save loads a link with, in bytes: a link of 2 Mbit/s needs a second for
 * them. Where more than this is pending, an urgent small save waits only for the ops that it is
 * bound to. WRITEBACK_CHANGE_LOAD is the load of a change without its contents.
 */
#define WRITEBACK_SMALL_MAX   ((uint64_t)256 * 1024)
#define WRITEBACK_CHANGE_LOAD 256
/*
 * From one attempt to the next while the sandbox is out of reach, in ms. WRITEBACK_PAUSE_MS is the
 * first pause, and the pause while a call waits.
 */
#define WRITEBACK_PAUSE_MS      1000
#define WRITEBACK_PAUSE_MOST_MS 30000
/*
 * A staged file that stays open is committed if fewer than WRITEBACK_WRITE_MAX bytes were written
 * to it in this time, in ms.
 */
#define WRITEBACK_OPEN_MS 5000
/*
 * An op that may wait leaves with others, and after this time, in ms, by itself. Until then changes
 * by others to the same inode are not seen here. The time is longer than WRITEBACK_OPEN_MS, so that
 * the commit of a file that stays open has left by then.
 */
#define WRITEBACK_MAY_WAIT_MS (WRITEBACK_OPEN_MS + 1000)

/* The version that the ops of a file were made on, where none of these is answered yet. */
struct base {
	struct attr version;
	uint64_t number; /* unique */
};

/*
 * The pending ops of one inode. The record also exists while a call waits for the inode, and while
 * a failure is not reported.
 */
struct inode_ops {
	TAILQ_ENTRY(inode_ops) link;
	struct inode *inode;      /* pinned; its `pending` points here */
	unsigned in_queue;        /* ops in the queue that touch the inode */
	unsigned copied;          /* ops in the queue that only copy from the inode */
	struct version copied_as; /* the version that the last of these copies expects */
	unsigned deferred;        /* deferred ops that touch the inode */
	unsigned waiters;
	struct op *last;   /* the youngest op in the queue that touches the inode */
	struct op *maker;  /* the op in the queue that does nothing but make the inode; or NULL */
	struct op *commit; /* the deferred commit; or NULL */
	int64_t commit_look_ms; /* monotonic: when to check next whether the file is being copied */
	size_t commit_bytes;    /* bytes written since the last such check */
	struct version shown;   /* the version before the first op; all zero: unknown */
	struct attr answered;   /* the latest state in an answer, while ops are pending */
	uint64_t answered_of;   /* the sweep of the batch with that answer */
	uint64_t answered_at;   /* the last sweep before that answer */
	bool is_answer_unsure;  /* another batch's answer has another state of the same time */
	struct base *base;      /* NULL: the sandbox may have another version by now */
	struct error refused;   /* the first failure that is not reported */
	bool for_handle, for_barrier; /* the failure is to be reported to a handle, to a barrier */
	bool is_lost;       /* the sandbox refused to make the inode: every op on it fails */
	bool lost_contents; /* since the last report: the name must not replace another file */
	/* Since the last report: the disk had no room for a part of the contents. */
	bool lacks_part;
	bool has_parallel_parts; /* parts of the contents left in parallel batches */
	bool is_time_late; /* small saves moved the directory's time, and no op sets the time yet */
	uint64_t refused_order; /* the order of the last failed op */
	/* Used while a batch is gathered (batch.c): */
	uint64_t sweep;              /* the sweep that the fields below are of */
	bool is_blocked;             /* an op of the inode was passed over: later ones wait, too */
	uint64_t busy_from, busy_to; /* contents under way in other batches */
	size_t step;      /* 1 + the index of the change that the next change of the inode needs */
	size_t name_step; /* 1 + the index of the last change that made or named it */
	size_t version_step; /* 1 + the index of the attributes that carry its version */
};

/* A failed op of an earlier mount that no handle has reported. */
struct untold {
	TAILQ_ENTRY(untold) link;
	char *path;
	struct error why;
};

/* Further ones are reported to barriers only. */
#define UNTOLD_MAX 1024

/* Failed ops of an earlier mount, known by their paths. */
struct inherited {
	TAILQ_HEAD(, untold) untold;
	unsigned untold_count;
	uint64_t refused;   /* how many failed in all */
	struct error first; /* the first failure */
	bool for_barrier;   /* no barrier has reported one */
};

/* Whether the ops of an earlier mount are to be bound to inodes (replay_bind.c). */
enum binding_state {
	BINDING_NONE,  /* there are none, or they cannot be bound: they are sent by their names */
	BINDING_WAITS, /* for the end of what came with the attach (writeback_opened()) */
	BINDING_DUE,   /* once those are answered that are sent by their names */
	BINDING_UNDER_WAY,
	BINDING_DONE,
};

struct writeback {
	struct cache *cache;
	struct journal *journal;
	uint64_t journal_max; /* bytes */
	char *journal_path;   /* the journal's directory; NULL: in memory */
	struct cancel cancel; /* thrown at the end of the mount: sending stops */
	pthread_mutex_t lock; /* guards the fields below, every inode_ops and every op */
	pthread_cond_t changed;
	struct progress moved; /* the progress of the batches under way */
	struct op_list queue;
	struct op_list deferred; /* deferred ops, not in the queue (staging.c) */
	TAILQ_HEAD(, inode_ops) all_inode_ops;
	uint64_t orders;    /* orders given out so far */
	uint64_t recovered; /* the last order of an op of an earlier mount */
	bool is_recovering; /* an op of an earlier mount, or in place of one, is not answered */
	atomic_bool is_replayed; /* no call waits for these ops any more: read without the lock */
	enum binding_state binding;
	uint64_t by_name_to; /* the last order of an op that is sent without being bound */
	unsigned bindings;   /* attempts so far */
	/* The ops of an earlier mount, by name: buckets, a power of two; or NULL. */
	struct named_list *named;
	size_t named_room;
	uint64_t looked_at;      /* ops passed in searches for one of an earlier mount */
	uint64_t sequences;      /* numbers given to recorded ops and to plain batches so far */
	uint64_t asked;          /* numbers given to remote changes so far */
	uint64_t sweeps;         /* sweeps of the queue so far */
	uint64_t bases;          /* numbers given to struct base so far */
	uint64_t changes, bytes; /* ops in the queue, and their contents */
	uint64_t sent;           /* ops in batches under way */
	uint64_t unsent_bytes;
	size_t cost;     /* memory of the queue, in bytes */
	int64_t last_ms; /* monotonic: when an op was last added or extended */
	uint64_t failed;
	uint64_t answers;        /* batches answered so far */
	uint64_t failures;       /* attempts without an answer so far */
	struct error failure;    /* why the last attempt had no answer; none: it had one */
	uint64_t attempts;       /* attempts begun so far */
	uint64_t failed_attempt; /* the attempt that `failure` is of */
	uint64_t failed_uses;    /* cache_uses() at the time of `failure` */
	uint64_t disregarded;    /* calls do not accept a failure of attempts up to this one */
	uint64_t refused_order;  /* the order of the last failed op */
	struct error refused;
	struct inherited inherited;
	unsigned moves;     /* renames and removals under way as remote changes */
	unsigned under_way; /* batches under way */
	unsigned waiting;   /* calls that wait for an answer */
	int64_t looked_ms;  /* monotonic: when a call last looked at `failure` without waiting */
	/* The senders know when the first op is due: another op need not wake them. */
	bool is_scheduled;
	bool recorded_under_way; /* a batch of the journal's first record is under way */
	bool aside_under_way;    /* a batch of small saves, or of the second record, is under way */
	TAILQ_HEAD(, batch) plain; /* plain batches under way */
	/* Limits of the way to the sandbox, after a refusal (limits.c). */
	struct {
		size_t changes, bytes;
		int64_t until_ms;       /* monotonic */
		int64_t alone_until_ms; /* monotonic: until then each batch leaves alone */
	} most;
	uint64_t departures;           /* batches that left so far */
	int64_t pause_ms;              /* between attempts: WRITEBACK_PAUSE_MS, less in tests */
	int64_t open_ms;               /* WRITEBACK_OPEN_MS; tests set this and the next three */
	int64_t wait_ms, wait_most_ms; /* WRITEBACK_WAIT_MS, WRITEBACK_WAIT_MOST_MS */
	int64_t may_wait_ms;           /* WRITEBACK_MAY_WAIT_MS */
	pthread_t senders[WRITEBACK_SENDERS_MAX];
	unsigned senders_count, senders_idle;
	bool stopping;
};

/* ---- Waiting (barrier.c) ---- */

/*
 * The wait goes on while batches move and answers come. Else it ends at the caller's deadline, with
 * the reason why no answer came.
 */
struct progress_deadline {
	const struct call *call;
	int64_t since_ms; /* when the deadline begins */
	uint64_t answers, failures;
	uint64_t attempts;    /* begun before the wait: their failures may be out of date */
	int64_t retry_end_ms; /* until then the wait asks for a new attempt */
};

struct progress_deadline progress_deadline_of(const struct writeback *p, const struct call *call);
/* Waits for a while. The caller then checks its condition again. */
enum err progress_deadline_wait_locked(
	struct writeback *p, struct progress_deadline *w, struct error *e);

/* ---- The queue (inode_ops.c) ---- */

/* The ops of `i`; made where there are none yet. NULL without memory. */
struct inode_ops *inode_ops_of_locked(struct writeback *p, struct inode *i);
/*
 * Reports the failure that no handle has reported: from now on it counts as reported. `b` may be
 * NULL.
 */
enum err inode_ops_report_locked(struct inode_ops *b, struct error *e);
/* Frees `b` if nothing needs it any more. */
void inode_ops_rest_locked(struct writeback *p, struct inode_ops *b);

/*
 * Writes a change into the journal and queues it. The inodes of about->scope are under change from
 * now on, and the caller applies the change to the tree before it releases the lock. An error
 * leaves everything as it was.
 */
enum err writeback_add_locked(struct writeback *p, const struct change *change,
	const struct change_about *about, struct op **out, struct error *e);
/*
 * writeback_add_locked() in two parts: prepare writes the journal, enter queues. In between the
 * caller owns the op.
 */
enum err writeback_prepare_locked(struct writeback *p, const struct change *change,
	const struct change_about *about, struct op **out, struct error *e);
void writeback_enter_locked(struct writeback *p, struct op *q);
/* The count of failed attempts that an op which is made now starts with. */
uint64_t writeback_failures_locked(const struct writeback *p);
/* Adds `i`, which `q` made, to the inodes that `q` touches. */
enum err writeback_touch_locked(
	struct writeback *p, struct op *q, struct inode *i, struct error *e);
/* Takes `q` out of the queue and frees it. */
void writeback_remove_locked(struct writeback *p, struct op *q, enum op_state end, const char *why);
/* The version of a file that is shown as `attr`. */
struct version version_shown(const struct attr *attr);
/* Whether the queue leaves `i` as it is: no op touches it, or all that do only copy from it. */
bool writeback_leaves_alone_locked(const struct inode *i);
/*
 * The version that the next op of `i` is based on: the one in the sandbox's last answer. All zero
 * where pending ops change `i` first, and where that version is known to be out of date.
 */
struct version writeback_version_locked(struct writeback *p, struct inode *i);
/* writeback_version_locked() for a regular file; all zero for anything else. */
struct version writeback_version_of_file_locked(struct writeback *p, struct inode *i);
/* Waits while a rename or a removal is under way as a remote change. */
enum err writeback_still_locked(struct writeback *p, const struct call *call, struct error *e);
/* writeback_still_locked(), and waits while the journal is full. */
enum err writeback_room_locked(
	struct writeback *p, const struct call *call, size_t len, struct error *e);
/* Whether the journal and the memory have room for `len` bytes more. */
bool writeback_has_room_locked(const struct writeback *p, size_t len);

/* ---- Attributes (attributes.c) ---- */

/*
 * Queues a CHANGE_SETATTR of `i`, or adds to a queued one, and shows the attributes. The function
 * fills in the path and the expected inode.
 */
enum err writeback_set_locked(
	struct writeback *p, struct inode *i, struct change *change, struct error *e);
/*
 * Queues attributes that are shown already. *out is a new op, or the write to a staged file that
 * the time was added to.
 */
enum err writeback_set_unseen_locked(struct writeback *p, struct inode *i, struct change *change,
	struct op **out, struct error *e);

/* The tree shows the contents that `change` writes to `i`, and the time `now`. */
void writeback_show_contents_locked(
	struct writeback *p, struct inode *i, const struct change *change, struct timespec now);

/* ---- Reads of pending contents (read_dirty.c, read_offline.c) ---- */

/*
 * Lays the pending contents over `out`, which holds the bytes of version `base`, with zeros behind
 * its end. *served is as for writeback_read().
 */
enum err writeback_lay_locked(struct writeback *p, struct inode *i, const struct attr *base,
	uint64_t offset, void *out, size_t len, size_t *got, bool *served, struct error *e);
/*
 * base_note_locked() is called before the first op of `i` is queued, base_drop_locked() when one of
 * the ops is answered.
 */
void base_note_locked(struct writeback *p, struct inode *i);
void base_drop_locked(struct inode_ops *b);

/* ---- Ops of an earlier mount (replay.c) ---- */

/* Moves the ops from the journal into the queue, before any other op. */
enum err writeback_recover(struct writeback *p, struct error *e);
/* Whether some of these ops are pending. They touch no known inode, and may change any. */
bool writeback_has_recovered_locked(const struct writeback *p);
/*
 * Called after each answer: where these ops and those in their place are answered, one line in the
 * log says what the sandbox refused.
 */
void writeback_end_recovery_locked(struct writeback *p);
/* Whether some of these ops change `i`, by whatever name. */
bool writeback_recovered_changes_locked(const struct writeback *p, struct inode *i);

/*
 * Makes one change of those that make, write and commit a small file, where none of them has left
 * (replay_whole.c). Called when the queue is loaded.
 */
void writeback_bring_recovered(struct writeback *p);

/* ---- Ops of an earlier mount that become ordinary ones (replay_bind.c) ---- */

/*
 * Lists the directories in which ops of an earlier mount change names (replay_dirs.c). false: not
 * all of these directories can be known under a live stream. Without the lock.
 */
bool replay_list_dirs(struct writeback *p);
/* The order of the last op that cannot be bound; 0: all may be. Called when the queue is loaded. */
uint64_t writeback_last_by_name(struct writeback *p);
bool writeback_is_to_bind_locked(const struct writeback *p);
/* Gives up the lock meanwhile. The sandbox is asked for the directories that the ops are about. */
void writeback_bind_all_locked(struct writeback *p);
/*
 * `q` of the queue touches the inodes of about->scope from now on. The caller applies the change to
 * the tree. false: no memory, and nothing is changed.
 */
bool writeback_bind_locked(struct writeback *p, struct op *q, const struct change_about *about);
/* The op touches no inode any more. */
void writeback_unbind_locked(struct writeback *p, struct op *q);

/* ---- Ops of an earlier mount by name and number (replay_names.c) ---- */

/* Enters all ops of the queue, in their order. Called before any other op is queued. */
enum err writeback_enter_named(struct writeback *p, struct error *e);
void writeback_leave_named_locked(struct op *q);

/*
 * A file, by its name at that time and by its number. Other names of the file have the same number.
 */
struct followed {
	char *path;                /* allocated; NULL: the name is gone */
	const struct expect *file; /* all zero: the sandbox does not have the file yet */
};

/*
 * The next op of the file behind `before`, which is an op of the file, too. Copies from the file
 * are skipped: they leave it as it is. f->path becomes the file's path at that time, if a directory
 * above it is renamed in between. NULL: none.
 */
struct op *writeback_next_of_file_locked(
	struct writeback *p, const struct op *before, struct followed *f);

/*
 * ---- Staged files (staging.c) ----
 *
 * Writes to a new file, and to one that was emptied to be written anew, go to a file in staging.
 * The commit is deferred until the last handle is closed, or a call waits for the file or moves it.
 * A file that stays open without being copied is committed, too: nothing tells when it will be
 * whole.
 */

/* A path in staging for a new file; NULL without memory. */
char *writeback_new_name(struct writeback *p);
/* `i` was made in staging. `commit` is its commit, under its name in `dir`. */
enum err writeback_stage_new_locked(struct writeback *p, struct inode *i, struct inode *dir,
	const struct change *commit, bool may_replace, struct error *e);
/* From now on writes to `i` go to a new file in staging, which then replaces its contents. */
enum err writeback_stage_over_locked(struct writeback *p, struct inode *i, struct error *e);
/*
 * The path for a change of the contents of `i`, or of the attributes in `set`. *is_replacement:
 * this is the staged file that will replace `i`. NULL: the path of `i` itself.
 */
const char *writeback_staged_path_locked(
	struct writeback *p, struct inode *i, unsigned set, bool *is_replacement);
/* Counts `len` bytes written to the staged file. */
void writeback_staged_more_locked(struct inode *i, size_t len);
/*
 * Queues the commits of files that stay open and are not being copied. Returns when to check again,
 * monotonic.
 */
int64_t writeback_release_open_locked(struct writeback *p, int64_t now_ms);
/* The first queues the deferred ops that touch `i`, the second all of them. */
void writeback_release_locked(struct writeback *p, const struct inode *i);
void writeback_release_all_locked(struct writeback *p);
/*
 * Queues all deferred commits but those over a file that was made empty here: that file's state in
 * the sandbox is known.
 */
void writeback_release_unsure_locked(struct writeback *p);

/* ---- Conflicts (conflict.c) ---- */

/*
 * Queues the refused op again, under another name: the new op is pending instead of `q`. false: the
 * refusal is no conflict of names.
 */
bool writeback_keep_both_locked(
	struct writeback *p, struct op *q, enum err refusal, struct error *why);

/* Whether `again` is `q` under another name, pending instead of `q`. */
bool writeback_is_again(const struct op *q, const struct change *again);
/* Whether `again` can be pending instead of some op, going by its new name. */
bool writeback_may_be_again(const struct change *again);

/* ---- Ops that never leave (elide.c) ---- */

/*
 * `i` is removed; it has no handle and no other name. true: `i` was made here and nothing of it was
 * sent, so the journal has nothing pending of it from now on. The caller then shows `i` as gone and
 * calls writeback_drop_locked().
 */
bool writeback_cancel_locked(struct writeback *p, struct inode *i);
/* Takes all ops that touch `i` out of the queue. `i` is pinned. */
void writeback_drop_locked(struct writeback *p, struct inode *i);

/* ---- Versions that ops are based on (base.c) ---- */

/* After an answer: the next ops of the same files are based on the versions in it. */
void writeback_base_next_locked(struct writeback *p);
/*
 * writeback_base_next_locked() for ops of an earlier mount, which are known by names only.
 * `answered` is still in the queue.
 */
void writeback_base_recovered_locked(
	struct writeback *p, const struct op *answered, const struct change_result *result);
/*
 * Whether `q` is checked against its version. Attributes are set whatever others wrote to the file.
 * But an op that left in an earlier mount and is refused stays refused: so its version is checked
 * only where a later op goes on with the contents.
 */
bool writeback_version_matters_locked(const struct op *q);
/*
 * `carrier` changed nothing in the file whose version it carries. Later ops on the contents take
 * over the version.
 */
void writeback_base_hand_on_locked(struct writeback *p, const struct op *carrier);
/* The file was changed by others. Later ops on the contents run into the conflict themselves. */
void writeback_base_gone_locked(struct writeback *p, const struct op *carrier);
/* writeback_base_gone_locked(), and `carrier` leaves once more without a version. */
void writeback_base_overtaken_locked(struct writeback *p, struct op *carrier);
/* A version that no file has: an op with it is always refused. */
extern const struct version writeback_version_gone;
/* Whether `version` is that one: others changed what an op was based on. The journal keeps it. */
bool writeback_version_is_gone(const struct version *version);
/*
 * writeback_base_gone_locked() after a rename or link, if the answer shows that others changed the
 * file.
 */
void writeback_base_moved_locked(
	struct writeback *p, const struct op *mover, const struct change_result *result);
/* The next op on the contents of the file whose version `carrier` carries; NULL: none. */
struct op *writeback_base_waits_locked(const struct op *carrier);

/* ---- Times (times.c) ---- */

/*
 * Puts the time of a change of the contents of `i`, which is shown next, into the change, so that
 * the sandbox sets the same mtime. Leaves it out where the sandbox's user may not set the mtime.
 * Returns the time.
 */
struct timespec writeback_stamp_locked(struct writeback *p, struct inode *i, struct change *change);
/* The directory shows a time that the sandbox does not have: an op that may wait sets it. */
void writeback_keep_time_lazily_locked(struct writeback *p, struct inode *dir);
/*
 * Before a batch is gathered: queues ops that set the times of directories and of other inodes
 * without contents, behind the ops that moved these times. `is_small_only`: behind small saves
 * only.
 */
void writeback_keep_other_times_locked(struct writeback *p, bool is_small_only);
/*
 * Before a barrier: sets the times left unset behind small saves, because another op that sets one
 * was queued.
 */
void writeback_keep_late_times_locked(struct writeback *p);
/* Before a barrier: sets the times that open files show, so that no close sets them after it. */
void writeback_keep_open_times_locked(struct writeback *p);

/* ---- When a batch is to leave (schedule.c) ---- */

/* The load of the changes and of their contents on the link, in bytes. */
uint64_t writeback_load(uint64_t changes, uint64_t bytes);
/*
 * Whether `q`, a part of a small save, waits for the batch of small saves under way. Meanwhile it
 * leaves in no other batch: else programs that save all the time would occupy the first record.
 */
bool writeback_waits_aside(const struct writeback *p, const struct op *q);
/*
 * Whether there are contents for a whole batch. The second also counts changes: as many as are due
 * at once.
 */
bool writeback_is_full(const struct writeback *p);
bool writeback_is_whole(const struct writeback *p);
/*
 * `is_urgent`: a call waits for one of the ops. false: nothing is due, and *next_ms says when to
 * check again.
 */
bool writeback_is_due_locked(
	struct writeback *p, int64_t now_ms, int64_t *next_ms, bool *is_urgent);

/* ---- Batches (batch.c) ---- */

struct batch {
	struct op **ops;
	struct change *changes; /* one for each op in `ops` */
	struct change_result *results;
	size_t count, room;
	size_t bytes;            /* size of the contents */
	uint64_t first_sequence; /* 0: a plain batch */
	uint64_t ticket; /* a plain batch has this number, by which the sandbox knows a late copy */
	struct closed_batches closed; /* as of the beginning of this attempt */
	struct progress progress;     /* progress of this attempt */
	TAILQ_ENTRY(batch) link;      /* among the plain batches */
	bool is_aside;                /* a batch of small saves, or of the second record */
	bool is_urgent;               /* a user asks for this attempt */
	bool is_repeated;             /* an answer was lost: the changes may have been applied */
	unsigned char *contents;      /* the contents of all changes */
	bool is_ready;     /* `contents` are read, and the journal has that the batch leaves */
	bool is_too_large; /* the way to the sandbox refused its size (batch_cut_locked()) */
	bool has_no_room;  /* the sandbox's disk had no room for the request */
	/* As of the beginning of this attempt, if the batch left alone; else 0. */
	uint64_t departures;
	bool is_alone;    /* no other batch was under way during this attempt */
	bool is_cut;      /* the ops leave again in smaller batches */
	size_t damaged;   /* 1 + the index of an op that cannot be read back; 0: none */
	bool renames;     /* has a rename of an earlier mount, perhaps of a directory */
	struct error why; /* a refusal that is not in one of the results */
};

/* ---- Needs of ops of an earlier mount in their batch (replay_steps.c) ---- */

/* The paths belong to the changes in the queue. */
struct steps {
	struct steps_name *names; /* a hash table, its room a power of two */
	size_t room, count;
	struct steps_note *notes; /* all notes of a name, not only the last one */
	size_t notes_room, notes_count;
	uint64_t *looked_at; /* points to writeback.looked_at */
};

/* Makes room for one step more; false: no memory. */
bool steps_reserve(struct steps *s);
/* Notes `q` as the step of this number, from 1. */
void steps_note(struct steps *s, const struct op *q, size_t step);
/* The last step that leads to `q`, as op_leads_to_from() says; 0: none. */
size_t steps_needed(const struct steps *s, const struct op *q);
/*
 * The last of the first `count` steps that gives the file at the path its place, contents or
 * version (op_tells_file_at()), or renames it or a directory above it; 0: none.
 */
size_t steps_about(const struct steps *s, const char *path, size_t count);
void steps_release(struct steps *s);

/* Takes the ops that may leave now. false: none, and *next_ms says when to check again. */
bool batch_gather_locked(struct writeback *p, struct batch *b, int64_t *next_ms);
/*
 * Reads the contents, and notes in the journal that the changes leave. Without the lock. An error
 * is one of this machine and may be gone at the next attempt, unless b->damaged names an op.
 */
enum err batch_prepare(struct writeback *p, struct batch *b, struct error *e);
/*
 * The file that a rename replaces without its version, where others may have changed the file
 * since. The rename depends on the ops that changed the file before. NULL: none.
 */
struct inode *batch_replaced_late(const struct writeback *p, const struct op *q);
/*
 * An attempt had no answer: from now on the changes are checked against the versions that they are
 * based on.
 */
void batch_is_late_locked(struct writeback *p, struct batch *b);
/* Before each attempt: notes which batches have no copies under way any more. */
void batch_learn_closed_locked(struct writeback *p, struct batch *b);
/* After the answer, or when the batch is given up. */
void batch_close_locked(struct writeback *p, struct batch *b);
void batch_release(struct batch *b);
/*
 * The journal's entries of the changes that were not refused, to be freed; NULL without memory.
 * `results` are there.
 */
uint64_t *batch_numbers(const struct batch *b, size_t *count);

/* ---- Needs between the changes of a batch (needs.c) ---- */

/*
 * The change of this step, from 1, may remove or replace a file, or go on with its contents,
 * without a version of it. Then it needs the earlier changes of that file. `steps` are the steps
 * before this one; NULL: their names are not known, or no op of an earlier mount is left.
 */
void batch_needs_file(struct batch *b, size_t step, const struct steps *steps);
/* For `q` of an earlier mount: whether the batch makes the file as `q`, behind it, expects it. */
bool batch_tells_file_of(const struct batch *b, const struct op *q, const struct steps *steps);
/*
 * batch_tells_file_of(), and the batch then renames a directory above the file: the changes of the
 * file must be answered first.
 */
bool batch_moves_file_of(const struct batch *b, const struct op *q, const struct steps *steps);

/* ---- Repeated batches (resend.c) ---- */

/*
 * Puts the present state of each file into the results of a repeated batch. Fails where the sandbox
 * does not answer. A file that the sandbox cannot find is missing in the results. Without the lock.
 */
enum err batch_find_moved(
	struct writeback *p, const struct call *call, struct batch *b, struct error *e);

/* ---- Contents with an unknown outcome (verify.c) ---- */

/*
 * Drops the versions of contents that turn out to be written already. Before the batch is sent, and
 * without the lock. Fails where the sandbox does not answer.
 */
enum err batch_find_done(
	struct writeback *p, const struct call *call, struct batch *b, struct error *e);
/*
 * For contents refused with a conflict: checks whether they were written meanwhile, since an
 * earlier copy of the request may have been at work until just now. If so, they leave again.
 * Without the lock. Fails where the sandbox does not answer.
 */
enum err batch_find_late(
	struct writeback *p, const struct call *call, struct batch *b, struct error *e);

/* ---- Answers (complete.c) ---- */

void batch_answered_locked(struct writeback *p, struct batch *b);
/* `q`, a change of the batch, leaves once more. */
void batch_put_back_locked(struct writeback *p, struct op *q);
/* Ends the batch: nothing more is done with it. */
void batch_end_locked(struct writeback *p, const struct batch *b);
/* Before batch_answered_locked(), and without the lock: stores the written contents here. */
void batch_keep_contents(struct writeback *p, const struct batch *b);
/* The sandbox applied no change of the batch, for the reason `e`. */
void batch_refused_locked(struct writeback *p, struct batch *b, const struct error *e);
/*
 * One change of the batch is damaged: it fails with all that need it, and the others leave again.
 */
void batch_damaged_locked(struct writeback *p, struct batch *b, const struct error *e);

/* ---- Limits of the way to the sandbox (limits.c) ---- */

/*
 * The request was too large for the way to the sandbox, so no change of the batch has arrived. The
 * changes leave again in batches of half the size. false: the batch cannot be cut.
 */
bool batch_cut_locked(struct writeback *p, struct batch *b);
/* Whether the way accepts one more change of `bytes` with those of the batch. */
bool batch_takes_locked(const struct writeback *p, const struct batch *b, size_t bytes);
/* Whether the next batch leaves only after the answers to those under way. */
bool batch_waits_alone_locked(const struct writeback *p);

/* ---- Failed ops (fail.c) ---- */

/*
 * Before any op leaves the batch, whose changes name others by their place: notes which ops are
 * behind one that is needless.
 */
void note_needless(const struct batch *b);
/* The change of index `n` was refused: it is marked as failed, or queued again. */
void refuse_locked(struct writeback *p, struct batch *b, size_t n);
/*
 * The refused changes of the batch leave the queue, with all ops that make no sense without them.
 * The journal notes them.
 */
void refused_leave_locked(struct writeback *p, const struct batch *b);
/* `q`, which was queued again, leaves, with all ops that make no sense any more. */
void refused_again_locked(struct writeback *p, struct op *q);
/* `q` was answered, and leaves the queue for the state `end`. */
void writeback_leave_locked(struct writeback *p, struct op *q, enum op_state end, const char *why);

/* ---- Failed ops of an earlier mount (inherited.c) ---- */

/* Reports `why` to the next barrier, and to the next close or fsync of the file of `q`. */
void inherited_refused_locked(struct writeback *p, const struct op *q, const struct error *why);
/* From now on the handles of `i` report the failures for its path. */
void inherited_find_locked(struct writeback *p, struct inode *i);
/* Reports to a barrier, once. */
enum err inherited_report_locked(struct writeback *p, struct error *e);
/* Writes one line to the log, if there are any. */
void inherited_log_locked(struct writeback *p);
void inherited_release(struct inherited *h);

/* ---- Senders (send.c) ---- */

/*
 * Starts one more thread, if none is idle and the limit allows one. Without memory the others have
 * more to do.
 */
void senders_wake_locked(struct writeback *p);
void senders_stop(struct writeback *p);
