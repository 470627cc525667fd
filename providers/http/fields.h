/*
 * fields.h - the header fields of an answer, kept as "name NUL value NUL" one after the other; for
 * http's own files.
 */
#pragma once

#include "providers/base/buf.h"

/* More than any real server sends: 100 kB is libcurl's own limit for one line. */
#define FIELDS_MAX (256 * 1024)

/*
 * `line` as received, with or without its end; a line that is no field is left out. False: too
 * many.
 */
bool fields_add(struct buf *fields, const char *line, size_t len);

/* The first field of that name, in any case; NULL: none. */
const char *fields_find(const struct buf *fields, const char *name);
