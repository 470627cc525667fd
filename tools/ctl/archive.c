#include "tools/ctl/archive.h"

#include "providers/base/buf.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

struct packing {
	struct archive *disk, *tar;
	const char *dir;
};

static enum err failed(struct archive *a, struct error *e)
{
	int number = archive_errno(a);

	return error_errno(e, number ? number : EIO, "the archive: %s",
		archive_error_string(a) ? archive_error_string(a) : "out of memory");
}

/* ARCHIVE_WARN is about what tar cannot say of a file, such as a socket. */
static bool is_failure(int result)
{
	return result < ARCHIVE_WARN;
}

static enum err write_all(struct archive *tar, const void *bytes, size_t len, struct error *e)
{
	return archive_write_data(tar, bytes, len) == (la_ssize_t)len ? ERR_OK : failed(tar, e);
}

/* It wants holes as zeros, of which it writes those that its format cannot leave out. */
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

/* The directory itself is no member. */
static enum err add(const struct packing *p, struct archive_entry *entry, struct error *e)
{
	AUTO_BUF struct buf path = BUF_INIT(PATH_MAX);

	buf_add_string(&path, archive_entry_pathname(entry) + strlen(p->dir));
	if (!path.len || path.failed)
		return buf_check(&path, "a path in the archive", e);
	archive_entry_set_pathname(entry, buf_text(&path) + 1);
	if (is_failure(archive_write_header(p->tar, entry)))
		return failed(p->tar, e);
	return archive_entry_size(entry) > 0 ? copy_data(p, e) : ERR_OK;
}

static enum err add_all(const struct packing *p, struct error *e)
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

enum err archive_tree(const char *dir, int fd, struct error *e)
{
	const struct packing p = {
		.disk = archive_read_disk_new(), .tar = archive_write_new(), .dir = dir
	};
	enum err kind = open_both(&p, fd, e);

	if (!kind)
		kind = add_all(&p, e);
	if (!kind && archive_write_close(p.tar))
		kind = failed(p.tar, e);
	archive_read_free(p.disk);
	archive_write_free(p.tar);
	return kind;
}
