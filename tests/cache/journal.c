#include "cache/journal.h"
#include "providers/base/buf.h"
#include "providers/base/cleanup.h"
#include "tests/support/scratch.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)

static struct scratch scratch;
static char dir[100];
static struct journal *journal;

static struct journal_options options(uint64_t size_max)
{
	return (struct journal_options){ .dir = dir, .size_max = size_max, .mount = "/mnt/one" };
}

static void open_sized(uint64_t size_max)
{
	struct error e = { 0 };
	struct journal_options o = options(size_max);

	cr_assert(eq(int, journal_open(&journal, &o, &e), ERR_OK), "%s", e.text);
}

static void reopen(void)
{
	journal_close(journal);
	open_sized(0);
}

static void setup(void)
{
	scratch_make(&scratch);
	snprintf(dir, sizeof dir, "%s/state/journal", scratch.path);
	open_sized(0);
}

static void teardown(void)
{
	journal_close(take(journal));
	scratch_remove(&scratch);
}

TestSuite(journal, .init = setup, .fini = teardown, .timeout = 300);

/* ---- What is added, and what is owed ---- */

/* The bytes of write number `n`. */
static const void *bytes_of(uint64_t n, size_t len)
{
	static unsigned char bytes[MIB];

	for (size_t at = 0; at < len; at++)
		bytes[at] = (unsigned char)((at + n) * 2654435761u >> 13);
	return bytes;
}

static struct journal_extent add_write(const char *path, uint64_t offset, size_t len)
{
	struct change change = { .op = CHANGE_WRITE,
		.path = path,
		.offset = offset,
		.data = bytes_of(offset, len),
		.data_len = len };
	struct journal_extent where;
	struct error e = { 0 };
	uint64_t number;

	cr_assert(
		eq(int, journal_add(journal, &change, &number, &where, &e), ERR_OK), "%s", e.text);
	cr_assert(eq(sz, where.len, len));
	return where;
}

static uint64_t add_name(enum change_op op, const char *path, const char *path2)
{
	struct change change = { .op = op, .path = path, .path2 = path2, .needs = 7 };
	struct journal_extent where;
	struct error e = { 0 };
	uint64_t number;

	cr_assert(
		eq(int, journal_add(journal, &change, &number, &where, &e), ERR_OK), "%s", e.text);
	cr_assert(eq(sz, where.len, 0));
	return number;
}

static void note_done(uint64_t first, uint64_t last)
{
	for (uint64_t n = first; n <= last; n++)
		cr_assert(eq(int, journal_note_done(journal, &n, 1, NULL), ERR_OK));
}

static bool reads(const struct journal_extent *where, uint64_t n, size_t from)
{
	AUTO_FREE unsigned char *got = malloc(where->len + 1);

	return !journal_read(journal, where, got, NULL) &&
		!memcmp(got, (const char *)bytes_of(n, from + where->len) + from, where->len);
}

/* One line an entry: its number, path, and what else is said of it. */
static enum err tell(void *context, const struct journal_entry *entry, struct error *e)
{
	(void)e;
	buf_printf(context, "%llu:%s", (unsigned long long)entry->number, entry->change.path);
	if (entry->change.path2)
		buf_printf(context, ">%s", entry->change.path2);
	if (entry->where.len)
		buf_printf(context, "+%u", entry->where.len);
	if (entry->sequence)
		buf_printf(context, " seq %llu", (unsigned long long)entry->sequence);
	if (entry->is_parked)
		buf_printf(context, " %s: %s", error_name(entry->err), entry->why);
	buf_add_byte(context, '\n');
	return ERR_OK;
}

static void expect_owed(const char *expected)
{
	AUTO_BUF struct buf told = BUF_INIT(MIB);
	struct error e = { 0 };

	cr_assert(eq(int, journal_each(journal, tell, &told, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(str, (char *)buf_text(&told), (char *)expected));
}

static uint64_t owed(void)
{
	uint64_t entries, bytes, parked;

	journal_usage(journal, &entries, &bytes, &parked);
	return entries;
}

Test(journal, entries_are_owed_in_their_order_until_they_are_done)
{
	cr_expect(eq(u64, add_name(CHANGE_MKDIR, "d", NULL), 1));
	add_write("d/f", 5, 3);
	cr_expect(eq(u64, add_name(CHANGE_RENAME, "d/f", "d/g"), 3));
	expect_owed("1:d\n2:d/f+3\n3:d/f>d/g\n");
	note_done(2, 2);
	expect_owed("1:d\n3:d/f>d/g\n");
	cr_expect(eq(u64, owed(), 2));
	note_done(2, 2);
	cr_expect(eq(u64, owed(), 2));
	note_done(1, 3);
	expect_owed("");
}

Test(journal, what_is_owed_is_there_again)
{
	add_name(CHANGE_MKDIR, "d", NULL);
	struct journal_extent where = add_write("d/f", 5, 100 * KIB);

	add_name(CHANGE_UNLINK, "e", NULL);
	note_done(1, 1);
	reopen();
	expect_owed("2:d/f+102400\n3:e\n");
	cr_expect(reads(&where, 5, 0));
	cr_expect(eq(u64, add_name(CHANGE_RMDIR, "r", NULL), 4));
}

static enum err check_change(void *context, const struct journal_entry *entry, struct error *e)
{
	const struct change *c = context, *got = &entry->change;

	(void)e;
	cr_expect(eq(int, got->op, c->op));
	cr_expect(eq(u32, got->flags, c->flags));
	cr_expect(eq(u32, got->needs, 0));
	cr_expect(eq(str, (char *)got->keep, (char *)c->keep));
	cr_expect(eq(str, (char *)got->name, (char *)c->name));
	cr_expect(eq(u64, got->target.ino, c->target.ino));
	cr_expect(eq(u64, got->parent2.btime_ns, c->parent2.btime_ns));
	cr_expect(eq(u32, got->set, c->set));
	cr_expect(eq(long, got->mtime.tv_nsec, c->mtime.tv_nsec));
	cr_expect(eq(u64, got->length, c->length));
	cr_expect(eq(ptr, (void *)got->data, NULL));
	cr_expect(eq(u32, entry->where.len, 1));
	return ERR_OK;
}

Test(journal, a_change_comes_back_with_all_that_it_says_but_its_data)
{
	struct change c = { .op = CHANGE_SETXATTR,
		.flags = CHANGE_EXCL | CHANGE_BY_HANDLE,
		.needs = 9,
		.path = "\xff\n",
		.path2 = "b",
		.keep = "/k",
		.name = "user.a",
		.target = { 1, UINT64_MAX, 3 },
		.parent2 = { 4, 5, 6 },
		.set = SET_MTIME,
		.mtime = { -1, UTIME_NOW },
		.length = UINT64_MAX,
		.data = "x",
		.data_len = 1 };
	struct journal_extent where;
	uint64_t number;

	cr_assert(eq(int, journal_add(journal, &c, &number, &where, NULL), ERR_OK));
	cr_assert(eq(int, journal_each(journal, check_change, &c, NULL), ERR_OK));
}

Test(journal, any_part_of_the_data_can_be_read)
{
	add_write("f", 1, 1);
	struct journal_extent where = add_write("f", 2, MIB), part;

	add_write("f", 3, 10);
	part = (struct journal_extent){ where.at + 1000, 5000 };
	cr_expect(reads(&where, 2, 0));
	cr_expect(reads(&part, 2, 1000));
	part = (struct journal_extent){ where.at + MIB - 1, 1 };
	cr_expect(reads(&part, 2, MIB - 1));
	part.len = 2;
	cr_expect(not(reads(&part, 2, MIB - 1)));
}

/* ---- Notes ---- */

Test(journal, sequence_numbers_are_known_again)
{
	const uint64_t numbers[] = { 3, 1 };

	cr_expect(eq(u64, journal_next_sequence(journal), 1));
	add_name(CHANGE_MKDIR, "a", NULL);
	add_name(CHANGE_MKDIR, "b", NULL);
	add_name(CHANGE_MKDIR, "c", NULL);
	cr_assert(eq(int, journal_note_sent(journal, 40, numbers, 2, NULL), ERR_OK));
	expect_owed("1:a seq 41\n2:b\n3:c seq 40\n");
	reopen();
	expect_owed("1:a seq 41\n2:b\n3:c seq 40\n");
	cr_expect(eq(u64, journal_next_sequence(journal), 42));
}

Test(journal, a_parked_entry_stays_with_why_until_it_is_done)
{
	uint64_t entries, bytes, parked;

	add_name(CHANGE_MKDIR, "a", NULL);
	add_name(CHANGE_MKDIR, "b", NULL);
	cr_assert(eq(
		int, journal_note_parked(journal, 1, ERR_CONFLICT, "a: is there", NULL), ERR_OK));
	reopen();
	expect_owed("1:a CONFLICT: a: is there\n2:b\n");
	journal_usage(journal, &entries, &bytes, &parked);
	cr_expect(eq(u64, entries, 1));
	cr_expect(eq(u64, parked, 1));
	note_done(1, 1);
	expect_owed("2:b\n");
	journal_usage(journal, &entries, &bytes, &parked);
	cr_expect(eq(u64, parked, 0));
}

Test(journal, the_id_stays_as_long_as_something_is_owed)
{
	unsigned char id[JOURNAL_ID_SIZE];

	memcpy(id, journal_id(journal), sizeof id);
	add_name(CHANGE_MKDIR, "a", NULL);
	reopen();
	cr_expect(not(memcmp(id, journal_id(journal), sizeof id)));
	note_done(1, 1);
	reopen();
	cr_expect(memcmp(id, journal_id(journal), sizeof id) != 0);
	cr_expect(eq(u64, add_name(CHANGE_MKDIR, "a", NULL), 1));
}

Test(journal, nothing_is_left_of_a_journal_that_owes_nothing)
{
	add_write("f", 0, MIB);
	note_done(1, 1);
	journal_close(take(journal));
	cr_expect(eq(int, access(dir, F_OK), -1));
}
