/*
 * Large answers of a helper whose output is text and comes late: left in a file of staging, which
 * is downloaded.
 */
#include "providers/base/cleanup.h"
#include "providers/client/image.h"
#include "tests/support/changes.h"
#include "tests/support/host_remote.h"
#include "tests/support/scratch.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#define DOWNLOAD_MIN 20000
#define LARGE        ((size_t)10 * 1000 * 1000)
#define ENTRIES      20000
#define CHANGES      500

/* A sandbox that has the file "large", and an attachment to it. */
static struct scratch scratch;
static struct host_remote host;
static struct remote_ops ops;
static struct remote remote;
static unsigned char *large;

static void open_remote(void)
{
	struct error e = { 0 };

	ops = host_remote_ops(&host);
	remote_attach(&remote, &ops, &(struct provider_config){ 0 }, scratch.path, NULL, &e);
	cr_assert(eq(int, e.kind, ERR_OK), "%s", e.text);
}

static void open_scene(void)
{
	struct helper_image image;
	struct utsname here;

	cr_assert(uname(&here) == 0);
	if (!helper_image_find(here.machine, &image))
		cr_skip_test("no helper for %s was built: no compiler for it", here.machine);
	scratch_make(&scratch);
	large = malloc(LARGE);
	cr_assert(large != NULL);
	for (size_t i = 0; i < LARGE; i++)
		large[i] = (unsigned char)(i * 31 + i / 256);
	scratch_write(&scratch, "large", large, LARGE);
	host_remote_init(&host, scratch.path);
	host.is_text = host.is_late = host.is_merged = true;
	host.download_min = DOWNLOAD_MIN;
	open_remote();
}

static void close_scene(void)
{
	remote_release(&remote);
	free(large);
	scratch_remove(&scratch);
}

TestSuite(remote_answer, .init = open_scene, .fini = close_scene, .timeout = 300);

static enum err add_piece(void *context, const struct fetch_piece *piece, struct error *e)
{
	if (piece->kind == FETCH_DATA)
		buf_add(context, piece->bytes, piece->len);
	return piece->err == ERR_OK ? ERR_OK : error_set(e, piece->err, "%s", piece->why);
}

/* Fetches the first `len` bytes. */
static enum err fetch(size_t len, struct buf *out, struct error *e)
{
	const struct fetch_item item = { .kind = FETCH_BYTES, .path = "large", .length = len };

	*e = (struct error){ 0 };
	return helper_client_fetch(remote.helper, NULL, &item, 1, add_piece, out, e);
}

static void expect_fetches(size_t len)
{
	AUTO_BUF struct buf got = BUF_INIT(LARGE);
	struct error e;

	fetch(len, &got, &e);
	cr_expect(eq(int, e.kind, ERR_OK), "%s", e.text);
	cr_expect(got.len == len && memcmp(got.bytes, large, len) == 0);
}

static size_t count_answers(void)
{
	DIR *dir = opendir(remote.staging);
	size_t count = 0;

	cr_assert(dir != NULL);
	for (const struct dirent *d; (d = readdir(dir));)
		count += strncmp(d->d_name, "answer-", strlen("answer-")) == 0;
	closedir(dir);
	return count;
}

Test(remote_answer, a_small_one_is_output)
{
	size_t runs = host.runs;

	expect_fetches(DOWNLOAD_MIN / 2);
	cr_expect(eq(sz, host.runs, runs + 1));
	cr_expect(eq(sz, host.downloads, 0));
}

Test(remote_answer, a_large_one_is_downloaded_as_the_bytes_it_is)
{
	size_t runs = host.runs, output = host.output;

	expect_fetches(LARGE);
	cr_expect(eq(sz, host.runs, runs + 1));
	cr_expect(eq(sz, host.downloads, 1));
	cr_expect(lt(sz, host.downloaded, LARGE + LARGE / 100));
	cr_expect(lt(sz, host.output, output + DOWNLOAD_MIN), "nothing but signs of life");
}

Test(remote_answer, its_file_is_removed_by_the_next_request)
{
	expect_fetches(LARGE);
	cr_expect(eq(sz, count_answers(), 1));
	expect_fetches(LARGE);
	cr_expect(eq(sz, count_answers(), 1));
	expect_fetches(10);
	cr_expect(eq(sz, count_answers(), 0));
}

static enum err count_child(void *context, const struct list_item *item, struct error *e)
{
	(void)e;
	*(size_t *)context += item->kind == LIST_ENTRY;
	return ERR_OK;
}

Test(remote_answer, a_long_list_is_downloaded)
{
	const char *start = "many";
	const struct list_request request = { .starts = &start, .starts_count = 1, .depth = 1 };
	struct error e = { 0 };
	size_t count = 0;

	scratch_mkdir(&scratch, "many", 0755);
	for (int i = 0; i < ENTRIES; i++) {
		char name[32];

		snprintf(name, sizeof name, "many/%05d", i);
		scratch_write_text(&scratch, name, "");
	}
	helper_client_list(remote.helper, NULL, &request, count_child, &count, &e);
	cr_expect(eq(int, e.kind, ERR_OK), "%s", e.text);
	cr_expect(eq(sz, count, ENTRIES));
	cr_expect(eq(sz, host.downloads, 1));
}

Test(remote_answer, a_download_that_lost_bytes_is_an_error)
{
	AUTO_BUF struct buf got = BUF_INIT(LARGE);
	const size_t lost[] = { 1, 16, 40, DOWNLOAD_MIN, LARGE - 1 };
	struct error e;

	for (size_t i = 0; i < sizeof lost / sizeof *lost; i++) {
		host.download_lost = lost[i];
		fetch(LARGE, &got, &e);
		cr_expect(eq(int, e.kind, ERR_UNREACHABLE), "%zu: %s", lost[i], e.text);
		buf_reset(&got);
	}
	expect_fetches(LARGE);
}

Test(remote_answer, a_download_that_fails_says_nothing_of_the_file_that_was_asked_for)
{
	AUTO_BUF struct buf got = BUF_INIT(LARGE);
	struct error e;

	host.loses_downloads = true;
	fetch(LARGE, &got, &e);
	cr_expect(eq(int, e.kind, ERR_IO), "%s", e.text);
	cr_expect(strstr(e.text, "answer") != NULL, "%s", e.text);
	expect_fetches(10);
	cr_expect(eq(sz, count_answers(), 0));
}

Test(remote_answer, where_no_file_fits_it_is_output)
{
	const struct rlimit limit = { LARGE / 2, LARGE / 2 };
	size_t runs = host.runs;

	cr_assert(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	expect_fetches(LARGE);
	cr_expect(eq(sz, host.runs, runs + 2));
	cr_expect(eq(sz, host.downloads, 0));
	cr_expect(eq(sz, count_answers(), 0));
}

/* Changes may not be repeated, so their results come as output, at once. */
Test(remote_answer, that_of_changes_is_output)
{
	struct change changes[CHANGES];
	struct change_result results[CHANGES];
	const struct apply_request request = { .changes = changes, .changes_count = CHANGES };
	size_t output = host.output;
	struct error e = { 0 };

	for (size_t i = 0; i < CHANGES; i++)
		changes[i] = CHANGE(WRITE, "large", TEXT("x"), .offset = i);
	helper_client_apply(remote.helper, NULL, &request, results, &e);
	cr_expect(eq(int, e.kind, ERR_OK), "%s", e.text);
	cr_expect(eq(int, results[CHANGES - 1].err, ERR_OK), "%s", results[CHANGES - 1].why);
	cr_expect(host.output > output + DOWNLOAD_MIN, "else this test says nothing");
	cr_expect(eq(sz, host.downloads, 0));
}

Test(remote_answer, an_answer_that_nobody_read_is_removed_by_an_attach_when_it_is_old)
{
	const struct timespec hours[2] = { { .tv_nsec = UTIME_OMIT },
		{ time(NULL) - 2 * 3600, 0 } };

	scratch_write_text(&scratch, ".sandboxfs/answer-old", "");
	scratch_write_text(&scratch, ".sandboxfs/answer-new", "");
	utimensat(scratch.fd, ".sandboxfs/answer-old", hours, 0);
	remote_release(&remote);
	open_remote();
	cr_expect(eq(sz, count_answers(), 1));
	cr_expect(faccessat(scratch.fd, ".sandboxfs/answer-new", F_OK, 0) == 0);
}

/* A caller that asks for a whole large file gets it in several answers then. */
Test(remote_answer, answers_are_bounded_where_they_are_late_and_nowhere_else)
{
	struct provider p = { .helper = remote.helper };

	cr_expect(lt(u64, provider_fetch_max(&p), (uint64_t)1 << 30));
	remote_release(&remote);
	host.is_late = false;
	open_remote();
	p.helper = remote.helper;
	cr_expect(eq(u64, provider_fetch_max(&p), UINT64_MAX));
	expect_fetches(LARGE);
	cr_expect(eq(sz, host.downloads, 0), "what comes at once is not made to wait");
}
