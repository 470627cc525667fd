/*
 * guard.h - a process that answers the kernel when the daemon was killed.
 *
 * The kernel ends the requests of a mount when its last open device is closed. A notice to the
 * kernel (notifier.h) waits for the lock of a directory, and no signal ends that wait. If the
 * daemon is killed meanwhile, the owner of the lock may wait for an answer to a request that no
 * thread has read yet: the thread of the notice keeps the device open, so the request would stay,
 * and the thread with it. The guard refuses such requests with ENOTCONN until the daemon has
 * ended, and then ends itself. While the daemon lives the guard waits and does nothing.
 */
#pragma once

#include <sys/types.h>

struct guard {
	pid_t process; /* 0: none */
	/*
	 * our end of a pipe, which closes with the end of the daemon: then the guard's work begins
	 */
	int daemon_end;
};

#define GUARD_NONE ((struct guard){ .daemon_end = -1 })

/*
 * Forks. `device`: file descriptor of the session. Where no process can be started there is no
 * guard, and a warning in the log.
 */
struct guard guard_start(int device);

/* Before unmounting, since the guard has the device open. */
void guard_end(struct guard *g);
