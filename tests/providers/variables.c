#include "providers/variables.h"

#include "providers/base/buf.h"
#include "providers/base/cleanup.h"
#include "providers/provider.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

TestSuite(variables, .timeout = 300);

/* The names of the provider's variables of keys, with ", " between. */
static void put_key_names(struct buf *out, const char *provider)
{
	const struct variable *v;

	for (size_t i = 0; (v = variable_of(provider, VARIABLE_KEY, i)); i++)
		buf_printf(out, "%s%s", i ? ", " : "", v->name);
}

Test(variables, of_keys_are_those_that_the_providers_tell)
{
	const struct provider_ops *ops;

	for (size_t i = 0; (ops = provider_at(i)); i++) {
		AUTO_BUF struct buf names = BUF_INIT(1000);

		put_key_names(&names, ops->name);
		cr_expect(eq(str, (char *)buf_text(&names), (char *)ops->key_names));
	}
}

Test(variables, belong_to_a_provider_or_to_all_and_are_listed_once)
{
	const struct variable *v;

	for (size_t i = 0; (v = variable_at(i)); i++) {
		if (*v->provider)
			cr_expect(not(zero(ptr,
					  (void *)provider_find(v->provider, strlen(v->provider)))),
				"%s: of %s", v->name, v->provider);
		for (size_t before = 0; before < i; before++)
			cr_expect(ne(str, (char *)variable_at(before)->name, (char *)v->name));
	}
}

Test(variables, that_are_empty_are_not_set)
{
	setenv("RUNLOOP_BASE_URL", "", 1);
	cr_expect(zero(ptr, (void *)variable_set("RUNLOOP_BASE_URL")));
	cr_expect(eq(str, (char *)variable("RUNLOOP_BASE_URL"), "https://api.runloop.ai"));
	cr_expect(
		eq(str, (char *)variable_first("runloop", VARIABLE_URL), "https://api.runloop.ai"));
}

Test(variables, of_an_older_name_count_behind_the_newer)
{
	unsetenv("DAYTONA_API_URL");
	setenv("DAYTONA_SERVER_URL", "https://older.example", 1);
	cr_expect(
		eq(str, (char *)variable_first("daytona", VARIABLE_URL), "https://older.example"));
	setenv("DAYTONA_API_URL", "https://newer.example", 1);
	cr_expect(
		eq(str, (char *)variable_first("daytona", VARIABLE_URL), "https://newer.example"));
}

/* ---- Hidden ---- */

static bool is_in_environment(const char *text)
{
	AUTO_CLOSE int fd = open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
	AUTO_BUF struct buf all = BUF_INIT(1 << 20);
	ssize_t got;

	do {
		unsigned char *room = buf_reserve(&all, 4096);

		got = read(fd, room, 4096);
		buf_filled(&all, got > 0 ? (size_t)got : 0);
	} while (got > 0);
	return memmem(all.bytes, all.len, text, strlen(text)) != NULL;
}

/* A program whose environment is what execve(2) gave it. */
static void hide_and_look(void)
{
	if (!is_in_environment("e2b_hidden"))
		_exit(1);
	variables_hide();
	if (is_in_environment("e2b_hidden") || is_in_environment("second"))
		_exit(2);
	if (getenv("E2B_API_KEY"))
		_exit(3);
	if (strcmp(variable("E2B_API_KEY"), "e2b_hidden") || variable_set("RUNLOOP_API_KEY"))
		_exit(4);
	if (!is_in_environment("OTHER=stays"))
		_exit(5);
	_exit(0);
}

/* Runs where this program was started for it, before Criterion's main. */
__attribute__((constructor)) static void be_the_program(void)
{
	if (getenv("VARIABLES_HIDE"))
		hide_and_look();
}

Test(variables, that_are_hidden_are_in_no_environment_and_are_found_all_the_same)
{
	char *const argv[] = { "variables", NULL };
	char *const environment[] = { "VARIABLES_HIDE=1", "E2B_API_KEY=e2b_hidden", "OTHER=stays",
		"E2B_API_KEY=second", "RUNLOOP_API_KEY=", NULL };
	pid_t child;
	int status;

	cr_assert(zero(int, posix_spawn(&child, "/proc/self/exe", NULL, NULL, argv, environment)));
	cr_assert(eq(int, waitpid(child, &status, 0), child));
	cr_expect(eq(int, status, 0), "ended with %d", WEXITSTATUS(status));
}
