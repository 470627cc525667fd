#include "providers/client/answers.h"

#include <string.h>

/* Files up to this size are read for their text; larger items are parts of files. */
#define SMALL_ITEM_MAX ((uint64_t)512 * 1024)
/*
 * The result of a change takes 150 bytes, and a tenth of that packed: fewer results are not worth
 * the sandbox's time.
 */
#define RESULTS_MIN 64

/* A watch is dead after this many missed signs of life. */
#define SIGNS_MISSED 3

enum err listener_take_items(const struct listener *listener, const struct buf *in, struct error *e)
{
	enum err kind = ERR_OK;

	for (size_t at = 0; at < in->len && kind == ERR_OK;)
		kind = listener->take(listener->state, in, &at, e);
	return kind;
}

enum err listener_take_end(const struct listener *listener, const struct buf *in, struct error *e)
{
	enum err kind = wire_get_end(in, e);

	if (kind == ERR_OK && !listener->is_complete(listener->state))
		return error_set(e, ERR_PROTOCOL, "the helper left out a part of its answer");
	return kind;
}

/* ---- hello ---- */

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

struct listener hello_listener(struct hello_state *state)
{
	return (struct listener){
		.take = take_hello, .is_complete = is_hello_complete, .state = state
	};
}

enum err check_hello(const struct hello *hello, struct error *e)
{
	if (hello->version != WIRE_VERSION)
		return error_set(e, ERR_PROTOCOL, "the helper is of version %u, not %d",
			(unsigned)hello->version, WIRE_VERSION);
	return check_root_facts(&hello->root, e);
}

/* ---- list ---- */

static enum err take_list_item(void *state, const struct buf *in, size_t *at, struct error *e)
{
	struct list_state *s = state;
	enum err kind = wire_get_list_item(in, at, &s->decoded, e);

	if (kind == ERR_OK)
		kind = check_list_item(&s->check, &s->decoded.item, e);
	return kind == ERR_OK ? s->sink(s->context, &s->decoded.item, e) : kind;
}

static bool is_list_complete(const void *state)
{
	return ((const struct list_state *)state)->check.is_over;
}

void list_state_release(struct list_state *state)
{
	list_check_release(&state->check);
}

struct listener list_listener(struct list_state *state)
{
	return (struct listener){ .take = take_list_item,
		.is_complete = is_list_complete,
		.state = state,
		.packs_well = true };
}

/* ---- fetch ---- */

static bool is_data_due(const struct fetch_state *s, const struct fetch_piece *piece)
{
	const struct fetch_item *item = &s->items[s->done];

	switch (item->kind) {
	case FETCH_HASHES: return piece->len % 16 == 0;
	case FETCH_BYTES:
		return piece->offset == item->offset + s->got &&
			piece->len <= item->length - s->got;
	case FETCH_WHERE: return !piece->offset && !s->got && piece->len <= item->length;
	case FETCH_SEEK_DATA:
	case FETCH_SEEK_HOLE:
	case FETCH_CHANGEABLE: break;
	}
	return false;
}

/*
 * Only the end of the file may give fewer bytes than requested. A file without blocks, as in /sys,
 * may end before its size.
 */
static bool is_end_due(const struct fetch_state *s, const struct fetch_piece *piece)
{
	const struct fetch_item *item = &s->items[s->done];

	return piece->err != ERR_OK || item->kind != FETCH_BYTES || s->got == item->length ||
		item->offset + s->got >= piece->attr.size || !piece->attr.blocks;
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
	if (piece.kind == FETCH_DONE)
		kind = check_fetch_done(&s->items[s->done], &piece, e);
	if (kind != ERR_OK)
		return kind;
	s->got = piece.kind == FETCH_DATA ? s->got + piece.len : 0;
	s->done += piece.kind == FETCH_DONE;
	return s->sink(s->context, &piece, e);
}

static bool is_fetch_complete(const void *state)
{
	const struct fetch_state *s = state;

	return s->done == s->items_count;
}

/*
 * More than requests for small files ask for, whose sizes may not be known. The round trips that
 * begin a connection of its own are few compared with the time for this many bytes.
 */
#define BULK_MIN ((uint64_t)VERB_DATA_MAX)

static bool fetches_much(const struct fetch_state *s)
{
	uint64_t bytes = 0;

	for (size_t n = 0; n < s->items_count && bytes <= BULK_MIN; n++)
		bytes += s->items[n].kind == FETCH_BYTES ? s->items[n].length : 0;
	return bytes > BULK_MIN;
}

/*
 * Several small files are mostly text. A large file is more often packed already, and costs the
 * sandbox more.
 */
static bool fetches_small_files(const struct fetch_state *s)
{
	size_t n = 0;

	while (n < s->items_count && s->items[n].length <= SMALL_ITEM_MAX)
		n++;
	return s->items_count > 1 && n == s->items_count;
}

struct listener fetch_listener(struct fetch_state *state)
{
	return (struct listener){ .take = take_fetch_piece,
		.is_complete = is_fetch_complete,
		.state = state,
		.packs_well = fetches_small_files(state),
		.answer_is_bulk = fetches_much(state) };
}

/* ---- apply ---- */

static enum err take_change_result(void *state, const struct buf *in, size_t *at, struct error *e)
{
	struct apply_state *s = state;

	if (s->got == s->count)
		return error_set(e, ERR_PROTOCOL, "apply: more results than changes");
	struct change_result *result = &s->results[s->got];
	enum err kind = wire_get_change_result(in, at, result, e);

	if (kind == ERR_OK)
		kind = check_change_result(&s->changes[s->got], result, e);
	s->got++;
	return kind;
}

static bool is_apply_complete(const void *state)
{
	const struct apply_state *s = state;

	return s->got == s->count;
}

struct listener apply_listener(struct apply_state *state)
{
	return (struct listener){ .take = take_change_result,
		.is_complete = is_apply_complete,
		.state = state,
		.answer_packs_well = state->count >= RESULTS_MIN };
}

/* ---- watch ---- */

static enum err note_watch_item(struct list_state *first, struct error *e)
{
	return first->check.request ? check_list_item(&first->check, &first->decoded.item, e)
				    : error_set(e, ERR_PROTOCOL, "watch: an item of no list");
}

static enum err take_watch_event(void *state, const struct buf *in, size_t *at, struct error *e)
{
	struct watch_state *s = state;
	struct watch_event event;
	enum err kind = wire_get_watch_event(in, at, &event, &s->first.decoded, e);

	if (kind == ERR_OK && event.kind == WATCH_ITEM)
		kind = note_watch_item(&s->first, e);
	else if (kind == ERR_OK)
		kind = check_watch_event(&event, e);
	event.lists = event.kind == WATCH_READY && s->first.check.request;
	return kind == ERR_OK ? s->sink(s->context, &event, e) : kind;
}

/* A watch never ends with success. */
static bool is_watch_complete(const void *state)
{
	(void)state;
	return false;
}

void watch_state_release(struct watch_state *state)
{
	list_state_release(&state->first);
}

struct listener watch_listener(struct watch_state *state)
{
	return (struct listener){
		.take = take_watch_event, .is_complete = is_watch_complete, .state = state
	};
}

struct call watch_call(const struct call *call)
{
	struct call patient = call ? *call : (struct call){ 0 };
	int64_t asked_ms = call_progress_ms(call), least_ms = (int64_t)SIGNS_MISSED * WIRE_ALIVE_MS;

	patient.progress_ms = asked_ms < 0 || asked_ms > least_ms ? asked_ms : least_ms;
	return patient;
}

/* ---- commands ---- */

static bool is_output(const struct command_piece *piece)
{
	return piece->kind == COMMAND_OUT || piece->kind == COMMAND_ERR;
}

static bool is_command_piece_due(const struct command_state *s, const struct command_piece *piece)
{
	return !s->is_over && (!is_output(piece) || piece->next > s->next);
}

static enum err take_command_piece(void *state, const struct buf *in, size_t *at, struct error *e)
{
	struct command_state *s = state;
	struct command_piece piece;
	enum err kind = wire_get_command_piece(in, at, &piece, e);

	if (kind != ERR_OK)
		return kind;
	if (!is_command_piece_due(s, &piece))
		return error_set(e, ERR_PROTOCOL, "command: piece %d out of order", piece.kind);
	if (piece.kind == COMMAND_ENDED && piece.root.mode)
		kind = check_attr(&piece.root, e);
	if (kind != ERR_OK)
		return kind;
	s->is_over = !is_output(&piece);
	s->next = piece.next;
	return s->sink(s->context, &piece, e);
}

static bool is_command_complete(const void *state)
{
	return ((const struct command_state *)state)->is_over;
}

struct listener command_listener(struct command_state *state)
{
	return (struct listener){
		.take = take_command_piece, .is_complete = is_command_complete, .state = state
	};
}

/* ---- nothing ---- */

static enum err take_nothing(void *state, const struct buf *in, size_t *at, struct error *e)
{
	(void)state, (void)at;
	return error_set(e, ERR_PROTOCOL, "the helper says %zu bytes too much", in->len);
}

static bool is_always_complete(const void *state)
{
	(void)state;
	return true;
}

struct listener silent_listener(void)
{
	return (struct listener){
		.take = take_nothing, .is_complete = is_always_complete, .state = NULL
	};
}
