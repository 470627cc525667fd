#include "providers/helper/answer.h"

#include "providers/base/cleanup.h"
#include "providers/helper/staging.h"

#include <string.h>
#include <time.h>

/*
 * A frame of records is sent once it has so many bytes. A frame also has room for the largest
 * record behind them: a piece of data (VERB_DATA_MAX), or a path, a link's text and attributes.
 */
#define ITEMS_ENOUGH (64 * 1024)

/* The records of one answer that are being sent. */
struct speaker {
	const struct answer *answer;
	const struct root *root; /* the root as it is now */
	uint32_t id;
	struct buf items; /* not yet sent */
	bool said_first_dir;
};

static enum err send_items(struct speaker *s, struct error *e)
{
	enum err kind = ERR_OK;

	if (s->items.len)
		kind = outlet_send(s->answer->out, FRAME_ITEMS, s->id, &s->items, e);
	buf_reset(&s->items);
	return kind;
}

/*
 * Called after each record. `was_put`: whether the record was encoded; `before`: where it begins.
 */
static enum err end_record(struct speaker *s, bool was_put, size_t before, struct error *e)
{
	if (!was_put) {
		s->items.len = before;
		s->items.failed = false;
		return error_set(e, ERR_TOO_LARGE, "a record that fits no frame");
	}
	if (atomic_load_explicit(s->answer->is_stopped, memory_order_relaxed))
		return error_set(e, ERR_INTERRUPTED, "cancelled");
	return s->items.len < ITEMS_ENOUGH ? ERR_OK : send_items(s, e);
}

/* ---- The verbs ---- */

/*
 * A client waits for the first directory and for the end of the list; the directories between are
 * read-ahead.
 */
static bool is_awaited(struct speaker *s, const struct list_item *item)
{
	bool is_first_dir = item->kind == LIST_DIR_END && !s->said_first_dir;

	s->said_first_dir |= is_first_dir;
	return is_first_dir || item->kind == LIST_END;
}

/* Encodes an item as a record of its own, or inside another. */
typedef bool (*put_item)(struct buf *out, const struct list_item *item);

static enum err say_item(
	struct speaker *s, const struct list_item *item, put_item put, struct error *e)
{
	size_t before = s->items.len;
	bool was_put = put(&s->items, item);
	enum err kind = end_record(s, was_put, before, e);

	/* Some file systems keep more attributes of one file than a message holds. */
	if (!was_put && item->kind == LIST_SELF && item->xattrs_count)
		return say_item(s,
			&(struct list_item){
				.kind = LIST_SELF, .start = item->start, .err = ERR_TOO_BIG_XATTR },
			put, e);
	return kind == ERR_OK && is_awaited(s, item) ? send_items(s, e) : kind;
}

static enum err say_list_item(void *context, const struct list_item *item, struct error *e)
{
	return say_item(context, item, wire_put_list_item, e);
}

static enum err do_list(struct speaker *s, const struct buf *request, struct error *e)
{
	struct list_request list;
	AUTO_FREE void *memory = NULL;
	enum err kind = wire_get_list(request, &list, &memory, e);

	return kind == ERR_OK ? helper_list(s->root, &list, say_list_item, s, e) : kind;
}

static enum err say_whole_piece(struct speaker *s, const struct fetch_piece *piece, struct error *e)
{
	size_t before = s->items.len;

	return end_record(s, wire_put_fetch_piece(&s->items, piece), before, e);
}

/*
 * Where the client reports, contents leave in records of the size of a frame, so that another
 * answer passes them. Hashes of one piece are not longer than that.
 */
static enum err say_fetch_piece(void *context, const struct fetch_piece *piece, struct error *e)
{
	const struct speaker *s = context;
	struct fetch_piece part = *piece;
	enum err kind = ERR_OK;

	if (piece->kind != FETCH_DATA || !outlet_has_reports(s->answer->out))
		return say_whole_piece(context, piece, e);
	for (size_t at = 0; kind == ERR_OK && at < piece->len; at += part.len) {
		size_t left = piece->len - at;

		part.offset = piece->offset + at;
		part.bytes = (const unsigned char *)piece->bytes + at;
		part.len = left < ITEMS_ENOUGH ? left : ITEMS_ENOUGH;
		kind = say_whole_piece(context, &part, e);
	}
	return kind;
}

static enum err do_fetch(struct speaker *s, const struct buf *request, struct error *e)
{
	struct fetch_item *items;
	size_t count;
	AUTO_FREE void *memory = NULL;
	enum err kind = wire_get_fetch(request, &items, &count, &memory, e);

	if (kind != ERR_OK)
		return kind;
	return helper_fetch(s->root, items, count, say_fetch_piece, s, e);
}

static enum err do_apply(struct speaker *s, const struct buf *request, struct error *e)
{
	struct apply_request apply;
	AUTO_FREE void *memory = NULL;
	AUTO_FREE struct change_result *results = NULL;
	enum err kind = wire_get_apply(request, &apply, &memory, e);

	if (kind != ERR_OK)
		return kind;
	results = calloc(apply.changes_count + 1, sizeof *results);
	if (!results)
		return error_set(e, ERR_NO_MEMORY, "%zu changes", apply.changes_count);
	kind = helper_apply(s->root, NULL, &apply, results, e);
	for (size_t i = 0; i < apply.changes_count && kind == ERR_OK; i++) {
		size_t before = s->items.len;

		kind = end_record(s, wire_put_change_result(&s->items, &results[i]), before, e);
	}
	return kind;
}

static bool put_watched_item(struct buf *out, const struct list_item *item)
{
	return wire_put_watch_event(out, &(struct watch_event){ .kind = WATCH_ITEM, .item = item });
}

/* An event is sent at once: changes are rare. */
static enum err say_watch_event(void *context, const struct watch_event *event, struct error *e)
{
	struct speaker *s = context;
	size_t before = s->items.len;
	enum err kind;

	if (event->kind == WATCH_ITEM)
		return say_item(s, event->item, put_watched_item, e);
	kind = end_record(s, wire_put_watch_event(&s->items, event), before, e);
	return kind == ERR_OK ? send_items(s, e) : kind;
}

static enum err do_watch(struct speaker *s, const struct buf *request, struct error *e)
{
	struct watch_request watch;
	struct list_request first;
	AUTO_FREE void *memory = NULL;
	enum err kind = wire_get_watch(request, &watch, &first, &memory, e);

	if (kind != ERR_OK)
		return kind;
	return helper_watch(s->root, s->answer->call, &watch, say_watch_event, s, e);
}

static enum err say_command_piece(void *context, const struct command_piece *piece, struct error *e)
{
	struct speaker *s = context;
	size_t before = s->items.len;
	enum err kind = end_record(s, wire_put_command_piece(&s->items, piece), before, e);

	return kind == ERR_OK ? send_items(s, e) : kind;
}

static enum err do_command(struct speaker *s, const struct buf *request, struct error *e)
{
	struct command_request command;
	AUTO_FREE void *memory = NULL;
	enum err kind = wire_get_command(request, &command, &memory, e);

	if (kind != ERR_OK)
		return kind;
	return helper_command(s->root, &command, s->answer->is_stopped, say_command_piece, s, e);
}

static enum err do_stop(struct speaker *s, const struct buf *request, struct error *e)
{
	const char *marker;
	bool now;
	enum err kind = wire_get_stop(request, &marker, &now, e);

	return kind == ERR_OK ? helper_command_stop(s->root, marker, now, e) : kind;
}

static enum err do_hello(struct speaker *s, const struct buf *request, struct error *e)
{
	const struct root *root = s->root;
	struct hello hello = { .version = WIRE_VERSION,
		.has_staging = root->staging_fd >= 0,
		.identity = root->identity };

	if (request->len)
		return error_set(e, ERR_PROTOCOL, "hello: %zu bytes too many", request->len);

	enum err kind = root_learn(root, &hello.root, e);

	return kind == ERR_OK ? end_record(s, wire_put_hello(&s->items, &hello), 0, e) : kind;
}

static enum err do_request(struct speaker *s, const struct stream_request *r, struct error *e)
{
	switch (r->type) {
	case FRAME_HELLO: return do_hello(s, &r->payload, e);
	case FRAME_LIST: return do_list(s, &r->payload, e);
	case FRAME_FETCH: return do_fetch(s, &r->payload, e);
	case FRAME_APPLY: return do_apply(s, &r->payload, e);
	case FRAME_WATCH: return do_watch(s, &r->payload, e);
	case FRAME_COMMAND: return do_command(s, &r->payload, e);
	case FRAME_STOP: return do_stop(s, &r->payload, e);
	case FRAME_MORE:
	case FRAME_RECEIVED:
	case FRAME_CANCEL:
	case FRAME_ITEMS:
	case FRAME_END:
	case FRAME_TYPE_END: break;
	}
	return error_set(e, ERR_PROTOCOL, "frame %d asks for nothing", r->type);
}

enum err answer_end(struct outlet *out, uint32_t id, enum err kind, const char *text)
{
	AUTO_BUF struct buf end = BUF_INIT(sizeof(struct error) + 64);

	if (!wire_put_end(&end, kind, text))
		return ERR_NO_MEMORY;
	return outlet_send(out, FRAME_END, id, &end, NULL);
}

enum err answer_request(
	const struct answer *a, const struct stream_request *request, struct error *e)
{
	struct speaker s = { .answer = a, .id = request->id, .items = BUF_INIT(FRAME_PAYLOAD_MAX) };
	AUTO_ROOT struct root now = { .dir_fd = -1 };
	struct error said = { 0 };

	root_find(a->root, &now);
	s.root = &now;
	enum err kind = do_request(&s, request, &said);
	enum err sent = send_items(&s, e);

	buf_release(&s.items);
	if (sent != ERR_OK)
		return sent;
	if (answer_end(a->out, request->id, kind, kind == ERR_OK ? "" : said.text) != ERR_OK)
		return error_set(e, ERR_UNREACHABLE, "nobody reads the answers");
	return ERR_OK;
}
