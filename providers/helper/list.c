#include "providers/base/cleanup.h"
#include "providers/base/path.h"
#include "providers/helper/birth.h"
#include "providers/helper/helper.h"
#include "providers/helper/sys.h"
#include "providers/helper/user_xattrs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/*
 * The directories still to be listed, by the bytes of their paths: the size of a tree must not
 * decide our memory use.
 */
#define QUEUE_MAX ((size_t)64 * 1024 * 1024)

/*
 * One in so many unchanged directories is reported all the same, as a sign of life to the client.
 */
#define SIGN_OF_LIFE 256

/* A directory whose entries are wanted. */
struct wanted {
	struct wanted *next;
	uint32_t start, level; /* level 0: the start itself */
	uint64_t start_dev;
	/* the inode that was listed: another inode at the path is not entered */
	struct expect self;
	bool is_gits; /* a repository's .git, or below one */
	char path[];
};

struct queue {
	struct wanted *first, *last;
};

struct listing {
	const struct root *root;
	const struct list_request *request;
	list_sink sink;
	void *context;
	struct queue gits, others;
	size_t queue_bytes;
	uint64_t entries;
	uint64_t unnamed; /* directories without an entry to report */
	char link[VERB_LINK_MAX + 1];
};

/* One directory being listed. */
struct opened {
	const struct wanted *dir;
	DIR *stream;
	bool is_layered; /* sys_is_layered() */
	bool shows_all;  /* no entry is left out for its age */
	bool left_out;   /* an entry was not named */
	bool is_stopped; /* set by the sink, or at entries_max */
	bool is_named;
	bool is_steady;  /* nothing changed while it was read */
	enum err unseen; /* why an entry, or the tree below it, is not listed; ERR_OK: all are */
};

/* ---- The queues: breadth first, but .git before the others, as git itself reads ---- */

static struct queue *queue_of(struct listing *l, const struct wanted *w)
{
	return w->is_gits ? &l->gits : &l->others;
}

static bool wants_entries_of(const struct listing *l, uint32_t level, const struct attr *a)
{
	return S_ISDIR(a->mode) && level < l->request->depth;
}

/*
 * Returns false where the directory cannot be queued: its entries are then not listed, and the list
 * does not claim to be complete.
 */
static bool queue_dir(
	struct listing *l, const struct wanted *like, const char *path, const struct attr *a)
{
	size_t size = sizeof *like + strlen(path) + 1;
	struct wanted *w;

	if (strlen(path) > PATH_LENGTH_MAX || size > QUEUE_MAX - l->queue_bytes)
		return false;
	w = malloc(size);
	if (!w)
		return false;
	*w = *like;
	w->next = NULL;
	w->self = expect_of(a);
	memcpy(w->path, path, strlen(path) + 1);
	l->queue_bytes += size;
	struct queue *q = queue_of(l, w);

	if (q->last)
		q->last->next = w;
	else
		q->first = w;
	q->last = w;
	return true;
}

static struct wanted *next_dir(struct listing *l)
{
	struct wanted *w = l->gits.first ? l->gits.first : l->others.first;

	if (!w)
		return NULL;
	struct queue *q = queue_of(l, w);

	q->first = w->next;
	if (!q->first)
		q->last = NULL;
	l->queue_bytes -= sizeof *w + strlen(w->path) + 1;
	return w;
}

static void drop_queue(struct listing *l)
{
	for (struct wanted *w = next_dir(l); w; w = next_dir(l))
		free(w);
}

/* ---- One entry ---- */

static enum err tell(struct listing *l, const struct list_item *item, struct error *e)
{
	return l->sink(l->context, item, e);
}

static bool names_changed_only(const struct listing *l)
{
	return l->request->flags & LIST_CHANGED_ONLY && l->request->changed_since_ns;
}

static enum err name_dir(struct listing *l, struct opened *o, struct error *e)
{
	const struct list_item begin = {
		.kind = LIST_DIR, .start = o->dir->start, .path = o->dir->path
	};

	if (o->is_named)
		return ERR_OK;
	o->is_named = true;
	return tell(l, &begin, e);
}

static void note_unseen(struct opened *o, enum err why)
{
	if (o->unseen == ERR_OK)
		o->unseen = why;
}

static bool read_link(struct listing *l, int pin)
{
	ssize_t len = readlinkat(pin, "", l->link, sizeof l->link);

	if (len < 0 || (size_t)len >= sizeof l->link)
		return false;
	l->link[len] = 0;
	return true;
}

/* A link is held for both calls, so that its text and its attributes are of one inode. */
static bool stat_entry(struct listing *l, const struct opened *o, const char *name,
	struct attr *out, const char **link)
{
	const int dir_fd = dirfd(o->stream);

	*link = NULL;
	if (sys_stat(dir_fd, name, out))
		return false;
	if (o->is_layered)
		birth_keep_since_start(out);
	user_xattrs_note(dir_fd, name, out);
	if (!S_ISLNK(out->mode))
		return true;
	AUTO_CLOSE int pin = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (pin < 0 || attr_of_fd(pin, out, NULL))
		return false;
	if (!S_ISLNK(out->mode))
		return true;
	*link = l->link;
	return read_link(l, pin);
}

static bool is_older(const struct timespec *t, int64_t ns)
{
	const struct timespec since = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

	return t->tv_sec != since.tv_sec ? t->tv_sec < since.tv_sec : t->tv_nsec < since.tv_nsec;
}

static bool may_enter(const struct listing *l, const struct wanted *dir, const struct attr *a)
{
	return a->dev == dir->start_dev || l->request->flags & LIST_CROSS_DEVICES;
}

static enum err queue_entry(struct listing *l, struct opened *o, const char *name,
	const struct attr *a, struct error *e)
{
	const struct wanted *dir = o->dir;
	struct wanted like = *dir;

	like.level++;
	like.is_gits = dir->is_gits || !strcmp(name, ".git");
	if (!wants_entries_of(l, like.level, a) || !may_enter(l, dir, a))
		return ERR_OK;
	AUTO_FREE char *path = path_join(dir->path, name);

	if (!path)
		return error_set(e, ERR_NO_MEMORY, "%s", dir->path);
	if (!queue_dir(l, &like, path, a))
		note_unseen(o, ERR_TOO_LARGE);
	return ERR_OK;
}

/*
 * The root of another file system is listed whatever its age: a mount changes the entry but not the
 * ctime.
 */
static bool is_too_old(const struct listing *l, const struct opened *o, const struct attr *a)
{
	if (o->shows_all || (names_changed_only(l) && a->dev != o->dir->start_dev))
		return false;
	return is_older(&a->ctime, l->request->changed_since_ns);
}

static enum err list_entry(struct listing *l, struct opened *o, const char *name, struct error *e)
{
	struct list_item item = { .kind = LIST_ENTRY, .start = o->dir->start, .name = name };
	enum err k;

	if (!stat_entry(l, o, name, &item.attr, &item.link)) {
		if (errno != ENOENT)
			note_unseen(o, error_from_errno(errno));
		o->left_out = o->left_out || errno != ENOENT;
		return ERR_OK;
	}
	if (root_hides(l->root, &item.attr))
		return ERR_OK;
	k = queue_entry(l, o, name, &item.attr, e);
	if (k != ERR_OK)
		return k;
	if (is_too_old(l, o, &item.attr)) {
		o->left_out = true;
		return ERR_OK;
	}
	if (l->request->entries_max && l->entries == l->request->entries_max) {
		o->left_out = o->is_stopped = true;
		return ERR_OK;
	}
	l->entries++;
	k = name_dir(l, o, e);
	return k == ERR_OK ? tell(l, &item, e) : k;
}

/* ---- One directory ---- */

static bool is_dots(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

/* `*failed`: the error that ended the listing of the directory. */
static enum err list_entries(struct listing *l, struct opened *o, enum err *failed, struct error *e)
{
	enum err k = ERR_OK;

	while (k == ERR_OK && !o->is_stopped) {
		const struct dirent *d;

		errno = 0;
		d = readdir(o->stream);
		if (!d) {
			*failed = error_from_errno(errno);
			return ERR_OK;
		}
		if (is_dots(d->d_name))
			continue;
		if (path_name_ok(d->d_name, strlen(d->d_name)))
			k = list_entry(l, o, d->d_name, e);
		else
			o->left_out = true;
	}
	return k;
}

static bool is_unchanged(int fd, const struct attr *before)
{
	struct attr now;

	return sys_stat(fd, "", &now) == 0 && time_equals(before->mtime, now.mtime) &&
		time_equals(before->ctime, now.ctime);
}

/*
 * Under `changed_since` a directory that changed itself is listed in full: only then can the client
 * see which entries are gone.
 */
static enum err list_opened(
	struct listing *l, struct opened *o, struct list_item *end, struct error *e)
{
	struct attr before;
	enum err k;

	end->err = attr_of_fd(dirfd(o->stream), &before, NULL);
	if (end->err != ERR_OK)
		return ERR_OK;
	o->is_layered = sys_is_layered(dirfd(o->stream));
	o->shows_all = !l->request->changed_since_ns ||
		!is_older(&before.ctime, l->request->changed_since_ns);
	k = list_entries(l, o, &end->err, e);
	o->is_steady = is_unchanged(dirfd(o->stream), &before);
	end->complete = end->err == ERR_OK && !o->left_out && o->is_steady;
	if (end->err == ERR_OK && names_changed_only(l))
		end->err = o->unseen;
	return k;
}

static enum err open_stream(struct listing *l, struct opened *o)
{
	AUTO_CLOSE int fd = -1;
	enum err k = root_open_dir(l->root, o->dir->path, &o->dir->self, &fd, NULL);

	if (k != ERR_OK)
		return k;
	o->stream = fdopendir(fd);
	if (!o->stream)
		return error_from_errno(errno);
	take_fd(&fd);
	return ERR_OK;
}

/* Whether the directory is left out of the answer, since there is nothing to report. */
static bool is_unnamed(struct listing *l, const struct opened *o, const struct list_item *end)
{
	if (o->is_named || o->shows_all || !o->is_steady || end->err != ERR_OK)
		return false;
	return ++l->unnamed % SIGN_OF_LIFE != 0;
}

static enum err list_dir(
	struct listing *l, const struct wanted *dir, bool *is_stopped, struct error *e)
{
	struct opened o = { .dir = dir };
	struct list_item end = { .kind = LIST_DIR_END, .start = dir->start };
	enum err k = names_changed_only(l) ? ERR_OK : name_dir(l, &o, e);

	if (k != ERR_OK)
		return k;
	end.err = open_stream(l, &o);
	if (o.stream) {
		k = list_opened(l, &o, &end, e);
		closedir(o.stream);
	}
	*is_stopped = o.is_stopped;
	if (k != ERR_OK || is_unnamed(l, &o, &end))
		return k;
	k = name_dir(l, &o, e);
	return k == ERR_OK ? tell(l, &end, e) : k;
}

static enum err list_queue(struct listing *l, struct error *e)
{
	bool is_stopped = false;
	enum err k = ERR_OK;

	while (k == ERR_OK && !is_stopped) {
		AUTO_FREE struct wanted *dir = next_dir(l);

		if (!dir)
			return ERR_OK;
		k = list_dir(l, dir, &is_stopped, e);
	}
	return k;
}

/* ---- The starts ---- */

static enum err stat_start(
	struct listing *l, const char *path, struct list_item *item, struct user_xattrs *xattrs)
{
	AUTO_PLACE struct place p = PLACE_NONE;
	AUTO_CLOSE int pin = -1;
	enum err k = root_place(l->root, path, NULL, &p, NULL);

	if (k == ERR_OK)
		k = place_pin(&p, NULL, &pin, &item->attr, path, NULL);
	if (k != ERR_OK)
		return k;
	if (root_hides(l->root, &item->attr))
		return ERR_NOT_FOUND;
	if (S_ISLNK(item->attr.mode)) {
		if (!read_link(l, pin))
			return ERR_IO;
		item->link = l->link;
	}
	if (l->request->flags & LIST_XATTRS)
		k = user_xattrs_read(pin, xattrs, path, NULL);
	item->xattrs = xattrs->all;
	item->xattrs_count = xattrs->count;
	return k;
}

static enum err list_start(struct listing *l, uint32_t start, struct error *e)
{
	const char *path = l->request->starts[start];
	AUTO_USER_XATTRS struct user_xattrs xattrs = USER_XATTRS_NONE;
	struct list_item item = { .kind = LIST_SELF, .start = start };

	item.err = stat_start(l, path, &item, &xattrs);
	if (item.err == ERR_OK && wants_entries_of(l, 0, &item.attr)) {
		const struct wanted like = { .start = start, .start_dev = item.attr.dev };

		if (!queue_dir(l, &like, path, &item.attr))
			return error_set(e, ERR_NO_MEMORY, "%s", path);
	}
	return tell(l, &item, e);
}

static enum err list_end(struct listing *l, struct error *e)
{
	struct list_item item = { .kind = LIST_END };
	enum err k = root_space(l->root, &item.space, e);

	if (k != ERR_OK)
		return k;
	item.now = time_of_day();
	return tell(l, &item, e);
}

enum err helper_list(const struct root *r, const struct list_request *request, list_sink sink,
	void *context, struct error *e)
{
	struct listing l = { .root = r, .request = request, .sink = sink, .context = context };
	enum err k = ERR_OK;

	for (size_t i = 0; i < request->starts_count && k == ERR_OK; i++)
		k = list_start(&l, (uint32_t)i, e);
	if (k == ERR_OK)
		k = list_queue(&l, e);
	if (k == ERR_OK)
		k = list_end(&l, e);
	drop_queue(&l);
	return k;
}
