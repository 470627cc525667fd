#include "providers/more_headers.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

static void set_up(void)
{
	unsetenv("E2B_API_HEADERS");
	unsetenv("SANDBOXFS_HEADERS");
}

TestSuite(more_headers, .init = set_up, .timeout = 300);

static void expect(const struct more_headers *m, size_t at, const char *name, const char *value)
{
	cr_assert(lt(sz, at, m->count));
	cr_expect(eq(str, (char *)m->headers[at].name, (char *)name));
	cr_expect(eq(str, (char *)m->headers[at].value, (char *)value));
	cr_expect(m->headers[at].is_secret);
}

Test(more_headers, are_those_of_the_vendors_variable_and_then_of_ours)
{
	AUTO_MORE_HEADERS struct more_headers m = { 0 };
	struct error e = { 0 };

	setenv("E2B_API_HEADERS", "X-One: 1\r\nX-Two:two words\n", 1);
	setenv("SANDBOXFS_HEADERS", "X-Three:  3", 1);
	cr_assert(eq(int, more_headers_read(&m, "E2B_API_HEADERS", &e), ERR_OK), "%s", e.text);
	cr_expect(eq(sz, m.count, 3));
	expect(&m, 0, "X-One", "1");
	expect(&m, 1, "X-Two", "two words");
	expect(&m, 2, "X-Three", "3");
}

Test(more_headers, of_another_vendor_are_not_looked_at)
{
	AUTO_MORE_HEADERS struct more_headers m = { 0 };
	struct error e = { 0 };

	setenv("E2B_API_HEADERS", "nonsense", 1);
	cr_assert(eq(int, more_headers_read(&m, NULL, &e), ERR_OK), "%s", e.text);
	cr_expect(zero(sz, m.count));
}

Test(more_headers, that_are_none_are_refused_without_their_text)
{
	static const char *const texts[] = { "secret", ": secret", "a b: secret", "X-A: secret\x01",
		"X-A: secret\xc3\xa9" };

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct more_headers m;
		struct error e = { 0 };

		setenv("SANDBOXFS_HEADERS", texts[i], 1);
		cr_expect(eq(int, more_headers_read(&m, NULL, &e), ERR_INVALID), "%s", texts[i]);
		cr_expect(strstr(e.text, "header= wants") != NULL, "%s", e.text);
		cr_expect(strstr(e.text, "secret") == NULL, "%s", e.text);
	}
}
