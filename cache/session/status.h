/*
 * status.h - the state of a cache, for `.sandbox/status`.
 */
#pragma once

#include "cache/session/last_errors.h"

#include "providers/provider.h"

/*
 * A change that was acknowledged, and then refused by the sandbox: it is not done, and not tried
 * again.
 */
#define CACHE_FAILED_MAX 16
struct cache_failed_change {
	enum change_op op;
	char path[256]; /* as in struct cache_error */
	char error[200];
};

/*
 * The state of the stream of changes. While the stream is live, metadata here needs no other check.
 */
enum cache_stream {
	CACHE_STREAM_NONE,   /* no stream is needed: a sandbox on this machine, or no caching */
	CACHE_STREAM_IDLE,   /* an unused mount has none; the next use begins one */
	CACHE_STREAM_BEGINS, /* requested, not ready */
	CACHE_STREAM_LIVE,
	CACHE_STREAM_BROKEN, /* failed; use begins another one within a minute */
};

/* Facts for `.sandbox/status`. */
struct cache_status {
	uint64_t pending_changes, pending_bytes; /* acknowledged, and not applied by the sandbox */
	uint64_t leaving_bytes;                  /* about this many of pending_bytes have left */
	uint64_t failed_changes;
	/* Changes of an earlier mount that were refused since this one began. */
	uint64_t refused_inherited;
	struct cache_failed_change failed[CACHE_FAILED_MAX]; /* the first of the failed changes */
	size_t failed_count;
	/*
	 * Where the pending and the failed changes are; lives as long as the cache; NULL: in
	 * memory.
	 */
	const char *journal_dir;
	uint64_t inodes_known, names_known;
	enum cache_stream stream;
	char stream_why[sizeof((struct error *)0)->text]; /* CACHE_STREAM_BROKEN: the failure */
	uint64_t unwatched_dirs; /* directories whose changes the stream does not report */
	/* Where contents are kept, of all mounts of this user; NULL: in memory. */
	const char *contents_dir;
	uint64_t contents_bytes, contents_max;
	int64_t expires_s; /* seconds until the sandbox ends; -1: it does not end */
	bool is_gone;      /* the sandbox is gone, for good */
	struct cache_error errors[CACHE_ERRORS_KEPT]; /* the last errors, newest first */
	size_t errors_count;
	struct foreign_report foreign; /* answers that a server in between gave */
};

struct cache;

/* The room that the sandbox last reported. The sandbox is not asked. */
void cache_space(struct cache *c, struct space *out);
