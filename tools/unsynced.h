/*
 * unsynced.h - the changes that a mount has not sent yet, as in its .sandbox/status.
 */
#pragma once

#include "providers/base/buf.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct unsynced {
	int64_t changes, bytes; /* pending changes and their bytes */
	int64_t leaving;        /* about this many of these bytes have been sent */
	int64_t refused;        /* changes that the sandbox refused */
	/* the directory that keeps them for the next mount; "": they end with this mount */
	char journal[PATH_MAX];
};

/* false: the text is no status of a mount. */
bool unsynced_parse(struct unsynced *out, const struct buf *status);

/*
 * Reads the status of the mount on `dir`; returns an errno. Hangs where the mount's process hangs:
 * see apart.h.
 */
int unsynced_read(struct unsynced *out, const char *dir);

/* "3 changes, 4.1 MB". Returns `words`. */
#define UNSYNCED_WORDS_MAX 64
const char *unsynced_words(const struct unsynced *o, char words[UNSYNCED_WORDS_MAX]);
