/*
 * journal_export.c - applies the changes, in their order, to a directory that was empty, with the
 * same code as in a sandbox. The directory becomes the archive.
 */
#include "tools/ctl/journal_export.h"

#include "providers/base/cleanup.h"
#include "providers/base/harmless.h"
#include "providers/base/path.h"
#include "providers/change_words.h"
#include "providers/helper/helper.h"
#include "tools/ctl/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file of staging, and its final path. */
struct placed {
	char *staged, *path;
	bool is_here; /* the journal has all of it, from its beginning */
};

struct export
{
	struct journal *journal;
	char *dir; /* a temporary directory */
	struct root root;
	FILE *listing;
	struct placed *placed; /* by staged name */
	size_t placed_count;
};

/* ---- Staged files ---- */

/* A staged file that is committed later is made at its final path at once here. */
static enum err note_place(void *context, const struct journal_entry *entry, struct error *e)
{
	struct export *x = context;
	const struct change *c = &entry->change;

	if (c->op != CHANGE_PLACE || !path_is_staged(c->path))
		return ERR_OK;
	struct placed *grown = reallocarray(x->placed, x->placed_count + 1, sizeof *grown);
	struct placed one = { .staged = strdup(c->path), .path = strdup(c->path2) };

	if (grown)
		x->placed = grown;
	if (!grown || !one.staged || !one.path) {
		free(one.staged);
		free(one.path);
		return error_set(e, ERR_NO_MEMORY, "export");
	}
	x->placed[x->placed_count++] = one;
	return ERR_OK;
}

static int by_staged(const void *a, const void *b)
{
	const struct placed *one = a, *two = b;

	return strcmp(one->staged, two->staged);
}

static enum err note_places(struct export *x, struct error *e)
{
	enum err kind = journal_each(x->journal, note_place, x, e);

	if (x->placed_count)
		qsort(x->placed, x->placed_count, sizeof *x->placed, by_staged);
	return kind;
}

static struct placed *find_placed(const struct export *x, const char *staged)
{
	const struct placed wanted = { .staged = (char *)staged };

	return x->placed_count
		? bsearch(&wanted, x->placed, x->placed_count, sizeof wanted, by_staged)
		: NULL;
}

static bool is_here(const struct export *x, const char *staged)
{
	const struct placed *placed = find_placed(x, staged);

	return placed && placed->is_here;
}

/* The final path of `path`. NULL: a file that was removed while it was open. */
static const char *place_of(const struct export *x, const char *path)
{
	if (!path || !path_is_staged(path))
		return path;
	const struct placed *found = find_placed(x, path);

	return found ? found->path : NULL;
}

/* ---- A single change ---- */

/* Missing directories of the path were in the sandbox before. */
static void make_parents(const struct export *x, const char *path)
{
	AUTO_FREE char *copy = strdup(path);

	for (char *slash = copy; slash && (slash = strchr(slash, '/')); *slash++ = '/') {
		*slash = '\0';
		mkdirat(x->root.dir_fd, copy, 0755);
	}
}

/* A missing file that is written to was in the sandbox before. */
static void make_file(const struct export *x, const char *path)
{
	AUTO_CLOSE int fd = openat(
		x->root.dir_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);

	(void)fd;
}

static bool changes_a_file(enum change_op op)
{
	return op == CHANGE_WRITE || op == CHANGE_APPEND || op == CHANGE_FALLOCATE;
}

/* The change without its preconditions and its owner in the sandbox. */
static struct change alone(const struct change *c, const void *data, size_t len)
{
	struct change change = { .op = c->op,
		.flags = c->flags & (CHANGE_EXCHANGE | CHANGE_BY_HANDLE),
		.path = c->path,
		.path2 = c->path2,
		.set = c->set & ~(unsigned)(SET_UID | SET_GID),
		.mode = c->mode,
		.uid = CHANGE_NO_OWNER,
		.gid = CHANGE_NO_OWNER,
		.rdev = c->rdev,
		.size = c->size,
		.atime = c->atime,
		.mtime = c->mtime,
		.offset = c->offset,
		.offset2 = c->offset2,
		.length = c->length,
		.name = c->name,
		.data = data,
		.data_len = len };

	return change;
}

/*
 * A change that cannot be done here, such as removing a name that only the sandbox has, is only in
 * the listing.
 */
static enum err redo(const struct export *x, const struct change *c, struct error *e)
{
	const struct apply_request request = { .changes = c, .changes_count = 1 };
	struct change_result result;

	make_parents(x, c->path);
	if (c->path2)
		make_parents(x, c->path2);
	if (changes_a_file(c->op))
		make_file(x, c->path);

	enum err kind = helper_apply(&x->root, NULL, &request, &result, e);

	if (!kind && (result.err == ERR_NO_SPACE || result.err == ERR_IO))
		return error_set(e, result.err, "%s: %s: %s", x->dir, c->path, result.why);
	return kind;
}

/* Names and reasons may have any byte: each stays on one line, and no byte is lost. */
static void list_text(const struct export *x, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t len = strlen(text), step;

	for (; len; at += step, len -= step)
		if (harmless_next(at, len, &step) && *at != '\\')
			fwrite(at, 1, step, x->listing);
		else
			for (size_t i = 0; i < step; i++)
				fprintf(x->listing, "\\%03o", at[i]);
}

/*
 * Contents that were sent are no longer here: they are staged in the sandbox, and their commit was
 * refused.
 */
static void list_unplaced(const struct export *x, const struct journal_entry *entry)
{
	fputs("place ", x->listing);
	list_text(x, entry->change.path2);
	fputs(" (refused: ", x->listing);
	list_text(x, entry->why);
	fputs("; what was sent of it is in the sandbox's staging directory: ", x->listing);
	list_text(x, path_name(entry->change.path));
	fputs(")\n", x->listing);
}

static void list(const struct export *x, const struct change *c, const struct journal_entry *entry)
{
	fprintf(x->listing, "%s ", change_word(c->op));
	list_text(x, c->path);
	if (c->path2) {
		fputs(" -> ", x->listing);
		list_text(x, c->path2);
	}
	if (changes_a_file(c->op))
		fprintf(x->listing, " (%u bytes at %llu)", entry->where.len,
			(unsigned long long)c->offset);
	if (entry->has_failed) {
		fputs(" (refused: ", x->listing);
		list_text(x, entry->why);
		fputc(')', x->listing);
	}
	fputc('\n', x->listing);
}

static enum err redo_entry(const struct export *x, const struct change *shown,
	const struct journal_entry *entry, struct error *e)
{
	AUTO_FREE void *data = malloc(entry->where.len + 1);

	if (!data)
		return error_set(e, ERR_NO_MEMORY, "export");

	enum err kind = journal_read(x->journal, &entry->where, data, e);
	const struct change change = alone(shown, data, entry->where.len);

	list(x, shown, entry);
	return kind ? kind : redo(x, &change, e);
}

/* A staged file for an existing name begins empty, and all of it is in the journal. */
static void begin_staged(const struct export *x, const char *staged)
{
	struct placed *placed = find_placed(x, staged);

	if (!placed)
		return;
	placed->is_here = true;
	unlinkat(x->root.dir_fd, placed->path, 0);
}

/* A commit that brings the file along needs no staging here. */
static enum err redo_whole(
	const struct export *x, const struct journal_entry *entry, struct error *e)
{
	struct change create = entry->change, write = entry->change;
	const struct journal_entry empty = {
		.change = create, .has_failed = entry->has_failed, .why = entry->why
	};

	begin_staged(x, entry->change.path);
	create.op = CHANGE_CREATE;
	write.op = CHANGE_WRITE;
	create.path = write.path = create.path2;
	create.path2 = write.path2 = NULL;
	enum err kind = redo_entry(x, &create, &empty, e);

	return kind ? kind : redo_entry(x, &write, entry, e);
}

static enum err take_entry(void *context, const struct journal_entry *entry, struct error *e)
{
	const struct export *x = context;
	struct change shown = entry->change;

	if (shown.op == CHANGE_PLACE && shown.flags & CHANGE_MAKES)
		return redo_whole(x, entry, e);
	if (shown.op == CHANGE_PLACE && entry->has_failed && !is_here(x, shown.path))
		list_unplaced(x, entry);
	if (shown.op == CHANGE_CREATE)
		begin_staged(x, shown.path);
	shown.path = place_of(x, entry->change.path);
	shown.path2 = place_of(x, entry->change.path2);
	return !shown.path || shown.op == CHANGE_PLACE ? ERR_OK : redo_entry(x, &shown, entry, e);
}

/* ---- All changes ---- */

static enum err begin(struct export *x, struct error *e)
{
	const char *tmp = secure_getenv("TMPDIR");

	if (asprintf(&x->dir, "%s/sandboxfs-export-XXXXXX", tmp && *tmp ? tmp : P_tmpdir) < 0) {
		x->dir = NULL;
		return error_set(e, ERR_NO_MEMORY, "export");
	}
	if (!mkdtemp(x->dir)) {
		enum err kind = error_errno(e, errno, "%s", x->dir);

		free(take(x->dir));
		return kind;
	}
	enum err kind = root_open(&x->root, x->dir, NULL, e);
	int fd = kind
		? -1
		: openat(x->root.dir_fd, JOURNAL_LISTING, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	x->listing = fd < 0 ? NULL : fdopen(fd, "w");
	return x->listing ? ERR_OK : error_errno(e, errno, "%s", x->dir);
}

static enum err finish_listing(struct export *x, struct error *e)
{
	FILE *listing = take(x->listing);
	bool failed = ferror(listing);

	return fclose(listing) || failed ? error_errno(e, errno, "%s", x->dir) : ERR_OK;
}

static int remove_one(const char *path, const struct stat *facts, int type, struct FTW *at)
{
	(void)facts, (void)type, (void)at;
	remove(path);
	return 0;
}

static void end(struct export *x)
{
	if (x->listing)
		fclose(x->listing);
	for (size_t n = 0; n < x->placed_count; n++) {
		free(x->placed[n].staged);
		free(x->placed[n].path);
	}
	free(x->placed);
	if (!x->dir)
		return;
	root_close(&x->root);
	nftw(x->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	free(x->dir);
}

enum err journal_export(struct journal *j, int fd, struct error *e)
{
	struct export x = { .journal = j, .root = { .dir_fd = -1, .staging_fd = -1 } };
	enum err kind = begin(&x, e);

	if (!kind)
		kind = note_places(&x, e);
	if (!kind)
		kind = journal_each(j, take_entry, &x, e);
	if (!kind)
		kind = finish_listing(&x, e);
	if (!kind)
		kind = archive_tree(x.dir, fd, false, e);
	end(&x);
	return kind;
}
