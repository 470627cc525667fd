#include "providers/remote_pack.h"

#include "providers/base/cleanup.h"
#include "providers/gzip.h"

/* What is smaller arrives hardly sooner. */
#define PACK_MIN ((size_t)64 * 1024)
/* Whether it becomes smaller is tried with so many pieces of it, one of each of as many equal parts. */
#define SAMPLES     4
#define SAMPLE_SIZE ((size_t)8 * 1024)
/* How fast zlib packs here and gzip(1) unpacks there, one after the other, in bytes a millisecond: slow processors. */
#define PACK_RATE 50000
/* A link of which nothing is known yet: 100 Mbit/s. */
#define RATE_UNKNOWN 12500
/* Of less the round trip is most. */
#define TIMED_MIN ((size_t)256 * 1024)

static size_t packed_size(const void *bytes, size_t len)
{
	AUTO_BUF struct buf packed = BUF_INIT(2 * len + 1024);

	return gzip_deflate(&packed, bytes, len) ? packed.len : len;
}

/* How many bytes it would be shorter. */
static size_t saved(const struct buf *bytes)
{
	size_t packed = 0, whole = SAMPLES * SAMPLE_SIZE;

	for (size_t n = 0; n < SAMPLES; n++)
		packed += packed_size(bytes->bytes + bytes->len / SAMPLES * n, SAMPLE_SIZE);
	return packed < whole
		? (size_t)((double)bytes->len * (double)(whole - packed) / (double)whole)
		: 0;
}

static bool pays(const struct remote_packer *p, const struct buf *bytes)
{
	unsigned rate = atomic_load(&p->rate);

	return saved(bytes) / (rate ? rate : RATE_UNKNOWN) > bytes->len / PACK_RATE;
}

bool remote_pack(const struct remote_packer *p, const struct buf *bytes, struct buf *out)
{
	if (bytes->len < PACK_MIN || atomic_load(&p->is_refused) || !pays(p, bytes))
		return false;
	return gzip_deflate(out, bytes->bytes, bytes->len) && out->len < bytes->len;
}

void remote_pack_timed(struct remote_packer *p, size_t len, int64_t took_ms)
{
	if (len >= TIMED_MIN)
		atomic_store(&p->rate, (unsigned)(len / (size_t)(took_ms > 0 ? took_ms : 1)) + 1);
}
