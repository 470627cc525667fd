/*
 * cache.h - what we know of the sandbox and what we owe it.
 *
 * The only caller of a provider. Every read of metadata goes through one tree of inodes and names (cache/tree/tree.h), every
 * change through one place (cache/write/remote.h), and every verb to the provider takes a batch.
 *
 * Three rules for locks: none is held across a provider call; they nest only downwards in the layer order; every wait has
 * a deadline, and an interrupted request gives up. All functions may be called from any thread. Inode pointers handed out
 * are references that the caller puts back with cache_forget().
 */
#pragma once

#include "providers/provider.h"

struct cache;
struct inode; /* cache/tree/tree.h */
struct stats; /* cache/session/stats.h */

struct cache_options {
	const struct sandbox_info *sandbox; /* as just asked, copied; NULL: asked here */
	int64_t attr_ms; /* how long an attribute is believed without asking; -1: the default (1000) */
	int64_t entry_ms; /* the same for names */
	int64_t progress_ms;
	int64_t lifetime_s; /* what to give a sandbox that has an end, each time; 0: the default (lifetime.h) */
	/*
	 * The sandbox user is root and owners are shown as they are: a new file belongs to whoever on this machine made it,
	 * as on a local disk, and the kernel here judges permissions. Else the sandbox user owns it and is judged by.
	 */
	bool owners_from_caller;
	/*
	 * A round trip costs more than what is carried: directories are listed with what is below them (walk.h), reads run
	 * ahead (read_ahead.h), writes follow behind (writeback.h).
	 */
	bool is_remote;
	bool write_through; /* but nothing does: a change is in the sandbox when its call returns */
	bool close_waits;   /* a close of what was written returns when the sandbox has it */
	bool excl_remote; /* whether a name is free for what must be new is asked, not decided here */
	const char *
		journal_dir; /* of a remote one: where changes are kept (journal.h); NULL: with the process */
	uint64_t journal_max; /* bytes it may take; 0: chosen there */
	bool full_fails; /* a change that finds it full waits only while the sandbox can be reached */
	const char *mount; /* told to who wants the same journal; NULL: shown nowhere */
	const char *
		contents_dir; /* of a remote one: where contents are kept (block_store.h); NULL: in memory */
	uint64_t contents_max; /* bytes it may take; 0: chosen there */
	/* Of the change stream (watch_request). */
	unsigned char watcher[WATCHER_ID_SIZE];
	int64_t stream_idle_ms; /* the change stream is let go after so long without use (lease.h); 0: 60 s */
	const struct clocks *clocks; /* cache/session/clocks.h; NULL: the system's */
};

/*
 * What the cache tells the kernel's view of it, from any thread: the receiver waits for no request and does not call back,
 * since locks of the cache may be held: it queues.
 */
struct cache_observer {
	/* Forget attributes; `pages`: contents too. `ino` is what the inode was handed out as. */
	void (*inode_changed)(void *context, struct inode *inode, bool pages);
	/* Likewise the attributes of cache_lend_attr(): they are to be forgotten before whoever changed something is answered. */
	void (*inode_taken_back)(void *context, struct inode *inode);
	/* Forget the name. `is_gone`: the sandbox does not have it any more. */
	void (*name_changed)(void *context, struct inode *dir, const char *name, bool is_gone);
	/* Everything that was handed out is in doubt: cache_take_outdated() says what that is. */
	void (*all_outdated)(void *context);
	/* Somebody else changed something in the sandbox; `kind` and `path` as providers/verbs.h has them. */
	void (*changed)(void *context, enum watch_kind kind, const char *path, bool is_dir);
	void *context;
};

/*
 * What the cache asks of a sandbox first, under these options: a provider may begin with it when it connects
 * (provider_config.opening). `first` NULL: nothing is known beforehand.
 */
struct watch_request cache_opening(const struct cache_options *options);

enum err cache_new(struct cache **out, struct provider *p, const struct cache_options *options,
	const struct call *call, struct error *e);
void cache_free(struct cache *c);
/* NULL: nobody. When it returns the one before is not called any more. */
void cache_observe(struct cache *c, const struct cache_observer *observer);

const struct sandbox_info *cache_sandbox(const struct cache *c);
const struct provider_ops *cache_provider(const struct cache *c);
/* A request came: the sandbox is in use (lifetime.h). */
void cache_used(struct cache *c);
/* It is in use until cache_let(): somebody has a file open for writing. */
void cache_hold(struct cache *c);
void cache_let(struct cache *c);

/* Until cache_unlisten() somebody wants to hear of every change: the stream of them is not let go. */
void cache_listen(struct cache *c);
void cache_unlisten(struct cache *c);

/* How long a call may go without progress: for struct call. */
int64_t cache_progress_ms(const struct cache *c);

/*
 * Runs a command in the sandbox: sends everything pending first (on failure the command does not run and
 * result->may_have_run is false), and afterwards doubts everything known, since the command may have changed it.
 */
enum err cache_execute(struct cache *c, const struct call *call,
	const struct execute_request *request, execute_sink sink, void *context,
	struct execute_result *result, struct error *e);

/*
 * Runs a command of our own, which changes nothing that the mount shows: neither is anything sent before nor doubted after.
 */
enum err cache_execute_own(struct cache *c, const struct call *call,
	const struct execute_request *request, execute_sink sink, void *context,
	struct execute_result *result, struct error *e);
/* A command that cache_execute() did not wait for has ended: what is known is doubted as after one that it did. */
void cache_command_ended(struct cache *c);
/* Where commands may leave files that no mount shows: a directory that only has to be made. NULL: nowhere. */
const char *cache_staging(const struct cache *c);
/*
 * A word for names in there. Mounts with the same journal have the same one, one after the other;
 * the mount before was killed where cache_follows_killed() says so.
 */
#define CACHE_WORD_SIZE (2 * JOURNAL_ID_SIZE + 1)
void cache_word(const struct cache *c, char out[CACHE_WORD_SIZE]);
bool cache_follows_killed(const struct cache *c);

/* Where a port of the sandbox is reached from elsewhere, as provider_url() says. */
enum err cache_port_url(
	struct cache *c, const struct call *call, unsigned port, struct buf *out, struct error *e);

/* Returns when the sandbox has every change made so far, or with the first error. */
enum err cache_sync(struct cache *c, const struct call *call, struct error *e);

/* Doubts everything known: the next question goes to the sandbox, and the observer is told of all that was handed out. */
void cache_doubt_all(struct cache *c);
/*
 * The same, for one who waits for it and was just answered: where the kernel has much, and a stream
 * lives, an audit comes first, and the kernel keeps what that confirms.
 */
void cache_check_all(struct cache *c, const struct call *call);

/* An error that a person should hear of. */
#define CACHE_ERRORS_KEPT 8
struct cache_error {
	char path[256]; /* what it is about; cut where it is longer */
	char text[sizeof((struct error *)0)->text];
	int64_t age_ms;
};

/* A change that was acknowledged, and then refused by the sandbox: it is not done, and not tried again. */
#define CACHE_PARKED_TOLD 16
struct cache_parked {
	enum change_op op;
	char path[256]; /* as in struct cache_error */
	char error[200];
};

/* The state of the change stream. While the stream is live, metadata here needs no other check. */
enum cache_stream {
	CACHE_STREAM_NONE,   /* no stream is needed: a sandbox on this machine, or no caching */
	CACHE_STREAM_IDLE,   /* an unused mount has none; the next use begins one */
	CACHE_STREAM_BEGINS, /* asked for, not ready */
	CACHE_STREAM_LIVE,
	CACHE_STREAM_BROKEN, /* failed; use begins another one within a minute */
};

/* Facts for `.sandbox/status`. */
struct cache_status {
	uint64_t pending_changes, pending_bytes; /* what the sandbox does not have yet */
	uint64_t leaving_bytes;                  /* about so many of these have left */
	uint64_t parked_changes;
	uint64_t refused_inherited; /* changes of an earlier mount, refused since this one began */
	struct cache_parked parked[CACHE_PARKED_TOLD]; /* of these the first */
	size_t parked_told;
	const char *
		journal_dir; /* where what is pending and parked stands; lives as long as the cache; NULL: in memory */
	uint64_t inodes_known, names_known;
	enum cache_stream stream;
	char stream_why[sizeof((struct error *)0)->text]; /* CACHE_STREAM_BROKEN: the failure */
	uint64_t unwatched_dirs; /* directories whose changes the stream does not report */
	const char *
		contents_dir; /* where contents are kept, of all mounts of this user; NULL: in memory */
	uint64_t contents_bytes, contents_max;
	int64_t expires_s;                            /* until the sandbox ends; -1: it does not */
	struct cache_error errors[CACHE_ERRORS_KEPT]; /* the last ones, newest first */
	size_t errors_count;
	struct foreign_report foreign; /* answers of somebody in between */
};

void cache_get_status(struct cache *c, struct cache_status *out);

/* What it counts, for `.sandbox/stats`; its callers may count in it. It lives as long as the cache. */
struct stats *cache_stats(struct cache *c);
