#include "tools/reuse.h"

#include "cache/session/disk.h"
#include "providers/base/cleanup.h"
#include "providers/base/log.h"
#include "tools/labels.h"
#include "tools/user_dirs.h"

#include <fcntl.h>
#include <string.h>
#include <xxhash.h>

/* The time between two attempts: the other process waits for a vendor. */
#define AGAIN_MS 100

/* The byte of the file that stands for these labels of this provider. */
static struct flock place_of(const struct provider_ops *ops, const struct provider_config *cfg)
{
	uint64_t place = XXH3_64bits(ops->name, strlen(ops->name));

	for (const char *const *label = cfg->labels; *label; label++)
		place ^= XXH3_64bits_withSeed(*label, strlen(*label), 1);
	return (struct flock){
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)(place >> 2), .l_len = 1
	};
}

static int open_lock(void)
{
	AUTO_FREE char *dir = user_journals_dir(NULL);
	AUTO_CLOSE int fd = -1;

	if (!dir || disk_open_own(&fd, dir, NULL))
		return -1;
	return openat(fd, ".reuse", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static enum err lock(int fd, const struct provider_ops *ops, const struct provider_config *cfg,
	const struct call *call, struct error *e)
{
	struct flock place = place_of(ops, cfg);
	enum err kind = ERR_OK;

	while (!kind && fcntl(fd, F_OFD_SETLK, &place)) {
		if (errno != EAGAIN && errno != EACCES)
			return error_errno(e, errno, "the lock on sandboxes that are used again");
		kind = call_sleep(call, AGAIN_MS, e);
	}
	return kind;
}

struct search {
	const struct provider_ops *ops;
	const struct provider_config *cfg;
	char *id;        /* room of 128 bytes */
	bool has_untold; /* some sandbox has no known labels */
};

static enum err compare(void *context, const struct sandbox_entry *entry, struct error *e)
{
	struct search *s = context;

	(void)e;
	s->has_untold |= !entry->unread && !entry->labels;
	if (entry->unread || !entry->labels)
		return ERR_OK;
	if (!*s->id && labels_match(entry, s->cfg->labels))
		strncat(s->id, entry->id, 127);
	return ERR_OK;
}

enum err reuse_check(
	const struct provider_ops *ops, const struct provider_config *cfg, struct error *e)
{
	if (ops->caps & PROVIDER_NAMES_IDS)
		return error_set(e, ERR_UNSUPPORTED,
			"%s: sandboxes have no labels; %s:NAME is made at its first use and then "
			"found",
			ops->name, ops->name);
	if (ops->caps & PROVIDER_SINGLE)
		return error_set(e, ERR_UNSUPPORTED,
			"%s: there is one sandbox, which is used again in any case; leave reuse "
			"out",
			ops->name);
	if (!cfg->labels || !*cfg->labels)
		return error_set(e, ERR_INVALID,
			"reuse finds a sandbox by its labels: name one, as in label=thread_id=X");
	return ERR_OK;
}

enum err reuse_begin(int *out, const struct provider_ops *ops, const struct provider_config *cfg,
	const struct call *call, char id[128], struct error *e)
{
	struct search s = { .ops = ops, .cfg = cfg, .id = id };
	AUTO_CLOSE int fd = -1;
	enum err kind = reuse_check(ops, cfg, e);

	*id = 0;
	if (kind)
		return kind;
	fd = open_lock();
	if (fd >= 0)
		kind = lock(fd, ops, cfg, call, e);
	if (!kind)
		kind = provider_list_sandboxes(ops, cfg, call, compare, &s, e);
	/* An unreadable sandbox does not matter once one was found. */
	if (kind && !(kind == ERR_PROTOCOL && *id))
		return kind;
	if (!*id && s.has_untold)
		return error_set(e, ERR_UNSUPPORTED,
			"%s does not say which labels its sandboxes have; leave reuse out",
			ops->name);
	if (fd < 0)
		log_warn(LOG_TOOLS,
			"reuse: there is no directory for a lock; two that ask at once may make a "
			"sandbox each");
	*out = take_fd(&fd);
	return ERR_OK;
}
