/*
 * options.h - how a sandbox is to be cached.
 */
#pragma once

#include "providers/provider.h"

struct cache;

struct cache_options {
	/* The facts of the sandbox as just received, copied; NULL: requested here. */
	const struct sandbox_info *sandbox;
	int64_t attr_ms;  /* how long an attribute is valid; -1: the default (1000) */
	int64_t entry_ms; /* how long a name is valid; -1: the default (1000) */
	int64_t progress_ms;
	/*
	 * The time that each renewal gives a sandbox that has an end; 0: the default (lifetime.h).
	 */
	int64_t lifetime_s;
	/*
	 * The sandbox user is root and owners are shown as they are. A new file belongs to the user
	 * on this machine who made it, as on a local disk, and the kernel here checks permissions.
	 * Else files belong to the sandbox user, and its permissions are checked.
	 */
	bool owners_from_caller;
	/*
	 * A round trip costs more than the bytes in it. Directories are listed with what is below
	 * them (walk.h), reads run ahead (read_ahead.h), and writes are sent later (writeback.h).
	 */
	bool is_remote;
	/*
	 * Only with is_remote: writes are not sent later; a change is in the sandbox when its call
	 * returns.
	 */
	bool write_through;
	bool close_waits; /* a close of a written file returns when the sandbox has the contents */
	bool excl_remote; /* the sandbox decides whether a name is free for an exclusive create */
	/* Where the journal of a remote sandbox is (journal.h); NULL: it ends with the process. */
	const char *journal_dir;
	uint64_t journal_max; /* bytes that the journal may take; 0: chosen there */
	/* A change that finds the journal full waits only while the sandbox can be reached. */
	bool full_fails;
	/* Shown to another process that wants the same journal; NULL: not shown. */
	const char *mount;
	/*
	 * Where contents of a remote sandbox are kept (block_store.h), with the attributes that
	 * were shown (shown.h); NULL: in memory.
	 */
	const char *contents_dir;
	uint64_t contents_max; /* bytes that the contents may take; 0: chosen there */
	/* The ID of this mount's stream of changes (watch_request). */
	unsigned char watcher[WATCHER_ID_SIZE];
	/* The stream of changes ends after this long without use (lease.h); 0: 60 s. */
	int64_t stream_idle_ms;
	const struct clocks *clocks; /* cache/session/clocks.h; NULL: the system's */
};

/* How long a call may go without progress: for struct call. */
int64_t cache_progress_ms(const struct cache *c);

/*
 * A directory where commands may leave files that no mount shows. It may have to be made. NULL:
 * there is none.
 */
const char *cache_staging(const struct cache *c);
