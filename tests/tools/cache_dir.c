#include "tools/cache_dir.h"

#include "providers/base/cleanup.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

TestSuite(cache_dir, .timeout = 120);

static void expect(const char *asked, const char *xdg, const char *home, const char *wanted)
{
	setenv("XDG_CACHE_HOME", xdg, 1);
	setenv("HOME", home, 1);
	AUTO_FREE char *dir = cache_dir(asked);

	cr_assert(dir != NULL);
	cr_expect(eq(str, dir, (char *)wanted));
}

Test(cache_dir, follows_what_was_asked_then_the_variables)
{
	expect("/var/cache/x", "/x", "/h", "/var/cache/x");
	expect(NULL, "/x", "/h", "/x/sandboxfs");
	expect(NULL, "", "/h", "/h/.cache/sandboxfs");
	expect(NULL, "not/absolute", "/h", "/h/.cache/sandboxfs");
}

Test(cache_dir, is_nowhere_when_it_is_off)
{
	cr_expect(cache_dir("off") == NULL);
}

Test(cache_dir, finds_a_home_without_the_variable)
{
	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	AUTO_FREE char *dir = cache_dir(NULL);

	if (dir)
		cr_expect(strstr(dir, "/.cache/sandboxfs") != NULL);
}
