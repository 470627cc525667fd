/*
 * spawn.h - starting another program from a process that has threads.
 *
 * Only calls that are safe there are made between fork and exec (posix_spawn(3)). The program gets
 * exactly the descriptors and the environment in the call, and the signals of a fresh process.
 */
#pragma once

#include "providers/base/error.h"

#include <stddef.h>
#include <sys/types.h>

/*
 * More descriptors than any program here gets: those for spawn_program() have this number or a
 * higher one.
 */
#define SPAWN_FDS_MAX 10

/*
 * A descriptor with a number that spawn_program() does not overwrite, or -1 with errno. Takes `fd`,
 * which may be -1.
 */
int spawn_fd(int fd);

/* A file in memory that holds `len` bytes, at its beginning. `what`: for the error. */
enum err spawn_memory(const void *bytes, size_t len, const char *what, int *out, struct error *e);

/* A pipe with two ends that spawn_program() does not overwrite. */
enum err spawn_pipe(int *read_end, int *write_end, const char *what, struct error *e);

enum spawn_flags {
	/* the program has our environment, and is found in $PATH: a program of the user's own */
	SPAWN_INHERITS = 1,
	/* the program leads a session: no terminal, and no key typed there, affects it */
	SPAWN_APART = 2,
};

/* fds[i] becomes the program's descriptor i; -1: our own. The caller keeps all of them. */
enum err spawn_client(pid_t *pid, unsigned flags, char *const *argv, const int *fds,
	size_t fds_count, struct error *e);
enum err spawn_program(pid_t *pid, const char *program, char *const *argv, const int *fds,
	size_t fds_count, struct error *e);
