/*
 * teardown.h - an expectation that also counts in a suite's .fini.
 *
 * Criterion prints an assertion that fails there and lets the test pass. A program that ends in its .fini fails the run.
 */
#pragma once

#include <stdbool.h>

/* Unless `holds`: prints the words and ends the test's process. */
__attribute__((format(printf, 2, 3))) void teardown_expect(bool holds, const char *format, ...);
