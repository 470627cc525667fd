/*
 * apart.h - work that may hang in the kernel, done by a process of its own.
 *
 * A system call on a FUSE mount whose daemon does not answer cannot be interrupted, not even by SIGKILL, once the daemon
 * has read the request. Whoever must not hang with it lets a child make the call and stops waiting. Before threads start.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#define APART_NO_LIMIT (-1)

/*
 * Runs work(context) in a child. Returns what it returned, an errno or 0; ETIMEDOUT when it was not done after `limit_ms`
 * (it is then killed, as far as the kernel lets it); ECHILD when it died otherwise.
 */
int apart_run(int (*work)(const void *context), const void *context, int64_t limit_ms);

/*
 * Work that goes on beside this process until apart_end() kills it, which waits no longer than a moment. -1: errno.
 * The child has none of our descriptors, so that nobody waits for it at the end of a pipe: an answer comes by memory that
 * is shared (mmap). The second form keeps standard error.
 */
pid_t apart_begin(int (*work)(const void *context), const void *context);
pid_t apart_begin_telling(int (*work)(const void *context), const void *context);
void apart_end(pid_t child);
/* Waits for it, and returns as apart_run() does. */
int apart_await(pid_t child, int64_t limit_ms);
