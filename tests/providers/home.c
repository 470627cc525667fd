#include "providers/base/cleanup.h"
#include "providers/home.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

TestSuite(home, .timeout = 300);

Test(home, is_where_the_variable_says)
{
	setenv("HOME", "/somewhere", 1);
	AUTO_FREE char *home = home_dir();

	cr_assert(home != NULL);
	cr_expect(eq(str, home, "/somewhere"));
}

Test(home, is_in_the_user_database_where_the_variable_says_nothing)
{
	const struct passwd *user = getpwuid(geteuid());

	if (!user)
		cr_skip("whoever runs this is not in the user database");
	unsetenv("HOME");
	AUTO_FREE char *without = home_dir();

	setenv("HOME", "not/absolute", 1);
	AUTO_FREE char *relative = home_dir();

	cr_assert(without && relative);
	cr_expect(eq(str, without, user->pw_dir));
	cr_expect(eq(str, relative, user->pw_dir));
}
