#include "providers/local/local.h"

#include "providers/base/cleanup.h"
#include "tests/support/scratch.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static struct scratch store;

static void set_up(void)
{
	scratch_make(&store);
	setenv("XDG_DATA_HOME", store.path, 1);
}

static void tear_down(void)
{
	scratch_remove(&store);
}

TestSuite(local, .init = set_up, .fini = tear_down, .timeout = 300);

static enum err connect_to(const struct provider_config *cfg, struct provider **p, struct error *e)
{
	*p = NULL;
	return provider_connect(&local_provider, cfg, NULL, p, e);
}

static enum err delete_it(const char *id, struct error *e)
{
	struct provider_config cfg = { .id = id };

	return provider_delete(&local_provider, &cfg, NULL, e);
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	cr_assert(fstatat(store.fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0, "%s", path);
	return st.st_mode & 07777;
}

Test(local, is_found_by_its_name)
{
	AUTO_BUF struct buf names = BUF_INIT(1000);

	provider_names(&names);
	cr_assert(eq(ptr, (void *)provider_find("local:x", 5), (void *)&local_provider));
	cr_assert(eq(ptr, (void *)provider_find("loca", 4), NULL));
	cr_assert(strstr(buf_text(&names), "local") != NULL);
}

Test(local, the_first_use_makes_the_directories_whatever_the_umask)
{
	struct provider_config cfg = { .id = "x" };
	struct provider *p;
	struct error e = { 0 };

	umask(077);
	cr_assert(eq(int, connect_to(&cfg, &p, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(int, (int)mode_of("sandboxfs/x"), 0700));
	cr_expect(eq(int, (int)mode_of("sandboxfs/x/tree"), 0755));
	cr_expect(eq(int, (int)mode_of("sandboxfs/x/tree/user"), 0755));
	cr_expect(eq(int, (int)mode_of("sandboxfs/x/tree/.staging"), 0700));
	cr_expect(eq(int, (int)mode_of("sandboxfs/x/tmp"), 01777));
	provider_release(p);
}

Test(local, lives_below_home_where_no_data_directory_is_set)
{
	struct provider_config cfg = { .id = "x" };
	struct provider *p;
	struct error e = { 0 };

	setenv("XDG_DATA_HOME", "relative/counts/as/unset", 1);
	setenv("HOME", store.path, 1);
	cr_assert(eq(int, connect_to(&cfg, &p, &e), ERR_OK), "%s", e.text);
	cr_assert(eq(int, (int)mode_of(".local/share/sandboxfs/x"), 0700));
	provider_release(p);
}

/* A uid in no user database. */
#define UNKNOWN_UID 4242424

Test(local, says_when_no_place_is_known)
{
	struct provider_config cfg = { .id = "x" };
	struct provider *p;
	struct error e = { 0 };

	unsetenv("XDG_DATA_HOME");
	unsetenv("HOME");
	if (seteuid(UNKNOWN_UID))
		cr_skip("only root can become somebody who has no home");
	enum err kind = connect_to(&cfg, &p, &e);

	seteuid(getuid());
	cr_assert(eq(int, kind, ERR_INVALID));
	cr_assert(strstr(e.text, "XDG_DATA_HOME") != NULL, "%s", e.text);
}

Test(local, a_name_has_a_rule_that_the_error_states)
{
	static const char *const bad[] = { "", ".", "..", ".x", "-x", "_x", "a/b", "../x", "a b",
		"a\n", "\xc3\xa4",
		"0123456789012345678901234567890123456789012345678901234567890123" };
	static const char *const good[] = { "x", "X.y_z-0", "0", "a..b",
		"012345678901234567890123456789012345678901234567890123456789012" };

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct provider_config cfg = { .id = bad[i] };
		struct provider *p;
		struct error e = { 0 };

		cr_expect(eq(int, connect_to(&cfg, &p, &e), ERR_INVALID), "'%s'", bad[i]);
		cr_expect(strstr(e.text, "letters, digits") != NULL, "%s", e.text);
		cr_expect(eq(int, delete_it(bad[i], &e), ERR_INVALID), "'%s'", bad[i]);
	}
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		struct provider_config cfg = { .id = good[i] };
		struct provider *p;
		struct error e = { 0 };

		cr_expect(eq(int, connect_to(&cfg, &p, &e), ERR_OK), "%s", e.text);
		provider_release(p);
	}
}

Test(local, shows_each_directory_that_commands_see_but_for_staging)
{
	static const struct {
		const char *path;
		enum err want;
	} rows[] = { { "/home/user", ERR_OK }, { "/home/user/", ERR_OK },
		{ "/home//user/./d", ERR_OK }, { "d", ERR_OK }, { ".", ERR_OK }, { "", ERR_OK },
		{ "/home", ERR_OK }, { "/", ERR_OK }, { "//", ERR_OK }, { "/etc", ERR_OK },
		{ "/var/tmp", ERR_OK }, { "/home/user2", ERR_NOT_FOUND },
		{ "/etc/passwd", ERR_NOT_DIR }, { "/home/.staging", ERR_INVALID },
		{ "/home/.staging/x", ERR_INVALID }, { "/home/user/../.staging", ERR_INVALID } };
	struct provider_config cfg = { .id = "x" };
	struct provider *p;

	cr_assert(eq(int, connect_to(&cfg, &p, NULL), ERR_OK));
	provider_release(p);
	scratch_mkdir(&store, "sandboxfs/x/tree/user/d", 0755);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct error e = { 0 };

		cfg.path = rows[i].path;
		cr_expect(eq(int, connect_to(&cfg, &p, &e), rows[i].want), "%s: %s", rows[i].path,
			e.text);
		provider_release(p);
	}
}

static enum err keep(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	(void)stream, (void)e;
	buf_add(context, bytes, len);
	return ERR_OK;
}

/* The numbers of `path` as a new mount's command and as its helper sees them: "dev:ino dev:ino" */
static void add_numbers(const char *path, struct buf *out)
{
	const struct provider_config cfg = { .id = "x", .path = path };
	AUTO_FREE char *command = NULL;
	struct execute_request request = { 0 };
	struct execute_result result;
	struct sandbox_info info;
	struct provider *p;
	struct error e = { 0 };

	cr_assert(asprintf(&command, "stat -c %%d:%%i %s | tr '\n' ' '", path) > 0);
	request.command = command;
	cr_assert(eq(int, connect_to(&cfg, &p, &e), ERR_OK), "%s", e.text);
	cr_assert(eq(int, provider_execute(p, NULL, &request, keep, out, &result, &e), ERR_OK),
		"%s", e.text);
	cr_assert(eq(int, provider_info(p, NULL, &info, &e), ERR_OK), "%s", e.text);
	cr_assert(info.has_facts);
	buf_printf(out, "%ju:%ju", (uintmax_t)info.facts.attr.dev, (uintmax_t)info.facts.attr.ino);
	provider_release(p);
}

Test(local, the_root_is_the_same_for_commands_and_helper_of_each_mount)
{
	static const char *const paths[] = { "/", "/tmp", "/home", "/usr" };

	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		AUTO_BUF struct buf first = BUF_INIT(1000), second = BUF_INIT(1000);
		const char *text, *blank;

		add_numbers(paths[i], &first);
		add_numbers(paths[i], &second);
		text = buf_text(&first);
		blank = strchr(text, ' ');
		cr_expect(eq(str, (char *)text, (char *)buf_text(&second)), "%s", paths[i]);
		cr_assert(blank != NULL, "%s", text);
		cr_expect(strncmp(text, blank + 1, (size_t)(blank - text)) == 0, "%s: %s", paths[i],
			text);
	}
}

/* A machine may get another layout of /usr, and a sandbox of before has no root at all. */
Test(local, a_root_gets_the_links_that_this_machine_has_now)
{
	const struct provider_config cfg = { .id = "x", .path = "/" };
	struct provider *p;
	struct error e = { 0 };

	scratch_mkdir(&store, "sandboxfs", 0700);
	scratch_mkdir(&store, "sandboxfs/x", 0700);
	for (int round = 0; round < 2; round++) {
		cr_assert(eq(int, connect_to(&cfg, &p, &e), ERR_OK), "%s", e.text);
		provider_release(p);
		cr_assert(unlinkat(store.fd, "sandboxfs/x/root/var/tmp", 0) == 0);
		cr_assert(symlinkat("/etc", store.fd, "sandboxfs/x/root/var/tmp") == 0);
		unlinkat(store.fd, "sandboxfs/x/root/bin", 0);
		cr_assert(symlinkat("/etc", store.fd, "sandboxfs/x/root/bin") == 0);
	}
	cr_assert(eq(int, connect_to(&cfg, &p, &e), ERR_OK), "%s", e.text);
	cr_expect(faccessat(store.fd, "sandboxfs/x/root/var/tmp/passwd", F_OK, 0) != 0);
	provider_release(p);
	cr_expect(eq(int, delete_it("x", &e), ERR_OK), "%s", e.text);
}

Test(local, another_user_is_refused)
{
	struct provider_config cfg = { .id = "x", .user = "somebody-else" };
	struct provider *p;
	struct error e = { 0 };

	cr_assert(eq(int, connect_to(&cfg, &p, &e), ERR_UNSUPPORTED));
	cr_assert(strstr(e.text, "somebody-else") != NULL, "%s", e.text);
}

static void expect_note(struct provider *p, const char *wanted)
{
	struct sandbox_info info = { 0 };

	cr_assert(eq(int, provider_info(p, NULL, &info, NULL), ERR_OK));
	bool is_as_wanted = *wanted ? strstr(info.note, wanted) != NULL : !*info.note;

	cr_expect(is_as_wanted, "%s", info.note);
}

/* Commands could once put a link where the directories of the sandbox were. */
Test(local, a_home_that_became_a_link_is_put_aside_and_reported)
{
	static const char *const replaced[] = { "user", ".staging" };
	struct provider_config cfg = { .id = "x" };
	struct provider *p;

	for (size_t i = 0; i < 2; i++) {
		struct error e = { 0 };
		char path[100], aside[100], target[100] = "";

		snprintf(path, sizeof path, "sandboxfs/x/tree/%s", replaced[i]);
		snprintf(aside, sizeof aside, "sandboxfs/x/home/%s.replaced-1", replaced[i]);
		cr_assert(eq(int, connect_to(&cfg, &p, &e), ERR_OK), "%s", e.text);
		expect_note(p, "");
		provider_release(p);
		cr_assert(unlinkat(store.fd, path, AT_REMOVEDIR) == 0);
		cr_assert(symlinkat("/etc", store.fd, path) == 0);
		cr_expect(eq(int, connect_to(&cfg, &p, &e), ERR_OK), "%s", e.text);
		expect_note(p, "a command had replaced /home/");
		provider_release(p);
		mode_of(path);
		cr_expect(readlinkat(store.fd, aside, target, sizeof target - 1) > 0, "%s", aside);
		cr_expect(eq(str, target, "/etc"));
		cr_assert(eq(int, connect_to(&cfg, &p, &e), ERR_OK), "%s", e.text);
		expect_note(p, "");
		provider_release(p);
	}
}

/* The layout from when the whole directory was /home of the jail. */
Test(local, files_that_commands_put_next_to_the_home_stay)
{
	struct provider_config cfg = { .id = "x" };
	struct error e = { 0 };
	struct provider *p;
	AUTO_FREE char *file = NULL, *link = NULL;

	cr_assert(mkdirat(store.fd, "sandboxfs", 0700) == 0);
	cr_assert(mkdirat(store.fd, "sandboxfs/x", 0700) == 0);
	scratch_mkdir(&store, "sandboxfs/x/tree", 0755);
	scratch_mkdir(&store, "sandboxfs/x/tree/user", 0755);
	scratch_mkdir(&store, "sandboxfs/x/tree/other", 0755);
	scratch_write_text(&store, "sandboxfs/x/tree/user/f", "of the user");
	scratch_write_text(&store, "sandboxfs/x/tree/other/f", "of another");
	cr_assert(eq(int, connect_to(&cfg, &p, &e), ERR_OK), "%s", e.text);
	expect_note(p, "");
	provider_release(p);
	file = scratch_read(&store, "sandboxfs/x/tree/user/f", NULL);
	link = scratch_read(&store, "sandboxfs/x/home/other/f", NULL);
	cr_expect(eq(str, file, "of the user"));
	cr_expect(eq(str, link, "of another"));
}

Test(local, a_directory_whose_mode_keeps_its_owner_out_is_repaired_and_reported)
{
	static const char *const dirs[] = { "tree/.staging", "home", "tmp", "tree" };
	struct provider_config cfg = { .id = "x" };
	struct provider *p;

	for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
		struct error e = { 0 };
		char path[100];

		snprintf(path, sizeof path, "sandboxfs/x/%s", dirs[i]);
		cr_assert(eq(int, connect_to(&cfg, &p, &e), ERR_OK), "%s", e.text);
		provider_release(p);
		cr_assert(fchmodat(store.fd, path, 0, 0) == 0);
		cr_expect(eq(int, connect_to(&cfg, &p, &e), ERR_OK), "%s: %s", dirs[i], e.text);
		expect_note(p, "was 0000: it is ");
		provider_release(p);
	}
}

/* A user who may rename files in the store would choose what a jail shows. */
Test(local, is_kept_where_nobody_else_may_write)
{
	struct provider_config cfg = { .id = "x" };
	struct provider *p;
	struct error e = { 0 };

	scratch_mkdir(&store, "sandboxfs", 0777);
	cr_assert(fchmodat(store.fd, "sandboxfs", 0777, 0) == 0);
	cr_expect(eq(int, connect_to(&cfg, &p, &e), ERR_DENIED));
	cr_expect(strstr(e.text, "chmod go-w") != NULL, "%s", e.text);
	cr_assert(fchmodat(store.fd, "sandboxfs", 0755, 0) == 0);
	cr_assert(eq(int, connect_to(&cfg, &p, &e), ERR_OK), "%s", e.text);
	provider_release(p);
	cr_assert(fchmodat(store.fd, "sandboxfs/x", 0755, 0) == 0);
	cr_assert(eq(int, connect_to(&cfg, &p, &e), ERR_OK), "%s", e.text);
	provider_release(p);
	cr_expect(eq(uint, mode_of("sandboxfs/x"), 0700));
	if (geteuid())
		return;
	cr_assert(fchownat(store.fd, "sandboxfs", 65534, 65534, 0) == 0);
	cr_expect(eq(int, connect_to(&cfg, &p, &e), ERR_DENIED));
	cr_expect(strstr(e.text, "another user") != NULL, "%s", e.text);
}

Test(local, is_not_deleted_while_connected)
{
	struct provider_config cfg = { .id = "x" };
	struct error e = { 0 };
	struct provider *p, *second;

	cr_assert(eq(int, connect_to(&cfg, &p, NULL), ERR_OK));
	cr_assert(eq(int, connect_to(&cfg, &second, NULL), ERR_OK));
	provider_release(second);
	cr_assert(eq(int, delete_it("x", &e), ERR_BUSY));
	cr_assert(strstr(e.text, "local:x") != NULL, "%s", e.text);
	provider_release(p);
	cr_assert(eq(int, delete_it("x", &e), ERR_OK), "%s", e.text);
	cr_assert(faccessat(store.fd, "sandboxfs/x", F_OK, AT_SYMLINK_NOFOLLOW) < 0);
}

Test(local, what_is_absent_is_deleted_already)
{
	struct error e = { 0 };

	cr_assert(eq(int, delete_it("never", &e), ERR_OK), "%s", e.text);
	cr_assert(mkdirat(store.fd, "sandboxfs", 0700) == 0);
	cr_assert(eq(int, delete_it("never", &e), ERR_OK), "%s", e.text);
}

/* Makes directories deeper than there are descriptors, or PATH_MAX. */
static void dig(const char *from, int depth)
{
	AUTO_CLOSE int at = openat(store.fd, from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (int i = 0; i < depth; i++) {
		int below;

		cr_assert(mkdirat(at, "d", 0755) == 0);
		below = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(openat(at, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0));
		close(at);
		at = below;
	}
}

Test(local, is_deleted_whole_and_alone)
{
	struct provider_config cfg = { .id = "x" };
	struct provider *p;
	struct error e = { 0 };

	cr_assert(eq(int, connect_to(&cfg, &p, NULL), ERR_OK));
	provider_release(p);
	scratch_mkdir(&store, "outside", 0755);
	scratch_write_text(&store, "outside/kept", "kept");
	scratch_mkdir(&store, "sandboxfs/x/tree/user/removed-0", 0755);
	scratch_mkdir(&store, "sandboxfs/x/tree/user/removed-0/removed-1", 0755);
	scratch_write_text(&store, "sandboxfs/x/tree/user/removed-0/removed-1/f", "");
	scratch_mkdir(&store, "sandboxfs/x/tmp/closed", 0755);
	scratch_mkdir(&store, "sandboxfs/x/tmp/closed/in", 0755);
	scratch_write_text(&store, "sandboxfs/x/tmp/closed/in/f", "");
	cr_assert(fchmodat(store.fd, "sandboxfs/x/tmp/closed/in", 0, 0) == 0);
	cr_assert(fchmodat(store.fd, "sandboxfs/x/tmp/closed", 0, 0) == 0);
	cr_assert(symlinkat("../../../../outside", store.fd, "sandboxfs/x/tree/user/link") == 0);
	dig("sandboxfs/x/tree/user", 3000);
	cr_assert(eq(int, delete_it("x", &e), ERR_OK), "%s", e.text);
	cr_assert(faccessat(store.fd, "sandboxfs/x", F_OK, AT_SYMLINK_NOFOLLOW) < 0);
	AUTO_FREE char *kept = scratch_read(&store, "outside/kept", NULL);

	cr_assert(eq(str, kept, "kept"));
}

static enum err count_entries(void *context, const struct sandbox_entry *entry, struct error *e)
{
	size_t *count = context;

	(void)e;
	cr_expect(eq(i64, entry->expires_s, -1));
	++*count;
	return ERR_OK;
}

Test(local, lists_sandboxes_and_nothing_else)
{
	struct provider_config cfg = { 0 };
	size_t count = 0;

	cr_assert(eq(int,
		provider_list_sandboxes(&local_provider, &cfg, NULL, count_entries, &count, NULL),
		ERR_OK));
	cr_assert(eq(ulong, count, 0));
	scratch_mkdir(&store, "sandboxfs", 0700);
	scratch_mkdir(&store, "sandboxfs/one", 0700);
	scratch_mkdir(&store, "sandboxfs/two", 0700);
	scratch_mkdir(&store, "sandboxfs/.hidden", 0700);
	scratch_write_text(&store, "sandboxfs/file", "");
	cr_assert(eq(int,
		provider_list_sandboxes(&local_provider, &cfg, NULL, count_entries, &count, NULL),
		ERR_OK));
	cr_assert(eq(ulong, count, 2));
}

static enum err discard(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	(void)context, (void)stream, (void)bytes, (void)len, (void)e;
	return ERR_OK;
}

Test(local, without_bubblewrap_files_work_and_commands_name_the_way_out)
{
	struct provider_config cfg = { .id = "x" };
	struct execute_request request = { .command = "true" };
	struct execute_result result;
	struct provider *p;
	struct error e = { 0 };

	setenv("PATH", store.path, 1);
	cr_assert(eq(int, connect_to(&cfg, &p, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(int, provider_execute(p, NULL, &request, discard, NULL, &result, &e),
		ERR_UNSUPPORTED));
	cr_expect(strstr(e.text, "apt install bubblewrap") != NULL, "%s", e.text);
	cr_expect(not(result.may_have_run));
	provider_release(p);
}

/* The words are bubblewrap's own. */
Test(local, a_system_that_forbids_namespaces_has_an_error_of_its_own)
{
	static const struct {
		const char *script;
		enum err want;
		const char *words;
	} rows[] = {
		{ "#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n",
			ERR_UNSUPPORTED, "namespaces" },
		{ "#!/bin/sh\necho 'bwrap: No permissions to create new namespace, likely because "
		  "the "
		  "kernel does not allow non-privileged user namespaces.' >&2\nexit 1\n",
			ERR_UNSUPPORTED, "namespaces" },
		{ "#!/bin/sh\necho 'bwrap: something else' >&2\nexit 1\n", ERR_IO,
			"something else" },
	};
	struct provider_config cfg = { .id = "x" };
	struct provider *p;

	cr_assert(eq(int, connect_to(&cfg, &p, NULL), ERR_OK));
	setenv("PATH", store.path, 1);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct execute_request request = { .command = "true" };
		struct execute_result result;
		struct error e = { 0 };

		scratch_write_text(&store, "bwrap", rows[i].script);
		cr_assert(fchmodat(store.fd, "bwrap", 0755, 0) == 0);
		cr_expect(eq(int, provider_execute(p, NULL, &request, discard, NULL, &result, &e),
			rows[i].want));
		cr_expect(strstr(e.text, rows[i].words) != NULL, "%s", e.text);
		cr_expect(not(result.may_have_run));
	}
	provider_release(p);
}

/* ---- Limits ---- */

static void expect_limits(const struct provider_config *cfg, const char *wanted)
{
	struct sandbox_info info;
	struct provider *p;
	struct error e = { 0 };

	cr_assert(eq(int, connect_to(cfg, &p, &e), ERR_OK), "%s", e.text);
	cr_assert(eq(int, provider_info(p, NULL, &info, &e), ERR_OK));
	cr_expect(eq(int, strncmp(info.limits, wanted, strlen(wanted)), 0), "%s", info.limits);
	provider_release(p);
}

Test(local, keeps_the_limits_that_were_asked_for)
{
	const struct provider_config first = { .id = "x", .memory_mb = 512, .pids = 100 },
				     second = { .id = "x", .pids = 50, .block_network = true },
				     third = { .id = "x" }, other = { .id = "y" };

	expect_limits(&first, "512 MiB of memory, 100 processes, by ");
	expect_limits(&second, "512 MiB of memory, 50 processes, by ");
	expect_limits(&third, "512 MiB of memory, 50 processes, by ");
	expect_limits(&other, "1024 processes, by rlimits; this machine's network");
}

Test(local, with_limits_that_cannot_be_read_is_refused)
{
	struct provider_config cfg = { .id = "x", .pids = 100 };
	struct provider *p;
	struct error e = { 0 };

	expect_limits(&cfg, "100 processes");
	scratch_write_text(&store, "sandboxfs/x/limits", "pids many");
	cr_expect(eq(int, connect_to(&cfg, &p, &e), ERR_INVALID));
	cr_expect(eq(str, e.text,
		"local: the sandbox's file 'limits' cannot be read; remove it, and give the "
		"options again"));
}
