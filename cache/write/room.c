#include "cache/write/room.h"

#include "cache/session/counted_provider.h"
#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/write/writeback.h"

/* Blocks that only root may use are no room for other users. */
static uint64_t room_in(const struct cache *c, const struct space *s)
{
	uint64_t blocks = c->sandbox.identity.uid ? s->available : s->free;

	/* Some file systems do not count blocks. */
	if (!s->blocks || !s->block_size || blocks > UINT64_MAX / s->block_size)
		return UINT64_MAX;
	return blocks * s->block_size;
}

static bool is_on_shown_disk(struct cache *c, const struct attr *attr)
{
	struct attr root;

	tree_attr(c->tree, tree_root(c->tree), &root);
	return attr->dev == root.dev;
}

static bool fits(struct cache *c, uint64_t more, bool takes)
{
	pthread_mutex_lock(&c->lock);
	uint64_t room = room_in(c, &c->space);
	bool is_enough = c->grown < room && more <= room - c->grown;

	if (is_enough && takes)
		c->grown += more;
	pthread_mutex_unlock(&c->lock);
	return is_enough;
}

static enum err note_room(void *context, const struct list_item *item, struct error *e)
{
	struct cache *c = context;

	(void)e;
	if (item->kind != LIST_END)
		return ERR_OK;
	pthread_mutex_lock(&c->lock);
	c->space = item->space;
	c->grown = 0;
	pthread_mutex_unlock(&c->lock);
	return ERR_OK;
}

/* After the drain earlier writes are on the disk, and removed files are not. */
static enum err ask(struct cache *c, const struct call *call, struct error *e)
{
	const char *start = "";
	const struct list_request request = { .starts = &start, .starts_count = 1 };
	enum err kind = writeback_trouble(c->writeback, e);

	if (!kind)
		kind = writeback_drain_queue(c->writeback, call, e);
	return kind ? kind : counted_list(&c->counted, call, &request, note_room, c, e);
}

/*
 * Whether the bytes fit; the sandbox is asked where they seem not to. A disk that tells nothing has
 * room.
 */
static bool has_room(struct cache *c, const struct call *call, uint64_t more, bool takes)
{
	return fits(c, more, takes) || ask(c, call, NULL) || fits(c, more, takes);
}

enum err room_for_write(struct cache *c, const struct call *call, struct inode *i,
	enum change_op op, uint64_t offset, size_t len, struct error *e)
{
	struct attr attr;

	tree_attr(c->tree, i, &attr);
	uint64_t end = op == CHANGE_APPEND ? attr.size + len : offset + len;
	uint64_t more = end > attr.size ? end - attr.size : 0;

	/* A gap in front of the write is a hole. */
	more = more < len ? more : len;
	if (!more || !is_on_shown_disk(c, &attr) || has_room(c, call, more, true))
		return ERR_OK;
	return error_set(e, ERR_NO_SPACE, "no room for %zu bytes on the sandbox's disk", len);
}

bool room_for_copy(struct cache *c, const struct call *call, struct inode *i)
{
	struct attr attr;

	tree_attr(c->tree, i, &attr);
	return !is_on_shown_disk(c, &attr) || has_room(c, call, attr.size, false);
}
