/* The login of the vendor's own program, and the server that its key goes to. */
#include "providers/e2b/account.h"
#include "tests/support/scratch.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct scratch scratch;

static void set_up(void)
{
	static const char *const names[] = { "E2B_API_KEY", "E2B_DOMAIN", "E2B_API_URL",
		"E2B_SANDBOX_URL", "E2B_DEBUG", "CREDENTIALS_DIRECTORY" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		unsetenv(names[i]);
	scratch_make(&scratch);
	scratch_mkdir(&scratch, ".e2b", 0700);
	setenv("HOME", scratch.path, 1);
}

static void tear_down(void)
{
	scratch_remove(&scratch);
}

TestSuite(e2b_login, .init = set_up, .fini = tear_down, .timeout = 300);

static void expect_key(const char *text, const char *want)
{
	AUTO_LOGIN struct login login = { 0 };
	struct error e = { 0 };
	enum err kind;

	scratch_write_text(&scratch, ".e2b/config.json", text);
	kind = login_read(&login, &e2b_login, &e);
	cr_expect(eq(int, kind, want ? ERR_OK : ERR_NOT_FOUND), "%s", e.text);
	cr_expect(want ? login.key && !strcmp(login.key, want) : !login.key);
}

Test(e2b_login, has_the_key_of_the_project_or_of_the_team_before_there_were_projects)
{
	expect_key("{\"version\": 2, \"identity\": {\"email\": \"a@b\"},"
		   " \"tokens\": {\"access_token\": \"t\"}, \"projectApiKey\": \"e2b_project\"}",
		"e2b_project");
	expect_key("{\"version\": 1, \"teamApiKey\": \"e2b_team\"}", "e2b_team");
	expect_key("{\"teamApiKey\": \"e2b_team\", \"projectApiKey\": \"e2b_project\"}",
		"e2b_project");
	expect_key("{\"accessToken\": \"sk_e2b_1\"}", NULL);
	expect_key("{\"projectApiKey\": 1}", NULL);
}

static enum err open_account(struct error *e)
{
	const struct provider_config cfg = { 0 };
	AUTO_ACCOUNT struct account a = { 0 };

	return account_open(&a, &cfg, e);
}

Test(e2b_login, opens_the_vendors_own_domains_and_no_others)
{
	struct error e = { 0 };

	scratch_write_text(&scratch, ".e2b/config.json", "{\"projectApiKey\": \"e2b_secret\"}");
	cr_expect(eq(int, open_account(&e), ERR_OK), "%s", e.text);
	setenv("E2B_DOMAIN", "e2b.dev", 1);
	cr_expect(eq(int, open_account(&e), ERR_OK), "%s", e.text);
	setenv("E2B_DOMAIN", "e2b.dev.example", 1);
	cr_expect(eq(int, open_account(&e), ERR_AUTH));
	cr_expect(strstr(e.text, "https://api.e2b.dev.example") != NULL, "%s", e.text);
	cr_expect(strstr(e.text, ".e2b/config.json") != NULL, "%s", e.text);
	cr_expect(strstr(e.text, "e2b_secret") == NULL, "%s", e.text);
	unsetenv("E2B_DOMAIN");
	setenv("E2B_API_URL", "http://127.0.0.1:1", 1);
	cr_expect(eq(int, open_account(&e), ERR_AUTH));
	setenv("E2B_API_KEY", "e2b_1", 1);
	cr_expect(eq(int, open_account(&e), ERR_OK), "%s", e.text);
}
