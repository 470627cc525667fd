/* Times of birth on a file system of layers. */
#include "providers/helper/birth.h"

#include "providers/helper/root.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <sys/stat.h>

static const struct birth_since since = { .began_ns = 1000, .dev = 7 };

static struct attr kept(struct attr a)
{
	birth_keep_since(&since, &a);
	return a;
}

Test(helper_birth, counts_of_what_was_born_since_the_helper_began)
{
	const struct attr before = { .dev = 7, .ino = 1, .mode = S_IFREG, .btime_ns = 999 };
	const struct attr after = { .dev = 7, .ino = 1, .mode = S_IFREG, .btime_ns = 1000 };
	const struct attr again = { .dev = 7, .ino = 1, .mode = S_IFREG, .btime_ns = 1001 };
	const struct attr untold = kept(before), made = kept(after), reused = kept(again);
	const struct expect file = expect_of(&made);

	cr_expect(eq(u64, untold.btime_ns, 0), "a first change may still copy it");
	cr_expect(expect_met(&file, &after), "as the kernel has it");
	cr_expect(expect_met(&file, &untold), "another helper tells none");
	cr_expect(not(expect_met(&file, &reused)));
	cr_expect(eq(u64, attr_lasting_birth(&made), 0));
}

/* A directory of several layers is copied, too, and cannot be renamed then. */
Test(helper_birth, does_not_count_of_directories_and_in_the_layers_of_others)
{
	const struct attr dir = { .dev = 7, .ino = 1, .mode = S_IFDIR, .btime_ns = 2000 };
	const struct attr other = { .dev = 8, .ino = 1, .mode = S_IFREG, .btime_ns = 2000 };

	cr_expect(eq(u64, kept(dir).btime_ns, 0));
	cr_expect(eq(u64, kept(other).btime_ns, 0));
}
