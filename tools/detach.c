#include "tools/detach.h"

#include <errno.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

/* Attempts over one second. */
#define FORCE_ATTEMPTS 20
#define FORCE_PAUSE_MS 50

static enum err refused(const char *dir, int number, struct error *e)
{
	switch (number) {
	case EBUSY:
		return error_set(e, ERR_BUSY,
			"%s: in use; `fuser -vm %s` names by whom, `umount -l %s` does not wait "
			"for them",
			dir, dir, dir);
	case EINVAL: return error_set(e, ERR_INVALID, "%s: not mounted", dir);
	default: return error_errno(e, number, "%s: cannot unmount", dir);
	}
}

/*
 * MNT_FORCE fails the requests that wait, and does nothing else in the first attempt: their callers
 * still have to notice and to close their files.
 */
static enum err detach_as_root(const char *dir, unsigned flags, struct error *e)
{
	int how = UMOUNT_NOFOLLOW | (flags & DETACH_LAZY ? MNT_DETACH : 0) |
		(flags & DETACH_FORCE ? MNT_FORCE : 0);
	int attempts = flags & DETACH_FORCE ? FORCE_ATTEMPTS : 1;

	while (umount2(dir, how)) {
		if (errno != EBUSY || --attempts == 0)
			return refused(dir, errno, e);
		poll(NULL, 0, FORCE_PAUSE_MS);
	}
	return ERR_OK;
}

/* fusermount3 prints its own reasons on stderr. */
static enum err detach_as_user(const char *dir, unsigned flags, struct error *e)
{
	const char *const argv[] = { "fusermount3", flags ? "-uz" : "-u", "--", dir, NULL };
	pid_t child;
	int status;
	int failure = posix_spawnp(&child, argv[0], NULL, NULL, (char *const *)argv, environ);

	if (failure == ENOENT)
		return error_set(e, ERR_NOT_FOUND,
			"%s: no fusermount3, which unmounts for ordinary users: apt install fuse3",
			dir);
	if (failure)
		return error_errno(e, failure, "fusermount3");
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return error_errno(e, errno, "fusermount3");
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return error_set(e, ERR_BUSY, "%s: fusermount3 could not unmount it", dir);
	return ERR_OK;
}

enum err detach(const char *dir, unsigned flags, struct error *e)
{
	return geteuid() ? detach_as_user(dir, flags, e) : detach_as_root(dir, flags, e);
}
