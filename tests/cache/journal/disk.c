/* A journal whose owner was killed, whose files were damaged, or whose disk is full. */
#include "tests/cache/journaled.h"

#include "providers/base/cleanup.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SEGMENT "segment-00000001"
#define FIRST   "state/journal/" SEGMENT

static struct journaled j;

static void setup(void)
{
	journaled_setup(&j, 0);
}

static void teardown(void)
{
	journaled_teardown(&j);
}

TestSuite(journal_disk, .init = setup, .fini = teardown, .timeout = 300);

/* A directory with this segment alone, for the journal that is opened next. */
static void leave(const void *bytes, size_t len)
{
	char state[60], path[100];

	snprintf(j.state, sizeof j.state, "left-%u", ++j.left);
	snprintf(state, sizeof state, "%s/journal", j.state);
	snprintf(path, sizeof path, "%s/" SEGMENT, state);
	snprintf(j.dir, sizeof j.dir, "%s/%s", j.scratch.path, state);
	scratch_mkdir(&j.scratch, j.state, 0700);
	scratch_mkdir(&j.scratch, state, 0700);
	scratch_write(&j.scratch, path, bytes, len);
}

static size_t set_aside(void)
{
	return journaled_count(&j, j.state, "journal.unreadable-");
}

/* ---- Torn ---- */

struct state {
	uint64_t size; /* the size of the file */
	const char *unsynced;
};

static const char *unsynced_at(const struct state *states, size_t count, size_t size)
{
	const char *unsynced = "";

	for (size_t n = 0; n < count && states[n].size <= size; n++)
		unsynced = states[n].unsynced;
	return unsynced;
}

Test(journal_disk, a_tail_torn_at_any_byte_is_dropped)
{
	const uint64_t two = 2;
	struct state states[5] = { { journaled_size(&j), "" } };
	size_t len;

	journaled_name(&j, CHANGE_MKDIR, "d", NULL);
	states[1] = (struct state){ journaled_size(&j), "1:d\n" };
	journaled_write(&j, "d/f", 0, 40);
	states[2] = (struct state){ journaled_size(&j), "1:d\n2:d/f+40\n" };
	journal_note_sent(j.journal, 9, &two, 1, NULL);
	states[3] = (struct state){ journaled_size(&j), "1:d\n2:d/f+40 seq 9\n" };
	journal_note_done(j.journal, &two, 1, NULL);
	states[4] = (struct state){ journaled_size(&j), "1:d\n" };
	journal_close(take(j.journal));
	AUTO_FREE char *whole = scratch_read(&j.scratch, FIRST, &len);

	cr_assert(eq(sz, len, states[4].size));
	for (size_t cut = 0; cut <= len; cut++) {
		leave(whole, cut);
		journaled_open(&j, 0);
		journaled_expect(&j, unsynced_at(states, 5, cut));
		uint64_t number = journaled_name(&j, CHANGE_MKDIR, "more", NULL);

		journaled_reopen(&j);
		cr_expect(eq(u64, journaled_name(&j, CHANGE_MKDIR, "more", NULL), number + 1));
		cr_expect(eq(sz, set_aside(), 0), "cut to %zu", cut);
		journal_close(take(j.journal));
	}
}

/* Adds without end; counts in `kept` the entries that the journal has accepted. */
static void add_until_killed(_Atomic uint64_t *kept)
{
	for (uint64_t n = 0;; n++) {
		journaled_write(&j, "f", n, 3000);
		atomic_store(kept, n + 1);
	}
}

static void kill_after(uint64_t enough, _Atomic uint64_t *kept)
{
	pid_t child = fork();

	cr_assert(child >= 0);
	if (!child) {
		journaled_open(&j, 0);
		add_until_killed(kept);
	}
	while (atomic_load(kept) < enough)
		usleep(1000);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

Test(journal_disk, entries_acknowledged_to_a_killed_process_are_kept)
{
	_Atomic uint64_t *kept =
		mmap(NULL, sizeof *kept, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	cr_assert(kept != MAP_FAILED);
	for (uint64_t round = 1; round <= 20; round++) {
		journal_close(take(j.journal));
		atomic_store(kept, 0);
		kill_after(11 * round, kept);
		journaled_open(&j, 0);
		cr_expect(journaled_unsynced(&j) >= atomic_load(kept), "round %d", (int)round);
		cr_expect(journaled_unsynced(&j) <= atomic_load(kept) + 1, "round %d", (int)round);
		journaled_done(&j, 1, journaled_unsynced(&j));
	}
	cr_expect(eq(sz, set_aside(), 0));
	munmap(kept, sizeof *kept);
}

Test(journal_disk, zeros_that_a_loss_of_power_left_are_dropped)
{
	static const char zeros[5000];
	size_t len;

	journaled_name(&j, CHANGE_MKDIR, "d", NULL);
	journal_close(take(j.journal));
	AUTO_FREE char *whole = scratch_read(&j.scratch, FIRST, &len);
	AUTO_BUF struct buf bytes = BUF_INIT(MIB);

	buf_add(&bytes, whole, len);
	buf_add(&bytes, zeros, sizeof zeros);
	leave(bytes.bytes, bytes.len);
	journaled_open(&j, 0);
	journaled_expect(&j, "1:d\n");
	cr_expect(eq(sz, set_aside(), 0));
}

/* ---- Damaged ---- */

/* Whether a changed byte of the file is noticed: at once, or when the data is read. */
static bool is_noticed(const struct journal_extent *where)
{
	if (set_aside())
		return !journaled_unsynced(&j);
	journaled_expect(&j, "1:d\n2:d/f+40\n");
	return !journaled_reads(&j, where, 0, 0);
}

Test(journal_disk, a_bit_that_is_wrong_anywhere_is_noticed_and_nothing_is_deleted)
{
	size_t len;

	journaled_name(&j, CHANGE_MKDIR, "d", NULL);
	struct journal_extent where = journaled_write(&j, "d/f", 0, 40);

	journal_close(take(j.journal));
	AUTO_FREE char *whole = scratch_read(&j.scratch, FIRST, &len);

	cr_assert(freopen("/dev/null", "w", stderr) != NULL);
	for (size_t at = 0; at < len; at++) {
		whole[at] ^= 1 << at % 8;
		leave(whole, len);
		journaled_open(&j, 0);
		cr_expect(is_noticed(&where), "byte %zu of %zu", at, len);
		journal_close(take(j.journal));
		cr_expect(eq(sz, journaled_count(&j, j.state, "journal"), 1), "byte %zu", at);
		whole[at] ^= 1 << at % 8;
	}
}

/* Cuts bytes off a segment's end. */
static void cut(const char *segment, off_t len)
{
	int fd = openat(j.scratch.fd, segment, O_WRONLY | O_CLOEXEC);
	struct stat st;

	cr_assert(fd >= 0 && !fstat(fd, &st) && !ftruncate(fd, st.st_size - len));
	close(fd);
}

Test(journal_disk, a_gap_is_noticed)
{
	for (uint64_t n = 0; n < 30; n++)
		journaled_write(&j, "f", n, MIB);
	cr_assert(eq(sz, journaled_count(&j, "state/journal", "segment-"), 2));
	journal_close(take(j.journal));
	cut(FIRST, 1);
	journaled_open(&j, 0);
	cr_expect(eq(u64, journaled_unsynced(&j), 0));
	cr_expect(eq(sz, set_aside(), 1));
	journaled_name(&j, CHANGE_MKDIR, "d", NULL);
	journaled_reopen(&j);
	journaled_expect(&j, "1:d\n");
}

/* ---- Segments ---- */

Test(journal_disk, segments_go_when_all_in_them_is_done_whatever_their_order)
{
	journal_close(take(j.journal));
	journaled_open(&j, 4 * MIB);
	for (uint64_t n = 0; n < 100; n++)
		journaled_write(&j, "f", n, 30 * KIB);
	cr_assert(eq(sz, journaled_count(&j, "state/journal", "segment-"), 50));
	journaled_done(&j, 51, 100);
	cr_expect(eq(sz, journaled_count(&j, "state/journal", "segment-"), 26));
	journaled_done(&j, 2, 50);
	cr_expect(eq(sz, journaled_count(&j, "state/journal", "segment-"), 2));
	cr_expect(journaled_size(&j) < 200 * KIB);
	journaled_reopen(&j);
	journaled_expect(&j, "1:f+30720\n");
}

Test(journal_disk, sequence_numbers_outlive_the_segments_they_were_recorded_in)
{
	const uint64_t numbers[] = { 1, 2, 3 };

	journal_close(take(j.journal));
	journaled_open(&j, 4 * MIB);
	for (uint64_t n = 0; n < 5; n++)
		journaled_write(&j, "f", n, 30 * KIB);
	cr_assert(eq(int, journal_note_sent(j.journal, 70, numbers, 3, NULL), ERR_OK));
	journaled_done(&j, 1, 4);
	cr_assert(eq(sz, journaled_count(&j, "state/journal", "segment-"), 1));
	cr_expect(eq(u64, journal_next_sequence(j.journal), 73));
	journaled_reopen(&j);
	cr_expect(eq(u64, journal_next_sequence(j.journal), 73));
	journaled_expect(&j, "5:f+30720\n");
}

Test(journal_disk, entries_of_one_change_may_be_in_two_segments)
{
	uint64_t numbers[5] = { 1 };

	journal_close(take(j.journal));
	journaled_open(&j, 4 * MIB);
	for (uint64_t n = 0; n < 5; n++) {
		journaled_write(&j, "f", n, 30 * KIB);
		numbers[n] = (n + 1) | (n % 2 ? JOURNAL_SAME : 0);
	}
	cr_assert(lt(sz, 1, journaled_count(&j, "state/journal", "segment-")));
	cr_expect(journal_are_together(j.journal, 1, 2));
	cr_expect(not(journal_are_together(j.journal, 1, 5)));
	cr_assert(eq(int, journal_note_sent(j.journal, 70, numbers, 5, NULL), ERR_OK));
	journaled_reopen(&j);
	cr_expect(eq(u64, journal_next_sequence(j.journal), 73));
	journaled_expect(&j,
		"1:f+30720 seq 70\n2:f+30720 seq 70\n3:f+30720 seq 71\n4:f+30720 seq 71\n"
		"5:f+30720 seq 72\n");
}

/* ---- Full ---- */

Test(journal_disk, what_is_more_than_it_may_take_is_refused_until_something_is_done)
{
	struct journal_extent where;
	struct error e = { 0 };
	uint64_t number = 0;

	journal_close(take(j.journal));
	journaled_open(&j, MIB);
	for (int round = 0; round < 50; round++) {
		uint64_t first = number + 1;

		for (int n = 0; n < 3; n++)
			cr_assert(not(
				journaled_try_write(&j, "f", 0, 300 * KIB, &number, &where, &e)));
		cr_assert(eq(int, journaled_try_write(&j, "f", 0, 300 * KIB, &number, &where, &e),
			ERR_NO_SPACE));
		journaled_done(&j, first, number);
	}
	cr_expect(strstr(e.text, j.dir) && strstr(e.text, "journal_size="), "%s", e.text);
	cr_expect(eq(u64, number, 150));
}

Test(journal_disk, a_small_segment_that_is_done_makes_room_for_what_would_fit_behind_it)
{
	struct journal_extent where;
	uint64_t number;

	journal_close(take(j.journal));
	journaled_open(&j, MIB);
	for (uint64_t n = 0; n < 3; n++)
		journaled_write(&j, "f", n, 300 * KIB);
	journaled_write(&j, "f", 3, 90 * KIB);
	journaled_write(&j, "f", 4, 20 * KIB);
	journaled_done(&j, 5, 5);
	cr_expect(
		eq(int, journaled_try_write(&j, "f", 5, 25 * KIB, &number, &where, NULL), ERR_OK));
}

static void limit_files(rlim_t size)
{
	struct rlimit limit;

	cr_assert(not(getrlimit(RLIMIT_FSIZE, &limit)));
	limit.rlim_cur = size;
	cr_assert(not(setrlimit(RLIMIT_FSIZE, &limit)));
}

Test(journal_disk, what_the_disk_does_not_take_leaves_nothing_and_notes_still_go)
{
	struct journal_extent first = journaled_write(&j, "f", 1, 100 * KIB), where;
	struct error e = { 0 };
	uint64_t number;

	signal(SIGXFSZ, SIG_IGN);
	limit_files(150 * KIB);
	cr_expect(eq(int, journaled_try_write(&j, "f", 2, 100 * KIB, &number, &where, &e),
		ERR_NO_SPACE));
	cr_expect(strstr(e.text, j.dir) && strstr(e.text, "journal=DIR"), "%s", e.text);
	cr_expect(eq(u64, journaled_name(&j, CHANGE_MKDIR, "d", NULL), 2));
	journaled_done(&j, 2, 2);
	journaled_reopen(&j);
	journaled_expect(&j, "1:f+102400\n");
	cr_expect(journaled_reads(&j, &first, 1, 0));
	limit_files(RLIM_INFINITY);
}

/* This holds where the file system can allocate room in advance. */
Test(journal_disk, each_pending_entry_has_room_on_the_disk_for_the_notes_about_it)
{
	const uint64_t entries = 4000;
	AUTO_CLOSE int fd = openat(j.scratch.fd, FIRST, O_RDWR | O_CLOEXEC);
	struct stat st;

	cr_assert(fd >= 0);
	for (uint64_t n = 0; n < entries; n++)
		journaled_name(&j, CHANGE_MKDIR, "d", NULL);
	cr_assert(not(fstat(fd, &st)));
	if (!fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, st.st_size))
		cr_expect(ge(
			u64, (uint64_t)st.st_blocks * 512, (uint64_t)st.st_size + entries * 256));
}

Test(journal_disk, what_is_done_makes_room_on_a_full_disk)
{
	struct journal_extent where;
	uint64_t number;

	signal(SIGXFSZ, SIG_IGN);
	limit_files(150 * KIB);
	for (uint64_t n = 1; n <= 10; n++) {
		cr_assert(eq(int, journaled_try_write(&j, "f", n, 100 * KIB, &number, &where, NULL),
			ERR_OK));
		cr_expect(eq(u64, number, n));
		journaled_done(&j, n, n);
	}
	limit_files(RLIM_INFINITY);
	cr_expect(journaled_size(&j) < 200 * KIB);
	cr_expect(eq(sz, journaled_count(&j, "state/journal", "segment-"), 1));
}

/* ---- The owner ---- */

Test(journal_disk, a_journal_has_one_owner_which_is_named)
{
	struct journal_options other = { .dir = j.dir, .mount = "/mnt/two" };
	struct journal *second = NULL;
	struct error e = { 0 };
	char pid[40];

	cr_assert(eq(int, journal_open(&second, &other, &e), ERR_CONFLICT));
	snprintf(pid, sizeof pid, "process %ld,", (long)getpid());
	cr_expect(strstr(e.text, pid) && strstr(e.text, "/mnt/one"), "%s", e.text);
	journal_close(take(j.journal));
	cr_expect(eq(int, journal_open(&second, &other, &e), ERR_OK));
	journal_close(second);
}

/* Another process that has the journal until it is made to end. */
static pid_t start_owner(const char *mount, int *until)
{
	struct journal_options options = { .dir = j.dir, .mount = mount };
	struct journal *journal = NULL;
	int ready[2], ends[2];
	char byte;

	cr_assert(not(pipe(ready) || pipe(ends)));
	pid_t owner = fork();

	if (!owner) {
		close(ends[1]);
		if (journal_open(&journal, &options, NULL) || write(ready[1], "x", 1) != 1)
			_exit(1);
		(void)!read(ends[0], &byte, 1);
		journal_close(journal);
		_exit(0);
	}
	cr_assert(eq(int, read(ready[0], &byte, 1), 1));
	close(ends[0]);
	close(ready[0]);
	close(ready[1]);
	*until = ends[1];
	return owner;
}

static void *end_soon(void *until)
{
	poll(NULL, 0, 100);
	close(*(int *)until);
	return NULL;
}

Test(journal_disk, an_owner_whose_mount_is_gone_is_waited_for)
{
	const struct call call = { .progress_ms = 120000 };
	struct journal_options options = { .dir = j.dir, .call = &call };
	struct error e = { 0 };
	pthread_t ender;
	int until;

	journal_close(take(j.journal));
	pid_t owner = start_owner("/mnt/that is/gone", &until);

	cr_assert(not(pthread_create(&ender, NULL, end_soon, &until)));
	cr_expect(eq(int, journal_open(&j.journal, &options, &e), ERR_OK), "%s", e.text);
	pthread_join(ender, NULL);
	cr_expect(eq(int, waitpid(owner, NULL, 0), owner));
}

Test(journal_disk, an_owner_that_is_mounted_is_not_waited_for)
{
	const struct call call = { .progress_ms = -1 };
	struct journal_options options = { .dir = j.dir, .call = &call };
	struct error e = { 0 };
	int until;

	journal_close(take(j.journal));
	pid_t owner = start_owner("/proc", &until);

	cr_expect(eq(int, journal_open(&j.journal, &options, &e), ERR_CONFLICT));
	close(until);
	cr_expect(eq(int, waitpid(owner, NULL, 0), owner));
}

/* Opens the journal for the sandbox `source`, and closes it again. */
static enum err open_for(const char *source, struct error *e)
{
	const struct journal_options options = { .dir = j.dir, .source = source };
	enum err kind = journal_open(&j.journal, &options, e);

	journal_close(take(j.journal));
	return kind;
}

Test(journal_disk, a_journal_is_of_one_sandbox_and_opened_for_no_other)
{
	struct error e = { 0 };

	journaled_name(&j, CHANGE_MKDIR, "d", NULL);
	journal_close(take(j.journal));
	cr_expect(eq(int, open_for("e2b:one:/root", &e), ERR_OK), "one of before has no name");
	cr_expect(eq(int, open_for("e2b:one:/roo", &e), ERR_CONFLICT));
	cr_expect(eq(int, open_for("e2b:two:/root", &e), ERR_CONFLICT));
	cr_expect(strstr(e.text, "changes of e2b:one:/root: ") != NULL, "%s", e.text);
	cr_expect(eq(sz, journaled_count(&j, "state/journal", "segment-"), 1));
	cr_expect(eq(int, open_for("e2b:one:/root", &e), ERR_OK));
	cr_assert(not(unlinkat(j.scratch.fd, "state/journal/sandbox", 0)));
	cr_expect(eq(int, open_for("e2b:two:/root", &e), ERR_OK), "the way out");
	cr_expect(eq(int, open_for("e2b:one:/root", &e), ERR_CONFLICT));
	cr_expect(eq(int, open_for(NULL, &e), ERR_OK));
}

Test(journal_disk, a_name_that_was_not_written_whole_is_none)
{
	struct error e = { 0 };

	journaled_name(&j, CHANGE_MKDIR, "d", NULL);
	journal_close(take(j.journal));
	scratch_write_text(&j.scratch, "state/journal/sandbox", "e2b:o");
	cr_expect(eq(int, open_for("e2b:one:/root", &e), ERR_OK));
	cr_expect(eq(int, open_for("e2b:o", &e), ERR_CONFLICT));
}

Test(journal_disk, with_nothing_in_it_it_is_of_whoever_opens_it)
{
	struct error e = { 0 };

	journal_close(take(j.journal));
	scratch_mkdir(&j.scratch, "state/journal", 0700);
	scratch_write_text(&j.scratch, "state/journal/sandbox", "e2b:another:/root\n");
	cr_expect(eq(int, open_for("e2b:one:/root", &e), ERR_OK), "%s", e.text);
	cr_expect(eq(int, access(j.dir, F_OK), -1));
}

Test(journal_disk, a_journal_without_an_owner_can_be_read_and_discarded)
{
	char who[JOURNAL_OWNER_MAX];
	struct error e = { 0 };

	journaled_name(&j, CHANGE_MKDIR, "d", NULL);
	cr_expect(journal_has_owner(j.dir, who) && strstr(who, "mounted on /mnt/one"), "%s", who);
	cr_expect(eq(int, journal_discard(j.dir, &e), ERR_CONFLICT));
	journal_close(take(j.journal));
	cr_expect(not(journal_has_owner(j.dir, who)));
	cr_assert(eq(int, journal_open_left(&j.journal, j.dir, &e), ERR_OK), "%s", e.text);
	journaled_expect(&j, "1:d\n");
	journal_close(take(j.journal));
	cr_assert(eq(int, journal_discard(j.dir, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(int, access(j.dir, F_OK), -1));
}

Test(journal_disk, a_damaged_journal_stays_when_it_is_read)
{
	struct error e = { 0 };

	journaled_name(&j, CHANGE_MKDIR, "d", NULL);
	journal_close(take(j.journal));
	leave("no journal, but longer than a header of a record, which has 56 bytes", 68);
	cr_expect(eq(int, journal_open_left(&j.journal, j.dir, &e), ERR_PROTOCOL), "%s", e.text);
	cr_expect(strstr(e.text, SEGMENT) != NULL, "%s", e.text);
	cr_expect(eq(sz, set_aside(), 0));
	cr_expect(eq(int, journal_discard(j.dir, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(int, access(j.dir, F_OK), -1));
}

Test(journal_disk, a_directory_that_others_write_to_is_none)
{
	struct error e = { 0 };

	journal_close(take(j.journal));
	scratch_mkdir(&j.scratch, "state/journal", 0777);
	cr_assert(not(chmod(j.dir, 0777)));
	struct journal_options o = { .dir = j.dir };

	cr_expect(eq(int, journal_open(&j.journal, &o, &e), ERR_DENIED), "%s", e.text);
}
