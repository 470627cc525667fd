#include "providers/remote.h"

#include "providers/base/cleanup.h"
#include "providers/helper_image.h"
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

TestSuite(remote, .timeout = 300);

/* ---- A sandbox: a home with the directory "work" in it ---- */

struct scene {
	struct scratch scratch;
	struct host_remote host;
	struct remote_ops ops;
	struct remote remote;
	struct provider_config cfg;
	char working_dir[96];
};

static void scene_open(struct scene *s)
{
	struct utsname here;
	struct helper_image image;

	*s = (struct scene){ 0 };
	cr_assert(uname(&here) == 0);
	if (!helper_image_find(here.machine, &image))
		cr_skip_test("no helper for %s was built: no compiler for it", here.machine);
	scratch_make(&s->scratch);
	scratch_mkdir(&s->scratch, "work", 0755);
	snprintf(s->working_dir, sizeof s->working_dir, "%s/work", s->scratch.path);
	host_remote_init(&s->host, s->scratch.path);
}

static void scene_close(struct scene *s)
{
	scratch_remove(&s->scratch);
}

static enum err attach_to(struct scene *s, struct remote *remote, struct error *e)
{
	*e = (struct error){ 0 };
	s->ops = host_remote_ops(&s->host);
	return remote_attach(remote, &s->ops, &s->cfg, s->working_dir, NULL, e);
}

static void attach(struct scene *s)
{
	struct error e;

	attach_to(s, &s->remote, &e);
	cr_assert(eq(int, e.kind, ERR_OK), "%s", e.text);
}

/* ---- Short words for the verbs ---- */

static enum err write_file(
	struct remote *r, const char *path, const void *bytes, size_t len, struct error *e)
{
	const struct change changes[] = {
		{ .op = CHANGE_CREATE,
			.path = path,
			.mode = 0644,
			.uid = CHANGE_NO_OWNER,
			.gid = CHANGE_NO_OWNER },
		{ .op = CHANGE_WRITE, .path = path, .data = bytes, .data_len = len },
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

/* That the helper does its work there: a file that is written and read. */
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

/* Names in staging that begin so. */
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

Test(remote, the_first_attach_stores_the_helper_and_every_later_one_is_a_single_run)
{
	struct scene s;
	struct stat st;

	scene_open(&s);
	attach(&s);
	cr_expect(eq(sz, s.host.runs, 2));
	cr_expect(eq(sz, s.host.uploads, 1));
	cr_expect(eq(str, s.remote.root, s.working_dir));
	cr_expect(eq(str, s.remote.home, s.scratch.path));
	cr_expect(eq(u32, s.remote.identity.uid, getuid()));
	cr_expect(strncmp(s.remote.helper_path, s.remote.staging, strlen(s.remote.staging)) == 0);
	cr_assert(fstatat(s.scratch.fd, ".sandboxfs", &st, AT_SYMLINK_NOFOLLOW) == 0);
	cr_expect(eq(u32, st.st_mode, S_IFDIR | 0700));
	cr_assert(stat(s.remote.helper_path, &st) == 0);
	cr_expect(eq(u32, st.st_mode, S_IFREG | 0700));
	remote_release(&s.remote);
	attach(&s);
	cr_expect(eq(sz, s.host.runs, 3));
	cr_expect(eq(sz, s.host.uploads, 1));
	expect_works(&s.remote, "f", 10);
	cr_expect(eq(sz, s.host.runs, 5));
	remote_release(&s.remote);
	scene_close(&s);
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
	struct scene s;

	scene_open(&s);
	scratch_mkdir(&s.scratch, "work/a", 0755);
	for (size_t i = 0; i < sizeof odd_names / sizeof *odd_names; i++) {
		char path[160];

		s.host.shell =
			shells[i % 3] && access(shells[i % 3], X_OK) == 0 ? shells[i % 3] : NULL;
		snprintf(path, sizeof path, "work/%s", odd_names[i]);
		mkdirat(s.scratch.fd, path, 0755);
		s.cfg.path = odd_names[i];
		attach(&s);
		expect_works(&s.remote, "f", 3);
		strncat(path, "/f", sizeof path - strlen(path) - 1);
		cr_expect(faccessat(s.scratch.fd, path, F_OK, 0) == 0, "row %zu", i);
		remote_release(&s.remote);
	}
	scene_close(&s);
}

Test(remote, a_path_that_is_no_directory_is_told_apart)
{
	struct scene s;
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

	scene_open(&s);
	scratch_write_text(&s.scratch, "work/file", "");
	cr_assert(symlinkat("nowhere", s.scratch.fd, "work/dangling") == 0);
	cr_assert(symlinkat("round", s.scratch.fd, "work/round") == 0);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		s.cfg.path = rows[i].path;
		attach_to(&s, &s.remote, &e);
		cr_expect(eq(int, e.kind, rows[i].kind), "%s: %s", rows[i].path, e.text);
		cr_expect(strstr(e.text, rows[i].path) != NULL, "%s: %s", rows[i].path, e.text);
	}
	scene_close(&s);
}

Test(remote, a_directory_that_may_not_be_entered_is_denied)
{
	static const char *const paths[] = { "closed", "closed/below", "closed/absent" };
	uid_t me = geteuid();
	struct scene s;
	struct error e;

	scene_open(&s);
	scratch_mkdir(&s.scratch, "work/closed", 0755);
	scratch_mkdir(&s.scratch, "work/closed/below", 0755);
	cr_assert(fchmodat(s.scratch.fd, "work/closed", 0, 0) == 0);
	cr_assert(fchmodat(s.scratch.fd, ".", 0755, 0) == 0);
	/* Nothing is closed to root. */
	cr_assert(getuid() || setresuid(65534, 65534, 0) == 0);
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		s.cfg.path = paths[i];
		attach_to(&s, &s.remote, &e);
		cr_expect(eq(int, e.kind, ERR_DENIED), "%s: %s", paths[i], e.text);
	}
	cr_assert(setresuid((uid_t)-1, me, (uid_t)-1) == 0);
	scene_close(&s);
}

static const char *const tools[] = { "sh", "stat", "od", "tr", "find", "ls", "mkdir", "chmod", "mv",
	"rm", "id", "uname", "base64" };

/* A PATH on which there is nothing but BusyBox. */
static void use_busybox(struct scene *s, char *path, size_t size)
{
	static const char busybox[] = "/usr/bin/busybox";

	if (access(busybox, X_OK))
		cr_skip_test("no busybox here");
	scratch_mkdir(&s->scratch, "bin", 0755);
	for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
		char name[32];

		snprintf(name, sizeof name, "bin/%s", tools[i]);
		cr_assert(symlinkat(busybox, s->scratch.fd, name) == 0);
	}
	snprintf(path, size, "%s/bin/sh", s->scratch.path);
	s->host.shell = path;
}

Test(remote, busybox_and_text_do_as_well)
{
	char shell[96], path[96];
	struct scene s;

	scene_open(&s);
	use_busybox(&s, shell, sizeof shell);
	snprintf(path, sizeof path, "%s/bin", s.scratch.path);
	s.host.path = path;
	s.host.is_text = true;
	s.host.inline_max = 2000;
	scratch_mkdir(&s.scratch, "work/two\nlines \xff", 0755);
	s.cfg.path = "two\nlines \xff";
	attach(&s);
	expect_works(&s.remote, "small", 100);
	expect_works(&s.remote, "large", 300000);
	s.cfg.path = "absent";
	cr_expect(
		eq(int, attach_to(&s, &(struct remote){ 0 }, &(struct error){ 0 }), ERR_NOT_FOUND));
	remote_release(&s.remote);
	scene_close(&s);
}

Test(remote, staging_is_in_the_root_where_home_is_elsewhere)
{
	struct scene s;
	struct stat here, shm;
	char dir[] = "/dev/shm/remote-XXXXXX", command[64];

	scene_open(&s);
	if (!mkdtemp(dir) || stat(dir, &shm) || fstat(s.scratch.fd, &here) ||
		here.st_dev == shm.st_dev)
		cr_skip_test("no second file system here");
	s.cfg.path = dir;
	s.cfg.may_lack_helper = true;
	attach(&s);
	cr_expect(strncmp(s.remote.staging, dir, strlen(dir)) == 0, "%s", s.remote.staging);
	if (s.remote.helper_path)
		cr_expect(unlink(s.remote.helper_path) == 0);
	remote_release(&s.remote);
	snprintf(command, sizeof command, "%s/.sandboxfs", dir);
	cr_expect(rmdir(command) == 0 && rmdir(dir) == 0);
	scene_close(&s);
}

Test(remote, what_interrupted_requests_and_uploads_left_is_removed_when_it_is_old)
{
	struct scene s;
	const struct timespec hours[2] = { { .tv_nsec = UTIME_OMIT },
		{ time(NULL) - 2 * 3600, 0 } };
	const struct timespec days[2] = { { .tv_nsec = UTIME_OMIT },
		{ time(NULL) - 50 * 3600, 0 } };

	scene_open(&s);
	scratch_mkdir(&s.scratch, ".sandboxfs", 0755);
	scratch_write_text(&s.scratch, ".sandboxfs/request-old", "");
	scratch_write_text(&s.scratch, ".sandboxfs/request-new", "");
	scratch_write_text(&s.scratch, ".sandboxfs/upload-old", "");
	scratch_write_text(&s.scratch, ".sandboxfs/upload-newer", "");
	utimensat(s.scratch.fd, ".sandboxfs/request-old", hours, 0);
	utimensat(s.scratch.fd, ".sandboxfs/upload-newer", hours, 0);
	utimensat(s.scratch.fd, ".sandboxfs/upload-old", days, 0);
	attach(&s);
	cr_expect(eq(sz, count_staged(&s.remote, "request-"), 1));
	cr_expect(eq(sz, count_staged(&s.remote, "upload-"), 1));
	cr_expect(faccessat(s.scratch.fd, ".sandboxfs/request-new", F_OK, 0) == 0);
	cr_expect(faccessat(s.scratch.fd, ".sandboxfs/upload-newer", F_OK, 0) == 0);
	remote_release(&s.remote);
	scene_close(&s);
}

/* ---- A helper that is not as it should be ---- */

Test(remote, a_helper_that_is_not_whole_is_stored_again)
{
	struct scene s;

	scene_open(&s);
	attach(&s);
	cr_assert(truncate(s.remote.helper_path, 1000) == 0);
	remote_release(&s.remote);
	attach(&s);
	cr_expect(eq(sz, s.host.uploads, 2));
	expect_works(&s.remote, "f", 10);
	remote_release(&s.remote);
	scene_close(&s);
}

Test(remote, an_upload_that_lost_bytes_is_not_put_in_place)
{
	struct scene s;
	struct error e;

	scene_open(&s);
	s.host.lost = 1;
	cr_expect(eq(int, attach_to(&s, &s.remote, &e), ERR_IO), "%s", e.text);
	attach(&s);
	cr_expect(eq(sz, count_staged(&s.remote, "upload-"), 0));
	expect_works(&s.remote, "f", 10);
	remote_release(&s.remote);
	scene_close(&s);
}

Test(remote, a_helper_that_was_removed_is_put_back_once_for_the_request_that_misses_it)
{
	char helper[128];
	struct scene s;

	scene_open(&s);
	attach(&s);
	cr_assert(unlink(s.remote.helper_path) == 0);
	expect_works(&s.remote, "f", 10);
	cr_expect(eq(sz, s.host.uploads, 2));
	/* Also when it may not be executed, and when all of staging went. */
	cr_assert(chmod(s.remote.helper_path, 0600) == 0);
	expect_works(&s.remote, "g", 10);
	snprintf(helper, sizeof helper, "%s", s.remote.helper_path);
	cr_assert(unlink(helper) == 0 && rmdir(s.remote.staging) == 0);
	expect_works(&s.remote, "large", 100000);
	cr_expect(eq(sz, s.host.uploads, 3));
	remote_release(&s.remote);
	scene_close(&s);
}

/* A mount is refused with a sentence that says why and what works; commands do. */
static void expect_no_helper(struct scene *s, const char *because)
{
	struct error e;

	attach_to(s, &s->remote, &e);
	cr_expect(eq(int, e.kind, ERR_UNSUPPORTED));
	cr_expect(strstr(e.text, because) != NULL, "%s", e.text);
	cr_expect(strstr(e.text, "sandboxctl exec") != NULL, "%s", e.text);
	s->cfg.may_lack_helper = true;
	attach(s);
	cr_expect(s->remote.helper == NULL);
	cr_expect(eq(str, s->remote.no_helper, e.text));
	remote_release(&s->remote);
}

/* As long as the helper, but not one: the shell takes it for a script. */
static void spoil_helper(const struct remote *r, const char *script)
{
	AUTO_CLOSE int fd = open(r->helper_path, O_WRONLY | O_CLOEXEC);

	cr_assert(write(fd, script, strlen(script)) == (ssize_t)strlen(script));
}

Test(remote, where_the_helper_cannot_run_only_commands_do)
{
	struct scene s;

	scene_open(&s);
	attach(&s);
	spoil_helper(&s.remote, "#!/bin/sh\necho 'no such processor' >&2\nexit 126\n");
	remote_release(&s.remote);
	expect_no_helper(&s, "no such processor");
	scene_close(&s);
}

Test(remote, on_a_processor_without_a_helper_only_commands_run)
{
	char path[96];
	struct scene s;

	scene_open(&s);
	scratch_mkdir(&s.scratch, "bin", 0755);
	scratch_write_text(&s.scratch, "bin/uname", "#!/bin/sh\necho pdp11\n");
	cr_assert(fchmodat(s.scratch.fd, "bin/uname", 0755, 0) == 0);
	snprintf(path, sizeof path, "%s/bin:/usr/bin:/bin", s.scratch.path);
	s.host.path = path;
	expect_no_helper(&s, "pdp11");
	cr_expect(eq(sz, s.host.uploads, 0));
	scene_close(&s);
}

/* ---- Where files may not be executed ---- */

static const char *const shared_places[] = { "/tmp", "/dev/shm", "/var/tmp" };
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
static void forbid_execution(struct scene *s, size_t forbidden)
{
	scene_close(s);
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		cr_skip_test("nothing can be mounted here");
	mount_here("tmpfs", "/mnt", MS_NOEXEC);
	for (size_t i = 0; i < PLACES; i++)
		mount_here("tmpfs", shared_places[i], i < forbidden ? MS_NOEXEC : 0);
	snprintf(s->host.home, sizeof s->host.home, "/mnt");
	snprintf(s->working_dir, sizeof s->working_dir, "/mnt");
}

static bool is_below(const char *path, const char *dir)
{
	return path && !strncmp(path, dir, strlen(dir)) && path[strlen(dir)] == '/';
}

Test(remote, the_helper_is_stored_where_files_may_be_executed)
{
	for (size_t forbidden = 0; forbidden < PLACES; forbidden++) {
		struct scene s;
		size_t uploads;

		scene_open(&s);
		forbid_execution(&s, forbidden);
		attach(&s);
		cr_expect(is_below(s.remote.helper_path, shared_places[forbidden]), "%s",
			s.remote.helper_path);
		cr_expect(eq(str, s.remote.staging, "/mnt/.sandboxfs"));
		expect_works(&s.remote, "f", 10);
		expect_works(&s.remote, "large", 100000);
		uploads = s.host.uploads;
		remote_release(&s.remote);
		attach(&s);
		cr_expect(eq(sz, s.host.uploads, uploads), "the second attach finds it there");
		cr_assert(unlink(s.remote.helper_path) == 0);
		expect_works(&s.remote, "g", 10);
		remote_release(&s.remote);
		cr_expect(access("/tmp/.sandboxfs-0", F_OK) == (forbidden ? -1 : 0));
	}
}

Test(remote, a_place_that_is_full_is_not_used)
{
	struct scene s;

	scene_open(&s);
	forbid_execution(&s, 0);
	cr_assert(mkdir("/tmp/.sandboxfs-0", 0700) == 0);
	/* Room for two inodes: both are there. */
	cr_assert(mount("none", "/tmp", "tmpfs", MS_REMOUNT, "nr_inodes=2") == 0, "%s",
		strerror(errno));
	attach(&s);
	cr_expect(is_below(s.remote.helper_path, "/dev/shm"), "%s", s.remote.helper_path);
	expect_works(&s.remote, "f", 10);
	remote_release(&s.remote);
}

/* Its PATH has these programs and nothing else that could run another. */
static void have_only(struct scene *s, const char *const *programs)
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
	s->host.path = path;
}

#define TOOLS "stat", "od", "tr", "find", "ls", "mkdir", "chmod", "mv", "rm", "rmdir", "id", "uname"

static void expect_from_memory(const char *const *programs, const char *loader)
{
	struct scene s;

	scene_open(&s);
	forbid_execution(&s, PLACES);
	have_only(&s, programs);
	attach(&s);
	cr_assert(s.remote.loader[0] != NULL);
	cr_expect(strstr(s.remote.loader[2], loader) != NULL, "%s", s.remote.loader[2]);
	expect_works(&s.remote, "f", 10);
	expect_works(&s.remote, "large", 100000);
	cr_assert(unlink(s.remote.helper_path) == 0);
	expect_works(&s.remote, "g", 10);
	remote_release(&s.remote);
}

Test(remote, where_no_file_may_be_executed_python_runs_the_helper_from_memory)
{
	if (access("/usr/bin/python3", X_OK))
		cr_skip_test("no python3 here");
	expect_from_memory((const char *const[]){ TOOLS, "python3", NULL }, "python3");
}

Test(remote, where_no_file_may_be_executed_perl_runs_the_helper_from_memory)
{
	if (access("/usr/bin/perl", X_OK))
		cr_skip_test("no perl here");
	expect_from_memory((const char *const[]){ TOOLS, "perl", NULL }, "perl");
}

Test(remote, where_nothing_can_run_the_helper_only_commands_do)
{
	struct scene s;

	scene_open(&s);
	forbid_execution(&s, PLACES);
	have_only(&s, (const char *const[]){ TOOLS, NULL });
	expect_no_helper(&s,
		"/mnt/.sandboxfs, /tmp/.sandboxfs-0, /dev/shm/.sandboxfs-0, /var/tmp/.sandboxfs-0");
	cr_expect(eq(sz, s.host.uploads, 0));
	cr_expect(access("/tmp/.sandboxfs-0", F_OK) != 0, "what was tried is left");
}

/* As a container with a read-only root and a tmpfs for temporary files. */
Test(remote, where_only_temporary_files_can_be_written_staging_is_with_them)
{
	struct scene s;

	scene_open(&s);
	forbid_execution(&s, PLACES);
	cr_assert(mount(NULL, "/mnt", NULL, MS_REMOUNT | MS_RDONLY | MS_NOEXEC, NULL) == 0);
	attach(&s);
	cr_expect(eq(str, s.remote.staging, "/tmp/.sandboxfs-0"));
	cr_expect(eq(str, s.remote.root, "/mnt"));
	cr_expect(s.remote.helper != NULL);
	remote_release(&s.remote);
}

Test(remote, that_there_is_no_place_for_staging_is_told)
{
	struct scene s;
	struct error e;

	scene_open(&s);
	forbid_execution(&s, PLACES);
	for (size_t i = 0; i < PLACES; i++)
		mount_here("tmpfs", shared_places[i], MS_RDONLY);
	snprintf(s.host.home, sizeof s.host.home, "/proc");
	s.cfg.path = "/proc/sys";
	attach_to(&s, &s.remote, &e);
	cr_expect(eq(int, e.kind, ERR_DENIED));
	cr_expect(strstr(e.text, "/proc/sys") != NULL, "%s", e.text);
}

/* ---- Requests ---- */

Test(remote, a_large_request_is_uploaded_while_the_helper_waits)
{
	struct scene s;

	scene_open(&s);
	s.host.inline_max = 1000;
	attach(&s);
	expect_works(&s.remote, "f", VERB_DATA_MAX);
	cr_expect(eq(sz, count_staged(&s.remote, "request-"), 0));
	remote_release(&s.remote);
	scene_close(&s);
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
	struct scene s;

	for (size_t n = 0; n < 100; n++)
		starts[n] = "no/such/path/in/the/sandbox";
	scene_open(&s);
	s.host.inline_max = 1000;
	s.host.inline_packed_max = 10000;
	attach(&s);
	cr_expect(eq(int, helper_client_list(s.remote.helper, NULL, &request, no_item, NULL, NULL),
		ERR_OK));
	cr_expect(eq(sz, s.host.uploads_in_runs, 0));
	expect_works(&s.remote, "f", 5000);
	cr_expect(eq(sz, s.host.uploads_in_runs, 1));
	remote_release(&s.remote);
	scene_close(&s);
}

Test(remote, a_request_in_many_arguments_is_one_request)
{
	struct scene s;

	scene_open(&s);
	s.host.inline_max = 60000;
	attach(&s);
	for (size_t len = 3 * 1024 - 200; len < 3 * 1024; len += 7)
		expect_works(&s.remote, "f", len);
	expect_works(&s.remote, "f", 50000);
	remote_release(&s.remote);
	scene_close(&s);
}

Test(remote, an_answer_cut_at_any_byte_is_an_error_and_no_other_answer)
{
	AUTO_BUF struct buf got = BUF_INIT(100);
	struct scene s;
	struct error e;

	scene_open(&s);
	attach(&s);
	expect_works(&s.remote, "f", 10);
	for (s.host.cut_after = 1; read_file(&s.remote, "f", &got, &e) != ERR_OK;
		s.host.cut_after++) {
		cr_assert(eq(int, e.kind, ERR_UNREACHABLE), "%zu: %s", s.host.cut_after, e.text);
		cr_assert(s.host.cut_after < 1000);
	}
	cr_expect(s.host.cut_after > 60);
	remote_release(&s.remote);
	scene_close(&s);
}

Test(remote, an_attach_cut_at_any_byte_is_an_error)
{
	struct scene s;
	struct error e;

	scene_open(&s);
	attach(&s);
	remote_release(&s.remote);
	for (s.host.cut_after = 1; attach_to(&s, &s.remote, &e) != ERR_OK; s.host.cut_after += 7) {
		cr_assert(eq(int, e.kind, ERR_UNREACHABLE), "%zu: %s", s.host.cut_after, e.text);
		cr_assert(s.host.cut_after < 3000);
	}
	cr_expect(s.host.cut_after > 100);
	remote_release(&s.remote);
	scene_close(&s);
}

Test(remote, text_where_the_report_should_be_is_told)
{
	struct scene s;
	struct error e;

	scene_open(&s);
	s.host.greeting = "Welcome to this sandbox!\n";
	attach_to(&s, &s.remote, &e);
	cr_expect(eq(int, e.kind, ERR_PROTOCOL));
	cr_expect(strstr(e.text, "Welcome to this sandbox!") != NULL, "%s", e.text);
	scene_close(&s);
}

Test(remote, what_the_helper_says_on_its_way_out_is_the_error)
{
	AUTO_BUF struct buf got = BUF_INIT(100);
	struct scene s;
	struct error e;

	scene_open(&s);
	attach(&s);
	cr_assert(unlinkat(s.scratch.fd, "work", AT_REMOVEDIR) == 0);
	read_file(&s.remote, "f", &got, &e);
	cr_expect(eq(int, e.kind, ERR_NOT_FOUND), "%s", e.text);
	cr_expect(strstr(e.text, s.working_dir) != NULL, "%s", e.text);
	remote_release(&s.remote);
	scene_close(&s);
}

/* ---- Several at once ---- */

#define THREADS 6

struct worker {
	struct scene *scene;
	struct remote remote;
	pthread_t thread;
	int number;
};

static void *attach_too(void *context)
{
	struct worker *w = context;
	struct error e;

	remote_attach(&w->remote, &w->scene->ops, &w->scene->cfg, w->scene->working_dir, NULL, &e);
	return NULL;
}

static void *write_too(void *context)
{
	struct worker *w = context;

	for (int i = 0; i < 5; i++) {
		char name[16];

		snprintf(name, sizeof name, "f%d-%d", w->number, i);
		expect_works(&w->scene->remote, name, i % 2 ? 100 : 20000);
	}
	return NULL;
}

static void work(struct scene *s, struct worker workers[THREADS], void *(*job)(void *))
{
	for (int i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ .scene = s, .number = i };
		cr_assert(pthread_create(&workers[i].thread, NULL, job, &workers[i]) == 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
}

Test(remote, several_may_attach_at_once)
{
	struct worker workers[THREADS];
	struct scene s;

	scene_open(&s);
	s.ops = host_remote_ops(&s.host);
	work(&s, workers, attach_too);
	for (int i = 0; i < THREADS; i++) {
		cr_assert(workers[i].remote.helper != NULL);
		expect_works(&workers[i].remote, "f", 10);
	}
	cr_expect(eq(sz, count_staged(&workers[0].remote, ""), 3), "., .. and the helper");
	for (int i = 0; i < THREADS; i++)
		remote_release(&workers[i].remote);
	scene_close(&s);
}

Test(remote, requests_run_side_by_side_also_when_all_miss_the_helper)
{
	struct worker workers[THREADS];
	struct scene s;

	scene_open(&s);
	s.host.inline_max = 5000;
	attach(&s);
	cr_assert(unlink(s.remote.helper_path) == 0);
	work(&s, workers, write_too);
	remote_release(&s.remote);
	scene_close(&s);
}
