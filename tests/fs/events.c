#include "fs/events.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

TestSuite(events, .timeout = 300);

static void count_wake(void *context)
{
	++*(unsigned *)context;
}

struct fixture {
	struct events *all;
	struct events_reader *reader;
	unsigned wakes;
};

static void start(struct fixture *f)
{
	*f = (struct fixture){ 0 };
	cr_assert(eq(int, events_new(&f->all, NULL), ERR_OK));
	f->reader = events_reader_new(f->all, count_wake, &f->wakes);
	cr_assert(ne(ptr, f->reader, NULL));
}

static void stop(struct fixture *f)
{
	events_reader_free(f->reader);
	events_free(f->all);
}

/* All there is, but for the time, which is compared with nothing. */
static void take_text(struct events_reader *r, char *out, size_t room)
{
	size_t len = events_reader_take(r, out, room - 1);

	out[len] = '\0';
}

/* Expects `wanted` in the line after its time. */
static void expect_line(const char *line, const char *wanted)
{
	double time;
	int end = 0;

	cr_assert(eq(int, sscanf(line, "{\"time\": %lf, %n", &time, &end), 1), "%s", line);
	cr_expect(time > 1e9);
	cr_expect(eq(str, (char *)line + end, (char *)wanted));
}

Test(events, an_event_is_a_line_of_json)
{
	static const struct {
		enum watch_kind kind;
		const char *path;
		bool is_dir;
		const char *wanted;
	} rows[] = {
		{ WATCH_CREATED, "a", false,
			"\"kind\": \"created\", \"path\": \"a\", \"is_dir\": false}\n" },
		{ WATCH_CHANGED, "d/a", false,
			"\"kind\": \"changed\", \"path\": \"d/a\", \"is_dir\": false}\n" },
		{ WATCH_ATTR, "d", true,
			"\"kind\": \"attr\", \"path\": \"d\", \"is_dir\": true}\n" },
		{ WATCH_REMOVED, "a\n\"", false,
			"\"kind\": \"removed\", \"path\": \"a\\n\\\"\", \"is_dir\": false}\n" },
		{ WATCH_LOST, "", true, "\"kind\": \"lost\", \"path\": \"\", \"is_dir\": true}\n" },
	};
	struct fixture f;
	char text[256];

	start(&f);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		events_add(f.all, rows[i].kind, rows[i].path, rows[i].is_dir);
		take_text(f.reader, text, sizeof text);
		expect_line(text, rows[i].wanted);
	}
	cr_expect(eq(uint, f.wakes, 5));
	stop(&f);
}

Test(events, a_reader_gets_what_comes_after_it_was_made)
{
	struct fixture f;
	struct events_reader *late;
	char text[256];

	start(&f);
	events_add(f.all, WATCH_CREATED, "before", false);
	late = events_reader_new(f.all, count_wake, &f.wakes);
	cr_expect(not(events_reader_is_ready(late)));
	events_add(f.all, WATCH_CREATED, "after", false);
	take_text(late, text, sizeof text);
	expect_line(text, "\"kind\": \"created\", \"path\": \"after\", \"is_dir\": false}\n");
	cr_expect(eq(sz, events_reader_take(late, text, sizeof text), 0));
	cr_expect(events_reader_is_ready(f.reader));
	events_reader_free(late);
	stop(&f);
}

Test(events, a_line_may_be_read_in_pieces)
{
	struct fixture f;
	char text[256] = "";
	size_t len = 0, piece;

	start(&f);
	events_add(f.all, WATCH_CREATED, "a", false);
	while ((piece = events_reader_take(f.reader, text + len, 7)))
		len += piece;
	text[len] = '\0';
	expect_line(text, "\"kind\": \"created\", \"path\": \"a\", \"is_dir\": false}\n");
	stop(&f);
}

/* Reads to the end; returns how many lines, and whether the first one says that some are gone. */
static size_t read_all(struct events_reader *r, bool *has_lost)
{
	static char bytes[EVENTS_MAX * 2];
	size_t len = 0, piece, lines = 0;

	while ((piece = events_reader_take(r, bytes + len, sizeof bytes - 1 - len)))
		len += piece;
	bytes[len] = '\0';
	for (const char *at = bytes; (at = strchr(at, '\n')); at++)
		lines++;
	*has_lost = strstr(bytes, "\"lost\", \"path\": \"\", \"is_dir\": true}\n{") != NULL &&
		strstr(bytes, "\"lost\"") < strchr(bytes, '\n');
	cr_expect(eq(chr, bytes[len - 1], '\n'));
	return lines;
}

Test(events, a_slow_reader_gets_a_report_that_some_are_lost)
{
	const unsigned count = 2 * EVENTS_MAX / 80;
	struct fixture f;
	bool has_lost;

	start(&f);
	for (unsigned i = 0; i < count; i++)
		events_add(f.all, WATCH_CHANGED, "a name of some length", false);
	cr_expect(lt(sz, read_all(f.reader, &has_lost), count));
	cr_expect(has_lost);
	events_add(f.all, WATCH_CHANGED, "a", false);
	cr_expect(eq(sz, read_all(f.reader, &has_lost), 1));
	cr_expect(not(has_lost));
	stop(&f);
}

static void *add_one(void *context)
{
	events_add(context, WATCH_CREATED, "a", false);
	return NULL;
}

Test(events, who_waits_is_woken_by_an_event)
{
	struct fixture f;
	pthread_t other;
	char text[256];

	start(&f);
	cr_assert(eq(int, pthread_create(&other, NULL, add_one, f.all), 0));
	cr_expect(eq(int, events_reader_wait(f.reader, NULL, NULL), ERR_OK));
	cr_expect(events_reader_take(f.reader, text, sizeof text) > 0);
	pthread_join(other, NULL);
	stop(&f);
}

Test(events, who_waits_can_give_up)
{
	struct cancel cancel;
	struct fixture f;

	start(&f);
	cr_assert(eq(int, cancel_init(&cancel, NULL), ERR_OK));
	cancel_throw(&cancel);
	cr_expect(eq(int, events_reader_wait(f.reader, &cancel, NULL), ERR_INTERRUPTED));
	cancel_release(&cancel);
	stop(&f);
}
