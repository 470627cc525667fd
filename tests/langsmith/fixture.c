#include "tests/langsmith/fixture.h"

#include <stdio.h>

char box_ready[512], box_stopped[512];
struct canned server;
struct langsmith *sandbox;
struct error e;

static bool is_served;

static void fill(char out[512], const char *status)
{
	snprintf(out, 512,
		"{\"id\":\"b1\",\"name\":\"mine\",\"status\":\"%s\",\"idle_ttl_seconds\":600,"
		"\"dataplane_url\":\"%s/dp/opaque\"}",
		status, server.url);
}

void fixture_serve(const struct canned_row *rows, size_t count)
{
	unsetenv("http_proxy");
	canned_start(&server, rows, count);
	is_served = true;
	fill(box_ready, "ready");
	fill(box_stopped, "stopped");
	setenv("LANGSMITH_ENDPOINT", server.url, 1);
	setenv("LANGSMITH_API_KEY", KEY, 1);
}

void fixture_find(const struct canned_row *rows, size_t count, const char *user)
{
	const struct provider_config cfg = { .id = "b1", .user = user };

	fixture_serve(rows, count);
	cr_assert(eq(int, langsmith_new(&sandbox, &cfg, &e), ERR_OK), "%s", e.text);
	cr_assert(eq(int, attachment_find(&sandbox->at, NULL, &e), ERR_OK), "%s", e.text);
	/* As after an attach: a sandbox that is not found from then on has existed before. */
	sandbox->at.has_remote = true;
}

void fixture_stop(void)
{
	if (is_served)
		canned_stop(&server);
	is_served = false;
}

void fixture_end(void)
{
	if (sandbox) {
		sandbox->at.has_remote = false;
		langsmith_release(&sandbox->at.base);
	}
	fixture_stop();
	for (size_t i = 0; i < server.got; i++)
		free(server.requests[i]);
}

bool request_has(size_t request, const char *text)
{
	return strcasestr(server.requests[request], text) != NULL;
}

const char *request_body(size_t request)
{
	return strstr(server.requests[request], "\r\n\r\n") + 4;
}

enum err keep(void *context, enum stream stream, const void *bytes, size_t len, struct error *why)
{
	struct kept *k = context;
	char *to = stream == STREAM_OUT ? k->out : k->err_out;
	size_t room = stream == STREAM_OUT ? sizeof k->out : sizeof k->err_out;

	if (k->refusal)
		return error_set(why, k->refusal, "the sink");
	k->out_len += stream == STREAM_OUT ? len : 0;
	strncat(to, bytes, len < room - strlen(to) - 1 ? len : room - strlen(to) - 1);
	return ERR_OK;
}
