/*
 * options.h - how a sandbox is to be cached.
 */
#pragma once

#include "providers/provider.h"

struct cache;

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
		contents_dir; /* where contents are kept, of a remote one (block_store.h), and what was shown (shown.h); NULL: in memory */
	uint64_t contents_max; /* bytes it may take; 0: chosen there */
	/* Of the change stream (watch_request). */
	unsigned char watcher[WATCHER_ID_SIZE];
	int64_t stream_idle_ms; /* the change stream is let go after so long without use (lease.h); 0: 60 s */
	const struct clocks *clocks; /* cache/session/clocks.h; NULL: the system's */
};

/* How long a call may go without progress: for struct call. */
int64_t cache_progress_ms(const struct cache *c);

/* Where commands may leave files that no mount shows: a directory that only has to be made. NULL: nowhere. */
const char *cache_staging(const struct cache *c);
