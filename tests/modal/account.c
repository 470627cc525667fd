#include "providers/modal/account.h"

#include "providers/base/cleanup.h"
#include "tests/support/scratch.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static struct scratch scratch;

static void set_up(void)
{
	static const char *const variables[] = { "MODAL_SERVER_URL", "MODAL_TOKEN_ID",
		"MODAL_TOKEN_SECRET", "MODAL_ENVIRONMENT", "MODAL_PROFILE", "MODAL_SANDBOX_V2",
		"MODAL_OAUTH_REFRESH_TOKEN", "MODAL_OAUTH_CLIENT_ID", "MODAL_OAUTH_CLIENT_SECRET",
		"MODAL_OAUTH_JWT_KEY", "MODAL_IMAGE_BUILDER_VERSION", "MODAL_MAX_THROTTLE_WAIT",
		"MODAL_CONFIG_PATH" };

	for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
		unsetenv(variables[i]);
	scratch_make(&scratch);
	setenv("HOME", scratch.path, 1);
}

static void tear_down(void)
{
	scratch_remove(&scratch);
}

TestSuite(modal_settings, .init = set_up, .fini = tear_down, .timeout = 300);

/* Writes the file and returns its path; the caller frees it. */
static char *write_file(const char *name, const char *text)
{
	AUTO_CLOSE int fd = -1;
	char *path;

	cr_assert(asprintf(&path, "%s/%s", scratch.path, name) > 0);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	cr_assert(eq(int, (int)write(fd, text, strlen(text)), (int)strlen(text)));
	return path;
}

static void read_settings(struct modal_settings *s, const char *key_file)
{
	struct error e = { 0 };

	modal_settings_read(s, key_file, &e);
	cr_assert(eq(int, e.kind, ERR_OK), "%s", e.text);
}

static const char two_profiles[] =
	"[old]\ntoken_id = \"ak-old\"\ntoken_secret = \"as-old\"\n"
	"[work]\ntoken_id = \"ak-work\"\ntoken_secret = \"as-work\"\nactive = true\n"
	"environment = \"staging\"\nserver_url = \"https://modal.example/\"\n";

static void write_profiles(void)
{
	free(write_file(".modal.toml", two_profiles));
}

Test(modal_settings, the_environment_is_enough)
{
	struct modal_settings s;

	setenv("MODAL_TOKEN_ID", "ak-1", 1);
	setenv("MODAL_TOKEN_SECRET", "as-1", 1);
	read_settings(&s, NULL);
	cr_expect(eq(str, s.server_url, "https://api.modal.com"));
	cr_expect(eq(str, s.token_id, "ak-1"));
	cr_expect(eq(str, s.environment, ""));
	cr_expect(not(s.is_v1));
	cr_expect(lt(i64, s.throttle_max_ms, 0));
	modal_settings_release(&s);
}

Test(modal_settings, the_active_profile_is_taken)
{
	write_profiles();
	struct modal_settings s;

	read_settings(&s, NULL);
	cr_expect(eq(str, s.token_id, "ak-work"));
	cr_expect(eq(str, s.environment, "staging"));
	cr_expect(eq(str, s.server_url, "https://modal.example"));
	modal_settings_release(&s);
}

Test(modal_settings, a_profile_can_be_named)
{
	AUTO_FREE char *path = write_file("elsewhere.toml", two_profiles);
	struct modal_settings s;

	setenv("MODAL_CONFIG_PATH", path, 1);
	setenv("MODAL_PROFILE", "old", 1);
	read_settings(&s, NULL);
	cr_expect(eq(str, s.token_secret, "as-old"));
	cr_expect(eq(str, s.environment, ""));
	modal_settings_release(&s);
}

Test(modal_settings, the_environment_counts_before_the_profile)
{
	write_profiles();
	struct modal_settings s;

	setenv("MODAL_ENVIRONMENT", "mine", 1);
	setenv("MODAL_SANDBOX_V2", "0", 1);
	setenv("MODAL_MAX_THROTTLE_WAIT", "1.5", 1);
	read_settings(&s, NULL);
	cr_expect(eq(str, s.environment, "mine"));
	cr_expect(eq(str, s.token_id, "ak-work"));
	cr_expect(s.is_v1);
	cr_expect(eq(i64, s.throttle_max_ms, 1500));
	modal_settings_release(&s);
}

Test(modal_settings, a_key_file_has_both_halves)
{
	AUTO_FREE char *path = write_file("key", "ak-file:as-file\n");
	struct modal_settings s;

	setenv("MODAL_TOKEN_ID", "ak-1", 1);
	setenv("MODAL_TOKEN_SECRET", "as-1", 1);
	read_settings(&s, path);
	cr_expect(eq(str, s.token_id, "ak-file"));
	cr_expect(eq(str, s.token_secret, "as-file"));
	modal_settings_release(&s);
}

Test(modal_settings, a_key_file_may_have_the_secret_half_alone)
{
	AUTO_FREE char *path = write_file("key", "as-file\n");
	struct modal_settings s;

	setenv("MODAL_TOKEN_ID", "ak-1", 1);
	read_settings(&s, path);
	cr_expect(eq(str, s.token_id, "ak-1"));
	cr_expect(eq(str, s.token_secret, "as-file"));
	modal_settings_release(&s);
}

Test(modal_settings, half_a_token_is_refused_with_the_other_halfs_name)
{
	struct modal_settings s;
	struct error e = { 0 };

	setenv("MODAL_TOKEN_ID", "ak-1", 1);
	cr_expect(eq(int, modal_settings_read(&s, NULL, &e), ERR_AUTH));
	cr_expect(ne(ptr, strstr(e.text, "MODAL_TOKEN_SECRET"), NULL), "%s", e.text);
}

/* ---- OAuth ---- */

static void set_oauth(void)
{
	setenv("MODAL_OAUTH_REFRESH_TOKEN", "rt-1", 1);
	setenv("MODAL_OAUTH_CLIENT_ID", "oc-1", 1);
	setenv("MODAL_OAUTH_CLIENT_SECRET", "os-1", 1);
}

static void expect_refused(enum err want, const char *words)
{
	struct modal_settings s;
	struct error e = { 0 };

	cr_expect(eq(int, modal_settings_read(&s, NULL, &e), want));
	cr_expect(ne(ptr, strstr(e.text, words), NULL), "%s", e.text);
}

Test(modal_settings, oauth_takes_the_tokens_place)
{
	struct modal_settings s;

	set_oauth();
	read_settings(&s, NULL);
	cr_expect(s.is_oauth);
	cr_expect(eq(str, s.refresh_token, "rt-1"));
	cr_expect(eq(str, s.client_id, "oc-1"));
	cr_expect(eq(str, s.client_secret, "os-1"));
	modal_settings_release(&s);
}

Test(modal_settings, a_key_file_counts_before_oauth)
{
	AUTO_FREE char *file = write_file("key", "ak-1:as-1\n");
	struct modal_settings s;

	set_oauth();
	read_settings(&s, file);
	cr_expect(not(s.is_oauth));
	modal_settings_release(&s);
}

Test(modal_settings, a_token_and_oauth_are_one_too_many)
{
	set_oauth();
	setenv("MODAL_TOKEN_ID", "ak-1", 1);
	expect_refused(ERR_INVALID, "only one");
}

Test(modal_settings, a_part_of_oauth_is_refused_with_the_others_name)
{
	set_oauth();
	unsetenv("MODAL_OAUTH_CLIENT_ID");
	expect_refused(ERR_AUTH, "MODAL_OAUTH_CLIENT_ID");
}

Test(modal_settings, a_key_to_sign_with_is_refused_with_what_would_do)
{
	set_oauth();
	unsetenv("MODAL_OAUTH_CLIENT_SECRET");
	setenv("MODAL_OAUTH_JWT_KEY", "-----BEGIN", 1);
	expect_refused(ERR_UNSUPPORTED, "MODAL_OAUTH_CLIENT_SECRET");
}

Test(modal_settings, a_file_that_makes_no_sense_is_named)
{
	AUTO_FREE char *path = write_file(".modal.toml", "[a\n");
	struct modal_settings s;
	struct error e = { 0 };

	cr_expect(eq(int, modal_settings_read(&s, NULL, &e), ERR_INVALID));
	cr_expect(ne(ptr, strstr(e.text, path), NULL), "%s", e.text);
}

/* ---- The server that the profile's secret goes to ---- */

Test(modal_settings, the_default_profile_is_taken_where_none_is_active)
{
	struct modal_settings s;

	free(write_file(".modal.toml",
		"[other]\ntoken_id = \"ak-o\"\ntoken_secret = \"as-o\"\n"
		"[default]\ntoken_id = \"ak-d\"\ntoken_secret = \"as-d\"\n"));
	read_settings(&s, NULL);
	cr_expect(eq(str, s.token_id, "ak-d"));
	modal_settings_release(&s);
}

Test(modal_settings, a_profiles_secret_goes_to_the_profiles_server_alone)
{
	struct modal_settings s;

	write_profiles();
	setenv("MODAL_SERVER_URL", "https://other.example", 1);
	expect_refused(ERR_AUTH, "https://other.example");
	setenv("MODAL_TOKEN_SECRET", "as-1", 1);
	read_settings(&s, NULL);
	cr_expect(eq(str, s.server_url, "https://other.example"));
	modal_settings_release(&s);
}

Test(modal_settings, a_file_that_others_may_write_is_refused)
{
	AUTO_FREE char *path = write_file(".modal.toml", two_profiles);

	cr_assert(eq(int, chmod(path, 0666), 0));
	expect_refused(ERR_INVALID, "chmod go-w");
}
