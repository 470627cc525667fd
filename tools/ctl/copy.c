#include "tools/ctl/copy_inside.h"

#include "providers/base/cleanup.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

/* The time for removing unfinished files, also when no answer comes any more. */
#define TIDY_MS 1000

enum err copy_no_memory(struct error *e)
{
	return error_set(e, ERR_NO_MEMORY, "copying: out of memory");
}

void copy_fail(struct copying *c, struct copy_entry *entry, enum err kind, const char *text)
{
	if (!entry->is_failed) {
		c->counts->failed++;
		c->copy->failed(c->copy->context, *entry->path ? entry->path : ".", kind, text);
	}
	entry->is_failed = true;
}

enum err copy_check(const struct copying *c, struct error *e)
{
	bool is_cancelled = c->call && c->call->cancel && cancel_thrown(c->call->cancel);

	return is_cancelled ? error_set(e, ERR_INTERRUPTED, "interrupted") : ERR_OK;
}

/* ---- Files and links under a name of their own ---- */

static char *staged_name(const struct copying *c, const struct copy_entry *entry)
{
	const char *slash = strrchr(entry->target, '/');
	int dir_len = slash ? (int)(slash + 1 - entry->target) : 0;
	char *name;

	return asprintf(&name, "%.*s%s-%zu", dir_len, entry->target, c->prefix,
		       (size_t)(entry - c->list.entries)) < 0
		? NULL
		: name;
}

enum err copy_begin(
	struct copying *c, struct copy_entry *entry, struct change change, struct error *e)
{
	entry->staged = staged_name(c, entry);
	if (!entry->staged)
		return copy_no_memory(e);
	change.path = entry->staged;
	return copy_add(c, entry, change, e);
}

enum err copy_end(struct copying *c, struct copy_entry *entry, struct error *e)
{
	const struct change keep = { .op = CHANGE_SETATTR,
		.path = entry->staged,
		.set = SET_MTIME | (entry->link ? 0 : SET_MODE),
		.mode = entry->attr.mode & c->copy->mode_mask,
		.mtime = entry->attr.mtime };
	const struct change place = {
		.op = CHANGE_RENAME, .path = entry->staged, .path2 = entry->target
	};
	enum err kind = copy_add(c, entry, keep, e);

	return kind == ERR_OK ? copy_add(c, entry, place, e) : kind;
}

/* ---- Directories and links ---- */

static enum err make_dir(struct copying *c, struct copy_entry *entry, struct error *e)
{
	const struct change change = { .op = CHANGE_MKDIR,
		.path = entry->target,
		.mode = (entry->attr.mode & c->copy->mode_mask) | 0700 };

	return *entry->target ? copy_add(c, entry, change, e) : ERR_OK;
}

static enum err make_link(struct copying *c, struct copy_entry *entry, struct error *e)
{
	const struct change change = {
		.op = CHANGE_SYMLINK, .data = entry->link, .data_len = strlen(entry->link)
	};
	enum err kind = copy_begin(c, entry, change, e);

	return kind == ERR_OK ? copy_end(c, entry, e) : kind;
}

/* No file has more bytes than an offset can express. */
static void check_size(struct copying *c, struct copy_entry *entry)
{
	if (entry->attr.size >= INT64_MAX)
		copy_fail(c, entry, ERR_TOO_LARGE, "has an impossible size");
}

static enum err make(struct copying *c, struct copy_entry *entry, struct error *e)
{
	switch (entry->attr.mode & S_IFMT) {
	case S_IFDIR: return make_dir(c, entry, e);
	case S_IFLNK: return make_link(c, entry, e);
	case S_IFREG: check_size(c, entry); return ERR_OK;
	default:
		copy_fail(c, entry, ERR_UNSUPPORTED,
			"neither a file nor a directory nor a symbolic link");
		return ERR_OK;
	}
}

/*
 * Directories are finished last: files made in them would change their times, and their permissions
 * might prevent that.
 */
static enum err finish_dir(struct copying *c, struct copy_entry *entry, struct error *e)
{
	const struct change change = { .op = CHANGE_SETATTR,
		.path = entry->target,
		.set = SET_MTIME | SET_MODE,
		.mode = entry->attr.mode & c->copy->mode_mask,
		.mtime = entry->attr.mtime };

	if (!S_ISDIR(entry->attr.mode) || !*entry->target || entry->is_above)
		return ERR_OK;
	return copy_add(c, entry, change, e);
}

/*
 * Directories that were made have their attributes now. A name that existed before is known to be a
 * directory if an entry could be made in it.
 */
static enum err finish_dirs(struct copying *c, struct error *e)
{
	struct copy_list *l = &c->list;
	enum err kind = ERR_OK;

	for (size_t n = l->count; kind == ERR_OK && n > 0; n--)
		kind = finish_dir(c, &l->entries[n - 1], e);
	if (kind == ERR_OK)
		kind = copy_flush(c, e);
	for (size_t n = l->count; kind == ERR_OK && n > 0; n--) {
		struct copy_entry *entry = &l->entries[n - 1];
		bool is_known = entry->is_there && entry->is_entered;

		entry->is_there &= !is_known;
		if (is_known)
			kind = finish_dir(c, entry, e);
	}
	return kind == ERR_OK ? copy_flush(c, e) : kind;
}

/* ---- The whole copy ---- */

static enum err copy_all(
	struct copying *c, const struct copy_source *sources, size_t count, struct error *e)
{
	struct copy_list *l = &c->list;
	enum err kind = copy_list(c, sources, count, e);

	for (size_t n = 0; kind == ERR_OK && n < l->count; n++)
		kind = make(c, &l->entries[n], e);
	if (kind == ERR_OK)
		kind = copy_files(c, e);
	return kind == ERR_OK ? finish_dirs(c, e) : kind;
}

/* Removes unfinished files. Best effort: a sandbox that cannot be reached keeps them. */
static void tidy(struct copying *c)
{
	static const struct call brief = { .progress_ms = TIDY_MS };
	enum err kind = ERR_OK;

	c->call = &brief;
	c->batch.count = c->batch.data_len = c->batch.paths_len = 0;
	for (size_t n = 0; kind == ERR_OK && n < c->list.count; n++)
		if (c->list.entries[n].staged)
			kind = copy_add(c, NULL,
				(struct change){
					.op = CHANGE_UNLINK, .path = c->list.entries[n].staged },
				NULL);
	if (kind == ERR_OK)
		copy_flush(c, NULL);
}

static enum err choose_prefix(struct copying *c, struct error *e)
{
	uint64_t number;

	if (getrandom(&number, sizeof number, 0) != sizeof number)
		return error_errno(e, errno, "getrandom");
	snprintf(c->prefix, sizeof c->prefix, ".sandboxctl-%016" PRIx64, number);
	return ERR_OK;
}

enum err copy_run(const struct copy *copy, const struct copy_source *sources, size_t count,
	struct copy_counts *counts, struct error *e)
{
	struct copying c = { .copy = copy, .call = copy->call, .counts = counts };
	enum err kind = choose_prefix(&c, e);

	*counts = (struct copy_counts){ 0 };
	if (kind == ERR_OK)
		kind = copy_batch_new(&c, e);
	if (kind == ERR_OK)
		kind = copy_all(&c, sources, count, e);
	tidy(&c);
	copy_list_release(&c.list);
	copy_batch_release(&c.batch);
	return kind;
}
