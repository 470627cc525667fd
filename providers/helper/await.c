#define XXH_INLINE_ALL
#include "providers/helper/await.h"

#include "providers/base/call.h"
#include "providers/base/cleanup.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <xxhash.h>

/*
 * An upload has a deadline of half as much (base/call.h): after this time nothing more will come.
 */
#define GROWTH_MS 60000
/* The pauses between two looks: short for small files, longer for large ones. */
#define LOOK_FIRST_NS 200000
#define LOOK_LAST_NS  5000000
/* The pause before the whole file is read once more. */
#define READ_AGAIN_NS 100000000
#define PIECE         ((size_t)32 * 1024)

struct waiting {
	off_t size;       /* the size that was seen last */
	int64_t grown_ms; /* when the file last grew */
	int64_t sign_ms;  /* when the last sign of life was sent */
	long pause_ns;
};

static bool is_not_yet(int number)
{
	/* The file may be made for another user, who gives it to us. */
	return number == ENOENT || number == EACCES;
}

static bool has_hash(int fd, uint64_t hash)
{
	unsigned char piece[PIECE];
	XXH3_state_t state;
	ssize_t got;

	XXH3_64bits_reset(&state);
	for (off_t at = 0; (got = pread(fd, piece, sizeof piece, at)) > 0; at += got)
		XXH3_64bits_update(&state, piece, (size_t)got);
	return !got && XXH3_64bits_digest(&state) == hash;
}

static bool is_whole(const struct awaited *file, struct waiting *w, int fd)
{
	if ((size_t)w->size != file->size)
		return false;
	if (!file->has_hash || has_hash(fd, file->hash))
		return true;
	w->pause_ns = READ_AGAIN_NS;
	return false;
}

/* A writable file releases its room after it was read. */
static int open_file(const struct awaited *file)
{
	const int flags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	int fd = open(file->path, O_RDWR | flags);

	return fd < 0 && errno != ENOENT ? open(file->path, O_RDONLY | flags) : fd;
}

/*
 * Whether a part of the file was there: the upload was given up, and no run can have taken a part.
 */
static bool was_given_up(const struct awaited *file, const struct waiting *w, int number)
{
	return number == ENOENT && w->size > 0 && (size_t)w->size < file->size;
}

/* *fd stays -1 while the file is not whole. */
static enum err look(const struct awaited *file, struct waiting *w, int *fd, struct error *e)
{
	AUTO_CLOSE int opened = open_file(file);
	struct stat st;

	if (opened < 0 && was_given_up(file, w, errno))
		return error_set(e, ERR_TIMEOUT, "%s: was removed before it was whole", file->path);
	if (opened < 0 && is_not_yet(errno))
		return ERR_OK;
	if (opened < 0 || fstat(opened, &st))
		return error_errno(e, errno, "%s", file->path);
	if (!S_ISREG(st.st_mode) || (size_t)st.st_size > file->size)
		return error_set(
			e, ERR_PROTOCOL, "%s: not a file of %zu bytes", file->path, file->size);
	if (st.st_size != w->size)
		w->grown_ms = monotonic_ms();
	w->size = st.st_size;
	if (is_whole(file, w, opened))
		*fd = take_fd(&opened);
	return ERR_OK;
}

/* Pauses until the next look. */
static enum err linger(
	const struct awaited *file, struct waiting *w, struct outlet *out, struct error *e)
{
	int64_t now_ms = monotonic_ms();

	if (now_ms - w->grown_ms >= GROWTH_MS)
		return error_set(e, ERR_TIMEOUT, "%s: has %lld of %zu bytes%s and does not change",
			file->path, (long long)w->size, file->size,
			(size_t)w->size == file->size ? ", but other ones," : "");
	if (now_ms - w->sign_ms >= WIRE_ALIVE_MS) {
		w->sign_ms = now_ms;
		if (outlet_send(out, FRAME_ITEMS, 0, NULL, e) != ERR_OK)
			return ERR_UNREACHABLE;
	}
	nanosleep(&(struct timespec){ .tv_nsec = w->pause_ns }, NULL);
	w->pause_ns = w->pause_ns * 2 < LOOK_LAST_NS ? w->pause_ns * 2 : LOOK_LAST_NS;
	return ERR_OK;
}

static enum err wait_whole(const struct awaited *file, struct outlet *out, int *fd, struct error *e)
{
	int64_t now_ms = monotonic_ms();
	struct waiting w = { .grown_ms = now_ms, .sign_ms = now_ms, .pause_ns = LOOK_FIRST_NS };
	enum err kind = look(file, &w, fd, e);

	while (kind == ERR_OK && *fd < 0) {
		kind = linger(file, &w, out, e);
		if (kind == ERR_OK)
			kind = look(file, &w, fd, e);
	}
	return kind;
}

static enum err read_whole(
	const struct awaited *file, int fd, size_t size, struct buf *out, struct error *e)
{
	unsigned char *place = buf_reserve(out, size);

	if (!place)
		return buf_check(out, "the requests", e);
	for (size_t at = 0; at < size;) {
		ssize_t got = read(fd, place + at, size - at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return error_errno(e, got ? errno : EIO, "%s", file->path);
		at += (size_t)got;
	}
	buf_filled(out, size);
	return ERR_OK;
}

/* ---- Packed ---- */

/* *out: the end to read from. Returns an errno, or 0. */
static int start_gzip(int file_fd, pid_t *pid, int *out)
{
	const char *const argv[] = { "gzip", "-dc", NULL };
	posix_spawn_file_actions_t actions;
	int ends[2], number;

	if (pipe2(ends, O_CLOEXEC))
		return errno;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, file_fd, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	number = posix_spawnp(pid, argv[0], &actions, NULL, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	*out = ends[0];
	return number;
}

static bool has_succeeded(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

/* gzip checks the integrity of the whole. */
static enum err read_packed(const struct awaited *file, int fd, struct buf *out, struct error *e)
{
	int unpacked = -1;
	pid_t pid;
	int number = start_gzip(fd, &pid, &unpacked);
	enum err kind;

	if (number) {
		cleanup_close(&unpacked);
		return number == ENOENT || number == EACCES
			? error_set(e, ERR_UNSUPPORTED, "there is no gzip")
			: error_errno(e, number, "gzip");
	}
	kind = read_whole(file, unpacked, file->unpacked, out, e);
	close(unpacked);
	if (!has_succeeded(pid) && kind == ERR_OK)
		kind = error_set(e, ERR_PROTOCOL, "%s: gzip cannot unpack it", file->path);
	return kind;
}

/* ---- The whole ---- */

/* Where the file system has no locks the run counts as the only one. */
static enum err hold(const struct awaited *file, int fd, struct outlet *out, struct error *e)
{
	int64_t now_ms = monotonic_ms();
	struct waiting w = { .grown_ms = now_ms, .sign_ms = now_ms, .pause_ns = LOOK_FIRST_NS };
	enum err kind = ERR_OK;
	struct stat st;

	while (kind == ERR_OK && flock(fd, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			break;
		kind = linger(file, &w, out, e);
	}
	bool is_taken = kind == ERR_OK && fstat(fd, &st) == 0 && !st.st_nlink;

	if (is_taken || kind == ERR_TIMEOUT)
		return error_set(e, ERR_TIMEOUT, "%s: another run took it", file->path);
	return kind;
}

enum err await_requests(const struct awaited *file, struct outlet *out, struct buf *requests,
	int *held, struct error *e)
{
	AUTO_CLOSE int fd = -1;
	enum err kind = wait_whole(file, out, &fd, e);

	*held = -1;
	if (kind == ERR_OK)
		kind = hold(file, fd, out, e);
	unlink(file->path);
	if (kind == ERR_OK)
		kind = file->unpacked ? read_packed(file, fd, requests, e)
				      : read_whole(file, fd, file->size, requests, e);
	/* The changes of the file may need its room. */
	if (kind == ERR_OK)
		(void)!ftruncate(fd, 0);
	if (kind == ERR_OK)
		*held = take_fd(&fd);
	return kind;
}
