#include "tests/e2b/envd_fixture.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

void envd_fixture_make(
	struct envd_fixture *f, const char *user, const struct envd_row *rows, size_t count)
{
	envd_fixture_make_old(f, "0.6.13", user, rows, count);
}

void envd_fixture_make_old(struct envd_fixture *f, const char *version, const char *user,
	const struct envd_row *rows, size_t count)
{
	unsigned features = envd_features(version);
	struct envd_address address = {
		.sandbox_id = "i1", .token = TEST_TOKEN, .user = user, .features = features
	};

	unsetenv("http_proxy");
	envd_server_start(&f->server, rows, count);
	address.base_url = f->server.url;
	cr_assert(eq(int, http_new(&f->http, "test", &f->e), ERR_OK), "%s", f->e.text);
	cr_assert(eq(int, envd_new(&f->envd, f->http, &address, &f->e), ERR_OK), "%s", f->e.text);
}

void envd_fixture_stop(struct envd_fixture *f)
{
	envd_server_stop(&f->server);
	envd_server_check(&f->server);
	f->is_stopped = true;
}

void envd_fixture_release(struct envd_fixture *f)
{
	if (!f->http)
		return;
	envd_free(f->envd);
	http_free(f->http);
	if (!f->is_stopped)
		envd_server_stop(&f->server);
	envd_server_release(&f->server);
}

static const char *end_of_headers(const struct envd_fixture *f, size_t row)
{
	return strstr(buf_text(&f->server.requests[row]), "\r\n\r\n");
}

bool envd_fixture_asked(const struct envd_fixture *f, size_t row, const char *text)
{
	const char *found = strcasestr(buf_text(&f->server.requests[row]), text);

	return found && found < end_of_headers(f, row);
}

const char *envd_fixture_body(const struct envd_fixture *f, size_t row, size_t *len)
{
	const char *body = end_of_headers(f, row) + 4;

	*len = f->server.requests[row].len - (size_t)(body - buf_text(&f->server.requests[row]));
	return body;
}
