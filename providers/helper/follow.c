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

struct search {
	const struct root *root;
	const struct expect *target;
	struct place *out;
	size_t left; /* entries that may still be read */
	bool descends;
	struct step *first, *last;
};

/* Without memory the directory is left out. */
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

static bool is_target(const struct search *s, int dir_fd, const struct dirent *entry)
{
	struct attr attr;

	return entry->d_ino == s->target->ino && sys_stat(dir_fd, entry->d_name, &attr) == 0 &&
		expect_met(s->target, &attr);
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

static bool search_entries(struct search *s, const char *path, DIR *dir)
{
	const struct dirent *entry;

	while (s->left && (entry = readdir(dir))) {
		s->left--;
		if (!path_name_ok(entry->d_name, strlen(entry->d_name)))
			continue;
		if (is_target(s, dirfd(dir), entry))
			return take_found(s, dirfd(dir), path, entry->d_name);
		if (s->descends && (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN))
			push(s, path, entry->d_name);
	}
	return false;
}

static bool search_dir(struct search *s, const char *path)
{
	AUTO_CLOSE int fd = -1;
	struct attr attr;
	DIR *dir;

	if (root_open_dir(s->root, path, NULL, &fd, NULL) != ERR_OK || sys_stat(fd, "", &attr) ||
		root_hides(s->root, &attr))
		return false;
	dir = fdopendir(fd);
	if (!dir)
		return false;
	take_fd(&fd);
	bool is_found = search_entries(s, path, dir);

	closedir(dir);
	return is_found;
}

/* From where the name was up to the root. */
static bool search_way(struct search *s, const char *path)
{
	AUTO_FREE char *dir = strdup(path);

	while (dir && *dir) {
		char *slash = strrchr(dir, '/');

		*(slash ? slash : dir) = 0;
		if (search_dir(s, dir))
			return true;
	}
	return false;
}

static bool search_tree(struct search *s)
{
	bool is_found = false;

	s->descends = true;
	push(s, "", "");
	for (struct step *step; (step = pop(s));) {
		is_found = is_found || (s->left && search_dir(s, step->path));
		free(step);
	}
	return is_found;
}

static bool find(
	const struct root *r, const char *path, const struct expect *target, struct place *out)
{
	struct search s = { .root = r, .target = target, .out = out, .left = FOLLOW_ENTRIES_MAX };

	return search_way(&s, path) || search_tree(&s);
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

enum err follow_place(const struct root *r, const char *path, const struct expect *parent,
	const struct expect *target, struct place *out, struct error *e)
{
	struct place found = PLACE_NONE;
	enum err k = root_place(r, path, parent, out, e);

	if (!target || !target->ino || path_is_staged(path) || !*path)
		return k;
	if (k == ERR_OK ? is_there(out, target) : !may_be_moved(k))
		return k;
	if (!find(r, path, target, &found))
		return k;
	place_release(out);
	*out = found;
	if (e)
		*e = (struct error){ 0 };
	return ERR_OK;
}
