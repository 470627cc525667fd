#include "providers/http/exchange.h"

/* The piece of a body from a source: one waits to be sent while the next is made. */
#define UPLOAD_PIECE ((size_t)256 * 1024)

static enum err make_ready(struct http_exchange *x, struct error *e)
{
	uint64_t left = x->transfer.body_len - x->made;
	size_t len = left < UPLOAD_PIECE ? (size_t)left : UPLOAD_PIECE;
	unsigned char *place;
	enum err kind;

	if (!len || x->ready.len)
		return ERR_OK;
	place = buf_reserve(&x->ready, len);
	if (!place)
		return error_set(e, ERR_NO_MEMORY, "a piece of a request's body");
	/* The time that the source takes does not count. */
	x->since_ms -= monotonic_ms();
	kind = x->source(x->source_context, x->made, place, len, e);
	x->since_ms += monotonic_ms();
	if (kind != ERR_OK)
		return kind;
	buf_filled(&x->ready, len);
	x->made += len;
	return ERR_OK;
}

static bool hand_over_locked(struct http_exchange *x)
{
	struct transfer *t = &x->transfer;
	struct buf drained = t->upload;

	if (!x->ready.len || t->upload_taken < t->upload.len)
		return false;
	t->upload = x->ready;
	t->upload_taken = 0;
	t->upload_given += t->upload.len;
	x->ready = drained;
	buf_reset(&x->ready);
	transfer_tell_locked(t);
	return true;
}

static bool hand_over(struct http_exchange *x)
{
	struct transfer *t = &x->transfer;
	bool is_handed;

	pthread_mutex_lock(&t->lock);
	is_handed = hand_over_locked(x);
	pthread_mutex_unlock(&t->lock);
	if (is_handed)
		client_ask(x->client, t, TRANSFER_RESUME);
	return is_handed;
}

enum err exchange_feed(struct http_exchange *x, struct error *e)
{
	enum err kind = ERR_OK;

	if (!x->transfer.has_source)
		return ERR_OK;
	do
		kind = make_ready(x, e);
	while (kind == ERR_OK && hand_over(x));
	return kind;
}
