#include "tests/modal/modal_server.h"

#include "providers/base/cleanup.h"
#include "providers/http/http.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

void modal_server_start(struct modal_server *s)
{
	struct error e = { 0 };

	*s = (struct modal_server){ 0 };
	if (vendor_server_start(&s->server, "modal", &e))
		cr_skip("%s", e.text);
	vendor_server_announce(&s->server);
	setenv("MODAL_CONFIG_PATH", "/nowhere", 1);
}

void modal_server_stop(struct modal_server *s)
{
	provider_release(s->p);
	vendor_server_stop(&s->server);
}

void modal_server_attach(struct modal_server *s)
{
	const struct provider_ops *ops = provider_find("modal", 5);
	struct provider_config cfg = { .helper = HELPER_PROCESS };
	struct error e = { 0 };

	cr_assert(eq(int, provider_create(ops, &cfg, NULL, s->id, &e), ERR_OK), "%s", e.text);
	cfg.id = s->id;
	cr_assert(eq(int, provider_connect(ops, &cfg, NULL, &s->p, &e), ERR_OK), "%s", e.text);
}

/* ---- The admin port ---- */

static struct json_object *ask(
	struct modal_server *s, enum http_method method, const char *path, const char *body)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct json_object *said;
	struct error e = { 0 };
	char url[600];
	struct http *http;

	snprintf(url, sizeof url, "%s%s", s->server.admin_url, path);
	cr_assert(eq(int, http_new(&http, "tests", &e), ERR_OK), "%s", e.text);
	http_perform(http, NULL,
		&(struct http_request){ .method = method,
			.url = url,
			.body = body,
			.body_len = body ? strlen(body) : 0 },
		&answer, &e);
	http_free(http);
	cr_assert(eq(int, e.kind, ERR_OK), "%s", e.text);
	cr_assert(eq(int, answer.status, 200), "%s: %s", path, buf_text(&answer.body));
	said = json_tokener_parse(buf_text(&answer.body));
	cr_assert(ne(ptr, said, NULL), "%s", path);
	return said;
}

void modal_server_fault(struct modal_server *s, const char *method, const char *action, int times)
{
	char body[600];

	snprintf(body, sizeof body, "{\"match\":{\"kind\":\"%s\",\"times\":%d},\"action\":%s}",
		method, times, action);
	json_object_put(ask(s, HTTP_POST, "/faults", body));
}

void modal_server_mend(struct modal_server *s)
{
	json_object_put(ask(s, HTTP_DELETE, "/faults", NULL));
}

static struct json_object *member(struct json_object *o, const char *name)
{
	struct json_object *value = NULL;

	json_object_object_get_ex(o, name, &value);
	return value;
}

long modal_server_count(struct modal_server *s, const char *method)
{
	struct json_object *said = ask(s, HTTP_GET, "/counters", NULL);
	struct json_object *counts =
		method ? member(member(said, "kinds"), method) : member(said, "total");
	long count = json_object_get_int64(member(counts, "requests"));

	json_object_put(said);
	return count;
}

void modal_server_reset(struct modal_server *s)
{
	modal_server_post(s, "/reset");
}

void modal_server_post(struct modal_server *s, const char *path)
{
	json_object_put(ask(s, HTTP_POST, path, NULL));
}

bool modal_server_received(struct modal_server *s, const char *text)
{
	char path[400];
	struct json_object *said;
	bool is_found;

	snprintf(path, sizeof path, "/received?contains=%s", text);
	said = ask(s, HTTP_GET, path, NULL);
	is_found = json_object_get_boolean(member(said, "found"));
	json_object_put(said);
	return is_found;
}

/* ---- Commands ---- */

static enum err add_output(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	(void)e;
	if (stream == STREAM_OUT)
		buf_add(context, bytes, len);
	return ERR_OK;
}

char *modal_server_run(struct modal_server *s, const char *command)
{
	const struct execute_request request = { .command = command };
	AUTO_BUF struct buf out = BUF_INIT((size_t)64 * 1024 * 1024);
	struct execute_result result;
	struct error e = { 0 };

	provider_execute(s->p, NULL, &request, add_output, &out, &result, &e);
	cr_assert(eq(int, e.kind, ERR_OK), "%s", e.text);
	cr_assert(eq(int, result.exit_code, 0), "%s", command);
	return strdup(buf_text(&out));
}
