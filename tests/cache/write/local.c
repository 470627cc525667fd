/* Local changes, and their fate where the sandbox refuses some or others come in between. */
#include "cache/session/session.h"
#include "cache/write/writeback.h"
#include "cache/tree/tree.h"
#include "cache/lease/hand_out.h"
#include "cache/lease/invalidate.h"
#include "cache/write/remote.h"
#include "cache/contents.h"
#include "cache/names.h"
#include "cache/metadata.h"
#include "cache/cache.h"
#include "cache/write/local.h"
#include "cache/lease/lease.h"
#include "cache/write/writeback_inside.h"
#include "providers/base/cleanup.h"
#include "tests/cache/distant.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static struct distant far;

static void setup(void)
{
	distant_start_watched(&far);
	distant_await_deciding(&far);
}

static void teardown(void)
{
	distant_hold_applies(&far, false);
	distant_stop(&far);
}

TestSuite(decide, .init = setup, .fini = teardown, .timeout = 300);

static enum err sync_all(void)
{
	return cache_sync(far.cache, NULL, NULL);
}

static bool is_there(const char *name)
{
	return !faccessat(far.scratch.fd, name, F_OK, 0);
}

/* A file that the sandbox has; the next batch is held. */
static struct inode *make_and_hold(const char *name)
{
	struct inode *i = distant_make(&far, name);

	cr_assert(eq(int, sync_all(), ERR_OK));
	distant_hold_applies(&far, true);
	return i;
}

static void make_directory(unsigned n)
{
	const struct create_args m = { .op = CHANGE_MKDIR, .mode = 0755 };
	struct cache_entry entry;
	char name[16];

	snprintf(name, sizeof name, "d%u", n);
	cr_assert(
		eq(int, cache_make(far.cache, NULL, cache_root(far.cache), name, &m, &entry, NULL),
			ERR_OK));
	cache_forget(far.cache, entry.inode, 1);
}

static bool is_any_due(void)
{
	struct writeback *p = far.cache->writeback;
	int64_t next_ms;
	bool is_urgent;

	pthread_mutex_lock(&p->lock);
	bool is_due = writeback_is_due_locked(p, monotonic_ms(), &next_ms, &is_urgent);

	pthread_mutex_unlock(&p->lock);
	return is_due;
}

/* Fewer would wait for an hour. */
Test(decide, a_full_batch_of_changes_does_not_wait_for_more)
{
	unsigned made = 0;

	distant_gather_for(&far, AN_HOUR_MS);
	while (made < WRITEBACK_CHANGES_DUE - 1)
		make_directory(made++);
	cr_expect(not(is_any_due()));
	make_directory(made++);
	distant_await_applies(&far, 1);
	cr_expect(eq(int, sync_all(), ERR_OK));
}

/* Changes that were made while others were on their way leave in one request, too. */
Test(decide, more_changes_than_are_due_leave_in_one_batch)
{
	const unsigned due =
		WRITEBACK_CHANGES_DUE / 2; /* each is made, and then has its times set */
	unsigned made = 0;

	distant_hold_applies(&far, true);
	while (made < due)
		make_directory(made++);
	distant_await_applies(&far, 1);
	while (made < 2 * due + 100)
		make_directory(made++);
	distant_hold_applies(&far, false);
	cr_expect(eq(int, sync_all(), ERR_OK));
	cr_expect(eq(uint, distant_applies(&far), 2));
}

/* How long the kernel may keep the attributes that it receives of a file that is made. */
static int64_t valid_ms_of_made(const char *name)
{
	const struct create_args m = { .op = CHANGE_CREATE, .mode = 0644, .opens = true };
	struct inode *root = cache_root(far.cache);
	struct cache_entry entry;

	cr_assert(eq(int, cache_make(far.cache, NULL, root, name, &m, &entry, NULL), ERR_OK));
	cache_forget(far.cache, entry.inode, 1);
	return entry.valid_ms;
}

/*
 * Without that the kernel would ask at once for the attributes that it has just received. The
 * moment is over before the call returns where this thread had to wait for the processor: then
 * another file is made.
 */
Test(decide, what_was_made_is_valid_for_a_moment)
{
	int64_t end_ms = monotonic_ms() + 60000, valid_ms = 0;
	char name[16];

	for (unsigned n = 0; !valid_ms && monotonic_ms() < end_ms; n++) {
		snprintf(name, sizeof name, "f%u", n);
		valid_ms = valid_ms_of_made(name);
	}
	cr_expect(lt(i64, 0, valid_ms));
	cr_expect(lt(i64, valid_ms, 100));
	cr_expect(eq(int, sync_all(), ERR_OK));
}

Test(decide, a_file_whose_writing_was_refused_can_be_removed)
{
	struct inode *root = cache_root(far.cache), *i = make_and_hold("f");

	distant_refuse(&far, ERR_NO_SPACE);
	distant_write(&far, i, 0, "hello");
	cr_assert(eq(int, cache_unlink(far.cache, NULL, root, "f", NULL), ERR_OK));
	distant_close(&far, i);
	distant_hold_applies(&far, false);
	cr_expect(eq(int, sync_all(), ERR_NO_SPACE));
	cr_expect(not(is_there("f")));
}

Test(decide, what_was_removed_on_both_sides_is_no_error)
{
	struct inode *root = cache_root(far.cache);

	distant_close(&far, make_and_hold("f"));
	cr_assert(eq(int, cache_unlink(far.cache, NULL, root, "f", NULL), ERR_OK));
	cr_assert(eq(int, unlinkat(far.scratch.fd, "f", 0), 0));
	distant_hold_applies(&far, false);
	cr_expect(eq(int, sync_all(), ERR_OK));
	cr_expect(eq(int, sync_all(), ERR_OK));
}

/* The close comes in the batch of the removal, or after that. */
static void remove_open_file(bool closes_first)
{
	struct inode *root = cache_root(far.cache), *i = make_and_hold("f");

	cr_assert(eq(int, cache_unlink(far.cache, NULL, root, "f", NULL), ERR_OK));
	cr_assert(eq(int, unlinkat(far.scratch.fd, "f", 0), 0));
	if (closes_first)
		distant_close(&far, i);
	distant_hold_applies(&far, false);
	cr_expect(eq(int, sync_all(), ERR_OK));
	if (!closes_first)
		distant_close(&far, i);
	cr_expect(eq(int, sync_all(), ERR_OK));
	cr_expect(eq(u64, distant_failed(&far), 0));
}

Test(decide, nor_is_it_where_it_was_open_here)
{
	distant_gather_for(&far, AN_HOUR_MS);
	remove_open_file(true);
}

Test(decide, nor_is_it_where_it_is_closed_afterwards)
{
	remove_open_file(false);
}

/* The contents are lost with the file. The barrier reports that, and not the earlier failure. */
Test(decide, what_is_written_to_a_file_that_both_sides_removed_fails_the_next_barrier)
{
	struct inode *root = cache_root(far.cache), *other = make_and_hold("other");

	distant_refuse(&far, ERR_NO_SPACE);
	distant_write(&far, other, 0, "text");
	distant_hold_applies(&far, false);
	cr_assert(eq(int, sync_all(), ERR_NO_SPACE));
	distant_close(&far, other);
	struct inode *i = make_and_hold("f");

	distant_gather_for(&far, AN_HOUR_MS);
	cr_assert(eq(int, cache_unlink(far.cache, NULL, root, "f", NULL), ERR_OK));
	cr_assert(eq(int, unlinkat(far.scratch.fd, "f", 0), 0));
	distant_write(&far, i, 0, "text");
	distant_hold_applies(&far, false);
	cr_expect(eq(int, sync_all(), ERR_IO));
	distant_close(&far, i);
}

static struct timespec mtime_of(struct inode *i)
{
	struct attr attr;
	int64_t valid_ms;

	cr_assert(eq(int, cache_attr(far.cache, NULL, i, &attr, &valid_ms, NULL), ERR_OK));
	return attr.mtime;
}

static struct inode *make_one(enum change_op op, const char *name)
{
	const struct create_args m = {
		.op = op, .mode = 0755, .text = op == CHANGE_SYMLINK ? "to" : NULL
	};
	struct cache_entry entry;

	cr_assert(
		eq(int, cache_make(far.cache, NULL, cache_root(far.cache), name, &m, &entry, NULL),
			ERR_OK));
	return entry.inode;
}

Test(decide, times_stay_what_they_were_shown_as)
{
	distant_hold_applies(&far, true);
	struct inode *const made[] = { make_one(CHANGE_MKDIR, "d"), make_one(CHANGE_SYMLINK, "l"),
		cache_root(far.cache) };
	struct timespec shown[3];

	for (int n = 0; n < 3; n++)
		shown[n] = mtime_of(made[n]);
	distant_hold_applies(&far, false);
	cr_assert(eq(int, sync_all(), ERR_OK));
	cache_invalidate_all(far.cache);
	for (int n = 0; n < 3; n++)
		cr_expect(time_equals(shown[n], mtime_of(made[n])), "%d", n);
	for (int n = 0; n < 2; n++)
		cache_forget(far.cache, made[n], 1);
}

/* The attributes that the kernel keeps until they are revoked. */
struct keeping {
	struct inode *inode;
	atomic_bool is_kept;
};

static void note_taken_back(void *context, struct inode *i)
{
	for (struct keeping *k = context; k->inode; k++)
		if (k->inode == i)
			atomic_store(&k->is_kept, false);
}

static void keep(struct keeping *k)
{
	struct attr attr;
	int64_t valid_ms;

	atomic_store(&k->is_kept, true);
	cr_assert(eq(int, cache_delegate_attr(far.cache, NULL, k->inode, &attr, &valid_ms, NULL),
		ERR_OK));
	cr_expect(lt(i64, 0, valid_ms));
}

Test(decide, delegated_attributes_are_revoked_before_a_barrier_returns)
{
	distant_hold_applies(&far, true);
	struct keeping all[] = { { .inode = make_one(CHANGE_MKDIR, "d") },
		{ .inode = cache_root(far.cache) }, { 0 } };
	struct cache_observer observer = { .inode_revoked = note_taken_back, .context = all };

	cache_observe(far.cache, &observer);
	keep(&all[0]);
	keep(&all[1]);
	cr_expect(atomic_load(&all[1].is_kept));
	cache_forget(far.cache, make_one(CHANGE_MKDIR, "e"), 1);
	cr_expect(atomic_load(&all[0].is_kept), "nothing was done to it");
	cr_expect(not(atomic_load(&all[1].is_kept)), "another change shows before it is answered");
	keep(&all[1]);
	distant_hold_applies(&far, false);
	cr_assert(eq(int, cache_fsync(far.cache, NULL, all[0].inode, NULL), ERR_OK));
	cr_expect(not(atomic_load(&all[0].is_kept)));
	cr_assert(eq(int, sync_all(), ERR_OK));
	cr_expect(not(atomic_load(&all[1].is_kept)));
	cache_observe(far.cache, NULL);
	cache_forget(far.cache, all[0].inode, 1);
}

Test(decide, a_refused_write_of_many_parts_fails_whole)
{
	struct inode *i = make_and_hold("f");
	uint64_t entries, bytes, failed;

	distant_refuse(&far, ERR_NO_SPACE);
	distant_gather_for(&far, AN_HOUR_MS);
	for (uint64_t n = 0; n < 10; n++)
		distant_write(&far, i, n, "x");
	distant_hold_applies(&far, false);
	cr_expect(eq(int, sync_all(), ERR_NO_SPACE));
	distant_close(&far, i);
	sync_all();
	journal_usage(far.cache->writeback->journal, &entries, &bytes, &failed);
	cr_expect(eq(u64, entries, 0), "nothing is owed");
	cr_expect(ge(u64, failed, 10));
}

Test(decide, a_file_that_was_gone_before_the_answer_came_is_not_waited_for)
{
	struct inode *root = cache_root(far.cache), *i;
	struct cache_entry entry;
	struct error e = { 0 };
	int64_t absent_ms;

	distant_hold_applies(&far, true);
	i = distant_make(&far, "f");
	atomic_store(&far.tells_no_attrs, true);
	distant_hold_applies(&far, false);
	sync_all();
	atomic_store(&far.tells_no_attrs, false);
	distant_close(&far, i);
	cr_expect(eq(int, cache_lookup(far.cache, NULL, root, "f", &entry, &absent_ms, &e), ERR_OK),
		"%s", e.text);
	cr_expect(not(tree_is_provisional(far.cache->tree, entry.inode)));
	cache_forget(far.cache, entry.inode, 1);
}

Test(decide, what_was_refused_is_not_exchanged_for_another_file)
{
	struct inode *root = cache_root(far.cache), *old = distant_make(&far, "old");
	struct inode *i = distant_make(&far, "new");

	distant_write(&far, old, 0, "precious");
	cr_assert(eq(int, sync_all(), ERR_OK));
	distant_hold_applies(&far, true);
	distant_refuse(&far, ERR_NO_SPACE);
	distant_write(&far, i, 0, "hello");
	cr_assert(eq(int,
		cache_rename(far.cache, NULL, root, "old", root, "new", CHANGE_EXCHANGE, NULL),
		ERR_OK));
	distant_hold_applies(&far, false);
	cr_expect(eq(int, sync_all(), ERR_NO_SPACE));
	AUTO_FREE char *text = distant_text(&far, "old");

	cr_expect(eq(str, text, "precious"));
	distant_close(&far, old);
	distant_close(&far, i);
}

/* ---- Permissions of the sandbox's user ---- */

#define OWNER  1000
#define OTHERS 1001

static void become(uint32_t uid)
{
	far.cache->sandbox.identity = (struct identity){ .uid = uid, .gid = uid };
}

/*
 * Makes a file or directory as user `uid`, who stays the sandbox's user. While applies are held the
 * sandbox receives none of it.
 */
static struct inode *make_of(
	uint32_t uid, struct inode *dir, const char *name, enum change_op op, uint32_t mode)
{
	const struct create_args making = { .op = op, .mode = mode };
	struct cache_entry entry;

	become(uid);
	cr_assert(eq(int, cache_make(far.cache, NULL, dir, name, &making, &entry, NULL), ERR_OK));
	return entry.inode;
}

static struct inode *make_top(void)
{
	distant_hold_applies(&far, true);
	return make_of(0, cache_root(far.cache), "top", CHANGE_MKDIR, 0777);
}

static bool decides_to_set(struct inode *i, const struct change *what)
{
	bool decided;

	local_setattr(far.cache, NULL, i, what, &decided, NULL);
	return decided;
}

Test(decide, a_file_that_may_not_be_written_is_cut_by_its_owner_through_a_handle_only)
{
	const struct change by_path = { .set = SET_SIZE | SET_MTIME };
	const struct change by_handle = { .set = SET_SIZE, .flags = CHANGE_BY_HANDLE };
	struct inode *top = make_top(), *i = make_of(OWNER, top, "f", CHANGE_CREATE, 0444);

	cr_expect(not(decides_to_set(i, &by_path)));
	cr_expect(decides_to_set(i, &by_handle));
	become(OTHERS);
	cr_expect(not(decides_to_set(i, &by_handle)));
	become(0);
	cr_expect(decides_to_set(i, &by_path));
	cache_forget(far.cache, i, 1);
	cache_forget(far.cache, top, 1);
}

Test(decide, times_that_some_file_system_cuts_are_asked)
{
	static const struct {
		struct timespec time;
		bool is_decided;
	} rows[] = { { { .tv_sec = 0 }, true }, { { .tv_sec = -2147483647 }, true },
		{ { .tv_sec = 2147483646, .tv_nsec = 999999999 }, true },
		{ { .tv_sec = 2147483647, .tv_nsec = 1 }, false },
		{ { .tv_sec = -2147483648 }, false }, { { .tv_sec = 99999999999 }, false },
		{ { .tv_sec = 99999999999, .tv_nsec = UTIME_NOW }, true } };
	struct inode *top = make_top(), *i = make_of(0, top, "f", CHANGE_CREATE, 0644);

	for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
		const struct change mtime = { .set = SET_MTIME, .mtime = rows[n].time };
		const struct change atime = { .set = SET_ATIME, .atime = rows[n].time };

		cr_expect(eq(int, decides_to_set(i, &mtime), rows[n].is_decided), "mtime %zu", n);
		cr_expect(eq(int, decides_to_set(i, &atime), rows[n].is_decided), "atime %zu", n);
	}
	cache_forget(far.cache, i, 1);
	cache_forget(far.cache, top, 1);
}

static bool decides_to_link(uint32_t uid, struct inode *i, struct inode *dir, const char *name)
{
	struct cache_entry entry;
	bool decided;

	become(uid);
	cr_expect(
		eq(int, local_link(far.cache, NULL, i, dir, name, &entry, &decided, NULL), ERR_OK));
	if (decided)
		cache_forget(far.cache, entry.inode, 1);
	return decided;
}

Test(decide, whether_a_file_of_others_is_linked_to_is_asked)
{
	struct inode *top = make_top(), *i = make_of(OWNER, top, "f", CHANGE_CREATE, 0666);

	cr_expect(not(decides_to_link(OTHERS, i, top, "a")));
	cr_expect(decides_to_link(OWNER, i, top, "b"));
	cr_expect(decides_to_link(0, i, top, "c"));
	cache_forget(far.cache, i, 1);
	cache_forget(far.cache, top, 1);
}

static enum err move(uint32_t uid, struct inode *dir, const char *name, struct inode *dir2,
	const char *name2, uint32_t flags)
{
	struct error e = { 0 };
	bool decided;

	become(uid);
	enum err kind = local_rename(far.cache, NULL, dir, name, dir2, name2, flags, &decided, &e);

	cr_expect(decided);
	return kind;
}

Test(decide, a_directory_that_may_not_be_written_stays_below_its_parent)
{
	struct inode *top = make_top(), *a = make_of(OWNER, top, "a", CHANGE_MKDIR, 0755);
	struct inode *b = make_of(OWNER, top, "b", CHANGE_MKDIR, 0755);
	struct inode *closed = make_of(OWNER, a, "closed", CHANGE_MKDIR, 0555);
	struct inode *open = make_of(OWNER, b, "open", CHANGE_MKDIR, 0755);

	cr_expect(eq(int, move(OWNER, a, "closed", b, "closed", 0), ERR_DENIED));
	cr_expect(eq(int, move(OWNER, b, "open", a, "closed", CHANGE_EXCHANGE), ERR_DENIED));
	cr_expect(eq(int, move(OWNER, a, "closed", a, "other", 0), ERR_OK));
	cr_expect(eq(int, move(OWNER, b, "open", a, "open", 0), ERR_OK));
	cr_expect(eq(int, move(0, a, "other", b, "other", 0), ERR_OK));
	cache_forget(far.cache, open, 1);
	cache_forget(far.cache, closed, 1);
	cache_forget(far.cache, b, 1);
	cache_forget(far.cache, a, 1);
	cache_forget(far.cache, top, 1);
}

/* ---- Changes that only the sandbox can decide, and local changes meanwhile ---- */

static void setup_silent(void)
{
	distant_start(&far, false);
}

TestSuite(decide_silent, .init = setup_silent, .fini = teardown, .timeout = 300);

static void *move_dir(void *context)
{
	struct inode *root = cache_root(far.cache);

	(void)context;
	cache_rename(far.cache, NULL, root, "d", root, "e", 0, NULL);
	return NULL;
}

static struct inode *make_in(const char *dir, const char *name)
{
	const struct create_args mkdir = { .op = CHANGE_MKDIR, .mode = 0755 };
	const struct create_args create = { .op = CHANGE_CREATE, .mode = 0644 };
	struct cache_entry above, entry;

	cr_assert(eq(int,
		cache_make(far.cache, NULL, cache_root(far.cache), dir, &mkdir, &above, NULL),
		ERR_OK));
	cr_assert(eq(int, cache_make(far.cache, NULL, above.inode, name, &create, &entry, NULL),
		ERR_OK));
	cr_assert(eq(int, cache_open_made(far.cache, NULL, &entry, O_RDWR, NULL), ERR_OK));
	cache_forget(far.cache, above.inode, 1);
	return entry.inode;
}

/* The writer cannot wait, so it tries again when the move is over. */
Test(decide_silent, what_is_written_while_a_directory_moves_arrives)
{
	struct inode *i = make_in("d", "f");
	struct cancel thrown;
	struct call hasty = { .cancel = &thrown };
	pthread_t mover;

	cr_assert(eq(int, cancel_init(&thrown, NULL), ERR_OK));
	cancel_throw(&thrown);
	unsigned applies = distant_applies(&far);

	distant_hold_applies(&far, true);
	cr_assert(eq(int, pthread_create(&mover, NULL, move_dir, NULL), 0));
	distant_await_applies(&far, applies + 1);
	enum err kind = cache_write(far.cache, &hasty, i, 0, "hello", 5, 0, NULL);

	distant_hold_applies(&far, false);
	pthread_join(mover, NULL);
	if (kind == ERR_INTERRUPTED)
		distant_write(&far, i, 0, "hello");
	cr_expect(eq(int, cache_flush(far.cache, NULL, i, NULL), ERR_OK));
	AUTO_FREE char *text = distant_text(&far, "e/f");

	cr_expect(eq(str, text, "hello"));
	distant_close(&far, i);
	cancel_release(&thrown);
}

/* ---- The names that an fsync covers ---- */

struct syncing {
	struct inode *i;
	enum err kind;
};

/* Whether a call waits for pending changes. */
static bool is_awaited(void)
{
	struct writeback *p = far.cache->writeback;

	pthread_mutex_lock(&p->lock);
	bool is = p->waiting;

	pthread_mutex_unlock(&p->lock);
	return is;
}

static void *sync_file(void *context)
{
	struct syncing *s = context;

	s->kind = cache_fsync(far.cache, NULL, s->i, NULL);
	return NULL;
}

/* The file is in the sandbox already by its first name, which is in the root. */
Test(decide, an_fsync_waits_for_the_directory_of_each_name_of_the_file)
{
	struct inode *root = cache_root(far.cache), *i = make_in("d", "f");
	struct syncing syncing = { .i = i };
	struct cache_entry link;
	pthread_t syncer;

	cr_assert(eq(int, cache_link(far.cache, NULL, i, root, "other", &link, NULL), ERR_OK));
	cr_assert(eq(int, sync_all(), ERR_OK));
	distant_hold_applies(&far, true);
	unsigned before = distant_applies(&far);

	cr_assert(eq(int, cache_rename(far.cache, NULL, root, "d", root, "e", 0, NULL), ERR_OK));
	distant_await_applies(&far, before + 1);
	cr_assert(eq(int, pthread_create(&syncer, NULL, sync_file, &syncing), 0));
	/* An fsync that does not wait for the rename sends a request of its own. */
	int64_t end_ms = monotonic_ms() + 60000;

	while (distant_applies(&far) == before + 1 && !is_awaited()) {
		cr_assert(lt(i64, monotonic_ms(), end_ms), "it does neither");
		usleep(1000);
	}
	cr_expect(eq(uint, distant_applies(&far), before + 1), "it did not wait");
	distant_hold_applies(&far, false);
	pthread_join(syncer, NULL);
	cr_expect(eq(int, syncing.kind, ERR_OK));
	cr_expect(eq(int, faccessat(far.scratch.fd, "e/f", F_OK, 0), 0));
	cache_forget(far.cache, link.inode, 1);
	distant_close(&far, i);
}

/* ---- An answer that is lost ---- */

/* All changes up to end_batch_to_lose() are one batch, whose first answer is lost. */
static void begin_batch_to_lose(void)
{
	far.cache->writeback->pause_ms = 5;
	distant_hold_applies(&far, true);
	distant_close(&far, distant_make(&far, "before"));
	distant_await_applies(&far, 1);
}

static void end_batch_to_lose(void)
{
	far.lose_every = 2;
	distant_hold_applies(&far, false);
	cr_assert(eq(int, sync_all(), ERR_OK));
}

static void expect_arrives(struct inode *i, const char *text, const char *name)
{
	distant_write(&far, i, 0, text);
	cr_expect(eq(int, sync_all(), ERR_OK));
	AUTO_FREE char *there = distant_text(&far, name);

	cr_expect(eq(str, there, (char *)text));
	distant_close(&far, i);
}

Test(decide, a_file_whose_name_another_one_has_by_now_stays_itself_where_an_answer_was_lost)
{
	struct inode *root = cache_root(far.cache), *one, *two;

	begin_batch_to_lose();
	one = distant_make(&far, "f");
	cr_assert(eq(int, cache_rename(far.cache, NULL, root, "f", root, "g", 0, NULL), ERR_OK));
	two = distant_make(&far, "f");
	end_batch_to_lose();
	expect_arrives(one, "one", "g");
	expect_arrives(two, "two", "f");
}

Test(decide, a_file_that_moved_with_its_directory_stays_itself_where_an_answer_was_lost)
{
	struct inode *one, *two;

	begin_batch_to_lose();
	one = make_in("d", "f");
	move_dir(NULL);
	two = make_in("d", "f");
	end_batch_to_lose();
	expect_arrives(one, "one", "e/f");
	expect_arrives(two, "two", "d/f");
}

Test(decide, a_file_that_was_replaced_stays_itself_where_an_answer_was_lost)
{
	struct inode *root = cache_root(far.cache), *one, *two;

	begin_batch_to_lose();
	one = distant_make(&far, "f");
	two = distant_make(&far, "g");
	cr_assert(eq(int, cache_rename(far.cache, NULL, root, "g", root, "f", 0, NULL), ERR_OK));
	end_batch_to_lose();
	distant_write(&far, one, 0, "one");
	expect_arrives(two, "two", "f");
	cr_expect(eq(int, sync_all(), ERR_OK));
	cr_expect(eq(u64, distant_size(&far, one), 3));
	distant_close(&far, one);
}

/* ---- Changes by others during an outage ---- */

/* Writes f in the mount, while a change of another file is on its way. */
static void write_f(void)
{
	struct inode *f = distant_open(&far, "f");

	distant_write(&far, f, 0, "ours");
	distant_close(&far, f);
}

static void remove_f(void)
{
	struct inode *root = cache_root(far.cache);

	cr_assert(eq(int, cache_unlink(far.cache, NULL, root, "f", NULL), ERR_OK));
}

static void replace_f(void)
{
	struct inode *root = cache_root(far.cache), *new = distant_make(&far, "new");

	distant_write(&far, new, 0, "ours, too");
	distant_close(&far, new);
	cr_assert(eq(int, cache_rename(far.cache, NULL, root, "new", root, "f", 0, NULL), ERR_OK));
}

/* The mount knows f, and no handle of f is open. */
static void make_known(void)
{
	struct inode *f = distant_make(&far, "f");

	distant_write(&far, f, 0, "before");
	cr_assert(eq(int, sync_all(), ERR_OK));
	distant_await_deciding(&far);
	mtime_of(f);
	distant_close(&far, f);
}

/*
 * Changes after this call are queued behind the mode of `other`. Returns the number of the attempt
 * that is held.
 */
static unsigned hold_queue(struct inode *other)
{
	const struct change mode = { .op = CHANGE_SETATTR, .set = SET_MODE, .mode = 0600 };
	unsigned number = distant_applies(&far) + 1;

	far.cache->writeback->pause_ms = 10;
	distant_hold_applies(&far, true);
	cr_assert(eq(int, cache_setattr(far.cache, NULL, other, &mode, false, NULL), ERR_OK));
	distant_await_applies(&far, number);
	distant_gather_for(&far, AN_HOUR_MS);
	return number;
}

/* The mode is set and its answer lost; nothing else has left. */
static void lose_answer(unsigned number)
{
	far.lose_answers = true;
	distant_pass_apply(&far, number);
	distant_await_applies(&far, number + 1);
	far.lose_answers = false;
}

/* The mode is answered; the queue leaves, in vain, and leaves again. */
static void lose_queue(unsigned number)
{
	uint64_t answers = distant_answers(&far);

	distant_pass_apply(&far, number);
	distant_await_answers(&far, answers + 1);
	distant_gather_for(&far, WRITEBACK_WAIT_MS);
	distant_await_applies(&far, number + 1);
	distant_time_out_apply(&far, number + 1);
	distant_await_applies(&far, number + 2);
}

/* The text that others write to f in the end is a conflict with the steps, and stays. */
static void play_outage(void (*lose)(unsigned number), void (*const *steps)(void))
{
	struct inode *other = distant_make(&far, "other");

	make_known();
	unsigned number = hold_queue(other);

	while (*steps)
		(*steps++)();
	lose(number);
	scratch_write_text(&far.scratch, "f", "theirs");
	distant_hold_applies(&far, false);
	cr_expect(ne(int, sync_all(), ERR_OK));
	distant_expect_text(&far, "f", "theirs");
	distant_close(&far, other);
}

#define OUTAGE(name, lose, ...)                                                                    \
	Test(decide, name)                                                                         \
	{                                                                                          \
		play_outage(lose, (void (*const[])(void)){ __VA_ARGS__, NULL });                   \
	}

OUTAGE(what_others_wrote_to_a_file_that_was_removed_stays, lose_answer, remove_f)
OUTAGE(what_others_wrote_to_a_file_that_was_written_and_removed_stays, lose_answer, write_f,
	remove_f)
OUTAGE(what_others_wrote_between_two_attempts_of_a_write_and_a_removal_stays, lose_queue, write_f,
	remove_f)
OUTAGE(what_others_wrote_between_two_attempts_of_a_write_and_a_replacement_stays, lose_queue,
	write_f, replace_f)

Test(decide, what_others_wrote_to_a_file_that_was_written_and_replaced_stays)
{
	play_outage(lose_answer, (void (*const[])(void)){ write_f, replace_f, NULL });
	distant_expect_text(&far, "new", "ours, too");
}
