#include "tests/cache/journaled.h"
#include "cache/session/session.h"

#include "cache/journal/record.h"
#include "providers/base/cleanup.h"
#include "providers/helper/wire.h"
#include "tests/support/changes.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

static struct journaled j;

static void setup(void)
{
	journaled_setup(&j, 0);
}

static void teardown(void)
{
	journaled_teardown(&j);
}

TestSuite(journal, .init = setup, .fini = teardown, .timeout = 300);

/* ---- Entries, and which of them are unsynced ---- */

Test(journal, entries_are_unsynced_in_their_order_until_they_are_done)
{
	cr_expect(eq(u64, journaled_name(&j, CHANGE_MKDIR, "d", NULL), 1));
	journaled_write(&j, "d/f", 5, 3);
	cr_expect(eq(u64, journaled_name(&j, CHANGE_RENAME, "d/f", "d/g"), 3));
	journaled_expect(&j, "1:d\n2:d/f+3\n3:d/f>d/g\n");
	journaled_done(&j, 2, 2);
	journaled_expect(&j, "1:d\n3:d/f>d/g\n");
	cr_expect(eq(u64, journaled_unsynced(&j), 2));
	journaled_done(&j, 2, 2);
	cr_expect(eq(u64, journaled_unsynced(&j), 2));
	journaled_done(&j, 1, 3);
	journaled_expect(&j, "");
}

Test(journal, a_done_entry_stays_done_when_it_is_recorded_as_sent)
{
	const uint64_t number = 1;

	journaled_name(&j, CHANGE_MKDIR, "d", NULL);
	journaled_name(&j, CHANGE_MKDIR, "e", NULL);
	journaled_done(&j, 1, 1);
	cr_assert(eq(int, journal_note_sent(j.journal, 7, &number, 1, NULL), ERR_OK));
	journaled_expect(&j, "2:e\n");
	journaled_reopen(&j);
	journaled_expect(&j, "2:e\n");
	cr_expect(eq(u64, journal_next_sequence(j.journal), 8));
}

Test(journal, unsynced_entries_are_there_again)
{
	journaled_name(&j, CHANGE_MKDIR, "d", NULL);
	struct journal_extent where = journaled_write(&j, "d/f", 5, 100 * KIB);

	journaled_name(&j, CHANGE_UNLINK, "e", NULL);
	journaled_done(&j, 1, 1);
	journaled_reopen(&j);
	journaled_expect(&j, "2:d/f+102400\n3:e\n");
	cr_expect(journaled_reads(&j, &where, 5, 0));
	cr_expect(eq(u64, journaled_name(&j, CHANGE_RMDIR, "r", NULL), 4));
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
	struct change c = CHANGE(SETXATTR, "\xff\n", .flags = CHANGE_EXCL | CHANGE_BY_HANDLE,
		.needs = 9, .path2 = "b", .keep = "/k", .name = "user.a",
		.target = { 1, UINT64_MAX, 3 }, .parent2 = { 4, 5, 6 }, .set = SET_MTIME,
		.mtime = { -1, UTIME_NOW }, .length = UINT64_MAX, TEXT("x"));
	struct journal_extent where;
	uint64_t number;

	cr_assert(eq(int, journal_add(j.journal, &c, &number, &where, NULL), ERR_OK));
	cr_assert(eq(int, journal_each(j.journal, check_change, &c, NULL), ERR_OK));
}

/*
 * A change that another build left is read as this build's. Another coding of a change needs
 * another RECORD_VERSION.
 */
Test(journal, the_coding_of_a_change_is_that_of_the_version)
{
	const struct change c = { .op = CHANGE_RENAME,
		.flags = CHANGE_NOREPLACE,
		.path = "a",
		.path2 = "b",
		.keep = "c",
		.parent = { 1, 2, 3 },
		.target = { 4, 5, 6 },
		.parent2 = { 7, 8, 9 },
		.target2 = { 10, 11, 12 },
		.version = { 25, { 26, 27 }, { 28, 29 } },
		.version2 = { 30, { 31, 32 }, { 33, 34 } },
		.set = SET_MODE,
		.mode = 13,
		.uid = 14,
		.gid = 15,
		.rdev = 16,
		.size = 17,
		.atime = { 18, 19 },
		.mtime = { 20, 21 },
		.offset = 22,
		.offset2 = 23,
		.length = 24,
		.name = "d" };
	AUTO_BUF struct buf text = BUF_INIT(MIB);

	cr_assert(wire_put_change(&text, &c));
	cr_expect(eq(int, RECORD_VERSION, 2));
	cr_expect(XXH3_64bits(text.bytes, text.len) == 0x140c989feae611c6);
}

Test(journal, any_part_of_the_data_can_be_read)
{
	journaled_write(&j, "f", 1, 1);
	struct journal_extent where = journaled_write(&j, "f", 2, MIB), part;

	journaled_write(&j, "f", 3, 10);
	part = (struct journal_extent){ where.at + 1000, 5000 };
	cr_expect(journaled_reads(&j, &where, 2, 0));
	cr_expect(journaled_reads(&j, &part, 2, 1000));
	part = (struct journal_extent){ where.at + MIB - 1, 1 };
	cr_expect(journaled_reads(&j, &part, 2, MIB - 1));
	part.len = 2;
	cr_expect(not(journaled_reads(&j, &part, 2, MIB - 1)));
}

/* ---- Notes ---- */

Test(journal, sequence_numbers_are_known_again)
{
	const uint64_t numbers[] = { 3, 1 };

	cr_expect(eq(u64, journal_next_sequence(j.journal), 1));
	journaled_name(&j, CHANGE_MKDIR, "a", NULL);
	journaled_name(&j, CHANGE_MKDIR, "b", NULL);
	journaled_name(&j, CHANGE_MKDIR, "c", NULL);
	cr_assert(eq(int, journal_note_sent(j.journal, 40, numbers, 2, NULL), ERR_OK));
	journaled_expect(&j, "1:a seq 41\n2:b\n3:c seq 40\n");
	journaled_reopen(&j);
	journaled_expect(&j, "1:a seq 41\n2:b\n3:c seq 40\n");
	cr_expect(eq(u64, journal_next_sequence(j.journal), 42));
}

Test(journal, entries_of_one_change_have_one_sequence_number)
{
	const uint64_t numbers[] = { 3, 1 | JOURNAL_SAME, 2, 4 | JOURNAL_SAME };
	const char *wanted = "1:a seq 40\n2:b seq 41\n3:c seq 40\n4:d seq 41\n";

	for (const char *name = "a\0b\0c\0d\0"; *name; name += 2)
		journaled_name(&j, CHANGE_MKDIR, name, NULL);
	cr_assert(eq(int, journal_note_sent(j.journal, 40, numbers, 4, NULL), ERR_OK));
	journaled_expect(&j, wanted);
	journaled_reopen(&j);
	journaled_expect(&j, wanted);
	cr_expect(eq(u64, journal_next_sequence(j.journal), 42));
}

Test(journal, numbers_of_the_second_record_are_kept_as_such)
{
	const uint64_t numbers[] = { 3, 1 | JOURNAL_SAME, 2 };

	for (const char *name = "a\0b\0c\0d\0"; *name; name += 2)
		journaled_name(&j, CHANGE_MKDIR, name, NULL);
	cr_assert(eq(
		int, journal_note_sent(j.journal, 40 | SEQUENCE_ASIDE, numbers, 3, NULL), ERR_OK));
	journaled_expect(&j, "1:a seq 40 aside\n2:b seq 41 aside\n3:c seq 40 aside\n4:d\n");
	journaled_reopen(&j);
	journaled_expect(&j, "1:a seq 40 aside\n2:b seq 41 aside\n3:c seq 40 aside\n4:d\n");
	cr_expect(eq(u64, journal_next_sequence(j.journal), 42));
	cr_assert(eq(int, journal_note_sent(j.journal, 50, numbers, 1, NULL), ERR_OK));
	journaled_expect(&j, "1:a seq 40 aside\n2:b seq 41 aside\n3:c seq 50\n4:d\n");
}

Test(journal, that_an_entry_left_without_a_number_is_not_forgotten_when_it_gets_one)
{
	const uint64_t numbers[] = { 1, 2 };

	journaled_name(&j, CHANGE_MKDIR, "a", NULL);
	journaled_name(&j, CHANGE_MKDIR, "b", NULL);
	cr_assert(eq(int, journal_note_sent(j.journal, 0, numbers, 2, NULL), ERR_OK));
	cr_assert(eq(int, journal_note_sent(j.journal, 7, numbers, 1, NULL), ERR_OK));
	journaled_expect(&j, "1:a seq 7 left\n2:b left\n");
	journaled_reopen(&j);
	journaled_expect(&j, "1:a seq 7 left\n2:b left\n");
	journaled_done(&j, 1, 1);
	journaled_expect(&j, "2:b left\n");
}

Test(journal, a_ticket_is_one_for_all_and_the_next_number_is_above_it)
{
	const uint64_t numbers[] = { 1, 2, 3 };

	journaled_name(&j, CHANGE_MKDIR, "a", NULL);
	journaled_name(&j, CHANGE_MKDIR, "b", NULL);
	journaled_name(&j, CHANGE_MKDIR, "c", NULL);
	cr_assert(eq(int, journal_note_left(j.journal, 7, numbers, 2, NULL), ERR_OK));
	cr_expect(eq(u64, journal_next_sequence(j.journal), 8));
	cr_assert(eq(int, journal_note_sent(j.journal, 8, numbers + 2, 1, NULL), ERR_OK));
	cr_assert(eq(int, journal_note_left(j.journal, 9, numbers, 1, NULL), ERR_OK));
	journaled_expect(&j, "1:a left\n2:b left\n3:c seq 8\n");
	journaled_reopen(&j);
	journaled_expect(&j, "1:a left\n2:b left\n3:c seq 8\n");
	cr_expect(eq(u64, journal_next_sequence(j.journal), 10));
}

Test(journal, a_failed_entry_stays_with_its_reason_until_it_is_done)
{
	journaled_name(&j, CHANGE_MKDIR, "a", NULL);
	journaled_name(&j, CHANGE_MKDIR, "b", NULL);
	cr_assert(eq(
		int, journal_note_failed(j.journal, 1, ERR_CONFLICT, "a: is there", NULL), ERR_OK));
	journaled_reopen(&j);
	journaled_expect(&j, "1:a CONFLICT: a: is there\n2:b\n");
	cr_expect(eq(u64, journaled_unsynced(&j), 1));
	cr_expect(eq(u64, journaled_failed(&j), 1));
	journaled_done(&j, 1, 1);
	journaled_expect(&j, "2:b\n");
	cr_expect(eq(u64, journaled_failed(&j), 0));
}

static enum err tell_base(void *context, const struct journal_entry *entry, struct error *e)
{
	struct change change = entry->change;
	uint64_t *sizes = context;

	(void)e;
	sizes[entry->number] = journal_base_in(&change)->size;
	return ERR_OK;
}

/* Many more than one record takes, in two segments; the last word counts. */
Test(journal, what_an_entry_is_based_on_is_what_was_said_last)
{
	enum { COUNT = 40000 };
	AUTO_FREE struct journal_base *bases = calloc(COUNT, sizeof *bases);
	AUTO_FREE uint64_t *sizes = calloc(COUNT + 3, sizeof *sizes);

	journaled_name(&j, CHANGE_UNLINK, "a", NULL);
	for (uint64_t n = 0; n < COUNT; n++)
		bases[n] = (struct journal_base){ journaled_name(&j, CHANGE_RENAME, "b", "c"),
			{ .size = n } };
	journaled_name(&j, CHANGE_UNLINK, "d", NULL);
	cr_assert(eq(int, journal_note_based(j.journal, bases, COUNT, NULL), ERR_OK));
	bases[0] = (struct journal_base){ 2, { .size = 7 } };
	cr_assert(eq(int, journal_note_based(j.journal, bases, 1, NULL), ERR_OK));
	journaled_done(&j, 3, 3);
	bases[1] = (struct journal_base){ 3, { .size = 8 } };
	cr_assert(eq(int, journal_note_based(j.journal, bases, 2, NULL), ERR_OK));
	journaled_reopen(&j);
	cr_assert(eq(int, journal_each(j.journal, tell_base, sizes, NULL), ERR_OK));
	cr_expect(eq(u64, sizes[1], 0));
	cr_expect(eq(u64, sizes[2], 7));
	cr_expect(eq(u64, sizes[3], 0));
	cr_expect(eq(u64, sizes[COUNT + 1], COUNT - 1));
	cr_expect(eq(u64, sizes[COUNT + 2], 0));
}

static enum err tell_versions(void *context, const struct journal_entry *entry, struct error *e)
{
	uint64_t *sizes = context;

	(void)e;
	sizes[0] = entry->change.version.size;
	sizes[1] = entry->change.version2.size;
	return ERR_OK;
}

/*
 * The journal has two versions for a rename: of the file that moves, and of the one that it
 * replaces.
 */
Test(journal, what_is_moved_has_its_own_version)
{
	uint64_t number = journaled_name(&j, CHANGE_RENAME, "a", "b"), sizes[2] = { 0 };
	const struct journal_base based = { number, { .size = 7 } };
	const struct journal_base carried = { number, { .size = 8 } };

	cr_assert(eq(int, journal_note_carried(j.journal, &carried, 1, NULL), ERR_OK));
	cr_assert(eq(int, journal_note_based(j.journal, &based, 1, NULL), ERR_OK));
	journaled_reopen(&j);
	cr_assert(eq(int, journal_each(j.journal, tell_versions, sizes, NULL), ERR_OK));
	cr_expect(eq(u64, sizes[0], 8));
	cr_expect(eq(u64, sizes[1], 7));
}

Test(journal, the_id_stays_as_long_as_an_entry_is_unsynced)
{
	unsigned char id[JOURNAL_ID_SIZE];

	memcpy(id, journal_id(j.journal), sizeof id);
	journaled_name(&j, CHANGE_MKDIR, "a", NULL);
	journaled_reopen(&j);
	cr_expect(not(memcmp(id, journal_id(j.journal), sizeof id)));
	journaled_done(&j, 1, 1);
	journaled_reopen(&j);
	cr_expect(memcmp(id, journal_id(j.journal), sizeof id) != 0);
	cr_expect(eq(u64, journaled_name(&j, CHANGE_MKDIR, "a", NULL), 1));
}

Test(journal, nothing_is_left_of_a_journal_without_unsynced_entries)
{
	journaled_write(&j, "f", 0, MIB);
	journaled_done(&j, 1, 1);
	journal_close(take(j.journal));
	cr_expect(eq(int, access(j.dir, F_OK), -1));
}

/* ---- More of them ---- */

#define MANY 10000

static enum err count_one(void *context, const struct journal_entry *entry, struct error *e)
{
	uint64_t *count = context;
	char path[20];

	(void)e;
	snprintf(path, sizeof path, "f%llu", (unsigned long long)++*count);
	cr_expect(eq(str, (char *)entry->change.path, path));
	return ERR_OK;
}

Test(journal, ten_thousand_entries_are_there_again)
{
	uint64_t count = 0;
	char path[20];

	for (int n = 1; n <= MANY; n++) {
		snprintf(path, sizeof path, "f%d", n);
		journaled_name(&j, CHANGE_MKDIR, path, NULL);
	}
	journaled_reopen(&j);
	cr_assert(eq(int, journal_each(j.journal, count_one, &count, NULL), ERR_OK));
	cr_expect(eq(u64, count, MANY));
	cr_expect(eq(u64, journaled_unsynced(&j), MANY));
}

static enum err stop_at_two(void *context, const struct journal_entry *entry, struct error *e)
{
	*(uint64_t *)context = entry->number;
	return entry->number == 2 ? error_set(e, ERR_INTERRUPTED, "enough") : ERR_OK;
}

Test(journal, a_sink_may_end_the_round)
{
	uint64_t last = 0;

	for (int n = 0; n < 3; n++)
		journaled_name(&j, CHANGE_MKDIR, "d", NULL);
	cr_expect(eq(int, journal_each(j.journal, stop_at_two, &last, NULL), ERR_INTERRUPTED));
	cr_expect(eq(u64, last, 2));
}

#define THREADS 4
#define ROUNDS  300

static void *use_at_once(void *numbers)
{
	char data[200];
	struct change change = CHANGE(WRITE, "f", .data = data, .data_len = sizeof data);

	memset(data, (int)(uintptr_t)numbers, sizeof data);
	for (int n = 0; n < ROUNDS; n++) {
		uint64_t *number = (uint64_t *)numbers + n;
		char got[sizeof data];
		struct journal_extent where;
		struct error e = { 0 };

		cr_assert(not(journal_add(j.journal, &change, number, &where, &e)), "%s", e.text);
		cr_assert(not(journal_read(j.journal, &where, got, &e)), "%s", e.text);
		cr_assert(not(memcmp(got, data, sizeof data)));
		if (n % 2)
			cr_assert(
				not(journal_note_done(j.journal, number - 1, 2, &e)), "%s", e.text);
	}
	return NULL;
}

Test(journal, several_threads_use_it_at_once)
{
	static uint64_t numbers[THREADS][ROUNDS];
	static bool given[THREADS * ROUNDS + 1];
	pthread_t threads[THREADS];

	for (int n = 0; n < THREADS; n++)
		cr_assert(not(pthread_create(&threads[n], NULL, use_at_once, numbers[n])));
	for (int n = 0; n < THREADS; n++)
		pthread_join(threads[n], NULL);
	for (int n = 0; n < THREADS * ROUNDS; n++) {
		uint64_t number = numbers[n / ROUNDS][n % ROUNDS];

		cr_assert(number >= 1 && number <= THREADS * ROUNDS && !given[number]);
		given[number] = true;
	}
	cr_expect(eq(u64, journaled_unsynced(&j), 0));
}

Test(journal, without_a_directory_its_files_have_no_names)
{
	struct journal_options nowhere = { 0 };

	journal_close(take(j.journal));
	setenv("TMPDIR", j.scratch.path, 1);
	cr_assert(eq(int, journal_open(&j.journal, &nowhere, NULL), ERR_OK));
	struct journal_extent where = journaled_write(&j, "f", 3, 10 * KIB);

	cr_expect(journaled_reads(&j, &where, 3, 0));
	cr_expect(eq(sz, journaled_count(&j, ".", "sandboxfs-"), 0));
	journaled_expect(&j, "1:f+10240\n");
	journaled_done(&j, 1, 1);
}
