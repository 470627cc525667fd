/*
 * shell_pair.h - what the tests of providers/shell*.c work on: two equal trees.
 *
 * In one the shell does what is asked, in the other the helper: what the helper answers is what the shell has to answer.
 * A claim made with OVER_SHELLS() is tested over sh, and with SHELLS=all in the environment over each shell in turn.
 */
#pragma once

#include "providers/helper/helper.h"
#include "providers/shell.h"
#include "tests/support/host_provider.h"
#include "tests/support/scratch.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

struct pair {
	const char *shell;
	struct scratch scratch; /* holds both */
	struct host_provider host;
	struct root helper;
	struct scratch by_shell, by_helper; /* the shown trees */
};

void pair_make(struct pair *w, const char *shell);
void pair_remove(struct pair *w);
void pair_over_every_shell(void (*body)(struct pair *));
bool pair_is_at_length(void);
bool pair_is_busybox(const struct pair *w);

/* From here on the test is somebody whom the kernel refuses things. Each test is a process of its own. */
void pair_become_nobody(void);

#define OVER_SHELLS(suite, claim)                                                                  \
	static void claim(struct pair *w);                                                         \
	Test(suite, claim)                                                                         \
	{                                                                                          \
		pair_over_every_shell(claim);                                                      \
	}                                                                                          \
	static void claim(struct pair *w)

/* Only with SHELLS=all: for what OVER_SHELLS() shows in much less time. */
#define OVER_SHELLS_AT_LENGTH(suite, claim)                                                        \
	static void claim(struct pair *w);                                                         \
	Test(suite, claim)                                                                         \
	{                                                                                          \
		if (!pair_is_at_length())                                                          \
			cr_skip_test("SHELLS=all has it");                                         \
		pair_over_every_shell(claim);                                                      \
	}                                                                                          \
	static void claim(struct pair *w)

#define OVER_SHELLS_AS_NOBODY(suite, claim)                                                        \
	static void claim(struct pair *w);                                                         \
	Test(suite, claim)                                                                         \
	{                                                                                          \
		pair_become_nobody();                                                              \
		pair_over_every_shell(claim);                                                      \
	}                                                                                          \
	static void claim(struct pair *w)

/* One of everything that a tree can hold. */
void pair_make_fixture(const struct scratch *tree);
/* The same in both trees, and a file "t" in both stagings. */
void pair_make_fixtures(struct pair *w);

/* By the shell; the batch itself must succeed. */
void pair_apply(
	struct pair *w, const struct change *changes, size_t count, struct change_result *out);
struct change_result pair_apply_one(struct pair *w, struct change change);

#define OWNERLESS .uid = CHANGE_NO_OWNER, .gid = CHANGE_NO_OWNER
#define MEGABYTE  ((size_t)1024 * 1024)

/* Bytes without a pattern, the same for the same seed; to be freed. */
unsigned char *pair_noise(size_t len, uint32_t seed);
