/*
 * shown.h - a root of the helper's verbs in a scratch directory, for tests of those verbs.
 *
 * Below the scratch directory lie `tree` (the shown directory), `staging` and `outside` (whose
 * files must stay unchanged). Every function fails the test by itself where the test is not about
 * it.
 */
#pragma once

#include "providers/helper/helper.h"
#include "tests/support/scratch.h"

struct shown {
	struct scratch scratch;
	struct root root;
};

/*
 * Opens a root with staging; the process' umask becomes 0. `walk`: as on a kernel without openat2.
 */
void shown_make(struct shown *s, bool walk);
void shown_remove(struct shown *s);
/*
 * cr_skip_test() with the scratch directory removed: criterion does not call .fini for a skipped
 * test.
 */
#define shown_skip(s, ...)                                                                         \
	do {                                                                                       \
		shown_remove(s);                                                                   \
		cr_skip_test(__VA_ARGS__);                                                         \
	} while (0)

/* Applies one change that is not recorded. */
struct change_result shown_apply(const struct shown *s, const struct change *c);

/* lstat(2) of a path below the scratch directory. */
struct attr shown_attr(const struct shown *s, const char *path);
bool shown_exists(const struct shown *s, const char *path);

/*
 * Runs `act` in a child process as an ordinary user (65534) with a root of its own on the same
 * directories, which the child owns. Fails the test unless `act` returns 0.
 */
void shown_as_nobody(struct shown *s, int (*act)(struct shown *s));

/*
 * Swaps two names below the scratch directory back and forth from a thread of its own, as a hostile
 * process would. The swaps have begun when shown_swap_start() returns, and end with
 * shown_swap_stop().
 */
struct swapper;
struct swapper *shown_swap_start(const struct shown *s, const char *one, const char *other);
void shown_swap_stop(struct swapper *w);
