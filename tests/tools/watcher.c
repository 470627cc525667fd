#include "tools/watcher.h"

#include "providers/base/cleanup.h"
#include "tests/support/scratch.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static struct scratch scratch;

static void set_up(void)
{
	scratch_make(&scratch);
}

static void tear_down(void)
{
	scratch_remove(&scratch);
}

TestSuite(watcher, .init = set_up, .fini = tear_down, .timeout = 300);

static const struct provider_config shown = { .id = "i1", .path = "/work" };

static struct watcher watcher_in(const char *name, const struct provider_config *cfg)
{
	AUTO_FREE char *dir = NULL;

	cr_assert(asprintf(&dir, "%s/%s", scratch.path, name) > 0);
	return watcher_new(dir, "e2b", cfg);
}

static bool is_nobody(const struct watcher *w)
{
	return !memcmp(w->id, WATCHER_NONE.id, sizeof w->id);
}

static bool is_same(const struct watcher *a, const struct watcher *b)
{
	return !memcmp(a->id, b->id, sizeof a->id);
}

Test(watcher, is_the_same_for_the_next_mount)
{
	struct watcher first = watcher_in("state", &shown), before = first;

	cr_expect(not(is_nobody(&first)));
	watcher_release(&first);
	struct watcher second = watcher_in("state", &shown);

	cr_expect(is_same(&before, &second));
	watcher_release(&second);
}

Test(watcher, is_nobody_while_another_mount_of_the_same_lives)
{
	struct watcher first = watcher_in("state", &shown), second = watcher_in("state", &shown);

	cr_expect(not(is_nobody(&first)));
	cr_expect(is_nobody(&second));
	watcher_release(&second);
	watcher_release(&first);
}

Test(watcher, is_another_for_each_thing_that_is_shown)
{
	static const char *const options[] = { "run_as=root", NULL };
	static const struct provider_config others[] = {
		{ .id = "i2", .path = "/work" },
		{ .id = "i1", .path = "/work", .user = "root" },
		{ .id = "i1", .path = "/work", .client_options = options },
		{ .id = "i1" },
		{ .id = "i1/work" },
	};
	struct watcher w[sizeof others / sizeof *others], one = watcher_in("state", &shown);

	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		w[i] = watcher_in("state", &others[i]);
		cr_expect(not(is_nobody(&w[i])));
		cr_expect(not(is_same(&w[i], &one)));
		for (size_t n = 0; n < i; n++)
			cr_expect(not(is_same(&w[i], &w[n])));
	}
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		watcher_release(&w[i]);
	watcher_release(&one);
}

Test(watcher, is_another_for_each_user)
{
	struct watcher mine = watcher_in("mine", &shown), yours = watcher_in("yours", &shown);

	cr_expect(not(is_same(&mine, &yours)));
	watcher_release(&mine);
	watcher_release(&yours);
}

Test(watcher, is_nobody_where_nothing_can_be_kept)
{
	struct watcher none = watcher_new(NULL, "e2b", &shown);

	cr_expect(is_nobody(&none));
	scratch_write_text(&scratch, "file", "");
	none = watcher_in("file", &shown);
	cr_expect(is_nobody(&none));
	watcher_release(&none);
}
