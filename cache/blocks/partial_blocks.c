#include "cache/blocks/partial_blocks.h"

#include "providers/base/cleanup.h"

#include <pthread.h>
#include <string.h>

/* As many as the files that are read at once, in 4 MiB. */
#define BLOCKS 32
/* The kernel reads whole pages: each page that came is counted. */
#define PAGE ((size_t)4096)

_Static_assert(BLOCK_SIZE / PAGE == 32, "the pages of a block fit the bits");

struct one {
	struct block_place place;
	unsigned char *bytes; /* NULL: free */
	size_t len;
	uint32_t pages; /* a bit for each page that came */
	uint64_t used;
};

struct partial_blocks {
	pthread_mutex_t lock; /* guards what follows */
	uint64_t uses;
	struct one blocks[BLOCKS];
};

enum err partial_blocks_new(struct partial_blocks **out, struct error *e)
{
	struct partial_blocks *p = calloc(1, sizeof *p);

	if (!p)
		return error_set(e, ERR_NO_MEMORY, "cache");
	pthread_mutex_init(&p->lock, NULL);
	*out = p;
	return ERR_OK;
}

void partial_blocks_free(struct partial_blocks *p)
{
	if (!p)
		return;
	for (size_t n = 0; n < BLOCKS; n++)
		free(p->blocks[n].bytes);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

static struct one *find_locked(struct partial_blocks *p, const struct block_place *place)
{
	for (size_t n = 0; n < BLOCKS; n++)
		if (p->blocks[n].bytes && !memcmp(&p->blocks[n].place, place, sizeof *place))
			return &p->blocks[n];
	return NULL;
}

/* A free block, else the one that was not used for the longest time; NULL without memory. */
static struct one *claim_locked(
	struct partial_blocks *p, const struct block_place *place, size_t len)
{
	unsigned char *bytes = malloc(len);
	struct one *oldest = &p->blocks[0];

	if (!bytes)
		return NULL;
	for (size_t n = 1; n < BLOCKS && oldest->bytes; n++)
		if (!p->blocks[n].bytes || p->blocks[n].used < oldest->used)
			oldest = &p->blocks[n];
	free(oldest->bytes);
	*oldest = (struct one){ .place = *place, .bytes = bytes, .len = len };
	return oldest;
}

/* The bits of pages `first` to before `end`. */
static uint32_t page_bits(size_t first, size_t end)
{
	return first < end ? (uint32_t)(((uint64_t)1 << end) - ((uint64_t)1 << first)) : 0;
}

static size_t pages_of(size_t len)
{
	return (len + PAGE - 1) / PAGE;
}

/* The pages that [at, at + len) covers whole. */
static uint32_t pages_covered(const struct one *b, size_t at, size_t len)
{
	return page_bits(pages_of(at), at + len == b->len ? pages_of(b->len) : (at + len) / PAGE);
}

static bool is_whole(const struct one *b)
{
	return b->pages == page_bits(0, pages_of(b->len));
}

unsigned char *partial_blocks_add(struct partial_blocks *p, const struct block_place *place,
	size_t block_len, size_t at, const void *bytes, size_t len)
{
	unsigned char *whole = NULL;

	pthread_mutex_lock(&p->lock);
	struct one *b = find_locked(p, place);

	if (!b)
		b = claim_locked(p, place, block_len);
	if (b) {
		memcpy(b->bytes + at, bytes, len);
		b->pages |= pages_covered(b, at, len);
		b->used = ++p->uses;
		if (is_whole(b))
			whole = take(b->bytes);
	}
	pthread_mutex_unlock(&p->lock);
	return whole;
}

bool partial_blocks_read(
	struct partial_blocks *p, const struct block_place *place, size_t at, void *out, size_t len)
{
	pthread_mutex_lock(&p->lock);
	const struct one *b = find_locked(p, place);
	uint32_t wanted = page_bits(at / PAGE, pages_of(at + len));
	bool has = b && (b->pages & wanted) == wanted;

	if (has)
		memcpy(out, b->bytes + at, len);
	pthread_mutex_unlock(&p->lock);
	return has;
}
