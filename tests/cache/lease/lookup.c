/* The inode that a name leads to, while others change things and commands end. */
#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/lease/hand_out.h"
#include "cache/lease/invalidate.h"
#include "cache/contents.h"
#include "cache/metadata.h"
#include "tests/cache/distant.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static struct distant far;

static void setup(void)
{
	distant_start_trusting(&far);
}

static void teardown(void)
{
	distant_stop(&far);
}

TestSuite(lookup, .init = setup, .fini = teardown, .timeout = 300);

/* Looks up a name as the kernel does, and never forgets it. */
static struct inode *look_up(const char *name)
{
	struct cache_entry entry = { 0 };
	struct error e = { 0 };
	int64_t negative_ms;

	cr_assert(eq(int,
			  cache_lookup(far.cache, NULL, cache_root(far.cache), name, &entry,
				  &negative_ms, &e),
			  ERR_OK),
		"%s", e.text);
	return entry.inode;
}

static void expect_text(struct inode *i, const char *wanted)
{
	struct error e = { 0 };
	char text[32] = { 0 };
	bool keep_pages;
	size_t got;

	cr_assert(eq(int, cache_open(far.cache, NULL, i, O_RDONLY, &keep_pages, &e), ERR_OK), "%s",
		e.text);
	cr_assert(
		eq(int, cache_read(far.cache, NULL, i, 0, text, sizeof text - 1, &got, &e), ERR_OK),
		"%s", e.text);
	cr_expect(eq(str, text, (char *)wanted));
	cache_close(far.cache, i);
}

/* Replaces the file as a command does that has not ended. */
static void replace_file(void)
{
	scratch_write_text(&far.scratch, "new", "new text");
	cr_assert(eq(int, renameat(far.scratch.fd, "new", far.scratch.fd, "f"), 0));
}

static void look_up_and_replace(void)
{
	scratch_write_text(&far.scratch, "f", "old");
	scratch_write_text(&far.scratch, "beside", "text");
	look_up("beside");
	look_up("f");
	replace_file();
	cache_command_ended(far.cache);
}

static void end_command(struct distant *d, const struct list_request *request)
{
	(void)request;
	cache_command_ended(d->cache);
}

/* Every answer is older than the end of a command, and so none is held. */
Test(lookup, a_file_that_a_command_replaced_is_read_while_others_commands_end)
{
	look_up_and_replace();
	far.meanwhile = end_command;
	expect_text(look_up("f"), "new text");
}

/*
 * Reports the removal while the name itself is asked for, the first time. Other answers before that
 * are overtaken by the end of a command.
 */
static void report_once(struct distant *d, const struct list_request *request, const char *path)
{
	const struct watch_event event = { .kind = WATCH_REMOVED, .path = path };

	if (strcmp(request->starts[0], "f")) {
		cache_command_ended(d->cache);
		return;
	}
	d->meanwhile = NULL;
	tree_apply_event(d->cache->tree, &event);
}

static void report_it(struct distant *d, const struct list_request *request)
{
	report_once(d, request, "f");
}

static void report_another(struct distant *d, const struct list_request *request)
{
	report_once(d, request, "beside");
}

Test(lookup, a_file_that_a_command_replaced_is_read_while_the_stream_tells_of_that)
{
	look_up_and_replace();
	far.meanwhile = report_it;
	expect_text(look_up("f"), "new text");
}

Test(lookup, a_file_that_a_command_replaced_is_read_while_the_stream_tells_of_another_one)
{
	look_up_and_replace();
	far.meanwhile = report_another;
	expect_text(look_up("f"), "new text");
}
