#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/lease/hand_out.h"
#include "cache/lease/invalidate.h"
#include "cache/write/remote.h"
#include "cache/cache.h"
#include "cache/metadata.h"
#include "cache/names.h"
#include "tests/cache/distant.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static struct distant far;

static void setup(void)
{
	distant_start(&far, false);
}

static void teardown(void)
{
	distant_stop(&far);
}

TestSuite(observer, .init = setup, .fini = teardown, .timeout = 300);

struct slow {
	atomic_bool is_in, is_to_go, is_out;
};

static void leave_slowly(void *context, struct inode *i, bool pages)
{
	struct slow *s = context;

	(void)i, (void)pages;
	atomic_store(&s->is_in, true);
	while (!atomic_load(&s->is_to_go))
		usleep(1000);
	usleep(20000);
	atomic_store(&s->is_out, true);
}

static void *invalidate(void *context)
{
	cache_invalidate_all(context);
	return NULL;
}

/* The caller frees what the observer needs as soon as cache_observe() has returned. */
Test(observer, is_out_when_it_is_taken_away)
{
	struct slow slow = { 0 };
	struct cache_observer observer = { .inode_changed = leave_slowly, .context = &slow };
	pthread_t thread;

	cache_observe(far.cache, &observer);
	cr_assert(eq(int, pthread_create(&thread, NULL, invalidate, far.cache), 0));
	while (!atomic_load(&slow.is_in))
		usleep(1000);
	atomic_store(&slow.is_to_go, true);
	cache_observe(far.cache, NULL);
	cr_expect(atomic_load(&slow.is_out));
	pthread_join(thread, NULL);
}

struct counted {
	int marks, inodes, names;
};

static void count_mark(void *context)
{
	((struct counted *)context)->marks++;
}

static void count_inode(void *context, struct inode *i, bool pages)
{
	(void)i, (void)pages;
	((struct counted *)context)->inodes++;
}

static void count_name(void *context, struct inode *dir, const char *name, bool is_gone)
{
	(void)dir, (void)name, (void)is_gone;
	((struct counted *)context)->names++;
}

Test(observer, receives_one_mark_at_the_end_of_a_command_however_much_is_known)
{
	struct counted counted = { 0 };
	struct cache_observer observer = { .all_outdated = count_mark,
		.inode_changed = count_inode,
		.name_changed = count_name,
		.context = &counted };
	struct cache_entry entries[32];
	char name[16];

	for (int n = 0; n < 32; n++) {
		const struct create_args making = { .op = CHANGE_MKDIR, .mode = 0755 };

		snprintf(name, sizeof name, "d%d", n);
		cr_assert(eq(int,
			cache_make(far.cache, NULL, cache_root(far.cache), name, &making,
				&entries[n], NULL),
			ERR_OK));
	}
	cache_observe(far.cache, &observer);
	cache_command_ended(far.cache);
	cr_expect(eq(int, counted.marks, 1));
	cr_expect(le(int, counted.inodes, 1), "the root alone");
	cr_expect(eq(int, counted.names, 0));
	cache_observe(far.cache, NULL);
	for (int n = 0; n < 32; n++)
		cache_forget(far.cache, entries[n].inode, 1);
}

static void note_path(void *context, enum watch_kind kind, const char *path, bool is_dir)
{
	(void)is_dir;
	snprintf(context, 64, "%d %s", kind, path);
}

Test(observer, hears_what_others_changed)
{
	char received[64] = "";
	struct cache_observer observer = { .changed = note_path, .context = received };

	cache_tell_changed(far.cache, WATCH_CREATED, "a", false);
	cr_expect(eq(str, received, ""));
	cache_observe(far.cache, &observer);
	cache_tell_changed(far.cache, WATCH_REMOVED, "d/b", true);
	cr_expect(eq(str, received, "5 d/b"));
	cache_observe(far.cache, NULL);
}
