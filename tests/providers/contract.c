#include "tests/providers/contract.h"

#include "providers/base/cleanup.h"
#include "providers/base/path.h"

#include <stdio.h>
#include <sys/stat.h>

/* ---- The subject ---- */

/* Each test is a process of its own, which has one subject. */
static struct subject current;

struct subject *contract_subject(void)
{
	return &current;
}

struct provider_config contract_config(const struct subject *s, const char *id)
{
	return (struct provider_config){ .id = id, .helper = s->helper };
}

void contract_begin(const struct subject *row, const struct provider_ops *ops)
{
	current = *row;
	current.ops = ops;
	current.tree.fd = -1;
	/* sandboxfs clears its umask, too: modes are those of the requests. */
	umask(0);
	cr_assert(ops != NULL);
}

void contract_connect(struct subject *s, const char *id)
{
	struct provider_config cfg = contract_config(s, id);
	struct sandbox_info info;
	struct error e = { 0 };

	snprintf(s->id, sizeof s->id, "%s", id);
	provider_connect(s->ops, &cfg, NULL, &s->p, &e);
	cr_assert(s->p != NULL, "%s: connect: %s", s->name, e.text);
	cr_assert(eq(int, provider_info(s->p, NULL, &info, &e), ERR_OK), "%s", e.text);
	s->user = info.identity;
	memcpy(s->root, info.root, sizeof s->root);
}

void contract_end(void)
{
	provider_release(current.p);
	cleanup_close(&current.tree.fd);
	if (*current.scratch.path)
		scratch_remove(&current.scratch);
}

/* ---- execute ---- */

#define OUTPUT_MAX (64 * 1024 * 1024)

static enum err take_output(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	struct ran *r = context;
	struct buf *to = stream == STREAM_OUT ? &r->out : &r->err_out;

	buf_add(to, bytes, len);
	return buf_check(to, "output", e);
}

struct ran run_request(
	const struct subject *s, const struct call *call, const struct execute_request *request)
{
	struct ran r = { .out = BUF_INIT(OUTPUT_MAX), .err_out = BUF_INIT(OUTPUT_MAX) };

	r.err = provider_execute(s->p, call, request, take_output, &r, &r.result, &r.why);
	return r;
}

struct ran run(const struct subject *s, const char *command)
{
	struct execute_request request = { .command = command };
	struct ran r = run_request(s, NULL, &request);

	cr_assert(eq(int, r.err, ERR_OK), "%s: %s", command, r.why.text);
	cr_assert(r.result.has_exit_code, "%s: has no exit code", command);
	return r;
}

void ran_release(struct ran *r)
{
	buf_release(&r->out);
	buf_release(&r->err_out);
}

/* ---- list ---- */

struct collector {
	struct listed *l;
	const struct list_request *request;
	bool in_dir;
	char *dir;
};

static char *copy(const char *text)
{
	char *copied = text ? strdup(text) : NULL;

	cr_assert(copied || text == NULL);
	return copied;
}

static void take_self(struct collector *c, struct listed_entry *entry, const struct list_item *item)
{
	AUTO_BUF struct buf xattrs = BUF_INIT(1 << 20);

	cr_expect(not(c->in_dir), "a start within a directory");
	entry->path = copy(c->request->starts[item->start]);
	for (size_t i = 0; i < item->xattrs_count; i++)
		buf_printf(&xattrs, "%s=%.*s;", item->xattrs[i].name,
			(int)item->xattrs[i].value_len, (const char *)item->xattrs[i].value);
	free(c->l->xattrs);
	c->l->xattrs = copy(buf_text(&xattrs));
}

static void take_item(struct collector *c, struct listed_entry *entry, const struct list_item *item)
{
	switch (item->kind) {
	case LIST_SELF: take_self(c, entry, item); break;
	case LIST_DIR:
		cr_expect(not(c->in_dir), "a directory within a directory");
		c->in_dir = true;
		free(c->dir);
		c->dir = copy(item->path);
		entry->path = copy(item->path);
		break;
	case LIST_ENTRY:
		cr_assert(c->in_dir, "an entry outside a directory");
		entry->path = path_join(c->dir, item->name);
		break;
	case LIST_DIR_END:
		cr_assert(c->in_dir, "the end of no directory");
		c->in_dir = false;
		entry->path = copy(c->dir);
		break;
	case LIST_END:
		cr_expect(not(c->in_dir), "the end within a directory");
		c->l->has_end = true;
		c->l->now = item->now;
		c->l->space = item->space;
		break;
	}
}

static enum err collect(void *context, const struct list_item *item, struct error *e)
{
	struct collector *c = context;
	struct listed *l = c->l;
	struct listed_entry entry = { .kind = item->kind,
		.start = item->start,
		.err = item->err,
		.complete = item->complete,
		.attr = item->attr };

	(void)e;
	cr_assert(not(l->has_end), "an item after the end");
	cr_assert(item->kind == LIST_END || item->start < c->request->starts_count);
	take_item(c, &entry, item);
	if (item->kind == LIST_END)
		return ERR_OK;
	entry.link = copy(item->link);
	l->entries = realloc(l->entries, (l->count + 1) * sizeof *l->entries);
	cr_assert(l->entries != NULL);
	l->entries[l->count++] = entry;
	return ERR_OK;
}

struct listed list_request(struct subject *s, const struct list_request *request)
{
	struct listed l = { 0 };
	struct collector c = { .l = &l, .request = request };

	l.err = provider_list(s->p, NULL, request, collect, &c, &l.why);
	free(c.dir);
	if (!l.err)
		cr_expect(l.has_end, "a list without its end");
	return l;
}

struct listed list_one(struct subject *s, const char *start, uint32_t depth)
{
	struct list_request request = { .starts = &start, .starts_count = 1, .depth = depth };
	struct listed l = list_request(s, &request);

	cr_assert(eq(int, l.err, ERR_OK), "list '%s': %s", start, l.why.text);
	return l;
}

const struct listed_entry *listed_find(
	const struct listed *l, enum list_kind kind, const char *path)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->entries[i].kind == kind && !strcmp(l->entries[i].path, path))
			return &l->entries[i];
	return NULL;
}

size_t listed_count(const struct listed *l, enum list_kind kind)
{
	size_t count = 0;

	for (size_t i = 0; i < l->count; i++)
		count += l->entries[i].kind == kind;
	return count;
}

void listed_release(struct listed *l)
{
	for (size_t i = 0; i < l->count; i++) {
		free(l->entries[i].path);
		free(l->entries[i].link);
	}
	free(l->entries);
	free(l->xattrs);
}

/* ---- fetch ---- */

struct fetching {
	struct fetched *out;
	const struct fetch_item *items;
	size_t count, at;
};

static enum err take_piece(void *context, const struct fetch_piece *piece, struct error *e)
{
	struct fetching *f = context;
	struct fetched *out;

	(void)e;
	cr_assert(eq(ulong, piece->item, f->at), "a piece of an item that is not its turn");
	cr_assert(f->at < f->count);
	out = &f->out[f->at];
	if (piece->kind == FETCH_DATA) {
		cr_expect(le(ulong, piece->len, VERB_DATA_MAX));
		if (f->items[f->at].kind == FETCH_BYTES)
			cr_expect(eq(u64, piece->offset, f->items[f->at].offset + out->bytes.len),
				"a gap before a piece");
		cr_assert(buf_add(&out->bytes, piece->bytes, piece->len));
		return ERR_OK;
	}
	out->done = true;
	out->err = piece->err;
	out->offset = piece->offset;
	out->attr = piece->attr;
	f->at++;
	return ERR_OK;
}

void fetch_items(
	struct subject *s, const struct fetch_item *items, size_t count, struct fetched *out)
{
	struct fetching f = { .out = out, .items = items, .count = count };
	struct error e = { 0 };

	for (size_t i = 0; i < count; i++)
		out[i] = (struct fetched){ .bytes = BUF_INIT(OUTPUT_MAX) };
	provider_fetch(s->p, NULL, items, count, take_piece, &f, &e);
	cr_assert(eq(int, e.kind, ERR_OK), "fetch: %s", e.text);
	cr_assert(eq(ulong, f.at, count), "an item has no end");
}

void fetched_release(struct fetched *f, size_t count)
{
	for (size_t i = 0; i < count; i++)
		buf_release(&f[i].bytes);
}

/* ---- apply ---- */

void apply_all(
	struct subject *s, const struct change *changes, size_t count, struct change_result *out)
{
	struct apply_request request = { .changes = changes, .changes_count = count };
	struct error e = { 0 };
	enum err kind = provider_apply(s->p, NULL, &request, out, &e);

	cr_assert(eq(int, kind, ERR_OK), "apply: %s", e.text);
	for (size_t i = 0; i < count; i++) {
		bool has_failed = out[i].err != ERR_OK, has_sentence = out[i].why[0] != 0;

		cr_expect(eq(int, has_sentence, has_failed), "change %zu: '%s' for %d", i,
			out[i].why, (int)out[i].err);
	}
}

struct change_result apply_one(struct subject *s, struct change change)
{
	struct change_result result;

	apply_all(s, &change, 1, &result);
	return result;
}

/* ---- Attributes ---- */

static void expect_same_time(
	struct timespec got, struct timespec want, const char *what, const char *which)
{
	cr_expect(eq(long, got.tv_sec, want.tv_sec), "%s: %s", what, which);
	cr_expect(eq(long, got.tv_nsec, want.tv_nsec), "%s: %s", what, which);
}

void expect_same_attr(const struct attr *got, const struct attr *want, const char *what)
{
	cr_expect(eq(u64, got->dev, want->dev), "%s: dev", what);
	cr_expect(eq(u64, got->ino, want->ino), "%s: ino", what);
	cr_expect(eq(u32, got->mode, want->mode), "%s: mode", what);
	cr_expect(eq(u32, got->nlink, want->nlink), "%s: nlink", what);
	cr_expect(eq(u32, got->uid, want->uid), "%s: uid", what);
	cr_expect(eq(u32, got->gid, want->gid), "%s: gid", what);
	cr_expect(eq(u64, got->rdev, want->rdev), "%s: rdev", what);
	cr_expect(eq(u64, got->size, want->size), "%s: size", what);
	cr_expect(eq(u64, got->blocks, want->blocks), "%s: blocks", what);
	cr_expect(eq(u32, got->blksize, want->blksize), "%s: blksize", what);
	cr_expect(eq(u64, attr_lasting_birth(got), want->btime_ns), "%s: btime", what);
	expect_same_time(got->atime, want->atime, what, "atime");
	expect_same_time(got->mtime, want->mtime, what, "mtime");
	expect_same_time(got->ctime, want->ctime, what, "ctime");
}
