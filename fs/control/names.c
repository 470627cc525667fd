/*
 * names.c - the names of the control directory: its nodes, their attributes and listings.
 */
#include "fs/control/file.h"

#include "fs/errmap.h"
#include "fs/request.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/*
 * Names and numbers never change. Attributes are asked for each time, so that no size is ever
 * cached.
 */
#define ENTRY_TIMEOUT_S 3600.0

/* ---- The directories ---- */

static const struct control_file *const root_files[] = {
	&control_events,
	&control_exec,
	&control_id,
	&control_jobs,
	&control_ports,
	&control_sessions,
	&control_spawn,
	&control_stats,
	&control_status,
	&control_sync,
	NULL,
};

static const struct control_dir root_dir = { .files = root_files };

static const struct control_file root = {
	.name = CONTROL_DIR_NAME,
	.ino = CONTROL_INO_DIR,
	.mode = 0555,
	.dir = &root_dir,
};

/* ---- Numbers of nodes ---- */

static fuse_ino_t node_ino(const struct control_node *node)
{
	return node->number
		? CONTROL_INO_NUMBERED | node->number * CONTROL_INO_END | node->file->ino
		: node->file->ino;
}

static const struct control_file *find_below(const struct control_file *file, fuse_ino_t ino)
{
	const struct control_file *found = file && file->ino == ino ? file : NULL;

	if (found || !file || !file->dir)
		return found;
	found = find_below(file->dir->numbered, ino);
	for (size_t i = 0; !found && file->dir->files[i]; i++)
		found = find_below(file->dir->files[i], ino);
	return found;
}

struct control_node control_node(fuse_ino_t ino)
{
	return (struct control_node){
		.file = find_below(&root, ino % CONTROL_INO_END),
		.number = (ino & ~CONTROL_INO_NUMBERED) / CONTROL_INO_END,
	};
}

/* ---- Attributes ---- */

static struct stat attributes(const struct control *c, const struct control_node *node)
{
	bool is_dir = node->file->dir != NULL;

	return (struct stat){
		.st_ino = node_ino(node),
		.st_mode = (is_dir ? S_IFDIR : S_IFREG) | node->file->mode,
		.st_nlink = is_dir ? 2 : 1,
		.st_uid = c->options.uid,
		.st_gid = c->options.gid,
		.st_blksize = 4096,
		.st_atim = c->mounted_at,
		.st_mtim = c->mounted_at,
		.st_ctim = c->mounted_at,
	};
}

static struct fuse_entry_param entry_of(const struct control *c, const struct control_node *node)
{
	return (struct fuse_entry_param){
		.ino = node_ino(node),
		.attr = attributes(c, node),
		.attr_timeout = 0,
		/* A name with a number may go. */
		.entry_timeout = node->number ? 0 : ENTRY_TIMEOUT_S,
	};
}

void control_entry(const struct control *c, struct fuse_entry_param *out)
{
	*out = entry_of(c, &(struct control_node){ .file = &root });
}

void control_getattr(struct control *c, fuse_req_t req, fuse_ino_t ino)
{
	const struct control_node node = control_node(ino);
	AUTO_REQUEST struct request r = REQUEST_NONE;
	struct error e = { 0 };
	uint64_t size = 0;
	struct stat attr;

	request_begin(&r, req);
	if (!node.file)
		error_set(&e, ERR_NOT_FOUND, "no such control file");
	else if (node.file->size)
		node.file->size(c, node.number, &r.call, &size, &e);
	if (e.kind) {
		fuse_reply_err(request_end(&r), errmap_errno(e.kind));
		return;
	}
	attr = attributes(c, &node);
	attr.st_size = (off_t)size;
	fuse_reply_attr(request_end(&r), &attr, 0);
}

void control_setattr(struct control *c, fuse_req_t req, fuse_ino_t ino, int to_set)
{
	const int owned = FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID;
	const struct control_file *file = control_node(ino).file;

	/* A truncation may come with times. */
	if (!file || (to_set & owned) || !(to_set & FUSE_SET_ATTR_SIZE))
		fuse_reply_err(req, EPERM);
	else if (!file->write)
		fuse_reply_err(req, EACCES);
	else
		control_getattr(c, req, ino);
}

/* ---- Names ---- */

/* 0: not a number, or not in the form that listings use. */
static uint64_t number_of(const char *name)
{
	size_t digits = strspn(name, "0123456789");

	return *name != '0' && digits && digits <= 9 && !name[digits] ? strtoull(name, NULL, 10)
								      : 0;
}

static struct control_node find_name(
	struct control *c, const struct control_node *parent, const char *name)
{
	const struct control_dir *dir = parent->file->dir;
	uint64_t number = !dir->numbered ? 0 : dir->find ? dir->find(c, name) : number_of(name);

	for (size_t i = 0; dir->files[i]; i++)
		if (!strcmp(dir->files[i]->name, name))
			return (struct control_node){ dir->files[i], parent->number };
	if (number && dir->has(c, number))
		return (struct control_node){ dir->numbered, number };
	return (struct control_node){ 0 };
}

void control_lookup(struct control *c, fuse_req_t req, fuse_ino_t parent, const char *name)
{
	const struct control_node dir = control_node(parent);
	struct control_node node = { 0 };
	struct fuse_entry_param entry;

	if (dir.file && dir.file->dir)
		node = find_name(c, &dir, name);
	if (node.file) {
		entry = entry_of(c, &node);
		fuse_reply_entry(req, &entry);
	} else {
		fuse_reply_err(req, dir.file && !dir.file->dir ? ENOTDIR : ENOENT);
	}
}

/* ---- Listings ---- */

/*
 * An entry, and the offset of the next one: ".", "..", then the files from 2 on, then the numbers
 * from NUMBERS on.
 */
struct listed {
	char name[NAME_MAX + 1];
	struct control_node node;
	off_t next;
};
#define NUMBERS CONTROL_INO_END

static bool list_number(
	struct control *c, const struct control_dir *dir, uint64_t after, struct listed *out)
{
	uint64_t number = dir->numbered ? dir->next(c, after) : 0;

	if (number && dir->name_of)
		snprintf(out->name, sizeof out->name, "%s", dir->name_of(c, number));
	else
		snprintf(out->name, sizeof out->name, "%llu", (unsigned long long)number);
	out->node = (struct control_node){ dir->numbered, number };
	out->next = (off_t)(NUMBERS + number);
	return number != 0;
}

/* The entry at `off`; false: there is no more. */
static bool list_next(
	struct control *c, const struct control_node *node, off_t off, struct listed *out)
{
	const struct control_dir *dir = node->file->dir;
	size_t count = 0;

	while (dir->files[count])
		count++;
	if (off >= (off_t)count + 2)
		return list_number(c, dir, off > NUMBERS ? (uint64_t)off - NUMBERS : 0, out);
	out->node = off < 2 ? *node : (struct control_node){ dir->files[off - 2], node->number };
	snprintf(out->name, sizeof out->name, "%s",
		off == 0           ? "."
			: off == 1 ? ".."
				   : out->node.file->name);
	out->next = off + 1;
	return true;
}

static size_t add_listed(const struct control *c, fuse_req_t req, char *at, size_t room,
	const struct listed *listed, bool plus)
{
	struct fuse_entry_param entry = entry_of(c, &listed->node);

	if (!strcmp(listed->name, ".."))
		entry.attr.st_ino = listed->node.file == &root ? FUSE_ROOT_ID : CONTROL_INO_DIR;
	if (!plus)
		return fuse_add_direntry(req, at, room, listed->name, &entry.attr, listed->next);
	/*
	 * No inode: the kernel looks at neither "." nor "..", and counts no lookup. The kernel asks
	 * for a size that is unknown here.
	 */
	if (listed->name[0] == '.' || listed->node.file->size)
		entry.ino = 0;
	return fuse_add_direntry_plus(req, at, room, listed->name, &entry, listed->next);
}

static void list(
	struct control *c, fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, bool plus)
{
	const struct control_node node = control_node(ino);
	struct listed listed = { 0 };
	char page[4096];
	size_t room = size < sizeof page ? size : sizeof page;
	size_t used = 0;

	if (!node.file || !node.file->dir || off < 0) {
		fuse_reply_err(req, off < 0 ? EINVAL : ENOTDIR);
		return;
	}
	while (list_next(c, &node, off, &listed)) {
		size_t len = add_listed(c, req, page + used, room - used, &listed, plus);

		if (len > room - used)
			break;
		used += len;
		off = listed.next;
	}
	fuse_reply_buf(req, page, used);
}

/* For other users the known names are all. */
static bool is_owner(const struct control *c, fuse_req_t req)
{
	uid_t uid = fuse_req_ctx(req)->uid;

	return uid == c->options.uid || uid == 0;
}

void control_opendir(struct control *c, fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	const struct control_file *file = control_node(ino).file;
	AUTO_REQUEST struct request r = REQUEST_NONE;
	struct error e = { 0 };

	if (!file || !file->dir) {
		fuse_reply_err(req, ENOTDIR);
		return;
	}
	request_begin(&r, req);
	if (file->dir->refresh && is_owner(c, req))
		file->dir->refresh(c, &r.call, &e);
	if (e.kind)
		fuse_reply_err(request_end(&r), errmap_errno(e.kind));
	else
		fuse_reply_open(request_end(&r), fi);
}

void control_rmdir(struct control *c, fuse_req_t req, fuse_ino_t parent, const char *name)
{
	const struct control_node dir = control_node(parent);
	AUTO_REQUEST struct request r = REQUEST_NONE;
	struct control_node node = { 0 };
	struct error e = { 0 };

	if (dir.file && dir.file->dir && dir.file->dir->remove && is_owner(c, req))
		node = find_name(c, &dir, name);
	if (!node.file) {
		fuse_reply_err(req, EPERM);
		return;
	}
	request_begin(&r, req);
	dir.file->dir->remove(c, node.number, &r.call, &e);
	fuse_reply_err(request_end(&r), errmap_errno(e.kind));
}

void control_readdir(struct control *c, fuse_req_t req, fuse_ino_t ino, size_t size, off_t off)
{
	list(c, req, ino, size, off, false);
}

void control_readdirplus(struct control *c, fuse_req_t req, fuse_ino_t ino, size_t size, off_t off)
{
	list(c, req, ino, size, off, true);
}
