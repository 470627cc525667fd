#include "providers/reach.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#define LABEL_OF_63 "a23456789012345678901234567890123456789012345678901234567890123"

Test(reach, a_place_is_read_as_vendors_take_it)
{
	static const struct {
		const char *text, *place;
	} rows[] = {
		{ "pypi.org", "pypi.org" },
		{ "PyPI.org", "pypi.org" },
		{ "*.npmjs.org", "*.npmjs.org" },
		{ "localhost", "localhost" },
		{ "a-b.c_d.example", "a-b.c_d.example" },
		{ "1e100.net", "1e100.net" },
		{ LABEL_OF_63 ".org", LABEL_OF_63 ".org" },
		{ "10.0.0.0/8", "10.0.0.0/8" },
		{ "0.0.0.0/0", "0.0.0.0/0" },
		{ "8.8.8.8", "8.8.8.8/32" },
		{ "2001:db8::/32", "2001:db8::/32" },
		{ "::1", "::1/128" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char place[REACH_MAX] = "";

		cr_expect(reach_read(place, rows[i].text), "%s", rows[i].text);
		cr_expect(eq(str, place, (char *)rows[i].place));
	}
}

Test(reach, what_is_no_place_is_refused)
{
	static const char *const rows[] = { "", "*", "*.", "a b", "a,b", "https://pypi.org",
		"pypi.org/", "pypi.org:443", "pypi..org", ".org", "org.", "-a.org", "a-.org",
		"a.*.org", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8x", "10.0.0/8",
		"10.0.0", "1.2.3.4.5", "300.1.1.1", "::/129", "10.0.0.0/8/8", "user@host",
		"a" LABEL_OF_63 ".org", "André.example" };

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char place[REACH_MAX];

		cr_expect(not(reach_read(place, rows[i])), "%s", rows[i]);
	}
}

Test(reach, addresses_are_distinguished_from_names)
{
	cr_expect(reach_is_addresses("10.0.0.0/8"));
	cr_expect(not(reach_is_addresses("pypi.org")));
}
