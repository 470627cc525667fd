/*
 * journals.h - the journals on this machine: changes that sandboxes do not have yet
 * (cache/journal/journal.h).
 */
#pragma once

#include "cache/journal/journal.h"

struct journal_found {
	char *name;   /* the last part of `dir`, the name for people */
	char *dir;    /* absolute */
	char *source; /* PROVIDER:ID:/DIRECTORY; NULL: the name does not contain it */
};

struct journals {
	struct journal_found *list;
	size_t count;
};

#define AUTO_JOURNALS __attribute__((cleanup(journals_release)))

/* The journals in the user's directory for them, or in `dir`, by name. */
enum err journals_find(struct journals *out, const char *dir, struct error *e);
void journals_release(struct journals *j);

/* Finds a journal by its name or its source. ERR_NOT_FOUND has a remedy. */
enum err journals_named(const struct journals *j, const char *name,
	const struct journal_found **out, struct error *e);

/* PROVIDER:ID:DIRECTORY as the journal's mount had it, for free(). NULL: it does not say. */
char *journal_source(const struct journal_found *j);

/* ERR_BUSY: a process has the journal; the error names it. */
enum err journal_check_left(const struct journal_found *j, struct error *e);
