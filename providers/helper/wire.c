/* Frames, and the messages about the stream itself. */
#include "providers/helper/coding.h"

#include <string.h>
#include <sys/stat.h>

static const unsigned char magic[3] = { 'S', 'b', 'X' };

static void store_u32(unsigned char out[4], uint32_t value)
{
	for (int i = 0; i < 4; i++)
		out[i] = (unsigned char)(value >> 8 * i);
}

static uint32_t load_u32(const unsigned char in[4])
{
	return in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 | (uint32_t)in[3] << 24;
}

void frame_encode(unsigned char out[FRAME_HEADER_SIZE], const struct frame *f)
{
	memset(out, 0, FRAME_HEADER_SIZE);
	memcpy(out, magic, sizeof magic);
	out[3] = WIRE_VERSION;
	store_u32(out + 4, f->id);
	out[8] = (unsigned char)f->type;
	store_u32(out + 12, f->len);
}

enum err frame_decode(const unsigned char in[FRAME_HEADER_SIZE], struct frame *out, struct error *e)
{
	uint32_t len = load_u32(in + 12);

	if (memcmp(in, magic, sizeof magic) != 0)
		return error_set(e, ERR_PROTOCOL, "not a frame of the helper's protocol");
	if (in[3] != WIRE_VERSION)
		return error_set(e, ERR_PROTOCOL,
			"the other side speaks version %d of the helper's protocol, this one %d",
			in[3], WIRE_VERSION);
	if (in[8] < FRAME_MORE || in[8] >= FRAME_TYPE_END || in[9] || in[10] || in[11])
		return error_set(e, ERR_PROTOCOL, "a frame of the unknown type %d", in[8]);
	if (len > FRAME_PAYLOAD_MAX)
		return error_set(e, ERR_PROTOCOL, "a frame of %u bytes", (unsigned)len);
	*out = (struct frame){ .type = in[8], .id = load_u32(in + 4), .len = len };
	return ERR_OK;
}

bool wire_put_received(struct buf *out, uint32_t bytes)
{
	enc_u32(out, bytes);
	return !out->failed;
}

enum err wire_get_received(const struct buf *in, uint32_t *bytes, struct error *e)
{
	struct decoder d = decoder_at(in, 0);

	*bytes = dec_u32(&d);
	return decoder_check_end(&d, "a report of received bytes", e);
}

bool wire_put_hello(struct buf *out, const struct hello *hello)
{
	const struct identity *who = &hello->identity;

	enc_u32(out, hello->version);
	enc_u8(out, hello->has_staging);
	enc_u32(out, who->uid);
	enc_u32(out, who->gid);
	enc_u32(out, who->groups_count);
	for (uint32_t i = 0; i < who->groups_count; i++)
		enc_u32(out, who->groups[i]);
	enc_attr(out, &hello->root.attr);
	enc_space(out, &hello->root.space);
	enc_time(out, &hello->root.now);
	return !out->failed;
}

enum err wire_get_hello(const struct buf *in, struct hello *out, struct error *e)
{
	struct decoder d = decoder_at(in, 0);

	*out = (struct hello){ .version = dec_u32(&d) };
	out->has_staging = dec_bool(&d);
	out->identity.uid = dec_u32(&d);
	out->identity.gid = dec_u32(&d);
	out->identity.groups_count = dec_count(&d, IDENTITY_GROUPS_MAX, 4);
	for (uint32_t i = 0; i < out->identity.groups_count; i++)
		out->identity.groups[i] = dec_u32(&d);
	dec_attr(&d, &out->root.attr);
	if (!S_ISDIR(out->root.attr.mode))
		decoder_fail(&d, "a root that is no directory");
	dec_space(&d, &out->root.space);
	out->root.now = dec_time(&d);
	return decoder_check_end(&d, "hello", e);
}

bool wire_put_end(struct buf *out, enum err kind, const char *text)
{
	enc_u16(out, kind);
	enc_string(out, text);
	return !out->failed;
}

enum err wire_get_end(const struct buf *in, struct error *e)
{
	struct decoder d = decoder_at(in, 0);
	enum err kind = dec_err(&d);
	struct error said;
	enum err readable;

	dec_text(&d, said.text, sizeof said.text);
	readable = decoder_check_end(&d, "the end of an answer", e);
	if (readable != ERR_OK || kind == ERR_OK)
		return readable;
	return error_set(e, kind, "%s", said.text);
}
