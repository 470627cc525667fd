#include "tests/cache/explored.h"

#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/lease/hand_out.h"
#include "cache/write/remote.h"
#include "cache/lease/entries.h"
#include "cache/metadata.h"
#include "cache/cache.h"
#include "cache/names.h"
#include "cache/lease/walk.h"
#include "cache/lease/walk_inside.h"
#include "providers/base/cleanup.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define END_S 60

struct explored explored;

void explored_setup(void)
{
	shown_make(&explored.shown, false);
	counting_provider_init(&explored.provider, &explored.shown);
	explored.cache = NULL;
}

void explored_teardown(void)
{
	cache_free(explored.cache);
	counting_provider_release(&explored.provider);
	shown_remove(&explored.shown);
}

/* ---- The tree in the sandbox ---- */

char *explored_text(const char *format, ...)
{
	va_list arguments;
	char *made;

	va_start(arguments, format);
	cr_assert(ge(int, vasprintf(&made, format, arguments), 0));
	va_end(arguments);
	return made;
}

char *explored_child_of(const char *dir, char letter, unsigned n)
{
	return explored_text("%s%s%c%u", dir, *dir ? "/" : "", letter, n);
}

void explored_make_file(const char *path)
{
	AUTO_FREE char *in_tree = explored_text("tree/%s", path);

	scratch_write_text(&explored.shown.scratch, in_tree, "text");
}

void explored_make_dir(const char *path)
{
	AUTO_FREE char *in_tree = explored_text("tree/%s", path);

	scratch_mkdir(&explored.shown.scratch, in_tree, 0755);
}

void explored_make_files(const char *dir, unsigned count)
{
	for (unsigned n = 0; n < count; n++) {
		AUTO_FREE char *path = explored_child_of(dir, 'f', n);

		explored_make_file(path);
	}
}

void explored_make_tree(const char *top, unsigned levels, unsigned files)
{
	if (!levels) {
		explored_make_files(top, files);
		return;
	}
	for (unsigned n = 0; n < 10; n++) {
		AUTO_FREE char *path = explored_child_of(top, 'd', n);

		explored_make_dir(path);
		explored_make_tree(path, levels - 1, files);
	}
}

/* Above all of them, one in the other. */
#define LONG_LEVELS 8

static char *long_top(unsigned levels)
{
	char *path = explored_text("%0240u", 1);

	for (unsigned n = 1; n < levels; n++) {
		AUTO_FREE char *above = path;

		path = explored_text("%s/%0240u", above, 1);
	}
	return path;
}

char *explored_long_path(unsigned n, const char *name)
{
	AUTO_FREE char *top = long_top(LONG_LEVELS);

	return explored_text("%s/%0200u%s%s", top, n, *name ? "/" : "", name);
}

void explored_make_long_dirs(unsigned count)
{
	for (unsigned levels = 1; levels <= LONG_LEVELS; levels++) {
		AUTO_FREE char *top = long_top(levels);

		explored_make_dir(top);
	}
	for (unsigned n = 0; n < count; n++) {
		AUTO_FREE char *dir = explored_long_path(n, "");
		AUTO_FREE char *file = explored_long_path(n, "f");

		explored_make_dir(dir);
		explored_make_file(file);
	}
}

void explored_remove_path(const char *path, int flags)
{
	AUTO_FREE char *in_tree = explored_text("tree/%s", path);

	cr_assert(eq(int, unlinkat(explored.shown.scratch.fd, in_tree, flags), 0), "%s", path);
}

void explored_write(const char *path, const char *contents)
{
	AUTO_FREE char *in_tree = explored_text("tree/%s", path);

	scratch_write_text(&explored.shown.scratch, in_tree, contents);
}

void explored_rename(const char *from, const char *to)
{
	AUTO_FREE char *old = explored_text("tree/%s", from);
	AUTO_FREE char *new = explored_text("tree/%s", to);
	int fd = explored.shown.scratch.fd;

	cr_assert(eq(int, renameat(fd, old, fd, new), 0), "%s", from);
}

/* ---- The mount's side ---- */

void explored_start(int64_t valid_ms)
{
	const struct cache_options options = { .attr_ms = valid_ms,
		.entry_ms = valid_ms,
		.progress_ms = explored.progress_ms ? explored.progress_ms : 20000,
		.is_remote = true,
		.stream_idle_ms = explored.stream_idle_ms ? explored.stream_idle_ms : 60 * A_MINUTE,
		.clocks = explored.clocks };
	struct error e = { 0 };

	cr_assert(eq(int, cache_new(&explored.cache, &explored.provider.base, &options, NULL, &e),
			  ERR_OK),
		"%s", e.text);
	explored.provider.lists = 0;
	explored.provider.entries = 0;
}

static void *end(void *context)
{
	cache_free(context);
	return NULL;
}

void explored_end(void)
{
	struct timespec limit;
	pthread_t thread;

	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += END_S;
	cr_assert(zero(int, pthread_create(&thread, NULL, end, explored.cache)));
	explored.cache = NULL;
	cr_assert(zero(int, pthread_timedjoin_np(thread, NULL, &limit)), "the end waits");
}

void explored_wait_idle(void)
{
	int64_t end_ms = monotonic_ms() + A_MINUTE;
	struct walk *w = explored.cache->walk;
	bool is_still;

	do {
		cr_assert(lt(i64, monotonic_ms(), end_ms), "the listings do not end");
		walk_wait_idle(w, NULL, A_MINUTE);
		pthread_mutex_lock(&w->lock);
		is_still = !w->under_way;
		pthread_mutex_unlock(&w->lock);
	} while (!is_still);
}

static bool is_waited_for(struct walk *w, const struct inode *dir)
{
	const struct running *r;
	const struct waiter *x;
	bool is = false;

	pthread_mutex_lock(&w->lock);
	LIST_FOREACH(r, &w->all, link)
	{
		LIST_FOREACH(x, &r->waiters, link)
		is |= x->dir == dir && !r->is_over;
	}
	pthread_mutex_unlock(&w->lock);
	return is;
}

void explored_await_waiter(const struct inode *dir)
{
	int64_t end_ms = monotonic_ms() + A_MINUTE;

	while (!is_waited_for(explored.cache->walk, dir)) {
		cr_assert(lt(i64, monotonic_ms(), end_ms), "nobody waits");
		usleep(1000);
	}
}

struct inode *explored_find(const char *path)
{
	AUTO_FREE char *own = explored_text("%s", path);
	char *rest = own;
	struct inode *i = cache_root(explored.cache);

	for (char *name; i && (name = strsep(&rest, "/"));) {
		struct cache_entry entry;
		struct error e = { 0 };
		int64_t negative_ms;
		enum err kind =
			cache_lookup(explored.cache, NULL, i, name, &entry, &negative_ms, &e);

		cr_assert(kind == ERR_OK || kind == ERR_NOT_FOUND, "%s: %s", path, e.text);
		i = kind ? NULL : entry.inode;
	}
	return i;
}

size_t explored_count_of(struct inode *dir)
{
	struct tree_entry *entries;
	size_t count;
	struct error e = { 0 };

	cr_assert(eq(int, cache_entries(explored.cache, NULL, dir, &entries, &count, &e), ERR_OK),
		"%s", e.text);
	cache_entries_free(explored.cache, entries, count);
	return count;
}

size_t explored_list_all(struct inode *dir)
{
	struct tree_entry *entries;
	size_t count, below = 0;
	struct error e = { 0 };

	cr_assert(eq(int, cache_entries(explored.cache, NULL, dir, &entries, &count, &e), ERR_OK),
		"%s", e.text);
	for (size_t n = 0; n < count; n++) {
		struct attr attr;
		int64_t valid_ms;

		cr_expect(eq(int,
			cache_attr(explored.cache, NULL, entries[n].inode, &attr, &valid_ms, &e),
			ERR_OK));
		if (S_ISDIR(attr.mode))
			below += explored_list_all(entries[n].inode);
	}
	cache_entries_free(explored.cache, entries, count);
	return count + below;
}

struct inode *explored_make(struct inode *dir, const char *name, enum change_op op)
{
	struct create_args making = { .op = op, .mode = 0755 };
	struct cache_entry entry;
	struct error e = { 0 };

	cr_assert(eq(int, cache_make(explored.cache, NULL, dir, name, &making, &entry, &e), ERR_OK),
		"%s", e.text);
	return entry.inode;
}

uint64_t explored_size_of(const char *path)
{
	struct inode *i = explored_find(path);
	struct attr attr;
	int64_t valid_ms;

	cr_assert(ne(ptr, i, NULL), "%s is not there", path);
	cr_assert(eq(int, cache_attr(explored.cache, NULL, i, &attr, &valid_ms, NULL), ERR_OK));
	return attr.size;
}
