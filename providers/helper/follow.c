#include "providers/helper/follow.h"

#include "providers/base/cleanup.h"
#include "providers/base/path.h"
#include "providers/helper/sys.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A directory still to be searched. */
struct step {
	struct step *next;
	char path[];
};

/* The count of an entry that is looked at, or of a directory that is opened. */
#define LOOK_COST 4

struct search {
	struct follow *follow;
	const struct expect *target;
	const struct version *known; /* may be NULL */
	struct place *out;
	uint64_t dev; /* the file system; 0: not known yet */
	bool is_layered;
	bool descends;
	struct step *first, *last;
};

/* Without memory the directory is skipped. */
static void push(struct search *s, const char *dir, const char *name)
{
	AUTO_FREE char *path = path_join(dir, name);
	size_t len = path ? strlen(path) : 0;
	struct step *step = path ? malloc(sizeof *step + len + 1) : NULL;

	if (!step)
		return;
	step->next = NULL;
	memcpy(step->path, path, len + 1);
	if (s->last)
		s->last->next = step;
	else
		s->first = step;
	s->last = step;
}

static struct step *pop(struct search *s)
{
	struct step *step = s->first;

	if (step)
		s->first = step->next;
	if (!s->first)
		s->last = NULL;
	return step;
}

static bool spend(struct search *s, size_t cost)
{
	size_t *left = &s->follow->left;

	*left -= *left < cost ? *left : cost;
	return *left;
}

static bool was_born_before(const struct attr *attr, const struct version *known)
{
	const struct timespec born = { .tv_sec = (time_t)(attr->btime_ns / 1000000000),
		.tv_nsec = (long)(attr->btime_ns % 1000000000) };

	return attr->btime_ns && known && time_is_after(known->ctime, born);
}

static bool is_target(const struct search *s, const struct attr *attr)
{
	bool has_birth = s->target->btime_ns && attr->btime_ns;

	return expect_met(s->target, attr) && (has_birth || was_born_before(attr, s->known));
}

static bool take_found(struct search *s, int dir_fd, const char *dir, const char *name)
{
	char *kept = path_join(dir, name);
	int fd = kept ? openat(dir_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

	if (fd < 0) {
		free(kept);
		return false;
	}
	*s->out = (struct place){ .fd = fd, .name = path_name(kept), .moved = kept };
	return true;
}

/* On a file system of layers a directory may list another number than the entry's own. */
static bool may_be_target(const struct search *s, const struct dirent *entry)
{
	return s->is_layered || entry->d_ino == s->target->ino;
}

static bool may_be_dir(const struct search *s, const struct dirent *entry)
{
	return s->descends && (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN);
}

static bool search_entries(struct search *s, const char *path, DIR *dir)
{
	const struct dirent *entry;
	struct attr attr;

	while ((entry = readdir(dir)) && spend(s, 1)) {
		bool is_looked_at = may_be_target(s, entry) || may_be_dir(s, entry);

		if (!path_name_ok(entry->d_name, strlen(entry->d_name)) || !is_looked_at)
			continue;
		if (!spend(s, LOOK_COST))
			break;
		if (sys_stat(dirfd(dir), entry->d_name, &attr))
			continue;
		if (is_target(s, &attr))
			return take_found(s, dirfd(dir), path, entry->d_name);
		if (s->descends && S_ISDIR(attr.mode) && attr.dev == s->dev)
			push(s, path, entry->d_name);
	}
	return false;
}

/* ERR_OK: found. ERR_STALE: not there. Anything else: the search ends with this directory. */
static enum err search_dir(struct search *s, const char *path)
{
	AUTO_CLOSE int fd = -1;
	struct attr attr;
	DIR *dir;

	if (!spend(s, LOOK_COST) ||
		root_open_dir(s->follow->root, path, NULL, &fd, NULL) != ERR_OK ||
		sys_stat(fd, "", &attr) || root_hides(s->follow->root, &attr))
		return ERR_STALE;
	if (s->dev && attr.dev != s->dev)
		return ERR_UNSUPPORTED;
	s->dev = attr.dev;
	s->is_layered = sys_is_layered(fd);
	dir = fdopendir(fd);
	if (!dir)
		return ERR_STALE;
	take_fd(&fd);
	bool is_found = search_entries(s, path, dir);

	closedir(dir);
	return is_found ? ERR_OK : ERR_STALE;
}

/*
 * Searches from the directory of the name up to the root, or to where the file system begins; *top
 * is the path of the highest.
 */
static bool search_way(struct search *s, const char *path, char **top)
{
	AUTO_FREE char *dir = strdup(path);

	while (dir && *dir) {
		char *slash = strrchr(dir, '/');

		*(slash ? slash : dir) = 0;
		enum err k = search_dir(s, dir);

		if (k == ERR_OK || k == ERR_UNSUPPORTED)
			return k == ERR_OK;
		if (s->dev) {
			free(*top);
			*top = strdup(dir);
		}
	}
	return false;
}

static bool search_below(struct search *s, const char *top)
{
	bool is_found = false;

	s->descends = true;
	push(s, "", top);
	for (struct step *step; (step = pop(s));) {
		is_found = is_found || (s->follow->left && search_dir(s, step->path) == ERR_OK);
		free(step);
	}
	return is_found;
}

static bool find(struct search *s, const char *path)
{
	AUTO_FREE char *top = NULL;

	return search_way(s, path, &top) || (top && search_below(s, top));
}

static bool is_there(const struct place *p, const struct expect *target)
{
	struct attr attr;

	return sys_stat(p->fd, p->name, &attr) == 0 && expect_met(target, &attr);
}

static bool may_be_moved(enum err k)
{
	return k == ERR_NOT_FOUND || k == ERR_NOT_DIR || k == ERR_STALE;
}

static bool is_known(const struct version *v)
{
	return v && (v->ctime.tv_sec || v->ctime.tv_nsec);
}

enum err follow_place(struct follow *f, const char *path, const struct expect *target,
	const struct version *known, enum err k, struct place *out, struct error *e)
{
	struct place found = PLACE_NONE;
	struct search s = { .follow = f,
		.target = target,
		.known = is_known(known) ? known : NULL,
		.out = &found };

	if (!target->ino || path_is_staged(path) || !*path)
		return k;
	if (k == ERR_OK ? is_there(out, target) : !may_be_moved(k))
		return k;
	/* The inode number alone identifies no file. */
	if ((!target->btime_ns && !s.known) || !find(&s, path))
		return k;
	place_release(out);
	*out = found;
	if (e)
		*e = (struct error){ 0 };
	return ERR_OK;
}
