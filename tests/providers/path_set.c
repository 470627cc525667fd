#include "providers/base/path_set.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <stdlib.h>

TestSuite(path_set, .timeout = 300);

static bool takes(char *path)
{
	bool is_there = path;

	free(path);
	return is_there;
}

Test(path_set, has_what_was_put_and_not_taken)
{
	struct path_set s = { 0 };
	char path[16];

	for (unsigned n = 0; n < 200; n++) {
		snprintf(path, sizeof path, "d%u", n * 77 % 200);
		cr_assert(path_set_put(&s, path));
		cr_assert(path_set_put(&s, path));
	}
	cr_expect(eq(sz, s.count, 200));
	for (unsigned n = 0; n < 200; n += 2) {
		snprintf(path, sizeof path, "d%u", n);
		cr_expect(takes(path_set_take(&s, path)));
		cr_expect(not(takes(path_set_take(&s, path))));
	}
	for (unsigned n = 0; n < 200; n++) {
		snprintf(path, sizeof path, "d%u", n);
		cr_expect(eq(int, path_set_has(&s, path), n % 2), "%s", path);
	}
	path_set_release(&s);
}

/* Other names may sort between a path and the paths below it, as a-b does. */
Test(path_set, takes_what_is_below_a_path_and_no_neighbour)
{
	static const char *const paths[] = { "a", "a-b", "a/b", "a/b/c", "a0", "ab/c", "b/a/x" };
	struct path_set s = { 0 };

	for (unsigned n = 0; n < 7; n++)
		cr_assert(path_set_put(&s, paths[n]));
	cr_expect(takes(path_set_take_below(&s, "a")));
	cr_expect(takes(path_set_take_below(&s, "a")));
	cr_expect(not(takes(path_set_take_below(&s, "a"))));
	cr_expect(not(takes(path_set_take_below(&s, "z"))));
	cr_expect(path_set_has(&s, "a") && path_set_has(&s, "a-b") && path_set_has(&s, "a0"));
	for (unsigned n = 0; n < 5; n++)
		cr_expect(takes(path_set_take_below(&s, NULL)));
	cr_expect(not(takes(path_set_take_below(&s, NULL))));
	path_set_release(&s);
}
