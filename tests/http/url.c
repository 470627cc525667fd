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
		{ "http://[::1]:49983/x", ERR_OK },
		{ "http://example.com/", ERR_INVALID },
		{ "http://128.0.0.1/", ERR_INVALID },
		{ "http://localhost.example.com/", ERR_INVALID },
		{ "http://127.0.0.1.example.com/", ERR_INVALID },
		{ "http://[::2]/", ERR_INVALID },
		{ "http://0.0.0.0/", ERR_INVALID },
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
	cr_expect(url_same_origin("https://a.b/x", "https://A.b:443/y?z"));
	cr_expect(not(url_same_origin("https://a.b/x", "https://a.b:444/x")));
	cr_expect(not(url_same_origin("https://a.b/x", "https://a.c/x")));
	cr_expect(not(url_same_origin("https://127.0.0.1/x", "http://127.0.0.1:443/x")));
	cr_expect(not(url_same_origin("https://a.b/x", "nonsense://")));
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
