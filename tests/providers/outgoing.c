/* The order in which the frames of requests leave; all is written to /dev/null. */
#include "providers/client/outgoing.h"

#include "providers/base/cleanup.h"
#include "providers/client/link.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <sys/socket.h>

TestSuite(outgoing, .timeout = 60);

#define KIB ((size_t)1024)

static struct outgoing *add(struct outgoing_queue *q, uint32_t id, size_t len)
{
	struct buf payload = BUF_INIT(WIRE_REQUEST_MAX);
	struct outgoing *o;

	memset(buf_reserve(&payload, len), 0, len);
	buf_filled(&payload, len);
	o = outgoing_new(FRAME_APPLY, &payload);
	o->id = id;
	outgoing_add(q, o);
	return o;
}

/* Writes one frame; its request's id, or 0 when none may leave. */
static uint32_t write_one(struct outgoing_queue *q)
{
	AUTO_CLOSE int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct outgoing *o = outgoing_next(q);
	uint32_t id = o ? o->id : 0;

	if (o)
		cr_assert(outgoing_write(q, o, fd) > 0);
	if (o && outgoing_is_sent(o))
		outgoing_remove(q, o);
	return id;
}

static void release(struct outgoing_queue *q)
{
	while (q->first)
		outgoing_remove(q, q->first);
}

/* The helper holds a part of the first: a part of the second would be an error of the stream. */
Test(outgoing, a_cancel_leaves_before_another_large_request)
{
	struct outgoing_queue q;
	struct outgoing *cancel = outgoing_new(FRAME_CANCEL, NULL), *first;

	outgoing_init(&q, false);
	first = add(&q, 1, 200 * KIB);
	add(&q, 2, 200 * KIB);
	cr_expect(eq(u32, write_one(&q), 1));
	for (uint32_t id = 3; id <= 6; id++)
		add(&q, id, 40 * KIB);
	cr_expect(eq(u32, write_one(&q), 3));
	cr_expect(eq(u32, write_one(&q), 4));
	cancel->id = 1;
	outgoing_remove(&q, first);
	outgoing_add_cancel(&q, cancel);
	window_note_received(&q.window, q.window.sent, 0);
	cr_expect(eq(u32, write_one(&q), 1));
	cr_expect(eq(u32, write_one(&q), 2));
	release(&q);
}

/* They fill the window without waiting for it. */
Test(outgoing, small_requests_leave_a_large_one_its_turn)
{
	struct outgoing_queue q;
	size_t frames = 0;

	outgoing_init(&q, false);
	add(&q, 1, 300 * KIB);
	for (uint32_t id = 2; id < 32; id++) {
		add(&q, id, 40 * KIB);
		frames += write_one(&q) == 1;
	}
	cr_expect(eq(sz, frames, 5));
	release(&q);
}

/* More often than the stream's own thread is as fast by chance. */
#define OFTEN 100

Test(outgoing, the_thread_that_asks_writes_to_a_socket)
{
	AUTO_CLOSE int helper = -1;
	struct exchange asked[OFTEN];
	struct helper_link *link;
	struct error e = { 0 };
	int ends[2];

	cr_assert(zero(int, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)));
	helper = ends[1];
	cr_assert(zero(int, helper_link_new(&link, ends[0], ends[0], false, &e)), "%s", e.text);
	for (size_t n = 0; n < OFTEN; n++) {
		unsigned char frame[2 * FRAME_HEADER_SIZE];

		cr_assert(zero(int, exchange_begin(&asked[n], link, FRAME_HELLO, NULL, &e)));
		cr_assert(eq(int, (int)recv(helper, frame, sizeof frame, MSG_DONTWAIT),
			FRAME_HEADER_SIZE));
	}
	for (size_t n = 0; n < OFTEN; n++)
		exchange_end(&asked[n]);
	helper_link_free(link);
}
