#include "cache/blocks/budget.h"

#include "providers/base/cleanup.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

/* File systems allocate whole pages. */
#define PAGE 4096
/* How many candidates for removal are looked at together, in 2 MiB. */
#define OLD_MAX ((size_t)32 * 1024)
/* A temporary file of this age has no writer any more. */
#define ASIDE_S 3600

struct block_budget {
	int blocks, usage;
	_Atomic int64_t unrecorded; /* bytes not added to the file yet */
	struct stats *stats;
	pthread_mutex_t lock; /* guards the sum, with the file's own lock */
};

struct old {
	struct timespec used;
	uint64_t cost;
	char path[36]; /* relative to the directory of blocks */
};

uint64_t block_budget_cost(uint64_t len)
{
	return (len + PAGE - 1) / PAGE * PAGE;
}

/* ---- Looking through the directory ---- */

struct survey {
	int blocks;
	int folder;
	const char *folder_name;
	struct old *old; /* room for twice OLD_MAX: the oldest, and others */
	size_t count;
	uint64_t total;
};

static int by_use(const void *one, const void *two)
{
	const struct timespec *a = &((const struct old *)one)->used;
	const struct timespec *b = &((const struct old *)two)->used;

	if (a->tv_sec != b->tv_sec)
		return a->tv_sec < b->tv_sec ? -1 : 1;
	return (a->tv_nsec > b->tv_nsec) - (a->tv_nsec < b->tv_nsec);
}

static void keep_oldest(struct survey *s)
{
	qsort(s->old, s->count, sizeof *s->old, by_use);
	if (s->count > OLD_MAX)
		s->count = OLD_MAX;
}

static void survey_file(struct survey *s, const char *name)
{
	struct stat st;

	if (name[0] == '.' || fstatat(s->folder, name, &st, AT_SYMLINK_NOFOLLOW))
		return;
	if (!strncmp(name, BLOCK_ASIDE, strlen(BLOCK_ASIDE)) &&
		st.st_mtim.tv_sec + ASIDE_S < time(NULL) && !unlinkat(s->folder, name, 0))
		return;
	struct old *old = &s->old[s->count];

	old->used = st.st_mtim;
	old->cost = block_budget_cost((uint64_t)st.st_size);
	s->total += old->cost;
	if (snprintf(old->path, sizeof old->path, "%s/%s", s->folder_name, name) <
		(int)sizeof old->path)
		s->count++;
	if (s->count == 2 * OLD_MAX)
		keep_oldest(s);
}

/* Calls `each` for every name in the directory. */
static void each_name(int dir, void (*each)(struct survey *s, const char *name), struct survey *s)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;

	if (!stream && fd >= 0)
		close(fd);
	while (stream && (entry = readdir(stream)))
		each(s, entry->d_name);
	if (stream)
		closedir(stream);
}

static void survey_folder(struct survey *s, const char *name)
{
	if (name[0] == '.' || strlen(name) != 2)
		return;
	AUTO_CLOSE int folder =
		openat(s->blocks, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	s->folder = folder;
	s->folder_name = name;
	if (folder >= 0)
		each_name(folder, survey_file, s);
}

/*
 * Removes the oldest of the files found, until all together take at most `max`. Returns how many.
 */
static size_t remove_oldest(struct survey *s, uint64_t max)
{
	size_t removed = 0;

	keep_oldest(s);
	for (size_t n = 0; n < s->count && s->total > max; n++) {
		if (unlinkat(s->blocks, s->old[n].path, 0))
			continue;
		s->total -= s->old[n].cost;
		removed++;
	}
	return removed;
}

/* Removes the oldest until the rest takes at most `max`. Returns what the rest takes. */
static uint64_t survey_and_trim(struct block_budget *b, uint64_t max)
{
	struct survey s = { .blocks = b->blocks };
	size_t removed;

	s.old = malloc(2 * OLD_MAX * sizeof *s.old);
	do {
		s.count = s.total = 0;
		if (s.old)
			each_name(b->blocks, survey_folder, &s);
		removed = remove_oldest(&s, max);
		stats_add(b->stats, STATS_BLOCKS_EVICTED, removed);
	} while (s.total > max && removed);
	free(s.old);
	return s.total;
}

/* ---- The sum ---- */

static bool read_sum(const struct block_budget *b, uint64_t *sum)
{
	return pread(b->usage, sum, sizeof *sum, 0) == sizeof *sum;
}

static void write_sum(const struct block_budget *b, uint64_t sum)
{
	/* Where the sum cannot be written nothing else can. */
	if (pwrite(b->usage, &sum, sizeof sum, 0) < 0)
		return;
}

static bool lock_now(struct block_budget *b)
{
	if (pthread_mutex_trylock(&b->lock))
		return false;
	if (!flock(b->usage, LOCK_EX | LOCK_NB))
		return true;
	pthread_mutex_unlock(&b->lock);
	return false;
}

static void unlock(struct block_budget *b)
{
	flock(b->usage, LOCK_UN);
	pthread_mutex_unlock(&b->lock);
}

/* Adds what is not in the file yet, and makes room where the sum is above `max`. */
static void record_cost(struct block_budget *b, uint64_t max)
{
	uint64_t sum = 0;

	if (!lock_now(b))
		return;
	int64_t unrecorded = atomic_exchange(&b->unrecorded, 0);
	bool known = read_sum(b, &sum);

	sum += (uint64_t)unrecorded;
	/*
	 * A sum below zero is a huge number here, and as wrong as one that is too large: it is
	 * counted anew. The files whose cost is added now are not there yet.
	 */
	if (!known || sum > max) {
		uint64_t coming = unrecorded > 0 ? (uint64_t)unrecorded : 0, room = max - max / 8;

		sum = survey_and_trim(b, room > coming ? room - coming : 0) + coming;
	}
	write_sum(b, sum);
	unlock(b);
}

enum err block_budget_new(
	struct block_budget **out, int blocks, int usage, struct stats *stats, struct error *e)
{
	struct block_budget *b = calloc(1, sizeof *b);
	uint64_t sum;

	if (!b) {
		close(usage);
		return error_set(e, ERR_NO_MEMORY, "cache");
	}
	b->blocks = blocks;
	b->usage = usage;
	b->stats = stats;
	pthread_mutex_init(&b->lock, NULL);
	if (!read_sum(b, &sum))
		record_cost(b, UINT64_MAX);
	*out = b;
	return ERR_OK;
}

void block_budget_free(struct block_budget *b)
{
	if (!b)
		return;
	record_cost(b, UINT64_MAX);
	pthread_mutex_destroy(&b->lock);
	close(b->usage);
	free(b);
}

uint64_t block_budget_used(struct block_budget *b)
{
	uint64_t sum;

	return read_sum(b, &sum) ? sum : 0;
}

bool block_budget_take(struct block_budget *b, uint64_t len, uint64_t max)
{
	uint64_t cost = block_budget_cost(len);

	if (cost > max - max / 8)
		return false;
	atomic_fetch_add(&b->unrecorded, (int64_t)cost);
	record_cost(b, max);
	return true;
}

void block_budget_give(struct block_budget *b, uint64_t len)
{
	atomic_fetch_sub(&b->unrecorded, (int64_t)block_budget_cost(len));
}
