#include "tools/drain.h"

#include "providers/base/buf.h"
#include "providers/base/call.h"
#include "providers/base/cleanup.h"
#include "tools/apart.h"
#include "tools/unsynced.h"
#include "tools/progress.h"
#include "tools/say.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * The mount answers from memory, or hangs. The way to the file may first wait in vain for the root.
 */
#define STATUS_MS 45000
/* The part of a limit that is reserved for asking how much is left. */
#define LEFT_MS        1000
#define SHOWN_EVERY_MS 200

struct drain {
	const struct mounted *mounted;
	struct unsynced *unsynced; /* shared with the children that ask */
};

/* ---- In processes of their own, since a mount may hang ---- */

/* Returns an errno, like the functions below. */
static int write_sync(const void *context)
{
	const struct drain *d = context;
	AUTO_FREE char *path = NULL;
	int fd;

	if (!mounted_become_owner(d->mounted) ||
		asprintf(&path, "%s/.sandbox/sync", d->mounted->dir) < 0)
		return errno;
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return errno;

	int failure = write(fd, "1\n", 2) == 2 ? 0 : errno;

	if (close(fd) && !failure)
		failure = errno;
	return failure;
}

static int read_unsynced(const void *context)
{
	const struct drain *d = context;

	return mounted_become_owner(d->mounted) ? unsynced_read(d->unsynced, d->mounted->dir)
						: errno;
}

/* Changes without contents have no bytes to count. */
static void show(struct progress_bar *bar, const struct unsynced *o, int64_t most)
{
	char words[UNSYNCED_WORDS_MAX];

	if (most)
		progress_tell(bar, (uint64_t)(most - (o->bytes - o->leaving)), (uint64_t)most);
	else
		say_over("%s: %s left", bar->what, unsynced_words(o, words));
}

/* Runs until it is killed. */
static int show_progress(const void *context)
{
	const struct drain *d = context;
	struct progress_bar bar;
	struct unsynced unsynced;
	int64_t most = 0;

	if (!mounted_become_owner(d->mounted))
		return errno;
	progress_begin(&bar, "sending");
	for (;;) {
		poll(NULL, 0, SHOWN_EVERY_MS);
		if (unsynced_read(&unsynced, d->mounted->dir) || !unsynced.changes)
			continue;
		most = unsynced.bytes > most ? unsynced.bytes : most;
		show(&bar, &unsynced, most);
	}
}

/* ---- Changes that could not be sent ---- */

static const char *what_is_left(const struct unsynced *o, char words[UNSYNCED_WORDS_MAX])
{
	if (o->changes)
		return unsynced_words(o, words);
	snprintf(words, UNSYNCED_WORDS_MAX, "the sandbox refused %lld", (long long)o->refused);
	return o->refused ? words : "";
}

static enum err not_sent(const struct unsynced *o, int failure, struct error *e)
{
	char words[UNSYNCED_WORDS_MAX];
	const char *left = what_is_left(o, words), *between = *left ? ": " : "";
	const char *kept = *o->journal ? "; it is kept for the next mount, in " : "";

	return error_set(e, ERR_IO, "not everything could be sent: %s%s%s%s%s", left, between,
		strerror(failure), kept, o->journal);
}

/*
 * The daemon is gone, the mount is read-only, or it has no sandbox before its first use: no process
 * can send, or there is nothing to send.
 */
static bool is_nothing_to_send(int failure, int unknown, const struct unsynced *o)
{
	return failure == EROFS || failure == ENOENT ||
		(mounted_is_dead(failure) && (unknown || !o->changes));
}

/* ---- Sending ---- */

static int send_showing(const struct drain *d, int64_t limit_ms)
{
	pid_t shower = isatty(STDERR_FILENO) ? apart_begin_with_stderr(show_progress, d) : -1;
	int failure = apart_run(write_sync, d, limit_ms);

	if (shower > 0) {
		apart_end(shower);
		say_over("%s", "");
	}
	return failure;
}

static int64_t left_ms(int64_t limit_ms)
{
	return limit_ms / 2 < LEFT_MS ? limit_ms / 2 : LEFT_MS;
}

enum err drain_send(const struct mounted *m, int64_t limit_ms, bool *has_nobody, struct error *e)
{
	struct unsynced *unsynced = mmap(
		NULL, sizeof *unsynced, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const struct drain d = { .mounted = m, .unsynced = unsynced };

	*has_nobody = false;
	if (unsynced == MAP_FAILED)
		return error_errno(e, errno, "%s: cannot ask it", m->dir);

	int64_t end_ms = monotonic_ms() + limit_ms;
	int failure = send_showing(&d, limit_ms < 0 ? limit_ms : limit_ms - left_ms(limit_ms));
	int64_t rest_ms = limit_ms < 0 ? STATUS_MS : end_ms - monotonic_ms();
	int unknown = failure ? apart_run(read_unsynced, &d, rest_ms < 0 ? 0 : rest_ms) : 0;
	enum err kind = failure ? not_sent(unsynced, failure, e) : ERR_OK;

	*has_nobody = failure && is_nothing_to_send(failure, unknown, unsynced);
	munmap(unsynced, sizeof *unsynced);
	return kind;
}

enum err drain(const struct mounted *m, int64_t limit_ms, bool goes_anyway, struct error *e)
{
	struct error why = { 0 };
	bool has_nobody;

	if (!drain_send(m, limit_ms, &has_nobody, &why) || has_nobody)
		return ERR_OK;
	if (goes_anyway)
		return error_set(e, why.kind, "%s: unmounted although %s", m->dir, why.text);
	/* The reason comes last: it may be too long for the rest of an error. */
	return error_set(e, why.kind,
		"%s: not unmounted (.sandbox/status there says what is left, `umount -l` unmounts "
		"all "
		"the same), because %s",
		m->dir, why.text);
}
