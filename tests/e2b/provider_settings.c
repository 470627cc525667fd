#include "providers/e2b/settings.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void set_up(void)
{
	unsetenv("E2B_DOMAIN");
	unsetenv("E2B_API_URL");
	unsetenv("E2B_SANDBOX_URL");
	unsetenv("E2B_DEBUG");
}

TestSuite(provider_settings, .init = set_up, .timeout = 300);

static struct e2b_settings read_settings(void)
{
	struct e2b_settings s;
	struct error e = { 0 };

	cr_assert(eq(int, e2b_settings_read(&s, &e), ERR_OK), "%s", e.text);
	return s;
}

static void expect_envd(const struct e2b_settings *s, const char *domain, const char *want)
{
	struct error e = { 0 };
	char *url = NULL;

	cr_assert(eq(int, e2b_envd_url(&url, s, "iabc", domain, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(str, url, (char *)want));
	free(url);
}

static void expect_port_url(const struct e2b_settings *s, const char *domain, const char *want)
{
	AUTO_BUF struct buf url = BUF_INIT(300);
	struct error e = { 0 };

	cr_assert(eq(int, e2b_port_url(&url, s, "iabc", domain, 8080, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(str, (char *)buf_text(&url), (char *)want));
}

Test(provider_settings, a_port_has_a_host_of_its_own_in_the_sandboxs_domain)
{
	struct e2b_settings s = read_settings();

	expect_port_url(&s, "", "https://8080-iabc.e2b.app");
	expect_port_url(&s, "e2b-x.dev", "https://8080-iabc.e2b-x.dev");
	s.is_debug = true;
	expect_port_url(&s, "", "http://localhost:8080");
	e2b_settings_release(&s);
}

Test(provider_settings, a_domain_that_an_answer_names_is_not_this_machines)
{
	struct e2b_settings s = read_settings();
	AUTO_BUF struct buf url = BUF_INIT(300);
	char *envd = NULL;

	cr_expect(eq(int, e2b_envd_url(&envd, &s, "iabc", "localhost:8080", NULL), ERR_PROTOCOL));
	cr_expect(eq(int, e2b_port_url(&url, &s, "iabc", "localhost", 8080, NULL), ERR_PROTOCOL));
	cr_expect(zero(sz, url.len));
	e2b_settings_release(&s);
}

Test(provider_settings, of_an_empty_environment_are_the_vendors)
{
	struct e2b_settings s;

	setenv("E2B_API_URL", "", 1);
	setenv("E2B_DEBUG", "", 1);
	s = read_settings();
	cr_expect(eq(str, s.api_url, "https://api.e2b.app"));
	cr_expect(not(s.is_debug));
	expect_envd(&s, "", "https://sandbox.e2b.app");
	e2b_settings_release(&s);
}

Test(provider_settings, one_host_serves_all_sandboxes_of_the_vendors_own_domains)
{
	static const char *const domains[] = { "e2b.app", "e2b.dev", "e2b.pro", "e2b-staging.dev" };
	struct e2b_settings s = read_settings();

	for (size_t i = 0; i < 4; i++) {
		char want[64];

		snprintf(want, sizeof want, "https://sandbox.%s", domains[i]);
		expect_envd(&s, domains[i], want);
	}
	expect_envd(&s, "self.example", "https://49983-iabc.self.example");
	expect_envd(&s, "e2b.dev.self.example", "https://49983-iabc.e2b.dev.self.example");
	e2b_settings_release(&s);
}

Test(provider_settings, the_domain_of_an_answer_replaces_the_configured_one)
{
	struct e2b_settings s;

	setenv("E2B_DOMAIN", "self.example", 1);
	s = read_settings();
	cr_expect(eq(str, s.api_url, "https://api.self.example"));
	expect_envd(&s, "", "https://49983-iabc.self.example");
	expect_envd(&s, "e2b.dev", "https://sandbox.e2b.dev");
	e2b_settings_release(&s);
}

Test(provider_settings, overrides_win_and_lose_their_trailing_slashes)
{
	struct e2b_settings s;

	setenv("E2B_DOMAIN", "self.example", 1);
	setenv("E2B_API_URL", "http://127.0.0.1:3000//", 1);
	setenv("E2B_SANDBOX_URL", "http://127.0.0.1:4000/", 1);
	s = read_settings();
	cr_expect(eq(str, s.api_url, "http://127.0.0.1:3000"));
	expect_envd(&s, "e2b.app", "http://127.0.0.1:4000");
	e2b_settings_release(&s);
}

Test(provider_settings, debug_means_a_daemon_on_this_machine)
{
	struct e2b_settings s;

	setenv("E2B_DEBUG", "true", 1);
	s = read_settings();
	cr_expect(s.is_debug);
	expect_envd(&s, "", "http://localhost:49983");
	e2b_settings_release(&s);
	setenv("E2B_DEBUG", "false", 1);
	s = read_settings();
	cr_expect(not(s.is_debug));
	e2b_settings_release(&s);
}

Test(provider_settings, a_domain_that_is_none_is_refused)
{
	static const char *const bad[] = { "e2b.app/x", "user@e2b.app", "e2b app", "e2b.app?x",
		"e2b.app\r\nX: 1" };

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct e2b_settings s;
		struct error e = { 0 };

		setenv("E2B_DOMAIN", bad[i], 1);
		cr_expect(eq(int, e2b_settings_read(&s, &e), ERR_INVALID), "%s", bad[i]);
	}
}

Test(provider_settings, ids_are_checked_and_lose_the_client_id)
{
	static const struct {
		const char *text, *want; /* NULL: refused */
	} rows[] = { { "i0123456789abcdefghij", "i0123456789abcdefghij" }, { "iabc-0a1b", "iabc" },
		{ "", NULL }, { "-x", NULL }, { "iabc-", NULL }, { "iabc-x-y", NULL },
		{ "IABC", NULL }, { "i/../x", NULL }, { "i.x", NULL }, { "iabc-X", NULL },
		{ "debug_sandbox_id", NULL }, { "i\xc3\xa4", NULL } };
	struct e2b_settings s = read_settings();

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char id[64] = "";
		struct error e = { 0 };
		enum err kind = e2b_sandbox_id(id, sizeof id, &s, rows[i].text, &e);

		cr_expect(eq(int, kind, rows[i].want ? ERR_OK : ERR_INVALID), "%s", rows[i].text);
		cr_expect(eq(str, id, (char *)(rows[i].want ? rows[i].want : "")));
		if (kind)
			cr_expect(strstr(e.text, rows[i].text) != NULL, "%s", e.text);
	}
	e2b_settings_release(&s);
}

Test(provider_settings, an_id_that_does_not_fit_is_refused)
{
	struct e2b_settings s = read_settings();
	char id[4];

	cr_expect(eq(int, e2b_sandbox_id(id, sizeof id, &s, "abc", NULL), ERR_OK));
	cr_expect(eq(int, e2b_sandbox_id(id, sizeof id, &s, "abcd", NULL), ERR_INVALID));
	e2b_settings_release(&s);
}

Test(provider_settings, debug_has_an_id_of_its_own)
{
	struct e2b_settings s;
	char id[64];

	setenv("E2B_DEBUG", "TRUE", 1);
	s = read_settings();
	cr_expect(eq(int, e2b_sandbox_id(id, sizeof id, &s, "debug_sandbox_id", NULL), ERR_OK));
	cr_expect(eq(str, id, "debug_sandbox_id"));
	e2b_settings_release(&s);
}
