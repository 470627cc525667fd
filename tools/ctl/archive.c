#include "tools/ctl/archive.h"

#include "providers/base/buf.h"
#include "providers/base/path.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct packing {
	struct archive *disk, *tar;
	const char *dir;
	bool repeats_directories;
	struct archive_entry **directories; /* directories to repeat; owned */
	size_t directories_count;
};

static enum err failed(struct archive *a, struct error *e)
{
	int number = archive_errno(a);

	return error_errno(e, number ? number : EIO, "the archive: %s",
		archive_error_string(a) ? archive_error_string(a) : "out of memory");
}

/* ARCHIVE_WARN means that tar cannot express something of a file, such as a socket. */
static bool is_failure(int result)
{
	return result < ARCHIVE_WARN;
}

static enum err write_all(struct archive *tar, const void *bytes, size_t len, struct error *e)
{
	return archive_write_data(tar, bytes, len) == (la_ssize_t)len ? ERR_OK : failed(tar, e);
}

/* libarchive takes holes as zeros, and writes only those that its format cannot leave out. */
static enum err fill_hole(struct archive *tar, la_int64_t from, la_int64_t to, struct error *e)
{
	static const char zeros[64 * 1024];
	enum err kind = ERR_OK;

	for (size_t len; from < to && !kind; from += (la_int64_t)len) {
		len = (size_t)(to - from) < sizeof zeros ? (size_t)(to - from) : sizeof zeros;
		kind = write_all(tar, zeros, len, e);
	}
	return kind;
}

static enum err copy_data(const struct packing *p, struct error *e)
{
	la_int64_t offset, end = 0;
	enum err kind = ERR_OK;
	const void *bytes;
	int result = ARCHIVE_OK;
	size_t len;

	while (!kind &&
		(result = archive_read_data_block(p->disk, &bytes, &len, &offset)) == ARCHIVE_OK) {
		kind = fill_hole(p->tar, end, offset, e);
		if (!kind)
			kind = write_all(p->tar, bytes, len, e);
		end = offset + (la_int64_t)len;
	}
	return kind || result == ARCHIVE_EOF ? kind : failed(p->disk, e);
}

/* Until the directory's own attributes come, the unpacking program may write to it. */
static enum err put_off(struct packing *p, struct archive_entry *entry, struct error *e)
{
	struct archive_entry **grown = reallocarray(
		p->directories, p->directories_count + 1, sizeof(struct archive_entry *));

	if (grown)
		p->directories = grown;
	if (!grown || !(grown[p->directories_count] = archive_entry_clone(entry)))
		return error_set(e, ERR_NO_MEMORY, "the archive");
	p->directories_count++;
	archive_entry_set_perm(entry, archive_entry_perm(entry) | 0700);
	return ERR_OK;
}

/* The entries of a directory come before the directory itself. */
static enum err add_directories(const struct packing *p, struct error *e)
{
	enum err kind = ERR_OK;

	for (size_t n = p->directories_count; !kind && n > 0; n--)
		if (is_failure(archive_write_header(p->tar, p->directories[n - 1])))
			kind = failed(p->tar, e);
	return kind;
}

static void release_directories(const struct packing *p)
{
	for (size_t n = 0; n < p->directories_count; n++)
		archive_entry_free(p->directories[n]);
	free(p->directories);
}

/* `dir` itself is no member. */
static enum err add(struct packing *p, struct archive_entry *entry, struct error *e)
{
	AUTO_BUF struct buf path = BUF_INIT(PATH_MAX);
	enum err kind = ERR_OK;

	buf_add_string(&path, archive_entry_pathname(entry) + strlen(p->dir));
	if (!path.len || path.failed)
		return buf_check(&path, "a path in the archive", e);
	archive_entry_set_pathname(entry, buf_text(&path) + 1);
	if (p->repeats_directories && archive_entry_filetype(entry) == AE_IFDIR)
		kind = put_off(p, entry, e);
	if (kind)
		return kind;
	if (is_failure(archive_write_header(p->tar, entry)))
		return failed(p->tar, e);
	return archive_entry_size(entry) > 0 ? copy_data(p, e) : ERR_OK;
}

static enum err add_all(struct packing *p, struct error *e)
{
	struct archive_entry *entry = archive_entry_new();
	enum err kind = entry ? ERR_OK : error_set(e, ERR_NO_MEMORY, "the archive");
	int result = ARCHIVE_OK;

	while (!kind && (result = archive_read_next_header2(p->disk, entry)) != ARCHIVE_EOF) {
		kind = is_failure(result) ? failed(p->disk, e) : add(p, entry, e);
		archive_read_disk_descend(p->disk);
		archive_entry_clear(entry);
	}
	archive_entry_free(entry);
	return kind;
}

static enum err open_both(const struct packing *p, int fd, struct error *e)
{
	if (!p->disk || !p->tar)
		return error_set(e, ERR_NO_MEMORY, "the archive");
	archive_read_disk_set_symlink_physical(p->disk);
	archive_write_set_format_pax_restricted(p->tar);
	if (archive_write_open_fd(p->tar, fd))
		return failed(p->tar, e);
	return archive_read_disk_open(p->disk, p->dir) ? failed(p->disk, e) : ERR_OK;
}

enum err archive_tree(const char *dir, int fd, bool repeats_directories, struct error *e)
{
	struct packing p = { .disk = archive_read_disk_new(),
		.tar = archive_write_new(),
		.dir = dir,
		.repeats_directories = repeats_directories };
	struct error why = { 0 };

	if (!open_both(&p, fd, &why) && !add_all(&p, &why))
		add_directories(&p, &why);
	if (!why.kind && archive_write_close(p.tar))
		failed(p.tar, &why);
	release_directories(&p);
	archive_read_free(p.disk);
	archive_write_free(p.tar);
	return why.kind ? error_set(e, why.kind, "%s", why.text) : ERR_OK;
}

/* ---- Unpacking ---- */

/* "./a/b" as a path below `dir`. */
static enum err place_below(const char *dir, const char *member, struct buf *out, struct error *e)
{
	size_t len;
	enum err kind;

	buf_printf(out, "%s/", dir);
	len = out->len;
	buf_add_string(out, strncmp(member, "./", 2) ? member : member + 2);
	while (out->len > len && out->bytes[out->len - 1] == '/')
		out->bytes[--out->len] = 0;
	kind = buf_check(out, "a path in the archive", e);
	if (!kind && path_check(buf_text(out) + len, NULL))
		kind = error_set(
			e, ERR_PROTOCOL, "the archive: '%.200s' is no path below it", member);
	return kind;
}

static enum err place(struct archive_entry *entry, const char *dir, struct error *e)
{
	AUTO_BUF struct buf path = BUF_INIT(2 * PATH_MAX), other = BUF_INIT(2 * PATH_MAX);
	const char *name = archive_entry_pathname(entry), *link = archive_entry_hardlink(entry);
	enum err kind = name ? place_below(dir, name, &path, e)
			     : error_set(e, ERR_PROTOCOL, "the archive: a member without a name");

	if (!kind && link)
		kind = place_below(dir, link, &other, e);
	if (kind)
		return kind;
	archive_entry_set_pathname(entry, buf_text(&path));
	if (link)
		archive_entry_set_hardlink(entry, buf_text(&other));
	return ERR_OK;
}

static enum err unpack_data(struct archive *tar, struct archive *disk, struct error *e)
{
	la_int64_t offset;
	const void *bytes;
	int result;
	size_t len;

	while ((result = archive_read_data_block(tar, &bytes, &len, &offset)) == ARCHIVE_OK)
		if (archive_write_data_block(disk, bytes, len, offset) < ARCHIVE_OK)
			return failed(disk, e);
	return result == ARCHIVE_EOF ? ERR_OK : failed(tar, e);
}

static enum err unpack_all(
	struct archive *tar, struct archive *disk, const char *dir, struct error *e)
{
	struct archive_entry *entry;
	enum err kind = ERR_OK;
	int result = ARCHIVE_OK;

	while (!kind && (result = archive_read_next_header(tar, &entry)) != ARCHIVE_EOF) {
		kind = is_failure(result) ? failed(tar, e) : place(entry, dir, e);
		if (!kind && is_failure(archive_write_header(disk, entry)))
			kind = failed(disk, e);
		if (!kind && archive_entry_size(entry) > 0)
			kind = unpack_data(tar, disk, e);
	}
	return kind;
}

enum err archive_unpack(int fd, const char *dir, struct error *e)
{
	struct archive *tar = archive_read_new(), *disk = archive_write_disk_new();
	enum err kind = tar && disk ? ERR_OK : error_set(e, ERR_NO_MEMORY, "the archive");

	if (!kind) {
		archive_read_support_format_tar(tar);
		archive_write_disk_set_options(disk,
			ARCHIVE_EXTRACT_PERM | ARCHIVE_EXTRACT_TIME |
				ARCHIVE_EXTRACT_SECURE_SYMLINKS);
		if (archive_read_open_fd(tar, fd, 65536))
			kind = failed(tar, e);
	}
	if (!kind)
		kind = unpack_all(tar, disk, dir, e);
	if (!kind && archive_write_close(disk))
		kind = failed(disk, e);
	archive_read_free(tar);
	archive_write_free(disk);
	return kind;
}
