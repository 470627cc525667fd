#include "fs/control/exec_response.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

TestSuite(exec_response, .timeout = 300);

/* The response to these two streams. */
static struct exec_response *respond(const struct exec_outcome *outcome, const char *out,
	size_t out_len, const char *err, size_t err_len)
{
	struct exec_capture captures[2] = { EXEC_CAPTURE_INIT(EXEC_CAPTURE_MAX),
		EXEC_CAPTURE_INIT(EXEC_CAPTURE_MAX) };
	struct exec_response *response;

	exec_capture_add(&captures[0], out, out_len);
	exec_capture_add(&captures[1], err, err_len);
	response = exec_response_new(outcome, &captures[0], &captures[1]);
	exec_capture_release(&captures[0]);
	exec_capture_release(&captures[1]);
	cr_assert(ne(ptr, response, NULL));
	return response;
}

static void expect_text(const struct exec_outcome *outcome, const char *out, size_t out_len,
	const char *err, size_t err_len, const char *wanted)
{
	struct exec_response *response = respond(outcome, out, out_len, err, err_len);

	cr_expect(eq(str, (char *)buf_text(exec_response_text(response)), (char *)wanted));
	exec_response_put(response);
}

static const struct exec_outcome success = { .has_exit_code = true, .duration_ms = 7 };

Test(exec_response, standard_error_follows_standard_output)
{
	expect_text(&success, "out\n", 4, "err\n", 4,
		"{\"output\": \"out\\n\\nerr\\n\", \"stdout\": \"out\\n\", \"stderr\": \"err\\n\", "
		"\"exit_code\": 0, \"truncated\": false, \"timed_out\": false, \"error\": null, "
		"\"duration_ms\": 7}\n");
}

Test(exec_response, a_single_stream_is_the_output)
{
	expect_text(&success, "", 0, "err", 3,
		"{\"output\": \"err\", \"stdout\": \"\", \"stderr\": \"err\", \"exit_code\": 0, "
		"\"truncated\": false, \"timed_out\": false, \"error\": null, \"duration_ms\": "
		"7}\n");
}

Test(exec_response, a_command_that_did_not_run_has_no_exit_code)
{
	expect_text(&(struct exec_outcome){ .error = "\"gone\"" }, "", 0, "", 0,
		"{\"output\": \"\", \"stdout\": \"\", \"stderr\": \"\", \"exit_code\": null, "
		"\"truncated\": false, \"timed_out\": false, \"error\": \"\\\"gone\\\"\", "
		"\"duration_ms\": 0}\n");
}

Test(exec_response, a_timeout_is_reported_with_the_output_so_far)
{
	expect_text(
		&(struct exec_outcome){
			.has_exit_code = true, .exit_code = 124, .timed_out = true },
		"part", 4, "", 0,
		"{\"output\": \"part\", \"stdout\": \"part\", \"stderr\": \"\", \"exit_code\": "
		"124, "
		"\"truncated\": false, \"timed_out\": true, \"error\": null, \"duration_ms\": "
		"0}\n");
}

Test(exec_response, exact_bytes_come_along_when_they_are_no_text)
{
	expect_text(&success, "a\0\xff", 3, "e", 1,
		"{\"output\": \"a\\u0000\xef\xbf\xbd\\ne\", \"stdout\": \"a\\u0000\xef\xbf\xbd\", "
		"\"stderr\": \"e\", \"exit_code\": 0, \"truncated\": false, \"timed_out\": false, "
		"\"error\": null, \"duration_ms\": 7, \"output_b64\": \"YQD/CmU=\", "
		"\"stdout_b64\": \"YQD/\", \"stderr_b64\": \"ZQ==\"}\n");
}

/* The response to so many bytes of each stream, all of them this one but the first. */
static struct exec_response *respond_many(size_t out_len, size_t err_len, char byte, char first)
{
	AUTO_BUF struct buf bytes = BUF_INIT(EXEC_CAPTURE_MAX);

	cr_assert(ne(ptr, buf_reserve(&bytes, EXEC_CAPTURE_MAX), NULL));
	memset(bytes.bytes, byte, EXEC_CAPTURE_MAX);
	bytes.bytes[0] = (unsigned char)first;
	return respond(&success, (char *)bytes.bytes, out_len, (char *)bytes.bytes, err_len);
}

static bool says_truncated(const struct exec_response *response)
{
	return strstr(buf_text(exec_response_text(response)), "\"truncated\": true") != NULL;
}

/* A NUL takes six bytes; the one byte that is no text adds base64. */
Test(exec_response, the_worst_output_is_cut_until_the_whole_fits)
{
	struct exec_response *response =
		respond_many(EXEC_CAPTURE_MAX, EXEC_CAPTURE_MAX, 0, '\xff');

	cr_expect(le(sz, exec_response_text(response)->len, EXEC_RESPONSE_MAX));
	cr_expect(lt(sz, EXEC_RESPONSE_MAX / 4, exec_response_text(response)->len));
	cr_expect(says_truncated(response));
	cr_expect(ne(ptr, strstr(buf_text(exec_response_text(response)), "stdout_b64"), NULL));
	exec_response_put(response);
}

Test(exec_response, a_whole_stream_of_text_is_not_cut)
{
	struct exec_response *response = respond_many(EXEC_CAPTURE_MAX, 1000, 'a', 'a');

	cr_expect(not(says_truncated(response)));
	cr_expect(lt(sz, 2 * EXEC_CAPTURE_MAX, exec_response_text(response)->len));
	exec_response_put(response);
}

Test(exec_response, the_shorter_stream_is_not_cut_for_the_longer)
{
	struct exec_response *response = respond_many(EXEC_CAPTURE_MAX, 100, '\1', '\1');
	const char *text = buf_text(exec_response_text(response));

	cr_expect(says_truncated(response));
	cr_expect(eq(sz, strspn(strstr(text, "\"stderr\": \"") + 11, "\\u01"), 600));
	exec_response_put(response);
}

Test(exec_response, lives_as_long_as_someone_holds_it)
{
	struct exec_response *response = respond(&success, "x", 1, "", 0);

	cr_expect(eq(ptr, exec_response_get(response), response));
	exec_response_put(response);
	cr_expect(
		ne(ptr, strstr(buf_text(exec_response_text(response)), "\"stdout\": \"x\""), NULL));
	exec_response_put(response);
	cr_expect(eq(ptr, exec_response_get(NULL), NULL));
	exec_response_put(NULL);
}
