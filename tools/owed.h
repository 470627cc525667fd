/*
 * owed.h - what a mount has not sent yet, as its .sandbox/status says.
 */
#pragma once

#include "providers/base/buf.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct owed {
	int64_t changes, bytes; /* what the sandbox does not have yet */
	int64_t leaving;        /* about so many of these bytes have left */
	int64_t refused;        /* changes that the sandbox did not take */
	char journal
		[PATH_MAX]; /* the directory that keeps them for the next mount; "": they end with this one */
};

/* false: it is not what a mount says of itself. */
bool owed_parse(struct owed *out, const struct buf *status);

/* Asks the mount on `dir`; returns an errno. Where its process hangs, so does this: see apart.h. */
int owed_read(struct owed *out, const char *dir);

/* "3 changes, 4.1 MB". Returns `words`. */
#define OWED_WORDS_MAX 64
const char *owed_words(const struct owed *o, char words[OWED_WORDS_MAX]);
