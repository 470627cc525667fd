/* What the journal of a mount builds on: files that appear whole. */
#include "tests/providers/contract.h"

#include <sys/stat.h>

#define OWNERLESS .uid = CHANGE_NO_OWNER, .gid = CHANGE_NO_OWNER
#define STAGED    "/n-6a6f75726e616c-1"

/* A time that a clock of whole seconds does not know. */
static const struct timespec then = { .tv_sec = 1234567890, .tv_nsec = 123456789 };

static void expect_all_done(const struct change_result *r, size_t count)
{
	for (size_t i = 0; i < count; i++)
		cr_assert(eq(int, r[i].err, ERR_OK), "change %zu: %s", i, r[i].why);
}

static void expect_mtime(const struct subject *s, const struct timespec *got)
{
	cr_expect(eq(long, got->tv_sec, then.tv_sec));
	cr_expect(eq(long, got->tv_nsec, (s->lacks & LACKS_SET_NANOSECONDS) ? 0 : then.tv_nsec));
}

/* ---- A new file appears whole ---- */

BEHAVIOUR(journal, a_file_is_filled_in_staging_and_then_given_its_name)
{
	const struct change changes[] = {
		{ .op = CHANGE_CREATE,
			.flags = CHANGE_EXCL,
			.path = STAGED,
			.mode = 0600,
			OWNERLESS },
		{ .op = CHANGE_WRITE, .path = STAGED, .data = "whole", .data_len = 5, .needs = 1 },
		{ .op = CHANGE_SETATTR,
			.path = STAGED,
			.set = SET_MODE | SET_MTIME,
			.mode = 0751,
			.mtime = then,
			.needs = 2 },
		{ .op = CHANGE_RENAME,
			.flags = CHANGE_NOREPLACE,
			.path = STAGED,
			.path2 = "d/f",
			.parent2 = (outside_mkdir(s, "d", 0755), outside_expect(s, "d")),
			.needs = 3 },
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
	expect_mtime(s, &want.mtime);
	cr_assert(r[3].has_attr && r[3].has_parent2 && !r[3].has_parent);
	expect_same_attr(s, &r[3].attr, &want, "d/f");
	cr_expect(eq(u64, r[3].parent2.ino, dir.ino));
	cr_expect(eq(long, r[3].parent2.mtime.tv_nsec, dir.mtime.tv_nsec));
}

BEHAVIOUR(journal, a_staged_file_stays_where_its_name_is_taken)
{
	struct change give_name = {
		.op = CHANGE_RENAME, .flags = CHANGE_NOREPLACE, .path = STAGED, .path2 = "f"
	};
	struct change elsewhere = give_name;

	outside_write_text(s, "f", "another's");
	outside_mkdir(s, "d", 0755);
	cr_assert(eq(int,
		apply_one(s,
			(struct change){
				.op = CHANGE_CREATE, .path = STAGED, .mode = 0600, OWNERLESS })
			.err,
		ERR_OK));
	cr_expect(eq(int, apply_one(s, give_name).err, ERR_EXISTS));
	cr_expect(outside_holds(s, "f", "another's"));
	elsewhere.path2 = "g";
	elsewhere.parent2 = outside_expect(s, "d");
	cr_expect(eq(int, apply_one(s, elsewhere).err, ERR_STALE));
	cr_expect(not(outside_exists(s, "g")));
	give_name.path2 = "h";
	cr_expect(eq(int, apply_one(s, give_name).err, ERR_OK));
	cr_expect(outside_holds(s, "h", ""));
}

BEHAVIOUR(journal, a_time_set_behind_a_write_stays)
{
	const struct change changes[] = {
		{ .op = CHANGE_WRITE, .path = "f", .data = "new", .data_len = 3 },
		{ .op = CHANGE_SETATTR, .path = "f", .set = SET_MTIME, .mtime = then },
	};
	struct change_result r[2];
	struct attr want;

	outside_write_text(s, "f", "old");
	apply_all(s, changes, 2, r);
	expect_all_done(r, 2);
	want = outside_attr(s, "f");
	expect_mtime(s, &want.mtime);
	expect_same_attr(s, &r[1].attr, &want, "f");
	cr_expect(outside_holds(s, "f", "new"));
}
