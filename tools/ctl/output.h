/*
 * output.h - a command's standard output: a table for people, or JSON.
 *
 * A table is aligned when it is printed, so a row takes memory until then. On a terminal its heads
 * are bold, unless NO_COLOR is set (no-color.org) or TERM is dumb. Cells and notes are made
 * harmless (providers/base/harmless.h).
 */
#pragma once

#include "providers/base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TABLE_COLUMNS_MAX 8

struct table {
	const char *heads[TABLE_COLUMNS_MAX];
	size_t columns;
	size_t widths[TABLE_COLUMNS_MAX]; /* in characters */
	struct buf cells;                 /* each ended by NUL, row by row */
	struct buf notes;                 /* lines below the table */
};

#define AUTO_TABLE __attribute__((cleanup(table_release)))

/*
 * `heads`: as many as there are columns, ended by NULL; literals. With an empty first head no line
 * of heads is printed.
 */
void table_init(struct table *t, const char *const *heads);
void table_release(struct table *t);

/* As many cells as there are columns; they are copied. */
void table_add(struct table *t, const char *const *cells);

/* A line below the table. A line end inside it does not make two lines. */
__attribute__((format(printf, 2, 3))) void table_note(struct table *t, const char *format, ...);

/* ERR_NO_MEMORY: too much was added. ERR_IO and similar: the table could not be written. */
enum err table_print(const struct table *t, FILE *to, struct error *e);

/* One line of JSON, made by a json_writer. */
enum err print_json(const struct buf *json, FILE *to, struct error *e);

/* Whether `to` shows colours. */
bool shows_colour(FILE *to);
