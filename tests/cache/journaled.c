#include "tests/cache/journaled.h"

#include "providers/base/cleanup.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

void journaled_open(struct journaled *j, uint64_t size_max)
{
	struct error e = { 0 };
	struct journal_options o = { .dir = j->dir, .size_max = size_max, .mount = "/mnt/one" };

	cr_assert(eq(int, journal_open(&j->journal, &o, &e), ERR_OK), "%s", e.text);
}

void journaled_reopen(struct journaled *j)
{
	journal_close(take(j->journal));
	journaled_open(j, 0);
}

void journaled_setup(struct journaled *j, uint64_t size_max)
{
	scratch_make(&j->scratch);
	snprintf(j->state, sizeof j->state, "state");
	snprintf(j->dir, sizeof j->dir, "%s/%s/journal", j->scratch.path, j->state);
	journaled_open(j, size_max);
}

void journaled_teardown(struct journaled *j)
{
	journal_close(take(j->journal));
	scratch_remove(&j->scratch);
}

const void *journaled_bytes(uint64_t n, size_t len)
{
	static unsigned char bytes[MIB];

	for (size_t at = 0; at < len; at++)
		bytes[at] = (unsigned char)((at + n) * 2654435761u >> 13);
	return bytes;
}

enum err journaled_try_write(struct journaled *j, const char *path, uint64_t n, size_t len,
	uint64_t *number, struct journal_extent *where, struct error *e)
{
	struct change change = { .op = CHANGE_WRITE,
		.path = path,
		.offset = n,
		.data = journaled_bytes(n, len),
		.data_len = len };

	return journal_add(j->journal, &change, number, where, e);
}

struct journal_extent journaled_write(struct journaled *j, const char *path, uint64_t n, size_t len)
{
	struct journal_extent where;
	struct error e = { 0 };
	uint64_t number;

	cr_assert(eq(int, journaled_try_write(j, path, n, len, &number, &where, &e), ERR_OK), "%s",
		e.text);
	cr_assert(eq(sz, where.len, len));
	return where;
}

uint64_t journaled_name(struct journaled *j, enum change_op op, const char *path, const char *path2)
{
	struct change change = { .op = op, .path = path, .path2 = path2, .needs = 7 };
	struct journal_extent where;
	struct error e = { 0 };
	uint64_t number;

	cr_assert(eq(int, journal_add(j->journal, &change, &number, &where, &e), ERR_OK), "%s",
		e.text);
	cr_assert(eq(sz, where.len, 0));
	return number;
}

void journaled_done(struct journaled *j, uint64_t first, uint64_t last)
{
	for (uint64_t n = first; n <= last; n++)
		cr_assert(eq(int, journal_note_done(j->journal, &n, 1, NULL), ERR_OK));
}

bool journaled_reads(
	struct journaled *j, const struct journal_extent *where, uint64_t n, size_t from)
{
	AUTO_FREE unsigned char *got = malloc(where->len + (size_t)1);

	return !journal_read(j->journal, where, got, NULL) &&
		!memcmp(got, (const char *)journaled_bytes(n, from + where->len) + from,
			where->len);
}

static enum err tell(void *context, const struct journal_entry *entry, struct error *e)
{
	(void)e;
	buf_printf(context, "%llu:%s", (unsigned long long)entry->number, entry->change.path);
	if (entry->change.path2)
		buf_printf(context, ">%s", entry->change.path2);
	if (entry->where.len)
		buf_printf(context, "+%u", entry->where.len);
	if (entry->sequence)
		buf_printf(context, " seq %llu%s",
			(unsigned long long)(entry->sequence & ~SEQUENCE_ASIDE),
			entry->sequence & SEQUENCE_ASIDE ? " aside" : "");
	if (entry->has_left)
		buf_printf(context, " left");
	if (entry->has_failed)
		buf_printf(context, " %s: %s", error_name(entry->err), entry->why);
	buf_add_byte(context, '\n');
	return ERR_OK;
}

void journaled_expect(struct journaled *j, const char *expected)
{
	AUTO_BUF struct buf listed = BUF_INIT(MIB);
	struct error e = { 0 };

	cr_assert(eq(int, journal_each(j->journal, tell, &listed, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(str, (char *)buf_text(&listed), (char *)expected));
}

struct usage {
	uint64_t entries, bytes, failed;
};

static struct usage usage_of(struct journaled *j)
{
	struct usage u;

	journal_usage(j->journal, &u.entries, &u.bytes, &u.failed);
	return u;
}

uint64_t journaled_unsynced(struct journaled *j)
{
	return usage_of(j).entries;
}

uint64_t journaled_failed(struct journaled *j)
{
	return usage_of(j).failed;
}

uint64_t journaled_size(struct journaled *j)
{
	return usage_of(j).bytes;
}

size_t journaled_count(const struct journaled *j, const char *dir, const char *prefix)
{
	DIR *open = fdopendir(openat(j->scratch.fd, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	size_t count = 0;

	cr_assert(open != NULL, "%s", dir);
	for (struct dirent *entry; (entry = readdir(open));)
		count += !strncmp(entry->d_name, prefix, strlen(prefix));
	closedir(open);
	return count;
}
