/* The environment, as the vendor's SDK reads it. */
#include "tests/langsmith/fixture.h"
#include "tests/support/scratch.h"

#include <stdio.h>

static struct rest_account account;

static void start(void)
{
	static const char *const names[] = { "LANGSMITH_ENDPOINT", "LANGCHAIN_ENDPOINT",
		"LANGSMITH_API_KEY", "LANGCHAIN_API_KEY", "LANGSMITH_TENANT_ID",
		"LANGSMITH_WORKSPACE_ID", "LANGSMITH_PROFILE", "CREDENTIALS_DIRECTORY" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		unsetenv(names[i]);
	setenv("LANGSMITH_CONFIG_FILE", "/nowhere", 1);
}

static void stop(void)
{
	rest_account_close(&account);
}

TestSuite(langsmith_settings, .init = start, .fini = stop, .timeout = 300);

static enum err open_account(void)
{
	const struct provider_config cfg = { 0 };

	return langsmith_account_open(&account, &cfg, &e);
}

Test(langsmith_settings, without_any_it_is_the_public_service)
{
	setenv("LANGCHAIN_API_KEY", KEY, 1);
	cr_assert(eq(int, open_account(), ERR_OK), "%s", e.text);
	cr_expect(
		eq(str, account.rest.base_url, "https://api.smith.langchain.com/api/v2/sandboxes"));
	cr_expect(eq(str, (char *)account.rest.headers[0].value, KEY));
}

Test(langsmith_settings, the_newer_names_win_and_slashes_go)
{
	setenv("LANGSMITH_API_KEY", KEY, 1);
	setenv("LANGCHAIN_API_KEY", "older", 1);
	setenv("LANGSMITH_ENDPOINT", "https://eu.api.smith.langchain.com//", 1);
	setenv("LANGCHAIN_ENDPOINT", "https://elsewhere", 1);
	cr_assert(eq(int, open_account(), ERR_OK), "%s", e.text);
	cr_expect(eq(
		str, account.rest.base_url, "https://eu.api.smith.langchain.com/api/v2/sandboxes"));
	cr_expect(eq(str, (char *)account.rest.headers[0].value, KEY));
}

Test(langsmith_settings, every_spelling_of_the_endpoint_leads_to_the_same_place)
{
	static const struct {
		const char *endpoint, *url;
	} rows[] = {
		{ "https://host", "https://host/api/v2/sandboxes" },
		{ "https://host/api", "https://host/api/v2/sandboxes" },
		{ "https://host/api/v1", "https://host/api/v2/sandboxes" },
		{ "https://host/api/v1//", "https://host/api/v2/sandboxes" },
		{ "https://host/smith/api", "https://host/smith/api/v2/sandboxes" },
		{ "https://host/myapi", "https://host/myapi/api/v2/sandboxes" },
	};

	setenv("LANGSMITH_API_KEY", KEY, 1);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		setenv("LANGSMITH_ENDPOINT", rows[i].endpoint, 1);
		cr_assert(eq(int, open_account(), ERR_OK), "%s", e.text);
		cr_expect(eq(str, account.rest.base_url, (char *)rows[i].url), "%s",
			rows[i].endpoint);
		rest_account_close(&account);
	}
}

static void expect_workspace(const char *wanted)
{
	const struct http_header *last;

	cr_assert(eq(int, open_account(), ERR_OK), "%s", e.text);
	last = &account.rest.headers[account.rest.headers_count - 1];
	cr_expect(eq(str, (char *)(strcmp(last->name, "X-Tenant-Id") ? "" : last->value),
		(char *)wanted));
	rest_account_close(&account);
}

Test(langsmith_settings, a_workspace_is_named_where_there_are_several)
{
	setenv("LANGSMITH_API_KEY", KEY, 1);
	expect_workspace("");
	setenv("LANGSMITH_WORKSPACE_ID", "w2", 1);
	expect_workspace("w2");
	setenv("LANGSMITH_TENANT_ID", "w1", 1);
	expect_workspace("w1");
}

Test(langsmith_settings, an_empty_name_is_none)
{
	setenv("LANGSMITH_API_KEY", "", 1);
	setenv("LANGCHAIN_API_KEY", KEY, 1);
	setenv("LANGSMITH_ENDPOINT", "", 1);
	setenv("LANGCHAIN_ENDPOINT", "https://older", 1);
	cr_assert(eq(int, open_account(), ERR_OK), "%s", e.text);
	cr_expect(eq(str, account.rest.base_url, "https://older/api/v2/sandboxes"));
}

Test(langsmith_settings, plain_http_goes_nowhere_but_here)
{
	setenv("LANGSMITH_API_KEY", KEY, 1);
	setenv("LANGSMITH_ENDPOINT", "http://example.com", 1);
	cr_expect(eq(int, open_account(), ERR_INVALID));
	cr_expect(strstr(e.text, KEY) == NULL, "%s", e.text);
	setenv("LANGSMITH_ENDPOINT", "http://127.0.0.1:1", 1);
	cr_expect(eq(int, open_account(), ERR_OK), "%s", e.text);
}

Test(langsmith_settings, no_key_names_the_variables)
{
	cr_expect(eq(int, open_account(), ERR_AUTH));
	cr_expect(strstr(e.text, "LANGSMITH_API_KEY or LANGCHAIN_API_KEY") != NULL, "%s", e.text);
}

/* ---- The login of the vendor's own program ---- */

static struct scratch logged_in;

static void log_in(const char *text)
{
	char path[128];

	scratch_make(&logged_in);
	scratch_write_text(&logged_in, "config.json", text);
	snprintf(path, sizeof path, "%s/config.json", logged_in.path);
	setenv("LANGSMITH_CONFIG_FILE", path, 1);
}

static const char *header(const char *name)
{
	for (size_t i = 0; i < account.rest.headers_count; i++)
		if (!strcmp(account.rest.headers[i].name, name))
			return account.rest.headers[i].value;
	return "";
}

#define TWO_PROFILES                                                                               \
	"\"default\": {\"api_key\": \"" KEY "\"}, \"work\": {\"api_url\": "                        \
	"\"https://work.example\", \"workspace_id\": \"ws\", \"api_key\": \"unused\", \"oauth\": " \
	"{\"access_token\": \"token\", \"expires_at\": \"2999-01-01T00:00:00Z\"}}"

Test(langsmith_settings, a_login_has_the_default_profiles_key)
{
	log_in("{\"profiles\": {" TWO_PROFILES "}}");
	cr_assert(eq(int, open_account(), ERR_OK), "%s", e.text);
	cr_expect(
		eq(str, account.rest.base_url, "https://api.smith.langchain.com/api/v2/sandboxes"));
	cr_expect(eq(str, (char *)header("X-Api-Key"), KEY));
	cr_expect(eq(str, (char *)header("X-Tenant-Id"), ""));
	scratch_remove(&logged_in);
}

static void expect_work(void)
{
	cr_assert(eq(int, open_account(), ERR_OK), "%s", e.text);
	cr_expect(eq(str, account.rest.base_url, "https://work.example/api/v2/sandboxes"));
	cr_expect(eq(str, (char *)header("Authorization"), "Bearer token"));
	cr_expect(eq(str, (char *)header("X-Tenant-Id"), "ws"));
	cr_expect(eq(str, (char *)header("X-Api-Key"), ""));
}

Test(langsmith_settings, a_logins_token_goes_to_its_own_server_with_its_workspace)
{
	log_in("{\"current_profile\": \"work\", \"profiles\": {" TWO_PROFILES "}}");
	expect_work();
	rest_account_close(&account);
	setenv("LANGSMITH_ENDPOINT", "https://other.example", 1);
	cr_expect(eq(int, open_account(), ERR_AUTH));
	cr_expect(strstr(e.text, "https://other.example") != NULL, "%s", e.text);
	scratch_remove(&logged_in);
}

Test(langsmith_settings, a_logins_profile_can_be_named)
{
	log_in("{\"profiles\": {" TWO_PROFILES "}}");
	setenv("LANGSMITH_PROFILE", "work", 1);
	expect_work();
	scratch_remove(&logged_in);
}

Test(langsmith_settings, a_login_whose_key_is_elsewhere_says_so)
{
	log_in("{\"profiles\": {\"default\": {\"api_key_env\": \"MY_KEY\"}}}");
	cr_expect(eq(int, open_account(), ERR_INVALID));
	cr_expect(strstr(e.text, "api_key_env") != NULL, "%s", e.text);
	scratch_remove(&logged_in);
}
