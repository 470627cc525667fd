/*
 * apart.h - work that may hang in the kernel, done by a process of its own.
 *
 * A system call on a FUSE mount whose daemon does not answer cannot be interrupted, not even by
 * SIGKILL, once the daemon has read the request. A program that must not hang with the call lets a
 * child make it and stops waiting. To be used before threads start.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#define APART_NO_LIMIT (-1)

/*
 * Runs work(context) in a child. Returns its result, an errno or 0. ETIMEDOUT: the work was not
 * done after `limit_ms`, and the child is killed, as far as the kernel allows. ECHILD: the child
 * died for another reason.
 */
int apart_run(int (*work)(const void *context), const void *context, int64_t limit_ms);

/*
 * Starts work that goes on at the same time as this process until apart_end() kills it, which waits
 * a moment at most. -1: errno. The child has none of our descriptors, so that no process waits for
 * it at the end of a pipe; an answer comes through shared memory (mmap). apart_begin_with_stderr()
 * keeps standard error.
 */
pid_t apart_begin(int (*work)(const void *context), const void *context);
pid_t apart_begin_with_stderr(int (*work)(const void *context), const void *context);
void apart_end(pid_t child);
/* Waits for the child, and returns as apart_run() does. */
int apart_await(pid_t child, int64_t limit_ms);
