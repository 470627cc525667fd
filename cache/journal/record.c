#include "cache/journal/record.h"

#include <string.h>
#include <xxhash.h>

static const unsigned char magic[3] = { 'S', 'b', 'J' };

static uint64_t hash_of_header(const struct record_header *h)
{
	return XXH3_64bits(h, offsetof(struct record_header, hash));
}

struct record record_make(
	enum record_type type, const void *text, size_t text_len, const void *data, size_t data_len)
{
	struct record r = { .text = text, .data = data };

	_Static_assert(sizeof r.header == 48, "no gaps, which would have no value");
	memcpy(r.header.magic, magic, sizeof magic);
	r.header.version = RECORD_VERSION;
	r.header.type = type;
	r.header.text_len = (uint32_t)text_len;
	r.header.data_len = (uint32_t)data_len;
	r.header.text_hash = XXH3_64bits(text, text_len);
	r.header.data_hash = XXH3_64bits(data, data_len);
	return r;
}

void record_number(struct record *r, uint64_t number)
{
	r->header.number = number;
	r->header.hash = hash_of_header(&r->header);
}

uint64_t record_len(const struct record_header *h)
{
	return sizeof *h + (uint64_t)h->text_len + h->data_len;
}

bool record_is_sound(const struct record_header *h)
{
	return !memcmp(h->magic, magic, sizeof magic) && h->version == RECORD_VERSION &&
		h->hash == hash_of_header(h) && h->type >= RECORD_BEGIN &&
		h->type < RECORD_TYPE_END && h->text_len <= RECORD_TEXT_MAX &&
		h->data_len <= VERB_DATA_MAX;
}

bool record_has_text(const struct record_header *h, const void *text)
{
	return XXH3_64bits(text, h->text_len) == h->text_hash;
}

bool record_has_data(const struct record_header *h, const void *data)
{
	return XXH3_64bits(data, h->data_len) == h->data_hash;
}
