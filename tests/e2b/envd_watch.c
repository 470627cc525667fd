#include "tests/e2b/envd_fixture.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

static struct envd_fixture f;
static struct buf words = BUF_INIT(1 << 20), answer = BUF_INIT(1 << 20), heard = BUF_INIT(1 << 20);
static const char *root = "/w", *staging;

static void tear_down(void)
{
	envd_fixture_release(&f);
	buf_release(&words);
	buf_release(&answer);
	buf_release(&heard);
}

TestSuite(envd_watch, .fini = tear_down, .timeout = 300);

/* Each event as a word: "created a/b; ". A directory has a slash behind it. */
static enum err hear(void *context, const struct watch_event *event, struct error *e)
{
	static const char *const kinds[] = { "", "ready", "created", "changed", "attr", "removed",
		"lost" };

	(void)context;
	buf_printf(&heard, "%s %s%s; ", kinds[event->kind], event->path, event->is_dir ? "/" : "");
	return buf_check(&heard, "what was heard", e);
}

static enum err watch(watch_sink sink)
{
	static const struct call call = { .progress_ms = 20000 };

	return envd_watch(f.envd, &call, root, staging, sink, NULL, &f.e);
}

/* What is in `words`, and how the stream ends. */
static void given_words(const char *end)
{
	if (end)
		say_end_of_stream(&words, end);
	put_answer(&answer, 200, IS_PROTO_STREAM, words.bytes, words.len);
	envd_fixture_make(&f, NULL, &(struct envd_row){ .want = WATCH, .answer = &answer }, 1);
}

#define expect_heard(want) cr_expect(eq(str, (char *)buf_text(&heard), want))

Test(envd_watch, asks_for_everything_below_with_entries_and_signs_of_life)
{
	size_t len;

	say_watching(&words);
	given_words("{}");
	cr_expect(eq(int, watch(hear), ERR_UNREACHABLE));
	envd_fixture_stop(&f);
	cr_expect(envd_fixture_asked(&f, 0, "\r\nKeepalive-Ping-Interval: 30\r\n"));
	cr_expect(not(envd_fixture_asked(&f, 0, "connect-timeout-ms")));
	/* path, recursive, include_entry */
	cr_expect(eq(int,
		memcmp(envd_fixture_body(&f, 0, &len),
			"\x00\x00\x00\x00\x08\x0a\x02/w\x10\x01\x18\x01", 13),
		0));
	cr_expect(eq(sz, len, 13));
	expect_heard("ready /; ");
}

Test(envd_watch, events_have_our_kinds_whatever_the_chunks)
{
	say_watching(&words);
	say(&words, 0, "\x1a\x00", 2); /* keepalive */
	say(&words, 0, "\x4a\x00", 2); /* an event that is not known */
	say_change(&words, "new", SAY_CREATE, 1, NULL);
	say_change(&words, "d/f", SAY_WRITE, 1, NULL);
	say_change(&words, "d/f", SAY_CHMOD, 1, NULL);
	say_change(&words, "d", SAY_CHMOD, 2, NULL);
	say_change(&words, "old", SAY_REMOVE, 0, NULL);
	say_change(&words, "from", SAY_RENAME, 0, NULL);
	say_change(&words, "to", SAY_CREATE, 1, NULL);
	say_change(&words, ".", SAY_CHMOD, 2, NULL);
	say_change(&words, "odd", 77, 1, NULL);
	say_end_of_stream(&words, "{}");
	put_chunked(&answer, IS_PROTO_STREAM, &words, true);
	envd_fixture_make(&f, NULL,
		&(struct envd_row){ .want = WATCH, .answer = &answer, .by_bytes = true }, 1);
	cr_expect(eq(int, watch(hear), ERR_UNREACHABLE));
	expect_heard("ready /; created new; changed d/f; attr d/f; attr d/; removed old; "
		     "removed from; created to; attr /; ");
}

Test(envd_watch, what_a_directory_brings_along_is_in_doubt)
{
	say_watching(&words);
	say_change(&words, "in", SAY_CREATE, 2, NULL);
	given_words("{}");
	watch(hear);
	expect_heard("ready /; created in/; lost in/; ");
}

Test(envd_watch, a_link_to_a_directory_brings_nothing_along)
{
	say_watching(&words);
	say_change(&words, "l", SAY_CREATE, 2, "/w/d");
	given_words("{}");
	watch(hear);
	expect_heard("ready /; created l; ");
}

Test(envd_watch, a_new_name_of_which_nothing_is_told_is_in_doubt)
{
	say_watching(&words);
	say_change(&words, "x", SAY_CREATE, 0, NULL);
	given_words("{}");
	watch(hear);
	expect_heard("ready /; created x; lost x; ");
}

Test(envd_watch, the_watched_directory_itself_going_ends_the_watch)
{
	static const unsigned types[] = { SAY_REMOVE, SAY_RENAME };

	for (size_t i = 0; i < 2; i++) {
		buf_reset(&words);
		buf_reset(&answer);
		buf_reset(&heard);
		say_watching(&words);
		say_change(&words, ".", types[i], 0, NULL);
		put_chunked(&answer, IS_PROTO_STREAM, &words, false);
		/* The daemon goes on, and says nothing any more. */
		envd_fixture_make(&f, NULL,
			&(struct envd_row){ .want = WATCH, .answer = &answer, .is_held = true }, 1);
		cr_expect(eq(int, watch(hear), ERR_UNREACHABLE));
		expect_heard("ready /; lost /; ");
		envd_fixture_release(&f);
		f = (struct envd_fixture){ 0 };
	}
}

Test(envd_watch, staging_is_not_reported)
{
	root = "/w";
	staging = "/w/.staging";
	say_watching(&words);
	say_change(&words, ".staging", SAY_CREATE, 2, NULL);
	say_change(&words, ".staging/t-1", SAY_WRITE, 1, NULL);
	say_change(&words, ".staging2", SAY_WRITE, 1, NULL);
	given_words("{}");
	watch(hear);
	expect_heard("ready /; changed .staging2; ");
}

Test(envd_watch, staging_below_the_root_of_all_or_elsewhere)
{
	root = "/";
	staging = "/home/.staging";
	say_watching(&words);
	say_change(&words, "home/.staging/t", SAY_WRITE, 1, NULL);
	say_change(&words, "home/f", SAY_WRITE, 1, NULL);
	given_words("{}");
	watch(hear);
	expect_heard("ready /; changed home/f; ");
}

Test(envd_watch, names_that_lead_out_make_no_sense)
{
	static const char *const names[] = { "../x", "/etc/passwd", "a//b", "a/./b", "a/.." };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		buf_reset(&words);
		buf_reset(&answer);
		buf_reset(&heard);
		say_watching(&words);
		say_change(&words, names[i], SAY_WRITE, 1, NULL);
		given_words("{}");
		cr_expect(eq(int, watch(hear), ERR_PROTOCOL), "%s", names[i]);
		expect_heard("ready /; ");
		envd_fixture_release(&f);
		f = (struct envd_fixture){ 0 };
	}
}

Test(envd_watch, a_stream_that_ends_is_to_be_started_anew_and_one_that_cannot_start_is_not)
{
	static const struct {
		bool is_started;
		const char *end; /* NULL: cut off */
		enum err kind;
	} rows[] = {
		{ true,
			"{\"error\":{\"code\":\"internal\",\"message\":\"watcher error: "
			"overflow\"}}",
			ERR_UNREACHABLE },
		{ true,
			"{\"error\":{\"code\":\"unknown\",\"message\":\"error sending filesystem "
			"event: invalid UTF-8\"}}",
			ERR_UNREACHABLE },
		{ true, NULL, ERR_UNREACHABLE },
		{ false,
			"{\"error\":{\"code\":\"invalid_argument\",\"message\":\"cannot watch path "
			"on network filesystem: /w\"}}",
			ERR_UNSUPPORTED },
		{ false,
			"{\"error\":{\"code\":\"internal\",\"message\":\"error adding path /w to "
			"watcher: no space left on device\"}}",
			ERR_UNSUPPORTED },
		{ false, "{\"error\":{\"code\":\"not_found\",\"message\":\"path /w not found\"}}",
			ERR_NOT_FOUND },
		{ false, "{\"error\":{\"code\":\"unimplemented\",\"message\":\"m\"}}",
			ERR_UNSUPPORTED },
		{ false, "{\"error\":{\"code\":\"unauthenticated\",\"message\":\"m\"}}", ERR_AUTH },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		buf_reset(&words);
		buf_reset(&answer);
		if (rows[i].is_started)
			say_watching(&words);
		given_words(rows[i].end);
		cr_expect(eq(int, watch(hear), rows[i].kind), "row %zu: %s", i, f.e.text);
		envd_fixture_release(&f);
		f = (struct envd_fixture){ 0 };
	}
}

static enum err refuse(void *context, const struct watch_event *event, struct error *e)
{
	(void)context, (void)event;
	return error_set(e, ERR_IO, "no more");
}

Test(envd_watch, a_sink_that_refuses_ends_it_with_its_own_error)
{
	say_watching(&words);
	given_words("{}");
	cr_expect(eq(int, watch(refuse), ERR_IO));
	cr_expect(eq(str, f.e.text, "no more"));
}

static struct cancel cancel;

static enum err hear_and_cancel(void *context, const struct watch_event *event, struct error *e)
{
	cancel_throw(&cancel);
	return hear(context, event, e);
}

Test(envd_watch, ends_when_it_is_cancelled)
{
	const struct call call = { .cancel = &cancel };

	cr_assert(eq(int, cancel_init(&cancel, &f.e), ERR_OK));
	say_watching(&words);
	put_chunked(&answer, IS_PROTO_STREAM, &words, false);
	envd_fixture_make(&f, NULL,
		&(struct envd_row){ .want = WATCH, .answer = &answer, .is_held = true }, 1);
	cr_expect(eq(int, envd_watch(f.envd, &call, root, NULL, hear_and_cancel, NULL, &f.e),
		ERR_INTERRUPTED));
	cancel_release(&cancel);
}

Test(envd_watch, a_start_that_does_not_come_is_a_timeout)
{
	static const struct call hasty = { .progress_ms = 300 };

	envd_fixture_make(&f, NULL,
		&(struct envd_row){ .want = WATCH, .answer = &answer, .is_held = true }, 1);
	cr_expect(eq(int, envd_watch(f.envd, &hasty, root, NULL, hear, NULL, &f.e), ERR_TIMEOUT));
}

Test(envd_watch, a_directory_whose_name_is_no_text_is_refused_before_anything_is_sent)
{
	root = "/w/\xff";
	envd_fixture_make(&f, NULL, NULL, 0);
	cr_expect(eq(int, watch(hear), ERR_INVALID));
	envd_fixture_stop(&f);
}
