/* The request for a new sandbox. */
#include "providers/daytona/wish.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

TestSuite(wish, .timeout = 300);

static void expect(const struct provider_config *cfg, const char *want)
{
	AUTO_BUF struct buf got = BUF_INIT(WISH_MAX);
	struct error e = { 0 };

	cr_assert(eq(int, daytona_wish(&got, cfg, NULL, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(str, (char *)buf_text(&got), (char *)want));
}

static void expect_refusal(const struct provider_config *cfg, const char *part)
{
	AUTO_BUF struct buf got = BUF_INIT(WISH_MAX);
	struct error e = { 0 };

	cr_expect(eq(int, daytona_wish(&got, cfg, NULL, &e), ERR_INVALID));
	cr_expect(strstr(e.text, part) != NULL, "%s", e.text);
}

Test(wish, of_nothing_is_the_vendors)
{
	expect(&(struct provider_config){ 0 }, "{}");
}

Test(wish, a_template_is_a_snapshot)
{
	expect(&(struct provider_config){ .template = "daytonaio/sandbox:0.5" },
		"{\"snapshot\": \"daytonaio/sandbox:0.5\"}");
}

Test(wish, an_image_is_built_from_and_has_resources)
{
	expect(
		&(struct provider_config){
			.image = "python:3.12", .cpus = 1.5, .memory_mb = 1025, .disk_mb = 2048 },
		"{\"buildInfo\": {\"dockerfileContent\": \"FROM "
		"python:3.12\\n\"}, \"cpu\": 2, \"memory\": 2, \"disk\": 2}");
}

Test(wish, resources_go_with_an_image_alone)
{
	expect_refusal(&(struct provider_config){ .cpus = 2 }, "image=NAME");
	expect_refusal(&(struct provider_config){ .template = "s", .memory_mb = 1 }, "image=NAME");
	expect_refusal(&(struct provider_config){ .disk_mb = 1 }, "image=NAME");
}

Test(wish, an_image_is_no_other_line_of_a_dockerfile)
{
	expect_refusal(&(struct provider_config){ .image = "" }, "is no image");
	expect_refusal(&(struct provider_config){ .image = "a\nRUN b" }, "is no image");
}

Test(wish, names_labels_and_environment)
{
	static const char *const env[] = { "A=1", "B=x=y", NULL },
				 *const labels[] = { "project=p", NULL };

	expect(
		&(struct provider_config){
			.name = "n", .user = "root", .env = env, .labels = labels },
		"{\"name\": \"n\", \"user\": \"root\", \"env\": {\"A\": \"1\", \"B\": \"x=y\"}, "
		"\"labels\": {"
		"\"project\": \"p\"}}");
}

Test(wish, its_network_is_blocked)
{
	expect(&(struct provider_config){ .block_network = true }, "{\"networkBlockAll\": true}");
}

Test(wish, what_it_may_reach_are_two_lists)
{
	static const char *const both[] = { "pypi.org", "10.0.0.0/8", "*.npmjs.org", "1.2.3.4/32",
		NULL },
				 *const names[] = { "pypi.org", NULL };

	expect(&(struct provider_config){ .allowed = both, .block_network = true },
		"{\"networkAllowList\": \"10.0.0.0/8,1.2.3.4/32\", "
		"\"domainAllowList\": \"pypi.org,*.npmjs.org\"}");
	expect(&(struct provider_config){ .allowed = names },
		"{\"domainAllowList\": \"pypi.org\"}");
}

Test(wish, idle_time_is_in_whole_minutes)
{
	expect(&(struct provider_config){ .idle_s = 61 }, "{\"autoStopInterval\": 2}");
	expect(&(struct provider_config){ .lifetime_s = 3600 }, "{\"autoStopInterval\": 60}");
	expect(&(struct provider_config){ .idle_s = 60, .lifetime_s = 3600 },
		"{\"autoStopInterval\": 1}");
}

/* 0 minutes would delete the sandbox as soon as it stops. */
Test(wish, a_stopped_sandbox_is_deleted_after_whole_minutes)
{
	expect(&(struct provider_config){ .delete_after_s = 1 }, "{\"autoDeleteInterval\": 1}");
	expect(&(struct provider_config){ .delete_after_s = 86401 },
		"{\"autoDeleteInterval\": 1441}");
}

Test(wish, a_stopped_sandbox_is_archived_after_whole_minutes)
{
	expect(&(struct provider_config){ .archive_after_s = 61 }, "{\"autoArchiveInterval\": 2}");
}

Test(wish, a_language_is_a_label)
{
	static const char *const labels[] = { "project=p", NULL };

	expect(&(struct provider_config){ .language = "typescript" },
		"{\"labels\": {\"code-toolbox-language\": \"typescript\"}}");
	expect(&(struct provider_config){ .language = "python", .labels = labels },
		"{\"labels\": {\"project\": \"p\", \"code-toolbox-language\": \"python\"}}");
	expect_refusal(&(struct provider_config){ .language = "cobol" },
		"python, typescript or javascript");
}

Test(wish, a_region_goes_before_the_environments)
{
	AUTO_BUF struct buf got = BUF_INIT(WISH_MAX), other = BUF_INIT(WISH_MAX);

	daytona_wish(&got, &(struct provider_config){ .region = "eu" }, "us", NULL);
	cr_expect(eq(str, (char *)buf_text(&got), "{\"target\": \"eu\"}"));
	daytona_wish(&other, &(struct provider_config){ 0 }, "us", NULL);
	cr_expect(eq(str, (char *)buf_text(&other), "{\"target\": \"us\"}"));
}

Test(wish, the_rules_of_a_network_replace_those_of_before)
{
	static const char *const allowed[] = { "pypi.org", "10.0.0.0/8", NULL };
	static const struct {
		bool blocked;
		const char *const *allowed;
		const char *want;
	} rows[] = {
		{ false, NULL, "{\"networkBlockAll\": false}" },
		{ true, NULL, "{\"networkBlockAll\": true}" },
		{ true, allowed,
			"{\"networkBlockAll\": false, \"networkAllowList\": \"10.0.0.0/8\", "
			"\"domainAllowList\": \"pypi.org\"}" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		AUTO_BUF struct buf out = BUF_INIT(1000);
		struct error e = { 0 };

		cr_assert(eq(int, daytona_network(&out, rows[i].blocked, rows[i].allowed, &e),
				  ERR_OK),
			"%s", e.text);
		cr_expect(eq(str, (char *)buf_text(&out), (char *)rows[i].want));
	}
}
