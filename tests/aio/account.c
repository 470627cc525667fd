#include "providers/aio/account.h"

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

Test(address, of_a_private_network_at_a_port_is_http)
{
	static const struct row rows[] = {
		{ "sandbox:8080", NULL, NULL, "http://sandbox:8080", "sandbox_8080" },
		{ "sandbox", "8080", NULL, "http://sandbox:8080", "sandbox_8080" },
		{ "host.docker.internal:8080", NULL, NULL, "http://host.docker.internal:8080",
			"host.docker.internal_8080" },
		{ "10.0.0.7:8080", NULL, NULL, "http://10.0.0.7:8080", "10.0.0.7_8080" },
		{ "0.0.0.0:8080", NULL, NULL, "http://0.0.0.0:8080", "0.0.0.0_8080" },
		{ NULL, NULL, "sandbox_8080", "http://sandbox:8080", "sandbox_8080" },
		{ "sandbox", NULL, NULL, "https://sandbox:443", "sandbox_443" },
		{ "sandbox", "443", NULL, "https://sandbox:443", "sandbox_443" },
		{ "box.example:8080", NULL, NULL, "https://box.example:8080", "box.example_8080" },
		{ "8.8.8.8", "8080", NULL, "https://8.8.8.8:8080", "8.8.8.8_8080" },
		{ "internal.example:8080", NULL, NULL, "https://internal.example:8080",
			"internal.example_8080" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		expect_row(&rows[i]);
}

Test(address, has_the_scheme_that_the_variable_says_for_its_host)
{
	static const struct row rows[] = {
		{ "http://box.example", NULL, NULL, "http://box.example:8080", "box.example_8080" },
		{ "http://box.example:80/", NULL, NULL, "http://box.example:80", "box.example_80" },
		{ "https://sandbox:8080", NULL, NULL, "https://sandbox:8080", "sandbox_8080" },
		{ "https://localhost:8443", NULL, NULL, "https://localhost:8443",
			"localhost_8443" },
		{ "http://box.example", NULL, "box.example_80", "http://box.example:80",
			"box.example_80" },
		{ "http://box.example", NULL, "other.example_80", "https://other.example:80",
			"other.example_80" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		expect_row(&rows[i]);
}

Test(address, may_be_of_ipv6)
{
	static const struct row rows[] = {
		{ "::1", NULL, NULL, "http://[::1]:8080", "ipv6.--1_8080" },
		{ "[::1]", "9000", NULL, "http://[::1]:9000", "ipv6.--1_9000" },
		{ "[fd00::7]:8080", NULL, NULL, "http://[fd00::7]:8080", "ipv6.fd00--7_8080" },
		{ "2001:db8::1", NULL, NULL, "https://[2001:db8::1]:443", "ipv6.2001-db8--1_443" },
		{ NULL, NULL, "ipv6.--1_8080", "http://[::1]:8080", "ipv6.--1_8080" },
		{ NULL, "9000", "ipv6.fd00--7", "http://[fd00::7]:9000", "ipv6.fd00--7_9000" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		expect_row(&rows[i]);
}

Test(address, goes_anywhere_by_http_where_that_is_asked_for)
{
	static const struct row row = { "box.example", "8080", NULL, "http://box.example:8080",
		"box.example_8080" };

	setenv("SANDBOXFS_INSECURE_HTTP", "1", 1);
	expect_row(&row);
	unsetenv("SANDBOXFS_INSECURE_HTTP");
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
		{ "ftp://box", NULL, NULL, NULL, "SANDBOX_HOST 'ftp://box' is no host" },
		{ "http://", NULL, NULL, NULL, "SANDBOX_HOST" },
		{ "http://user@box", NULL, NULL, NULL, "SANDBOX_HOST" },
		{ "http://box/path", NULL, NULL, NULL, "SANDBOX_HOST" },
		{ "box:", NULL, NULL, NULL, "SANDBOX_HOST" },
		{ "box:0", NULL, NULL, NULL, "SANDBOX_HOST" },
		{ "[box]:80", NULL, NULL, NULL, "SANDBOX_HOST" },
		{ "[::1", NULL, NULL, NULL, "SANDBOX_HOST" },
		{ "1:2:3", NULL, NULL, NULL, "SANDBOX_HOST" },
		{ "user@box", NULL, NULL, NULL, "SANDBOX_HOST" },
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
