#include "providers/helper/watcher_file.h"

#include "providers/base/cleanup.h"
#include "providers/base/hex.h"
#include "providers/helper/pin.h"
#include "providers/helper/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>

/* The time to close up to a few thousand watches. A process that was stopped never does. */
#define WAIT_MS 1000
/* The pause from one try for the lock to the next. */
#define LOCK_TRY_MS 5
/* The first try ends the earlier watch, the others those that begin at the same time. */
#define TAKES_MAX 4

static void set_name(struct watcher_file *f, const unsigned char watcher[WATCHER_ID_SIZE])
{
	int len = snprintf(f->name, sizeof f->name, STAGED_WATCH "-");

	hex_encode(f->name + len, watcher, WATCHER_ID_SIZE);
}

static int open_file(const struct watcher_file *f)
{
	return openat(
		f->root->staging_fd, f->name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static void remove_file(const struct watcher_file *f)
{
	unlinkat(f->root->staging_fd, f->name, 0);
}

/* Whether the name still leads to the file that is open. */
static bool is_there(const struct watcher_file *f, int fd)
{
	struct attr held, named;

	if (attr_of_fd(fd, &held, NULL) || sys_stat(f->root->staging_fd, f->name, &named))
		return false;
	const struct expect same = expect_of(&held);

	return expect_met(&same, &named);
}

static bool try_lock(int fd)
{
	return flock(fd, LOCK_EX | LOCK_NB) == 0;
}

static void wait_for_lock(int fd, const struct call *call, int64_t end_ms)
{
	while (!try_lock(fd) && errno == EWOULDBLOCK && monotonic_ms() < end_ms)
		if (call_sleep(call, LOCK_TRY_MS, NULL) != ERR_OK)
			return;
}

/* -1: another watch had the file and was ended; or there can be no file. */
static int take_once(const struct watcher_file *f, const struct call *call, int64_t end_ms)
{
	AUTO_CLOSE int fd = open_file(f);

	if (fd >= 0 && try_lock(fd) && is_there(f, fd))
		return take_fd(&fd);
	if (fd >= 0) {
		remove_file(f);
		wait_for_lock(fd, call, end_ms);
	}
	return -1;
}

struct watcher_file watcher_file_take(
	const struct root *r, const struct call *call, const unsigned char watcher[WATCHER_ID_SIZE])
{
	static const unsigned char nobody[WATCHER_ID_SIZE];
	struct watcher_file f = { .root = r, .fd = -1, .wd = -1 };
	int64_t end_ms = monotonic_ms() + WAIT_MS;

	if (r->staging_fd < 0 || !memcmp(watcher, nobody, sizeof nobody))
		return f;
	set_name(&f, watcher);
	for (int n = 0; n < TAKES_MAX && f.fd < 0; n++)
		f.fd = take_once(&f, call, end_ms);
	return f;
}

enum err watcher_file_check(const struct watcher_file *f, struct error *e)
{
	return f->fd < 0 || is_there(f, f->fd)
		? ERR_OK
		: error_set(e, ERR_CONFLICT, "another watch has taken over");
}

enum err watcher_file_watch(struct watcher_file *f, int inotify, struct error *e)
{
	char path[PIN_PATH_SIZE];

	if (f->fd < 0)
		return ERR_OK;
	pin_path(f->fd, path);
	/*
	 * IN_ATTRIB reports a changed number of links; a deletion is reported only after all
	 * processes closed the file.
	 */
	f->wd = inotify_add_watch(inotify, path, IN_ATTRIB);
	/* The file may have been removed before the watch was set. */
	return watcher_file_check(f, e);
}

void watcher_file_release(struct watcher_file *f)
{
	if (f->fd < 0)
		return;
	if (is_there(f, f->fd))
		remove_file(f);
	cleanup_close(&f->fd);
	f->fd = f->wd = -1;
}
