#include "tools/watcher.h"

#include "cache/blocks/block.h"
#include "cache/session/disk.h"
#include "providers/base/buf.h"
#include "providers/base/cleanup.h"
#include "providers/base/log.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/random.h>

#define SECRET_SIZE 16

_Static_assert(sizeof(struct block_name) == WATCHER_ID_SIZE, "an id is a hash");

/* ---- The file ---- */

/* Each id stands for a byte of the file. A mount locks its byte as long as it lives. */
static bool lock(int fd, off_t start, bool waits)
{
	struct flock place = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = start, .l_len = 1
	};

	return fcntl(fd, waits ? F_OFD_SETLKW : F_OFD_SETLK, &place) == 0;
}

static void unlock(int fd, off_t start)
{
	struct flock place = {
		.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = start, .l_len = 1
	};

	fcntl(fd, F_OFD_SETLK, &place);
}

static bool read_or_make(int fd, unsigned char secret[SECRET_SIZE])
{
	if (pread(fd, secret, SECRET_SIZE, 0) == SECRET_SIZE)
		return true;
	return getrandom(secret, SECRET_SIZE, 0) == SECRET_SIZE &&
		pwrite(fd, secret, SECRET_SIZE, 0) == SECRET_SIZE;
}

/* Two processes that begin with an empty file make one secret. */
static bool get_secret(int fd, unsigned char secret[SECRET_SIZE])
{
	bool has = lock(fd, 0, true) && read_or_make(fd, secret);

	unlock(fd, 0);
	return has;
}

static int open_file(const char *dir)
{
	AUTO_CLOSE int fd = -1;
	struct error e = { 0 };

	if (disk_open_own(&fd, dir, &e)) {
		log_debug(LOG_TOOLS, "no id for the change stream: %s", e.text);
		return -1;
	}
	return openat(
		fd, ".watchers", O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
}

/* ---- The id ---- */

static void add_word(struct buf *text, const char *word)
{
	buf_add(text, word ? word : "", word ? strlen(word) + 1 : 1);
}

static bool make_id(struct watcher *w, const char *provider, const struct provider_config *cfg)
{
	AUTO_BUF struct buf text = BUF_INIT(4 * PATH_MAX);
	unsigned char secret[SECRET_SIZE];

	if (!get_secret(w->fd, secret))
		return false;
	buf_add(&text, secret, sizeof secret);
	add_word(&text, provider);
	add_word(&text, cfg->id);
	add_word(&text, cfg->path);
	add_word(&text, cfg->user);
	/* A client's option may choose the user. */
	for (const char *const *o = cfg->client_options; o && *o; o++)
		add_word(&text, *o);
	const struct block_name hash = block_name(text.bytes, text.len);

	memcpy(w->id, hash.bytes, sizeof w->id);
	return !text.failed;
}

/* Never the byte that get_secret() locks. */
static off_t place_of(const struct watcher *w)
{
	uint64_t number;

	memcpy(&number, w->id, sizeof number);
	return (off_t)(number >> 2) + 1;
}

struct watcher watcher_new(const char *dir, const char *provider, const struct provider_config *cfg)
{
	struct watcher w = WATCHER_NONE;

	w.fd = dir ? open_file(dir) : -1;
	if (w.fd >= 0 && !(make_id(&w, provider, cfg) && lock(w.fd, place_of(&w), false)))
		watcher_release(&w);
	return w;
}

void watcher_release(struct watcher *w)
{
	cleanup_close(&w->fd);
	*w = WATCHER_NONE;
}
