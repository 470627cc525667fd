#include "providers/base/cleanup.h"
#include "providers/http/url.h"

#include "tests/http/room.h"

TestSuite(http_url, .timeout = 300);

Test(http_url, plain_http_goes_only_to_this_machine)
{
	static const struct {
		const char *url;
		enum err want;
	} rows[] = {
		{ "https://example.com/x", ERR_OK },
		{ "http://127.0.0.1:1/x", ERR_OK },
		{ "http://127.9.9.9/x", ERR_OK },
		{ "http://127.1/x", ERR_OK },
		{ "http://localhost:80", ERR_OK },
		{ "http://LOCALHOST/", ERR_OK },
		{ "http://proxy.localhost:4000/toolbox", ERR_OK },
		{ "http://0.0.0.0:8080/", ERR_OK },
		{ "http://[::]:8080/", ERR_OK },
		{ "http://notlocalhost/", ERR_INVALID },
		{ "http://[::1]:49983/x", ERR_OK },
		{ "http://example.com/", ERR_INVALID },
		{ "http://128.0.0.1/", ERR_INVALID },
		{ "http://localhost.example.com/", ERR_INVALID },
		{ "http://127.0.0.1.example.com/", ERR_INVALID },
		{ "http://[::2]/", ERR_INVALID },
		{ "http://localhost@example.com/", ERR_INVALID },
		{ "https://user:password@example.com/", ERR_INVALID },
		{ "ftp://127.0.0.1/", ERR_INVALID },
		{ "file:///etc/passwd", ERR_INVALID },
		{ "127.0.0.1/x", ERR_INVALID },
		{ "https://exa mple.com/", ERR_INVALID },
		{ "https://", ERR_INVALID },
		{ "", ERR_INVALID },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct error e = { 0 };

		cr_expect(eq(int, http_check_url(rows[i].url, &e), rows[i].want), "%s: %s",
			rows[i].url, e.text);
	}
}

Test(http_url, an_answer_sends_the_key_to_no_network_where_the_service_is_not_itself)
{
	static const char public[] = "https://api.example.com/v2";
	static const char private[] = "https://10.1.2.3:8443";
	static const char here[] = "http://localhost:3000";
	static const struct {
		const char *named, *by;
		enum err want;
	} rows[] = {
		{ "https://proxy.example.net/toolbox", public, ERR_OK },
		{ "https://93.184.216.34/", public, ERR_OK },
		{ "https://[2606:2800:220:1::1]:8443/x", public, ERR_OK },
		{ "https://172.15.0.1/", public, ERR_OK },
		{ "https://172.32.0.1/", public, ERR_OK },
		{ "https://localhost.example.com/", public, ERR_OK },
		{ "https://notlocalhost/", public, ERR_OK },
		{ "http://127.0.0.1:8080/any/path", public, ERR_PROTOCOL },
		{ "http://proxy.example.net/", public, ERR_PROTOCOL },
		{ "https://127.0.0.1/", public, ERR_PROTOCOL },
		{ "https://127.1/", public, ERR_PROTOCOL },
		{ "https://2130706433/", public, ERR_PROTOCOL },
		{ "https://0x7f000001/", public, ERR_PROTOCOL },
		{ "https://0177.0.0.1/", public, ERR_PROTOCOL },
		{ "https://0/", public, ERR_PROTOCOL },
		{ "https://127.0.0.1./", public, ERR_PROTOCOL },
		{ "https://localhost/", public, ERR_PROTOCOL },
		{ "https://LOCALHOST./", public, ERR_PROTOCOL },
		{ "https://x.localhost/", public, ERR_PROTOCOL },
		{ "https://[::1]/", public, ERR_PROTOCOL },
		{ "https://[::]/", public, ERR_PROTOCOL },
		{ "https://[::ffff:127.0.0.1]/", public, ERR_PROTOCOL },
		{ "https://[::ffff:a00:1]/", public, ERR_PROTOCOL },
		{ "https://[64:ff9b::7f00:1]/", public, ERR_PROTOCOL },
		{ "https://[2002:7f00:1::]/", public, ERR_PROTOCOL },
		{ "https://[fe80::1]/", public, ERR_PROTOCOL },
		{ "https://[fd00::1]/", public, ERR_PROTOCOL },
		{ "https://169.254.169.254/latest", public, ERR_PROTOCOL },
		{ "https://10.0.0.1/", public, ERR_PROTOCOL },
		{ "https://172.16.0.1/", public, ERR_PROTOCOL },
		{ "https://172.31.255.255/", public, ERR_PROTOCOL },
		{ "https://192.168.1.1/", public, ERR_PROTOCOL },
		{ "https://100.64.0.1/", public, ERR_PROTOCOL },
		{ "https://224.0.0.1/", public, ERR_PROTOCOL },
		{ "https://255.255.255.255/", public, ERR_PROTOCOL },
		{ "https://proxy.example.net/?x=1", public, ERR_PROTOCOL },
		{ "https://proxy.example.net/?", public, ERR_PROTOCOL },
		{ "https://proxy.example.net/#x", public, ERR_PROTOCOL },
		{ "https://user@proxy.example.net/", public, ERR_PROTOCOL },
		{ "ftp://proxy.example.net/", public, ERR_PROTOCOL },
		{ "", public, ERR_PROTOCOL },
		{ "https://192.168.1.1/", private, ERR_OK },
		{ "https://proxy.example.net/", private, ERR_OK },
		{ "https://127.0.0.1/", private, ERR_PROTOCOL },
		{ "https://169.254.169.254/", private, ERR_PROTOCOL },
		{ "http://127.0.0.1:8080/", here, ERR_OK },
		{ "http://proxy.localhost:4000/toolbox", here, ERR_OK },
		{ "http://proxy.localhost:4000/toolbox", public, ERR_PROTOCOL },
		{ "http://box:4000/toolbox", "http://box:3000/api", ERR_OK },
		{ "http://other:4000/toolbox", "http://box:3000/api", ERR_PROTOCOL },
		{ "http://box:4000/toolbox", "https://box:3000/api", ERR_PROTOCOL },
		{ "https://[::1]/", here, ERR_OK },
		{ "https://10.0.0.1/", here, ERR_OK },
		{ "http://127.0.0.1:8080/", "https://127.0.0.1", ERR_PROTOCOL },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct error e = { 0 };

		cr_expect(
			eq(int, http_check_named_url(rows[i].named, rows[i].by, &e), rows[i].want),
			"%s by %s: %s", rows[i].named, rows[i].by, e.text);
	}
}

Test(http_url, a_private_host_has_an_address_or_a_name_of_its_own)
{
	static const char *const private[] = { "http://sandbox:8080", "http://10.0.0.7/",
		"http://host.docker.internal/", "http://printer.local/", "http://[fd00::7]:1/" };
	static const char *const public[] = { "http://example.com/", "http://8.8.8.8/",
		"http://[2001:db8::1]/", "http://internal.example/", "http://notinternal.example/",
		"nonsense://" };

	for (size_t i = 0; i < sizeof private / sizeof *private; i++)
		cr_expect(http_is_private(private[i]), "%s", private[i]);
	for (size_t i = 0; i < sizeof public / sizeof *public; i++)
		cr_expect(not(http_is_private(public[i])), "%s", public[i]);
}

Test(http_url, plain_http_to_a_host_is_allowed_for_that_host_and_client_alone)
{
	struct error e = { 0 };
	struct http *h, *other;

	cr_assert(eq(int, http_new(&h, "test", &e), ERR_OK), "%s", e.text);
	cr_assert(eq(int, http_new(&other, "test", &e), ERR_OK), "%s", e.text);
	cr_assert(eq(int, http_allow_plain(h, "http://box.example:8080/x", &e), ERR_OK));
	cr_expect(eq(int, http_check_reach(h, "http://BOX.example:9000/y", NULL), ERR_OK));
	cr_expect(eq(int, http_check_reach(h, "http://other.example/", NULL), ERR_INVALID));
	cr_expect(eq(int, http_check_reach(h, "ftp://box.example/", NULL), ERR_INVALID));
	cr_expect(eq(int, http_check_reach(other, "http://box.example/", NULL), ERR_INVALID));
	cr_expect(eq(int, http_check_reach(NULL, "http://box.example/", NULL), ERR_INVALID));
	http_free(h);
	http_free(other);
}

Test(http_url, an_error_holds_no_query_and_no_password)
{
	struct error e = { 0 };

	http_check_url("https://us er:pass@x/y?signature=secret", &e);
	cr_expect(eq(ptr, strstr(e.text, "secret"), NULL));
	http_check_url("https://user:pass@x/", &e);
	cr_expect(eq(ptr, strstr(e.text, "pass@"), NULL));
}

Test(http_url, a_log_holds_no_query_and_no_fragment)
{
	static const char *const urls[] = { "https://x/y?signature=secret", "https://x/y#secret",
		"https://x/y" };

	for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
		AUTO_FREE char *shown = url_shown(urls[i]);

		cr_expect(eq(str, shown, "https://x/y"));
	}
}

Test(http_url, an_origin_is_scheme_host_and_port)
{
	cr_expect(http_same_origin("https://a.b/x", "https://A.b:443/y?z"));
	cr_expect(not(http_same_origin("https://a.b/x", "https://a.b:444/x")));
	cr_expect(not(http_same_origin("https://a.b/x", "https://a.c/x")));
	cr_expect(not(http_same_origin("https://127.0.0.1/x", "http://127.0.0.1:443/x")));
	cr_expect(not(http_same_origin("https://a.b/x", "nonsense://")));
}

Test(http_url, everything_unusual_is_escaped)
{
	AUTO_BUF struct buf out = BUF_INIT(100);

	cr_assert(http_escape(&out, "/a b-._~é?&%", "/"));
	cr_expect(eq(str, (char *)buf_text(&out), "/a%20b-._~%C3%A9%3F%26%25"));
	buf_reset(&out);
	cr_assert(http_escape(&out, "\t\n\1f", NULL));
	cr_expect(eq(str, (char *)buf_text(&out), "%09%0A%01f"));
	buf_reset(&out);
	cr_assert(http_escape(&out, "/a", NULL));
	cr_expect(eq(str, (char *)buf_text(&out), "%2Fa"));
}

Test(http_url, a_request_to_elsewhere_without_tls_is_refused_before_it_begins)
{
	struct http_request request = { .url = "http://192.0.2.1/" };
	struct http_exchange *x = NULL;
	struct room r;

	room_open(&r, answer_ok, NULL);
	cr_expect(eq(int, http_begin(r.http, &request, &x, &r.e), ERR_INVALID));
	cr_expect(eq(ptr, x, NULL));
	room_close(&r);
}
