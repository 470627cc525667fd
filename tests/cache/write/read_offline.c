#include "tests/cache/distant.h"

#include "cache/session/session.h"
#include "cache/read/background_fetch.h"
#include "cache/blocks/block_store.h"
#include "cache/write/writeback.h"
#include "cache/tree/tree.h"
#include "cache/lease/hand_out.h"
#include "cache/lease/validity.h"
#include "cache/contents.h"
#include "cache/metadata.h"
#include "cache/cache.h"
#include "cache/write/writeback_inside.h"
#include "providers/base/cleanup.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Files of which a part is changed here while the sandbox cannot be reached. */

#define SIZE_TOP ((size_t)400 * 1024)

static struct distant far;
static const struct call patient = { .progress_ms = 60000 }, hasty = { .progress_ms = 20 };
static unsigned char seen[SIZE_TOP];

/* The file as all changes that were made here leave it. */
struct model {
	unsigned char bytes[SIZE_TOP];
	size_t size;
	unsigned seed;
};

static struct model m;

static void mount_again(void)
{
	distant_remount(&far, NULL);
	far.cache->writeback->pause_ms = 10;
}

static void setup(void)
{
	distant_start_watched(&far);
	mount_again();
	distant_await_deciding(&far);
	m = (struct model){ .seed = 1 };
}

static void teardown(void)
{
	far.is_cut = false;
	distant_hold_applies(&far, false);
	distant_stop(&far);
}

TestSuite(pending_overlay, .init = setup, .fini = teardown, .timeout = 300);

/* ---- The sandbox's files ---- */

static size_t below(size_t top)
{
	return (size_t)rand_r(&m.seed) % top;
}

static void fill_model(size_t size)
{
	m.size = size;
	for (size_t n = 0; n < size; n++)
		m.bytes[n] = (unsigned char)below(256);
}

/* Others write the file. */
static void put_there(const char *name)
{
	AUTO_CLOSE int fd = openat(far.scratch.fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	cr_assert(eq(int, (int)pwrite(fd, m.bytes, m.size, 0), (int)m.size));
}

static void expect_there(const char *name)
{
	AUTO_CLOSE int fd = openat(far.scratch.fd, name, O_RDONLY);

	cr_assert(eq(int, (int)pread(fd, seen, sizeof seen, 0), (int)m.size));
	cr_expect(eq(int, memcmp(seen, m.bytes, m.size), 0));
}

/* ---- The link ---- */

/* Sets the deadline of the calls that the cache makes for itself. */
static void set_progress(const struct call *like)
{
	__atomic_store_n(&far.cache->options.progress_ms, like->progress_ms, __ATOMIC_RELAXED);
}

/*
 * The cache's own calls give up soon while the link is cut, and have time otherwise: a machine may
 * be busy.
 */
static void cut(void)
{
	far.is_cut = true;
	set_progress(&hasty);
}

static void connect_again(void)
{
	set_progress(&patient);
	far.is_cut = false;
}

/* ---- Reading ---- */

static const struct call *link_call(void)
{
	return far.is_cut ? &hasty : &patient;
}

static enum err read_at(struct inode *i, size_t at, size_t len, size_t *got)
{
	memset(seen, 0xa5, len);
	return cache_read(far.cache, far.is_cut ? &hasty : &patient, i, at, seen, len, got, NULL);
}

static size_t wanted_at(size_t at, size_t len)
{
	size_t rest = at < m.size ? m.size - at : 0;

	return len < rest ? len : rest;
}

static void expect_seen(size_t at, size_t len, size_t got)
{
	cr_assert(eq(sz, got, wanted_at(at, len)));
	cr_assert(eq(int, memcmp(seen, m.bytes + at, got), 0));
}

/* Expects the file as the model has it, whole and in odd pieces. */
static void expect_read(struct inode *i)
{
	size_t got;

	cr_assert(eq(int, read_at(i, 0, SIZE_TOP, &got), ERR_OK));
	expect_seen(0, SIZE_TOP, got);
	cr_assert(eq(int, read_at(i, m.size / 3, 1000, &got), ERR_OK));
	expect_seen(m.size / 3, 1000, got);
	cr_assert(eq(int, read_at(i, SIZE_TOP - 1, 1, &got), ERR_OK));
	cr_expect(eq(u64, distant_size(&far, i), m.size));
}

static void expect_unread(struct inode *i, size_t at, size_t len)
{
	size_t got;

	cr_expect(ne(int, cache_read(far.cache, &hasty, i, at, seen, len, &got, NULL), ERR_OK));
}

/* Contents that changed a moment ago are not stored. */
static void pass_tick(void)
{
	usleep(30000);
}

/* Reads the file. Returns whether all of it is stored here afterwards. */
static bool read_whole(struct inode *i)
{
	struct attr version;
	size_t got;

	pass_tick();
	cr_assert(eq(u64, distant_size(&far, i), m.size));
	cr_assert(eq(int, read_at(i, 0, SIZE_TOP, &got), ERR_OK));
	expect_seen(0, SIZE_TOP, got);
	return tree_version(far.cache->tree, i, monotonic_ms(), &version) &&
		stored_whole(far.cache->block_store, &version);
}

/* Opens a file that existed before the mount. The event of a younger file may arrive late. */
static struct inode *open_foreign(const char *name)
{
	mount_again();
	pass_tick();
	if (far.tells_changes)
		distant_await_deciding(&far);
	return distant_open(&far, name);
}

/* A file of the sandbox's own that was read. */
static struct inode *known(const char *name, size_t size)
{
	fill_model(size);
	put_there(name);
	struct inode *i = open_foreign(name);

	cr_assert(read_whole(i));
	return i;
}

/* ---- Changing ---- */

static void resize_model(size_t size)
{
	if (size > m.size)
		memset(m.bytes + m.size, 0, size - m.size);
	m.size = size;
}

static void write_as(struct inode *i, unsigned flags, size_t at, size_t len)
{
	if (at > m.size)
		resize_model(at);
	for (size_t n = 0; n < len; n++)
		m.bytes[at + n] = (unsigned char)below(256);
	m.size = at + len > m.size ? at + len : m.size;
	cr_assert(
		eq(int, cache_write(far.cache, link_call(), i, at, m.bytes + at, len, flags, NULL),
			ERR_OK));
}

static void write_both(struct inode *i, size_t at, size_t len)
{
	write_as(i, 0, at, len);
}

static void append_both(struct inode *i, size_t len)
{
	write_as(i, WRITE_APPEND, m.size, len);
}

static void set_mode(struct inode *i, unsigned mode)
{
	const struct change what = { .set = SET_MODE, .mode = mode };

	cr_assert(eq(int, cache_setattr(far.cache, link_call(), i, &what, false, NULL), ERR_OK));
}

static void resize_both(struct inode *i, size_t size)
{
	const struct change what = { .set = SET_SIZE, .size = size };

	cr_assert(eq(int, cache_setattr(far.cache, link_call(), i, &what, true, NULL), ERR_OK));
	resize_model(size);
}

/* ---- Trouble ---- */

static void await_trouble(void)
{
	while (!writeback_trouble(far.cache->writeback, NULL))
		usleep(1000);
}

static void mend(void)
{
	connect_again();
	cr_assert(eq(int, cache_sync(far.cache, &patient, NULL), ERR_OK));
}

static uint64_t events(void)
{
	return cache_stats(far.cache)->counters[STATS_EVENTS];
}

/* ---- Reads that succeed offline ---- */

struct step {
	enum { IS_OVER, IS_WRITTEN, IS_APPENDED_TO, IS_RESIZED, HAS_MODE, IS_READ } file;
	size_t at, amount; /* bytes; or the mode */
};

static void take_step(struct inode *i, const struct step *step)
{
	switch (step->file) {
	case IS_OVER: return;
	case IS_WRITTEN: write_both(i, step->at, step->amount); return;
	case IS_APPENDED_TO: append_both(i, step->amount); return;
	case IS_RESIZED: resize_both(i, step->amount); return;
	case HAS_MODE: set_mode(i, (unsigned)step->amount); return;
	case IS_READ: await_trouble(); expect_read(i);
	}
}

/* Takes the steps in an outage. After the outage the sandbox has the file as it was read. */
static void play(size_t size, const struct step *steps)
{
	struct inode *i = known("f", size);

	cut();
	while (steps->file)
		take_step(i, steps++);
	mend();
	expect_there("f");
	expect_read(i);
	distant_close(&far, i);
}

#define WRITE(at, len) ((struct step){ IS_WRITTEN, at, len })
#define APPEND(len)    ((struct step){ IS_APPENDED_TO, 0, len })
#define RESIZE(size)   ((struct step){ IS_RESIZED, 0, size })
#define CHMOD(mode)    ((struct step){ HAS_MODE, 0, mode })
#define READ           ((struct step){ IS_READ, 0, 0 })
#define CASE(name, size, ...)                                                                      \
	Test(pending_overlay, name)                                                                \
	{                                                                                          \
		play(size, (const struct step[]){ __VA_ARGS__, { IS_OVER, 0, 0 } });               \
	}

CASE(a_file_that_was_written_into_is_read, 300000, WRITE(131000, 200), WRITE(5, 3), READ,
	WRITE(131070, 4), READ)
CASE(a_file_that_was_appended_to_is_read, 200000, APPEND(10), APPEND(100000), READ)
CASE(what_was_cut_off_is_not_there_when_it_grows_again, 200000, RESIZE(1000), READ, RESIZE(150000),
	READ, WRITE(180000, 10), READ)
/* The second change of the size is made before the first one has left. */
CASE(what_was_cut_off_is_zeros_when_it_grows_at_once, 2000, RESIZE(100), RESIZE(1000), READ,
	RESIZE(50), RESIZE(3000), WRITE(2500, 10), READ)
CASE(a_file_whose_mode_alone_is_changed_is_read, 2000, CHMOD(0600), CHMOD(0640), READ)

/* ---- Reads that fail offline ---- */

/* A file of which the sandbox has more than a read of its beginning brings. */
static struct inode *half_known(const char *name)
{
	AUTO_CLOSE int fd = openat(far.scratch.fd, name, O_WRONLY | O_CREAT, 0644);
	size_t got;

	cr_assert(eq(int, ftruncate(fd, (off_t)16 * 1024 * 1024), 0));
	struct inode *i = open_foreign(name);

	cr_assert(eq(int, read_at(i, 0, BLOCK_SIZE, &got), ERR_OK));
	return i;
}

Test(pending_overlay, what_is_not_here_of_it_cannot_be_read)
{
	struct inode *i = half_known("f");
	size_t got;

	cut();
	distant_write(&far, i, 10, "x");
	await_trouble();
	cr_expect(eq(int, read_at(i, 0, BLOCK_SIZE, &got), ERR_OK));
	cr_expect(eq(int, memcmp(seen + 9, "\0x\0", 3), 0));
	expect_unread(i, 0, 2 * BLOCK_SIZE);
	expect_unread(i, (size_t)8 * 1024 * 1024, 100);
	mend();
	cr_expect(eq(int, read_at(i, (size_t)8 * 1024 * 1024, 100, &got), ERR_OK));
	distant_close(&far, i);
}

static void answer_the_first_alone(void)
{
	struct inode *i = known("f", 3000);

	distant_hold_applies(&far, true);
	unsigned arrived = distant_applies(&far);

	write_both(i, 10, 10);
	distant_await_applies(&far, arrived + 1);
	write_both(i, 15, 10);
	resize_both(i, 2900);
	distant_pass_apply(&far, arrived + 1);
	distant_await_applies(&far, arrived + 2);
	cut();
	distant_hold_applies(&far, false);
	await_trouble();
	expect_unread(i, 0, 100);
	mend();
	pass_tick();
	expect_read(i);
	expect_there("f");
	distant_close(&far, i);
}

Test(pending_overlay, what_the_sandbox_has_a_new_version_of_cannot_be_read)
{
	answer_the_first_alone();
}

Test(pending_overlay, a_new_version_cannot_be_read_where_no_change_stream_reports_it)
{
	distant_stop(&far);
	distant_start_trusting(&far);
	answer_the_first_alone();
}

Test(pending_overlay, what_others_changed_before_ours_is_not_hidden)
{
	struct inode *i = known("f", 3000);

	fill_model(2500);
	put_there("f");
	while (distant_size(&far, i) != m.size)
		usleep(1000);
	cut();
	write_both(i, 10, 10);
	await_trouble();
	expect_unread(i, 0, 100);
	mend();
	expect_read(i);
	distant_close(&far, i);
}

Test(pending_overlay, what_others_changed_since_is_not_hidden_as_far_as_it_was_reported)
{
	struct inode *i = known("f", 3000);
	uint64_t before = events();

	distant_hold_applies(&far, true);
	write_both(i, 10, 10);
	scratch_write_text(&far.scratch, "f", "theirs");
	while (events() == before)
		usleep(1000);
	cut();
	distant_hold_applies(&far, false);
	await_trouble();
	expect_unread(i, 0, 100);
	connect_again();
	cache_sync(far.cache, &patient, NULL);
	distant_close(&far, i);
}

Test(pending_overlay, after_a_command_nothing_is_read_before_somebody_answers)
{
	struct execute_request request = { .command = "true" };
	struct execute_result result;
	struct inode *i = known("f", 3000);

	cr_assert(eq(int, cache_execute(far.cache, &patient, &request, NULL, NULL, &result, NULL),
		ERR_OK));
	cut();
	write_both(i, 10, 10);
	await_trouble();
	expect_unread(i, 0, 100);
	mend();
	expect_read(i);
	distant_close(&far, i);
}

Test(pending_overlay, after_a_refusal_it_reads_as_the_sandbox_has_it)
{
	struct inode *i = known("f", 3000);
	struct model before = m;

	distant_hold_applies(&far, true);
	write_both(i, 10, 10);
	distant_refuse(&far, ERR_NO_SPACE);
	distant_hold_applies(&far, false);
	cr_expect(eq(int, cache_sync(far.cache, &patient, NULL), ERR_NO_SPACE));
	m = before;
	cr_assert(read_whole(i));
	cr_expect(eq(int, writeback_report(far.cache->writeback, i, NULL), ERR_NO_SPACE));
	cut();
	write_both(i, 20, 10);
	await_trouble();
	expect_read(i);
	mend();
	expect_there("f");
	distant_close(&far, i);
}

/* The change is still pending, so no call shows the file as it was before. */
Test(pending_overlay, what_an_earlier_mount_changed_is_waited_for)
{
	distant_keep_journal(&far);
	struct inode *i = known("f", 3000);
	struct cache_entry entry;
	int64_t absent_ms;

	cut();
	write_both(i, 10, 10);
	await_trouble();
	distant_close(&far, i);
	distant_break_off(&far);
	far.is_cut = false;
	far.hasty_ms = 10;
	far.progress_ms = hasty.progress_ms;
	distant_hold_applies(&far, true);
	mount_again();
	cr_expect(ne(int,
		cache_lookup(
			far.cache, &hasty, cache_root(far.cache), "f", &entry, &absent_ms, NULL),
		ERR_OK));
	set_progress(&patient);
	distant_hold_applies(&far, false);
	cr_assert(eq(int, cache_sync(far.cache, &patient, NULL), ERR_OK));
	i = distant_open(&far, "f");
	cr_assert(read_whole(i));
	distant_close(&far, i);
}

/* On a busy machine a call may take a while to use what was restored for it. */
Test(pending_overlay, what_is_known_in_an_outage_is_so_for_seconds)
{
	far.belief_ms = 1;
	distant_close(&far, known("f", 3000));
	cut();
	tree_validate(far.cache->tree, 0, NULL);
	int64_t begun_ms = monotonic_ms();

	cr_assert(eq(int, validity_restore(far.cache->validity, &hasty, NULL), ERR_OK));
	cr_expect(tree_is_valid(far.cache->tree, begun_ms + 4000));
	connect_again();
}

/* ---- Reads as of a local file ---- */

#define TRACES 100
#define STEPS  20

/* The number of reads that were answered although the sandbox could not be asked. */
static unsigned offline_reads, offline_failures;

static void change_somehow(struct inode *i)
{
	size_t room = SIZE_TOP - 1 - m.size, len = 1 + below(below(8) ? 3000 : 140000);

	switch (below(9)) {
	case 0: resize_both(i, below(SIZE_TOP)); break;
	case 1: resize_both(i, below(m.size + 1)); break;
	case 2: set_mode(i, below(2) ? 0600 : 0640); break;
	case 3:
	case 4:
		if (room)
			append_both(i, 1 + (len < room ? len : room - 1));
		break;
	default: write_both(i, below(SIZE_TOP - len), len);
	}
}

/* A read that succeeds returns the bytes of the model. */
static void read_somewhere(struct inode *i)
{
	size_t at = below(SIZE_TOP), len = 1 + below(SIZE_TOP - at), got;
	bool is_cut = far.is_cut;
	enum err kind = read_at(i, at, len, &got);

	if (!is_cut)
		cr_assert(eq(int, kind, ERR_OK));
	if (!kind)
		expect_seen(at, len, got);
	offline_reads += is_cut && !kind;
	offline_failures += is_cut && kind;
}

static void cut_or_mend(struct inode *i)
{
	if (far.is_cut) {
		connect_again();
		if (below(2))
			mend();
		if (below(2))
			read_whole(i);
		return;
	}
	cut();
	write_both(i, below(SIZE_TOP - 10), 10);
	await_trouble();
}

static void run_trace(struct inode *i, unsigned seed)
{
	m.seed = seed;
	for (int n = 0; n < STEPS; n++) {
		if (!below(8))
			cut_or_mend(i);
		else if (below(2))
			change_somehow(i);
		else
			read_somewhere(i);
	}
	mend();
	expect_there("f");
}

Test(pending_overlay, a_pending_file_reads_as_a_local_one_whatever_is_done_to_it, .timeout = 300)
{
	struct inode *i = known("f", 200000);

	for (unsigned n = 1; n <= TRACES; n++) {
		run_trace(i, n);
		read_whole(i);
	}
	cr_log_info("%u reads in an outage, %u in vain", offline_reads, offline_failures);
	cr_expect(lt(uint, TRACES, offline_reads));
	distant_close(&far, i);
}
