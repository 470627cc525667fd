#include "providers/base/path.h"
#include "providers/helper/coding.h"

#include <string.h>
#include <sys/stat.h>

/* The size of the smallest extended attribute. */
#define XATTR_MIN 9

/* Ends a record: `*at` moves only past a valid one. */
static enum err finish(const struct decoder *d, const char *what, size_t *at, struct error *e)
{
	enum err kind = decoder_check(d, what, e);

	if (kind == ERR_OK)
		*at = d->at;
	return kind;
}

/* A path of the shown tree: an answer never names staging. */
static const char *dec_tree_path(struct decoder *d)
{
	const char *path = dec_string(d, PATH_LENGTH_MAX);

	if (path_is_staged(path) || path_check(path, NULL) != ERR_OK)
		decoder_fail(d, "not a path of the tree");
	return path;
}

static const char *dec_name(struct decoder *d)
{
	const char *name = dec_string(d, PATH_NAME_MAX);

	if (!path_name_ok(name, strlen(name)))
		decoder_fail(d, "not a name of a file");
	return name;
}

/* ---- list ---- */

static void enc_node(struct buf *out, const struct list_item *item)
{
	enc_attr(out, &item->attr);
	enc_optional(out, item->link);
}

static void dec_node(struct decoder *d, struct list_item *item)
{
	dec_attr(d, &item->attr);
	item->link = dec_optional(d, VERB_LINK_MAX);
	if (item->link && !S_ISLNK(item->attr.mode))
		decoder_fail(d, "a link's text on what is no link");
}

static void enc_xattrs(struct buf *out, const struct list_item *item)
{
	if (item->xattrs_count > WIRE_XATTRS_MAX)
		out->failed = true;
	enc_u32(out, (uint32_t)item->xattrs_count);
	for (size_t i = 0; i < item->xattrs_count && !out->failed; i++) {
		enc_string(out, item->xattrs[i].name);
		enc_data(out, item->xattrs[i].value, item->xattrs[i].value_len);
	}
}

static void dec_xattrs(struct decoder *d, struct list_decoded *out)
{
	out->item.xattrs_count = dec_count(d, WIRE_XATTRS_MAX, XATTR_MIN);
	out->item.xattrs = out->xattrs;
	for (size_t i = 0; i < out->item.xattrs_count; i++) {
		struct xattr *x = &out->xattrs[i];

		x->name = dec_string(d, PATH_NAME_MAX);
		if (!*x->name)
			decoder_fail(d, "an attribute without a name");
		x->value = dec_data(d, VERB_XATTR_MAX, &x->value_len);
	}
}

bool wire_put_list_item(struct buf *out, const struct list_item *item)
{
	enc_u8(out, item->kind);
	enc_u32(out, item->start);
	switch (item->kind) {
	case LIST_SELF:
		enc_u16(out, item->err);
		if (item->err != ERR_OK)
			break;
		enc_node(out, item);
		enc_xattrs(out, item);
		break;
	case LIST_DIR: enc_string(out, item->path); break;
	case LIST_ENTRY:
		enc_string(out, item->name);
		enc_node(out, item);
		break;
	case LIST_DIR_END:
		enc_u16(out, item->err);
		enc_u8(out, item->complete);
		break;
	case LIST_END:
		enc_time(out, &item->now);
		enc_space(out, &item->space);
		break;
	}
	return !out->failed;
}

enum err wire_get_list_item(
	const struct buf *in, size_t *at, struct list_decoded *out, struct error *e)
{
	struct decoder d = decoder_at(in, *at);
	struct list_item *item = &out->item;

	*item = (struct list_item){ .kind = dec_enum(&d, LIST_SELF, LIST_END + 1) };
	item->start = dec_u32(&d);
	switch (item->kind) {
	case LIST_SELF:
		item->err = dec_err(&d);
		if (item->err != ERR_OK)
			break;
		dec_node(&d, item);
		dec_xattrs(&d, out);
		break;
	case LIST_DIR: item->path = dec_tree_path(&d); break;
	case LIST_ENTRY:
		item->name = dec_name(&d);
		dec_node(&d, item);
		break;
	case LIST_DIR_END:
		item->err = dec_err(&d);
		item->complete = dec_bool(&d);
		break;
	case LIST_END:
		item->now = dec_time(&d);
		dec_space(&d, &item->space);
		break;
	}
	return finish(&d, "an item of a list", at, e);
}

/* ---- fetch ---- */

bool wire_put_fetch_piece(struct buf *out, const struct fetch_piece *piece)
{
	enc_u8(out, piece->kind);
	enc_u32(out, piece->item);
	enc_u64(out, piece->offset);
	if (piece->kind == FETCH_DATA) {
		enc_data(out, piece->bytes, piece->len);
		return !out->failed;
	}
	enc_u16(out, piece->err);
	if (piece->err == ERR_OK)
		enc_attr(out, &piece->attr);
	else
		enc_string(out, piece->why);
	return !out->failed;
}

enum err wire_get_fetch_piece(
	const struct buf *in, size_t *at, struct fetch_piece *out, struct error *e)
{
	struct decoder d = decoder_at(in, *at);

	*out = (struct fetch_piece){ .kind = dec_enum(&d, FETCH_DATA, FETCH_DONE + 1) };
	out->item = dec_u32(&d);
	out->offset = dec_u64(&d);
	if (out->kind == FETCH_DATA) {
		out->bytes = dec_data(&d, VERB_DATA_MAX, &out->len);
		return finish(&d, "a piece of a file", at, e);
	}
	out->err = dec_err(&d);
	if (out->err == ERR_OK)
		dec_attr(&d, &out->attr);
	else
		dec_text(&d, out->why, sizeof out->why);
	return finish(&d, "the end of a file", at, e);
}

/* ---- apply ---- */

/* The attributes that follow the versions. */
enum has {
	HAS_ATTR = 1,
	HAS_PARENT = 2,
	HAS_PARENT2 = 4,
	HAS_LEFT = 8,
	HAS_BEFORE = 16,
	HAS_OVER = 32,
};

bool wire_put_change_result(struct buf *out, const struct change_result *result)
{
	enc_u16(out, result->err);
	enc_string(out, result->why);
	enc_u64(out, result->count);
	enc_u64(out, result->offset);
	enc_u32(out,
		(result->has_attr ? HAS_ATTR : 0) | (result->has_parent ? HAS_PARENT : 0) |
			(result->has_parent2 ? HAS_PARENT2 : 0) |
			(result->was_over ? HAS_LEFT : 0) |
			(result->before.ctime.tv_sec ? HAS_BEFORE : 0) |
			(result->over.ctime.tv_sec ? HAS_OVER : 0));
	if (result->was_over)
		enc_version(out, &result->left);
	if (result->before.ctime.tv_sec)
		enc_version(out, &result->before);
	if (result->over.ctime.tv_sec)
		enc_version(out, &result->over);
	if (result->has_attr)
		enc_attr(out, &result->attr);
	if (result->has_parent)
		enc_attr(out, &result->parent);
	if (result->has_parent2)
		enc_attr(out, &result->parent2);
	return !out->failed;
}

enum err wire_get_change_result(
	const struct buf *in, size_t *at, struct change_result *out, struct error *e)
{
	struct decoder d = decoder_at(in, *at);
	uint32_t has;

	*out = (struct change_result){ .err = dec_err(&d) };
	dec_text(&d, out->why, sizeof out->why);
	out->count = dec_u64(&d);
	out->offset = dec_u64(&d);
	has = dec_flags(&d, HAS_ATTR | HAS_PARENT | HAS_PARENT2 | HAS_LEFT | HAS_BEFORE | HAS_OVER);
	out->has_attr = has & HAS_ATTR;
	out->has_parent = has & HAS_PARENT;
	out->has_parent2 = has & HAS_PARENT2;
	out->was_over = has & HAS_LEFT;
	if (out->was_over)
		out->left = dec_version(&d);
	if (has & HAS_BEFORE)
		out->before = dec_version(&d);
	if (has & HAS_OVER)
		out->over = dec_version(&d);
	if ((has & HAS_BEFORE && !out->before.ctime.tv_sec) ||
		(has & HAS_OVER && !out->over.ctime.tv_sec))
		decoder_fail(&d, "a version without a time");
	if (out->has_attr)
		dec_attr(&d, &out->attr);
	if (out->has_parent)
		dec_attr(&d, &out->parent);
	if (out->has_parent2)
		dec_attr(&d, &out->parent2);
	return finish(&d, "the result of a change", at, e);
}

/* ---- watch ---- */

static bool names_something(enum watch_kind kind)
{
	return kind == WATCH_CREATED || kind == WATCH_CHANGED || kind == WATCH_ATTR;
}

bool wire_put_watch_event(struct buf *out, const struct watch_event *event)
{
	enc_u8(out, event->kind);
	if (event->kind == WATCH_ITEM)
		return wire_put_list_item(out, event->item);
	enc_u8(out, event->is_dir);
	enc_string(out, event->path);
	enc_u8(out, event->has_attr);
	if (event->has_attr)
		enc_attr(out, &event->attr);
	if (event->kind == WATCH_CREATED)
		enc_u8(out, event->from != NULL);
	if (event->kind == WATCH_CREATED && event->from)
		enc_string(out, event->from);
	return !out->failed;
}

static enum err get_watch_item(const struct buf *in, size_t *at, struct watch_event *out,
	struct list_decoded *item, struct error *e)
{
	size_t inner = *at + 1;
	enum err kind = wire_get_list_item(in, &inner, item, e);

	out->path = "";
	out->item = &item->item;
	if (kind == ERR_OK)
		*at = inner;
	return kind;
}

enum err wire_get_watch_event(const struct buf *in, size_t *at, struct watch_event *out,
	struct list_decoded *item, struct error *e)
{
	struct decoder d = decoder_at(in, *at);

	*out = (struct watch_event){ .kind = dec_enum(&d, WATCH_READY, WATCH_ITEM + 1) };
	if (out->kind == WATCH_ITEM)
		return get_watch_item(in, at, out, item, e);
	out->is_dir = dec_bool(&d);
	out->path = dec_tree_path(&d);
	out->has_attr = dec_bool(&d);
	if (out->has_attr)
		dec_attr(&d, &out->attr);
	if (out->kind == WATCH_CREATED && dec_bool(&d))
		out->from = dec_tree_path(&d);
	if (out->has_attr && !names_something(out->kind))
		decoder_fail(&d, "attributes of what is not there");
	return finish(&d, "a watched change", at, e);
}
