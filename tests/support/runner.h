/*
 * runner.h - runs the unit tests of a program instead of Criterion's own runner.
 *
 * Criterion executes its program anew for each test, and to link some forty libraries takes longer
 * than most tests. Here a test is a child of the one process that was linked. A test that fails is
 * the same in both.
 *
 *	test-LAYER [--filter=PATTERN] [--jobs=N] [--fail-fast] [--list]
 *
 * PATTERN is compared with SUITE/TEST (fnmatch(3), extended). TAP on standard output; why a test
 * failed, with the name of the test, on standard error.
 */
#pragma once

#include <stdbool.h>

/* Whether a test is to run whose suite's name begins with `suite`. For runner_begins(). */
bool runner_has(const char *suite);

/*
 * Before the first test and after the last, in the process that starts the tests. A program that
 * has them defines them.
 */
void runner_begins(void) __attribute__((weak));
void runner_ends(void) __attribute__((weak));
