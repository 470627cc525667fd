/* Attaching, as far as one canned answer leads. */
#include "providers/aio/aio.h"
#include "tests/support/canned.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(aio_open, .timeout = 120);

Test(aio_open, a_key_in_an_answer_is_masked)
{
	static const struct canned_row rows[] = { { "GET /v1/sandbox ", 400,
		"{\"detail\":\"Bearer k3y-said-back is no good\"}", NULL } };
	struct provider_config cfg = { 0 };
	struct provider *p = NULL;
	struct canned server = { 0 };
	struct error e = { 0 };

	unsetenv("http_proxy");
	setenv("SANDBOX_API_KEY", "k3y-said-back", 1);
	setenv("SANDBOX_HOST", "127.0.0.1", 1);
	canned_start(&server, rows, 1);
	setenv("SANDBOX_PORT", strrchr(server.url, ':') + 1, 1);
	cr_expect(ne(int, aio_provider.connect(&cfg, NULL, &p, &e), ERR_OK));
	canned_stop(&server);
	cr_expect(ne(
		ptr, strstr(server.requests[0], "Authorization: Bearer k3y-said-back\r\n"), NULL));
	free(server.requests[0]);
	cr_expect(ne(ptr, strstr(e.text, "is no good"), NULL), "%s", e.text);
	cr_expect(eq(ptr, strstr(e.text, "k3y"), NULL), "%s", e.text);
}
