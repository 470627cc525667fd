/*
 * cleanup.h - locals that free themselves.
 *
 * AUTO_FREE char *s, AUTO_CLOSE int fd: released on every way out of the block. A value that leaves
 * the block is taken: `return take(s)` leaves NULL behind, `return take_fd(&fd)` leaves -1.
 */
#pragma once

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_close(const int *fd)
{
	int kept = errno;

	if (*fd >= 0)
		close(*fd);
	errno = kept;
}

static inline int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

#define AUTO_FREE  __attribute__((cleanup(cleanup_free)))
#define AUTO_CLOSE __attribute__((cleanup(cleanup_close)))

#define take(p)                                                                                    \
	__extension__({                                                                            \
		__typeof__(p) taken_ = (p);                                                        \
		(p) = NULL;                                                                        \
		taken_;                                                                            \
	})
