#include "cache/session/last_errors.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <string.h>

TestSuite(last_errors, .timeout = 300);

static bool add(struct last_errors *l, enum err kind, const char *path, int64_t now_ms)
{
	struct error e;

	error_set(&e, kind, "%s", error_words(kind));
	return last_errors_add(l, path, &e, now_ms);
}

Test(last_errors, the_newest_come_first_with_their_age)
{
	struct last_errors l = { 0 };
	struct cache_error got[CACHE_ERRORS_KEPT];

	cr_assert(eq(sz, last_errors_get(&l, 0, got), 0));
	add(&l, ERR_IO, "/old", 1000);
	add(&l, ERR_IO, "/new", 3000);
	cr_assert(eq(sz, last_errors_get(&l, 3500, got), 2));
	cr_expect(eq(str, got[0].path, "/new"));
	cr_expect(eq(str, got[0].text, (char *)error_words(ERR_IO)));
	cr_expect(eq(i64, got[0].age_ms, 500));
	cr_expect(eq(str, got[1].path, "/old"));
	cr_expect(eq(i64, got[1].age_ms, 2500));
}

Test(last_errors, older_ones_make_room)
{
	struct last_errors l = { 0 };
	struct cache_error got[CACHE_ERRORS_KEPT];
	char path[32];

	for (int i = 0; i < 3 * CACHE_ERRORS_KEPT + 1; i++) {
		snprintf(path, sizeof path, "/%d", i);
		add(&l, ERR_IO, path, i);
	}
	cr_assert(eq(sz, last_errors_get(&l, 0, got), CACHE_ERRORS_KEPT));
	for (int i = 0; i < CACHE_ERRORS_KEPT; i++) {
		snprintf(path, sizeof path, "/%d", 3 * CACHE_ERRORS_KEPT - i);
		cr_expect(eq(str, got[i].path, path));
	}
}

Test(last_errors, that_the_sandbox_is_gone_is_news_once)
{
	struct last_errors l = { 0 };

	cr_expect(add(&l, ERR_GONE, "/a", 0));
	cr_expect(not(add(&l, ERR_GONE, "/b", 1)));
	cr_expect(add(&l, ERR_IO, "/c", 2));
	cr_expect(add(&l, ERR_GONE, "/d", 3), "after something else");
}

Test(last_errors, a_long_path_is_cut)
{
	struct last_errors l = { 0 };
	struct cache_error got[CACHE_ERRORS_KEPT];
	char path[5000];

	memset(path, 'x', sizeof path - 1);
	path[sizeof path - 1] = '\0';
	add(&l, ERR_IO, path, 0);
	last_errors_get(&l, 0, got);
	cr_expect(eq(sz, strlen(got[0].path), sizeof got[0].path - 1));
}
