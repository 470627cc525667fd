#include "providers/rest/list.h"

#include "providers/base/cleanup.h"
#include "providers/labels.h"

#include <stdlib.h>
#include <string.h>

/* Room for a cursor with every byte escaped, and the text before it. */
#define PATH_ROOM  ((size_t)16 * 1024)
#define CURSOR_MAX ((size_t)4096)
/* More than any account has: a server that goes on is faulty. */
#define PAGES_MAX 1000

/* As in struct sandbox_entry. */
static int64_t age_s(struct json_object *item, const char *made, int64_t now_s)
{
	int64_t made_s;

	if (!made)
		return -1;
	made_s = rest_integer(item, made, -1) / 1000;
	if (made_s <= 0)
		return rest_seconds_since(rest_text(item, made, ""), now_s);
	return now_s > made_s ? now_s - made_s : 0;
}

static enum err pass_item(struct json_object *item, const struct rest_list *list, int64_t now_s,
	rest_listed_read read, rest_listed_sink sink, void *context, struct buf *last,
	struct error *e)
{
	struct json_object *object = rest_member(item, list->labels);
	AUTO_LABELS struct labels labels = { 0 };
	struct rest_listed one = { 0 };
	struct error why = { 0 };
	bool is_read = !read(&one, item, now_s, &why);
	struct sandbox_entry entry = { .unread = why.text };

	if (is_read && last) {
		buf_reset(last);
		buf_add_string(last, one.id);
	}
	if (is_read && one.has_ended)
		return ERR_OK;
	labels_add_object(&labels, object);
	if (is_read)
		entry = (struct sandbox_entry){ .id = one.id,
			.state = one.state,
			.expires_s = one.expires_s,
			.age_s = age_s(item, list->made, now_s),
			.labels = object || !list->may_lack_labels ? labels_list(&labels) : NULL };
	return sink(context, &one, &entry, e);
}

enum err rest_list_page(struct json_object *items, const struct rest_list *list, int64_t now_s,
	rest_listed_read read, rest_listed_sink sink, void *context, struct buf *last,
	struct error *e)
{
	size_t count =
		json_object_is_type(items, json_type_array) ? json_object_array_length(items) : 0;
	enum err kind = ERR_OK;

	for (size_t i = 0; !kind && i < count; i++)
		kind = pass_item(json_object_array_get_idx(items, i), list, now_s, read, sink,
			context, last, e);
	return kind;
}

static enum err ask_page(const struct rest *r, const struct call *call,
	const struct rest_list *list, const struct buf *cursor, struct json_object **json,
	struct error *e)
{
	AUTO_BUF struct buf path = BUF_INIT(PATH_ROOM);
	struct rest_ask ask = { .method = HTTP_GET,
		.flags = HTTP_REPEATABLE | list->flags,
		.id = "",
		.what = list->what };
	enum err kind;

	buf_add_string(&path, list->path);
	if (cursor->len) {
		buf_add_string(&path, list->cursor);
		http_escape(&path, buf_text(cursor), "");
	}
	ask.path = buf_text(&path);
	kind = buf_check(&path, "a page's address", e);
	return kind ? kind : rest_perform(r, call, &ask, json, e);
}

/* The number of the page behind the one of `cursor`. */
static void count_on(const struct rest_list *list, struct json_object *items, struct buf *cursor)
{
	const size_t count = json_object_array_length(items);
	const bool by_items = list->counts == REST_COUNTS_ITEMS;
	unsigned long long at = cursor->len ? strtoull(buf_text(cursor), NULL, 10) : !by_items;

	buf_reset(cursor);
	if (count)
		buf_printf(cursor, "%llu", at + (by_items ? count : 1));
}

/* `cursor`: in, of this page, "" for the first; out, of the next page, "": no more pages. */
static enum err pass_page(const struct rest *r, const struct call *call,
	const struct rest_list *list, rest_listed_read read, rest_listed_sink sink, void *context,
	struct buf *cursor, struct error *e)
{
	AUTO_JSON struct json_object *json = NULL;
	struct json_object *items;
	enum err kind = ask_page(r, call, list, cursor, &json, e);

	if (kind)
		return kind;
	items = rest_member(json, list->items);
	if (!items && list->older_items)
		items = rest_member(json, list->older_items);
	if (!json_object_is_type(items, json_type_array) && list->has_always_items)
		return error_set(e, ERR_PROTOCOL, "%s: a list without %s", r->vendor, list->items);
	if (list->counts && json_object_is_type(items, json_type_array)) {
		kind = rest_list_page(items, list, rest_now_s(r), read, sink, context, NULL, e);
		count_on(list, items, cursor);
	} else if (list->next) {
		buf_reset(cursor);
		buf_add_string(cursor, rest_text(json, list->next, ""));
		kind = rest_list_page(items, list, rest_now_s(r), read, sink, context, NULL, e);
	} else {
		kind = rest_list_page(items, list, rest_now_s(r), read, sink, context, cursor, e);
		if (!rest_flag(json, list->more, false) || !json_object_array_length(items))
			buf_reset(cursor);
	}
	return kind ? kind : buf_check(cursor, "a page's cursor", e);
}

enum err rest_list(const struct rest *r, const struct call *call, const struct rest_list *list,
	rest_listed_read read, rest_listed_sink sink, void *context, struct error *e)
{
	AUTO_BUF struct buf cursor = BUF_INIT(CURSOR_MAX), before = BUF_INIT(CURSOR_MAX);

	for (int page = 0; page < PAGES_MAX; page++) {
		enum err kind = pass_page(r, call, list, read, sink, context, &cursor, e);

		if (kind || !cursor.len)
			return kind;
		if (!strcmp(buf_text(&before), buf_text(&cursor)))
			break;
		buf_reset(&before);
		buf_add(&before, cursor.bytes, cursor.len);
	}
	return error_set(e, ERR_PROTOCOL, "%s: %s: the list has no end", r->vendor, list->what);
}

enum err rest_list_pass(void *context, const struct rest_listed *one,
	const struct sandbox_entry *entry, struct error *e)
{
	const struct rest_listing *l = context;

	(void)one;
	return l->sink(l->context, entry, e);
}

enum err rest_list_sandboxes(const struct rest *r, const struct call *call,
	const struct rest_list *list, rest_listed_read read, sandbox_sink sink, void *context,
	struct error *e)
{
	struct rest_listing listing = { sink, context };

	return rest_list(r, call, list, read, rest_list_pass, &listing, e);
}
