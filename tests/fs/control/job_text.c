#include "fs/control/job_text.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

TestSuite(job_text, .timeout = 300);

static void expect_text(const struct job_facts *facts, const char *want)
{
	AUTO_BUF struct buf text = BUF_INIT(100000);

	job_text(facts, &text);
	cr_expect(eq(str, (char *)buf_text(&text), (char *)want));
}

Test(job_text, what_is_not_known_is_null)
{
	expect_text(&(struct job_facts){ .id = 1, .command = "make \"x\"", .state = JOB_STARTING },
		"{\"id\": 1, \"command\": \"make \\\"x\\\"\", \"state\": \"starting\", \"pid\": "
		"null, "
		"\"exit_code\": null, \"started\": null, \"ended\": null, \"output_bytes\": 0, "
		"\"error\": null}\n");
}

Test(job_text, all_facts_of_an_ended_one_are_printed)
{
	const struct job_facts facts = { .id = 7,
		.command = "false",
		.state = JOB_EXITED,
		.pid = 42,
		.has_exit_code = true,
		.exit_code = 1,
		.started_s = 1700000000,
		.ended_s = 1700000060,
		.size = 12 };

	expect_text(&facts,
		"{\"id\": 7, \"command\": \"false\", \"state\": \"exited\", \"pid\": 42, "
		"\"exit_code\": 1, \"started\": \"2023-11-14T22:13:20Z\", "
		"\"ended\": \"2023-11-14T22:14:20Z\", \"output_bytes\": 12, "
		"\"error\": null}\n");
}

Test(job_text, a_job_that_did_not_start_says_why)
{
	expect_text(
		&(struct job_facts){
			.id = 2, .command = "x", .state = JOB_FAILED, .error = "no room" },
		"{\"id\": 2, \"command\": \"x\", \"state\": \"failed\", \"pid\": null, "
		"\"exit_code\": null, "
		"\"started\": null, \"ended\": null, \"output_bytes\": 0, \"error\": \"no "
		"room\"}\n");
}
