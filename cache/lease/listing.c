#include "cache/lease/listing.h"

#include "cache/lease/lease.h"
#include "cache/lease/validity.h"
#include "cache/session/session.h"

#include "providers/base/cleanup.h"
#include "providers/base/path.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/*
 * The most directories in an answer that it did not name before: some appear meanwhile, more are
 * nonsense.
 */
#define STRANGERS_MAX 1000

/*
 * A request for an audit names this much at most. Beyond it everything below the root is asked
 * about. The numbers are those of 200,000 files' directories, with paths that are sent in a tenth
 * of a second.
 */
#define NAMED_MAX       16384
#define NAMED_BYTES_MAX ((size_t)1024 * 1024)

struct awaited {
	TAILQ_ENTRY(awaited) link;
	struct inode *dir; /* pinned */
	char path[];
};

struct place_of {
	const char *path;
	struct awaited *dir; /* NULL: the directory has come */
};

static bool is_audit(const struct listing *l)
{
	return l->plan.changed_since_ns != 0;
}

/* ---- Directories that are to come ---- */

static bool await_dir(struct listing *l, struct inode *dir, const char *path)
{
	size_t size = strlen(path) + 1;
	struct awaited *a = malloc(sizeof *a + size);

	if (!a)
		return false;
	a->dir = dir;
	memcpy(a->path, path, size);
	tree_pin(l->cache->tree, dir);
	/* No caller waits for an audit to bring a directory: the audit may say nothing of it. */
	if (!is_audit(l))
		tree_await(l->cache->tree, dir, l->learned.number);
	TAILQ_INSERT_TAIL(&l->dirs, a, link);
	return true;
}

/* The directory has come, or will not. */
static void await_ends(struct listing *l, struct awaited *a)
{
	tree_await_ends(l->cache->tree, a->dir, l->learned.number);
	tree_unpin(l->cache->tree, a->dir);
	free(a);
}

static void tell(struct listing *l, struct awaited *a, enum err err, bool complete)
{
	const struct listing_outcome outcome = { .err = err, .complete = complete };

	/* This comes first, so that no caller begins to wait for a directory that has come. */
	tree_await_ends(l->cache->tree, a->dir, l->learned.number);
	l->observer(l->context, a->dir, &outcome);
	await_ends(l, a);
}

/*
 * Where everything below the root is asked about, the answer does not name what is below `dir`
 * either.
 */
static void invalidate_unseen(const struct listing *l, struct inode *dir)
{
	if (l->is_wide)
		tree_invalidate_below(l->cache->tree, dir);
	else
		tree_invalidate_entries(l->cache->tree, dir);
}

/* The entries of this directory will not come. */
static void tell_nothing(struct listing *l, struct awaited *a, enum err err)
{
	if (is_audit(l))
		invalidate_unseen(l, a->dir);
	tell(l, a, err, false);
}

static int compare_places(const void *a, const void *b)
{
	return strcmp(((const struct place_of *)a)->path, ((const struct place_of *)b)->path);
}

/* Called once all starts are awaited, in their order. */
static bool note_places(struct listing *l)
{
	struct awaited *a;
	size_t n = 0;

	l->places = calloc(l->plan.starts_count, sizeof *l->places);
	if (!l->places)
		return false;
	TAILQ_FOREACH(a, &l->dirs, link)
	{
		l->places[n] = (struct place_of){ .path = l->plan.starts[n].path, .dir = a };
		n++;
	}
	qsort(l->places, n, sizeof *l->places, compare_places);
	return true;
}

/* The directories of an audit come in any order, and few come. */
static struct awaited *take_placed(struct listing *l, const char *path)
{
	const struct place_of wanted = { .path = path };
	struct place_of *p = bsearch(
		&wanted, l->places, l->plan.starts_count, sizeof *l->places, compare_places);
	struct awaited *a = p ? p->dir : NULL;

	if (p)
		p->dir = NULL;
	return a;
}

/* Mostly directories come in the order in which they were named. */
static struct awaited *find_in_order(const struct listing *l, const char *path)
{
	struct awaited *a;

	TAILQ_FOREACH(a, &l->dirs, link)
	{
		if (!strcmp(a->path, path))
			return a;
	}
	return NULL;
}

static struct awaited *take_awaited(struct listing *l, const char *path)
{
	struct awaited *a = l->places ? take_placed(l, path) : find_in_order(l, path);

	if (a)
		TAILQ_REMOVE(&l->dirs, a, link);
	return a;
}

/* ---- How long the answer is valid ---- */

static void make_valid_until(struct listing *l, int64_t cost_ms)
{
	const struct cache_options *options = &l->cache->options;
	struct tree_listing longer = { .until_ms = l->learned.until_ms,
		.name_until_ms = l->learned.name_until_ms };
	const struct tree_listing from = { .seen = l->learned.seen,
		.until_ms = l->asked_ms + options->attr_ms,
		.name_until_ms = l->asked_ms + options->entry_ms };
	int64_t until_ms = l->asked_ms +
		(cost_ms < LISTING_BELIEVED_MAX_MS ? cost_ms : LISTING_BELIEVED_MAX_MS);

	if (!is_audit(l))
		validity_note_cost(l->cache->validity, cost_ms / 10);
	/* A user of the mount who wants no answer to stay valid wants to pay for that. */
	if (options->attr_ms && until_ms > longer.until_ms)
		longer.until_ms = until_ms;
	if (options->entry_ms && until_ms > longer.name_until_ms)
		longer.name_until_ms = until_ms;
	if (longer.until_ms == l->learned.until_ms &&
		longer.name_until_ms == l->learned.name_until_ms)
		return;
	for (size_t n = 0; n < l->complete_count; n++)
		tree_extend_validity(l->cache->tree, l->complete[n], &from, &longer);
	l->learned.until_ms = longer.until_ms;
	l->learned.name_until_ms = longer.name_until_ms;
}

static int64_t ten_times_cost(const struct listing *l)
{
	return 10 * (monotonic_ms() - l->asked_ms);
}

/* The shortest time for which the answers are valid, where they stay valid at all. */
static int64_t shortest_validity(const struct listing *l)
{
	const struct cache_options *options = &l->cache->options;
	int64_t shortest_ms = INT64_MAX;

	if (options->attr_ms)
		shortest_ms = l->learned.until_ms - l->asked_ms;
	if (options->entry_ms && l->learned.name_until_ms - l->asked_ms < shortest_ms)
		shortest_ms = l->learned.name_until_ms - l->asked_ms;
	return shortest_ms;
}

/*
 * Nothing that a listing taught expires before the listing's end: each time half is over, the time
 * becomes many times as long.
 */
static void make_valid_while_leased(struct listing *l)
{
	if ((monotonic_ms() - l->asked_ms) * 2 > shortest_validity(l))
		make_valid_until(l, 2 * ten_times_cost(l));
}

/* Without memory for this the directory expires with the other answers to the cache. */
static void note_complete(struct listing *l, struct inode *dir)
{
	if (l->complete_count == l->complete_room) {
		size_t room = l->complete_room ? l->complete_room * 2 : 256;
		struct inode **grown = reallocarray(l->complete, room, sizeof(struct inode *));

		if (!grown)
			return;
		l->complete = grown;
		l->complete_room = room;
	}
	tree_pin(l->cache->tree, dir);
	l->complete[l->complete_count++] = dir;
}

/* ---- The answer ---- */

static enum err nonsense(const char *what, struct error *e)
{
	return error_set(e, ERR_PROTOCOL, "list: %s", what);
}

static struct tree_news news_of(const struct listing *l, const struct list_item *item)
{
	return (struct tree_news){ .attr = item->attr,
		.link = item->link,
		.until_ms = l->learned.until_ms,
		.name_until_ms = l->learned.name_until_ms,
		.now = l->now };
}

/* A start that does not exist, or is another file now, has no entries to wait for. */
static enum err take_start(struct listing *l, const struct list_item *item, struct error *e)
{
	struct tree *t = l->cache->tree;

	if (item->start >= l->plan.starts_count)
		return nonsense("a start that nobody asked for", e);
	const struct tree_start *start = &l->plan.starts[item->start];
	struct tree_news news = news_of(l, item);
	bool changed;
	enum err err = item->err;

	if (!err)
		err = tree_learn_attr(t, start->dir, l->learned.seen, &news, &changed, NULL);
	if (!err)
		return ERR_OK;
	struct awaited *a = take_awaited(l, start->path);

	if (a)
		tell_nothing(l, a, err);
	return ERR_OK;
}

static enum err begin_dir(struct listing *l, const struct list_item *item, struct error *e)
{
	l->dir = take_awaited(l, item->path);
	l->dir_entries = 0;
	if (!l->dir && !l->is_wide && ++l->strangers > STRANGERS_MAX)
		return nonsense("directories that nobody named", e);
	return ERR_OK;
}

/* The answer does not enter other file systems. */
static enum err await_entry(struct listing *l, struct inode *i, const struct list_item *item)
{
	AUTO_FREE char *path = NULL;

	if (l->plan.depth == 1 || !S_ISDIR(item->attr.mode) ||
		!tree_is(l->cache->tree, i, &item->attr))
		return ERR_OK;
	path = path_join(l->dir->path, item->name);
	return path && await_dir(l, i, path) ? ERR_OK : ERR_NO_MEMORY;
}

static enum err take_entry(struct listing *l, const struct list_item *item, struct error *e)
{
	struct tree_news news = news_of(l, item);
	bool changed;

	if (l->plan.entries_max && ++l->entries > l->plan.entries_max)
		return nonsense("more entries than were asked for", e);
	if (!l->dir)
		return ERR_OK;
	l->dir_entries++;
	struct inode *i = tree_learn_name(
		l->cache->tree, l->dir->dir, item->name, l->learned.seen, &news, &changed);

	if (!i)
		return error_set(e, ERR_NO_MEMORY, "%s", item->name);
	if (changed)
		cache_tell_inode(l->cache, i, true);
	enum err kind = await_entry(l, i, item);

	tree_unpin(l->cache->tree, i);
	return kind ? error_set(e, kind, "%s", item->name) : ERR_OK;
}

/* A directory that may have been cut by the limit counts as incomplete, whatever made it so. */
static bool is_cut(const struct listing *l)
{
	return l->plan.entries_max && l->entries >= l->plan.entries_max;
}

static bool learn_complete(struct listing *l, struct inode *dir, const struct list_item *end)
{
	bool is_first = dir == l->plan.starts[0].dir;
	bool is_whole = end->complete || (is_first && l->plan.takes_changing && !is_cut(l));

	return !end->err && is_whole && tree_learn_complete(l->cache->tree, dir, &l->learned);
}

static void end_dir(struct listing *l, const struct list_item *end)
{
	struct awaited *a = l->dir;

	l->dir = NULL;
	if (!a)
		return;
	bool complete = learn_complete(l, a->dir, end);

	if (complete)
		note_complete(l, a->dir);
	else if (is_audit(l) && !end->err)
		tree_audited_in_part(l->cache->tree, a->dir, &l->learned, l->plan.changed_since_ns);
	else if (is_audit(l))
		invalidate_unseen(l, a->dir);
	if (complete || end->err || is_cut(l))
		tree_set_lists_alone(l->cache->tree, a->dir,
			end->err == ERR_DENIED || l->dir_entries >= LISTING_LARGE);
	make_valid_while_leased(l);
	tell(l, a, end->err, complete);
}

static enum err take_item(void *context, const struct list_item *item, struct error *e)
{
	struct listing *l = context;

	l->moved_ms = monotonic_ms();
	switch (item->kind) {
	case LIST_SELF: return take_start(l, item, e);
	case LIST_DIR: return begin_dir(l, item, e);
	case LIST_ENTRY: return take_entry(l, item, e);
	case LIST_DIR_END: end_dir(l, item); break;
	case LIST_END:
		cache_note_space(l->cache, &item->space);
		cache_note_clock(l->cache, &item->now);
		l->end = item->now;
		break;
	}
	return ERR_OK;
}

/* ---- Life ---- */

enum err listing_plan_first(struct listing_plan *plan, struct tree *t, struct inode *dir,
	const char *path, size_t room, struct error *e)
{
	struct tree_start *starts = calloc(room, sizeof *starts);

	if (starts)
		starts[0].path = strdup(path);
	if (!starts || !starts[0].path) {
		free(starts);
		return error_set(e, ERR_NO_MEMORY, "listing");
	}
	tree_pin(t, dir);
	starts[0].dir = dir;
	plan->starts = starts;
	plan->starts_count = 1;
	return ERR_OK;
}

void listing_plan_release(struct listing_plan *plan, struct tree *t)
{
	for (size_t n = 0; n < plan->starts_count; n++)
		tree_start_release(t, &plan->starts[n]);
	free(plan->starts);
}

enum err listing_init(struct listing *l, struct cache *c, struct listing_plan *plan,
	listing_observer observer, void *context, struct error *e)
{
	*l = (struct listing){
		.cache = c, .plan = *plan, .observer = observer, .context = context
	};
	*plan = (struct listing_plan){ 0 };
	TAILQ_INIT(&l->dirs);
	l->asked_ms = monotonic_ms();
	l->now = cache_clock(c);
	l->learned = (struct tree_listing){ .until_ms = l->asked_ms + c->options.attr_ms,
		.name_until_ms = l->asked_ms + c->options.entry_ms };
	l->learned.now = l->now;
	tree_listing_begins(c->tree, &l->learned);
	if (is_audit(l))
		tree_audit_begins(c->tree, &l->learned);
	for (size_t n = 0; n < l->plan.starts_count; n++)
		if (!await_dir(l, l->plan.starts[n].dir, l->plan.starts[n].path))
			return error_set(e, ERR_NO_MEMORY, "listing");
	if (is_audit(l) && !note_places(l))
		return error_set(e, ERR_NO_MEMORY, "listing");
	return ERR_OK;
}

void listing_release(struct listing *l)
{
	struct tree *t = l->cache->tree;
	struct awaited *a;

	if (l->dir)
		await_ends(l, l->dir);
	while ((a = TAILQ_FIRST(&l->dirs))) {
		TAILQ_REMOVE(&l->dirs, a, link);
		await_ends(l, a);
	}
	free(l->places);
	for (size_t n = 0; n < l->complete_count; n++)
		tree_unpin(t, l->complete[n]);
	free(l->complete);
	tree_listing_ends(t, &l->learned);
	listing_plan_release(&l->plan, t);
}

/* ---- Asking ---- */

static const char *const root_path = "";

static bool is_short(const struct listing_plan *plan, size_t count_max, size_t bytes_max)
{
	size_t bytes = 0;

	for (size_t n = 0; n < plan->starts_count && bytes <= bytes_max; n++)
		bytes += strlen(plan->starts[n].path) + WATCH_START_COST;
	return plan->starts_count <= count_max && bytes <= bytes_max;
}

static void ask_by_name(const struct listing *l, const char **paths, struct list_request *request)
{
	for (size_t n = 0; n < l->plan.starts_count; n++)
		paths[n] = l->plan.starts[n].path;
	request->starts = paths;
	request->starts_count = l->plan.starts_count;
	request->depth = l->plan.depth;
	request->flags = 0;
}

static void ask_about_everything(struct list_request *request)
{
	request->starts = &root_path;
	request->starts_count = 1;
	request->depth = LIST_DEPTH_ALL;
	request->flags = LIST_CHANGED_ONLY;
}

/*
 * A listing names all its starts. Only an audit may ask about everything instead, where the request
 * that carries it has no room for the names.
 */
static void choose_request(struct listing *l, const char **paths, size_t count_max,
	size_t bytes_max, struct list_request *request)
{
	l->is_wide = is_audit(l) && !is_short(&l->plan, count_max, bytes_max);
	if (l->is_wide)
		ask_about_everything(request);
	else
		ask_by_name(l, paths, request);
}

/*
 * The answer may have come to a directory that was moved here meanwhile under a name that was not
 * known.
 */
static void invalidate_moved(const struct listing *l)
{
	struct tree *t = l->cache->tree;

	for (size_t n = 0; n < l->plan.starts_count; n++)
		if (!tree_start_holds(t, &l->plan.starts[n]))
			tree_invalidate_below(t, l->plan.starts[n].dir);
}

enum err listing_run(struct listing *l, const struct call *call, struct error *e)
{
	AUTO_FREE const char **paths = calloc(l->plan.starts_count, sizeof *paths);
	struct list_request request = { .entries_max = l->plan.entries_max,
		.changed_since_ns = l->plan.changed_since_ns };
	const struct lease_list list = { .request = &request,
		.listing = &l->learned,
		.is_audit = is_audit(l),
		.sink = take_item,
		.context = l };
	enum err kind;

	if (!paths)
		return error_set(e, ERR_NO_MEMORY, "listing");
	choose_request(l, paths, SIZE_MAX, WATCH_STARTS_MAX, &request);
	if (!lease_carry(l->cache->lease, call, &list, &kind, e)) {
		choose_request(l, paths, NAMED_MAX, NAMED_BYTES_MAX, &request);
		kind = counted_list(&l->cache->counted, call, &request, take_item, l, e);
	}
	if (l->is_wide)
		invalidate_moved(l);
	make_valid_until(l, ten_times_cost(l));
	return kind;
}

bool listing_is_whole(const struct listing *l)
{
	return l->end.tv_sec && !is_cut(l);
}
