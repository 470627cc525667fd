/* How many requests a vendor is sent for many small files; counted by its test server. */
#include "providers/http/http.h"
#include "providers/provider.h"
#include "tests/support/vendor_server.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

TestSuite(store_requests, .timeout = 300);

#define FILES     100
#define FILE_SIZE 100

struct fixture {
	struct vendor_server server;
	struct http *http;
	struct provider *p;
	struct error e;
};

static void open_sandbox(struct fixture *f, enum helper_mode helper)
{
	struct provider_config cfg = { .helper = helper, .shell = "sh" };
	const struct provider_ops *ops = provider_find("e2b", 3);
	char id[128];

	if (vendor_server_start(&f->server, "e2b", &f->e))
		cr_skip("%s", f->e.text);
	vendor_server_announce(&f->server);
	cr_assert(eq(int, http_new(&f->http, "test/1", &f->e), ERR_OK), "%s", f->e.text);
	cr_assert(eq(int, provider_create(ops, &cfg, NULL, id, &f->e), ERR_OK), "%s", f->e.text);
	cfg.id = id;
	cr_assert(
		eq(int, provider_connect(ops, &cfg, NULL, &f->p, &f->e), ERR_OK), "%s", f->e.text);
}

static void close_sandbox(struct fixture *f)
{
	provider_release(f->p);
	http_free(f->http);
	vendor_server_stop(&f->server);
}

static void ask_admin(
	struct fixture *f, enum http_method method, const char *path, struct http_answer *answer)
{
	char url[128];
	const struct http_request request = { .method = method, .url = url };

	snprintf(url, sizeof url, "%s%s", f->server.admin_url, path);
	cr_assert(eq(int, http_perform(f->http, NULL, &request, answer, &f->e), ERR_OK), "%s",
		f->e.text);
	cr_assert(eq(int, answer->status, 200));
}

static void reset_counters(struct fixture *f)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;

	ask_admin(f, HTTP_POST, "/reset", &answer);
}

static int count_requests(struct fixture *f)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct json_object *json, *total, *requests;
	int count;

	ask_admin(f, HTTP_GET, "/counters", &answer);
	json = json_tokener_parse(buf_text(&answer.body));
	cr_assert(json_object_object_get_ex(json, "total", &total) &&
		json_object_object_get_ex(total, "requests", &requests));
	count = json_object_get_int(requests);
	json_object_put(json);
	return count;
}

static enum err read_letters(void *context, uint64_t offset, void *dst, size_t len, struct error *e)
{
	(void)offset, (void)e;
	memset(dst, *(const char *)context, len);
	return ERR_OK;
}

static void store_files(struct fixture *f)
{
	struct store_item items[FILES];
	struct store_result results[FILES];
	char names[FILES][16];

	for (int i = 0; i < FILES; i++) {
		snprintf(names[i], sizeof names[i], "file-%d", i);
		items[i] = (struct store_item){ .path = names[i],
			.mode = 0640,
			.size = FILE_SIZE,
			.read = read_letters,
			.context = "x" };
	}
	cr_assert(eq(int, provider_store(f->p, NULL, items, FILES, results, &f->e), ERR_OK), "%s",
		f->e.text);
	for (int i = 0; i < FILES; i++) {
		cr_expect(eq(int, results[i].err, ERR_OK), "%s: %s", names[i], results[i].why);
		cr_expect(eq(u32, results[i].attr.mode & 07777, 0640));
		cr_expect(eq(u64, results[i].attr.size, FILE_SIZE));
	}
}

static void expect_requests(enum helper_mode helper, int most)
{
	struct fixture f = { .e = { 0 } };

	open_sandbox(&f, helper);
	reset_counters(&f);
	store_files(&f);
	cr_expect(le(int, count_requests(&f), most));
	close_sandbox(&f);
}

Test(store_requests, a_hundred_small_files_take_at_most_three)
{
	expect_requests(HELPER_AUTO, 3);
}

Test(store_requests, so_they_do_without_the_helper)
{
	expect_requests(HELPER_OFF, 3);
}
