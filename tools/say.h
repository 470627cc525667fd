/*
 * say.h - lines for people, printed by the programs of this folder. A line may contain foreign
 * text.
 *
 * The whole line is made harmless (providers/base/harmless.h), so no part of it can forge a second
 * line or reach the terminal as a control character. Tables: ctl/output.h. Output for programs,
 * such as JSON and archives, is printed otherwise.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* A line and its end. false: the line could not be written. The caller flushes standard output. */
__attribute__((format(printf, 2, 3))) bool say(FILE *to, const char *format, ...);

/* As say(), without an end of line. */
__attribute__((format(printf, 2, 3))) bool say_part(FILE *to, const char *format, ...);

/* Replaces the present line of a terminal; "" clears it. */
__attribute__((format(printf, 1, 2))) void say_over(const char *format, ...);
