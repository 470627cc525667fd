/* Large requests, which are uploaded: the part of them that is compressed on the way. */
#include "providers/remote/pack.h"

#include "providers/base/cleanup.h"
#include "providers/client/image.h"
#include "tests/support/changes.h"
#include "tests/support/host_remote.h"
#include "tests/support/scratch.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/utsname.h>

#define LARGE ((size_t)1024 * 1024)

static struct scratch scratch;
static struct host_remote host;
static struct remote_ops ops;
static struct remote remote;
static unsigned char *bytes;

static void open_scene(void)
{
	struct helper_image image;
	struct utsname here;
	struct error e = { 0 };

	cr_assert(uname(&here) == 0);
	if (!helper_image_find(here.machine, &image))
		cr_skip_test("no helper for %s was built: no compiler for it", here.machine);
	scratch_make(&scratch);
	bytes = malloc(LARGE);
	cr_assert(bytes != NULL);
	host_remote_init(&host, scratch.path);
	ops = host_remote_ops(&host);
	remote_attach(&remote, &ops, &(struct provider_config){ 0 }, scratch.path, NULL, &e);
	cr_assert(eq(int, e.kind, ERR_OK), "%s", e.text);
}

static void close_scene(void)
{
	remote_release(&remote);
	free(bytes);
	scratch_remove(&scratch);
}

TestSuite(remote_pack, .init = open_scene, .fini = close_scene, .timeout = 300);

static void make_text(void)
{
	for (size_t i = 0; i < LARGE; i++)
		bytes[i] = (unsigned char)"static int f(void) { return 0; }\n"[i % 33];
}

static void make_noise(void)
{
	uint32_t state = 1;

	for (size_t i = 0; i < LARGE; i++) {
		state = state * 1664525 + 1013904223;
		bytes[i] = (unsigned char)(state >> 24);
	}
}

/* Writes the file in one request. Returns how many bytes were uploaded. */
static size_t write_file(size_t len)
{
	const struct change changes[] = {
		CHANGE_ROW(CREATE, "f", .mode = 0644),
		CHANGE_ROW(WRITE, "f", .data = bytes, .data_len = len),
	};
	const struct apply_request request = { .changes = changes, .changes_count = 2 };
	struct change_result results[2] = { 0 };
	struct error e = { 0 };
	size_t before = host.uploaded;

	unlinkat(scratch.fd, "f", 0);
	helper_client_apply(remote.helper, NULL, &request, results, &e);
	cr_assert(eq(int, e.kind, ERR_OK), "%s", e.text);
	cr_assert(eq(int, results[1].err, ERR_OK), "%s", results[1].why);
	return host.uploaded - before;
}

static void expect_file(size_t len)
{
	AUTO_CLOSE int fd = openat(scratch.fd, "f", O_RDONLY);
	AUTO_FREE unsigned char *got = malloc(len + 1);

	cr_assert(fd >= 0 && got);
	cr_expect(eq(sz, (size_t)read(fd, got, len + 1), len));
	cr_expect(memcmp(got, bytes, len) == 0);
}

static size_t count_requests(void)
{
	DIR *dir = opendir(remote.staging);
	size_t count = 0;

	cr_assert(dir != NULL);
	for (const struct dirent *d; (d = readdir(dir));)
		count += strncmp(d->d_name, "request-", strlen("request-")) == 0;
	closedir(dir);
	return count;
}

Test(remote_pack, text_travels_small_and_arrives_whole)
{
	make_text();
	cr_expect(lt(sz, write_file(LARGE), LARGE / 10));
	expect_file(LARGE);
	cr_expect(eq(sz, count_requests(), 0));
}

/* The program that runs others there may ignore how these end, and they inherit that. */
Test(remote_pack, a_text_arrives_where_exit_codes_are_not_reported)
{
	make_text();
	signal(SIGCHLD, SIG_IGN);
	cr_expect(lt(sz, write_file(LARGE), LARGE / 10));
	expect_file(LARGE);
}

Test(remote_pack, what_does_not_shrink_travels_as_it_is)
{
	make_noise();
	cr_expect(ge(sz, write_file(LARGE), LARGE));
	expect_file(LARGE);
}

/* As of a service that writes an upload twice, the first time late. */
Test(remote_pack, what_has_its_size_too_soon_is_waited_for)
{
	host.has_holes = true;
	make_noise();
	write_file(LARGE);
	expect_file(LARGE);
	make_text();
	write_file(LARGE);
	expect_file(LARGE);
}

Test(remote_pack, on_a_link_that_is_faster_than_packing_it_travels_as_it_is)
{
	make_text();
	remote_pack_timed(remote.packer, LARGE, 1);
	cr_expect(ge(sz, write_file(LARGE), LARGE));
	remote_pack_timed(remote.packer, LARGE, 100);
	cr_expect(lt(sz, write_file(LARGE), LARGE / 10));
	expect_file(LARGE);
}

Test(remote_pack, what_is_short_says_nothing_of_the_link)
{
	make_text();
	remote_pack_timed(remote.packer, 1000, 1);
	cr_expect(lt(sz, write_file(LARGE), LARGE / 10));
}

Test(remote_pack, a_sandbox_without_gzip_is_asked_once)
{
	size_t runs;

	make_text();
	host.path = "/nonexistent";
	runs = host.runs;
	cr_expect(lt(sz, LARGE, write_file(LARGE)), "packed, and then as it is");
	cr_expect(eq(sz, host.runs, runs + 2));
	expect_file(LARGE);
	cr_expect(eq(sz, count_requests(), 0));
	write_file(LARGE);
	cr_expect(eq(sz, host.runs, runs + 3));
	expect_file(LARGE);
}
