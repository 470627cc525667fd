/* Over the test server: behaviour that only a server can show. */
#include "tests/langsmith/fixture.h"
#include "tests/support/runner.h"
#include "tests/support/vendor_server.h"

#include <stdio.h>

/*
 * Much more than the client buffers for its reader (HTTP_WINDOW), so some of it was read when a
 * connection breaks half-way.
 */
#define FILE_LEN ((size_t)8 * 1024 * 1024)
#define ADMIN    "SANDBOXFS_TEST_LANGSMITH_ADMIN"

static struct vendor_server service;

void runner_begins(void)
{
	struct error why = { 0 };

	if (!runner_has("langsmith_service"))
		return;
	if (vendor_server_start(&service, "langsmith", &why))
		return;
	vendor_server_announce(&service);
	setenv(ADMIN, service.admin_url, 1);
}

void runner_ends(void)
{
	vendor_server_stop(&service);
}

/*
 * Asks the server's admin port: for the requests of one kind since the last reset, or with a body.
 */
static struct json_object *admin(enum http_method method, const char *path, const char *body)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct json_object *json;
	char url[160];
	struct http_request request = {
		.method = method, .url = url, .body = body, .body_len = body ? strlen(body) : 0
	};

	snprintf(url, sizeof url, "%s%s", getenv(ADMIN), path);
	cr_assert(eq(int, http_perform(sandbox->account.http, NULL, &request, &answer, &e), ERR_OK),
		"%s", e.text);
	cr_assert(eq(int, answer.status, 200), "%s", buf_text(&answer.body));
	cr_assert(rest_parse(&answer.body, &json));
	return json;
}

static int64_t requests(const char *kind)
{
	AUTO_JSON struct json_object *counters = admin(HTTP_GET, "/counters", NULL);

	return rest_integer(rest_member(rest_member(counters, "kinds"), kind), "requests", 0);
}

static void post(const char *path, const char *body)
{
	rest_put(&(struct json_object *){ admin(HTTP_POST, path, body) });
}

static void make_sandbox(void)
{
	const struct provider_config none = { 0 };
	char id[128] = "";
	const struct provider_config cfg = { .id = id };

	if (!getenv(ADMIN))
		cr_skip("no test server");
	cr_assert(eq(int, langsmith_provider.create(&none, NULL, id, &e), ERR_OK), "%s", e.text);
	cr_assert(eq(int, langsmith_new(&sandbox, &cfg, &e), ERR_OK), "%s", e.text);
	cr_assert(eq(int, attachment_find(&sandbox->at, NULL, &e), ERR_OK), "%s", e.text);
}

static void delete_sandbox(void)
{
	const struct provider_config cfg = { .id = sandbox ? sandbox->at.id : "" };

	if (sandbox)
		cr_expect(eq(int, langsmith_provider.delete(&cfg, NULL, &e), ERR_OK), "%s", e.text);
	if (sandbox) {
		sandbox->at.has_remote = false;
		langsmith_release(&sandbox->at.base);
	}
}

TestSuite(langsmith_service, .init = make_sandbox, .fini = delete_sandbox, .timeout = 300);

static enum err compare(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *why)
{
	const unsigned char *got = bytes;
	size_t *at = context;

	(void)stream;
	for (size_t i = 0; i < len; i++)
		if (got[i] != (unsigned char)((*at + i) * 7 / 3))
			return error_set(why, ERR_CONFLICT, "byte %zu", *at + i);
	*at += len;
	return ERR_OK;
}

Test(langsmith_service, a_download_that_is_cut_goes_on)
{
	unsigned char *bytes = malloc(FILE_LEN);
	const struct remote_upload file = { "/tmp/large", bytes, FILE_LEN };
	size_t got = 0;

	for (size_t i = 0; i < FILE_LEN; i++)
		bytes[i] = (unsigned char)(i * 7 / 3);
	cr_assert(eq(int, langsmith_upload(sandbox, NULL, &file, &e), ERR_OK), "%s", e.text);
	free(bytes);
	post("/reset", NULL);
	post("/faults",
		"[{\"match\":{\"kind\":\"GET /download\",\"times\":2},"
		"\"action\":{\"type\":\"cut_after\",\"bytes\":3000000}}]");
	cr_expect(
		eq(int, langsmith_download(sandbox, NULL, "/tmp/large", compare, &got, &e), ERR_OK),
		"%s", e.text);
	cr_expect(eq(sz, got, FILE_LEN));
	cr_expect(eq(i64, requests("GET /download"), 3));
}

Test(langsmith_service, a_sandbox_that_stopped_is_started_by_its_user)
{
	static const char *const argv[] = { "echo", "up", NULL };
	const struct call background = { .is_background = true };
	struct kept kept = { 0 };
	int64_t before = requests("POST /execute");
	int exit_code;

	cr_assert(eq(int, langsmith_provider.pause(&sandbox->at.base, NULL, &e), ERR_OK), "%s",
		e.text);
	cr_expect(eq(int,
		langsmith_run(sandbox, &background, argv, 0, NULL, keep, &kept, &exit_code, &e),
		ERR_GONE));
	cr_expect(eq(i64, requests("POST /execute"), before));
	cr_expect(eq(int, langsmith_run(sandbox, NULL, argv, 0, NULL, keep, &kept, &exit_code, &e),
			  ERR_OK),
		"%s", e.text);
	cr_expect(eq(str, kept.out, "up\n"));
}
