#include "providers/helper/coding.h"

#include <string.h>
#include <sys/stat.h>

/* The length of a missing string. */
#define ABSENT UINT32_MAX

/* The bits of a byte that belong to the number, and the bit that says that another byte follows. */
#define VAR_BITS 0x7f
#define VAR_MORE 0x80

static void enc_number(struct buf *out, uint64_t value, size_t size)
{
	unsigned char bytes[8];

	for (size_t i = 0; i < size; i++)
		bytes[i] = (unsigned char)(value >> 8 * i);
	buf_add(out, bytes, size);
}

void enc_u8(struct buf *out, unsigned value)
{
	enc_number(out, value, 1);
}

void enc_u16(struct buf *out, unsigned value)
{
	enc_number(out, value, 2);
}

void enc_u32(struct buf *out, uint32_t value)
{
	enc_number(out, value, 4);
}

void enc_u64(struct buf *out, uint64_t value)
{
	enc_number(out, value, 8);
}

void enc_var(struct buf *out, uint64_t value)
{
	for (; value > VAR_BITS; value >>= 7)
		buf_add_byte(out, (unsigned char)(value | VAR_MORE));
	buf_add_byte(out, (unsigned char)value);
}

void enc_difference(struct buf *out, uint64_t from, uint64_t to)
{
	bool is_less = to - from > INT64_MAX;

	enc_var(out, is_less ? (from - to) * 2 - 1 : (to - from) * 2);
}

void enc_count(struct buf *out, size_t count)
{
	if (count > WIRE_BATCH_MAX)
		out->failed = true;
	enc_u32(out, (uint32_t)count);
}

void enc_string(struct buf *out, const char *string)
{
	size_t len = strlen(string);

	if (len >= ABSENT)
		out->failed = true;
	enc_u32(out, (uint32_t)len);
	buf_add(out, string, len + 1);
}

void enc_optional(struct buf *out, const char *string)
{
	if (string)
		enc_string(out, string);
	else
		enc_u32(out, ABSENT);
}

void enc_data(struct buf *out, const void *bytes, size_t len)
{
	if (len >= ABSENT)
		out->failed = true;
	enc_u32(out, (uint32_t)len);
	buf_add(out, bytes, len);
}

void enc_time(struct buf *out, const struct timespec *t)
{
	enc_u64(out, (uint64_t)t->tv_sec);
	enc_u32(out, (uint32_t)t->tv_nsec);
}

void enc_attr(struct buf *out, const struct attr *a)
{
	enc_u64(out, a->dev);
	enc_u64(out, a->ino);
	enc_u64(out, a->btime_ns);
	enc_u32(out, a->mode);
	enc_u32(out, a->nlink);
	enc_u32(out, a->uid);
	enc_u32(out, a->gid);
	enc_u64(out, a->rdev);
	enc_u64(out, a->size);
	enc_u64(out, a->blocks);
	enc_u32(out, a->blksize);
	enc_time(out, &a->atime);
	enc_time(out, &a->mtime);
	enc_time(out, &a->ctime);
	enc_u8(out, a->no_xattrs);
}

void enc_space(struct buf *out, const struct space *s)
{
	enc_u64(out, s->block_size);
	enc_u64(out, s->blocks);
	enc_u64(out, s->free);
	enc_u64(out, s->available);
	enc_u64(out, s->files);
	enc_u64(out, s->files_free);
	enc_u32(out, s->name_max);
	enc_u8(out, s->is_read_only);
}

void enc_expect(struct buf *out, const struct expect *x)
{
	enc_u64(out, x->dev);
	enc_u64(out, x->ino);
	enc_u64(out, x->btime_ns);
}

void enc_version(struct buf *out, const struct version *v)
{
	enc_u64(out, v->size);
	enc_time(out, &v->mtime);
	enc_time(out, &v->ctime);
}

struct decoder decoder_at(const struct buf *in, size_t at)
{
	return (struct decoder){ .bytes = in->bytes, .len = in->len, .at = at };
}

void decoder_fail(struct decoder *d, const char *wrong)
{
	if (!d->wrong)
		d->wrong = wrong;
}

enum err decoder_check(const struct decoder *d, const char *what, struct error *e)
{
	if (!d->wrong)
		return ERR_OK;
	return error_set(e, ERR_PROTOCOL, "%s: %s at byte %zu", what, d->wrong, d->at);
}

enum err decoder_check_end(const struct decoder *d, const char *what, struct error *e)
{
	if (!d->wrong && d->at != d->len)
		return error_set(e, ERR_PROTOCOL, "%s: %zu bytes too many", what, d->len - d->at);
	return decoder_check(d, what, e);
}

/* NULL: the message is too short. */
const void *dec_bytes(struct decoder *d, size_t len)
{
	const unsigned char *bytes = d->bytes + d->at;

	if (d->wrong)
		return NULL;
	if (len > d->len - d->at) {
		decoder_fail(d, "the message is cut");
		return NULL;
	}
	d->at += len;
	return bytes;
}

static uint64_t dec_number(struct decoder *d, size_t size)
{
	const unsigned char *bytes = dec_bytes(d, size);
	uint64_t value = 0;

	for (size_t i = 0; bytes && i < size; i++)
		value |= (uint64_t)bytes[i] << 8 * i;
	return value;
}

unsigned dec_u8(struct decoder *d)
{
	return (unsigned)dec_number(d, 1);
}

unsigned dec_u16(struct decoder *d)
{
	return (unsigned)dec_number(d, 2);
}

uint32_t dec_u32(struct decoder *d)
{
	return (uint32_t)dec_number(d, 4);
}

uint64_t dec_u64(struct decoder *d)
{
	return dec_number(d, 8);
}

uint64_t dec_var(struct decoder *d, uint64_t max)
{
	uint64_t value = 0;
	unsigned byte = VAR_MORE, shift = 0;

	for (; byte & VAR_MORE && shift < 64; shift += 7) {
		byte = dec_u8(d);
		value |= (uint64_t)(byte & VAR_BITS) << shift;
	}
	bool is_cut = byte & VAR_MORE || (shift > 64 && byte > 1), is_padded = !byte && shift > 7;

	if (is_cut || value > max)
		decoder_fail(d, "a number too large");
	if (is_padded)
		decoder_fail(d, "a number longer than it is");
	return d->wrong ? 0 : value;
}

uint64_t dec_difference(struct decoder *d, uint64_t from)
{
	uint64_t twice = dec_var(d, UINT64_MAX);

	return twice & 1 ? from - twice / 2 - 1 : from + twice / 2;
}

unsigned dec_enum(struct decoder *d, unsigned first, unsigned end)
{
	unsigned value = dec_u8(d);

	if (value >= first && value < end)
		return value;
	decoder_fail(d, "an unknown kind");
	return first;
}

bool dec_bool(struct decoder *d)
{
	unsigned value = dec_u8(d);

	if (value > 1)
		decoder_fail(d, "neither yes nor no");
	return value == 1;
}

uint32_t dec_flags(struct decoder *d, uint32_t known)
{
	uint32_t flags = dec_u32(d);

	if (flags & ~known)
		decoder_fail(d, "unknown flags");
	return flags & known;
}

enum err dec_err(struct decoder *d)
{
	unsigned number = dec_u16(d);

	if (error_is_kind(number))
		return (enum err)number;
	decoder_fail(d, "an unknown error");
	return ERR_PROTOCOL;
}

static const char *dec_string_of(struct decoder *d, size_t len, size_t max)
{
	const unsigned char *bytes;

	if (len > max)
		decoder_fail(d, "a string too long");
	bytes = dec_bytes(d, len <= max ? len + 1 : 0);
	if (!bytes)
		return "";
	if (memchr(bytes, 0, len + 1) != bytes + len) {
		decoder_fail(d, "a string that does not end where it says");
		return "";
	}
	return (const char *)bytes;
}

const char *dec_string(struct decoder *d, size_t max)
{
	return dec_string_of(d, dec_u32(d), max);
}

const char *dec_optional(struct decoder *d, size_t max)
{
	uint32_t len = dec_u32(d);

	return d->wrong || len == ABSENT ? NULL : dec_string_of(d, len, max);
}

void dec_text(struct decoder *d, char *out, size_t size)
{
	const char *text = dec_string(d, size - 1);

	memcpy(out, text, strlen(text) + 1);
}

const void *dec_data(struct decoder *d, size_t max, size_t *len)
{
	uint32_t claimed = dec_u32(d);
	const unsigned char *bytes;

	if (claimed > max)
		decoder_fail(d, "too many bytes of data");
	bytes = dec_bytes(d, claimed);
	*len = bytes ? claimed : 0;
	return bytes;
}

struct timespec dec_time_asked(struct decoder *d)
{
	struct timespec t = { .tv_sec = (time_t)dec_u64(d) };

	t.tv_nsec = dec_u32(d);
	return t;
}

struct timespec dec_time(struct decoder *d)
{
	struct timespec t = dec_time_asked(d);

	if (t.tv_nsec > 999999999)
		decoder_fail(d, "a time that is none");
	return t;
}

uint32_t dec_count(struct decoder *d, uint32_t max, size_t record_min)
{
	uint32_t count = dec_u32(d);

	if (count > max)
		decoder_fail(d, "too many records");
	else if (count > (d->len - d->at) / record_min)
		decoder_fail(d, "more records than bytes");
	return d->wrong ? 0 : count;
}

static bool is_file_type(uint32_t mode)
{
	return (mode & ~(uint32_t)(S_IFMT | 07777)) == 0 &&
		(S_ISREG(mode) || S_ISDIR(mode) || S_ISLNK(mode) || S_ISFIFO(mode) ||
			S_ISSOCK(mode) || S_ISCHR(mode) || S_ISBLK(mode));
}

void dec_attr(struct decoder *d, struct attr *out)
{
	out->dev = dec_u64(d);
	out->ino = dec_u64(d);
	out->btime_ns = dec_u64(d);
	out->mode = dec_u32(d);
	out->nlink = dec_u32(d);
	out->uid = dec_u32(d);
	out->gid = dec_u32(d);
	out->rdev = dec_u64(d);
	out->size = dec_u64(d);
	out->blocks = dec_u64(d);
	out->blksize = dec_u32(d);
	out->atime = dec_time(d);
	out->mtime = dec_time(d);
	out->ctime = dec_time(d);
	out->no_xattrs = dec_bool(d);
	if (!is_file_type(out->mode))
		decoder_fail(d, "a file of no type");
	if (out->size > INT64_MAX)
		decoder_fail(d, "a size beyond all files");
}

void dec_space(struct decoder *d, struct space *out)
{
	out->block_size = dec_u64(d);
	out->blocks = dec_u64(d);
	out->free = dec_u64(d);
	out->available = dec_u64(d);
	out->files = dec_u64(d);
	out->files_free = dec_u64(d);
	out->name_max = dec_u32(d);
	out->is_read_only = dec_bool(d);
}

struct expect dec_expect(struct decoder *d)
{
	struct expect x = { .dev = dec_u64(d) };

	x.ino = dec_u64(d);
	x.btime_ns = dec_u64(d);
	return x;
}

struct version dec_version(struct decoder *d)
{
	struct version v = { .size = dec_u64(d) };

	v.mtime = dec_time(d);
	v.ctime = dec_time(d);
	return v;
}
