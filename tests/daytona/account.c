/* The API's address and the key, from the environment. */
#include "providers/base/cleanup.h"
#include "providers/daytona/account.h"
#include "tests/support/scratch.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void set_up(void)
{
	static const char *const names[] = { "DAYTONA_API_URL", "DAYTONA_SERVER_URL",
		"DAYTONA_API_KEY", "DAYTONA_JWT_TOKEN", "DAYTONA_ORGANIZATION_ID", "DAYTONA_TARGET",
		"CREDENTIALS_DIRECTORY" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		unsetenv(names[i]);
	setenv("DAYTONA_CONFIG_DIR", "/nowhere", 1);
}

TestSuite(account, .init = set_up, .timeout = 300);

static const struct provider_config plain;

static void expect(const char *url, const char *credential, const char *organization)
{
	struct rest_account a = { 0 };
	struct error e = { 0 };
	const char *got = NULL;

	cr_assert(eq(int, daytona_account_open(&a, &plain, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(str, a.rest.base_url, (char *)url));
	cr_expect(eq(str, (char *)a.rest.headers[0].value, (char *)credential));
	cr_expect(a.rest.headers[0].is_secret);
	for (size_t i = 0; i < a.rest.headers_count; i++)
		if (!strcmp(a.rest.headers[i].name, "X-Daytona-Organization-ID"))
			got = a.rest.headers[i].value;
	cr_expect(organization ? got && !strcmp(got, organization) : !got);
	rest_account_close(&a);
}

static void expect_failure(enum err want, const char *part)
{
	struct rest_account a = { 0 };
	struct error e = { 0 };

	cr_expect(eq(int, daytona_account_open(&a, &plain, &e), (int)want));
	cr_expect(strstr(e.text, part) != NULL, "%s", e.text);
}

Test(account, of_a_key_alone_is_the_vendors_cloud)
{
	setenv("DAYTONA_API_KEY", "dtn_1", 1);
	setenv("DAYTONA_ORGANIZATION_ID", "org", 1);
	expect("https://app.daytona.io/api", "Bearer dtn_1", NULL);
}

Test(account, the_older_name_of_the_url_counts_less)
{
	setenv("DAYTONA_API_KEY", "dtn_1", 1);
	setenv("DAYTONA_SERVER_URL", "https://old.example/api/", 1);
	expect("https://old.example/api", "Bearer dtn_1", NULL);
	setenv("DAYTONA_API_URL", "https://new.example/api", 1);
	expect("https://new.example/api", "Bearer dtn_1", NULL);
}

Test(account, a_token_belongs_to_an_organization)
{
	setenv("DAYTONA_JWT_TOKEN", "jwt", 1);
	expect_failure(ERR_AUTH, "DAYTONA_ORGANIZATION_ID");
	setenv("DAYTONA_ORGANIZATION_ID", "org", 1);
	expect("https://app.daytona.io/api", "Bearer jwt", "org");
	setenv("DAYTONA_API_KEY", "dtn_1", 1);
	expect("https://app.daytona.io/api", "Bearer dtn_1", NULL);
}

Test(account, a_key_file_goes_before_a_token)
{
	struct scratch scratch;
	char file[128];

	scratch_make(&scratch);
	snprintf(file, sizeof file, "%s/key", scratch.path);
	scratch_write_text(&scratch, "key", "dtn_file\n");
	cr_assert(eq(int, chmod(file, 0600), 0));
	const struct provider_config cfg = { .key_file = file };
	struct rest_account a = { 0 };
	struct error e = { 0 };

	setenv("DAYTONA_JWT_TOKEN", "jwt", 1);
	setenv("DAYTONA_ORGANIZATION_ID", "org", 1);
	cr_assert(eq(int, daytona_account_open(&a, &cfg, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(str, (char *)a.rest.headers[0].value, "Bearer dtn_file"));
	cr_expect(eq(sz, a.rest.headers_count, 3));
	rest_account_close(&a);
	scratch_remove(&scratch);
}

Test(account, without_a_key_says_which_variable)
{
	expect_failure(ERR_AUTH, "DAYTONA_API_KEY");
}

Test(account, plain_http_goes_to_this_machine_alone)
{
	setenv("DAYTONA_API_KEY", "dtn_1", 1);
	setenv("DAYTONA_API_URL", "http://app.example/api", 1);
	expect_failure(ERR_INVALID, "http");
}

Test(account, of_a_private_network_may_be_without_tls_and_a_public_one_when_that_is_asked_for)
{
	setenv("DAYTONA_API_KEY", "dtn_1", 1);
	setenv("DAYTONA_API_URL", "http://192.168.1.5:3000/api", 1);
	expect("http://192.168.1.5:3000/api", "Bearer dtn_1", NULL);
	setenv("DAYTONA_API_URL", "http://daytona.example/api", 1);
	expect_failure(ERR_INVALID, "-o insecure_http");
	setenv("SANDBOXFS_INSECURE_HTTP", "1", 1);
	expect("http://daytona.example/api", "Bearer dtn_1", NULL);
	unsetenv("SANDBOXFS_INSECURE_HTTP");
}

Test(account, has_the_headers_that_a_gateway_wants)
{
	struct rest_account a = { 0 };
	struct error e = { 0 };

	setenv("DAYTONA_API_KEY", "dtn_1", 1);
	setenv("SANDBOXFS_HEADERS", "X-Gate: open", 1);
	cr_assert(eq(int, daytona_account_open(&a, &plain, &e), ERR_OK), "%s", e.text);
	const struct http_header *last = &a.rest.headers[a.rest.headers_count - 1];

	cr_expect(eq(str, (char *)last->name, "X-Gate"));
	cr_expect(eq(str, (char *)last->value, "open"));
	cr_expect(last->is_secret);
	rest_account_close(&a);
	unsetenv("SANDBOXFS_HEADERS");
}

/* ---- The login of the vendor's own program ---- */

static struct scratch logged_in;

static void log_in(const char *profiles)
{
	AUTO_FREE char *text = NULL;

	scratch_make(&logged_in);
	cr_assert(asprintf(&text, "{\"activeProfile\": \"b\", \"profiles\": [%s]}", profiles) > 0);
	scratch_write_text(&logged_in, "config.json", text);
	setenv("DAYTONA_CONFIG_DIR", logged_in.path, 1);
}

#define OTHER_PROFILE                                                                              \
	"{\"id\": \"a\", \"api\": {\"url\": \"https://a.example\", \"key\": \"dtn_a\"}}, "

Test(account, a_login_has_the_active_profiles_key_and_server)
{
	log_in(OTHER_PROFILE "{\"id\": \"b\", \"activeOrganizationId\": \"org\", \"api\": "
			     "{\"url\": \"https://b.example/api\", \"key\": \"dtn_b\"}}");
	expect("https://b.example/api", "Bearer dtn_b", NULL);
	setenv("DAYTONA_API_URL", "https://b.example/api/", 1);
	expect("https://b.example/api", "Bearer dtn_b", NULL);
	setenv("DAYTONA_API_URL", "https://other.example/api", 1);
	expect_failure(ERR_AUTH, "https://other.example/api");
	setenv("DAYTONA_API_KEY", "dtn_1", 1);
	expect("https://other.example/api", "Bearer dtn_1", NULL);
	scratch_remove(&logged_in);
}

Test(account, a_login_without_a_server_is_for_the_vendors_cloud)
{
	log_in(OTHER_PROFILE "{\"id\": \"b\", \"api\": {\"key\": \"dtn_b\"}}");
	expect("https://app.daytona.io/api", "Bearer dtn_b", NULL);
	scratch_remove(&logged_in);
}

Test(account, a_login_may_have_a_token_of_an_organization)
{
	log_in("{\"id\": \"b\", \"activeOrganizationId\": \"org\", \"api\": {\"url\": "
	       "\"https://b.example/api\", \"key\": null, \"token\": {\"accessToken\": \"jwt\", "
	       "\"expiresAt\": \"2999-01-01T00:00:00Z\"}}}");
	expect("https://b.example/api", "Bearer jwt", "org");
	scratch_remove(&logged_in);
	log_in("{\"id\": \"b\", \"api\": {\"token\": {\"accessToken\": \"jwt\", "
	       "\"expiresAt\": \"2020-01-01T00:00:00Z\"}}}");
	expect_failure(ERR_AUTH, "log in again: daytona login");
	scratch_remove(&logged_in);
}

Test(account, a_login_that_is_broken_is_named)
{
	log_in("nothing");
	expect_failure(ERR_INVALID, "config.json: it is no JSON object");
	scratch_remove(&logged_in);
}

Test(account, a_login_of_no_active_profile_is_none)
{
	log_in("{\"id\": \"a\", \"api\": {\"key\": \"dtn_a\"}}");
	expect_failure(ERR_AUTH, "log in with daytona login");
	scratch_remove(&logged_in);
}

Test(account, a_login_is_below_the_users_configuration)
{
	scratch_make(&logged_in);
	scratch_mkdir(&logged_in, "daytona", 0700);
	scratch_write_text(&logged_in, "daytona/config.json",
		"{\"activeProfile\": \"b\", \"profiles\": [{\"id\": \"b\", \"api\": {\"key\": "
		"\"dtn_b\"}}]}");
	unsetenv("DAYTONA_CONFIG_DIR");
	setenv("XDG_CONFIG_HOME", logged_in.path, 1);
	expect("https://app.daytona.io/api", "Bearer dtn_b", NULL);
	scratch_remove(&logged_in);
}
