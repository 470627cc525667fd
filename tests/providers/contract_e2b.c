/*
 * E2B as the contract's subject: on its test server, or on the service itself.
 *
 * The server is started once for the whole program, by the process that starts those of the tests. These share its
 * sandboxes: each takes one that no other has, makes one where there is none, and empties its home. Root's tests work as
 * root there as well, since what they make from outside is root's.
 *
 * Where LIVE_ID names a sandbox (tests/live/run), that one is used by one test after the other, nothing is started, and
 * what others see is asked by execute.
 */
#include "providers/base/cleanup.h"
#include "tests/providers/contract.h"
#include "tests/support/vendor_server.h"

#include <criterion/hooks.h>
#include <criterion/internal/ordered-set.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>

#define SUITES  "contract_e2b"
#define LIVE_ID "SANDBOXFS_LIVE_ID"
/* From the process that started the server to the tests: its sandboxes' folder, or why it did not start. */
#define SANDBOXES "SANDBOXFS_TEST_SANDBOXES"
#define COMPLAINT "SANDBOXFS_TEST_COMPLAINT"
/* More tests at a time than that never run; the server allows 20. */
#define SANDBOXES_MAX 16

static const struct subject helper = {
	.name = "E2B", .helper = HELPER_PROCESS, .is_remote = true, .lacks = WATCHES_TEXT_ONLY
};
static const struct subject shell = { .name = "E2B, sh",
	.helper = HELPER_OFF,
	.shell = "sh",
	.is_remote = true,
	.lacks = SHELL_LACKS | WATCHES_TEXT_ONLY };

/* ---- The server ---- */

static struct vendor_server server;

static bool has_enabled(const struct criterion_suite_set *suite)
{
	FOREACH_SET(struct criterion_test * test, suite->tests)
	if (!test->data->disabled)
		return true;
	return false;
}

static bool is_wanted(const struct criterion_test_set *tests)
{
	FOREACH_SET(struct criterion_suite_set * set, tests->suites)
	if (!strncmp(set->suite.name, SUITES, strlen(SUITES)) && has_enabled(set))
		return true;
	return false;
}

static void announce(void)
{
	setenv(SANDBOXES, server.sandboxes, 1);
	setenv("E2B_API_URL", server.api_url, 1);
	setenv("E2B_SANDBOX_URL", server.sandbox_url, 1);
	setenv("E2B_API_KEY", server.key, 1);
	unsetenv("E2B_DOMAIN");
	unsetenv("E2B_DEBUG");
}

ReportHook(PRE_ALL)(struct criterion_test_set *tests)
{
	struct error e = { 0 };

	if (getenv(LIVE_ID) || !is_wanted(tests))
		return;
	if (vendor_server_start(&server, "e2b", &e))
		setenv(COMPLAINT, e.text, 1);
	else
		announce();
}

ReportHook(POST_ALL)(struct criterion_global_stats *stats)
{
	(void)stats;
	vendor_server_stop(&server);
}

/* ---- A sandbox for one test ---- */

/* The file with the id of one that is ours until the process ends; it is empty where there is no sandbox yet. */
static int take_file(const char *sandboxes)
{
	int file = -1;

	for (int number = 0; file < 0 && number < SANDBOXES_MAX; number++) {
		char path[128];

		snprintf(path, sizeof path, "%s/id-%d", sandboxes, number);
		file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		cr_assert(file >= 0, "%s: %s", path, strerror(errno));
		if (flock(file, LOCK_EX | LOCK_NB) == 0)
			return file;
		cleanup_close(&file);
		file = -1;
	}
	cr_assert(file >= 0, "every sandbox is taken");
	return file;
}

static void make_sandbox(const struct subject *s, char id[128])
{
	const struct provider_config cfg = { .helper = HELPER_OFF };
	struct error e = { 0 };

	cr_assert(eq(int, provider_create(s->ops, &cfg, NULL, id, &e), ERR_OK), "%s", e.text);
}

static void take_sandbox(const struct subject *s, const char *sandboxes, char id[128])
{
	int file = take_file(sandboxes);
	ssize_t len = read(file, id, 127);

	cr_assert(len >= 0, "%s", strerror(errno));
	id[len] = 0;
	if (*id)
		return;
	make_sandbox(s, id);
	cr_assert(write(file, id, strlen(id)) == (ssize_t)strlen(id));
}

static void open_tree(struct subject *s, const char *sandboxes)
{
	char path[2048];

	snprintf(path, sizeof path, "%s/%s%s", sandboxes, s->id, s->root);
	s->tree.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert(s->tree.fd >= 0, "%s: %s", path, strerror(errno));
}

/* What the test before has left; but the helper stays, as it does for users. */
static void empty_home(const struct subject *s)
{
	AUTO_RAN struct ran r = run(s,
		"chmod -R u+rwX . && find . -mindepth 1 -maxdepth 1 ! -name .sandboxfs "
		"-exec rm -rf {} + && find .sandboxfs -mindepth 1 ! -name 'helper-*' -delete");

	cr_assert(eq(int, r.result.exit_code, 0), "%s", buf_text(&r.err_out));
}

static void set_up(const struct subject *row)
{
	struct subject *s = contract_subject();
	const char *live = getenv(LIVE_ID), *sandboxes = getenv(SANDBOXES);
	char id[128];

	if (!live && !sandboxes)
		cr_skip("%s", getenv(COMPLAINT) ? getenv(COMPLAINT) : "no server");
	contract_begin(row, provider_find("e2b", 3));
	if (live)
		snprintf(id, sizeof id, "%s", live);
	else
		take_sandbox(s, sandboxes, id);
	s->lacks |= live ? IS_ALONE : LACKS_OTHER_OWNERS;
	s->as = live || geteuid() ? NULL : "root";
	contract_connect(s, id);
	empty_home(s);
	if (!live)
		open_tree(s, sandboxes);
}

static void set_up_helper(void)
{
	set_up(&helper);
}

static void set_up_shell(void)
{
	set_up(&shell);
}

TestSuite(contract_e2b, .init = set_up_helper, .fini = contract_end, .timeout = 300);
TestSuite(contract_e2b_shell, .init = set_up_shell, .fini = contract_end, .timeout = 300);
