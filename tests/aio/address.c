#include "providers/aio/address.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

static void set_up(void)
{
	unsetenv("SANDBOX_HOST");
	unsetenv("SANDBOX_PORT");
}

TestSuite(address, .init = set_up, .timeout = 300);

struct row {
	const char *host, *port, *id; /* NULL: not given */
	const char *url, *means;      /* url NULL: refused, with a text that has `means` */
};

static void set(const char *name, const char *value)
{
	if (value)
		setenv(name, value, 1);
	else
		unsetenv(name);
}

static void expect_row(const struct row *row)
{
	struct aio_address got = { .url = "" };
	struct error e = { 0 };

	set("SANDBOX_HOST", row->host);
	set("SANDBOX_PORT", row->port);
	if (row->url) {
		cr_assert(eq(int, aio_address_read(&got, row->id, &e), ERR_OK), "%s", e.text);
		cr_expect(eq(str, got.url, (char *)row->url));
		cr_expect(eq(str, got.id, (char *)row->means));
		return;
	}
	cr_expect(eq(int, aio_address_read(&got, row->id, &e), ERR_INVALID), "%s", got.url);
	cr_expect(strstr(e.text, row->means) != NULL, "%s", e.text);
}

Test(address, is_that_of_the_id_and_else_of_the_environment)
{
	static const struct row rows[] = {
		{ NULL, NULL, NULL, "http://localhost:8080", "localhost_8080" },
		{ "", "", NULL, "http://localhost:8080", "localhost_8080" },
		{ "127.0.0.1", "9000", NULL, "http://127.0.0.1:9000", "127.0.0.1_9000" },
		{ NULL, "9000", "9001", "http://localhost:9001", "localhost_9001" },
		{ "127.0.0.1", NULL, "9001", "http://127.0.0.1:9001", "127.0.0.1_9001" },
		{ "box.example", "9000", "localhost", "http://localhost:9000", "localhost_9000" },
		{ "box.example", "9000", "localhost_1", "http://localhost:1", "localhost_1" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		expect_row(&rows[i]);
}

Test(address, beyond_this_machine_is_https)
{
	static const struct row rows[] = {
		{ "box.example", NULL, NULL, "https://box.example:443", "box.example_443" },
		{ NULL, NULL, "10.0.0.7", "https://10.0.0.7:443", "10.0.0.7_443" },
		{ NULL, NULL, "box.example_8443", "https://box.example:8443", "box.example_8443" },
		{ NULL, "8080", "localhost.example", "https://localhost.example:8080",
			"localhost.example_8080" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		expect_row(&rows[i]);
}

Test(address, an_id_names_the_same_sandbox_again)
{
	struct aio_address one, other;
	struct error e = { 0 };

	setenv("SANDBOX_HOST", "box.example", 1);
	cr_assert(eq(int, aio_address_read(&one, NULL, &e), ERR_OK));
	unsetenv("SANDBOX_HOST");
	cr_assert(eq(int, aio_address_read(&other, one.id, &e), ERR_OK));
	cr_expect(eq(str, other.url, one.url));
	cr_expect(eq(str, other.id, one.id));
}

Test(address, that_is_none_is_named_with_the_way_out)
{
	static const struct row rows[] = {
		{ "http://box", NULL, NULL, NULL, "SANDBOX_HOST 'http://box' is no host" },
		{ "user@box", NULL, NULL, NULL, "SANDBOX_HOST" },
		{ "::1", NULL, NULL, NULL, "SANDBOX_HOST" },
		{ NULL, "0", NULL, NULL, "SANDBOX_PORT '0' is no port: 1 to 65535" },
		{ NULL, "65536", NULL, NULL, "SANDBOX_PORT" },
		{ NULL, "80x", NULL, NULL, "SANDBOX_PORT" },
		{ NULL, NULL, "a_b", NULL, "HOST, PORT or HOST_PORT, as in aio:localhost_8080" },
		{ NULL, NULL, "_80", NULL, "'_80' is no sandbox" },
		{ NULL, NULL, "box_", NULL, "'box_' is no sandbox" },
		{ NULL, NULL, "box_80_90", NULL, "'box_80_90' is no sandbox" },
		{ NULL, NULL, "99999", NULL, "'99999' is no sandbox" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		expect_row(&rows[i]);
}
