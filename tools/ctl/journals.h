/*
 * journals.h - the journals on this machine: changes that sandboxes do not have yet (cache/journal/journal.h).
 */
#pragma once

#include "cache/journal/journal.h"

struct journal_found {
	char *name;   /* the last part of `dir`, by which people know it */
	char *dir;    /* absolute */
	char *source; /* PROVIDER:ID:/DIRECTORY; NULL: the name does not tell */
};

struct journals {
	struct journal_found *list;
	size_t count;
};

#define AUTO_JOURNALS __attribute__((cleanup(journals_release)))

/* Those in the user's directory for them, or in `dir`, by name. */
enum err journals_find(struct journals *out, const char *dir, struct error *e);
void journals_release(struct journals *j);

/* By its name or its source. ERR_NOT_FOUND: the way out is told. */
enum err journals_named(const struct journals *j, const char *name,
	const struct journal_found **out, struct error *e);

/* ERR_BUSY: a process has it, which is named. */
enum err journal_check_left(const struct journal_found *j, struct error *e);
