/* A process that kills itself at each place of journal.h where it can matter: make FAULTS=1. */
#ifdef FAULT_POINTS

#include "tests/cache/journaled.h"

#include "providers/base/cleanup.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <signal.h>
#include <sys/wait.h>

static struct journaled j;

static void setup(void)
{
	journaled_setup(&j, 0);
}

static void teardown(void)
{
	journaled_teardown(&j);
}

TestSuite(journal_faults, .init = setup, .fini = teardown, .timeout = 300);

static void use_until_killed(const char *fault)
{
	setenv("SANDBOXFS_FAULT", fault, 1);
	journaled_open(&j, 0);
	for (uint64_t n = 1; n <= 5; n++) {
		journaled_write(&j, "f", n, 100);
		journal_note_sent(j.journal, 10 + n, &n, 1, NULL);
		journal_note_done(j.journal, &n, 1, NULL);
	}
	_exit(0);
}

static void be_killed(const char *fault)
{
	int status;
	pid_t child;

	journal_close(take(j.journal));
	child = fork();
	cr_assert(child >= 0);
	if (!child)
		use_until_killed(fault);
	cr_assert(eq(int, waitpid(child, &status, 0), child));
	cr_assert(eq(int, status, SIGKILL), "%s", fault);
	journaled_open(&j, 0);
}

Test(journal_faults, acknowledged_changes_are_unsynced_and_nothing_else)
{
	static const struct {
		const char *fault, *unsynced;
		uint64_t next_number, next_sequence;
	} rows[] = {
		{ "journal.add.before:3", "", 3, 13 },
		{ "journal.add.torn:3", "", 3, 13 },
		{ "journal.add.after:3", "3:f+100\n", 4, 13 },
		{ "journal.sent:3", "3:f+100 seq 13\n", 4, 14 },
		/* The first one is of the journal's beginning, and each entry has two. */
		{ "journal.note.torn:6", "3:f+100\n", 4, 13 },
		{ "journal.note.torn:7", "3:f+100 seq 13\n", 4, 14 },
		{ "journal.done:3", "", 4, 14 },
	};

	for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
		be_killed(rows[n].fault);
		journaled_expect(&j, rows[n].unsynced);
		cr_expect(eq(u64, journal_next_sequence(j.journal), rows[n].next_sequence), "%s",
			rows[n].fault);
		uint64_t number = journaled_name(&j, CHANGE_MKDIR, "d", NULL);

		cr_expect(eq(u64, number, rows[n].next_number), "%s", rows[n].fault);
		journaled_done(&j, 1, number);
	}
}

#endif
