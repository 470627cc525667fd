#include "cache/blocks/filter.h"

#include "providers/base/cleanup.h"

#include <string.h>
#include <xxhash.h>

/* A line of a processor's cache: one read, one write. 800,000 files have ten bits each. */
#define LINE_WORDS 8
#define LINE_BYTES (LINE_WORDS * sizeof(uint64_t))
#define LINES      ((uint64_t)1024 * 1024 / LINE_BYTES)
/* The best number at ten bits for each file: one in a hundred is taken for another. */
#define BITS 6

struct filter {
	int fd;
};

struct mark {
	off_t offset;
	uint64_t bits[LINE_WORDS];
};

enum err filter_open(struct filter **out, int fd, struct error *e)
{
	struct filter *f = calloc(1, sizeof *f);

	if (!f) {
		close(fd);
		return error_set(e, ERR_NO_MEMORY, "cache");
	}
	f->fd = fd;
	*out = f;
	return ERR_OK;
}

void filter_free(struct filter *f)
{
	if (!f)
		return;
	close(f->fd);
	free(f);
}

/* The line, and six times nine bits of the other half of the hash. */
static struct mark mark_of(const char *name, uint64_t size)
{
	XXH128_hash_t hash = XXH3_128bits_withSeed(name, strlen(name), size);
	struct mark mark = { .offset = (off_t)(hash.low64 % LINES * LINE_BYTES) };

	for (unsigned n = 0; n < BITS; n++) {
		unsigned bit = (unsigned)(hash.high64 >> (9 * n)) & 511;

		mark.bits[bit / 64] |= (uint64_t)1 << (bit % 64);
	}
	return mark;
}

static void read_line(const struct filter *f, const struct mark *mark, uint64_t line[LINE_WORDS])
{
	if (pread(f->fd, line, LINE_BYTES, mark->offset) != (ssize_t)LINE_BYTES)
		memset(line, 0, LINE_BYTES);
}

static bool has_all(const uint64_t line[LINE_WORDS], const struct mark *mark)
{
	for (size_t n = 0; n < LINE_WORDS; n++)
		if ((line[n] & mark->bits[n]) != mark->bits[n])
			return false;
	return true;
}

static bool is_half_full(const uint64_t line[LINE_WORDS])
{
	int set = 0;

	for (size_t n = 0; n < LINE_WORDS; n++)
		set += __builtin_popcountll(line[n]);
	return set > (int)LINE_BYTES * 8 / 2;
}

bool filter_may_have(struct filter *f, const char *name, uint64_t size)
{
	struct mark mark = mark_of(name, size);
	uint64_t line[LINE_WORDS];

	read_line(f, &mark, line);
	return has_all(line, &mark);
}

/*
 * If two processes add at once one mark may be lost: then the hashes are not asked for, and the
 * file is fetched.
 */
void filter_add(struct filter *f, const char *name, uint64_t size)
{
	struct mark mark = mark_of(name, size);
	uint64_t line[LINE_WORDS];

	read_line(f, &mark, line);
	if (has_all(line, &mark))
		return;
	if (is_half_full(line))
		memset(line, 0, sizeof line);
	for (size_t n = 0; n < LINE_WORDS; n++)
		line[n] |= mark.bits[n];
	/* A mark that cannot be written is lost in the same way. */
	if (pwrite(f->fd, line, sizeof line, mark.offset) < 0)
		return;
}
