/*
 * mounts.h - the mounts of sandboxfs that are this user's, and what each says of itself.
 *
 * A mount may be dead (its process is gone) or silent (its process does not answer): nothing here hangs with it. Before
 * threads start.
 */
#pragma once

#include "providers/base/buf.h"
#include "tools/mounted.h"

#include <stddef.h>
#include <stdint.h>

struct mounts {
	struct mounted *list;
	size_t count;
};

#define AUTO_MOUNTS __attribute__((cleanup(mounts_release)))

/* In the order in which they were mounted; of root everybody's. One that another covers is not among them. */
enum err mounts_find(struct mounts *out, struct error *e);
/* Drops those of other users, which root has found as well. */
void mounts_keep_own(struct mounts *m);
void mounts_release(struct mounts *m);

/* The one that is on `dir` or above it; ERR_NOT_FOUND: there is none. */
enum err mounts_at(
	const struct mounts *m, const char *dir, const struct mounted **out, struct error *e);

enum mount_state {
	MOUNT_ALIVE,
	MOUNT_DEAD,
	MOUNT_SILENT,
	MOUNT_CLOSED /* to us */,
	MOUNT_UNUSED /* has no sandbox before its first use */
};

/* A mount answers this from memory, but for the way to it, which may ask the sandbox first (cache/metadata.c, ROOT_WAIT_MS). */
#define MOUNTS_STATUS_MS 10000
/* Root waits no longer for another user's mount. */
#define MOUNTS_FOREIGN_MS 2000

/* The answer of one mount. */
struct mount_answer {
	enum mount_state state;
	struct buf text; /* .sandbox/status of a mount that is MOUNT_ALIVE, else empty */
};

/*
 * Asks all mounts at once; (*out)[i] is the answer of the i-th. No longer than `limit_ms` in all,
 * negative: the limits above. In a user namespace the mount table also has mounts of others, which
 * let nobody in: these are dropped.
 */
enum err mounts_ask(struct mounts *m, int64_t limit_ms, struct mount_answer **out, struct error *e);
void mounts_answers_free(struct mount_answer *answers, const struct mounts *m);

/* "mounted", "dead", "silent", "closed", "unused". */
const char *mount_state_word(enum mount_state state);
/* What to do about one that is not alive. */
enum err mounts_explain(const struct mounted *m, enum mount_state state, struct error *e);

/* Sends what is pending on one that is alive: as drain_send() says. */
enum err mounts_send(const struct mounted *m, int64_t limit_ms, struct error *e);
/*
 * Returns when its sandbox has everything, and what it knows of that is to be asked for again: as drain_send() says. An
 * error also where it is not alive. `limit_ms` is on all of it.
 */
enum err mounts_sync(const struct mounted *m, int64_t limit_ms, struct error *e);
