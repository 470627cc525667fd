/*
 * events.h - changes made by others, as lines of JSON for readers of `.sandbox/events`.
 *
 * Every reader gets each event from its beginning on, in whole lines:
 *
 *	{"time": 1700000000.123, "kind": "created", "path": "src/a.c", "is_dir": false}
 *
 * time: when the event arrived here, in seconds since 1970. kind: created, changed, attr, removed,
 * or lost: everything below `path` may have changed. A reader that is too slow also gets such a
 * line, with the path "". Without a reader no event is kept. Any function may be called from any
 * thread; none calls FUSE.
 */
#pragma once

#include "providers/base/call.h"
#include "providers/verbs.h"

struct events;
struct events_reader;

/* Bytes of lines that are kept for readers. */
#define EVENTS_MAX ((size_t)1024 * 1024)

enum err events_new(struct events **out, struct error *e);
/* After its last reader. */
void events_free(struct events *all);

/* Never waits. */
void events_add(struct events *all, enum watch_kind kind, const char *path, bool is_dir);

/*
 * `wake` is called, with locks held, when there is something to read: it may only take note. NULL
 * is returned without memory, or when too many files are open.
 */
struct events_reader *events_reader_new(struct events *all, void (*wake)(void *), void *context);
void events_reader_free(struct events_reader *r);

/* Whether there is something to read. */
bool events_reader_is_ready(struct events_reader *r);
/* Copies up to `size` bytes, at once; 0: there is nothing. */
size_t events_reader_take(struct events_reader *r, void *out, size_t size);
/* Waits until there is something to read, or until `cancel` is thrown: then ERR_INTERRUPTED. */
enum err events_reader_wait(struct events_reader *r, const struct cancel *cancel, struct error *e);
