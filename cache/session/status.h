/*
 * status.h - the state of a cache, for `.sandbox/status`.
 */
#pragma once

#include "cache/session/last_errors.h"

#include "providers/provider.h"

/* A change that was acknowledged, and then refused by the sandbox: it is not done, and not tried again. */
#define CACHE_FAILED_TOLD 16
struct cache_failed_change {
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
	struct cache_failed_change parked[CACHE_FAILED_TOLD]; /* of these the first */
	size_t failed_told;
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
	bool is_gone;                                 /* the sandbox, for good */
	struct cache_error errors[CACHE_ERRORS_KEPT]; /* the last ones, newest first */
	size_t errors_count;
	struct foreign_report foreign; /* answers of somebody in between */
};

struct cache;

/* The room that the sandbox last told of; asks nothing. */
void cache_space(struct cache *c, struct space *out);
