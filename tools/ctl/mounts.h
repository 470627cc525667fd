/*
 * mounts.h - this user's mounts of sandboxfs, and the status of each.
 *
 * A mount may be dead (its process is gone) or silent (its process does not answer): no function
 * here hangs on such a mount. To be used before threads start.
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

/*
 * In the order in which they were mounted; for root the mounts of all users. A mount that another
 * covers is left out.
 */
enum err mounts_find(struct mounts *out, struct error *e);
/* Mounts that others cover are in it, too. */
enum err mounts_find_all(struct mounts *out, struct error *e);
/* Drops the mounts of other users, which root has found, too. */
void mounts_keep_own(struct mounts *m);
void mounts_release(struct mounts *m);

/* The mount on `dir` or above it; ERR_NOT_FOUND: there is none. */
enum err mounts_at(
	const struct mounts *m, const char *dir, const struct mounted **out, struct error *e);

enum mount_state {
	MOUNT_ALIVE,
	MOUNT_DEAD,
	MOUNT_SILENT,
	MOUNT_CLOSED /* for us */,
	MOUNT_UNUSED /* without a sandbox before its first use */
};

/*
 * A mount answers this from memory. Only the way to it may need the sandbox first
 * (cache/metadata.c, ROOT_WAIT_MS).
 */
#define MOUNTS_STATUS_MS 10000
/* Root does not wait longer for another user's mount. */
#define MOUNTS_FOREIGN_MS 2000

/* The answer of one mount. */
struct mount_answer {
	enum mount_state state;
	struct buf text; /* .sandbox/status of a mount that is MOUNT_ALIVE; otherwise empty */
};

/*
 * Asks all mounts at once; (*out)[i] is the answer of the i-th. `limit_ms` is the limit in all;
 * negative: the limits above. In a user namespace the mount table also has mounts of others, which
 * cannot be entered: these are dropped.
 */
enum err mounts_ask(struct mounts *m, int64_t limit_ms, struct mount_answer **out, struct error *e);
void mounts_answers_free(struct mount_answer *answers, const struct mounts *m);

/* "mounted", "dead", "silent", "closed", "unused". */
const char *mount_state_word(enum mount_state state);
/* The error for a mount that is not alive, with a remedy. */
enum err mounts_explain(const struct mounted *m, enum mount_state state, struct error *e);

/* Sends the pending changes of a mount that is alive, as drain_send(). */
enum err mounts_send(const struct mounted *m, int64_t limit_ms, struct error *e);
/*
 * Returns when the mount's sandbox has everything and the mount has revalidated its cache;
 * otherwise as drain_send(). A mount that is not alive is an error. `limit_ms` is for all of it.
 */
enum err mounts_sync(const struct mounted *m, int64_t limit_ms, struct error *e);
