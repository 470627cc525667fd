/*
 * handle_memory.h - the memory of open handles.
 *
 * A handle may be freed by another worker as soon as a reply is out (request.h). In a debug build
 * (make FAULTS=1) a freed handle is poisoned: its addresses are never used again and may neither be
 * read nor written. A worker that touches the handle ends the process at that very instruction.
 */
#pragma once

#include <stddef.h>

/* All zero. NULL: no memory. */
void *handle_memory_new(size_t size);
/* `handle` may be NULL. */
void handle_memory_free(void *handle);
