/*
 * say.h - every line for people that a program of this folder prints, in which text of others may
 * stand.
 *
 * The line as a whole is made harmless (providers/base/harmless.h), so no part of it can forge a
 * second one or reach the terminal as a control character. Tables: ctl/output.h. What is written
 * for programs, as JSON and archives, is not said.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* A line and its end. False: it could not be written. Standard output is flushed by its user. */
__attribute__((format(printf, 2, 3))) bool say(FILE *to, const char *format, ...);

/* The same without an end of line. */
__attribute__((format(printf, 2, 3))) bool say_part(FILE *to, const char *format, ...);

/* In the place of what the present line of a terminal shows; "" clears that line. */
__attribute__((format(printf, 1, 2))) void say_over(const char *format, ...);
