#include "providers/helper/lift.h"

#include "providers/base/cleanup.h"
#include "providers/helper/pin.h"
#include "providers/helper/sys.h"

#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>

/*
 * One lift at a time in this process: a second thread must not take a lifted mode for the file's
 * own and put that back. The lock is global, since an inode belongs to no root.
 */
static pthread_mutex_t lifting = PTHREAD_MUTEX_INITIALIZER;

/*
 * chmod(2) silently drops the set-group-ID bit of a file of a foreign group: the bit could not be
 * put back.
 */
static bool would_lose_setgid(const struct attr *a)
{
	return a->mode & S_ISGID && geteuid() != 0 && a->gid != getegid();
}

static void put_back(int pin, mode_t lifted, mode_t own)
{
	const mode_t by_writing = S_ISUID | S_ISGID; /* a write by another descriptor drops these */
	struct attr now;

	if (sys_stat(pin, "", &now))
		return;
	/* Another process has changed the rest of the mode meanwhile: its mode stays. */
	if ((now.mode & 07777 & ~by_writing) == (lifted & ~by_writing))
		pin_chmod(pin, own & ~(lifted & ~now.mode));
}

static int lift_and_open_locked(int pin, int flags)
{
	struct attr attr;
	mode_t own, lifted;
	int fd, failure;

	if (sys_stat(pin, "", &attr))
		return -1;
	own = attr.mode & 07777;
	lifted = own | S_IRUSR | S_IWUSR;
	if (attr.uid != geteuid() || would_lose_setgid(&attr) || pin_chmod(pin, lifted)) {
		errno = EACCES;
		return -1;
	}
	fd = pin_open(pin, flags);
	failure = errno;
	put_back(pin, lifted, own);
	errno = failure;
	return fd;
}

int lift_and_open(int pin, int flags)
{
	int fd;

	pthread_mutex_lock(&lifting);
	fd = lift_and_open_locked(pin, flags);
	pthread_mutex_unlock(&lifting);
	return fd;
}
