/* The owner of a login's file, the server its key goes to, and settings that come before it. */
#include "providers/base/cleanup.h"
#include "providers/key.h"
#include "providers/rest/login.h"
#include "tests/support/scratch.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct scratch scratch;
static char file[128];

static void set_up(void)
{
	scratch_make(&scratch);
	snprintf(file, sizeof file, "%s/login", scratch.path);
	unsetenv("RUNLOOP_API_KEY");
	unsetenv("CREDENTIALS_DIRECTORY");
	unsetenv("MODAL_TOKEN_ID");
	unsetenv("MODAL_TOKEN_SECRET");
}

static void tear_down(void)
{
	scratch_remove(&scratch);
}

TestSuite(login, .init = set_up, .fini = tear_down, .timeout = 300);

/* ---- A format: { "key", "url", "until" } ---- */

static char *find_path(void)
{
	return strdup(file);
}

static enum err read_members(struct login *out, const char *text, size_t len, struct error *e)
{
	struct json_object *object;
	enum err kind = login_json(&object, text, len, e);

	if (!kind)
		kind = login_take(&out->key, object, "key", e);
	if (!kind)
		kind = login_take(&out->url, object, "url", e);
	if (!kind) {
		struct json_object *until = json_object_object_get(object, "until");

		kind = until ? login_check_time(json_object_get_string(until), e) : ERR_OK;
	}
	json_object_put(object);
	return kind;
}

static const struct login_format format = {
	.path = find_path, .read = read_members, .command = "vendor login"
};

static void write_login(const char *text, mode_t mode)
{
	scratch_write_text(&scratch, "login", text);
	cr_assert(eq(int, chmod(file, mode), 0));
}

static void refuse(enum err want, const char *words)
{
	struct login login;
	struct error e = { 0 };

	cr_expect(eq(int, login_read(&login, &format, &e), (int)want), "%s", e.text);
	cr_expect(strstr(e.text, words) != NULL, "%s", e.text);
	cr_expect(strstr(e.text, file) != NULL, "%s", e.text);
	cr_expect(strstr(e.text, "secret") == NULL, "%s", e.text);
	cr_expect(strchr(e.text, '\n') == NULL);
	cr_expect(login.key == NULL && login.path == NULL);
}

/* ---- The owner of the file ---- */

Test(login, is_read_where_others_may_only_read_it)
{
	static const mode_t modes[] = { 0600, 0644, 0400 };

	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
		struct login login;
		struct error e = { 0 };

		write_login("{\"key\": \"secret\"}", modes[i]);
		cr_assert(eq(int, login_read(&login, &format, &e), ERR_OK), "%s", e.text);
		cr_expect(eq(str, login.key, "secret"));
		cr_expect(eq(str, login.path, file));
		login_release(&login);
	}
}

Test(login, that_others_may_write_is_refused)
{
	static const mode_t modes[] = { 0620, 0602, 0666 };

	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
		write_login("{\"key\": \"secret\"}", modes[i]);
		refuse(ERR_INVALID, "chmod go-w");
	}
}

Test(login, of_somebody_else_is_refused)
{
	if (geteuid())
		cr_skip("only root can give a file away");
	write_login("{\"key\": \"secret\"}", 0600);
	cr_assert(eq(int, chown(file, 12345, -1), 0));
	refuse(ERR_INVALID, "belongs to user 12345");
}

Test(login, that_is_no_regular_file_is_refused_and_not_waited_for)
{
	cr_assert(eq(int, mkfifo(file, 0600), 0));
	refuse(ERR_INVALID, "not a regular file");
}

Test(login, that_is_broken_is_named_without_what_stands_in_it)
{
	static const char *const texts[] = { "", "{\"key\": \"secret", "[\"secret\"]", "secret",
		"{\"key\": \"secret\"} secret" };

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		write_login(texts[i], 0600);
		refuse(ERR_INVALID, "no JSON object");
	}
	write_login("{\"key\": \"secret\\r\\nX: y\"}", 0600);
	refuse(ERR_INVALID, "characters that none has");
	write_login("{\"key\": \"x\", \"url\": \"secret \"}", 0600);
	refuse(ERR_INVALID, "characters that none has");
}

Test(login, that_is_longer_than_any_is_refused)
{
	AUTO_FREE char *text = malloc(LOGIN_FILE_MAX + 1);

	memset(text, ' ', LOGIN_FILE_MAX);
	text[LOGIN_FILE_MAX] = 0;
	write_login(text, 0600);
	refuse(ERR_INVALID, "longer than 256 KiB");
}

Test(login, that_has_run_out_says_how_to_renew_it)
{
	write_login("{\"key\": \"secret\", \"until\": \"2020-01-01T00:00:00Z\"}", 0600);
	refuse(ERR_AUTH, "has run out; log in again: vendor login");
}

/* ---- Settings that come before the login ---- */

static void find(const char *key, bool is_login)
{
	AUTO_LOGIN struct login login = { 0 };
	struct error e = { 0 };

	cr_assert(eq(int, key_find(&login, NULL, "runloop", VARIABLE_KEY, &format, &e), ERR_OK),
		"%s", e.text);
	cr_expect(eq(str, login.key, (char *)key));
	cr_expect(eq(int, login.path != NULL, is_login));
}

static void source(const char *words)
{
	AUTO_BUF struct buf out = BUF_INIT(4096);
	struct error e = { 0 };

	cr_assert(eq(int, key_source(&out, "runloop", &format, &e), ERR_OK), "%s", e.text);
	cr_expect(strstr(buf_text(&out), words) != NULL, "%s", buf_text(&out));
	cr_expect(strstr(buf_text(&out), "secret") == NULL, "%s", buf_text(&out));
}

Test(login, counts_where_neither_a_variable_nor_a_credential_has_a_key)
{
	write_login("{\"key\": \"secret-login\"}", 0600);
	find("secret-login", true);
	source("the login in ");
	source(file);

	scratch_write_text(&scratch, "RUNLOOP_API_KEY", "secret-credential\n");
	cr_assert(eq(int, fchmodat(scratch.fd, "RUNLOOP_API_KEY", 0400, 0), 0));
	setenv("CREDENTIALS_DIRECTORY", scratch.path, 1);
	find("secret-credential", false);
	source("a credential in ");

	setenv("RUNLOOP_API_KEY", "secret-variable", 1);
	find("secret-variable", false);
	source("RUNLOOP_API_KEY");
}

Test(login, that_is_broken_is_not_looked_at_where_a_variable_has_a_key)
{
	write_login("secret", 0666);
	setenv("RUNLOOP_API_KEY", "variable", 1);
	find("variable", false);
}

Test(login, that_is_missing_is_reported_with_the_command_that_makes_one)
{
	struct login login;
	struct error e = { 0 };

	cr_assert(eq(int, key_find(&login, NULL, "runloop", VARIABLE_KEY, &format, &e), ERR_AUTH));
	cr_expect(strstr(e.text, "set RUNLOOP_API_KEY, log in with vendor login, or give") != NULL,
		"%s", e.text);
	write_login("{}", 0600);
	cr_expect(eq(int, key_find(&login, NULL, "runloop", VARIABLE_KEY, &format, &e), ERR_AUTH));
}

Test(login, completes_a_key_that_is_in_halves)
{
	struct login_format halves = format;
	AUTO_BUF struct buf both = BUF_INIT(4096), one = BUF_INIT(4096);

	halves.is_in_halves = true;
	write_login("{\"key\": \"secret\"}", 0600);
	setenv("MODAL_TOKEN_ID", "ak-1", 1);
	cr_assert(eq(int, key_source(&one, "modal", &halves, NULL), ERR_OK));
	cr_expect(strstr(buf_text(&one), "MODAL_TOKEN_ID and the login in ") != NULL, "%s",
		buf_text(&one));
	setenv("MODAL_TOKEN_SECRET", "as-1", 1);
	cr_assert(eq(int, key_source(&both, "modal", &halves, NULL), ERR_OK));
	cr_expect(eq(str, (char *)buf_text(&both), "MODAL_TOKEN_ID"));
}

/* ---- The server that the key goes to ---- */

static enum err check_url(const char *path, const char *given_by, const char *url)
{
	struct login login = { .path = (char *)path, .url = (char *)given_by };

	return login_check_url(&login, "https://own.example/api", url, NULL);
}

Test(login, goes_to_the_server_that_gave_it_and_nowhere_else)
{
	cr_expect(eq(int, check_url("f", NULL, "https://own.example/v2"), ERR_OK));
	cr_expect(eq(int, check_url("f", NULL, "https://other.example/api"), ERR_AUTH));
	cr_expect(eq(int, check_url("f", NULL, "http://own.example/api"), ERR_AUTH));
	cr_expect(eq(int, check_url("f", NULL, "https://own.example:444/api"), ERR_AUTH));
	cr_expect(
		eq(int, check_url("f", "https://mine.example", "https://mine.example/x"), ERR_OK));
	cr_expect(
		eq(int, check_url("f", "https://mine.example", "https://own.example/x"), ERR_AUTH));
	cr_expect(eq(int, check_url(NULL, NULL, "https://other.example/api"), ERR_OK));
}
