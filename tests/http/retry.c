#include "providers/http/retry.h"

#include "tests/http/room.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

TestSuite(http_retry, .timeout = 300);

Test(http_retry, pauses_grow_and_are_spread)
{
	for (int i = 0; i < 1000; i++) {
		for (unsigned n = 0; n < RETRY_MAX; n++) {
			int64_t pause_ms = retry_pause_ms(n, false, -1), middle_ms = 250 << n;

			cr_assert(ge(i64, pause_ms, middle_ms * 3 / 4));
			cr_assert(le(i64, pause_ms, middle_ms * 5 / 4));
		}
		for (unsigned n = 0; n < RETRY_LOCK_MAX; n++) {
			int64_t pause_ms = retry_pause_ms(n, true, -1), middle_ms = 1000 << n;

			cr_assert(ge(i64, pause_ms, middle_ms * 3 / 4));
			cr_assert(le(i64, pause_ms, middle_ms * 5 / 4));
		}
		cr_assert(ge(i64, retry_pause_ms(0, false, 2000), 2000));
		cr_assert(le(i64, retry_pause_ms(0, true, 2000), 2250));
		cr_assert(ge(i64, retry_pause_ms(0, false, INT64_MAX), 3600000));
	}
}

Test(http_retry, a_pause_in_milliseconds_is_read)
{
	static const struct {
		const char *value;
		int64_t ms;
	} rows[] = { { NULL, -1 }, { "", -1 }, { "soon", -1 }, { "-5", -1 }, { "nan", -1 },
		{ "0", 0 }, { "1500", 1500 }, { " 12.7", 12 }, { "1e300", 86400000 } };

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect(eq(i64, retry_after_ms_of(rows[i].value), rows[i].ms), "%s",
			rows[i].value ? rows[i].value : "none");
}

/* Sends the test's answer so many times; then "ok". */
struct faults {
	const char *answer; /* "": the connection is closed */
	int count;
};

static void answer_faults(struct peer *p)
{
	const struct faults *f = p->server->context;

	while (peer_read_request(p)) {
		bool is_fault = p->server->requests <= f->count;

		if (!peer_say(p, is_fault ? f->answer : OK_ANSWER) || (is_fault && !*f->answer))
			return;
	}
}

#define FAULT(status) "HTTP/1.1 " status "\r\nContent-Length: 5\r\n\r\nfault"
#define AFTER(status, seconds)                                                                     \
	"HTTP/1.1 " status " X\r\nRetry-After: " seconds "\r\nContent-Length: 5\r\n\r\nfault"

#define SHOULD(status, whether)                                                                    \
	"HTTP/1.1 " status " X\r\nx-should-retry: " whether "\r\nContent-Length: 5\r\n\r\nfault"
#define AFTER_MS(status, ms)                                                                       \
	"HTTP/1.1 " status " X\r\nretry-after-ms: " ms                                             \
	"\r\nRetry-After: 600\r\nContent-Length: 5\r\n\r\nfault"
#define PATIENT  (HTTP_REPEATABLE | HTTP_LOCK_PASSES | HTTP_LATENESS_PASSES)
#define OBEDIENT (HTTP_REPEATABLE | HTTP_SHOULD_RETRY)

struct row {
	const char *answer;
	int count;
	unsigned flags;
	int status, requests; /* status 0: ERR_UNREACHABLE */
	bool arrived;
};

/* A request in a room of its own, and its outcome. */
struct sent {
	const struct row *row;
	struct faults faults;
	struct room room;
	pthread_t thread;
	struct http_answer answer;
	enum err kind;
};

static void *send_request(void *context)
{
	struct sent *s = context;
	struct http_request request = room_request(&s->room, HTTP_POST, s->row->flags);

	s->kind = room_perform(&s->room, &request, &s->answer);
	return NULL;
}

static void begin_row(struct sent *s, const struct row *row)
{
	*s = (struct sent){
		.row = row, .faults = { row->answer, row->count }, .answer = HTTP_ANSWER_NONE
	};
	room_open(&s->room, answer_faults, &s->faults);
	cr_assert(eq(int, pthread_create(&s->thread, NULL, send_request, s), 0));
}

static void end_row(struct sent *s, size_t number)
{
	const struct row *row = s->row;
	AUTO_HTTP_ANSWER struct http_answer answer;
	enum err want = row->status ? ERR_OK : ERR_UNREACHABLE;

	pthread_join(s->thread, NULL);
	answer = s->answer;
	cr_expect(eq(int, s->kind, want), "row %zu: %s", number, s->room.e.text);
	cr_expect(eq(int, answer.status, row->status), "row %zu", number);
	cr_expect(eq(int, s->room.server.requests, row->requests), "row %zu", number);
	cr_expect(eq(int, answer.may_have_arrived, row->arrived), "row %zu", number);
	if (row->status)
		cr_expect(eq(str, (char *)buf_text(&answer.body),
				  row->status == 200 ? "ok" : "fault"),
			"row %zu", number);
	room_close(&s->room);
}

/* The cases run at the same time, for most of them pause. */
Test(http_retry, what_is_repeated_and_what_is_not)
{
	static const struct row rows[] = {
		{ FAULT("503 X"), 1, HTTP_REPEATABLE, 200, 2, true },
		{ FAULT("500 X"), 1, HTTP_REPEATABLE, 200, 2, true },
		{ FAULT("502 X"), 1, HTTP_REPEATABLE, 200, 2, true },
		{ FAULT("504 X"), 1, HTTP_REPEATABLE, 200, 2, true },
		{ FAULT("502 X"), 1, HTTP_REPEATABLE | HTTP_BAD_GATEWAY_IS_FINAL, 502, 1, true },
		{ FAULT("500 X"), 1, HTTP_REPEATABLE | HTTP_INTERNAL_ERROR_IS_FINAL, 500, 1, true },
		{ FAULT("501 X"), 1, HTTP_REPEATABLE, 501, 1, true },
		{ FAULT("404 X"), 1, HTTP_REPEATABLE, 404, 1, true },
		{ FAULT("500 X"), 1, 0, 500, 1, true },
		{ FAULT("502 X"), 1, 0, 502, 1, true },
		{ FAULT("503 X"), 1, 0, 503, 1, true },
		{ FAULT("504 X"), 1, 0, 504, 1, true },
		{ FAULT("502 X"), 1, HTTP_CONFLICT_PASSES | HTTP_SHOULD_RETRY, 502, 1, true },
		{ FAULT("429 X"), 1, 0, 200, 2, true },
		{ FAULT("429 X"), 9, 0, 429, 4, false },
		{ FAULT("503 X"), 9, HTTP_REPEATABLE, 503, 4, true },
		{ FAULT("409 X"), 1, HTTP_REPEATABLE, 409, 1, true },
		{ FAULT("409 X"), 4, HTTP_CONFLICT_PASSES, 200, 5, true },
		{ AFTER("409", "600"), 1, HTTP_CONFLICT_PASSES, 409, 1, false },
		{ AFTER("429", "1"), 1, 0, 200, 2, true },
		{ AFTER_MS("429", "5"), 1, 0, 200, 2, true },
		{ AFTER_MS("409", "5"), 5, HTTP_LOCK_PASSES, 200, 6, true },
		{ AFTER_MS("409", "5"), 9, HTTP_LOCK_PASSES, 409, 6, false },
		{ AFTER_MS("408", "5"), 5, PATIENT, 200, 6, true },
		{ AFTER_MS("408", "5"), 9, PATIENT, 408, 6, true },
		{ AFTER_MS("408", "5"), 1, HTTP_LATENESS_PASSES, 408, 1, true },
		{ AFTER_MS("503", "5"), 9, PATIENT, 503, 4, true },
		{ SHOULD("409", "false"), 1, PATIENT | HTTP_SHOULD_RETRY, 409, 1, false },
		{ AFTER("429", "600"), 1, 0, 429, 1, false },
		{ SHOULD("503", "false"), 1, OBEDIENT, 503, 1, true },
		{ SHOULD("429", "false"), 1, HTTP_SHOULD_RETRY, 429, 1, false },
		{ SHOULD("400", "true"), 1, OBEDIENT, 200, 2, true },
		{ SHOULD("400", "true"), 9, OBEDIENT, 400, 4, true },
		{ SHOULD("400", "true"), 1, HTTP_SHOULD_RETRY, 400, 1, true },
		{ SHOULD("408", "true"), 1, OBEDIENT, 408, 1, true },
		{ SHOULD("503", "perhaps"), 1, OBEDIENT, 200, 2, true },
		{ SHOULD("503", "false"), 1, HTTP_REPEATABLE, 200, 2, true },
		{ SHOULD("400", "true"), 1, HTTP_REPEATABLE, 400, 1, true },
		{ "", 1, HTTP_REPEATABLE, 200, 2, true },
		{ "", 9, HTTP_REPEATABLE, 0, 4, true },
		{ "", 1, 0, 0, 1, true },
	};

	static struct sent sent[sizeof rows / sizeof *rows];
	size_t count = sizeof rows / sizeof *rows;

	for (size_t i = 0; i < count; i++)
		begin_row(&sent[i], &rows[i]);
	for (size_t i = 0; i < count; i++)
		end_row(&sent[i], i);
}

static void break_then_refuse(struct peer *p)
{
	while (peer_read_request(p))
		if (p->server->requests == 1 || !peer_say(p, AFTER("429", "600")))
			return;
}

/* Only the second sending is refused. */
Test(http_retry, what_the_first_sending_may_have_done_is_not_forgotten)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct http_request request;
	struct room r;

	room_open(&r, break_then_refuse, NULL);
	request = room_request(&r, HTTP_POST, HTTP_REPEATABLE);
	cr_expect(eq(int, room_perform(&r, &request, &answer), ERR_OK), "%s", r.e.text);
	cr_expect(eq(int, answer.status, 429));
	cr_expect(eq(int, r.server.requests, 2));
	cr_expect(answer.may_have_arrived);
	room_close(&r);
}

static void expect_a_second(const char *fault)
{
	struct faults faults = { fault, 1 };
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	int64_t began_ms = monotonic_ms();
	struct http_request request;
	struct room r;

	room_open(&r, answer_faults, &faults);
	request = room_request(&r, HTTP_POST, 0);
	cr_expect(eq(int, room_perform(&r, &request, &answer), ERR_OK));
	cr_expect(ge(i64, monotonic_ms() - began_ms, 1000));
	room_close(&r);
}

Test(http_retry, retry_after_is_obeyed)
{
	expect_a_second(AFTER("429", "1"));
}

/* The date lies long in the past by the clock here. */
Test(http_retry, a_date_to_retry_at_is_one_of_the_servers_clock)
{
	expect_a_second(AFTER(
		"429", "Thu, 01 Jan 2026 00:00:01 GMT\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT"));
}

Test(http_retry, no_connection_is_tried_again_and_certainly_did_not_arrive)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	int64_t began_ms = monotonic_ms();
	struct http_request request;
	struct room r;

	room_open(&r, answer_ok, NULL);
	snprintf(r.url, sizeof r.url, "http://127.0.0.1:%d/x?signature=secret", unused_port());
	request = room_request(&r, HTTP_POST, 0);
	cr_expect(eq(int, room_perform(&r, &request, &answer), ERR_UNREACHABLE));
	cr_expect(not(answer.may_have_arrived));
	cr_expect(ge(i64, monotonic_ms() - began_ms, (250 + 500 + 1000) * 3 / 4));
	cr_expect(eq(ptr, strstr(r.e.text, "secret"), NULL), "%s", r.e.text);
	room_close(&r);
}

/* The first pause is longer. A machine that is busy may even be late with the first answer. */
Test(http_retry, nothing_is_repeated_beyond_the_deadline)
{
	struct call call = { .progress_ms = 100 };
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct faults faults = { "", 9 };
	struct http_request request;
	struct room r;

	room_open(&r, answer_faults, &faults);
	request = room_request(&r, HTTP_POST, HTTP_REPEATABLE);
	enum err kind = http_perform(r.http, &call, &request, &answer, &r.e);

	cr_expect(kind == ERR_UNREACHABLE || kind == ERR_TIMEOUT, "%s", r.e.text);
	cr_expect(le(int, r.server.requests, 1));
	room_close(&r);
}

Test(http_retry, answers_that_fail_do_not_put_the_deadline_off)
{
	struct call call = { .progress_ms = 1500 };
	struct faults faults = { AFTER("429", "1"), 9 };
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct http_request request;
	struct room r;

	room_open(&r, answer_faults, &faults);
	request = room_request(&r, HTTP_POST, 0);
	enum err kind = http_perform(r.http, &call, &request, &answer, &r.e);

	/* A machine that is busy may be late with the second answer. */
	cr_expect(kind == ERR_OK || kind == ERR_TIMEOUT, "%s", r.e.text);
	cr_expect(eq(int, answer.status, kind ? 0 : 429));
	cr_expect(le(int, (int)r.server.requests, 2));
	room_close(&r);
}

static void stay_silent(struct peer *p)
{
	while (peer_read_request(p))
		;
}

/*
 * The caller waited elsewhere until a moment before its deadline. Bytes that are sent then are no
 * progress, and neither is a failure.
 */
Test(http_retry, the_deadline_of_a_caller_is_not_put_off_by_asking)
{
	/* A limit that is less than the machine's uptime. */
	const int64_t limit_ms = 30000;
	struct progress progress = { .since_ms = monotonic_ms() - limit_ms + 200 };
	const struct call call = { .progress_ms = limit_ms, .progress = &progress };
	struct room r;

	room_open(&r, stay_silent, NULL);
	for (int n = 0; n < 2; n++) {
		AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
		struct http_request request = room_request(&r, HTTP_POST, HTTP_REPEATABLE);

		cr_expect(
			eq(int, http_perform(r.http, &call, &request, &answer, &r.e), ERR_TIMEOUT));
	}
	cr_expect(eq(i64, progress.moved_ms, 0));
	room_close(&r);
}

Test(http_retry, an_answer_is_progress_of_its_caller_and_a_fault_is_none)
{
	struct progress progress = progress_now();
	const struct call call = { .progress = &progress };
	struct faults faults = { FAULT("400 X"), 1 };
	struct room r;

	room_open(&r, answer_faults, &faults);
	for (int n = 0; n < 2; n++) {
		AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
		struct http_request request = room_request(&r, HTTP_POST, 0);

		cr_expect(eq(int, http_perform(r.http, &call, &request, &answer, &r.e), ERR_OK));
		cr_expect(eq(int, answer.status, n ? 200 : 400));
		cr_expect(eq(int, progress.moved_ms > 0, n));
	}
	room_close(&r);
}

static void *throw_it(void *context)
{
	struct room *r = context;

	while (!r->server.requests)
		poll(NULL, 0, 1);
	cancel_throw(r->server.context);
	return NULL;
}

static void answer_busy(struct peer *p)
{
	while (peer_read_request(p) && peer_say(p, AFTER("429", "8")))
		;
}

Test(http_retry, a_pause_can_be_cancelled)
{
	struct cancel cancel;
	struct call call = { .progress_ms = 60000, .cancel = &cancel };
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct http_request request;
	pthread_t thread;
	struct room r;

	cr_assert(eq(int, cancel_init(&cancel, NULL), ERR_OK));
	room_open(&r, answer_busy, &cancel);
	pthread_create(&thread, NULL, throw_it, &r);
	request = room_request(&r, HTTP_POST, 0);
	cr_expect(eq(int, http_perform(r.http, &call, &request, &answer, &r.e), ERR_INTERRUPTED));
	cr_expect(eq(int, r.server.requests, 1));
	pthread_join(thread, NULL);
	room_close(&r);
	cancel_release(&cancel);
}
