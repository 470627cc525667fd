/* Answers that are a vendor's own, and answers of other servers: over all vendors. */
#include "providers/aio/verdict.h"
#include "providers/daytona/toolbox.h"
#include "providers/e2b/verdict.h"
#include "providers/langsmith/verdict.h"
#include "providers/runloop/devbox_api.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <string.h>

TestSuite(vendor_frame, .timeout = 300);

static const struct {
	const char *name;
	const struct vendor_frame *frame;
} frames[] = {
	{ "e2b, one answer", &e2b_unary_frame },
	{ "e2b, many answers", &e2b_stream_frame },
	{ "e2b, files", &e2b_files_frame },
	{ "e2b, control plane", &e2b_plane_frame },
	{ "daytona", &toolbox_frame },
	{ "daytona, files", &toolbox_file_frame },
	{ "runloop", &devbox_frame },
	{ "runloop, files", &devbox_file_frame },
	{ "runloop, events", &devbox_events_frame },
	{ "langsmith", &langsmith_frame },
	{ "langsmith, files", &langsmith_file_frame },
	{ "aio", &aio_frame },
	{ "aio, files", &aio_file_frame },
};

static bool is_own(const struct vendor_frame *frame, int status, const char *body)
{
	const struct http_said said = { .status = status,
		.type = "application/json",
		.body = body,
		.len = strlen(body),
		.is_whole = true };

	return vendor_frame_is_own(&frame->http, &said);
}

Test(vendor_frame, pages_and_the_json_of_others_are_no_vendors)
{
	static const int statuses[] = { 302, 400, 404, 405, 407, 413, 451, 500, 502, 503, 504,
		520 };
	static const char *const bodies[] = { "<html><h1>Bad Gateway</h1></html>",
		"404 page not found", "error code: 520", "{}", "[]", "null", "{\"code\":\"no",
		"{\"error\":{\"code\":502,\"message\":\"upstream\",\"status\":\"UNAVAILABLE\"}}",
		"{\"fault\":{\"faultstring\":\"no route\"}}" };

	for (size_t f = 0; f < sizeof frames / sizeof *frames; f++)
		for (size_t s = 0; s < sizeof statuses / sizeof *statuses; s++)
			for (size_t b = 0; b < sizeof bodies / sizeof *bodies; b++)
				cr_expect(not(is_own(frames[f].frame, statuses[s], bodies[b])),
					"%s: %d %s", frames[f].name, statuses[s], bodies[b]);
}

/* Every 404 that ends something, and other refusals, in the vendors' own words. */
Test(vendor_frame, the_vendors_own_refusals_are_known)
{
	static const struct {
		const struct vendor_frame *frame;
		int status;
		const char *body;
	} rows[] = {
		{ &e2b_stream_frame, 502,
			"{\"sandboxId\":\"i\",\"message\":\"The sandbox was not found\","
			"\"code\":502}" },
		{ &e2b_stream_frame, 401, "{\"code\":401,\"message\":\"unauthorized access\"}" },
		{ &e2b_unary_frame, 404, "{\"code\":\"not_found\",\"message\":\"no process\"}" },
		{ &e2b_files_frame, 507, "{\"code\":507,\"message\":\"not enough disk space\"}" },
		{ &e2b_plane_frame, 404, "{\"code\":404,\"message\":\"no such sandbox\"}" },
		{ &toolbox_frame, 400,
			"{\"statusCode\":400,\"message\":\"Is the Sandbox "
			"started?\",\"code\":\"B\"}" },
		{ &toolbox_frame, 400, "{\"errors\":[\"/a: is a directory\"],\"files\":null}" },
		{ &toolbox_frame, 400, "{\"error\":\"request body\"}" },
		{ &toolbox_file_frame, 404, "" },
		{ &devbox_frame, 404, "{\"message\":\"no such devbox\"}" },
		{ &langsmith_frame, 400,
			"{\"detail\":{\"error\":\"NotReady\",\"message\":\"m\"}}" },
		{ &langsmith_frame, 422,
			"{\"detail\":[{\"loc\":[],\"msg\":\"m\",\"type\":\"t\"}]}" },
		{ &langsmith_frame, 401, "{\"detail\":\"Invalid token\"}" },
		{ &langsmith_frame, 404, "{\"error\":\"NotFound\",\"message\":\"sandbox\"}" },
		{ &langsmith_file_frame, 416, "invalid range" },
		{ &aio_frame, 404, "{\"detail\":\"Session not found\"}" },
		{ &aio_frame, 401, "<html><center>nginx/1.18.0</center></html>" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect(is_own(rows[i].frame, rows[i].status, rows[i].body), "row %zu: %s", i,
			rows[i].body);
}

/* A number as a code is the proxy's, whose answer is not about the procedure's request. */
Test(vendor_frame, the_daemon_of_e2b_names_its_codes)
{
	static const int statuses[] = { 400, 404, 405, 413, 451 };

	for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
		char body[80];

		snprintf(body, sizeof body, "{\"code\":%d,\"message\":\"no\"}", statuses[i]);
		cr_expect(not(is_own(&e2b_stream_frame, statuses[i], body)), "%s", body);
	}
}

/*
 * API gateways answer {"message":"..."}, too, for routes and sizes that the service does not see.
 */
Test(vendor_frame, runloop_refuses_with_the_statuses_of_its_documents_alone)
{
	static const int statuses[] = { 302, 402, 405, 407, 413, 415, 451, 520 };
	static const char message[] = "{\"message\":\"no Route matched with those values\"}";

	for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
		cr_expect(not(is_own(&devbox_frame, statuses[i], message)), "%d", statuses[i]);
	cr_expect(is_own(&devbox_frame, 422, message));
}

Test(vendor_frame, a_good_answer_that_breaks_off_is_nobodys)
{
	cr_expect(is_own(&e2b_plane_frame, 200, "{\"sandboxID\":\"i1\"}"));
	cr_expect(not(is_own(&e2b_plane_frame, 200, "{\"sandboxID\":\"i")));
	cr_expect(not(is_own(&e2b_plane_frame, 200, "<html>Sign in</html>")));
}
