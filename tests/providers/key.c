#include "providers/base/cleanup.h"
#include "providers/key.h"

#include "tests/support/scratch.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const names[] = { "LANGSMITH_API_KEY", "LANGCHAIN_API_KEY" };
static struct scratch scratch;
static char file[128];

static void set_up(void)
{
	scratch_make(&scratch);
	snprintf(file, sizeof file, "%s/key", scratch.path);
	unsetenv(names[0]);
	unsetenv(names[1]);
}

static void tear_down(void)
{
	scratch_remove(&scratch);
}

TestSuite(key, .init = set_up, .fini = tear_down, .timeout = 300);

static void write_key(const char *text, mode_t mode)
{
	scratch_write_text(&scratch, "key", text);
	cr_assert(eq(int, chmod(file, mode), 0));
}

/* Expects a refusal of the file that has `words`, and not the key. */
static void refuse(const char *words)
{
	struct error e = { 0 };
	char *key = NULL;

	cr_expect(eq(int, key_read(&key, file, "langsmith", VARIABLE_KEY, &e), ERR_AUTH));
	cr_expect(strstr(e.text, words) != NULL, "%s", e.text);
	cr_expect(strstr(e.text, "secret") == NULL, "%s", e.text);
	cr_expect(strchr(e.text, '\n') == NULL);
	cr_expect(key == NULL);
}

Test(key, is_the_first_line_of_the_file)
{
	static const char *const texts[] = { "secret", "secret\n", "secret\r\n", "secret \n",
		"secret\nanother line\n" };

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct error e = { 0 };
		char *key = NULL;

		write_key(texts[i], 0600);
		cr_expect(eq(int, key_read(&key, file, "langsmith", VARIABLE_KEY, &e), ERR_OK),
			"%s", e.text);
		cr_expect(eq(str, key, "secret"));
		key_free(key);
	}
}

Test(key, of_a_file_goes_before_the_environment)
{
	struct error e = { 0 };
	char *key = NULL;

	setenv(names[0], "other", 1);
	write_key("secret\n", 0400);
	cr_assert(
		eq(int, key_read(&key, file, "langsmith", VARIABLE_KEY, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(str, key, "secret"));
	key_free(key);
}

Test(key, is_the_first_variable_that_is_set_and_not_empty)
{
	struct error e = { 0 };
	char *key = NULL;

	setenv(names[0], "", 1);
	setenv(names[1], "second", 1);
	cr_assert(
		eq(int, key_read(&key, NULL, "langsmith", VARIABLE_KEY, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(str, key, "second"));
	key_free(key);
}

/*
 * As systemd has it for a service with User=: root's, and the access list's mask in the group's
 * bits.
 */
Test(key, is_a_credential_where_no_variable_is_set)
{
	AUTO_FREE char *credential = NULL;
	struct error e = { 0 };
	char *key = NULL;

	setenv("CREDENTIALS_DIRECTORY", scratch.path, 1);
	scratch_write_text(&scratch, names[1], "secret\n");
	cr_assert(asprintf(&credential, "%s/%s", scratch.path, names[1]) > 0);
	cr_assert(eq(int, chmod(credential, 0440), 0));
	cr_assert(
		eq(int, key_read(&key, NULL, "langsmith", VARIABLE_KEY, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(str, key, "secret"));
	key_free(key);

	cr_assert(eq(int, key_read(&key, credential, "langsmith", VARIABLE_KEY, &e), ERR_OK), "%s",
		e.text);
	key_free(key);

	cr_assert(eq(int, chmod(credential, 0444), 0));
	cr_expect(eq(int, key_read(&key, NULL, "langsmith", VARIABLE_KEY, &e), ERR_AUTH));

	setenv(names[0], "other", 1);
	cr_assert(
		eq(int, key_read(&key, NULL, "langsmith", VARIABLE_KEY, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(str, key, "other"));
	key_free(key);
}

Test(key, in_a_directory_next_to_the_credentials_is_no_credential)
{
	AUTO_FREE char *dir = NULL;

	cr_assert(asprintf(&dir, "%.*s", (int)strlen(scratch.path) - 1, scratch.path) > 0);
	setenv("CREDENTIALS_DIRECTORY", dir, 1);
	write_key("secret\n", 0640);
	refuse("lets others at the key; chmod 600");
}

Test(key, that_is_nowhere_is_an_error_with_the_way_out)
{
	struct error e = { 0 };
	char *key = NULL;

	cr_assert(eq(int, key_read(&key, NULL, "langsmith", VARIABLE_KEY, &e), ERR_AUTH));
	cr_expect(strstr(e.text, "langsmith: no key: set LANGSMITH_API_KEY or LANGCHAIN_API_KEY") !=
			NULL,
		"%s", e.text);
	cr_expect(strstr(e.text, "-o key_file=FILE (mode 0600)") != NULL, "%s", e.text);
	cr_expect(strstr(e.text, "sudo") != NULL, "%s", e.text);
}

Test(key, in_a_file_that_others_may_read_is_refused)
{
	static const mode_t modes[] = { 0644, 0640, 0604, 0660, 0601 };

	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
		write_key("secret\n", modes[i]);
		refuse("lets others at the key; chmod 600");
	}
}

Test(key, in_somebody_elses_file_is_refused)
{
	if (geteuid())
		cr_skip_test("needs root to give a file away");
	write_key("secret\n", 0600);
	cr_assert(eq(int, chown(file, 12345, 12345), 0));
	refuse("belongs to user 12345");
}

Test(key, that_is_no_text_of_a_header_is_refused)
{
	static const char *const texts[] = { "", "\nsecret\n", "secret\tx\n", "secret secret\n",
		"secret\x80\n", "secret\x7f\n" };

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		write_key(texts[i], 0600);
		refuse("is not a key");
	}
	setenv(names[0], "secret\r\nX-Other: 1", 1);
	struct error e = { 0 };
	char *key = NULL;

	cr_assert(eq(int, key_read(&key, NULL, "langsmith", VARIABLE_KEY, &e), ERR_AUTH));
	cr_expect(strstr(e.text, "LANGSMITH_API_KEY is not a key") != NULL, "%s", e.text);
	cr_expect(strstr(e.text, "secret") == NULL, "%s", e.text);
}

Test(key, longer_than_any_is_refused)
{
	char text[3000];

	memset(text, 'x', sizeof text);
	text[sizeof text - 1] = 0;
	write_key(text, 0600);
	refuse("too long");
	text[1024] = 0;
	write_key(text, 0600);

	struct error e = { 0 };
	char *key = NULL;

	cr_assert(
		eq(int, key_read(&key, file, "langsmith", VARIABLE_KEY, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(str, key, text));
	key_free(key);
}

Test(key, is_not_waited_for_and_not_read_from_what_is_no_file)
{
	refuse("No such file or directory; put the key into a file of mode 0600");
	cr_assert(eq(int, mkfifo(file, 0600), 0));
	refuse("not a regular file");
	cr_assert(eq(int, unlink(file), 0));
	cr_assert(eq(int, mkdir(file, 0700), 0));
	refuse("not a regular file");
}
