#include "cache/blocks/growing.h"

#include "providers/base/cleanup.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define FILES 64

struct growing {
	pthread_mutex_t lock; /* guards what follows */
	uint64_t uses;
	struct {
		struct growing_file *file; /* NULL: free */
		uint64_t used;
	} records[FILES];
};

/* ---- A file ---- */

static uint64_t hash_of(const char *path)
{
	return XXH3_64bits(path, strlen(path));
}

bool growing_is_known(const struct block_name *name)
{
	static const struct block_name none;

	return !block_names_equal(name, &none);
}

struct growing_file *growing_file_new(const char *path, const struct attr *version, uint64_t size)
{
	struct growing_file *f = calloc(1, sizeof *f);

	if (!f)
		return NULL;
	f->path = hash_of(path);
	f->version = *version;
	f->version.size = 0;
	if (growing_file_resize(f, size))
		return f;
	growing_file_free(f);
	return NULL;
}

void growing_file_free(struct growing_file *f)
{
	if (!f)
		return;
	free(f->names);
	free(f);
}

bool growing_file_resize(struct growing_file *f, uint64_t size)
{
	uint64_t had = block_count(f->version.size), has = block_count(size);
	struct block_name *names = realloc(f->names, (size_t)(has + 1) * sizeof *names);

	if (!names)
		return false;
	for (uint64_t n = had; n < has; n++)
		names[n] = (struct block_name){ 0 };
	f->names = names;
	f->version.size = size;
	return true;
}

void growing_file_move(struct growing_file *f, const char *path, const struct attr *version)
{
	f->path = hash_of(path);
	f->version = *version;
}

/* ---- The records ---- */

enum err growing_new(struct growing **out, struct error *e)
{
	struct growing *g = calloc(1, sizeof *g);

	if (!g)
		return error_set(e, ERR_NO_MEMORY, "cache");
	pthread_mutex_init(&g->lock, NULL);
	*out = g;
	return ERR_OK;
}

void growing_free(struct growing *g)
{
	if (!g)
		return;
	for (size_t n = 0; n < FILES; n++)
		growing_file_free(g->records[n].file);
	pthread_mutex_destroy(&g->lock);
	free(g);
}

static bool is_same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool is_version(const struct attr *attr, const struct version *version)
{
	return attr->size == version->size && is_same_time(attr->mtime, version->mtime) &&
		is_same_time(attr->ctime, version->ctime);
}

struct growing_file *growing_take(struct growing *g, const char *path, const struct version *met)
{
	uint64_t hash = hash_of(path);
	struct growing_file *found = NULL;

	pthread_mutex_lock(&g->lock);
	for (size_t n = 0; n < FILES && !found; n++) {
		struct growing_file *f = g->records[n].file;

		if (f && f->path == hash && is_version(&f->version, met))
			found = take(g->records[n].file);
	}
	pthread_mutex_unlock(&g->lock);
	return found;
}

struct growing_file *growing_take_any(struct growing *g)
{
	struct growing_file *found = NULL;

	pthread_mutex_lock(&g->lock);
	for (size_t n = 0; n < FILES && !found; n++)
		found = take(g->records[n].file);
	pthread_mutex_unlock(&g->lock);
	return found;
}

struct growing_file *growing_put(struct growing *g, struct growing_file *f)
{
	size_t at = 0;

	pthread_mutex_lock(&g->lock);
	for (size_t n = 1; n < FILES && g->records[at].file; n++)
		if (!g->records[n].file || g->records[n].used < g->records[at].used)
			at = n;
	struct growing_file *oldest = g->records[at].file;

	g->records[at].file = f;
	g->records[at].used = ++g->uses;
	pthread_mutex_unlock(&g->lock);
	return oldest;
}

static bool is_same_version(const struct attr *a, const struct attr *b)
{
	const struct version version = { .size = b->size, .mtime = b->mtime, .ctime = b->ctime };

	return a->dev == b->dev && a->ino == b->ino && a->btime_ns == b->btime_ns &&
		is_version(a, &version);
}

bool growing_find(
	struct growing *g, const struct attr *version, uint64_t index, struct block_name *out)
{
	bool is_found = false;

	pthread_mutex_lock(&g->lock);
	for (size_t n = 0; n < FILES && !is_found; n++) {
		const struct growing_file *f = g->records[n].file;

		is_found = f && is_same_version(&f->version, version) &&
			growing_is_known(&f->names[index]);
		if (is_found)
			*out = f->names[index];
	}
	pthread_mutex_unlock(&g->lock);
	return is_found;
}
