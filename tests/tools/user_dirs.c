#include "tools/user_dirs.h"

#include "providers/base/cleanup.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

TestSuite(user_dirs, .timeout = 300);

static const struct sandbox_info sandbox = { .id = "i1", .root = "/home/user" };

static void expect(char *dir, const char *wanted)
{
	AUTO_FREE char *got = dir;

	cr_assert(got != NULL);
	cr_expect(eq(str, got, (char *)wanted));
}

static void set_variables(const char *xdg, const char *home)
{
	setenv("XDG_CACHE_HOME", xdg, 1);
	setenv("XDG_STATE_HOME", xdg, 1);
	setenv("HOME", home, 1);
}

Test(user_dirs, follow_what_was_asked_then_the_variables)
{
	set_variables("/x", "/h");
	setenv("XDG_STATE_HOME", "/s", 1);
	expect(user_cache_dir("/var/cache/x"), "/var/cache/x");
	expect(user_cache_dir(NULL), "/x/sandboxfs");
	expect(user_journal_dir("/var/j", "e2b", &sandbox), "/var/j/e2b-i1%2Fhome%2Fuser");
	expect(user_journal_dir(NULL, "e2b", &sandbox), "/s/sandboxfs/e2b-i1%2Fhome%2Fuser");
}

Test(user_dirs, are_in_the_home_where_no_variable_is_absolute)
{
	static const char *const none[] = { "", "not/absolute" };

	for (int n = 0; n < 2; n++) {
		set_variables(none[n], "/h");
		expect(user_cache_dir(NULL), "/h/.cache/sandboxfs");
		expect(user_journal_dir(NULL, "e2b", &sandbox),
			"/h/.local/state/sandboxfs/e2b-i1%2Fhome%2Fuser");
	}
}

Test(user_dirs, are_nowhere_when_they_are_off)
{
	cr_expect(user_cache_dir("off") == NULL);
	cr_expect(user_journal_dir("off", "e2b", &sandbox) == NULL);
}

Test(user_dirs, find_a_home_without_the_variable)
{
	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	AUTO_FREE char *dir = user_cache_dir(NULL);

	if (dir)
		cr_expect(strstr(dir, "/.cache/sandboxfs") != NULL);
}

/* ---- One journal for each sandbox, and for each directory of it that is shown ---- */

static char *journal_of(const char *provider, const char *id, const char *root)
{
	struct sandbox_info info = { 0 };

	strcpy(info.id, id);
	strcpy(info.root, root);
	return user_journal_dir("/j", provider, &info);
}

Test(user_dirs, a_journals_name_says_whose_it_is_whatever_the_sandbox_is_called)
{
	expect(journal_of("e2b", "../../etc", "/"), "/j/e2b-..%2F..%2Fetc%2F");
	expect(journal_of("modal", "a%2Fb\n", "/é"), "/j/modal-a%252Fb%0A%2F%C3%A9");
}

Test(user_dirs, each_user_that_a_mount_chose_has_a_journal)
{
	struct sandbox_info info = sandbox;

	strcpy(info.user, "root");
	expect(user_journal_dir("/j", "ssh", &info), "/j/ssh-i1%2Fhome%2Fuser@root");
	strcpy(info.user, "a@b:1/");
	expect(user_journal_dir("/j", "ssh", &info), "/j/ssh-i1%2Fhome%2Fuser@a%40b%3A1%2F");
	strcpy(info.root, "/home/user@root");
	info.user[0] = '\0';
	expect(user_journal_dir("/j", "ssh", &info), "/j/ssh-i1%2Fhome%2Fuser%40root");
}

Test(user_dirs, long_names_are_cut_and_still_differ)
{
	char root[900];

	memset(root, '/', sizeof root - 1);
	root[sizeof root - 1] = '\0';
	AUTO_FREE char *one = journal_of("e2b", "i1", root);

	root[sizeof root - 2] = 'x';
	AUTO_FREE char *other = journal_of("e2b", "i1", root);

	cr_assert(one && other);
	cr_expect(eq(sz, strlen(one), strlen("/j/") + 200));
	cr_expect(eq(sz, strlen(other), strlen(one)));
	cr_expect(ne(str, one, other));
}

Test(user_dirs, a_journal_tells_its_sandbox_by_its_name)
{
	static const struct {
		const char *name, *source;
	} rows[] = {
		{ "e2b-abc%2Fhome%2Fuser", "e2b:abc:/home/user" },
		{ "modal-sb-1%2Fwork%20dir", "modal:sb-1:/work dir" },
		{ "e2b-abc%2Froot.unreadable-12.000000034", "e2b:abc:/root" },
		{ "ssh-h%2Fsrv@root", "ssh:h:/srv as root" },
		{ "ssh-h%2Fsrv@a%40b.unreadable-12.000000034", "ssh:h:/srv as a@b" },
		{ "ssh-h@%2Fsrv", NULL },
		{ "something", NULL },
		{ "some-thing", NULL },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		AUTO_FREE char *source = user_journal_source(rows[i].name);

		cr_expect(rows[i].source ? source && !strcmp(source, rows[i].source) : !source,
			"%s: %s", rows[i].name, source ? source : "(none)");
	}
}
