/*
 * retry.h - operations by path that met a file which had just been replaced.
 *
 * A program opens a path, or asks for the attributes of one. The kernel looks the name up and sends
 * the operation for the file that it found. Where a rename has replaced that file meanwhile the
 * answer is ESTALE: the kernel looks the path up again and repeats the operation, once. A second
 * ESTALE reaches the program, which never gets one from a local disk.
 *
 * So the thread that was answered ESTALE has a second try that is certain: the file that its next
 * lookup finds counts as open until the operation arrives, for ten seconds at most. A rename here
 * keeps such a file as any other open one. Where the sandbox's programs replace it, the attributes
 * that the lookup brought are the answer.
 *
 * Any function may be called from any thread. A call without an asker (call.h) has no second try.
 */
#pragma once

#include "cache/tree/tree.h"

#include "providers/base/call.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

struct cache; /* cache/session/session.h */

/* The time limit for the lookup, which may have to ask, and the one for the operation after it. */
#define RETRY_LOOKUP_MS 60000
#define RETRY_FOUND_MS  10000

/* How many askers may have a second try at a time. */
#define RETRIES_MAX 32
struct retry {
	pid_t asker; /* 0: the place is free */
	int64_t until_ms;
	/* The inode of the second lookup, which counts as open; NULL: none so far. */
	struct inode *found;
};

struct retries {
	pthread_mutex_t lock; /* guards `all` */
	atomic_uint count;    /* the number of places that are not free */
	struct retry all[RETRIES_MAX];
};

enum err retries_new(struct retries **out, struct error *e);
/* The cache is not used any more, so that nothing is closed. Takes NULL. */
void retries_free(struct retries *r);

/*
 * The answer to an operation on an inode, which is passed on: ERR_STALE gives the asker a second
 * try. So does ERR_NOT_FOUND, which becomes ERR_STALE: only a lookup may say that no file has the
 * name.
 */
enum err retry_answer(struct cache *c, const struct call *call, enum err kind, struct error *e);
/* As retry_answer(), and any other answer ends the second try. */
enum err retry_last_answer(
	struct cache *c, const struct call *call, enum err kind, struct error *e);

/* A lookup found `i`. false: the asker has a second try, and `i` was replaced meanwhile. */
bool retry_finds(struct cache *c, const struct call *call, struct inode *i);
/* A lookup found that there is no such name. */
void retry_finds_none(struct cache *c, const struct call *call);
/* Whether `i` is what the asker's second lookup found. */
bool retry_found(struct cache *c, const struct call *call, const struct inode *i);
