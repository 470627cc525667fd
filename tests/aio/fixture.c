#include "tests/aio/fixture.h"

#include "providers/aio/verdict.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <string.h>

static struct fixture of_test;

struct fixture *fixture(void)
{
	return &of_test;
}

void fixture_start_rows(const char *key, const struct canned_row *rows, size_t count)
{
	struct aio *a = &of_test.sandbox;
	struct error *e = &of_test.e;
	struct http_header header = { .name = "Authorization", .value = key, .is_secret = true };

	unsetenv("http_proxy");
	canned_start(&of_test.server, rows, count);
	snprintf(a->address.id, sizeof a->address.id, "localhost_1");
	cr_assert(eq(int, http_new(&a->account.http, "test", e), ERR_OK), "%s", e->text);
	cr_assert(eq(int,
			  rest_init(&a->account.rest, a->account.http, "aio", of_test.server.url,
				  &header, key != NULL, aio_verdict, e),
			  ERR_OK),
		"%s", e->text);
	cr_assert(eq(int, sessions_init(&a->sessions, &a->account.rest, a->address.id, e), ERR_OK));
}

void fixture_end(void)
{
	struct aio *a = &of_test.sandbox;

	a->sessions.idle = 0;
	sessions_release(&a->sessions);
	rest_release(&a->account.rest);
	http_free(a->account.http);
	for (size_t i = 0; i < of_test.server.got; i++)
		free(of_test.server.requests[i]);
}

bool fixture_has(size_t request, const char *text)
{
	return strstr(of_test.server.requests[request], text) != NULL;
}
