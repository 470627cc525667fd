/* Whole answers are checked here, against the request they answer; single records are in wire_answers.c. */
#include "providers/helper_client.h"

#include "providers/base/cleanup.h"
#include "providers/helper_link.h"

#include <string.h>

/* A watch may say nothing for days, but signs of life come all the time: after so many missed ones it is dead. */
#define SIGNS_MISSED 3

struct helper_client {
	struct helper_link *link;
	struct hello hello;
};

/* Who takes an answer apart. */
struct listener {
	/* Takes the record at `*at` and advances. */
	enum err (*hear)(void *state, const struct buf *in, size_t *at, struct error *e);
	/* Whether nothing is missing. */
	bool (*is_complete)(const void *state);
	void *state;
};

/* ---- One call ---- */

static enum err take_records(const struct listener *listener, const struct buf *in, struct error *e)
{
	enum err kind = ERR_OK;

	for (size_t at = 0; at < in->len && kind == ERR_OK;)
		kind = listener->hear(listener->state, in, &at, e);
	return kind;
}

static enum err take_end(const struct listener *listener, const struct buf *in, struct error *e)
{
	enum err kind = wire_get_end(in, e);

	if (kind == ERR_OK && !listener->is_complete(listener->state))
		return error_set(e, ERR_PROTOCOL, "the helper left out a part of its answer");
	return kind;
}

static enum err hear(struct exchange *x, const struct call *call, const struct listener *listener,
	struct error *e)
{
	for (;;) {
		AUTO_FREE struct arrival *a = NULL;
		enum err kind = exchange_next(x, call, &a, e);
		struct buf in;

		if (kind != ERR_OK)
			return kind;
		in = (struct buf){ .bytes = a->bytes, .len = a->len, .max = a->len };
		if (a->type == FRAME_END)
			return take_end(listener, &in, e);
		kind = take_records(listener, &in, e);
		if (kind != ERR_OK)
			return kind;
	}
}

static enum err converse(struct helper_client *h, const struct call *call, enum frame_type type,
	struct buf *request, const struct listener *listener, struct error *e)
{
	struct exchange x;
	enum err kind = buf_check(request, "a batch for the helper", e);

	if (kind == ERR_OK)
		kind = exchange_begin(&x, h->link, type, request, e);
	if (kind != ERR_OK)
		return kind;
	kind = hear(&x, call, listener, e);
	exchange_end(&x);
	return kind;
}

/* ---- hello ---- */

struct hello_state {
	struct hello *hello;
	bool has_come;
};

static enum err take_hello(void *state, const struct buf *in, size_t *at, struct error *e)
{
	struct hello_state *s = state;

	if (s->has_come)
		return error_set(e, ERR_PROTOCOL, "the helper says hello twice");
	s->has_come = true;
	*at = in->len;
	return wire_get_hello(in, s->hello, e);
}

static bool is_hello_complete(const void *state)
{
	return ((const struct hello_state *)state)->has_come;
}

static enum err say_hello(struct helper_client *h, const struct call *call, struct error *e)
{
	static const unsigned char no_journal[JOURNAL_ID_SIZE];
	struct hello_state state = { .hello = &h->hello };
	struct listener listener = { take_hello, is_hello_complete, &state };
	AUTO_BUF struct buf request = BUF_INIT(WIRE_REQUEST_MAX);
	enum err kind;

	wire_put_hello_request(&request, no_journal);
	kind = converse(h, call, FRAME_HELLO, &request, &listener, e);
	if (kind == ERR_OK && h->hello.version != WIRE_VERSION)
		return error_set(e, ERR_PROTOCOL, "the helper is of version %u, not %d",
			(unsigned)h->hello.version, WIRE_VERSION);
	return kind;
}

enum err helper_client_new(struct helper_client **out, int to_fd, int from_fd,
	const struct call *call, struct error *e)
{
	struct helper_client *h = calloc(1, sizeof *h);
	struct helper_link *link;
	enum err kind = helper_link_new(&link, to_fd, from_fd, e);

	if (kind != ERR_OK) {
		free(h);
		return kind;
	}
	if (!h) {
		helper_link_free(link);
		return error_set(e, ERR_NO_MEMORY, "the helper's client");
	}
	h->link = link;
	kind = say_hello(h, call, e);
	if (kind != ERR_OK) {
		helper_client_free(h);
		return kind;
	}
	*out = h;
	return ERR_OK;
}

void helper_client_free(struct helper_client *h)
{
	if (h)
		helper_link_free(h->link);
	free(h);
}

const struct hello *helper_client_hello(const struct helper_client *h)
{
	return &h->hello;
}

/* ---- list ---- */

struct list_state {
	const struct list_request *request;
	list_sink sink;
	void *context;
	uint32_t selves; /* that have come */
	bool is_in_dir, is_over;
	struct list_decoded decoded;
};

/* Whether the directory is one of those that were asked for. */
static bool is_below_start(const struct list_state *s, const struct list_item *item)
{
	const char *start = s->request->starts[item->start];
	size_t len = strlen(start);

	return !len ||
		(strncmp(item->path, start, len) == 0 &&
			(item->path[len] == '/' || !item->path[len]));
}

/* Whether the item may come here. */
static bool is_list_item_due(const struct list_state *s, const struct list_item *item)
{
	if (s->is_over)
		return false;
	if (item->kind != LIST_END && item->start >= s->request->starts_count)
		return false;
	switch (item->kind) {
	case LIST_SELF: return !s->is_in_dir && item->start == s->selves;
	case LIST_DIR: return !s->is_in_dir && item->start < s->selves && is_below_start(s, item);
	case LIST_ENTRY:
	case LIST_DIR_END: return s->is_in_dir;
	case LIST_END: return !s->is_in_dir;
	}
	return false;
}

static enum err take_list_item(void *state, const struct buf *in, size_t *at, struct error *e)
{
	struct list_state *s = state;
	const struct list_item *item = &s->decoded.item;
	enum err kind = wire_get_list_item(in, at, &s->decoded, e);

	if (kind != ERR_OK)
		return kind;
	if (!is_list_item_due(s, item))
		return error_set(e, ERR_PROTOCOL, "list: item %d out of order", item->kind);
	s->selves += item->kind == LIST_SELF;
	s->is_in_dir = item->kind == LIST_DIR || item->kind == LIST_ENTRY;
	s->is_over = item->kind == LIST_END;
	return s->sink(s->context, item, e);
}

static bool is_list_complete(const void *state)
{
	return ((const struct list_state *)state)->is_over;
}

enum err helper_client_list(struct helper_client *h, const struct call *call,
	const struct list_request *request, list_sink sink, void *context, struct error *e)
{
	struct list_state state = { .request = request, .sink = sink, .context = context };
	struct listener listener = { take_list_item, is_list_complete, &state };
	AUTO_BUF struct buf out = BUF_INIT(WIRE_REQUEST_MAX);

	wire_put_list(&out, request);
	return converse(h, call, FRAME_LIST, &out, &listener, e);
}

/* ---- fetch ---- */

struct fetch_state {
	const struct fetch_item *items;
	size_t items_count;
	fetch_sink sink;
	void *context;
	size_t done;  /* items */
	uint64_t got; /* bytes of the present one */
};

static bool is_data_due(const struct fetch_state *s, const struct fetch_piece *piece)
{
	const struct fetch_item *item = &s->items[s->done];

	if (item->kind == FETCH_HASHES)
		return piece->len % 16 == 0;
	return item->kind == FETCH_BYTES && piece->offset == item->offset + s->got &&
		piece->len <= item->length - s->got;
}

/* Fewer bytes than were asked for only at the end of the file. */
static bool is_end_due(const struct fetch_state *s, const struct fetch_piece *piece)
{
	const struct fetch_item *item = &s->items[s->done];

	return piece->err != ERR_OK || item->kind != FETCH_BYTES || s->got == item->length ||
		item->offset + s->got >= piece->attr.size;
}

static bool is_piece_due(const struct fetch_state *s, const struct fetch_piece *piece)
{
	if (s->done == s->items_count || piece->item != s->done)
		return false;
	return piece->kind == FETCH_DATA ? is_data_due(s, piece) : is_end_due(s, piece);
}

static enum err take_fetch_piece(void *state, const struct buf *in, size_t *at, struct error *e)
{
	struct fetch_state *s = state;
	struct fetch_piece piece;
	enum err kind = wire_get_fetch_piece(in, at, &piece, e);

	if (kind != ERR_OK)
		return kind;
	if (!is_piece_due(s, &piece))
		return error_set(e, ERR_PROTOCOL, "fetch: a piece of item %u out of order",
			(unsigned)piece.item);
	s->got = piece.kind == FETCH_DATA ? s->got + piece.len : 0;
	s->done += piece.kind == FETCH_DONE;
	return s->sink(s->context, &piece, e);
}

static bool is_fetch_complete(const void *state)
{
	const struct fetch_state *s = state;

	return s->done == s->items_count;
}

enum err helper_client_fetch(struct helper_client *h, const struct call *call,
	const struct fetch_item *items, size_t items_count, fetch_sink sink, void *context,
	struct error *e)
{
	struct fetch_state state = {
		.items = items, .items_count = items_count, .sink = sink, .context = context
	};
	struct listener listener = { take_fetch_piece, is_fetch_complete, &state };
	AUTO_BUF struct buf out = BUF_INIT(WIRE_REQUEST_MAX);

	wire_put_fetch(&out, items, items_count);
	return converse(h, call, FRAME_FETCH, &out, &listener, e);
}

/* ---- apply ---- */

struct apply_state {
	struct change_result *results;
	size_t count, got;
};

static enum err take_change_result(void *state, const struct buf *in, size_t *at, struct error *e)
{
	struct apply_state *s = state;

	if (s->got == s->count)
		return error_set(e, ERR_PROTOCOL, "apply: more results than changes");
	return wire_get_change_result(in, at, &s->results[s->got++], e);
}

static bool is_apply_complete(const void *state)
{
	const struct apply_state *s = state;

	return s->got == s->count;
}

enum err helper_client_apply(struct helper_client *h, const struct call *call,
	const struct apply_request *request, struct change_result *results, struct error *e)
{
	struct apply_state state = { .results = results, .count = request->changes_count };
	struct listener listener = { take_change_result, is_apply_complete, &state };
	AUTO_BUF struct buf out = BUF_INIT(WIRE_REQUEST_MAX);

	wire_put_apply(&out, request);
	return converse(h, call, FRAME_APPLY, &out, &listener, e);
}

/* ---- watch ---- */

struct watch_state {
	watch_sink sink;
	void *context;
};

static enum err take_watch_event(void *state, const struct buf *in, size_t *at, struct error *e)
{
	struct watch_state *s = state;
	struct watch_event event;
	enum err kind = wire_get_watch_event(in, at, &event, e);

	return kind == ERR_OK ? s->sink(s->context, &event, e) : kind;
}

/* It has no good end. */
static bool is_watch_complete(const void *state)
{
	(void)state;
	return false;
}

static int64_t watch_progress_ms(const struct call *call)
{
	int64_t asked_ms = call_progress_ms(call), least_ms = (int64_t)SIGNS_MISSED * WIRE_ALIVE_MS;

	return asked_ms < 0 || asked_ms > least_ms ? asked_ms : least_ms;
}

enum err helper_client_watch(struct helper_client *h, const struct call *call, watch_sink sink,
	void *context, struct error *e)
{
	struct call patient = { .progress_ms = watch_progress_ms(call),
		.cancel = call ? call->cancel : NULL };
	struct watch_state state = { .sink = sink, .context = context };
	struct listener listener = { take_watch_event, is_watch_complete, &state };
	AUTO_BUF struct buf request = BUF_INIT(0);

	return converse(h, &patient, FRAME_WATCH, &request, &listener, e);
}
