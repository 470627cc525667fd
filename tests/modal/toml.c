#include "providers/modal/toml.h"

#include "providers/base/buf.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

TestSuite(toml, .timeout = 300);

static void add(void *context, const char *table, const char *key, const char *value)
{
	buf_printf(context, "%s/%s=%s;", table, key, value);
}

static enum err read_text(const char *text, struct buf *out, struct error *e)
{
	return toml_read(text, strlen(text), add, out, e);
}

Test(toml, pairs_come_with_their_table)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "", "" },
		{ "# nothing\n\n  \t\r\n", "" },
		{ "a = 1", "/a=1;" },
		{ "[t]\na=\"b\"\n", "t/a=b;" },
		{ "[ \"t u\" ] # of two words\r\n  a = 'b\\n' # as it is\r\n", "t u/a=b\\n;" },
		{ "[t]\nactive = true\n[u]\nactive=false\n", "t/active=true;u/active=false;" },
		{ "a = \"q\\\"b\\\\s\\tt\"\n", "/a=q\"b\\s\tt;" },
		{ "\"k\" = 2.5e+3\n'l' = -1\n", "/k=2.5e+3;/l=-1;" },
		{ "a = \"\"\n", "/a=;" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		AUTO_BUF struct buf out = BUF_INIT(4096);
		struct error e = { 0 };

		cr_expect(eq(int, read_text(rows[i].text, &out, &e), ERR_OK), "row %zu: %s", i,
			e.text);
		cr_expect(eq(str, (char *)buf_text(&out), (char *)rows[i].want), "row %zu", i);
	}
}

Test(toml, what_is_something_else_is_refused_with_its_line)
{
	static const char *const rows[] = { "[t", "[[t]]", "[a.b]", "a", "a =", "a = [1]",
		"a = {b = 1}", "a.b = 1", "a = \"b", "a = \"\\q\"", "a = \"\"\"b\"\"\"", "a = b c",
		"= 1", "[]" };

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		AUTO_BUF struct buf text = BUF_INIT(4096), out = BUF_INIT(4096);
		struct error e = { 0 };

		buf_printf(&text, "ok = 1\n%s\n", rows[i]);
		cr_expect(eq(int, read_text(buf_text(&text), &out, &e), ERR_INVALID), "row %zu", i);
		cr_expect(ne(ptr, strstr(e.text, "line 2"), NULL), "row %zu: %s", i, e.text);
	}
}

Test(toml, no_value_is_in_a_message)
{
	AUTO_BUF struct buf out = BUF_INIT(4096);
	struct error e = { 0 };

	cr_expect(eq(int, read_text("token_secret = \"as-hidden", &out, &e), ERR_INVALID));
	cr_expect(eq(ptr, strstr(e.text, "hidden"), NULL), "%s", e.text);
}
