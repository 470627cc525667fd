#include "cache/write/permission.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <sys/stat.h>

TestSuite(permission, .timeout = 300);

Test(permission, the_class_that_fits_first_decides)
{
	static const struct {
		uint32_t uid, gid, group, mode;
		unsigned want;
		bool allowed;
	} rows[] = {
		{ 1000, 1000, 1000, S_IFREG | 0600, PERMISSION_READ | PERMISSION_WRITE, true },
		{ 1000, 1000, 1000, S_IFREG | 0077, PERMISSION_READ, false },
		{ 2000, 1000, 1000, S_IFREG | 0640, PERMISSION_READ, true },
		{ 2000, 1000, 1000, S_IFREG | 0640, PERMISSION_WRITE, false },
		{ 2000, 3000, 1000, S_IFREG | 0640, PERMISSION_READ, true },
		{ 2000, 4000, 1000, S_IFREG | 0640, PERMISSION_READ, false },
		{ 2000, 4000, 1000, S_IFREG | 0644, PERMISSION_READ, true },
		{ 2000, 1000, 1000, S_IFREG | 0604, PERMISSION_READ, false },
		{ 2000, 4000, 1000, S_IFDIR | 0755, PERMISSION_EXEC, true },
		{ 2000, 4000, 1000, S_IFDIR | 0755, PERMISSION_WRITE, false },
	};

	for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++) {
		struct identity who = {
			.uid = 1000, .gid = rows[n].group, .groups_count = 1, .groups = { 3000 }
		};
		struct attr attr = { .uid = rows[n].uid, .gid = rows[n].gid, .mode = rows[n].mode };

		cr_expect(eq(int, permission_allows(&who, &attr, rows[n].want), rows[n].allowed),
			"row %zu", n);
	}
}

Test(permission, the_superuser_may_but_executes_only_what_is_executable)
{
	struct identity root = { 0 };
	struct attr file = { .uid = 5, .mode = S_IFREG | 0 },
		    dir = { .uid = 5, .mode = S_IFDIR | 0 };

	cr_expect(permission_allows(&root, &file, PERMISSION_READ | PERMISSION_WRITE));
	cr_expect(not(permission_allows(&root, &file, PERMISSION_EXEC)));
	cr_expect(permission_allows(&root, &dir, PERMISSION_EXEC));
}
