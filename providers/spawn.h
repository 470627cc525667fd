/*
 * spawn.h - starting another program from a process that has threads.
 *
 * Between fork and exec only what is safe there happens (posix_spawn(3)). The program gets the descriptors it is meant to
 * have and no other, no environment that was not asked for, and the signals as a fresh process has them.
 */
#pragma once

#include "providers/base/error.h"

#include <stddef.h>
#include <sys/types.h>

/* More descriptors than any program here is given: those for spawn_program() stand at this number or above. */
#define SPAWN_FDS_MAX 10

/* A descriptor that stands where spawn_program() does not overwrite it, or -1 with errno. Takes `fd`, which may be -1. */
int spawn_fd(int fd);

/* A file in memory that holds `len` bytes, at its beginning. `what` is for the error. */
enum err spawn_memory(const void *bytes, size_t len, const char *what, int *out, struct error *e);

/* Both ends are fit for spawn_program(). */
enum err spawn_pipe(int *read_end, int *write_end, const char *what, struct error *e);

enum spawn_flags {
	SPAWN_INHERITS =
		1, /* it has our environment, and is found in $PATH: a program of the user's own */
	SPAWN_APART =
		2, /* it leads a session: no terminal, and no key of it, concerns the program */
};

/* fds[i] becomes the program's descriptor i; -1: it keeps ours. They stay the caller's. */
enum err spawn_client(pid_t *pid, unsigned flags, char *const *argv, const int *fds,
	size_t fds_count, struct error *e);
enum err spawn_program(pid_t *pid, const char *program, char *const *argv, const int *fds,
	size_t fds_count, struct error *e);
