/*
 * Whether a killed run has made a change shows in the inode that the change's name named before and
 * in the inode there now. One inode number means one file here: the time between is only that of a
 * restart.
 */
#include "providers/helper/apply.h"
#include "providers/helper/sys.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool names_before(const struct work *w, const struct place *p)
{
	struct attr there;

	return sys_stat(p->fd, p->name, &there) == 0 && there.ino == w->before.ino;
}

bool again_has_moved(const struct work *w)
{
	return w->is_again && w->before.ino && names_before(w, &w->at2);
}

static bool exists(const struct place *p)
{
	struct attr there;

	return sys_stat(p->fd, p->name, &there) == 0;
}

bool again_is_gone(const struct work *w)
{
	const bool has_moved = w->at2.fd >= 0 && names_before(w, &w->at2);

	if (!w->before.ino)
		return false;
	switch (w->change->op) {
	case CHANGE_UNLINK:
	case CHANGE_RMDIR: return !names_before(w, &w->at) && (w->at2.fd < 0 || has_moved);
	case CHANGE_RENAME: return has_moved;
	/*
	 * A copy over the file removes the staged file last; an exchange removes the one that came
	 * back.
	 */
	case CHANGE_PLACE:
		return (has_moved && !(w->change->flags & CHANGE_EXCHANGE)) ||
			(!exists(&w->at) && exists(&w->at2));
	default: return false;
	}
}

static bool has_link_text(const struct work *w)
{
	char text[VERB_LINK_MAX];
	ssize_t len = readlinkat(w->at.fd, w->at.name, text, sizeof text);

	return len >= 0 && (size_t)len == w->change->data_len &&
		memcmp(text, w->change->data, (size_t)len) == 0;
}

/* Before the new inode is given to its owner, it is ours. */
static bool is_asked_owner(const struct work *w, uint32_t uid)
{
	return uid == w->root->identity.uid || uid == w->change->uid;
}

bool again_is_made(const struct work *w, mode_t type)
{
	const struct change *c = w->change;
	struct attr there;

	if (!w->is_again || w->before.ino || sys_stat(w->at.fd, w->at.name, &there))
		return false;
	if ((there.mode & S_IFMT) != type || !is_asked_owner(w, there.uid))
		return false;
	if (S_ISLNK(type))
		return has_link_text(w);
	return ((there.mode ^ c->mode) & 0777) == 0 && (!S_ISREG(type) || !there.size) &&
		((!S_ISBLK(type) && !S_ISCHR(type)) || there.rdev == c->rdev);
}
