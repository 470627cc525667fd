#include "cache/blocks/block_index.h"

#include "providers/base/cleanup.h"

#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#define PAGE ((size_t)4096)

struct record {
	struct block_place place;
	struct block_name name;
	uint64_t check; /* XXH3-64 of both, as this machine has numbers: the table stays here */
};

#define RECORDS (PAGE / sizeof(struct record))

struct versions {
	int fd;
	uint64_t pages; /* at least 1 */
	/* For looking, which would miss a record that is moved meanwhile, and for noting: two might choose the same place. */
	pthread_mutex_t lock;
};

struct block_place block_place(
	const struct block_name *sandbox, const struct attr *version, uint64_t index)
{
	uint64_t facts[11] = { version->dev, version->ino, version->btime_ns, version->size,
		(uint64_t)version->mtime.tv_sec, (uint64_t)version->mtime.tv_nsec,
		(uint64_t)version->ctime.tv_sec, (uint64_t)version->ctime.tv_nsec, index };
	struct block_place place;

	memcpy(&facts[9], sandbox, sizeof *sandbox);
	struct block_name hash = block_name(facts, sizeof facts);

	memcpy(&place, &hash, sizeof place);
	return place;
}

/* ---- Life ---- */

static enum err measure(struct versions *v, uint64_t bytes, struct error *e)
{
	struct stat st;

	/* What is wanted follows what is free on the disk: a little more is not worth losing all. */
	if (fstat(v->fd, &st) ||
		((uint64_t)st.st_size < bytes / 2 && ftruncate(v->fd, (off_t)bytes)) ||
		fstat(v->fd, &st))
		return error_errno(e, errno, "the table of file versions");
	v->pages = (uint64_t)st.st_size / PAGE;
	if (!v->pages)
		v->pages = 1;
	return ERR_OK;
}

enum err versions_open(struct versions **out, int fd, uint64_t bytes, struct error *e)
{
	struct versions *v = calloc(1, sizeof *v);

	if (!v) {
		close(fd);
		return error_set(e, ERR_NO_MEMORY, "cache");
	}
	v->fd = fd;
	pthread_mutex_init(&v->lock, NULL);
	enum err kind = measure(v, bytes, e);

	if (kind)
		versions_free(v);
	else
		*out = v;
	return kind;
}

void versions_free(struct versions *v)
{
	if (!v)
		return;
	pthread_mutex_destroy(&v->lock);
	close(v->fd);
	free(v);
}

/* ---- Records ---- */

static uint64_t check_of(const struct record *r)
{
	return XXH3_64bits(r, offsetof(struct record, check));
}

static off_t page_offset(const struct versions *v, const struct block_place *place)
{
	uint64_t number;

	memcpy(&number, place, sizeof number);
	return (off_t)(number % v->pages * PAGE);
}

/* What cannot be read is empty. */
static void read_page(const struct versions *v, off_t offset, struct record records[RECORDS])
{
	memset(records, 0, RECORDS * sizeof *records);
	if (pread(v->fd, records, RECORDS * sizeof *records, offset) < 0)
		memset(records, 0, RECORDS * sizeof *records);
}

static bool is_at(const struct record *r, const struct block_place *place)
{
	return !memcmp(&r->place, place, sizeof *place);
}

/* One that is free or damaged. */
static bool is_free(const struct record *r)
{
	return r->check != check_of(r);
}

/* Which one is noted of it; RECORDS: none. */
static size_t index_of(const struct record records[RECORDS], const struct block_place *place)
{
	size_t n = 0;

	while (n < RECORDS && (!is_at(&records[n], place) || is_free(&records[n])))
		n++;
	return n;
}

/* Which one goes: what was noted of it before, else one that is free, else the oldest. */
static size_t victim(const struct record records[RECORDS], const struct block_place *place)
{
	size_t n = index_of(records, place);

	if (n == RECORDS)
		for (n = 0; n < RECORDS - 1 && !is_free(&records[n]);)
			n++;
	return n;
}

static bool note_locked(
	struct versions *v, const struct block_place *place, const struct block_name *name)
{
	struct record records[RECORDS];
	off_t offset = page_offset(v, place);

	read_page(v, offset, records);
	memmove(records + 1, records, victim(records, place) * sizeof *records);
	records[0] = (struct record){ .place = *place, .name = *name };
	records[0].check = check_of(&records[0]);
	return pwrite(v->fd, records, sizeof records, offset) == (ssize_t)sizeof records;
}

bool versions_note(
	struct versions *v, const struct block_place *place, const struct block_name *name)
{
	pthread_mutex_lock(&v->lock);
	bool written = note_locked(v, place, name);

	pthread_mutex_unlock(&v->lock);
	return written;
}

static bool find_locked(struct versions *v, const struct block_place *place, struct block_name *out)
{
	struct record records[RECORDS];

	read_page(v, page_offset(v, place), records);
	size_t n = index_of(records, place);

	if (n == RECORDS)
		return false;
	*out = records[n].name;
	/* About to be forgotten, and still of use. */
	if (n >= RECORDS - RECORDS / 4)
		note_locked(v, place, out);
	return true;
}

bool versions_find(struct versions *v, const struct block_place *place, struct block_name *out)
{
	pthread_mutex_lock(&v->lock);
	bool found = find_locked(v, place, out);

	pthread_mutex_unlock(&v->lock);
	return found;
}
