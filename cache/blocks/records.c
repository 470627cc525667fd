#include "cache/blocks/records.h"

#include "providers/base/cleanup.h"

#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#define PAGE       ((size_t)4096)
#define CHECK_SIZE sizeof(XXH64_hash_t)

/*
 * A record is a key, a value, and XXH3-64 of both, in this machine's byte order: the table stays
 * here.
 */
struct records {
	int fd;
	uint64_t pages; /* at least 1 */
	size_t checked; /* bytes of a key and a value */
	size_t size;    /* bytes of a record */
	size_t count;   /* records in a page */
	/*
	 * Guards finding, which would miss a record that is moved meanwhile, and noting, where two
	 * threads might choose the same place.
	 */
	pthread_mutex_t lock;
};

/* ---- Life ---- */

static enum err measure(struct records *r, uint64_t bytes, struct error *e)
{
	struct stat st;

	/*
	 * The wanted size follows the free space of the disk: a little more is not worth losing
	 * all.
	 */
	if (fstat(r->fd, &st) ||
		((uint64_t)st.st_size < bytes / 2 && ftruncate(r->fd, (off_t)bytes)) ||
		fstat(r->fd, &st))
		return error_errno(e, errno, "a table");
	r->pages = (uint64_t)st.st_size / PAGE;
	if (!r->pages)
		r->pages = 1;
	return ERR_OK;
}

enum err records_open(
	struct records **out, int fd, uint64_t bytes, size_t value_size, struct error *e)
{
	struct records *r = calloc(1, sizeof *r);

	if (!r) {
		close(fd);
		return error_set(e, ERR_NO_MEMORY, "cache");
	}
	r->fd = fd;
	r->checked = RECORDS_KEY_SIZE + value_size;
	r->size = r->checked + CHECK_SIZE;
	r->count = PAGE / r->size;
	pthread_mutex_init(&r->lock, NULL);
	enum err kind = measure(r, bytes, e);

	if (kind)
		records_free(r);
	else
		*out = r;
	return kind;
}

void records_free(struct records *r)
{
	if (!r)
		return;
	pthread_mutex_destroy(&r->lock);
	close(r->fd);
	free(r);
}

/* ---- One page ---- */

static off_t page_offset(const struct records *r, const unsigned char *key)
{
	uint64_t number;

	memcpy(&number, key, sizeof number);
	return (off_t)(number % r->pages * PAGE);
}

/* A page that cannot be read is empty. */
static void read_page(const struct records *r, off_t offset, unsigned char page[PAGE])
{
	memset(page, 0, PAGE);
	if (pread(r->fd, page, r->count * r->size, offset) < 0)
		memset(page, 0, PAGE);
}

/* Whether the record is free or damaged. */
static bool is_free(const struct records *r, const unsigned char *record)
{
	XXH64_hash_t check;

	memcpy(&check, record + r->checked, sizeof check);
	return check != XXH3_64bits(record, r->checked);
}

/* The record of the key; records.count: there is none. */
static size_t index_of(
	const struct records *r, const unsigned char page[PAGE], const unsigned char *key)
{
	size_t n = 0;

	while (n < r->count &&
		(memcmp(page + n * r->size, key, RECORDS_KEY_SIZE) ||
			is_free(r, page + n * r->size)))
		n++;
	return n;
}

/* The record that goes: the key's own, else one that is free, else the oldest. */
static size_t victim(
	const struct records *r, const unsigned char page[PAGE], const unsigned char *key)
{
	size_t n = index_of(r, page, key);

	if (n == r->count)
		for (n = 0; n < r->count - 1 && !is_free(r, page + n * r->size);)
			n++;
	return n;
}

/* ---- Records ---- */

static bool note_locked(struct records *r, const unsigned char *key, const void *value)
{
	unsigned char page[PAGE];
	off_t offset = page_offset(r, key);

	read_page(r, offset, page);
	memmove(page + r->size, page, victim(r, page, key) * r->size);
	memcpy(page, key, RECORDS_KEY_SIZE);
	memcpy(page + RECORDS_KEY_SIZE, value, r->checked - RECORDS_KEY_SIZE);
	XXH64_hash_t check = XXH3_64bits(page, r->checked);

	memcpy(page + r->checked, &check, sizeof check);
	return pwrite(r->fd, page, r->count * r->size, offset) == (ssize_t)(r->count * r->size);
}

bool records_note(struct records *r, const unsigned char key[RECORDS_KEY_SIZE], const void *value)
{
	pthread_mutex_lock(&r->lock);
	bool written = note_locked(r, key, value);

	pthread_mutex_unlock(&r->lock);
	return written;
}

static bool find_locked(struct records *r, const unsigned char *key, void *value)
{
	unsigned char page[PAGE];

	read_page(r, page_offset(r, key), page);
	size_t n = index_of(r, page, key);

	if (n == r->count)
		return false;
	memcpy(value, page + n * r->size + RECORDS_KEY_SIZE, r->checked - RECORDS_KEY_SIZE);
	/* The record is about to be forgotten, and still of use. */
	if (n >= r->count - r->count / 4)
		note_locked(r, key, value);
	return true;
}

bool records_find(struct records *r, const unsigned char key[RECORDS_KEY_SIZE], void *value)
{
	pthread_mutex_lock(&r->lock);
	bool found = find_locked(r, key, value);

	pthread_mutex_unlock(&r->lock);
	return found;
}
