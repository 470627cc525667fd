#include "tests/runloop/devbox_fixture.h"

#include <stdio.h>
#include <stdlib.h>

struct fixture f;
const struct call fixture_call = { .progress_ms = -1 };

void fixture_start(const struct canned_row *rows, size_t count)
{
	const struct provider_config cfg = { .id = "dbx_1" };

	canned_start(&f.server, rows, count);
	unsetenv("http_proxy");
	setenv("RUNLOOP_BASE_URL", f.server.url, 1);
	setenv("RUNLOOP_API_KEY", KEY, 1);
	cr_assert(eq(int, devbox_api_open(&f.api, &cfg, &f.e), ERR_OK), "%s", f.e.text);
	cr_assert(eq(int, runloop_new(&f.b, &cfg, &f.e), ERR_OK), "%s", f.e.text);
}

void fixture_stop(void)
{
	canned_stop(&f.server);
}

void fixture_end(void)
{
	rest_account_close(&f.api);
	if (f.b)
		runloop_release(&f.b->at.base);
	for (size_t i = 0; i < f.server.got; i++)
		free(f.server.requests[i]);
}

const char *fixture_body(size_t request)
{
	return strstr(f.server.requests[request], "\r\n\r\n") + 4;
}

bool fixture_has(size_t request, const char *text)
{
	return strcasestr(f.server.requests[request], text) != NULL;
}

const char *fixture_header(size_t request, const char *name)
{
	static char value[200];
	char begin[100];
	const char *found;

	snprintf(begin, sizeof begin, "\r\n%s: ", name);
	found = strcasestr(f.server.requests[request], begin);
	snprintf(value, sizeof value, "%.*s", found ? (int)strcspn(found + strlen(begin), "\r") : 0,
		found ? found + strlen(begin) : "");
	return value;
}

enum err fixture_keep(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	struct buf *kept = context;

	(void)stream, (void)e;
	if (kept)
		buf_add(kept, bytes, len);
	return ERR_OK;
}
