#include "providers/helper/coding.h"

#include <stdlib.h>
#include <string.h>

/* The sizes of the smallest records, which bound their number in a message. */
#define STRING_MIN 5
#define CHANGE_MIN 270

#define LIST_FLAGS_ALL (LIST_XATTRS | LIST_CROSS_DEVICES | LIST_CHANGED_ONLY)
#define CHANGE_FLAGS_ALL                                                                           \
	(CHANGE_EXCL | CHANGE_NOREPLACE | CHANGE_EXCHANGE | CHANGE_REPLACE | CHANGE_BY_HANDLE |    \
		CHANGE_MAKES | CHANGE_TAKES)
#define CHANGE_SET_ALL (SET_MODE | SET_UID | SET_GID | SET_SIZE | SET_ATIME | SET_MTIME)

/*
 * The limit of a string on the wire; a refusal by path_check() is the verb's answer for that one
 * item.
 */
#define REQUEST_STRING_MAX (4 * 65536)

/* Makes room for `count` records; without memory the decoder fails. */
static void *make_records(struct decoder *d, uint32_t count, size_t size, void **memory)
{
	*memory = d->wrong ? NULL : calloc(count ? count : 1, size);
	if (!*memory)
		decoder_fail(d, "no memory");
	return *memory;
}

/* Ends a request: the decoded memory stays only when all of it was valid. */
static enum err finish(struct decoder *d, const char *what, void **memory, struct error *e)
{
	enum err kind = decoder_check_end(d, what, e);

	if (kind != ERR_OK) {
		free(*memory);
		*memory = NULL;
	}
	return kind;
}

bool wire_put_list(struct buf *out, const struct list_request *request)
{
	enc_u32(out, request->depth);
	enc_u32(out, request->flags);
	enc_u64(out, request->entries_max);
	enc_u64(out, (uint64_t)request->changed_since_ns);
	enc_count(out, request->starts_count);
	for (size_t i = 0; i < request->starts_count && !out->failed; i++)
		enc_string(out, request->starts[i]);
	return !out->failed;
}

static void dec_list(struct decoder *d, struct list_request *request, void **memory)
{
	const char **starts;

	*request = (struct list_request){ .depth = dec_u32(d) };
	request->flags = dec_flags(d, LIST_FLAGS_ALL);
	request->entries_max = dec_u64(d);
	request->changed_since_ns = (int64_t)dec_u64(d);
	request->starts_count = dec_count(d, WIRE_BATCH_MAX, STRING_MIN);
	starts = make_records(d, (uint32_t)request->starts_count, sizeof *starts, memory);
	for (size_t i = 0; i < request->starts_count && !d->wrong; i++)
		starts[i] = dec_string(d, REQUEST_STRING_MAX);
	request->starts = starts;
}

enum err wire_get_list(
	const struct buf *in, struct list_request *request, void **memory, struct error *e)
{
	struct decoder d = decoder_at(in, 0);

	dec_list(&d, request, memory);
	return finish(&d, "list", memory, e);
}

bool wire_put_watch(struct buf *out, const struct watch_request *request)
{
	buf_add(out, request->watcher, WATCHER_ID_SIZE);
	return request->first ? wire_put_list(out, request->first) : !out->failed;
}

enum err wire_get_watch(const struct buf *in, struct watch_request *request,
	struct list_request *first, void **memory, struct error *e)
{
	struct decoder d = decoder_at(in, 0);

	*memory = NULL;
	*request = (struct watch_request){ .first = in->len > WATCHER_ID_SIZE ? first : NULL };
	for (size_t i = 0; i < WATCHER_ID_SIZE; i++)
		request->watcher[i] = (unsigned char)dec_u8(&d);
	if (request->first)
		dec_list(&d, first, memory);
	return finish(&d, "watch", memory, e);
}

static void enc_change(struct buf *out, const struct change *c)
{
	enc_u8(out, c->op);
	enc_u32(out, c->flags);
	enc_u32(out, c->needs);
	enc_string(out, c->path);
	enc_optional(out, c->path2);
	enc_optional(out, c->keep);
	enc_expect(out, &c->parent);
	enc_expect(out, &c->target);
	enc_expect(out, &c->parent2);
	enc_expect(out, &c->target2);
	enc_version(out, &c->version);
	enc_version(out, &c->version2);
	enc_u32(out, c->set);
	enc_u32(out, c->mode);
	enc_u32(out, c->uid);
	enc_u32(out, c->gid);
	enc_u64(out, c->rdev);
	enc_u64(out, c->size);
	enc_time(out, &c->atime);
	enc_time(out, &c->mtime);
	enc_u64(out, c->offset);
	enc_u64(out, c->offset2);
	enc_u64(out, c->length);
	enc_optional(out, c->name);
	enc_data(out, c->data, c->data_len);
	if (c->data_len > VERB_DATA_MAX)
		out->failed = true;
}

static bool op_needs_path2(enum change_op op)
{
	return op == CHANGE_LINK || op == CHANGE_RENAME || op == CHANGE_COPY || op == CHANGE_PLACE;
}

static bool op_needs_name(enum change_op op)
{
	return op == CHANGE_SETXATTR || op == CHANGE_REMOVEXATTR;
}

static void dec_change(struct decoder *d, uint32_t index, struct change *out)
{
	out->op = dec_enum(d, CHANGE_MKDIR, CHANGE_OP_END);
	out->flags = dec_flags(d, CHANGE_FLAGS_ALL);
	out->needs = dec_u32(d);
	out->path = dec_string(d, REQUEST_STRING_MAX);
	out->path2 = dec_optional(d, REQUEST_STRING_MAX);
	out->keep = dec_optional(d, REQUEST_STRING_MAX);
	out->parent = dec_expect(d);
	out->target = dec_expect(d);
	out->parent2 = dec_expect(d);
	out->target2 = dec_expect(d);
	out->version = dec_version(d);
	out->version2 = dec_version(d);
	out->set = dec_flags(d, CHANGE_SET_ALL);
	out->mode = dec_u32(d);
	out->uid = dec_u32(d);
	out->gid = dec_u32(d);
	out->rdev = dec_u64(d);
	out->size = dec_u64(d);
	out->atime = dec_time_asked(d);
	out->mtime = dec_time_asked(d);
	out->offset = dec_u64(d);
	out->offset2 = dec_u64(d);
	out->length = dec_u64(d);
	out->name = dec_optional(d, REQUEST_STRING_MAX);
	out->data = dec_data(d, VERB_DATA_MAX, &out->data_len);
	if (out->needs > index)
		decoder_fail(d, "a change that needs a later one");
	if ((op_needs_path2(out->op) && !out->path2) || (op_needs_name(out->op) && !out->name))
		decoder_fail(d, "a change that lacks a name");
}

bool wire_put_change(struct buf *out, const struct change *change)
{
	enc_change(out, change);
	return !out->failed;
}

enum err wire_get_change(const struct buf *in, struct change *out, struct error *e)
{
	struct decoder d = decoder_at(in, 0);

	*out = (struct change){ 0 };
	dec_change(&d, 0, out);
	return decoder_check_end(&d, "change", e);
}

bool wire_put_apply(struct buf *out, const struct apply_request *request)
{
	buf_add(out, request->journal, JOURNAL_ID_SIZE);
	enc_u64(out, request->first_sequence);
	enc_u8(out, request->is_plain);
	enc_u64(out, request->closed.below);
	for (size_t i = 0; i < PLAIN_OPEN_MAX; i++)
		enc_u64(out, request->closed.open[i]);
	enc_u64(out, request->once);
	enc_count(out, request->changes_count);
	for (size_t i = 0; i < request->changes_count && !out->failed; i++)
		enc_change(out, &request->changes[i]);
	return !out->failed;
}

enum err wire_get_apply(
	const struct buf *in, struct apply_request *request, void **memory, struct error *e)
{
	struct decoder d = decoder_at(in, 0);
	struct change *changes;

	*request = (struct apply_request){ 0 };
	for (size_t i = 0; i < JOURNAL_ID_SIZE; i++)
		request->journal[i] = (unsigned char)dec_u8(&d);
	request->first_sequence = dec_u64(&d);
	request->is_plain = dec_bool(&d);
	request->closed.below = dec_u64(&d);
	for (size_t i = 0; i < PLAIN_OPEN_MAX; i++)
		request->closed.open[i] = dec_u64(&d);
	request->once = dec_u64(&d);
	request->changes_count = dec_count(&d, WIRE_BATCH_MAX, CHANGE_MIN);
	changes = make_records(&d, (uint32_t)request->changes_count, sizeof *changes, memory);
	for (uint32_t i = 0; i < request->changes_count && !d.wrong; i++)
		dec_change(&d, i, &changes[i]);
	request->changes = changes;
	return finish(&d, "apply", memory, e);
}
