#include "fs/control/status_text.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <json-c/json.h>
#include <string.h>

TestSuite(status_text, .timeout = 300);

static const struct sandbox_info sandbox = {
	.id = "i123", .state = SANDBOX_RUNNING, .root = "/home/user"
};

/* The text, parsed as a reader would. */
static struct json_object *text_of(const struct cache_status *status)
{
	AUTO_BUF struct buf text = BUF_INIT(65536);
	struct json_object *whole;

	status_text("e2b:i123", &sandbox, status, &text);
	cr_assert(not(text.failed));
	whole = json_tokener_parse(buf_text(&text));
	cr_assert(ne(ptr, whole, NULL), "%s", buf_text(&text));
	return whole;
}

static struct json_object *field(struct json_object *of, const char *name)
{
	struct json_object *found = NULL;

	cr_assert(json_object_object_get_ex(of, name, &found), "no %s", name);
	return found;
}

static void expect_field(struct json_object *of, const char *name, const char *wanted)
{
	cr_expect(eq(str, (char *)json_object_get_string(field(of, name)), (char *)wanted), "%s",
		name);
}

Test(status_text, says_which_sandbox_it_is)
{
	struct json_object *whole = text_of(&(struct cache_status){ .expires_s = 300 });

	expect_field(whole, "source", "e2b:i123");
	expect_field(whole, "provider", "e2b");
	expect_field(whole, "id", "i123");
	expect_field(whole, "state", "running");
	expect_field(whole, "root", "/home/user");
	expect_field(whole, "expires_s", "300");
	json_object_put(whole);
}

Test(status_text, a_sandbox_that_is_gone_is_shown_as_that)
{
	struct json_object *whole =
		text_of(&(struct cache_status){ .expires_s = 300, .is_gone = true });

	expect_field(whole, "state", "gone");
	expect_field(whole, "expires_s", "0");
	json_object_put(whole);
}

Test(status_text, a_sandbox_without_end_and_a_mount_without_journal_have_nulls)
{
	struct json_object *whole = text_of(&(struct cache_status){ .expires_s = -1 });
	struct json_object *journal = field(whole, "journal");

	cr_expect(eq(ptr, field(whole, "expires_s"), NULL));
	cr_expect(eq(ptr, field(journal, "dir"), NULL));
	expect_field(journal, "parked", "[ ]");
	expect_field(whole, "last_errors", "[ ]");
	json_object_put(whole);
}

Test(status_text, says_what_the_sandbox_does_not_have)
{
	struct cache_status status = {
		.pending_changes = 3,
		.pending_bytes = 5000,
		.leaving_bytes = 4000,
		.failed_changes = 2,
		.journal_dir = "/var/journal",
		.failed = { { .op = CHANGE_WRITE, .path = "/a", .error = "no space" },
			{ .op = CHANGE_RENAME, .path = "/b\n", .error = "no such file" } },
		.failed_count = 2,
	};
	struct json_object *whole = text_of(&status), *journal = field(whole, "journal");
	struct json_object *failed_list = field(journal, "parked");

	expect_field(whole, "pending_changes", "3");
	expect_field(whole, "pending_bytes", "5000");
	expect_field(whole, "leaving_bytes", "4000");
	expect_field(whole, "parked_changes", "2");
	expect_field(journal, "dir", "/var/journal");
	expect_field(journal, "entries", "3");
	expect_field(journal, "bytes", "5000");
	cr_assert(eq(sz, json_object_array_length(failed_list), 2));
	expect_field(json_object_array_get_idx(failed_list, 0), "path", "/a");
	expect_field(json_object_array_get_idx(failed_list, 0), "op", "write");
	expect_field(json_object_array_get_idx(failed_list, 0), "error", "no space");
	expect_field(json_object_array_get_idx(failed_list, 1), "path", "/b\n");
	expect_field(json_object_array_get_idx(failed_list, 1), "op", "rename");
	json_object_put(whole);
}

Test(status_text, says_what_is_kept_of_contents_and_where)
{
	struct cache_status status = { .contents_dir = "/var/cache/c",
		.contents_bytes = 4096,
		.contents_max = (uint64_t)10 << 30 };
	struct json_object *whole = text_of(&status), *cache = field(whole, "cache");

	expect_field(cache, "dir", "/var/cache/c");
	expect_field(cache, "bytes", "4096");
	expect_field(cache, "max_bytes", "10737418240");
	json_object_put(whole);
	whole = text_of(&(struct cache_status){ 0 });
	cr_expect(eq(ptr, field(field(whole, "cache"), "dir"), NULL), "in memory");
	json_object_put(whole);
}

Test(status_text, says_whether_the_sandbox_tells_of_its_changes_and_why_not)
{
	struct cache_status status = {
		.stream = CACHE_STREAM_BROKEN, .stream_why = "no watches", .unwatched_dirs = 7
	};
	struct json_object *whole = text_of(&status), *stream = field(whole, "stream");

	expect_field(stream, "state", "broken");
	expect_field(stream, "error", "no watches");
	expect_field(stream, "unwatched_dirs", "7");
	json_object_put(whole);
	whole = text_of(&(struct cache_status){ .stream = CACHE_STREAM_LIVE });
	expect_field(field(whole, "stream"), "state", "live");
	cr_expect(eq(ptr, field(field(whole, "stream"), "error"), NULL));
	json_object_put(whole);
}

Test(status_text, says_the_last_errors)
{
	struct cache_status status = {
		.errors = { { .path = "/f", .text = "it went wrong", .age_ms = 12 } },
		.errors_count = 1,
	};
	struct json_object *whole = text_of(&status);
	struct json_object *error = json_object_array_get_idx(field(whole, "last_errors"), 0);

	expect_field(error, "path", "/f");
	expect_field(error, "text", "it went wrong");
	expect_field(error, "age_ms", "12");
	json_object_put(whole);
}
