/*
 * outside_there.h - scripts that look at a sandbox elsewhere, with names as $1 and $2; internal to
 * outside*.c.
 */
#pragma once

#include "tests/providers/contract.h"

/* Whether the shown directory is on this machine. */
static inline bool is_here(const struct subject *s)
{
	return s->tree.fd >= 0;
}

struct ran there_with(const struct subject *s, const char *script, const char *one, const char *two,
	const void *input, size_t len);
/* Fails the test where the script did not end with 0. */
void must_have_run(const struct ran *r, const char *script);
void do_there(const struct subject *s, const char *script, const char *one, const char *two);
/* The script's output, with a NUL behind it, to be freed; `len` may be NULL. */
char *say_there(const struct subject *s, const char *script, const char *path, size_t *len);
/* Whether the script ended with 0. */
bool is_so_there(const struct subject *s, const char *script, const char *path);
