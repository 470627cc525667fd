#include "providers/modal/grpc_frames.h"

void grpc_frames_release(struct grpc_frames *f)
{
	buf_release(&f->in);
}

static size_t length_in(const unsigned char prefix[GRPC_PREFIX])
{
	return (size_t)prefix[1] << 24 | (size_t)prefix[2] << 16 | (size_t)prefix[3] << 8 |
		prefix[4];
}

static enum err check(
	const struct grpc_frames *f, const unsigned char prefix[GRPC_PREFIX], struct error *e)
{
	if (prefix[0] != 0)
		return error_set(e, ERR_PROTOCOL, "modal: %s: a compressed answer", f->what);
	if (length_in(prefix) > GRPC_MESSAGE_MAX)
		return error_set(e, ERR_PROTOCOL, "modal: %s: an answer of more than %zu MiB",
			f->what, GRPC_MESSAGE_MAX >> 20);
	return ERR_OK;
}

static size_t left_of(const struct grpc_frames *f)
{
	return f->in.len - f->given;
}

bool grpc_frames_has(const struct grpc_frames *f)
{
	const unsigned char *prefix;

	if (left_of(f) < GRPC_PREFIX)
		return false;
	prefix = f->in.bytes + f->given;
	return check(f, prefix, NULL) || left_of(f) - GRPC_PREFIX >= length_in(prefix);
}

bool grpc_frames_is_cut(const struct grpc_frames *f)
{
	return left_of(f) > 0;
}

enum err grpc_frames_add(struct grpc_frames *f, const void *bytes, size_t len, struct error *e)
{
	return buf_add(&f->in, bytes, len) ? ERR_OK : buf_check(&f->in, f->what, e);
}

enum err grpc_frames_next(
	struct grpc_frames *f, const unsigned char **bytes, size_t *len, struct error *e)
{
	enum err kind;

	*bytes = NULL;
	*len = 0;
	if (f->given)
		buf_consume(&f->in, f->given);
	f->given = 0;
	if (!grpc_frames_has(f))
		return ERR_OK;
	kind = check(f, f->in.bytes, e);
	if (kind)
		return kind;
	*bytes = f->in.bytes + GRPC_PREFIX;
	*len = length_in(f->in.bytes);
	f->given = *len + GRPC_PREFIX;
	return ERR_OK;
}
