/*
 * read_ahead_file.h - one file being read ahead: what read_ahead.c and read_ahead_file.c share; no
 * other file includes it.
 *
 * Functions that end in _locked expect read_ahead.lock to be held.
 */
#pragma once

#include "cache/read/fetch.h"
#include "cache/read/read_ahead.h"

#include <pthread.h>
#include <sys/queue.h>

#define READAHEADS_MAX 16
/*
 * Windows in bytes: a read of the kernel's largest size fits the first; the last covers 0.7 s of
 * 100 Mbit/s.
 */
#define READAHEAD_WINDOW_FIRST ((uint64_t)VERB_DATA_MAX)
#define READAHEAD_WINDOW_MAX   ((uint64_t)8 * 1024 * 1024)
#define READAHEAD_WINDOWS_MAX  ((uint64_t)32 * 1024 * 1024)
/*
 * Bytes kept behind the reader: the kernel's reads of one file run side by side and arrive in any
 * order.
 */
#define READAHEAD_BEHIND  ((uint64_t)2 * VERB_DATA_MAX)
#define READAHEAD_IDLE_MS 5000

/* Verified bytes of a file. */
struct chunk {
	STAILQ_ENTRY(chunk) link;
	uint64_t offset;
	size_t len;
	unsigned char bytes[];
};

/* A place for a stream: free while `inode` is NULL. */
struct read_ahead_file {
	struct read_ahead *ahead;
	struct inode *inode;         /* pinned */
	STAILQ_HEAD(, chunk) chunks; /* without gaps, in order */
	bool no_atime;               /* the first reader asked for this */
	uint64_t start;              /* where the chunks begin */
	uint64_t end;                /* where the chunks end */
	bool at_end;                 /* the chunks reach the end of the file */
	uint64_t reader;             /* the furthest end of a read so far */
	uint64_t window, grown_at;   /* grown_at: `reader` when the window last grew */
	int64_t read_ms;             /* the time of the last read */
	unsigned readers;            /* reads that wait here */
	bool has_version;
	struct attr version;
	struct asked asked; /* the time of the first question */
	bool dropped;       /* the stream is not used any more */
	bool running;       /* the thread is at work */
	bool has_thread;
	pthread_t thread;
	struct cancel cancel;
	struct progress moved; /* the progress of the thread's calls */
	struct error error;    /* why the stream ended early */
	struct chunk *filling; /* the thread's own: the chunk that arrives */
};

struct read_ahead {
	struct cache *cache;
	pthread_mutex_t lock; /* guards what follows, and read_next of every inode */
	pthread_cond_t changed;
	uint64_t windows; /* the sum of all windows */
	struct read_ahead_file streams[READAHEADS_MAX];
};

/* The stream's thread: fetches until the end, or until the stream is dropped or has no reader. */
void *read_ahead_file_run(void *stream);

/* The stream is not used any more; its thread, if it has one, comes to an end. */
void read_ahead_file_drop_locked(struct read_ahead_file *s);
/* Frees the place of a dropped stream once no read is in it. */
void read_ahead_file_rest_locked(struct read_ahead_file *s);
void read_ahead_file_add_locked(struct read_ahead_file *s, struct chunk *chunk);
/* Drops chunks that are far enough behind the reader. */
void read_ahead_file_trim_locked(struct read_ahead_file *s);
