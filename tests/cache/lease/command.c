/* Invalidation in the kernel when a command has ended, under a stream of changes. */
#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/lease/hand_out.h"
#include "cache/lease/invalidate.h"
#include "cache/metadata.h"
#include "cache/cache.h"
#include "tests/cache/distant.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * FILES is more than an audit is worth; SOME is more than an audit is worth after another command.
 */
#define FILES 10100
#define SOME  1100

static struct distant far;
static struct inode *dir, *changing;

/* The notices that the kernel received, a flag for each kind. */
static struct reports {
	pthread_mutex_t lock;
	unsigned all; /* the number of notices of any kind */
	bool inode_changed, name_replaced, name_removed, name_made;
} reports = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void note(const struct inode *i, const char *name)
{
	pthread_mutex_lock(&reports.lock);
	reports.all++;
	reports.inode_changed |= !name && i == changing;
	reports.name_replaced |= name && !strcmp(name, "replaced");
	reports.name_removed |= name && !strcmp(name, "removed");
	reports.name_made |= name && !strcmp(name, "none");
	pthread_mutex_unlock(&reports.lock);
}

static void note_inode(void *context, struct inode *i, bool pages)
{
	(void)context, (void)pages;
	note(i, NULL);
}

static void note_name(void *context, struct inode *in, const char *name, bool is_gone)
{
	(void)context, (void)is_gone;
	note(in, name);
}

/* Takes everything that is outdated, as the notifier does. */
static void take_all(void *context)
{
	struct tree_outdated taken[256];
	bool has_more = true;
	size_t count;

	(void)context;
	while (has_more) {
		has_more = cache_take_outdated(far.cache, taken, 256, &count);
		for (size_t n = 0; n < count; n++) {
			note(taken[n].inode, taken[n].name);
			free(taken[n].name);
		}
	}
}

static const struct cache_observer observer = {
	.inode_changed = note_inode, .name_changed = note_name, .all_outdated = take_all
};

/* Looks up a name as the kernel does; NULL: there is none. */
static struct inode *look_up(struct inode *in, const char *name)
{
	struct cache_entry entry = { 0 };
	int64_t negative_ms;

	cache_lookup(far.cache, NULL, in, name, &entry, &negative_ms, NULL);
	return entry.inode;
}

static void look_up_all(int files)
{
	char name[16];

	for (int n = 0; n < files; n++) {
		snprintf(name, sizeof name, "f%d", n);
		cr_assert(ne(ptr, look_up(cache_root(far.cache), name), NULL));
	}
}

static void start(int files)
{
	char name[16];

	distant_start_watched(&far);
	scratch_mkdir(&far.scratch, "d", 0755);
	scratch_write_text(&far.scratch, "d/changing", "text");
	scratch_write_text(&far.scratch, "d/replaced", "text");
	scratch_write_text(&far.scratch, "d/removed", "text");
	for (int n = 0; n < files; n++) {
		snprintf(name, sizeof name, "f%d", n);
		scratch_write_text(&far.scratch, name, "text");
	}
	distant_await_deciding(&far);
	look_up_all(files);
	dir = look_up(cache_root(far.cache), "d");
	cr_assert(ne(ptr, dir, NULL));
	changing = look_up(dir, "changing");
	cr_assert(ne(ptr, changing, NULL));
	cr_assert(ne(ptr, look_up(dir, "replaced"), NULL));
	cr_assert(ne(ptr, look_up(dir, "removed"), NULL));
	cr_assert(eq(ptr, look_up(dir, "none"), NULL));
	cache_observe(far.cache, &observer);
}

static void setup(void)
{
	start(FILES);
}

static void setup_some(void)
{
	start(SOME);
}

static void teardown(void)
{
	cache_observe(far.cache, NULL);
	distant_stop(&far);
}

TestSuite(command, .init = setup, .fini = teardown, .timeout = 300);

static void run_command(void)
{
	const struct execute_request request = { .command = "true" };
	struct execute_result result;
	struct error e = { 0 };

	cr_assert(
		eq(int, cache_execute(far.cache, NULL, &request, NULL, NULL, &result, &e), ERR_OK),
		"%s", e.text);
}

Test(command, leaves_with_the_kernel_what_it_did_not_change)
{
	unsigned lists = distant_lists(&far);

	run_command();
	cr_expect(le(uint, reports.all, 10));
	cr_expect(eq(uint, distant_lists(&far), lists + 1), "one audit");
	for (int n = 0; n < 10; n++)
		look_up(cache_root(far.cache), "f0");
	cr_expect(eq(uint, distant_lists(&far), lists + 1), "the next use needs none");
}

Test(command, asks_for_nothing_after_another_one_if_no_file_was_used_between)
{
	run_command();
	unsigned lists = distant_lists(&far), before = reports.all;

	run_command();
	cr_expect(eq(uint, distant_lists(&far), lists));
	cr_expect(ge(uint, reports.all, before + FILES), "the kernel keeps nothing");
}

Test(command, takes_from_the_kernel_what_it_changed)
{
	int fd = far.scratch.fd;

	cr_assert(eq(int, fchmodat(fd, "d/changing", 0600, 0), 0));
	scratch_write_text(&far.scratch, "d/new", "new text");
	cr_assert(eq(int, renameat(fd, "d/new", fd, "d/replaced"), 0));
	cr_assert(eq(int, unlinkat(fd, "d/removed", 0), 0));
	scratch_write_text(&far.scratch, "d/none", "text");
	run_command();
	cr_expect(reports.inode_changed);
	cr_expect(reports.name_replaced);
	cr_expect(reports.name_removed);
	cr_expect(reports.name_made);
	cr_expect(le(uint, reports.all, 40));
}

/* Without the audit's answer nothing is known to be unchanged. */
Test(command, takes_all_from_the_kernel_where_the_audit_fails)
{
	far.is_cut = true;
	run_command();
	cr_expect(ge(uint, reports.all, FILES));
}

/* A check of a mount that is not used in between; every check lists once. */
Test(command, a_check_of_all_leaves_with_the_kernel_what_nobody_changed)
{
	for (unsigned round = 1; round <= 3; round++) {
		unsigned lists = distant_lists(&far), before = reports.all;

		cache_check_all(far.cache, NULL);
		cr_expect(le(uint, reports.all, before + 10), "round %u", round);
		cr_expect(eq(uint, distant_lists(&far), lists + 1), "round %u", round);
	}
}

Test(command, a_check_of_all_takes_from_the_kernel_what_changed)
{
	cr_assert(eq(int, fchmodat(far.scratch.fd, "d/changing", 0600, 0), 0));
	cr_assert(eq(int, unlinkat(far.scratch.fd, "d/removed", 0), 0));
	cache_check_all(far.cache, NULL);
	cr_expect(reports.inode_changed);
	cr_expect(reports.name_removed);
}

Test(command, a_check_of_all_takes_all_from_the_kernel_where_nobody_answers)
{
	far.is_cut = true;
	cache_check_all(far.cache, NULL);
	cr_expect(ge(uint, reports.all, FILES));
}

/* ---- With few names there is no audit ---- */

static void setup_few(void)
{
	distant_start_trusting(&far);
}

static void teardown_few(void)
{
	distant_stop(&far);
}

TestSuite(command_of_few, .init = setup_few, .fini = teardown_few, .timeout = 300);

Test(command_of_few, brings_the_attributes_of_the_root)
{
	int64_t valid_ms;
	struct attr attr;

	scratch_write_text(&far.scratch, "known", "text");
	cr_assert(ne(ptr, look_up(cache_root(far.cache), "known"), NULL));
	unsigned lists = distant_lists(&far);

	cr_assert(zero(int, fchmod(far.scratch.fd, 0750)));
	run_command();
	cr_expect(
		eq(int, cache_attr(far.cache, NULL, cache_root(far.cache), &attr, &valid_ms, NULL),
			ERR_OK));
	cr_expect(eq(uint, attr.mode & 07777, 0750));
	cr_expect(eq(uint, distant_lists(&far), lists));
}

/* ---- With some names there is an audit after a second command ---- */

TestSuite(command_again, .init = setup_some, .fini = teardown, .timeout = 300);

Test(command_again, leaves_names_with_the_kernel_that_were_used_since_the_command_before)
{
	unsigned lists = distant_lists(&far);

	run_command();
	cr_expect(eq(uint, distant_lists(&far), lists), "the first one asks for nothing");
	cr_expect(ge(uint, reports.all, SOME), "and the kernel keeps nothing");
	for (int round = 0; round < 3; round++) {
		look_up_all(SOME);
		lists = distant_lists(&far);
		reports.all = 0;
		run_command();
		cr_expect(eq(uint, distant_lists(&far), lists + 1), "round %d: one audit", round);
		cr_expect(le(uint, reports.all, 10), "round %d", round);
		look_up_all(SOME);
		cr_expect(eq(uint, distant_lists(&far), lists + 1),
			"round %d: the next use needs none", round);
	}
}

Test(command_again, asks_for_nothing_where_no_file_was_used_since_the_command_before)
{
	run_command();
	unsigned lists = distant_lists(&far);

	run_command();
	run_command();
	cr_expect(eq(uint, distant_lists(&far), lists));
}
