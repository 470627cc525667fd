#include "cache/blocks/block_index.h"

#include "providers/base/cleanup.h"
#include "tests/support/scratch.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>

static struct scratch scratch;
static struct block_index *versions;

/* Opens the table as one more process would. */
static struct block_index *open_table(uint64_t bytes)
{
	struct error e = { 0 };
	struct block_index *v;
	int fd = openat(scratch.fd, "table", O_RDWR | O_CREAT, 0600);

	cr_assert(eq(int, block_index_open(&v, fd, bytes, &e), ERR_OK), "%s", e.text);
	return v;
}

static void setup(void)
{
	scratch_make(&scratch);
	versions = open_table(1024 * 1024);
}

static void teardown(void)
{
	block_index_free(versions);
	scratch_remove(&scratch);
}

TestSuite(versions, .init = setup, .fini = teardown, .timeout = 300);

static struct block_place place(int number)
{
	static const struct block_name sandbox = { "one" };

	return block_place(&sandbox, &(struct attr){ .ino = (uint64_t)number, .size = 1 }, 0);
}

static struct block_name name(int number)
{
	return block_name(&number, sizeof number);
}

static bool note(struct block_index *v, int number, int content)
{
	struct block_place at = place(number);
	struct block_name is = name(content);

	return block_index_note(v, &at, &is);
}

static bool knows(struct block_index *v, int number, int content)
{
	struct block_place at = place(number);
	struct block_name is = name(content), found;

	return block_index_find(v, &at, &found) && block_names_equal(&found, &is);
}

static int count_known(int numbers)
{
	int known = 0;

	for (int n = 0; n < numbers; n++)
		known += knows(versions, n, n);
	return known;
}

Test(versions, recorded_names_are_found_by_all)
{
	struct block_index *other = open_table(4096);

	for (int n = 0; n < 1000; n++)
		cr_assert(note(versions, n, n));
	cr_expect(eq(int, count_known(1000), 1000));
	cr_expect(knows(other, 999, 999));
	cr_expect(not(knows(other, 1000, 1000)));
	note(other, 5, 6);
	cr_expect(knows(versions, 5, 6), "the last word counts");
	block_index_free(other);
}

Test(versions, every_fact_tells_versions_apart)
{
	const struct block_name one = { "one" }, two = { "two" };
	const struct attr same = { .dev = 1, .ino = 1, .size = 1 };
	const struct attr others[] = {
		{ .dev = 2, .ino = 1, .size = 1 },
		{ .dev = 1, .ino = 2, .size = 1 },
		{ .dev = 1, .ino = 1, .size = 2 },
		{ .dev = 1, .ino = 1, .size = 1, .btime_ns = 1 },
		{ .dev = 1, .ino = 1, .size = 1, .mtime = { .tv_sec = 1 } },
		{ .dev = 1, .ino = 1, .size = 1, .mtime = { .tv_nsec = 1 } },
		{ .dev = 1, .ino = 1, .size = 1, .ctime = { .tv_sec = 1 } },
		{ .dev = 1, .ino = 1, .size = 1, .ctime = { .tv_nsec = 1 } },
	};
	struct block_place at = block_place(&one, &same, 0), other = block_place(&two, &same, 0);
	struct attr looks_else = same;

	cr_expect(memcmp(&at, &other, sizeof at) != 0);
	other = block_place(&one, &same, 1);
	cr_expect(memcmp(&at, &other, sizeof at) != 0);
	for (size_t n = 0; n < sizeof others / sizeof *others; n++) {
		other = block_place(&one, &others[n], 0);
		cr_expect(memcmp(&at, &other, sizeof at) != 0, "%zu", n);
	}
	looks_else.nlink = looks_else.uid = 7;
	looks_else.atime.tv_sec = 7;
	other = block_place(&one, &looks_else, 0);
	looks_else.btime_ns = BIRTH_PASSES | 7;
	other = block_place(&one, &looks_else, 0);
	cr_expect(not(memcmp(&at, &other, sizeof at)), "these say nothing of the contents");
}

Test(versions, a_full_table_forgets_the_oldest_that_nobody_asks_for)
{
	block_index_free(versions);
	cr_assert(not(unlinkat(scratch.fd, "table", 0)));
	versions = open_table(4096);
	note(versions, 0, 0);
	note(versions, 1, 1);
	for (int n = 2; n < 1000; n++) {
		note(versions, n, n);
		cr_assert(knows(versions, 0, 0), "%d", n);
	}
	cr_expect(not(knows(versions, 1, 1)));
	cr_expect(knows(versions, 999, 999));
	cr_expect(ge(int, count_known(1000), 100));
}

/* The number of notes that fit into one page, where each note moves others. */
enum { MOVED = 60, ROUNDS = 3000 };

static void *note_round_and_round(void *ends)
{
	for (int n = 0; !atomic_load((atomic_bool *)ends); n++)
		note(versions, n % MOVED, n % MOVED);
	return NULL;
}

Test(versions, what_is_moved_while_somebody_looks_for_it_is_found)
{
	atomic_bool ends = false;
	pthread_t thread;
	int missed = 0;

	block_index_free(versions);
	cr_assert(not(unlinkat(scratch.fd, "table", 0)));
	versions = open_table(4096);
	for (int n = 0; n < MOVED; n++)
		note(versions, n, n);
	cr_assert(not(pthread_create(&thread, NULL, note_round_and_round, &ends)));
	for (int n = 0; n < ROUNDS; n++)
		missed += MOVED - count_known(MOVED);
	atomic_store(&ends, true);
	pthread_join(thread, NULL);
	cr_expect(eq(int, missed, 0));
}

Test(versions, damage_costs_what_stood_there)
{
	char garbage[300];
	int fd = openat(scratch.fd, "table", O_RDWR);

	for (int n = 0; n < 1000; n++)
		note(versions, n, n);
	memset(garbage, 0x55, sizeof garbage);
	cr_assert(eq(int, (int)pwrite(fd, garbage, sizeof garbage, 4096), sizeof garbage));
	int known = count_known(1000);

	cr_expect(ge(int, known, 990));
	cr_expect(lt(int, known, 1000));
	for (int n = 0; n < 1000; n++)
		note(versions, n, n);
	cr_expect(eq(int, count_known(1000), 1000), "and it is of use again");
	close(fd);
}

Test(versions, a_table_that_was_cut_is_empty_and_of_use)
{
	const off_t lengths[] = { 10, 0, 5000 };
	int fd = openat(scratch.fd, "table", O_RDWR);

	for (size_t n = 0; n < sizeof lengths / sizeof *lengths; n++) {
		note(versions, 1, 1);
		cr_assert(not(ftruncate(fd, lengths[n])));
		struct block_index *other = open_table(1024 * 1024);

		cr_expect(not(knows(other, 2, 2)));
		cr_expect(note(other, 2, 2));
		cr_expect(knows(other, 2, 2));
		cr_expect(note(versions, 1, 1));
		cr_expect(knows(versions, 1, 1));
		block_index_free(other);
	}
	close(fd);
}

Test(versions, a_table_grows_only_where_that_is_worth_losing_it)
{
	note(versions, 1, 1);
	struct block_index *other = open_table(1024 * 1024 * 2);

	cr_expect(knows(other, 1, 1));
	block_index_free(other);
	other = open_table(1024 * 1024 * 64);
	for (int n = 0; n < 100000; n++)
		note(other, n, n);
	int known = 0;

	for (int n = 0; n < 100000; n++)
		known += knows(other, n, n);
	cr_expect(eq(int, known, 100000));
	block_index_free(other);
}

Test(versions, several_processes_note_at_once)
{
	enum { PROCESSES = 4, EACH = 500 };
	pid_t children[PROCESSES];

	for (int p = 0; p < PROCESSES; p++) {
		children[p] = fork();
		if (children[p])
			continue;
		struct block_index *mine = open_table(0);

		for (int n = 0; n < EACH; n++)
			note(mine, p * EACH + n, p * EACH + n);
		_exit(0);
	}
	for (int p = 0; p < PROCESSES; p++)
		cr_assert(eq(int, waitpid(children[p], NULL, 0), children[p]));
	cr_expect(ge(int, count_known(PROCESSES * EACH), PROCESSES *EACH / 2));
}
