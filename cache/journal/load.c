#include "cache/journal/journal_inside.h"

#include "cache/session/disk.h"

#include "providers/base/cleanup.h"
#include "providers/helper/wire.h"

#include <string.h>
#include <sys/stat.h>

/* ---- One segment ---- */

static enum err damaged(const struct segment *s, struct error *e)
{
	return error_set(e, ERR_PROTOCOL, "%s is damaged", s->path);
}

/* A machine that lost its power leaves zeroes where it had not written yet. */
static bool is_blank_from(const struct segment *s, uint64_t at, uint64_t end)
{
	unsigned char bytes[4096];

	for (size_t len; at < end; at += len) {
		len = end - at < sizeof bytes ? (size_t)(end - at) : sizeof bytes;
		if (segment_read(s, at, bytes, len, NULL))
			return false;
		for (size_t n = 0; n < len; n++)
			if (bytes[n])
				return false;
	}
	return true;
}

static bool is_change(const struct record_header *h, void *text)
{
	const struct buf in = { .bytes = text, .len = h->text_len };
	struct change change;

	return !wire_get_change(&in, &change, NULL);
}

/* *whole false: the file of `file_size` bytes ends within the record. */
static enum err load_record(struct segment *s, uint64_t file_size, bool *whole, struct error *e)
{
	uint64_t rest = file_size - s->size;
	struct record_header h;
	AUTO_FREE void *text = NULL;

	*whole = false;
	if (rest < sizeof h)
		return ERR_OK;
	enum err kind = segment_read(s, s->size, &h, sizeof h, e);

	if (kind)
		return kind;
	if (!record_is_sound(&h))
		return is_blank_from(s, s->size, file_size) ? ERR_OK : damaged(s, e);
	if (rest < record_len(&h))
		return ERR_OK;
	kind = segment_read_text(s, s->size, &h, &text, NULL);
	if (kind == ERR_NO_MEMORY || !segment_reserve(s))
		return error_set(e, ERR_NO_MEMORY, "journal");
	if (kind || !segment_take(s, &h, text) || (h.type == RECORD_ENTRY && !is_change(&h, text)))
		return damaged(s, e);
	s->size += record_len(&h);
	*whole = true;
	return ERR_OK;
}

enum err segment_load(struct segment *s, struct error *e)
{
	struct stat st;
	bool whole = true;
	enum err kind = fstat(s->fd, &st) ? disk_error(s->path, e) : ERR_OK;

	if (!kind && (uint64_t)st.st_size > SEGMENT_MAX)
		kind = damaged(s, e);
	while (!kind && whole)
		kind = load_record(s, (uint64_t)st.st_size, &whole, e);
	s->torn = !kind && s->size < (uint64_t)st.st_size;
	return kind;
}

/* ---- All segments of an earlier owner ---- */

static enum err load_one(struct journal *j, uint32_t ordinal, struct error *e)
{
	struct segment *s = NULL;
	char *path = NULL;
	int fd;
	enum err kind = journal_dir_file(&j->dir, ordinal, false, &fd, &path, e);

	if (!kind)
		kind = segment_new(&s, ordinal, fd, path, e);
	if (kind)
		return kind;
	TAILQ_INSERT_TAIL(&j->segments, s, link);
	return segment_load(s, e);
}

static bool follows(const struct segment *before, const struct segment *s)
{
	return before->ended && !memcmp(before->journal, s->journal, sizeof s->journal) &&
		s->first >= segment_end(before);
}

static enum err check_row(const struct journal *j, struct error *e)
{
	const struct segment *s;

	TAILQ_FOREACH(s, &j->segments, link)
	{
		const struct segment *before = TAILQ_PREV(s, segments, link);

		if (!s->size || (before && !follows(before, s)))
			return error_set(
				e, ERR_PROTOCOL, "%s: what was before it is missing", s->path);
	}
	return ERR_OK;
}

/* The owner was killed between making the file and writing its first record. */
static void drop_empty(struct journal *j)
{
	struct segment *last = segments_last_locked(j);

	if (last && !last->size)
		segments_remove(j, last);
}

enum err segments_load(struct journal *j, struct error *e)
{
	AUTO_FREE uint32_t *ordinals = NULL;
	size_t count = 0;
	enum err kind = journal_dir_list(&j->dir, &ordinals, &count, e);

	for (size_t n = 0; n < count && !kind; n++)
		kind = load_one(j, ordinals[n], e);
	if (kind)
		return kind;
	drop_empty(j);
	return check_row(j, e);
}
