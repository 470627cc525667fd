#include "fs/handle.h"

#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/lease/hand_out.h"
#include "cache/metadata.h"
#include "cache/cache.h"
#include "cache/contents.h"
#include "cache/names.h"
#include "tests/support/counting_provider.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <unistd.h>

/* ---- A sandbox that must be renewed all the time, and a mount in use for a moment ---- */

/* How long after the last request the mount is in use. */
#define USED_MS 1
/* The limit in ms for a renewal that is due at once, enough for a busy machine. */
#define SOON    60000
#define A_WHILE 200

static struct shown shown;
static struct counting_provider files;
static struct cache *cache;
static struct inode *file;
static _Atomic unsigned renewals;

static enum err vendor_extend(
	struct provider *p, const struct call *call, int64_t seconds, struct error *e)
{
	(void)p, (void)call, (void)seconds, (void)e;
	renewals++;
	return ERR_OK;
}

static enum err vendor_info(
	struct provider *p, const struct call *call, struct sandbox_info *out, struct error *e)
{
	(void)p, (void)call, (void)e;
	*out = (struct sandbox_info){ .expires_s = 0 };
	return ERR_OK;
}

static const struct provider_ops vendor_ops = {
	.name = "vendor", .extend = vendor_extend, .info = vendor_info
};
static struct provider vendor = { .ops = &vendor_ops };

/* With a second wanted the next renewal is due as soon as one is over. */
static void setup(void)
{
	const struct cache_options options = { .attr_ms = SOON, .entry_ms = SOON };
	const struct lifetime_options brief = { .wanted_s = 1, .used_ms = USED_MS };
	const struct counted_provider counted = { .provider = &vendor };
	struct cache_entry entry;
	int64_t negative_ms;
	struct error e = { 0 };

	shown_make(&shown, false);
	scratch_write_text(&shown.scratch, "tree/f", "text");
	counting_provider_init(&files, &shown);
	cr_assert(
		eq(int, cache_new(&cache, &files.base, &options, NULL, &e), ERR_OK), "%s", e.text);
	cr_assert(eq(int, lifetime_new(&cache->lifetime, &counted, &brief, &e), ERR_OK), "%s",
		e.text);
	cr_assert(
		eq(int, cache_lookup(cache, NULL, cache_root(cache), "f", &entry, &negative_ms, &e),
			ERR_OK),
		"%s", e.text);
	file = entry.inode;
}

static void teardown(void)
{
	cache_free(cache);
	counting_provider_release(&files);
	shown_remove(&shown);
}

TestSuite(handle, .init = setup, .fini = teardown, .timeout = 300);

static struct fuse_file_info opened(int flags)
{
	struct fuse_file_info fi = { .flags = flags };
	struct error e = { 0 };
	bool keep_pages;

	cr_assert(eq(int, cache_open(cache, NULL, file, flags, &keep_pages, &e), ERR_OK), "%s",
		e.text);
	handle_begins(cache, &fi);
	return fi;
}

static void closed(const struct fuse_file_info *fi)
{
	handle_ends(cache, file, fi);
}

static void wait_for_ms(int64_t end_ms)
{
	while (monotonic_ms() < end_ms)
		usleep(1000);
}

/* Whether the sandbox is renewed again and again within `ms`, though nothing is asked any more. */
static bool is_renewed_within(int64_t ms)
{
	wait_for_ms(monotonic_ms() + USED_MS + 1);
	/* One may have been under way by then. */
	const unsigned until = renewals + 2;
	const int64_t end_ms = monotonic_ms() + ms;

	while (renewals < until && monotonic_ms() < end_ms)
		usleep(1000);
	return renewals >= until;
}

/* ---- Requests of a close ---- */

Test(handle, a_close_asks_only_where_something_was_written)
{
	static const struct {
		int flags;
		bool asks;
	} rows[] = { { O_RDONLY, false }, { O_WRONLY, true }, { O_RDWR, true } };

	for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
		struct fuse_file_info fi = opened(rows[n].flags);

		cr_expect(eq(int, !fi.noflush, rows[n].asks), "%d", rows[n].flags);
		closed(&fi);
	}
}

/* ---- How long an open handle counts as use ---- */

Test(handle, the_sandbox_is_renewed_while_a_handle_for_writing_is_there)
{
	static const int flags[] = { O_WRONLY, O_RDWR, O_WRONLY | O_APPEND };

	for (size_t n = 0; n < sizeof flags / sizeof *flags; n++) {
		struct fuse_file_info fi = opened(flags[n]);

		cr_expect(is_renewed_within(SOON), "row %zu", n);
		closed(&fi);
	}
}

Test(handle, the_last_close_of_a_handle_for_writing_ends_the_renewal)
{
	struct fuse_file_info first = opened(O_WRONLY), second = opened(O_RDWR);

	closed(&first);
	cr_expect(is_renewed_within(SOON));
	closed(&second);
	cr_expect(not(is_renewed_within(A_WHILE)));
}

Test(handle, a_handle_for_reading_does_not_renew_the_sandbox)
{
	struct fuse_file_info fi = opened(O_RDONLY);

	cr_expect(not(is_renewed_within(A_WHILE)));
	closed(&fi);
}

Test(handle, the_close_of_a_handle_for_reading_leaves_the_renewal_to_the_writer)
{
	struct fuse_file_info writer = opened(O_WRONLY), reader = opened(O_RDONLY);

	closed(&reader);
	cr_expect(is_renewed_within(SOON));
	closed(&writer);
}

/* ---- The flags of a handle ---- */

Test(handle, a_write_is_as_the_flags_of_its_handle_want_it)
{
	static const struct {
		int flags;
		unsigned want;
	} rows[] = {
		{ O_WRONLY, 0 },
		{ O_RDWR | O_TRUNC | O_NOATIME, 0 },
		{ O_WRONLY | O_SYNC, WRITE_THROUGH },
		{ O_WRONLY | O_DSYNC, WRITE_THROUGH },
		{ O_WRONLY | O_APPEND, WRITE_APPEND },
		{ O_RDWR | O_APPEND | O_DSYNC, WRITE_APPEND | WRITE_THROUGH },
	};

	for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
		struct fuse_file_info fi = { .flags = rows[n].flags };

		cr_expect(eq(uint, handle_write_flags(&fi), rows[n].want), "row %zu", n);
		fi.writepage = 1;
		cr_expect(zero(uint, handle_write_flags(&fi)), "row %zu: from a mapping", n);
	}
}
