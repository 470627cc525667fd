/* Which changes can be local, and how the tree shows them. */
#include "cache/lease/entries.h"
#include "cache/lease/validity.h"
#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/write/local_inside.h"
#include "cache/write/permission.h"

#include "providers/base/path.h"

#include <string.h>
#include <sys/stat.h>

/* ---- Which changes can be local ---- */

bool local_may(struct cache *c, struct inode *dir)
{
	return tree_may_decide(c->tree, dir, monotonic_ms());
}

bool local_anything(struct cache *c)
{
	return c->writeback && !c->options.write_through && !cache_is_read_only(c);
}

bool local_has_names(struct cache *c)
{
	return !c->options.excl_remote && local_anything(c);
}

enum err local_restore(struct cache *c, const struct call *call, struct error *e)
{
	bool wants = local_has_names(c) && tree_wants_validity(c->tree, monotonic_ms());

	return wants ? validity_restore(c->validity, call, e) : ERR_OK;
}

bool local_wants_entries(struct cache *c, struct inode *dir)
{
	return local_has_names(c) && tree_may_decide_once_listed(c->tree, dir, monotonic_ms());
}

/* Checks only where the kernel here does not check for the sandbox's user. */
enum err local_permission(
	struct cache *c, struct inode *dir, unsigned want, const char *name, struct error *e)
{
	struct attr attr;

	tree_attr(c->tree, dir, &attr);
	if (c->options.owners_from_caller || permission_allows(&c->sandbox.identity, &attr, want))
		return ERR_OK;
	return error_set(
		e, ERR_DENIED, "%s: the sandbox's user may not change this directory", name);
}

enum err local_dir_permission(struct cache *c, struct inode *dir, const char *name, struct error *e)
{
	return local_permission(c, dir, PERMISSION_WRITE | PERMISSION_EXEC, name, e);
}

/*
 * In a directory with the sticky bit only the owners of the directory and of the entry may take a
 * name away.
 */
enum err local_removal_permission(
	struct cache *c, struct inode *dir, struct inode *target, const char *name, struct error *e)
{
	uint32_t uid = c->sandbox.identity.uid;
	struct attr above, attr;
	enum err kind = local_dir_permission(c, dir, name, e);

	if (kind || c->options.owners_from_caller || uid == 0)
		return kind;
	tree_attr(c->tree, dir, &above);
	tree_attr(c->tree, target, &attr);
	if (above.mode & S_ISVTX && uid != above.uid && uid != attr.uid)
		return error_set(e, ERR_NOT_OWNER, "%s: belongs to somebody else", name);
	return ERR_OK;
}

bool local_is_owner(struct cache *c, struct inode *i)
{
	struct attr attr;

	tree_attr(c->tree, i, &attr);
	return c->sandbox.identity.uid == 0 || c->sandbox.identity.uid == attr.uid;
}

bool local_is_dir(struct cache *c, struct inode *i)
{
	struct attr attr;

	tree_attr(c->tree, i, &attr);
	return S_ISDIR(attr.mode);
}

/* Only for a directory whose entries are all known. */
bool local_is_empty(struct cache *c, struct inode *dir)
{
	struct tree_entry *entries;
	size_t count;

	if (!tree_entries(c->tree, dir, monotonic_ms(), false, &entries, &count))
		return false;
	tree_entries_free(c->tree, entries, count);
	return count == 0;
}

bool local_is_known(struct cache *c, struct inode *i)
{
	struct attr attr;

	return tree_attr(c->tree, i, &attr) > monotonic_ms() || tree_local_attr(c->tree, i, &attr);
}

bool local_is_there(struct cache *c, struct inode *dir, const char *name)
{
	struct inode *known = tree_peek(c->tree, dir, name);

	tree_unpin(c->tree, known);
	return known;
}

enum err local_check_name(const char *name, struct error *e)
{
	if (strlen(name) > PATH_NAME_MAX)
		return error_set(e, ERR_NAME_TOO_LONG, "a name of %zu bytes", strlen(name));
	return ERR_OK;
}

/* An open file that loses its last name must not be removed for want of another name. */
enum err local_check_staged(bool keep, const char *staged, const char *name, struct error *e)
{
	return keep && !staged ? error_set(e, ERR_NO_MEMORY, "%s", name) : ERR_OK;
}

/* ---- Showing ---- */

void local_show_dir(struct cache *c, struct inode *dir, int links)
{
	const struct tree_local_effect f = { .now = cache_time_of_change(c), .links = links };

	tree_apply_local(c->tree, dir, &f);
}

/* Changes only the links and the ctime. */
void local_show_links(struct cache *c, struct inode *i, int links)
{
	const struct tree_local_effect f = {
		.now = cache_time_of_change(c), .links = links, .keeps_mtime = true
	};

	tree_apply_local(c->tree, i, &f);
}
