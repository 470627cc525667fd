#include "tests/hostile/lies.h"

#define CHAIN_MAX 16 /* directories one in another */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static uint64_t below(struct lies *l, uint64_t end)
{
	return chance_below(&l->chance, end);
}

static bool once_in(struct lies *l, uint64_t times)
{
	return chance_once_in(&l->chance, times);
}

/* ---- Values of earlier records ---- */

static void keep_text(char *pool[POOL_SIZE], unsigned *at, const char *text)
{
	char **slot = &pool[(*at)++ % POOL_SIZE];

	free(*slot);
	*slot = strdup(text);
}

static const char *any_text(struct lies *l, char *const pool[POOL_SIZE], const char *otherwise)
{
	const char *text = pool[below(l, POOL_SIZE)];

	return text ? text : otherwise;
}

static void keep_attr(struct lies *l, const struct attr *a)
{
	l->attrs[l->attrs_at++ % POOL_SIZE] = *a;
	if (S_ISDIR(a->mode))
		l->dir_attrs[l->dir_attrs_at++ % POOL_SIZE] = *a;
}

static void keep_link(struct lies *l, const struct attr *a, const char *link)
{
	l->link_attrs[l->links_at % POOL_SIZE] = *a;
	keep_text(l->links, &l->links_at, link);
}

void lies_init(struct lies *l, uint64_t seed, const char *secret)
{
	*l = (struct lies){
		.chance = chance_of(seed), .secret = secret, .events = BUF_INIT(FRAME_PAYLOAD_MAX)
	};
}

void lies_release(struct lies *l)
{
	for (int n = 0; n < POOL_SIZE; n++) {
		free(l->dirs[n]);
		free(l->names[n]);
		free(l->links[n]);
		free(l->known[n].path);
	}
	for (int n = 0; n < OLD_SIZE; n++) {
		free(l->old[n].path);
		buf_release(&l->old[n].bytes);
	}
	buf_release(&l->events);
}

/* ---- Values ---- */

static uint64_t any_number(struct lies *l)
{
	static const uint64_t edges[] = { 0, 1, 2, 4095, 4096, UINT32_MAX, INT64_MAX, UINT64_MAX,
		(uint64_t)INT64_MAX + 1 };

	return once_in(l, 3) ? chance_any(&l->chance) : edges[below(l, 9)];
}

static struct timespec any_time(struct lies *l, struct timespec t)
{
	switch (below(l, 5)) {
	case 0: t.tv_sec = (time_t)any_number(l); break;
	case 1: t.tv_sec += (time_t)below(l, 7) - 3; break;
	case 2: t.tv_nsec = (long)below(l, 1000000001); break;
	case 3: t.tv_sec = 0; break;
	case 4: t.tv_sec += (time_t)below(l, 100000000); break;
	}
	return t;
}

static const char *any_name(struct lies *l)
{
	switch (below(l, 24)) {
	case 0: return "..";
	case 1: return ".";
	case 2: return "";
	case 3: return "a/b";
	case 4: return ".sandbox";
	case 5: return "new\nline \xc2\x9b\xff";
	case 6: {
		size_t len = 200 + below(l, 200);

		memset(l->text, 'n', len);
		l->text[len] = '\0';
		return l->text;
	}
	default: return any_text(l, l->names, "a");
	}
}

/* The text of a link that leads to the secret, if the link lies as deep as the text assumes. */
static const char *any_link(struct lies *l)
{
	size_t depth = below(l, 16), at = 0;

	switch (below(l, 12)) {
	case 0: return l->secret;
	case 1: return "/";
	case 2: return "";
	case 3: return any_text(l, l->names, "..");
	case 4:
		memset(l->text, 'x', 5000);
		l->text[4096 - below(l, 2) + below(l, 2) * 100] = '\0';
		return l->text;
	case 5:
	case 6: return any_text(l, l->links, "..");
	}
	for (size_t n = 0; n < depth; n++)
		at += (size_t)sprintf(l->text + at, "../");
	snprintf(l->text + at, sizeof l->text - at, "%s", strrchr(l->secret, '/') + 1);
	return l->text;
}

/* A path below the directory, or elsewhere. */
static const char *any_path(struct lies *l)
{
	static char path[2 * 8192]; /* one thread at a time uses this */
	const char *dir = any_text(l, l->dirs, "");

	if (once_in(l, 4))
		return dir;
	snprintf(path, sizeof path, "%s%s%s", dir, *dir ? "/" : "", any_name(l));
	return path;
}

static void lie_of_attr(struct lies *l, struct attr *a)
{
	static const uint32_t types[] = { S_IFDIR, S_IFREG, S_IFLNK, S_IFIFO, S_IFCHR, 0 };

	switch (below(l, 20)) {
	case 0:
	case 1: a->ino = l->attrs[below(l, POOL_SIZE)].ino; break;
	case 2:
	case 3: *a = l->attrs[below(l, POOL_SIZE)]; break;
	case 4:
	case 5: *a = l->dir_attrs[below(l, POOL_SIZE)]; break;
	case 6: a->ino = any_number(l); break;
	case 7: a->mode = (a->mode & 07777) | types[below(l, 6)]; break;
	case 8: a->size = any_number(l); break;
	case 9: a->nlink = (uint32_t)any_number(l); break;
	case 10: a->ctime = any_time(l, a->ctime); break;
	case 11: a->mtime = any_time(l, a->mtime); break;
	case 12: a->atime = any_time(l, a->atime); break;
	case 13: a->dev = any_number(l); break;
	case 14: a->btime_ns = any_number(l); break;
	case 15: a->mode = (uint32_t)any_number(l); break;
	case 16: a->uid = (uint32_t)any_number(l); break;
	case 17: a->rdev = any_number(l); break;
	case 18: a->blocks = any_number(l); break;
	case 19: a->blksize = (uint32_t)any_number(l); break;
	}
}

static struct version any_version(struct lies *l)
{
	const struct attr *a = &l->attrs[below(l, POOL_SIZE)];

	return (struct version){ once_in(l, 4) ? any_number(l) : a->size, a->mtime,
		once_in(l, 4) ? any_time(l, a->ctime) : a->ctime };
}

static enum err any_err(struct lies *l)
{
	return (enum err)below(l, ERR_OVERFLOW + 1);
}

/* ---- list ---- */

static void note_dir(struct lies *l, const struct list_item *item)
{
	struct known_dir *known = &l->known[l->known_at++ % POOL_SIZE];

	free(known->path);
	known->attr = item->attr;
	if (asprintf(&known->path, "%s%s%s", l->listed, *l->listed ? "/" : "", item->name) < 0)
		known->path = NULL;
}

static void note_item(struct lies *l, const struct list_item *item)
{
	if (item->kind == LIST_DIR) {
		keep_text(l->dirs, &l->dirs_at, item->path);
		snprintf(l->listed, sizeof l->listed, "%s", item->path);
	}
	if (item->kind == LIST_ENTRY)
		keep_text(l->names, &l->names_at, item->name);
	if (item->kind == LIST_ENTRY || (item->kind == LIST_SELF && !item->err))
		keep_attr(l, &item->attr);
	if (item->kind == LIST_ENTRY && item->link)
		keep_link(l, &item->attr, item->link);
}

/* Turns the item into the link of another name, with that link's text. */
static void be_another_link(struct lies *l, struct list_item *item)
{
	unsigned n = (unsigned)below(l, POOL_SIZE);

	if (!l->links[n])
		return;
	item->attr = l->link_attrs[n];
	item->link = once_in(l, 3) ? NULL : l->links[n];
}

static void lie_of_link(struct lies *l, struct list_item *item)
{
	item->attr.mode = S_IFLNK | 0777;
	item->link = any_link(l);
	item->attr.size = strlen(item->link);
}

static bool is_above(const char *path, const char *other)
{
	size_t len = strlen(path);

	return !len || (!strncmp(path, other, len) && (other[len] == '/' || !other[len]));
}

/*
 * Makes a directory above the listed one be reported as gone, and then be an entry of the listed
 * one.
 */
static void be_what_is_above(struct lies *l, struct list_item *item)
{
	unsigned first = (unsigned)below(l, POOL_SIZE);

	for (unsigned n = 0; n < POOL_SIZE; n++) {
		const struct known_dir *known = &l->known[(first + n) % POOL_SIZE];
		const struct watch_event event = {
			.kind = WATCH_REMOVED, .is_dir = true, .path = known->path
		};

		if (!known->path || !is_above(known->path, l->listed))
			continue;
		if (!once_in(l, 3))
			wire_put_watch_event(&l->events, &event);
		item->attr = known->attr;
		item->link = NULL;
		return;
	}
}

/* ---- Rings ---- */

/*
 * A directory is removed, renamed or made again while the listing of a directory in it is on its
 * way. The answer says that the removed directory, or another above, is an entry of the listed one.
 * What the mount knew of both is old by then, and each has lost its name: only the answer says
 * where they are. Below that entry the answer has the first directory again, which would close the
 * ring.
 */

static void tell_change(struct lies *l, enum watch_kind kind, const char *dir, const char *name)
{
	static char path[2 * PATH_MAX];
	const struct watch_event event = {
		.kind = kind, .is_dir = kind == WATCH_REMOVED, .path = path
	};

	snprintf(path, sizeof path, "%s%s%s", dir, *dir && *name ? "/" : "", name);
	wire_put_watch_event(&l->events, &event);
}

bool lies_is_hidden(const struct lies *l, const char *path)
{
	return *l->hidden && path && is_above(l->hidden, path);
}

/*
 * Whether the record is of a hidden directory and has to be left out. Where the start itself is
 * hidden, the record becomes an error.
 */
static bool hide(struct lies *l, struct list_item *item)
{
	size_t len = strlen(l->listed);
	bool is_in = len < strlen(l->hidden) && is_above(l->listed, l->hidden);

	if (!*l->hidden || l->is_ring || l->is_earlier)
		return false;
	if (item->kind == LIST_SELF && item->start == 0 && lies_is_hidden(l, l->asked)) {
		item->err = ERR_NOT_FOUND;
		l->has_hidden = true;
	}
	if (item->kind != LIST_ENTRY || !is_in || strcmp(l->hidden + len + (len > 0), item->name))
		return false;
	l->has_hidden = true;
	return true;
}

/* The directory as it was last listed; NULL: never. */
static const struct known_dir *known_of(const struct lies *l, const char *path)
{
	for (unsigned n = 1; n <= POOL_SIZE; n++) {
		const struct known_dir *known = &l->known[(l->known_at - n) % POOL_SIZE];

		if (known->path && !strcmp(known->path, path))
			return known;
	}
	return NULL;
}

/* The directory `path`, as the first, and those above it. Returns their count; 0: unknown. */
static size_t chain_of(const struct lies *l, const char *path, const struct known_dir **out)
{
	size_t count = 0;

	out[count] = known_of(l, path);
	if (!out[count++])
		return 0;
	for (unsigned n = 0; n < POOL_SIZE && count < CHAIN_MAX; n++) {
		const struct known_dir *known = &l->known[n];

		if (known->path && is_above(known->path, path) && strcmp(known->path, path))
			out[count++] = known;
	}
	return count;
}

/* Reports another file in the place of the removed directory, or none. */
static void replace_dir(struct lies *l, const struct known_dir *dir)
{
	struct watch_event event = { .kind = WATCH_CREATED, .has_attr = true, .attr = dir->attr };
	static char path[2 * PATH_MAX];

	snprintf(path, sizeof path, "%s", dir->path);
	event.path = path;
	event.attr.ctime.tv_sec++;
	switch (below(l, 4)) {
	case 0: event.attr.ino += 1000000; break; /* made again */
	case 1:                                   /* renamed */
		event.from = dir->path;
		snprintf(path, sizeof path, "%s-2", dir->path);
		break;
	default: return;
	}
	wire_put_watch_event(&l->events, &event);
}

/* Mostly the highest directory: a walk down a path asks for that one first. */
static const struct known_dir *one_above(
	struct lies *l, const struct known_dir *const *chain, size_t count)
{
	const struct known_dir *dir = chain[count > 1 ? 1 + below(l, count - 1) : 0];

	for (size_t n = 0; n < count && !once_in(l, 4); n++)
		if (strlen(chain[n]->path) < strlen(dir->path))
			dir = chain[n];
	return dir;
}

/* Events that go before the answer about `path`. */
static void tell_of_chain(
	struct lies *l, const char *path, const struct known_dir *const *chain, size_t count)
{
	const struct known_dir *dir = one_above(l, chain, count);

	for (size_t n = 0; n < count; n++)
		if (!once_in(l, 4))
			tell_change(l, WATCH_CREATED, chain[n]->path, "new");
	if (!once_in(l, 4))
		tell_change(l, WATCH_CREATED, path, "new");
	tell_change(l, WATCH_REMOVED, dir->path, "");
	l->gone[l->gone_at++ % GONE_SIZE] = dir->attr;
	snprintf(l->hidden, sizeof l->hidden, "%s", dir->path);
	replace_dir(l, dir);
}

static void put_ring_entry(struct lies *l, struct buf *out, const char *name,
	const struct known_dir *const *chain, size_t count, unsigned deep)
{
	struct list_item item = { .kind = LIST_ENTRY, .name = name };

	switch (below(l, 6)) {
	/* a directory removed at any time */
	case 0: item.attr = l->gone[below(l, GONE_SIZE)]; break;
	case 1: item.attr = chain[below(l, count)]->attr; break;
	/* The removed directory and the listed one take turns. */
	default:
		item.attr = deep % 2 ? chain[0]->attr : l->gone[(l->gone_at - 1) % GONE_SIZE];
		break;
	}
	if (item.attr.ino)
		wire_put_list_item(out, &item);
}

/* Directories one in another, each an entry of the one before. */
static void put_ring(struct lies *l, struct buf *out, uint32_t start,
	const struct known_dir *const *chain, size_t count)
{
	static char path[2 * PATH_MAX];
	static const char *const names[] = { "ring", "r2" };
	size_t len = (size_t)snprintf(path, sizeof path, "%s", l->listed);
	const struct list_item end = {
		.kind = LIST_DIR_END, .start = start, .complete = once_in(l, 2)
	};
	struct list_item dir = { .kind = LIST_DIR, .start = start, .path = path };

	for (unsigned deep = 0; deep < 3; deep++) {
		for (size_t n = 0; n < 2; n++)
			put_ring_entry(l, out, names[n], chain, count, deep);
		wire_put_list_item(out, &end);
		if (len + 8 > PATH_MAX)
			return;
		len += (size_t)snprintf(path + len, sizeof path - len, "/%s", names[below(l, 2)]);
		wire_put_list_item(out, &dir);
	}
}

/*
 * Perhaps replaces the end of a directory's entries by a ring; the end goes after the ring's last
 * entry.
 */
static void perhaps_ring(struct lies *l, const struct list_item *item, struct buf *out)
{
	const struct known_dir *chain[CHAIN_MAX];
	size_t count;

	if (!l->share || item->kind != LIST_DIR_END || !*l->listed || *l->hidden ||
		!once_in(l, l->is_wild ? 20 : 4))
		return;
	count = chain_of(l, l->listed, chain);
	if (!count)
		return;
	tell_of_chain(l, l->listed, chain, count);
	put_ring(l, out, item->start, chain, count);
	l->is_ring = true;
	l->changed++;
}

/* ---- Frames of earlier answers ---- */

static void keep_frame(struct lies *l, const char *path, const struct buf *in)
{
	struct old_frame *slot = &l->old[l->old_at++ % OLD_SIZE];

	free(slot->path);
	buf_release(&slot->bytes);
	*slot = (struct old_frame){ strdup(path), BUF_INIT(OLD_MAX) };
	buf_add(&slot->bytes, in->bytes, in->len);
}

/* The path of the first directory of a list's frame; NULL: there is none. */
static const char *first_dir(struct lies *l, const struct buf *in)
{
	for (size_t at = 0; at < in->len && !wire_get_list_item(in, &at, &l->decoded, NULL);)
		if (l->decoded.item.kind == LIST_DIR)
			return l->decoded.item.path;
	return NULL;
}

/* The frame, or an old one of the same directory. */
static const struct buf *frame_or_old(struct lies *l, const struct buf *in)
{
	const char *path = first_dir(l, in);

	if (!path || in->len > OLD_MAX)
		return in;
	for (unsigned n = once_in(l, 3) ? 0 : OLD_SIZE; n < OLD_SIZE; n++)
		if (l->old[n].path && !strcmp(l->old[n].path, path))
			return &l->old[n].bytes;
	keep_frame(l, path, in);
	return in;
}

static void lie_of_node(struct lies *l, struct list_item *item)
{
	switch (below(l, 6)) {
	case 0:
	case 1: be_another_link(l, item); break;
	case 2: lie_of_link(l, item); break;
	case 3: be_what_is_above(l, item); break;
	default: lie_of_attr(l, &item->attr); break;
	}
	if (item->link && !S_ISLNK(item->attr.mode) && !once_in(l, 50))
		item->link = NULL;
}

static void lie_of_item(struct lies *l, struct list_item *item)
{
	if (once_in(l, 100))
		item->start = (uint32_t)any_number(l);
	switch (item->kind) {
	case LIST_SELF:
		if (item->err)
			item->attr = l->attrs[below(l, POOL_SIZE)];
		item->err = once_in(l, 5) ? any_err(l) : ERR_OK;
		if (!item->err)
			lie_of_node(l, item);
		break;
	case LIST_DIR: item->path = any_path(l); break;
	case LIST_ENTRY:
		if (once_in(l, 3))
			item->name = any_name(l);
		else
			lie_of_node(l, item);
		break;
	case LIST_DIR_END:
		item->complete = once_in(l, 2);
		item->err = once_in(l, 4) ? any_err(l) : ERR_OK;
		break;
	case LIST_END:
		if (once_in(l, 2))
			item->now = any_time(l, item->now);
		else
			item->space.block_size = any_number(l);
		break;
	}
}

void lies_entry(struct lies *l, struct buf *out)
{
	char name[40];
	struct list_item item = {
		.kind = LIST_ENTRY, .name = name, .attr = l->attrs[below(l, POOL_SIZE)]
	};

	snprintf(name, sizeof name, "e%llx", (unsigned long long)chance_any(&l->chance));
	item.attr.ino = 1 + chance_any(&l->chance);
	item.attr.mode = S_IFREG | 0644;
	wire_put_list_item(out, &item);
}

/* ---- events ---- */

/*
 * A frame with an impossible record is the last of its stream. The mount then does without events
 * for seconds, and longer each time. So such a record comes rarely, though a storm has thousands.
 */
#define BROKEN_EVENTS 20000

static const char *event_path(struct lies *l)
{
	static char path[2 * PATH_MAX];
	const char *dir = any_text(l, l->dirs, "");

	if (once_in(l, BROKEN_EVENTS))
		return any_path(l);
	if (once_in(l, 4))
		return dir;
	snprintf(path, sizeof path, "%s%s%s", dir, *dir ? "/" : "", any_text(l, l->names, "a"));
	return path;
}

static void lie_of_event(struct lies *l, struct watch_event *event)
{
	event->attr = l->attrs[below(l, POOL_SIZE)];
	event->has_attr = event->attr.mode;
	if (once_in(l, 4))
		event->attr.ino = l->attrs[below(l, POOL_SIZE)].ino;
	if (once_in(l, BROKEN_EVENTS))
		lie_of_attr(l, &event->attr);
}

void lies_event(struct lies *l, struct buf *out)
{
	static char from[4096];
	struct watch_event event = { .kind = (enum watch_kind)(WATCH_CREATED + below(l, 4)),
		.path = event_path(l),
		.is_dir = once_in(l, 2) };

	if (once_in(l, BROKEN_EVENTS))
		event.kind = once_in(l, 2) ? WATCH_LOST : WATCH_FOUND;
	if (event.kind <= WATCH_ATTR && once_in(l, 2))
		lie_of_event(l, &event);
	if (event.kind == WATCH_CREATED && once_in(l, 3)) {
		snprintf(l->text, sizeof l->text, "%s", event.path);
		snprintf(from, sizeof from, "%s", event_path(l));
		event.from = from;
		event.path = l->text;
	}
	wire_put_watch_event(out, &event);
}

/* ---- The records of an answer ---- */

static void lie_of_piece(struct lies *l, struct fetch_piece *piece)
{
	switch (below(l, 7)) {
	case 0: piece->item = (uint32_t)any_number(l); break;
	case 1: piece->offset = any_number(l); break;
	case 2: piece->len = piece->len ? below(l, piece->len) : 0; break;
	case 3: piece->err = any_err(l); break;
	default:
		if (piece->kind == FETCH_DONE)
			return lie_of_attr(l, &piece->attr);
		/* Other bytes, or another hash, of unchanged length. */
		for (size_t n = 0; n < piece->len; n += 1 + below(l, 64))
			((unsigned char *)(uintptr_t)piece->bytes)[n] ^= (unsigned char)(1 + n);
		break;
	}
}

static void lie_of_result(struct lies *l, struct change_result *r)
{
	switch (below(l, 10)) {
	case 0: r->err = any_err(l); break;
	case 1: r->count = any_number(l); break;
	case 2: r->offset = any_number(l); break;
	case 3: r->has_attr = !r->has_attr; break;
	case 4: r->has_parent = !r->has_parent; break;
	case 5: r->has_parent2 = !r->has_parent2; break;
	case 6:
		r->was_over = !r->was_over;
		r->left = any_version(l);
		break;
	case 7: r->before = any_version(l); break;
	case 8: lie_of_attr(l, &r->parent); break;
	case 9: lie_of_attr(l, &r->attr); break;
	}
	if (r->has_attr && !r->attr.ino)
		r->attr = l->attrs[below(l, POOL_SIZE)];
}

static bool retell_item(
	struct lies *l, const struct buf *in, size_t *at, struct buf *out, bool lies)
{
	if (wire_get_list_item(in, at, &l->decoded, NULL))
		return false;
	note_item(l, &l->decoded.item);
	if (hide(l, &l->decoded.item))
		return true;
	if (l->share && l->is_wild && l->decoded.item.kind == LIST_DIR_END && once_in(l, 200)) {
		l->is_endless = true;
		*at = in->len;
		return true;
	}
	perhaps_ring(l, &l->decoded.item, out);
	if (lies)
		lie_of_item(l, &l->decoded.item);
	if (l->decoded.item.kind == LIST_ENTRY && S_ISDIR(l->decoded.item.attr.mode))
		note_dir(l, &l->decoded.item);
	wire_put_list_item(out, &l->decoded.item);
	return true;
}

static bool retell_piece(
	struct lies *l, const struct buf *in, size_t *at, struct buf *out, bool lies)
{
	struct fetch_piece piece;

	if (wire_get_fetch_piece(in, at, &piece, NULL))
		return false;
	if (lies)
		lie_of_piece(l, &piece);
	wire_put_fetch_piece(out, &piece);
	return true;
}

static bool retell_result(
	struct lies *l, const struct buf *in, size_t *at, struct buf *out, bool lies)
{
	struct change_result result;

	if (wire_get_change_result(in, at, &result, NULL))
		return false;
	if (result.has_attr)
		keep_attr(l, &result.attr);
	if (lies)
		lie_of_result(l, &result);
	wire_put_change_result(out, &result);
	return true;
}

static bool retell_event(
	struct lies *l, const struct buf *in, size_t *at, struct buf *out, bool lies)
{
	struct watch_event event;

	if (wire_get_watch_event(in, at, &event, &l->decoded, NULL))
		return false;
	if (event.kind == WATCH_ITEM) {
		note_item(l, &l->decoded.item);
		if (lies && once_in(l, 20))
			lie_of_item(l, &l->decoded.item);
	} else if (lies && event.kind != WATCH_READY) {
		lies_event(l, out);
		return true;
	}
	wire_put_watch_event(out, &event);
	return true;
}

static bool retell_hello(
	struct lies *l, const struct buf *in, size_t *at, struct buf *out, bool lies)
{
	struct hello hello;

	if (wire_get_hello(in, &hello, NULL))
		return false;
	keep_attr(l, &hello.root.attr);
	if (lies && once_in(l, 10))
		lie_of_attr(l, &hello.root.attr);
	wire_put_hello(out, &hello);
	*at = in->len;
	return true;
}

static bool retell_one(struct lies *l, enum frame_type type, const struct buf *in, size_t *at,
	struct buf *out, bool lies)
{
	switch (type) {
	case FRAME_HELLO: return retell_hello(l, in, at, out, lies);
	case FRAME_LIST: return retell_item(l, in, at, out, lies);
	case FRAME_FETCH: return retell_piece(l, in, at, out, lies);
	case FRAME_APPLY: return retell_result(l, in, at, out, lies);
	case FRAME_WATCH: return retell_event(l, in, at, out, lies);
	default: return false;
	}
}

void lies_retell(struct lies *l, enum frame_type type, const struct buf *in, struct buf *out)
{
	if (type == FRAME_LIST && l->share)
		in = frame_or_old(l, in);
	for (size_t at = 0; at < in->len;) {
		bool lies = below(l, 100) < l->share;
		size_t before = at, len = out->len;

		if (!retell_one(l, type, in, &at, out, lies)) {
			buf_add(out, in->bytes + before, in->len - before);
			return;
		}
		l->records++;
		l->changed += lies;
		/* The record is left out, or sent twice. */
		if (lies && once_in(l, 8))
			out->len = len;
		else if (lies && once_in(l, 8))
			at = before;
	}
}
