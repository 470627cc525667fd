#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "providers/base/cleanup.h"
#include "providers/rest/rest.h"

TestSuite(rest_volumes, .timeout = 60);

static char *volumes_of(const char *text, char *out, size_t room)
{
	AUTO_BUF struct buf body = BUF_INIT(1 << 16);
	AUTO_JSON struct json_object *json = NULL;

	buf_add_string(&body, text);
	cr_assert(rest_parse(&body, &json));
	rest_volumes(json, "name", "path", out, room);
	return out;
}

Test(rest_volumes, a_line_has_a_name_and_a_path)
{
	char out[100];

	cr_assert(eq(str,
		volumes_of("[{\"name\":\"a\",\"path\":\"/x y\"},{\"name\":\"b\","
			   "\"path\":\"/z\"}]",
			out, sizeof out),
		"a /x y\nb /z\n"));
	cr_assert(eq(str, volumes_of("null", out, sizeof out), ""));
}

Test(rest_volumes, what_would_forge_a_line_or_does_not_fit_is_left_out)
{
	char out[12];

	cr_assert(eq(str,
		volumes_of("[{\"name\":\"a b\",\"path\":\"/x\"},{\"name\":\"a\\nb\",\"path\":"
			   "\"/x\"},{\"name\":\"c\",\"path\":\"/x\\n/y\"},{\"name\":\"d\","
			   "\"path\":\"relative\"},{\"name\":\"long\",\"path\":\"/too/far\"},"
			   "{\"name\":\"e\",\"path\":\"/x\"}]",
			out, sizeof out),
		"e /x\n"));
}
