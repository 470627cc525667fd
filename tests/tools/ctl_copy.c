#include "tools/ctl/copy.h"

#include "providers/base/cleanup.h"
#include "tests/support/scratch.h"
#include "tools/ctl/directory.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Two directories in a scratch one, and the reports of a copy between them. */
static struct {
	struct scratch scratch;
	struct provider *from, *to;
	struct copy_counts counts;
	char failures[400];
	uint64_t so_far, total;
} room;

static void open_side(const char *name, struct provider **out)
{
	char path[100];
	struct error e = { 0 };

	scratch_mkdir(&room.scratch, name, 0755);
	snprintf(path, sizeof path, "%s/%s", room.scratch.path, name);
	cr_assert(eq(int, directory_open(path, out, &e), ERR_OK), "%s", e.text);
}

static void furnish(void)
{
	scratch_make(&room.scratch);
	open_side("from", &room.from);
	open_side("to", &room.to);
}

static void clear(void)
{
	provider_release(room.from);
	provider_release(room.to);
	scratch_remove(&room.scratch);
}

TestSuite(ctl_copy, .init = furnish, .fini = clear, .timeout = 300);

static void note_failure(void *context, const char *path, enum err kind, const char *text)
{
	size_t len = strlen(room.failures);

	(void)context, (void)kind;
	snprintf(room.failures + len, sizeof room.failures - len, "%s: %s\n", path, text);
}

static void note_progress(void *context, uint64_t bytes, uint64_t total)
{
	(void)context;
	room.so_far = bytes;
	room.total = total;
}

static enum err copy(struct provider *from, const struct call *call, const char *path,
	const char *base, const char *target)
{
	const struct copy_source source = { path, target };
	const struct copy c = { .from = from,
		.to = room.to,
		.call = call,
		.mode_mask = 01777,
		.base = base,
		.failed = note_failure,
		.progress = note_progress };

	*room.failures = 0;
	return copy_run(&c, &source, 1, &room.counts, NULL);
}

static bool is_there(const char *path)
{
	struct stat st;

	return !fstatat(room.scratch.fd, path, &st, AT_SYMLINK_NOFOLLOW);
}

static mode_t mode_of(const char *path)
{
	struct stat st = { 0 };

	fstatat(room.scratch.fd, path, &st, AT_SYMLINK_NOFOLLOW);
	return st.st_mode & 07777;
}

static void expect_text(const char *path, const char *wanted)
{
	AUTO_FREE char *text = scratch_read(&room.scratch, path, NULL);

	cr_expect(eq(str, text, (char *)wanted), "%s", path);
}

/* ---- Copies that succeed ---- */

Test(ctl_copy, a_tree_goes_below_directories_that_are_made)
{
	struct stat st;

	scratch_mkdir(&room.scratch, "from/d", 0750);
	scratch_write_text(&room.scratch, "from/d/f", "text");
	cr_assert(eq(int, copy(room.from, NULL, "d", "new/er", "new/er/d"), ERR_OK));
	cr_expect(eq(str, room.failures, ""));
	expect_text("to/new/er/d/f", "text");
	cr_expect(eq(u32, mode_of("to/new/er/d"), 0750));
	/* The directories above were made now, and have no times of the source's. */
	cr_assert(eq(int, fstatat(room.scratch.fd, "to/new", &st, 0), 0));
	cr_expect(ge(i64, st.st_mtim.tv_sec, 1000000000));
	cr_expect(eq(u64, room.counts.files, 1));
	cr_expect(eq(u64, room.counts.bytes, 4));
	cr_expect(eq(u64, room.so_far, 4));
	cr_expect(eq(u64, room.total, 4));
}

Test(ctl_copy, a_directory_above_that_is_there_stays_as_it_is)
{
	const struct timespec times[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };
	struct stat st;

	scratch_mkdir(&room.scratch, "to/mine", 0711);
	scratch_mkdir(&room.scratch, "to/mine/sub", 0700);
	cr_assert(eq(int, utimensat(room.scratch.fd, "to/mine", times, 0), 0));
	scratch_write_text(&room.scratch, "from/f", "text");
	cr_assert(eq(int, copy(room.from, NULL, "f", "mine/sub", "mine/sub/f"), ERR_OK));
	cr_expect(eq(str, room.failures, ""));
	expect_text("to/mine/sub/f", "text");
	cr_expect(eq(u32, mode_of("to/mine"), 0711));
	cr_expect(eq(u32, mode_of("to/mine/sub"), 0700));
	cr_assert(eq(int, fstatat(room.scratch.fd, "to/mine", &st, 0), 0));
	cr_expect(eq(i64, st.st_mtim.tv_sec, 1000000000));
}

Test(ctl_copy, permissions_beyond_the_mask_stay_behind)
{
	scratch_write_text(&room.scratch, "from/f", "");
	fchmodat(room.scratch.fd, "from/f", 06755, 0);
	cr_assert(eq(int, copy(room.from, NULL, "f", "", "f"), ERR_OK));
	cr_expect(eq(u32, mode_of("to/f"), 0755));
}

Test(ctl_copy, a_file_that_is_replaced_is_another_inode)
{
	scratch_write_text(&room.scratch, "from/f", "new");
	scratch_write_text(&room.scratch, "to/f", "old");
	linkat(room.scratch.fd, "to/f", room.scratch.fd, "kept", 0);
	cr_assert(eq(int, copy(room.from, NULL, "f", "", "f"), ERR_OK));
	expect_text("to/f", "new");
	expect_text("kept", "old");
}

Test(ctl_copy, a_file_of_several_megabytes_is_whole)
{
	const size_t len = 5000001;
	AUTO_FREE char *bytes = malloc(len), *got = NULL;
	size_t got_len;

	for (size_t n = 0; n < len; n++)
		bytes[n] = (char)(n * 2654435761u >> 24);
	scratch_write(&room.scratch, "from/f", bytes, len);
	cr_assert(eq(int, copy(room.from, NULL, "f", "", "f"), ERR_OK));
	got = scratch_read(&room.scratch, "to/f", &got_len);
	cr_assert(eq(sz, got_len, len));
	cr_expect(eq(int, memcmp(got, bytes, len), 0));
}

/* ---- Copies that fail ---- */

Test(ctl_copy, a_missing_file_is_reported)
{
	cr_assert(eq(int, copy(room.from, NULL, "none", "", "none"), ERR_OK));
	cr_expect(eq(str, room.failures, "none: no such file or directory\n"));
	cr_expect(eq(u64, room.counts.failed, 1));
}

Test(ctl_copy, a_file_does_not_replace_a_directory_and_leaves_nothing)
{
	scratch_write_text(&room.scratch, "from/f", "text");
	scratch_mkdir(&room.scratch, "to/f", 0755);
	cr_assert(eq(int, copy(room.from, NULL, "f", "", "f"), ERR_OK));
	cr_expect(eq(u64, room.counts.failed, 1));
	cr_expect(eq(u64, room.counts.files, 0));
	cr_expect(eq(int, unlinkat(room.scratch.fd, "to/f", AT_REMOVEDIR), 0));
	cr_expect(eq(int, unlinkat(room.scratch.fd, "to", AT_REMOVEDIR), 0), "it is empty");
}

Test(ctl_copy, a_copy_that_is_cancelled_ends_so)
{
	struct cancel cancel;
	const struct call call = { .cancel = &cancel };

	cr_assert(eq(int, cancel_init(&cancel, NULL), ERR_OK));
	cancel_throw(&cancel);
	scratch_write_text(&room.scratch, "from/f", "text");
	cr_expect(eq(int, copy(room.from, &call, "f", "", "f"), ERR_INTERRUPTED));
	cr_expect(not(is_there("to/f")));
	cancel_release(&cancel);
}

/*
 * ---- A sandbox that lies
 * -------------------------------------------------------------------------
 */

/*
 * A provider that lists the items of a test and gives a file of `given` bytes, or fails after the
 * first piece.
 */
static struct {
	const struct list_item *items;
	size_t count;
	size_t given;
	enum err end;
	enum err done; /* the error of the file alone: the connection holds */
} liar;

static enum err lie(struct provider *p, const struct call *call, const struct list_request *request,
	list_sink sink, void *context, struct error *e)
{
	enum err kind = ERR_OK;

	(void)p, (void)call, (void)request;
	for (size_t n = 0; !kind && n < liar.count; n++)
		kind = sink(context, &liar.items[n], e);
	return kind;
}

static enum err give(struct provider *p, const struct call *call, const struct fetch_item *items,
	size_t items_count, fetch_sink sink, void *context, struct error *e)
{
	static const char bytes[100];
	enum err kind = ERR_OK;

	(void)p, (void)call, (void)items;
	for (uint32_t n = 0; !kind && n < items_count; n++) {
		const struct fetch_piece data = {
			.kind = FETCH_DATA, .item = n, .bytes = bytes, .len = liar.given
		};
		const struct fetch_piece done = {
			.kind = FETCH_DONE, .item = n, .err = liar.done, .attr.size = liar.given
		};

		kind = sink(context, &data, e);
		if (!kind && liar.end)
			return error_set(e, liar.end, "the line is dead");
		if (!kind)
			kind = sink(context, &done, e);
	}
	return kind;
}

static const struct provider_ops liar_ops = { .name = "liar", .list = lie, .fetch = give };
static struct provider liar_provider = { .ops = &liar_ops };

#define DIRECTORY      .attr.mode = S_IFDIR | 0755
#define REGULAR(bytes) .attr = { .mode = S_IFREG | 0644, .size = (bytes) }

Test(ctl_copy, a_name_that_is_a_link_and_then_a_directory_leads_nowhere)
{
	const struct list_item items[] = {
		{ .kind = LIST_SELF, DIRECTORY },
		{ .kind = LIST_DIR, .path = "t" },
		{ .kind = LIST_ENTRY,
			.name = "a",
			.attr.mode = S_IFLNK | 0777,
			.link = "../../out" },
		{ .kind = LIST_ENTRY, .name = "a", DIRECTORY },
		{ .kind = LIST_DIR_END },
		{ .kind = LIST_DIR, .path = "t/a" },
		{ .kind = LIST_ENTRY, .name = "f", REGULAR(3) },
		{ .kind = LIST_DIR_END },
		{ .kind = LIST_END },
	};

	scratch_mkdir(&room.scratch, "out", 0700);
	liar.items = items;
	liar.count = sizeof items / sizeof *items;
	liar.given = 3;
	cr_assert(eq(int, copy(&liar_provider, NULL, "t", "", "t"), ERR_OK));
	cr_expect(eq(u64, room.counts.failed, 1), "%s", room.failures);
	cr_expect(not(is_there("out/f")));
	cr_expect(eq(u32, mode_of("out"), 0700));
}

Test(ctl_copy, entries_of_a_directory_that_nobody_named_are_refused)
{
	const struct list_item items[] = {
		{ .kind = LIST_SELF, DIRECTORY },
		{ .kind = LIST_DIR, .path = "other" },
	};

	liar.items = items;
	liar.count = 2;
	cr_expect(eq(int, copy(&liar_provider, NULL, "t", "", "t"), ERR_PROTOCOL));
}

Test(ctl_copy, a_directory_that_was_not_listed_is_reported)
{
	const struct list_item items[] = { { .kind = LIST_SELF, DIRECTORY } };

	liar.items = items;
	liar.count = 1;
	cr_assert(eq(int, copy(&liar_provider, NULL, "t", "", "t"), ERR_OK));
	cr_expect(eq(str, room.failures, "t: could not be listed; copy it alone\n"));
}

Test(ctl_copy, a_file_that_grew_is_reported_and_not_made)
{
	const struct list_item items[] = { { .kind = LIST_SELF, REGULAR(3) } };

	liar.items = items;
	liar.count = 1;
	liar.given = 4;
	cr_assert(eq(int, copy(&liar_provider, NULL, "f", "", "f"), ERR_OK));
	cr_expect(eq(str, room.failures, "f: changed while it was copied\n"));
	cr_expect(eq(int, unlinkat(room.scratch.fd, "to", AT_REMOVEDIR), 0), "it is empty");
}

/*
 * The size is larger than one call brings. All bytes are zeros, and each part comes with the
 * version it is of.
 */
#define PARTS_SIZE (((uint64_t)128 << 20) + 10)

static struct {
	struct attr versions[2];
	unsigned given;
} parts;

static enum err give_part(struct provider *p, const struct call *call,
	const struct fetch_item *items, size_t items_count, fetch_sink sink, void *context,
	struct error *e)
{
	const struct fetch_piece done = { .kind = FETCH_DONE, .attr = parts.versions[parts.given] };

	(void)p, (void)call, (void)items;
	cr_assert(eq(sz, items_count, 1));
	cr_assert(lt(uint, parts.given, 2));
	parts.given++;
	return sink(context, &done, e);
}

static const struct provider_ops parts_ops = { .name = "parts", .list = lie, .fetch = give_part };
static struct provider parts_provider = { .ops = &parts_ops };

static void copy_parts(struct attr second)
{
	const struct attr first = { .mode = S_IFREG | 0644,
		.ino = 7,
		.size = PARTS_SIZE,
		.mtime = { 1000, 5 },
		.ctime = { 1000, 5 } };
	const struct list_item items[] = { { .kind = LIST_SELF, .attr = first } };

	liar.items = items;
	liar.count = 1;
	second.mode = first.mode;
	second.ino = first.ino;
	second.size = first.size;
	parts.versions[0] = first;
	parts.versions[1] = second;
	parts.given = 0;
	cr_assert(eq(int, copy(&parts_provider, NULL, "f", "", "f"), ERR_OK));
	cr_expect(eq(uint, parts.given, 2));
}

Test(ctl_copy, a_file_that_is_overwritten_in_place_between_two_parts_is_reported_and_not_made)
{
	static const struct attr others[] = {
		{ .mtime = { 1001, 5 }, .ctime = { 1001, 5 } },
		{ .mtime = { 1000, 6 }, .ctime = { 1000, 6 } },
		{ .mtime = { 1000, 5 }, .ctime = { 1001, 5 } }, /* the mtime was set back */
		{ .mtime = { 1000, 5 }, .ctime = { 1000, 6 } },
	};

	for (size_t n = 0; n < sizeof others / sizeof *others; n++) {
		copy_parts(others[n]);
		cr_expect(eq(str, room.failures, "f: changed while it was copied\n"), "row %zu", n);
		cr_expect(not(is_there("to/f")), "row %zu", n);
	}
	copy_parts((struct attr){ .mtime = { 1000, 5 }, .ctime = { 1000, 5 } });
	cr_expect(eq(str, room.failures, ""));
	cr_expect(is_there("to/f"));
}

Test(ctl_copy, a_file_that_could_not_be_read_is_reported_and_not_made)
{
	const struct list_item items[] = { { .kind = LIST_SELF, REGULAR(3) } };

	liar.items = items;
	liar.count = 1;
	liar.given = 2;
	liar.done = ERR_IO;
	cr_assert(eq(int, copy(&liar_provider, NULL, "f", "", "f"), ERR_OK));
	cr_expect(eq(str, room.failures, "f: input/output error\n"));
	cr_expect(eq(int, unlinkat(room.scratch.fd, "to", AT_REMOVEDIR), 0), "it is empty");
}

Test(ctl_copy, a_directory_that_could_not_be_read_to_its_end_is_reported)
{
	const struct list_item items[] = {
		{ .kind = LIST_SELF, DIRECTORY },
		{ .kind = LIST_DIR, .path = "t" },
		{ .kind = LIST_DIR_END, .err = ERR_DENIED },
		{ .kind = LIST_END },
	};

	liar.items = items;
	liar.count = sizeof items / sizeof *items;
	cr_assert(eq(int, copy(&liar_provider, NULL, "t", "", "t"), ERR_OK));
	cr_expect(eq(str, room.failures, "t: permission denied\n"));
	cr_expect(eq(u64, room.counts.failed, 1));
}

Test(ctl_copy, a_line_that_breaks_leaves_nothing_behind)
{
	const struct list_item items[] = { { .kind = LIST_SELF, REGULAR(3) } };

	liar.items = items;
	liar.count = 1;
	liar.given = 3;
	liar.end = ERR_UNREACHABLE;
	cr_expect(eq(int, copy(&liar_provider, NULL, "f", "", "f"), ERR_UNREACHABLE));
	cr_expect(eq(int, unlinkat(room.scratch.fd, "to", AT_REMOVEDIR), 0), "it is empty");
}

Test(ctl_copy, a_file_of_an_impossible_size_is_reported)
{
	const struct list_item items[] = { { .kind = LIST_SELF, REGULAR(UINT64_MAX) } };

	liar.items = items;
	liar.count = 1;
	cr_assert(eq(int, copy(&liar_provider, NULL, "f", "", "f"), ERR_OK));
	cr_expect(eq(str, room.failures, "f: has an impossible size\n"));
}
