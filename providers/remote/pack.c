#include "providers/remote/pack.h"

#include "providers/base/cleanup.h"
#include "providers/base/thread.h"
#include "providers/gzip.h"

#include <pthread.h>
#include <unistd.h>

/* A smaller upload arrives hardly sooner when it is packed. */
#define PACK_MIN ((size_t)64 * 1024)
/* Packing is tried with this number of pieces, one from each of as many equal parts. */
#define SAMPLES     4
#define SAMPLE_SIZE ((size_t)8 * 1024)
/* A smaller part is packed in about the time that a thread takes to begin. */
#define PART_MIN  ((size_t)128 * 1024)
#define PARTS_MAX 8
/*
 * The rate of packing by zlib here and unpacking by gzip(1) there, one after the other, in bytes a
 * millisecond: for slow processors.
 */
#define PACK_RATE 50000
/* The rate of a link before any measurement: 100 Mbit/s. */
#define RATE_UNKNOWN 12500
/* The time of a smaller upload is mostly the round trip. */
#define TIMED_MIN ((size_t)256 * 1024)

static size_t packed_size(const void *bytes, size_t len)
{
	AUTO_BUF struct buf packed = BUF_INIT(2 * len + 1024);

	return gzip_deflate(&packed, bytes, len) ? packed.len : len;
}

/* How many bytes shorter `bytes` would be when packed. */
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

/* ---- In parts ---- */

/* gzip allows several members in a row, so each processor packs one. */
struct part {
	const unsigned char *bytes;
	size_t len;
	struct buf packed;
	bool is_packed, has_thread;
	pthread_t thread;
};

static void *pack_part(void *context)
{
	struct part *part = context;

	part->packed = (struct buf)BUF_INIT(2 * part->len + 1024);
	part->is_packed = gzip_deflate(&part->packed, part->bytes, part->len);
	return NULL;
}

static void start_part(struct part *part)
{
	part->has_thread = !thread_start(&part->thread, pack_part, part);
	if (!part->has_thread)
		pack_part(part);
}

static void end_part(struct part *part, struct buf *out)
{
	if (part->has_thread)
		pthread_join(part->thread, NULL);
	out->failed = out->failed || !part->is_packed;
	buf_add(out, part->packed.bytes, part->packed.len);
	buf_release(&part->packed);
}

static size_t parts_of(size_t len)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	size_t most = processors > PARTS_MAX ? PARTS_MAX : processors > 1 ? (size_t)processors : 1;
	size_t parts = len / PART_MIN;

	return parts > most ? most : parts > 1 ? parts : 1;
}

static bool pack_in_parts(struct buf *out, const struct buf *bytes)
{
	struct part parts[PARTS_MAX] = { 0 };
	size_t count = parts_of(bytes->len), at = 0;

	for (size_t n = 0; n < count; n++) {
		parts[n].bytes = bytes->bytes + at;
		parts[n].len = (bytes->len - at) / (count - n);
		at += parts[n].len;
	}
	/* This thread packs the first part. */
	for (size_t n = 1; n < count; n++)
		start_part(&parts[n]);
	pack_part(&parts[0]);
	for (size_t n = 0; n < count; n++)
		end_part(&parts[n], out);
	return !out->failed;
}

bool remote_pack(const struct remote_packer *p, const struct buf *bytes, struct buf *out)
{
	if (bytes->len < PACK_MIN || atomic_load(&p->is_refused) || !pays(p, bytes))
		return false;
	return pack_in_parts(out, bytes) && out->len < bytes->len;
}

void remote_pack_timed(struct remote_packer *p, size_t len, int64_t took_ms)
{
	if (len >= TIMED_MIN)
		atomic_store(&p->rate, (unsigned)(len / (size_t)(took_ms > 0 ? took_ms : 1)) + 1);
}
