/*
 * The contract with the journal of a mount: files that appear whole, batches that can be sent
 * again.
 */
#include "tests/providers/contract.h"
#include "tests/support/changes.h"

#include <pthread.h>
#include <sys/stat.h>

#define STAGED "/n-6a6f75726e616c-1"

static const struct timespec then = { .tv_sec = 1234567890, .tv_nsec = 123456789 };

static void expect_all_done(const struct change_result *r, size_t count)
{
	for (size_t i = 0; i < count; i++)
		cr_assert(eq(int, r[i].err, ERR_OK), "change %zu: %s", i, r[i].why);
}

static void expect_mtime(const struct timespec *got)
{
	cr_expect(eq(long, got->tv_sec, then.tv_sec));
	cr_expect(eq(long, got->tv_nsec, then.tv_nsec));
}

/* ---- A new file appears whole ---- */

BEHAVIOUR(journal, a_file_is_filled_in_staging_and_then_given_its_name)
{
	const struct change changes[] = {
		CHANGE_ROW(CREATE, STAGED, .flags = CHANGE_EXCL, .mode = 0600),
		CHANGE_ROW(WRITE, STAGED, TEXT("whole"), .needs = 1),
		CHANGE_ROW(SETATTR, STAGED, .set = SET_MODE | SET_MTIME, .mode = 0751,
			.mtime = then, .needs = 2),
		CHANGE_ROW(RENAME, STAGED, .flags = CHANGE_NOREPLACE, .path2 = "d/f",
			.parent2 = (outside_mkdir(s, "d", 0755), outside_expect(s, "d")),
			.needs = 3),
	};
	struct change_result r[4];
	struct attr want, dir;

	apply_all(s, changes, 4, r);
	expect_all_done(r, 4);
	want = outside_attr(s, "d/f");
	dir = outside_attr(s, "d");
	cr_expect(outside_holds(s, "d/f", "whole"));
	cr_expect(eq(u32, want.mode, S_IFREG | 0751));
	cr_expect(eq(u32, want.uid, s->user.uid));
	expect_mtime(&want.mtime);
	cr_assert(r[3].has_attr && r[3].has_parent2 && !r[3].has_parent);
	expect_same_attr(&r[3].attr, &want, "d/f");
	cr_expect(eq(u64, r[3].parent2.ino, dir.ino));
	cr_expect(eq(long, r[3].parent2.mtime.tv_nsec, dir.mtime.tv_nsec));
}

BEHAVIOUR(journal, a_staged_file_stays_where_its_name_is_taken)
{
	struct change give_name = CHANGE(RENAME, STAGED, .flags = CHANGE_NOREPLACE, .path2 = "f");
	struct change elsewhere = give_name;

	outside_write_text(s, "f", "another's");
	outside_mkdir(s, "d", 0755);
	cr_assert(eq(int, apply_one(s, CHANGE(CREATE, STAGED, .mode = 0600)).err, ERR_OK));
	cr_expect(eq(int, apply_one(s, give_name).err, ERR_EXISTS));
	cr_expect(outside_holds(s, "f", "another's"));
	outside_mkdir(s, "e", 0755);
	elsewhere.path2 = "e/g";
	elsewhere.parent2 = outside_expect(s, "d");
	cr_expect(eq(int, apply_one(s, elsewhere).err, ERR_STALE));
	cr_expect(not(outside_exists(s, "e/g")));
	give_name.path2 = "h";
	cr_expect(eq(int, apply_one(s, give_name).err, ERR_OK));
	cr_expect(outside_holds(s, "h", ""));
}

BEHAVIOUR(journal, a_time_set_behind_a_write_stays)
{
	const struct change changes[] = {
		CHANGE_ROW(WRITE, "f", TEXT("new")),
		CHANGE_ROW(SETATTR, "f", .set = SET_MTIME, .mtime = then),
	};
	struct change_result r[2];
	struct attr want;

	outside_write_text(s, "f", "old");
	apply_all(s, changes, 2, r);
	expect_all_done(r, 2);
	want = outside_attr(s, "f");
	expect_mtime(&want.mtime);
	expect_same_attr(&r[1].attr, &want, "f");
	cr_expect(outside_holds(s, "f", "new"));
}

/* ---- A batch that is sent again ---- */

BEHAVIOUR(journal, a_batch_sent_again_is_answered_as_before)
{
	const struct change changes[] = {
		CHANGE_ROW(APPEND, "f", TEXT("1")),
		CHANGE_ROW(MKDIR, "d", .mode = 0755),
		CHANGE_ROW(MKDIR, "e", .mode = 0755, .needs = 2),
		CHANGE_ROW(APPEND, "f", TEXT("2")),
		CHANGE_ROW(COPY, "f", .path2 = "g", .length = 2),
	};
	static const enum err want[] = { ERR_OK, ERR_EXISTS, ERR_SKIPPED, ERR_OK, ERR_OK };
	const struct apply_request request = { .journal = "of this test",
		.first_sequence = 41,
		.changes = changes,
		.changes_count = 5 };
	struct change_result first[5], again[5];
	struct error e = { 0 };

	outside_write_text(s, "f", "");
	outside_write_text(s, "g", "");
	outside_write_text(s, "d", "in the way");
	cr_assert(eq(int, provider_apply(s->p, NULL, &request, first, &e), ERR_OK), "%s", e.text);
	outside_unlink(s, "d");
	cr_assert(eq(int, provider_apply(s->p, NULL, &request, again, &e), ERR_OK), "%s", e.text);
	for (size_t i = 0; i < 5; i++) {
		cr_expect(eq(int, first[i].err, want[i]), "change %zu: %s", i, first[i].why);
		cr_expect(eq(int, again[i].err, want[i]), "change %zu: %s", i, again[i].why);
	}
	cr_expect(eq(str, (char *)again[1].why, (char *)first[1].why));
	cr_expect(again[3].has_attr && again[3].attr.size == 2 && again[3].count == 1);
	cr_expect(eq(u64, again[4].count, 2));
	cr_expect(not(outside_exists(s, "d")));
	cr_expect(outside_holds(s, "f", "12"));
}

enum { APPENDED = 20 };

static void *append_all(void *context)
{
	struct subject *s = context;
	struct change changes[APPENDED];
	struct change_result r[APPENDED];
	const struct apply_request request = { .journal = "run twice",
		.first_sequence = 1,
		.changes = changes,
		.changes_count = APPENDED };

	for (size_t i = 0; i < APPENDED; i++)
		changes[i] = CHANGE(APPEND, "f", TEXT("x"));
	if (provider_apply(s->p, NULL, &request, r, NULL) != ERR_OK)
		return "the batch failed";
	for (size_t i = 0; i < APPENDED; i++)
		if (r[i].err != ERR_OK)
			return "a change failed";
	return NULL;
}

BEHAVIOUR(journal, two_runs_of_a_batch_at_once_do_it_once)
{
	pthread_t threads[3];

	outside_write_text(s, "f", "");
	for (size_t i = 0; i < 3; i++)
		cr_assert(pthread_create(&threads[i], NULL, append_all, s) == 0);
	for (size_t i = 0; i < 3; i++) {
		void *failure;

		pthread_join(threads[i], &failure);
		cr_expect(failure == NULL, "%s", (char *)failure);
	}
	cr_assert(eq(u64, outside_attr(s, "f").size, APPENDED));
}

/* One change of the journal "two records", under that number. */
static struct change_result number_one(struct subject *s, struct change change, uint64_t number)
{
	const struct apply_request request = { .journal = "two records",
		.first_sequence = number,
		.changes = &change,
		.changes_count = 1 };
	struct change_result r;
	struct error e = { 0 };

	cr_assert(eq(int, provider_apply(s->p, NULL, &request, &r, &e), ERR_OK), "%s", e.text);
	return r;
}

BEHAVIOUR(journal, each_of_the_two_records_counts_its_own_numbers)
{
	const struct change aside = CHANGE(APPEND, "f", TEXT("2"));
	const struct change first = CHANGE(APPEND, "f", TEXT("1"));

	outside_write_text(s, "f", "");
	cr_expect(not(number_one(s, aside, 42 | SEQUENCE_ASIDE).was_over));
	cr_expect(not(number_one(s, first, 41).was_over), "a larger number aside is no news of it");
	cr_expect(outside_holds(s, "f", "21"));
	cr_expect(number_one(s, aside, 42 | SEQUENCE_ASIDE).was_over);
	cr_expect(number_one(s, first, 41).was_over);
	cr_expect(outside_holds(s, "f", "21"));
}

/* As where the first answer was lost. */
BEHAVIOUR(journal, a_removal_of_what_is_gone_tells_the_directory_each_time)
{
	const struct change removal = CHANGE(UNLINK, "gone");

	for (int n = 0; n < 2; n++) {
		struct change_result r = number_one(s, removal, 1);

		cr_expect(eq(int, r.err, ERR_NOT_FOUND), "%d", n);
		cr_expect(r.has_parent, "%d", n);
	}
}

/* ---- The version that a change is based on ---- */

static struct version version_of(struct attr a)
{
	return (struct version){ .size = a.size, .mtime = a.mtime, .ctime = a.ctime };
}

BEHAVIOUR(journal, a_file_that_was_changed_since_is_a_conflict)
{
	struct version f, g;

	outside_write_text(s, "f", "f");
	outside_write_text(s, "g", "g");
	cr_assert(eq(int, apply_one(s, CHANGE(CREATE, STAGED, .mode = 0600)).err, ERR_OK));
	f = version_of(outside_attr(s, "f"));
	g = version_of(outside_attr(s, "g"));
	outside_write_text(s, "f", "changed");
	const struct change rows[] = {
		CHANGE_ROW(WRITE, "f", .version = f, TEXT("!")),
		CHANGE_ROW(APPEND, "f", .version = f, TEXT("!")),
		CHANGE_ROW(SETATTR, "f", .version = f, .set = SET_SIZE),
		CHANGE_ROW(RENAME, "g", .path2 = "f", .version2 = f),
		CHANGE_ROW(RENAME, "f", .path2 = "h", .version = f),
		CHANGE_ROW(RENAME, "g", .path2 = "h", .version2 = f),
		CHANGE_ROW(PLACE, STAGED, .path2 = "f", .version2 = f),
		CHANGE_ROW(PLACE, STAGED, .path2 = "f", .flags = CHANGE_REPLACE | CHANGE_EXCHANGE,
			.version2 = f),
		CHANGE_ROW(UNLINK, "f", .version = f),
		CHANGE_ROW(WRITE, "h", .version = f, TEXT("!")),
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct change_result r = apply_one(s, rows[i]);

		cr_expect(eq(int, r.err, ERR_CONFLICT), "row %zu: %s", i, r.why);
	}
	cr_expect(outside_holds(s, "f", "changed"));
	cr_expect(outside_holds(s, "g", "g"));
	cr_expect(not(outside_exists(s, "h")));
	cr_expect(
		eq(int, apply_one(s, CHANGE(RENAME, "g", .path2 = "f", .version = g)).err, ERR_OK));
}

BEHAVIOUR(journal, a_change_that_was_done_before_is_answered_with_what_it_left_then)
{
	const struct change change = CHANGE(WRITE, "f", TEXT("ours"));
	const struct apply_request request = {
		.journal = "left", .first_sequence = 1, .changes = &change, .changes_count = 1
	};
	struct change_result first, again;

	outside_write_text(s, "f", "");
	cr_assert(eq(int, provider_apply(s->p, NULL, &request, &first, NULL), ERR_OK));
	cr_assert(first.has_attr && !first.was_over);
	outside_write_text(s, "f", "theirs");
	cr_assert(eq(int, provider_apply(s->p, NULL, &request, &again, NULL), ERR_OK));
	cr_expect(outside_holds(s, "f", "theirs"));
	cr_assert(again.has_attr && again.was_over);
	cr_expect(eq(u64, again.attr.size, 6));
	cr_expect(eq(u64, again.left.size, 4));
	cr_expect(eq(long, again.left.ctime.tv_sec, first.attr.ctime.tv_sec));
	cr_expect(eq(long, again.left.ctime.tv_nsec, first.attr.ctime.tv_nsec));
	cr_expect(eq(long, again.left.mtime.tv_sec, first.attr.mtime.tv_sec));
	cr_expect(eq(long, again.left.mtime.tv_nsec, first.attr.mtime.tv_nsec));
}

/* ---- Leftovers of dead mounts ---- */

#define DEAD_RECORD "/seq-dead0000000000000000000000000000"

static void leave_record(struct subject *s, const char *path)
{
	const struct change changes[] = {
		CHANGE_ROW(CREATE, path, .mode = 0600),
		CHANGE_ROW(SETATTR, path, .set = SET_MTIME, .mtime = then),
	};
	struct change_result r[2];

	apply_all(s, changes, 2, r);
	expect_all_done(r, 2);
}

static enum err look_at(struct subject *s, const char *path)
{
	return apply_one(s, CHANGE(SYNC, path)).err;
}

BEHAVIOUR(journal, its_first_batch_removes_what_dead_ones_left)
{
	const struct change change = CHANGE(MKDIR, "d", .mode = 0755);
	const struct apply_request request = {
		.journal = "new", .first_sequence = 1, .changes = &change, .changes_count = 1
	};
	struct change_result r;

	leave_record(s, DEAD_RECORD);
	cr_assert(eq(int, provider_apply(s->p, NULL, &request, &r, NULL), ERR_OK));
	cr_expect(eq(int, look_at(s, DEAD_RECORD), ERR_NOT_FOUND));
	cr_expect(eq(int, look_at(s, "/seq-6e657700000000000000000000000000"), ERR_OK));
}
