/* Small saves that a call waits for, while much else is pending. */
#include "cache/session/session.h"
#include "cache/write/writeback.h"
#include "cache/tree/tree.h"
#include "cache/lease/hand_out.h"
#include "cache/write/remote.h"
#include "cache/contents.h"
#include "cache/names.h"
#include "cache/metadata.h"
#include "cache/cache.h"
#include "cache/write/writeback_inside.h"
#include "providers/base/cleanup.h"
#include "tests/cache/distant.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOUTHFUL    ((size_t)VERB_DATA_MAX)
#define PATIENCE_MS 120000
/* The number of MOUTHFULs that are sent at once. */
#define FULL 7

static struct distant far;

static void setup(void)
{
	distant_start_watched(&far);
	distant_await_deciding(&far);
	distant_gather_for(&far, AN_HOUR_MS);
}

static void teardown(void)
{
	distant_hold_applies(&far, false);
	distant_stop(&far);
}

TestSuite(small_saves, .init = setup, .fini = teardown, .timeout = 300);

/* ---- Words ---- */

static bool is_there(const char *name)
{
	return !faccessat(far.scratch.fd, name, F_OK, 0);
}

static void expect_size(const char *name, uint64_t size)
{
	struct stat st;

	cr_assert(eq(int, fstatat(far.scratch.fd, name, &st, 0), 0), "%s", name);
	cr_expect(eq(i64, st.st_size, (int64_t)size), "%s", name);
}

static enum err sync_all(void)
{
	return cache_sync(far.cache, NULL, NULL);
}

static struct inode *make_in(struct inode *dir, const char *name)
{
	const struct create_args m = { .op = CHANGE_CREATE, .mode = 0644, .opens = true };
	struct cache_entry entry;

	cr_assert(eq(int, cache_make(far.cache, NULL, dir, name, &m, &entry, NULL), ERR_OK));
	cr_assert(eq(int, cache_open_made(far.cache, NULL, &entry, O_RDWR, NULL), ERR_OK));
	return entry.inode;
}

static struct inode *make(const char *name)
{
	return make_in(cache_root(far.cache), name);
}

static void make_whole(const char *name)
{
	struct inode *i = make(name);

	distant_write(&far, i, 0, name);
	distant_close(&far, i);
}

static void write_mouthfuls(struct inode *i, size_t count)
{
	AUTO_FREE char *bytes = calloc(1, MOUTHFUL);

	for (size_t n = 0; n < count; n++)
		cr_assert(eq(int,
			cache_write(far.cache, NULL, i, n * MOUTHFUL, bytes, MOUTHFUL, 0, NULL),
			ERR_OK));
}

/* A new file of which all that may leave at once is on its way, and held. */
static void make_bulk(const char *name)
{
	struct inode *i = make(name);

	distant_hold_applies(&far, true);
	write_mouthfuls(i, FULL);
	distant_await_applies(&far, 1);
	distant_close(&far, i);
}

/* A small file that is synced in parallel with the test. */
struct save {
	struct inode *inode;
	const char *text;
	unsigned flags; /* the flags of cache_write() */
	/* the save is the flush of a program that closes the file, with -o close=wait */
	bool is_flush;
	pthread_t thread;
	struct error e;
	atomic_bool is_over;
};

/* Criterion's assertions are for the test's own thread. */
static void *run_save(void *context)
{
	const struct call patient = { .progress_ms = PATIENCE_MS };
	struct save *s = context;
	size_t len = strlen(s->text);

	if (cache_write(far.cache, &patient, s->inode, 0, s->text, len, s->flags, &s->e))
		;
	else if (s->is_flush)
		cache_flush(far.cache, &patient, s->inode, &s->e);
	else
		cache_fsync(far.cache, &patient, s->inode, &s->e);
	s->is_over = true;
	return NULL;
}

static void begin(struct save *s)
{
	cr_assert(eq(int, pthread_create(&s->thread, NULL, run_save, s), 0));
}

static void expect_saved(struct save *s)
{
	pthread_join(s->thread, NULL);
	cr_expect(eq(int, s->e.kind, ERR_OK), "%s", s->e.text);
	distant_close(&far, s->inode);
}

/* The save leaves as the `number`th call, which is let through while the others are held. */
static void expect_saved_by(struct save *s, unsigned number)
{
	begin(s);
	distant_await_applies(&far, number);
	distant_pass_apply(&far, number);
	expect_saved(s);
}

/*
 * The save leaves in calls from the `number`th on. Where the queue is full, the op that makes the
 * file may have left in a call of its own before the program synced the file.
 */
static void expect_saved_from(struct save *s, unsigned number)
{
	int64_t end_ms = monotonic_ms() + PATIENCE_MS;

	begin(s);
	while (!s->is_over && monotonic_ms() < end_ms) {
		if (distant_applies(&far) >= number)
			distant_pass_apply(&far, number++);
		else
			usleep(1000);
	}
	expect_saved(s);
}

/* Returns when the save waits. */
static void await_waiting(const struct save *s)
{
	struct writeback *p = far.cache->writeback;
	bool is_waiting = false;

	while (!is_waiting && !s->is_over) {
		usleep(1000);
		pthread_mutex_lock(&p->lock);
		is_waiting = p->waiting > 0;
		pthread_mutex_unlock(&p->lock);
	}
	cr_assert(is_waiting, "it is over");
}

static unsigned count_urgent(void)
{
	struct writeback *p = far.cache->writeback;
	const struct op *q;
	unsigned count = 0;

	pthread_mutex_lock(&p->lock);
	TAILQ_FOREACH(q, &p->queue, link)
	count += q->is_small_save;
	pthread_mutex_unlock(&p->lock);
	return count;
}

/* The save waits, and is over when everything else is. */
static void expect_to_wait(struct save *s)
{
	begin(s);
	await_waiting(s);
	cr_expect(zero(uint, count_urgent()));
	distant_hold_applies(&far, false);
	expect_saved(s);
}

static void let_all_through(const char *bulk)
{
	distant_hold_applies(&far, false);
	cr_assert(eq(int, sync_all(), ERR_OK));
	expect_size(bulk, FULL * MOUTHFUL);
	cr_expect(zero(u64, distant_failed(&far)));
}

/* ---- Saves that overtake ---- */

Test(small_saves, a_small_new_file_that_is_synced_does_not_wait_for_much_in_the_same_directory)
{
	make_bulk("bulk");
	expect_saved_by(&(struct save){ .inode = make("small"), .text = "saved" }, 2);
	distant_expect_text(&far, "small", "saved");
	cr_expect(not(is_there("bulk")));
	let_all_through("bulk");
	distant_expect_text(&far, "small", "saved");
}

Test(small_saves, one_save_after_another_does_not_wait_for_much)
{
	struct inode *root = cache_root(far.cache);
	struct attr attr;
	struct stat st;
	int64_t valid_ms;

	make_bulk("bulk");
	expect_saved_by(&(struct save){ .inode = make("one"), .text = "first" }, 2);
	expect_saved_by(&(struct save){ .inode = make("two"), .text = "second" }, 3);
	distant_expect_text(&far, "one", "first");
	distant_expect_text(&far, "two", "second");
	cr_expect(not(is_there("bulk")));
	cr_assert(eq(int, cache_attr(far.cache, NULL, root, &attr, &valid_ms, NULL), ERR_OK));
	let_all_through("bulk");
	cr_assert(eq(int, fstat(far.scratch.fd, &st), 0));
	cr_expect(eq(i64, st.st_mtim.tv_sec, attr.mtime.tv_sec), "the time that was shown stays");
	cr_expect(eq(i64, st.st_mtim.tv_nsec, attr.mtime.tv_nsec));
}

/* The number of pending ops that keep the time of the root. */
static unsigned count_times(void)
{
	struct writeback *p = far.cache->writeback;
	const struct op *q;
	unsigned count = 0;

	pthread_mutex_lock(&p->lock);
	TAILQ_FOREACH(q, &p->queue, link)
	count += op_keeps_time(q) && q->about.target == cache_root(far.cache);
	pthread_mutex_unlock(&p->lock);
	return count;
}

Test(small_saves, however_many_saves_there_are_in_a_directory_its_time_is_pending_once)
{
	static const char *const names[] = { "one", "two", "three", "four", "five" };
	unsigned count = sizeof names / sizeof *names;
	struct inode *root = cache_root(far.cache);
	struct attr attr;
	struct stat st;
	int64_t valid_ms;

	make_bulk("bulk");
	for (unsigned n = 0; n < count; n++)
		expect_saved_by(&(struct save){ .inode = make(names[n]), .text = "saved" }, n + 2);
	cr_expect(le(uint, count_times(), 1));
	cr_assert(eq(int, cache_attr(far.cache, NULL, root, &attr, &valid_ms, NULL), ERR_OK));
	let_all_through("bulk");
	cr_expect(zero(uint, count_times()));
	cr_assert(eq(int, fstat(far.scratch.fd, &st), 0));
	cr_expect(eq(i64, st.st_mtim.tv_sec, attr.mtime.tv_sec), "the time that was shown stays");
	cr_expect(eq(i64, st.st_mtim.tv_nsec, attr.mtime.tv_nsec));
}

Test(small_saves, a_file_that_is_written_in_place_and_synced_does_not_wait_for_much)
{
	struct inode *known = distant_make(&far, "known");

	distant_write(&far, known, 0, "before");
	cr_assert(eq(int, sync_all(), ERR_OK));
	far.applies = 0;
	make_bulk("bulk");
	expect_saved_by(&(struct save){ .inode = known, .text = "after." }, 2);
	distant_expect_text(&far, "known", "after.");
	let_all_through("bulk");
}

/* The file comes to another name then, for which the program waits as well. */
Test(small_saves, a_save_whose_name_others_took_does_not_wait_for_much)
{
	struct save s = { .text = "ours" };

	make_bulk("bulk");
	s.inode = make("small");
	begin(&s);
	distant_await_applies(&far, 2);
	scratch_write_text(&far.scratch, "small", "theirs");
	distant_pass_apply(&far, 2);
	distant_await_applies(&far, 3);
	distant_pass_apply(&far, 3);
	pthread_join(s.thread, NULL);
	cr_expect(eq(int, s.e.kind, ERR_CONFLICT), "%s", s.e.text);
	distant_close(&far, s.inode);
	distant_expect_text(&far, "small", "theirs");
	distant_expect_text(&far, "small.sandboxfs-conflict", "ours");
	cr_expect(not(is_there("bulk")));
	distant_hold_applies(&far, false);
	sync_all();
	cr_expect(eq(int, sync_all(), ERR_OK));
	expect_size("bulk", FULL * MOUTHFUL);
}

/* Two batches take what may be on its way at once, and more waits. */
Test(small_saves, a_small_save_finds_room_among_all_that_may_be_under_way)
{
	struct inode *bulk = distant_make(&far, "bulk");

	cr_assert(eq(int, sync_all(), ERR_OK));
	distant_hold_applies(&far, true);
	far.applies = 0;
	write_mouthfuls(bulk, 3 * FULL);
	distant_await_applies(&far, 2);
	expect_saved_from(&(struct save){ .inode = make("small"), .text = "saved" }, 3);
	distant_expect_text(&far, "small", "saved");
	distant_hold_applies(&far, false);
	cr_assert(eq(int, sync_all(), ERR_OK));
	expect_size("bulk", 3 * FULL * MOUTHFUL);
	distant_close(&far, bulk);
}

/* ---- Large contents have their turn ---- */

/* Returns when `count` calls in all wait for an answer, of which the save may be one. */
static void await_so_many_waiting(unsigned count)
{
	struct writeback *p = far.cache->writeback;
	int64_t end_ms = monotonic_ms() + PATIENCE_MS;
	unsigned waiting = 0;

	while (waiting < count && monotonic_ms() < end_ms) {
		usleep(1000);
		pthread_mutex_lock(&p->lock);
		waiting = p->waiting;
		pthread_mutex_unlock(&p->lock);
	}
	cr_assert(waiting >= count, "%u calls wait", waiting);
}

struct barrier {
	pthread_t thread;
	enum err kind;
	atomic_bool is_over;
};

static void *run_barrier(void *context)
{
	const struct call patient = { .progress_ms = PATIENCE_MS };
	struct barrier *b = context;

	b->kind = cache_sync(far.cache, &patient, NULL);
	b->is_over = true;
	return NULL;
}

Test(small_saves, what_a_barrier_waits_for_leaves_before_the_save_that_comes_next)
{
	struct save one, two;
	struct barrier all = { 0 };

	make_bulk("bulk");
	struct inode *more = make("more");

	write_mouthfuls(more, FULL);
	distant_close(&far, more);
	one = (struct save){ .inode = make("one"), .text = "first" };
	begin(&one);
	distant_await_applies(&far, 2);
	two = (struct save){ .inode = make("two"), .text = "second" };
	begin(&two);
	await_so_many_waiting(2);
	cr_assert(eq(int, pthread_create(&all.thread, NULL, run_barrier, &all), 0));
	await_so_many_waiting(3);
	distant_pass_apply(&far, 1);
	distant_await_applies(&far, 3);
	cr_expect(ge(sz, distant_apply_bytes(&far), FULL * MOUTHFUL));
	distant_hold_applies(&far, false);
	pthread_join(all.thread, NULL);
	cr_expect(eq(int, all.kind, ERR_OK));
	expect_saved(&one);
	expect_saved(&two);
}

/* Programs that save without end always have one save more that waits than records are free. */
Test(small_saves, what_nobody_waits_for_leaves_before_the_save_that_comes_next)
{
	struct inode *known = distant_make(&far, "known");
	struct save one, two;

	cr_assert(eq(int, sync_all(), ERR_OK));
	far.applies = 0;
	make_bulk("bulk");
	struct inode *more = make("more");

	write_mouthfuls(more, FULL);
	distant_close(&far, more);
	one = (struct save){ .inode = make("one"), .text = "first" };
	begin(&one);
	distant_await_applies(&far, 2);
	/* Contents alone might leave before the file is synced, so this write appends. */
	two = (struct save){ .inode = known, .text = "second", .flags = WRITE_APPEND };
	begin(&two);
	await_so_many_waiting(2);
	distant_pass_apply(&far, 1);
	distant_await_applies(&far, 3);
	cr_expect(ge(sz, distant_apply_bytes(&far), FULL * MOUTHFUL));
	distant_pass_apply(&far, 2);
	distant_await_applies(&far, 4);
	distant_pass_apply(&far, 4);
	expect_saved(&one);
	expect_saved(&two);
	cr_expect(not(is_there("more")));
	distant_hold_applies(&far, false);
	cr_assert(eq(int, sync_all(), ERR_OK));
	expect_size("more", FULL * MOUTHFUL);
}

/* Returns when the write to the file has left. */
static void await_sent(const struct inode *i)
{
	struct writeback *p = far.cache->writeback;
	int64_t end_ms = monotonic_ms() + PATIENCE_MS;
	const struct op *q;
	bool is_sent = false;

	while (!is_sent && monotonic_ms() < end_ms) {
		usleep(1000);
		pthread_mutex_lock(&p->lock);
		TAILQ_FOREACH(q, &p->queue, link)
		is_sent |= q->state == OP_SENT && q->change.op == CHANGE_WRITE && op_touches(q, i);
		pthread_mutex_unlock(&p->lock);
	}
	cr_assert(is_sent);
}

/* A save that grew while waiting fits into no batch of small saves. */
Test(small_saves, a_save_that_others_extend_while_it_waits_leaves_with_what_is_large)
{
	AUTO_FREE char *text = calloc(1, WRITEBACK_SMALL_MAX + 1);
	struct inode *known = distant_make(&far, "known");
	struct save one, two;

	memset(text, 'x', WRITEBACK_SMALL_MAX);
	distant_write(&far, known, 0, "before");
	cr_assert(eq(int, sync_all(), ERR_OK));
	far.applies = 0;
	make_bulk("bulk");
	one = (struct save){ .inode = make("one"), .text = "first" };
	begin(&one);
	distant_await_applies(&far, 2);
	far.cache->options.close_waits = true;
	two = (struct save){ .inode = known, .text = "after.", .is_flush = true };
	begin(&two);
	await_so_many_waiting(2);
	distant_write(&far, known, strlen("after."), text);
	distant_pass_apply(&far, 1);
	await_sent(known);
	distant_hold_applies(&far, false);
	expect_saved(&one);
	expect_saved(&two);
	cr_assert(eq(int, sync_all(), ERR_OK));
	expect_size("known", strlen("after.") + WRITEBACK_SMALL_MAX);
}

/* A program that appends to a log and syncs it until the test ends. */
struct saver {
	struct inode *inode;
	pthread_t thread;
	atomic_bool *is_over;
	enum err kind;
};

static void *run_saver(void *context)
{
	const struct call patient = { .progress_ms = PATIENCE_MS };
	struct saver *s = context;

	for (uint64_t end = 0; !*s->is_over && !s->kind; end++) {
		s->kind =
			cache_write(far.cache, &patient, s->inode, end, "+", 1, WRITE_APPEND, NULL);
		if (!s->kind)
			s->kind = cache_fsync(far.cache, &patient, s->inode, NULL);
	}
	return NULL;
}

static void begin_saver(struct saver *s, const char *name, atomic_bool *is_over)
{
	*s = (struct saver){ .inode = distant_make(&far, name), .is_over = is_over };
	cr_assert(eq(int, cache_fsync(far.cache, NULL, s->inode, NULL), ERR_OK));
}

/* Whether the barrier is over before the deadline. */
static bool comes_to_an_end(const struct barrier *b)
{
	int64_t end_ms = monotonic_ms() + PATIENCE_MS;

	while (!b->is_over && monotonic_ms() < end_ms)
		usleep(1000);
	return b->is_over;
}

Test(small_saves, programs_that_save_for_ever_do_not_keep_a_barrier_waiting)
{
	atomic_bool is_over = false;
	struct saver savers[2];
	struct barrier all = { 0 };

	begin_saver(&savers[0], "one", &is_over);
	begin_saver(&savers[1], "two", &is_over);
	cr_assert(eq(int, sync_all(), ERR_OK));
	far.applies = 0;
	/* An answer takes some time, in which the other program saves again. */
	far.late_most = UINT_MAX;
	make_bulk("bulk");
	struct inode *more = make("more");

	write_mouthfuls(more, FULL);
	distant_close(&far, more);
	for (int n = 0; n < 2; n++)
		cr_assert(
			eq(int, pthread_create(&savers[n].thread, NULL, run_saver, &savers[n]), 0));
	await_so_many_waiting(2);
	cr_assert(eq(int, pthread_create(&all.thread, NULL, run_barrier, &all), 0));
	await_so_many_waiting(3);
	distant_hold_applies(&far, false);
	bool ends = comes_to_an_end(&all);

	is_over = true;
	pthread_join(all.thread, NULL);
	cr_expect(ends);
	cr_expect(eq(int, all.kind, ERR_OK));
	for (int n = 0; n < 2; n++) {
		pthread_join(savers[n].thread, NULL);
		cr_expect(eq(int, savers[n].kind, ERR_OK));
		distant_close(&far, savers[n].inode);
	}
	expect_size("more", FULL * MOUTHFUL);
}

/* ---- Files that wait ---- */

Test(small_saves, a_file_that_is_no_small_one_waits_for_its_turn)
{
	AUTO_FREE char *text = calloc(1, WRITEBACK_SMALL_MAX + 1);
	struct inode *i;

	memset(text, 'x', WRITEBACK_SMALL_MAX);
	make_bulk("bulk");
	i = make("large");
	expect_to_wait(&(struct save){ .inode = i, .text = text });
	let_all_through("bulk");
	expect_size("large", WRITEBACK_SMALL_MAX);
}

/* The sandbox may take long for a copy, however little is sent. */
Test(small_saves, a_file_that_much_is_copied_into_waits_for_its_turn)
{
	AUTO_FREE char *text = calloc(1, WRITEBACK_SMALL_MAX + 1);
	struct inode *from = distant_make(&far, "from"), *to;
	uint64_t copied;

	memset(text, 'x', WRITEBACK_SMALL_MAX);
	distant_write(&far, from, 0, text);
	cr_assert(eq(int, sync_all(), ERR_OK));
	far.applies = 0;
	make_bulk("bulk");
	to = make("to");
	cr_assert(eq(int,
		cache_copy(far.cache, NULL, from, 0, to, 0, WRITEBACK_SMALL_MAX, &copied, NULL),
		ERR_OK));
	cr_expect(eq(u64, copied, WRITEBACK_SMALL_MAX));
	cr_expect(eq(uint, distant_applies(&far), 1), "the sandbox was not asked for it");
	expect_to_wait(&(struct save){ .inode = to, .text = "y" });
	distant_close(&far, from);
	let_all_through("bulk");
	expect_size("to", WRITEBACK_SMALL_MAX);
}

Test(small_saves, a_file_whose_name_is_still_that_of_a_large_one_waits_for_that)
{
	struct inode *root = cache_root(far.cache);

	make_bulk("name");
	cr_assert(eq(
		int, cache_rename(far.cache, NULL, root, "name", root, "bulk", 0, NULL), ERR_OK));
	expect_to_wait(&(struct save){ .inode = make("name"), .text = "another" });
	let_all_through("bulk");
	distant_expect_text(&far, "name", "another");
}

Test(small_saves, where_little_is_pending_nothing_is_urgent)
{
	make_whole("other");
	distant_hold_applies(&far, true);
	expect_to_wait(&(struct save){ .inode = make("small"), .text = "saved" });
	cr_expect(eq(uint, distant_applies(&far), 1), "they leave together");
}

/* ---- Ops that are bound to others ---- */

static const struct op *find(enum change_op op, const char *path, const struct op *after)
{
	const struct op *q;

	q = after ? TAILQ_NEXT(after, link) : TAILQ_FIRST(&far.cache->writeback->queue);
	while (q && (q->change.op != op || strcmp(op_leaves(q), path) != 0))
		q = TAILQ_NEXT(q, link);
	cr_assert(q != NULL, "%s", path);
	return q;
}

static struct inode *make_dir(const char *name)
{
	const struct create_args m = { .op = CHANGE_MKDIR, .mode = 0755 };
	struct inode *root = cache_root(far.cache);
	struct cache_entry entry;

	cr_assert(eq(int, cache_make(far.cache, NULL, root, name, &m, &entry, NULL), ERR_OK));
	return entry.inode;
}

static void set_mode(struct inode *i)
{
	const struct change mode = { .set = SET_MODE, .mode = 0700 };

	cr_assert(eq(int, cache_setattr(far.cache, NULL, i, &mode, false, NULL), ERR_OK));
}

Test(small_saves, changes_of_other_names_in_a_directory_are_not_bound_to_each_other)
{
	struct inode *root = cache_root(far.cache), *dir;

	distant_hold_applies(&far, true);
	make_whole("bulk");
	make_whole("a");
	cr_assert(eq(int, cache_rename(far.cache, NULL, root, "a", root, "b", 0, NULL), ERR_OK));
	make_whole("a");
	dir = make_dir("d");
	distant_close(&far, make_in(dir, "x"));
	set_mode(root);
	make_whole("c");
	const struct op *bulk = find(CHANGE_PLACE, "bulk", NULL);
	const struct op *a = find(CHANGE_PLACE, "a", NULL);
	const struct op *moves = find(CHANGE_RENAME, "b", NULL);
	const struct op *another = find(CHANGE_PLACE, "a", a);
	const struct op *makes_dir = find(CHANGE_MKDIR, "d", NULL);
	const struct op *below = find(CHANGE_PLACE, "d/x", NULL);
	const struct op *sets = find(CHANGE_SETATTR, "", NULL);
	const struct op *c = find(CHANGE_PLACE, "c", NULL);
	const struct {
		const struct op *before, *q;
		bool is_bound;
		const char *why;
	} rows[] = {
		{ bulk, a, false, "another name" },
		{ bulk, moves, false, "two other names" },
		{ a, moves, true, "the same file" },
		{ a, another, true, "the same name" },
		{ moves, another, true, "the name that is given away" },
		{ bulk, makes_dir, false, "the name of a directory" },
		{ makes_dir, below, true, "what makes the directory" },
		{ bulk, below, false, "another directory" },
		{ bulk, sets, true, "the mode of the directory comes after its names" },
		{ sets, c, true, "and before later ones" },
	};

	for (size_t n = 0; n < sizeof rows / sizeof *rows; n++)
		cr_expect(eq(int, op_is_bound_to(rows[n].q, rows[n].before), rows[n].is_bound),
			"%s", rows[n].why);
	struct op time = *sets;

	time.is_unasked = true;
	time.change.set = SET_MTIME;
	cr_expect(op_is_bound_to(&time, bulk), "the directory's time comes after its names");
	cr_expect(not(op_is_bound_to(c, &time)), "and another one after later ones");
	cache_forget(far.cache, dir, 1);
}

/* ---- Which answers about a directory are valid ---- */

/*
 * Gives the sandbox another user, who owns none of the directories. The time of such a directory is
 * not set behind a save: the answer to that would say more about the directory.
 */
static void count_as_of_others(bool is_of_others)
{
	struct writeback *p = far.cache->writeback;

	pthread_mutex_lock(&p->lock);
	far.cache->sandbox.identity.uid = is_of_others ? 12345 : getuid();
	pthread_mutex_unlock(&p->lock);
}

Test(small_saves, of_two_answers_of_one_moment_about_a_directory_none_is_valid)
{
	struct inode *root = cache_root(far.cache), *bulk = distant_make(&far, "bulk"), *dir;
	uint64_t answers;
	struct save save = { .text = "saved" };
	struct attr attr;
	struct stat st;
	int64_t valid_ms;

	cr_assert(eq(int, sync_all(), ERR_OK));
	answers = distant_answers(&far);
	far.applies = 0;
	far.does_first = far.changes_at_one_time = true;
	make_whole("a");
	distant_hold_applies(&far, true);
	count_as_of_others(true);
	write_mouthfuls(bulk, FULL);
	distant_await_applies(&far, 1);
	count_as_of_others(false);
	dir = make_dir("d");
	save.inode = make_in(dir, "x");
	count_as_of_others(true);
	expect_saved_by(&save, 2);
	distant_pass_apply(&far, 1);
	distant_await_answers(&far, answers + 2);
	distant_hold_applies(&far, false);
	cr_assert(eq(int, cache_attr(far.cache, NULL, root, &attr, &valid_ms, NULL), ERR_OK));
	cr_assert(eq(int, fstat(far.scratch.fd, &st), 0));
	cr_expect(eq(u64, attr.nlink, st.st_nlink));
	count_as_of_others(false);
	cache_forget(far.cache, dir, 1);
	distant_close(&far, bulk);
	cr_expect(eq(int, sync_all(), ERR_OK));
}

/* ---- A mount that is cut off ---- */

static void setup_left(void)
{
	distant_start_watched(&far);
	distant_keep_journal(&far);
	scratch_write_text(&far.scratch, "log", "1");
	distant_await_deciding(&far);
	distant_gather_for(&far, AN_HOUR_MS);
}

TestSuite(small_saves_left, .init = setup_left, .fini = teardown, .timeout = 300);

/* The save and the bulk are on their way, and the next mount sends the ops that were left. */
static void leave_both(void)
{
	const struct call hasty = { .progress_ms = 1 };
	struct inode *log = distant_open_known(&far, "log");

	make_bulk("bulk");
	cr_assert(
		eq(int, cache_write(far.cache, NULL, log, 1, "2", 1, WRITE_APPEND, NULL), ERR_OK));
	cr_expect(ne(int, cache_fsync(far.cache, &hasty, log, NULL), ERR_OK));
	distant_await_applies(&far, 2);
	distant_break_off(&far);
	distant_hold_applies(&far, false);
	far.does_first = false;
	distant_remount(&far, NULL);
	cr_assert(eq(int, sync_all(), ERR_OK));
}

static void expect_both(void)
{
	distant_expect_text(&far, "log", "12");
	expect_size("bulk", FULL * MOUTHFUL);
	cr_expect(zero(u64, distant_failed(&far)));
}

Test(small_saves_left, a_save_and_large_contents_are_applied_by_the_next_mount)
{
	leave_both();
	expect_both();
}

Test(small_saves_left, a_save_and_large_contents_that_were_applied_are_not_applied_again)
{
	far.does_first = true;
	leave_both();
	expect_both();
}
