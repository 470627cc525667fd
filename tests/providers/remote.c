#include "providers/remote/remote.h"

#include "providers/base/cleanup.h"
#include "providers/client/image.h"
#include "tests/support/changes.h"
#include "tests/support/host_remote.h"
#include "tests/support/scratch.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/utsname.h>

/* ---- A sandbox: a home with the directory "work" in it ---- */

static struct scene {
	struct scratch scratch;
	struct host_remote host;
	struct remote_ops ops;
	struct remote remote;
	struct provider_config cfg;
	char working_dir[96];
} scene;

static void scene_open(void)
{
	struct utsname here;
	struct helper_image image;

	scene = (struct scene){ 0 };
	cr_assert(uname(&here) == 0);
	if (!helper_image_find(here.machine, &image))
		cr_skip_test("no helper for %s was built: no compiler for it", here.machine);
	scratch_make(&scene.scratch);
	scratch_mkdir(&scene.scratch, "work", 0755);
	snprintf(scene.working_dir, sizeof scene.working_dir, "%s/work", scene.scratch.path);
	host_remote_init(&scene.host, scene.scratch.path);
}

static void scene_close(void)
{
	remote_release(&scene.remote);
	if (*scene.scratch.path)
		scratch_remove(&scene.scratch);
}

/* Criterion does not call .fini for a test that is skipped. */
#define skip(...)                                                                                  \
	do {                                                                                       \
		scene_close();                                                                     \
		cr_skip_test(__VA_ARGS__);                                                         \
	} while (0)

TestSuite(remote, .init = scene_open, .fini = scene_close, .timeout = 300);

static enum err attach_to(struct remote *remote, struct error *e)
{
	*e = (struct error){ 0 };
	scene.ops = host_remote_ops(&scene.host);
	return remote_attach(remote, &scene.ops, &scene.cfg, scene.working_dir, NULL, e);
}

static void attach(void)
{
	struct error e;

	attach_to(&scene.remote, &e);
	cr_assert(eq(int, e.kind, ERR_OK), "%s", e.text);
}

/* ---- Short words for the verbs ---- */

static enum err write_file(
	struct remote *r, const char *path, const void *bytes, size_t len, struct error *e)
{
	const struct change changes[] = {
		CHANGE_ROW(CREATE, path, .mode = 0644),
		CHANGE_ROW(WRITE, path, .data = bytes, .data_len = len),
	};
	const struct apply_request request = { .changes = changes, .changes_count = 2 };
	struct change_result results[2] = { 0 };

	*e = (struct error){ 0 };
	if (helper_client_apply(r->helper, NULL, &request, results, e) == ERR_OK && results[1].err)
		error_set(e, results[1].err, "%s", results[1].why);
	return e->kind;
}

static enum err add_piece(void *context, const struct fetch_piece *piece, struct error *e)
{
	if (piece->kind == FETCH_DATA)
		buf_add(context, piece->bytes, piece->len);
	return piece->err == ERR_OK ? ERR_OK : error_set(e, piece->err, "%s", piece->why);
}

static enum err read_file(struct remote *r, const char *path, struct buf *out, struct error *e)
{
	const struct fetch_item item = { .kind = FETCH_BYTES, .path = path, .length = UINT64_MAX };

	*e = (struct error){ 0 };
	return helper_client_fetch(r->helper, NULL, &item, 1, add_piece, out, e);
}

/* Checks that the helper works: a file is written and read. */
static void expect_works(struct remote *r, const char *path, size_t len)
{
	AUTO_FREE char *bytes = malloc(len);
	AUTO_BUF struct buf got = BUF_INIT(len);
	struct error e;

	cr_assert(bytes != NULL);
	for (size_t i = 0; i < len; i++)
		bytes[i] = (char)(i * 31 + i / 256);
	write_file(r, path, bytes, len, &e);
	cr_expect(eq(int, e.kind, ERR_OK), "%s: %s", path, e.text);
	read_file(r, path, &got, &e);
	cr_expect(eq(int, e.kind, ERR_OK), "%s: %s", path, e.text);
	cr_expect(got.len == len && memcmp(got.bytes, bytes, len) == 0, "%s", path);
}

/* The number of names in staging that begin with `prefix`. */
static size_t count_staged(const struct remote *r, const char *prefix)
{
	DIR *dir = opendir(r->staging);
	size_t count = 0;

	cr_assert(dir != NULL);
	for (const struct dirent *d; (d = readdir(dir));)
		count += strncmp(d->d_name, prefix, strlen(prefix)) == 0;
	closedir(dir);
	return count;
}

/* ---- Attaching ---- */

Test(remote, the_first_attach_stores_the_helper_and_each_further_one_is_a_single_run)
{
	struct stat st;

	attach();
	cr_expect(eq(sz, scene.host.runs, 2));
	cr_expect(eq(sz, scene.host.uploads, 1));
	cr_expect(eq(str, scene.remote.root, scene.working_dir));
	cr_expect(eq(str, scene.remote.home, scene.scratch.path));
	cr_expect(eq(u32, scene.remote.identity.uid, getuid()));
	cr_expect(strncmp(scene.remote.helper_path, scene.remote.staging,
			  strlen(scene.remote.staging)) == 0);
	cr_assert(fstatat(scene.scratch.fd, ".sandboxfs", &st, AT_SYMLINK_NOFOLLOW) == 0);
	cr_expect(eq(u32, st.st_mode, S_IFDIR | 0700));
	cr_assert(stat(scene.remote.helper_path, &st) == 0);
	cr_expect(eq(u32, st.st_mode, S_IFREG | 0700));
	remote_release(&scene.remote);
	attach();
	cr_expect(eq(sz, scene.host.runs, 3));
	cr_expect(eq(sz, scene.host.uploads, 1));
	expect_works(&scene.remote, "f", 10);
	cr_expect(eq(sz, scene.host.runs, 5));
}

static const char *const odd_names[] = {
	"with space",
	" ",
	"it's \"quoted\" $HOME `id` \\n *",
	"two\nlines",
	"ends in newlines\n\n",
	"-n",
	"caf\xe9 \xff\x01",
	"%s%n",
	"a/../with space",
};

Test(remote, a_directory_may_have_any_name)
{
	static const char *const shells[] = { NULL, "/usr/bin/dash", "/usr/bin/bash" };

	scratch_mkdir(&scene.scratch, "work/a", 0755);
	for (size_t i = 0; i < sizeof odd_names / sizeof *odd_names; i++) {
		char path[160];

		scene.host.shell =
			shells[i % 3] && access(shells[i % 3], X_OK) == 0 ? shells[i % 3] : NULL;
		snprintf(path, sizeof path, "work/%s", odd_names[i]);
		mkdirat(scene.scratch.fd, path, 0755);
		scene.cfg.path = odd_names[i];
		attach();
		expect_works(&scene.remote, "f", 3);
		strncat(path, "/f", sizeof path - strlen(path) - 1);
		cr_expect(faccessat(scene.scratch.fd, path, F_OK, 0) == 0, "row %zu", i);
		remote_release(&scene.remote);
	}
}

Test(remote, a_path_that_is_no_directory_has_an_error_of_its_own)
{
	struct error e;
	static const struct {
		const char *path;
		enum err kind;
	} rows[] = {
		{ "absent", ERR_NOT_FOUND },
		{ "file", ERR_NOT_DIR },
		{ "file/below", ERR_NOT_DIR },
		{ "dangling", ERR_NOT_FOUND },
		{ "round", ERR_LOOP },
		{ "/absent", ERR_NOT_FOUND },
	};

	scratch_write_text(&scene.scratch, "work/file", "");
	cr_assert(symlinkat("nowhere", scene.scratch.fd, "work/dangling") == 0);
	cr_assert(symlinkat("round", scene.scratch.fd, "work/round") == 0);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		scene.cfg.path = rows[i].path;
		attach_to(&scene.remote, &e);
		cr_expect(eq(int, e.kind, rows[i].kind), "%s: %s", rows[i].path, e.text);
		cr_expect(strstr(e.text, rows[i].path) != NULL, "%s: %s", rows[i].path, e.text);
	}
}

Test(remote, a_directory_that_may_not_be_entered_is_denied)
{
	static const char *const paths[] = { "closed", "closed/below", "closed/absent" };
	uid_t me = geteuid();
	struct error e;

	scratch_mkdir(&scene.scratch, "work/closed", 0755);
	scratch_mkdir(&scene.scratch, "work/closed/below", 0755);
	cr_assert(fchmodat(scene.scratch.fd, "work/closed", 0, 0) == 0);
	cr_assert(fchmodat(scene.scratch.fd, ".", 0755, 0) == 0);
	/* Nothing is closed to root. */
	cr_assert(getuid() || setresuid(65534, 65534, 0) == 0);
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		scene.cfg.path = paths[i];
		attach_to(&scene.remote, &e);
		cr_expect(eq(int, e.kind, ERR_DENIED), "%s: %s", paths[i], e.text);
	}
	cr_assert(setresuid((uid_t)-1, me, (uid_t)-1) == 0);
}

static const char *const tools[] = { "sh", "stat", "od", "tr", "find", "ls", "mkdir", "chmod", "mv",
	"rm", "id", "uname", "base64" };

/* A PATH on which there is nothing but BusyBox. */
static void use_busybox(char *path, size_t size)
{
	static const char busybox[] = "/usr/bin/busybox";

	if (access(busybox, X_OK))
		skip("no busybox here");
	scratch_mkdir(&scene.scratch, "bin", 0755);
	for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
		char name[32];

		snprintf(name, sizeof name, "bin/%s", tools[i]);
		cr_assert(symlinkat(busybox, scene.scratch.fd, name) == 0);
	}
	snprintf(path, size, "%s/bin/sh", scene.scratch.path);
	scene.host.shell = path;
}

Test(remote, busybox_and_text_do_as_well)
{
	static char shell[96], path[96];

	use_busybox(shell, sizeof shell);
	snprintf(path, sizeof path, "%s/bin", scene.scratch.path);
	scene.host.path = path;
	scene.host.is_text = true;
	scene.host.inline_max = 2000;
	scratch_mkdir(&scene.scratch, "work/two\nlines \xff", 0755);
	scene.cfg.path = "two\nlines \xff";
	attach();
	expect_works(&scene.remote, "small", 100);
	expect_works(&scene.remote, "large", 300000);
	scene.cfg.path = "absent";
	cr_expect(eq(int, attach_to(&(struct remote){ 0 }, &(struct error){ 0 }), ERR_NOT_FOUND));
}

static void remove_ignore(const char *staging)
{
	char path[160];

	snprintf(path, sizeof path, "%s/.gitignore", staging);
	cr_assert(unlink(path) == 0, "%s", path);
}

Test(remote, staging_is_in_the_root_where_home_is_elsewhere)
{
	struct stat here, shm;
	char dir[] = "/dev/shm/remote-XXXXXX", command[64];

	if (!mkdtemp(dir) || stat(dir, &shm) || fstat(scene.scratch.fd, &here) ||
		here.st_dev == shm.st_dev)
		skip("no second file system here");
	scene.cfg.path = dir;
	scene.cfg.may_lack_helper = true;
	attach();
	cr_expect(strncmp(scene.remote.staging, dir, strlen(dir)) == 0, "%s", scene.remote.staging);
	if (scene.remote.helper_path)
		cr_expect(unlink(scene.remote.helper_path) == 0);
	remote_release(&scene.remote);
	snprintf(command, sizeof command, "%s/.sandboxfs", dir);
	remove_ignore(command);
	cr_expect(rmdir(command) == 0 && rmdir(dir) == 0);
}

Test(remote, what_interrupted_requests_and_uploads_left_is_removed_when_it_is_old)
{
	const struct timespec hours[2] = { { .tv_nsec = UTIME_OMIT },
		{ time(NULL) - 2 * 3600, 0 } };
	const struct timespec days[2] = { { .tv_nsec = UTIME_OMIT },
		{ time(NULL) - 50 * 3600, 0 } };

	scratch_mkdir(&scene.scratch, ".sandboxfs", 0755);
	scratch_write_text(&scene.scratch, ".sandboxfs/request-old", "");
	scratch_write_text(&scene.scratch, ".sandboxfs/request-new", "");
	scratch_write_text(&scene.scratch, ".sandboxfs/upload-old", "");
	scratch_write_text(&scene.scratch, ".sandboxfs/upload-newer", "");
	utimensat(scene.scratch.fd, ".sandboxfs/request-old", hours, 0);
	utimensat(scene.scratch.fd, ".sandboxfs/upload-newer", hours, 0);
	utimensat(scene.scratch.fd, ".sandboxfs/upload-old", days, 0);
	attach();
	cr_expect(eq(sz, count_staged(&scene.remote, "request-"), 1));
	cr_expect(eq(sz, count_staged(&scene.remote, "upload-"), 1));
	cr_expect(faccessat(scene.scratch.fd, ".sandboxfs/request-new", F_OK, 0) == 0);
	cr_expect(faccessat(scene.scratch.fd, ".sandboxfs/upload-newer", F_OK, 0) == 0);
}

/*
 * A job that has ended has a .code. A job whose sandbox was started again has none, nor a process.
 */
Test(remote, what_dead_mounts_left_is_removed_when_it_is_old)
{
	static const struct {
		const char *name, *text;
		int hours; /* the file's age */
		bool stays;
	} rows[] = {
		{ "seq-0a", "", 30 * 24 + 1, false },
		{ "seq-0b", "", 30 * 24 - 1, true },
		{ "fence-0a", "", 30 * 24 + 1, false },
		{ "once-0a", "", 30 * 24 + 1, false },
		{ "fed-0a.in", "", 8 * 24, false },
		{ "fed-0b.in", "", 5 * 24, true },
		{ "job-0a-1.pid", "1 1", 99, false },
		{ "job-0a-1.out", "secret", 99, false },
		{ "job-0a-1.code", "0 1", 50, false },
		{ "job-0b-1.pid", "1 1", 99, true },
		{ "job-0b-1.out", "secret", 99, true },
		{ "job-0b-1.code", "0 1", 2, true },
		{ "job-0c-1.pid", "2147483647 1", 50, false },
		{ "job-0c-1.sh", "sleep 100000", 50, false },
		{ "job-0d-1.pid", "2147483647 1", 2, true },
		{ "job-0e-1.pid", "%d 1", 50, true }, /* the number is this process's */
		{ "job-0e-1.sh", "sleep 100000", 50, true },
	};
	char path[64], text[64];

	scratch_mkdir(&scene.scratch, ".sandboxfs", 0755);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
			{ time(NULL) - rows[i].hours * 3600, 0 } };

		snprintf(path, sizeof path, ".sandboxfs/%s", rows[i].name);
		if (*rows[i].text == '%')
			snprintf(text, sizeof text, "%d 1", (int)getpid());
		else
			snprintf(text, sizeof text, "%s", rows[i].text);
		scratch_write_text(&scene.scratch, path, text);
		utimensat(scene.scratch.fd, path, times, 0);
	}
	attach();
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		snprintf(path, sizeof path, ".sandboxfs/%s", rows[i].name);
		cr_expect(eq(int, !faccessat(scene.scratch.fd, path, F_OK, 0), rows[i].stays), "%s",
			path);
	}
}

/* ---- A helper that is not as it should be ---- */

Test(remote, a_helper_that_is_not_whole_is_stored_again)
{
	attach();
	cr_assert(truncate(scene.remote.helper_path, 1000) == 0);
	remote_release(&scene.remote);
	attach();
	cr_expect(eq(sz, scene.host.uploads, 2));
	expect_works(&scene.remote, "f", 10);
}

Test(remote, an_upload_that_lost_bytes_is_not_put_in_place)
{
	struct error e;

	scene.host.lost = 1;
	cr_expect(eq(int, attach_to(&scene.remote, &e), ERR_IO), "%s", e.text);
	attach();
	cr_expect(eq(sz, count_staged(&scene.remote, "upload-"), 0));
	expect_works(&scene.remote, "f", 10);
}

Test(remote, a_helper_that_was_removed_is_put_back_once_for_the_request_that_misses_it)
{
	char helper[128];

	attach();
	cr_assert(unlink(scene.remote.helper_path) == 0);
	expect_works(&scene.remote, "f", 10);
	cr_expect(eq(sz, scene.host.uploads, 2));
	/*
	 * The helper is put back also when it may not be executed, and when all of staging is gone.
	 */
	cr_assert(chmod(scene.remote.helper_path, 0600) == 0);
	expect_works(&scene.remote, "g", 10);
	snprintf(helper, sizeof helper, "%s", scene.remote.helper_path);
	remove_ignore(scene.remote.staging);
	cr_assert(unlink(helper) == 0 && rmdir(scene.remote.staging) == 0);
	expect_works(&scene.remote, "large", 100000);
	cr_expect(eq(sz, scene.host.uploads, 3));
}

/* A mount is refused, with a sentence that says why and what works. Commands work. */
static void expect_no_helper(const char *because)
{
	struct error e;

	attach_to(&scene.remote, &e);
	cr_expect(eq(int, e.kind, ERR_UNSUPPORTED));
	cr_expect(strstr(e.text, because) != NULL, "%s", e.text);
	cr_expect(strstr(e.text, "sandboxctl exec") != NULL, "%s", e.text);
	scene.cfg.may_lack_helper = true;
	attach();
	cr_expect(scene.remote.helper == NULL);
	cr_expect(eq(str, scene.remote.no_helper, e.text));
}

/* Writes a script over the helper: the size stays, but the shell runs the script. */
static void spoil_helper(const struct remote *r, const char *script)
{
	AUTO_CLOSE int fd = open(r->helper_path, O_WRONLY | O_CLOEXEC);

	cr_assert(write(fd, script, strlen(script)) == (ssize_t)strlen(script));
}

Test(remote, where_the_helper_cannot_run_only_commands_do)
{
	attach();
	spoil_helper(&scene.remote, "#!/bin/sh\necho 'no such processor' >&2\nexit 126\n");
	remote_release(&scene.remote);
	expect_no_helper("no such processor");
}

Test(remote, on_a_processor_without_a_helper_only_commands_run)
{
	static char path[96];

	scratch_mkdir(&scene.scratch, "bin", 0755);
	scratch_write_text(&scene.scratch, "bin/uname", "#!/bin/sh\necho pdp11\n");
	cr_assert(fchmodat(scene.scratch.fd, "bin/uname", 0755, 0) == 0);
	snprintf(path, sizeof path, "%s/bin:/usr/bin:/bin", scene.scratch.path);
	scene.host.path = path;
	expect_no_helper("pdp11");
	cr_expect(eq(sz, scene.host.uploads, 0));
}

/* ---- Where files may not be executed ---- */

static const char *const shared_places[] = { "/tmp", "/dev/shm", "/var/tmp", "/run" };
#define PLACES (sizeof shared_places / sizeof *shared_places)

static void mount_here(const char *type, const char *at, unsigned long flags)
{
	cr_assert(mount("none", at, type, flags, NULL) == 0, "%s: %s", at, strerror(errno));
}

/*
 * From here on this process has mounts of its own: /mnt is the sandbox's home in place of the
 * scene's directory, and no file may be executed in it, nor in the first `forbidden` of the places
 * that all users share.
 */
static void forbid_execution(size_t forbidden)
{
	scratch_remove(&scene.scratch);
	*scene.scratch.path = 0;
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		skip("nothing can be mounted here");
	/* TMPDIR may lie below one of the places. */
	unsetenv("TMPDIR");
	mount_here("tmpfs", "/mnt", MS_NOEXEC);
	for (size_t i = 0; i < PLACES; i++)
		mount_here("tmpfs", shared_places[i], i < forbidden ? MS_NOEXEC : 0);
	snprintf(scene.host.home, sizeof scene.host.home, "/mnt");
	snprintf(scene.working_dir, sizeof scene.working_dir, "/mnt");
}

static bool is_below(const char *path, const char *dir)
{
	return path && !strncmp(path, dir, strlen(dir)) && path[strlen(dir)] == '/';
}

/* The first `forbidden` of the places are not for programs. */
static void expect_stored_behind(size_t forbidden)
{
	size_t uploads;

	forbid_execution(forbidden);
	attach();
	cr_expect(is_below(scene.remote.helper_path, shared_places[forbidden]), "%s",
		scene.remote.helper_path);
	cr_expect(eq(str, scene.remote.staging, "/mnt/.sandboxfs"));
	expect_works(&scene.remote, "f", 10);
	expect_works(&scene.remote, "large", 100000);
	uploads = scene.host.uploads;
	remote_release(&scene.remote);
	attach();
	cr_expect(eq(sz, scene.host.uploads, uploads), "the second attach finds it there");
	cr_assert(unlink(scene.remote.helper_path) == 0);
	expect_works(&scene.remote, "g", 10);
	remote_release(&scene.remote);
	cr_expect(access("/tmp/.sandboxfs-0", F_OK) == (forbidden ? -1 : 0));
}

Test(remote, the_helper_is_stored_in_tmp_where_home_forbids_execution)
{
	expect_stored_behind(0);
}

Test(remote, the_helper_is_stored_in_dev_shm_where_tmp_forbids_execution_too)
{
	expect_stored_behind(1);
}

Test(remote, the_helper_is_stored_in_var_tmp_where_dev_shm_forbids_execution_too)
{
	expect_stored_behind(2);
}

Test(remote, the_helper_is_stored_in_run_where_var_tmp_forbids_execution_too)
{
	expect_stored_behind(3);
}

Test(remote, a_place_that_is_full_is_not_used)
{
	forbid_execution(0);
	cr_assert(mkdir("/tmp/.sandboxfs-0", 0700) == 0);
	/* Room for two inodes: both are there. */
	cr_assert(mount("none", "/tmp", "tmpfs", MS_REMOUNT, "nr_inodes=2") == 0, "%s",
		strerror(errno));
	attach();
	cr_expect(is_below(scene.remote.helper_path, "/dev/shm"), "%s", scene.remote.helper_path);
	expect_works(&scene.remote, "f", 10);
}

/* The sandbox's PATH has these programs, and no others that could run a program. */
static void have_only(const char *const *programs)
{
	static char path[32];

	cr_assert(mkdir("/mnt/bin", 0755) == 0);
	for (; *programs; programs++) {
		char from[64], to[64];

		snprintf(from, sizeof from, "/usr/bin/%s", *programs);
		snprintf(to, sizeof to, "/mnt/bin/%s", *programs);
		cr_assert(symlink(from, to) == 0);
	}
	snprintf(path, sizeof path, "/mnt/bin");
	scene.host.path = path;
}

#define TOOLS "stat", "od", "tr", "find", "ls", "mkdir", "chmod", "mv", "rm", "rmdir", "id", "uname"

static void expect_from_memory(const char *const *programs, const char *loader)
{
	forbid_execution(PLACES);
	have_only(programs);
	attach();
	cr_assert(scene.remote.loader[0] != NULL);
	cr_expect(strstr(scene.remote.loader[2], loader) != NULL, "%s", scene.remote.loader[2]);
	expect_works(&scene.remote, "f", 10);
	expect_works(&scene.remote, "large", 100000);
	cr_assert(unlink(scene.remote.helper_path) == 0);
	expect_works(&scene.remote, "g", 10);
}

Test(remote, where_no_file_may_be_executed_python_runs_the_helper_from_memory)
{
	if (access("/usr/bin/python3", X_OK))
		skip("no python3 here");
	expect_from_memory((const char *const[]){ TOOLS, "python3", NULL }, "python3");
}

Test(remote, where_no_file_may_be_executed_perl_runs_the_helper_from_memory)
{
	if (access("/usr/bin/perl", X_OK))
		skip("no perl here");
	expect_from_memory((const char *const[]){ TOOLS, "perl", NULL }, "perl");
}

Test(remote, where_nothing_can_run_the_helper_only_commands_do)
{
	forbid_execution(PLACES);
	have_only((const char *const[]){ TOOLS, NULL });
	expect_no_helper(
		"/mnt/.sandboxfs, /tmp/.sandboxfs-0, /dev/shm/.sandboxfs-0, /var/tmp/.sandboxfs-0, "
		"/run/.sandboxfs-0");
	cr_expect(eq(sz, scene.host.uploads, 0));
	cr_expect(access("/tmp/.sandboxfs-0", F_OK) != 0, "what was tried is left");
}

/* As a container with a read-only root and a tmpfs for temporary files. */
Test(remote, where_only_temporary_files_can_be_written_staging_is_with_them)
{
	forbid_execution(PLACES);
	cr_assert(mount(NULL, "/mnt", NULL, MS_REMOUNT | MS_RDONLY | MS_NOEXEC, NULL) == 0);
	attach();
	cr_expect(eq(str, scene.remote.staging, "/tmp/.sandboxfs-0"));
	cr_expect(eq(str, scene.remote.root, "/mnt"));
	cr_expect(scene.remote.helper != NULL);
}

Test(remote, a_sandbox_without_a_place_for_staging_is_reported)
{
	struct error e;

	forbid_execution(PLACES);
	for (size_t i = 0; i < PLACES; i++)
		mount_here("tmpfs", shared_places[i], MS_RDONLY);
	snprintf(scene.host.home, sizeof scene.host.home, "/proc");
	scene.cfg.path = "/proc/sys";
	attach_to(&scene.remote, &e);
	cr_expect(eq(int, e.kind, ERR_DENIED));
	cr_expect(strstr(e.text, "/proc/sys") != NULL, "%s", e.text);
}

/* ---- Requests ---- */

Test(remote, a_large_request_is_uploaded_while_the_helper_waits)
{
	scene.host.inline_max = 1000;
	attach();
	expect_works(&scene.remote, "f", VERB_DATA_MAX);
	cr_expect(eq(sz, count_staged(&scene.remote, "request-"), 0));
}

/* The upload breaks off in the middle; nothing runs. */
static struct error upload_fails;

static enum err run_without_room(void *context, const struct call *call, const char *const *argv,
	unsigned flags, const struct remote_upload *upload, execute_sink sink, void *sink_context,
	int *exit_code, struct error *e)
{
	struct remote_upload part = { 0 };

	if (!upload || !upload_fails.kind)
		return scene.ops.run(
			context, call, argv, flags, upload, sink, sink_context, exit_code, e);
	part = (struct remote_upload){ upload->path, upload->bytes, upload->len / 2 };
	cr_assert(eq(int, scene.ops.upload(context, call, &part, NULL), ERR_OK));
	return error_set(e, upload_fails.kind, "%s", upload_fails.text);
}

static enum err write_noting(struct progress *progress, const char *path)
{
	static const char bytes[5000];
	const struct change changes[] = {
		CHANGE_ROW(CREATE, path, .mode = 0644),
		CHANGE_ROW(WRITE, path, .data = bytes, .data_len = sizeof bytes),
	};
	const struct apply_request request = { .changes = changes, .changes_count = 2 };
	const struct call call = { .progress = progress };
	struct change_result results[2];

	*progress = progress_now();
	return helper_client_apply(scene.remote.helper, &call, &request, results, NULL);
}

Test(remote, a_request_for_which_the_disk_has_no_room_leaves_nothing_there)
{
	static const struct {
		enum err kind;
		const char *text;
		bool is_of_the_disk;
	} cases[] = {
		{ ERR_NO_SPACE, "write: no space left on device", true },
		{ ERR_QUOTA, "write: Disk quota exceeded", true },
		{ ERR_QUOTA, "too many requests", false },
		{ ERR_IO, "the upload broke off", false },
	};
	struct progress progress;

	scene.host.inline_max = 1000;
	attach();
	scene.remote.ops.run = run_without_room;
	for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
		upload_fails = (struct error){ 0 };
		error_set(&upload_fails, cases[n].kind, "%s", cases[n].text);
		cr_expect(eq(int, write_noting(&progress, "f"), cases[n].kind));
		cr_expect(eq(int, progress.has_no_room, cases[n].is_of_the_disk));
		cr_expect(eq(sz, count_staged(&scene.remote, "request-"),
				  cases[n].is_of_the_disk ? 0 : 1),
			"%s", cases[n].text);
		upload_fails = (struct error){ 0 };
		cr_expect(eq(int, write_noting(&progress, "f"), ERR_OK));
		cr_expect(
			eq(sz, count_staged(&scene.remote, "request-"), 0), "the next removes it");
	}
}

static enum err no_item(void *context, const struct list_item *item, struct error *e)
{
	(void)context, (void)item, (void)e;
	return ERR_OK;
}

Test(remote, a_request_that_is_packed_may_be_longer)
{
	const char *starts[100];
	const struct list_request request = { .starts = starts, .starts_count = 100 };

	for (size_t n = 0; n < 100; n++)
		starts[n] = "no/such/path/in/the/sandbox";
	scene.host.inline_max = 1000;
	scene.host.inline_packed_max = 10000;
	attach();
	cr_expect(eq(int,
		helper_client_list(scene.remote.helper, NULL, &request, no_item, NULL, NULL),
		ERR_OK));
	cr_expect(eq(sz, scene.host.uploads_in_runs, 0));
	expect_works(&scene.remote, "f", 5000);
	cr_expect(eq(sz, scene.host.uploads_in_runs, 1));
}

Test(remote, a_request_in_many_arguments_is_one_request)
{
	scene.host.inline_max = 60000;
	attach();
	for (size_t len = 3 * 1024 - 200; len < 3 * 1024; len += 7)
		expect_works(&scene.remote, "f", len);
	expect_works(&scene.remote, "f", 50000);
}

Test(remote, an_answer_cut_at_any_byte_is_an_error_and_no_other_answer)
{
	AUTO_BUF struct buf got = BUF_INIT(100);
	struct error e;

	attach();
	expect_works(&scene.remote, "f", 10);
	for (scene.host.cut_after = 1; read_file(&scene.remote, "f", &got, &e) != ERR_OK;
		scene.host.cut_after++) {
		cr_assert(
			eq(int, e.kind, ERR_UNREACHABLE), "%zu: %s", scene.host.cut_after, e.text);
		cr_assert(scene.host.cut_after < 1000);
	}
	cr_expect(scene.host.cut_after > 60);
}

Test(remote, an_attach_cut_at_any_byte_is_an_error)
{
	struct error e;

	attach();
	remote_release(&scene.remote);
	for (scene.host.cut_after = 1; attach_to(&scene.remote, &e) != ERR_OK;
		scene.host.cut_after += 7) {
		cr_assert(
			eq(int, e.kind, ERR_UNREACHABLE), "%zu: %s", scene.host.cut_after, e.text);
		cr_assert(scene.host.cut_after < 3000);
	}
	cr_expect(scene.host.cut_after > 100);
}

Test(remote, text_where_the_report_should_be_is_an_error)
{
	struct error e;

	scene.host.greeting = "Welcome to this sandbox!\n";
	attach_to(&scene.remote, &e);
	cr_expect(eq(int, e.kind, ERR_PROTOCOL));
	cr_expect(strstr(e.text, "Welcome to this sandbox!") != NULL, "%s", e.text);
}

Test(remote, what_the_helper_says_on_its_way_out_is_the_error)
{
	AUTO_BUF struct buf got = BUF_INIT(100);
	struct error e;

	attach();
	cr_assert(unlinkat(scene.scratch.fd, "work", AT_REMOVEDIR) == 0);
	read_file(&scene.remote, "f", &got, &e);
	cr_expect(eq(int, e.kind, ERR_NOT_FOUND), "%s", e.text);
	cr_expect(strstr(e.text, scene.working_dir) != NULL, "%s", e.text);
}

/* ---- Several at once ---- */

#define THREADS 6

struct worker {
	struct remote remote;
	pthread_t thread;
	int number;
};

static void *attach_too(void *context)
{
	struct worker *w = context;
	struct error e;

	remote_attach(&w->remote, &scene.ops, &scene.cfg, scene.working_dir, NULL, &e);
	return NULL;
}

static void *write_too(void *context)
{
	struct worker *w = context;

	for (int i = 0; i < 5; i++) {
		char name[16];

		snprintf(name, sizeof name, "f%d-%d", w->number, i);
		expect_works(&scene.remote, name, i % 2 ? 100 : 20000);
	}
	return NULL;
}

static void work(struct worker workers[THREADS], void *(*job)(void *))
{
	for (int i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ .number = i };
		cr_assert(pthread_create(&workers[i].thread, NULL, job, &workers[i]) == 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
}

Test(remote, several_may_attach_at_once)
{
	struct worker workers[THREADS];

	scene.ops = host_remote_ops(&scene.host);
	work(workers, attach_too);
	for (int i = 0; i < THREADS; i++) {
		cr_assert(workers[i].remote.helper != NULL);
		expect_works(&workers[i].remote, "f", 10);
	}
	cr_expect(eq(sz, count_staged(&workers[0].remote, ""), 4),
		"., .., .gitignore and the helper");
	for (int i = 0; i < THREADS; i++)
		remote_release(&workers[i].remote);
}

Test(remote, requests_run_side_by_side_also_when_all_miss_the_helper)
{
	struct worker workers[THREADS];

	scene.host.inline_max = 5000;
	attach();
	cr_assert(unlink(scene.remote.helper_path) == 0);
	work(workers, write_too);
}
