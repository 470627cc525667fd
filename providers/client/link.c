#include "providers/client/link.h"

#include "providers/base/cleanup.h"
#include "providers/base/thread.h"
#include "providers/client/outgoing.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>

/* The most bytes that wait for one caller: a few of the largest frames. */
#define UNREAD_MAX ((size_t)4 * 1024 * 1024)
/* System calls in one direction before it is the other's turn. */
#define TURN 16

struct helper_link {
	pthread_t thread;
	int wake_fd; /* an eventfd: the state under the lock has changed */

	pthread_mutex_t lock;
	struct exchange *exchanges;  /* lock */
	struct outgoing_queue queue; /* lock */
	uint32_t last_id;            /* lock */
	struct error broken;         /* lock; ERR_OK: the link is whole */
	bool is_closing;             /* lock */
	/* lock; `arriving` is complete and its exchange has no room */
	bool is_held;

	_Atomic int64_t received_ms; /* when the helper last sent a byte */

	/* Used by the thread alone. */
	int to_fd, from_fd;
	unsigned char header[FRAME_HEADER_SIZE];
	struct frame frame;
	size_t got;               /* bytes so far of the header, or of the payload */
	uint32_t unreported;      /* bytes received since the last report */
	struct arrival *arriving; /* NULL: the header is being read */
};

static void wake(int fd)
{
	eventfd_write(fd, 1);
}

bool helper_link_is_broken(struct helper_link *l)
{
	bool is_broken;

	pthread_mutex_lock(&l->lock);
	is_broken = l->broken.kind != ERR_OK;
	pthread_mutex_unlock(&l->lock);
	return is_broken;
}

int64_t helper_link_received_ms(const struct helper_link *l)
{
	return l->received_ms;
}

/* ---- Requests ---- */

static struct exchange *find_exchange_locked(const struct helper_link *l, uint32_t id)
{
	for (struct exchange *x = l->exchanges; x; x = x->next)
		if (x->id == id)
			return x;
	return NULL;
}

/* The requests that still wait to be sent have made progress. */
static void note_progress_locked(const struct helper_link *l)
{
	for (const struct exchange *x = l->exchanges; x; x = x->next)
		if (!x->is_sent)
			wake(x->wake_fd);
}

/* Takes the request out of the queue when its last frame has left. */
static void note_sent_locked(struct helper_link *l, struct outgoing *o, size_t sent)
{
	struct exchange *x = find_exchange_locked(l, o->id);

	if (x)
		x->sent += sent;
	if (!outgoing_is_sent(o))
		return;
	if (x)
		x->is_sent = true;
	outgoing_remove(&l->queue, o);
}

static enum err write_some_locked(struct helper_link *l, struct error *e)
{
	enum err kind = ERR_OK;
	struct outgoing *o;
	ssize_t sent = 1;

	for (int i = 0; i < TURN && sent > 0 && (o = outgoing_next(&l->queue)); i++) {
		sent = outgoing_write(&l->queue, o, l->to_fd);
		if (sent > 0) {
			note_progress_locked(l);
			note_sent_locked(l, o, (size_t)sent);
		} else if (sent < 0 && errno != EAGAIN && errno != EINTR) {
			kind = error_set(e, ERR_UNREACHABLE, "the helper takes no more requests");
		}
	}
	return kind;
}

static enum err write_some(struct helper_link *l, struct error *e)
{
	enum err kind;

	pthread_mutex_lock(&l->lock);
	kind = write_some_locked(l, e);
	pthread_mutex_unlock(&l->lock);
	return kind;
}

/* ---- Answers ---- */

/* Many tiny frames must not cost more than a few large ones. */
static size_t cost_of(size_t len)
{
	return sizeof(struct arrival) + 2 * sizeof(void *) + len;
}

static void hand_over_locked(struct exchange *x, struct arrival *a)
{
	if (x->last)
		x->last->next = a;
	else
		x->first = a;
	x->last = a;
	x->unread_bytes += cost_of(a->len);
	x->is_over = a->type == FRAME_END;
}

static bool has_room_locked(const struct exchange *x, size_t len)
{
	return !x->first || x->unread_bytes + cost_of(len) <= UNREAD_MAX;
}

/*
 * Passes the complete frame to its exchange, or keeps it until there is room. No exchange: the call
 * was given up.
 */
static void deliver(struct helper_link *l)
{
	struct exchange *x;

	pthread_mutex_lock(&l->lock);
	x = find_exchange_locked(l, l->frame.id);
	l->is_held = x && !x->is_over && !has_room_locked(x, l->frame.len);
	if (!l->is_held) {
		bool is_sign_of_life = l->frame.type == FRAME_ITEMS && !l->frame.len;

		if (x && !x->is_over && !is_sign_of_life)
			hand_over_locked(x, take(l->arriving));
		if (x)
			wake(x->wake_fd);
		free(take(l->arriving));
		l->got = 0;
	}
	pthread_mutex_unlock(&l->lock);
}

static enum err check_type(const struct frame *f, struct error *e)
{
	if (f->type == FRAME_END || (f->type == FRAME_ITEMS && f->id) ||
		(f->type == FRAME_RECEIVED && !f->id))
		return ERR_OK;
	return error_set(e, ERR_PROTOCOL, "the helper sent a request");
}

static enum err begin_arrival(struct helper_link *l, struct error *e)
{
	enum err kind = frame_decode(l->header, &l->frame, e);

	if (kind == ERR_OK)
		kind = check_type(&l->frame, e);
	if (kind != ERR_OK)
		return kind;
	l->arriving = malloc(sizeof *l->arriving + l->frame.len);
	if (!l->arriving)
		return error_set(e, ERR_NO_MEMORY, "an answer of %u bytes", l->frame.len);
	*l->arriving = (struct arrival){ .type = l->frame.type, .len = l->frame.len };
	l->got = 0;
	return ERR_OK;
}

/* A frame of id 0 is about the stream. */
static struct buf payload_of(const struct arrival *a)
{
	return (struct buf){ .bytes = (unsigned char *)a->bytes, .len = a->len, .max = a->len };
}

static enum err take_report(struct helper_link *l, struct error *e)
{
	struct arrival *a = take(l->arriving);
	struct buf in = payload_of(a);
	uint32_t bytes;
	enum err kind = wire_get_received(&in, &bytes, e);

	free(a);
	l->got = 0;
	if (kind != ERR_OK)
		return kind;
	pthread_mutex_lock(&l->lock);
	if (!window_note_received(&l->queue.window, bytes, monotonic_ms()))
		kind = error_set(e, ERR_PROTOCOL, "the helper received more than was sent");
	pthread_mutex_unlock(&l->lock);
	return kind;
}

/* The helper's reason for stopping: every request fails with it. */
static enum err last_words(const struct arrival *a, struct error *e)
{
	struct buf in = payload_of(a);
	struct error said = { 0 };
	enum err kind = wire_get_end(&in, &said);

	if (kind == ERR_OK)
		return error_set(e, ERR_UNREACHABLE, "the helper ended");
	return error_set(e, kind, "the helper ended: %s", said.text);
}

/* A report that has not left waits for the next: no more than one is in the queue. */
static void report_received(struct helper_link *l)
{
	AUTO_BUF struct buf payload = BUF_INIT(sizeof l->unreported);
	struct outgoing *report;

	if (l->queue.costs_requests || l->unreported < RECEIVED_BYTES ||
		!wire_put_received(&payload, l->unreported))
		return;
	pthread_mutex_lock(&l->lock);
	report = outgoing_find(&l->queue, 0) ? NULL : outgoing_new(FRAME_RECEIVED, &payload);
	if (report) {
		outgoing_add(&l->queue, report);
		l->unreported = 0;
	}
	pthread_mutex_unlock(&l->lock);
}

/* One read(2); returns its result, or 0 when the stream has ended. */
static ssize_t read_piece(struct helper_link *l)
{
	unsigned char *dst = l->arriving ? l->arriving->bytes : l->header;
	size_t len = l->arriving ? l->frame.len : sizeof l->header;
	ssize_t got = read(l->from_fd, dst + l->got, len - l->got);

	if (got > 0) {
		l->got += (size_t)got;
		l->unreported += (uint32_t)got;
		l->received_ms = monotonic_ms();
	}
	return got;
}

/* Takes the parts that are complete. */
static enum err digest(struct helper_link *l, struct error *e)
{
	if (!l->arriving) {
		enum err kind = l->got == sizeof l->header ? begin_arrival(l, e) : ERR_OK;

		if (kind != ERR_OK || !l->arriving)
			return kind;
	}
	if (l->got < l->frame.len)
		return ERR_OK;
	if (l->frame.type == FRAME_RECEIVED)
		return take_report(l, e);
	if (!l->frame.id)
		return last_words(l->arriving, e);
	deliver(l);
	return ERR_OK;
}

static bool is_held(struct helper_link *l)
{
	bool held;

	pthread_mutex_lock(&l->lock);
	held = l->is_held;
	pthread_mutex_unlock(&l->lock);
	return held;
}

static enum err end_of_stream(const struct helper_link *l, struct error *e)
{
	bool is_cut = l->arriving || l->got;

	return error_set(e, ERR_UNREACHABLE,
		is_cut ? "the helper's answer is cut off" : "the helper has ended");
}

static enum err read_some(struct helper_link *l, struct error *e)
{
	for (int i = 0; i < TURN && !is_held(l); i++) {
		ssize_t got = read_piece(l);
		enum err kind;

		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return ERR_OK;
		if (got < 0)
			return error_set(
				e, ERR_UNREACHABLE, "reading from the helper: %s", strerror(errno));
		if (got == 0)
			return end_of_stream(l, e);
		kind = digest(l, e);
		if (kind != ERR_OK)
			return kind;
	}
	return ERR_OK;
}

/* ---- The thread ---- */

/* The events to wait for; false: the link is being closed. */
static bool look(struct helper_link *l, struct pollfd p[3])
{
	bool goes_on;

	pthread_mutex_lock(&l->lock);
	p[0] = (struct pollfd){ .fd = l->wake_fd, .events = POLLIN };
	p[1] = (struct pollfd){ .fd = l->is_held ? -1 : l->from_fd, .events = POLLIN };
	p[2] = (struct pollfd){ .fd = outgoing_next(&l->queue) ? l->to_fd : -1, .events = POLLOUT };
	goes_on = !l->is_closing;
	pthread_mutex_unlock(&l->lock);
	return goes_on;
}

static enum err move(struct helper_link *l, const struct pollfd p[3], struct error *e)
{
	eventfd_t ignored;
	enum err kind = ERR_OK;

	if (p[0].revents)
		eventfd_read(l->wake_fd, &ignored);
	if (is_held(l))
		deliver(l);
	/*
	 * Reading comes first: the helper's last message is worth more than the fact that it ended.
	 */
	if (p[1].revents)
		kind = read_some(l, e);
	if (kind == ERR_OK && p[2].revents)
		kind = write_some(l, e);
	/* After both: what came while a report was in the queue may be the last that comes. */
	report_received(l);
	return kind;
}

static void close_stream(struct helper_link *l)
{
	if (l->to_fd != l->from_fd)
		close(l->to_fd);
	close(l->from_fd);
}

static void break_link(struct helper_link *l, const struct error *why)
{
	pthread_mutex_lock(&l->lock);
	l->broken = *why;
	while (l->queue.first)
		outgoing_remove(&l->queue, l->queue.first);
	for (const struct exchange *x = l->exchanges; x; x = x->next)
		wake(x->wake_fd);
	pthread_mutex_unlock(&l->lock);
}

static void *run(void *context)
{
	struct helper_link *l = context;
	struct error why = { .kind = ERR_UNREACHABLE, .text = "the link to the helper is closed" };
	struct pollfd p[3];

	while (look(l, p))
		if (poll(p, 3, -1) > 0 && move(l, p, &why) != ERR_OK)
			break;
	break_link(l, &why);
	close_stream(l);
	return NULL;
}

static bool make_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

static enum err start(struct helper_link *l, struct error *e)
{
	if (!make_nonblocking(l->to_fd) || !make_nonblocking(l->from_fd))
		return error_errno(e, errno, "the helper's stream");
	l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->wake_fd < 0)
		return error_errno(e, errno, "eventfd");
	if (thread_start(&l->thread, run, l))
		return error_set(e, ERR_NO_MEMORY, "no thread for the helper's stream");
	return ERR_OK;
}

static void release(struct helper_link *l)
{
	free(l->arriving);
	if (l->wake_fd >= 0)
		close(l->wake_fd);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

enum err helper_link_new(
	struct helper_link **out, int to_fd, int from_fd, bool costs_requests, struct error *e)
{
	struct helper_link *l = malloc(sizeof *l);
	enum err kind;

	if (!l) {
		close_stream(&(struct helper_link){ .to_fd = to_fd, .from_fd = from_fd });
		return error_set(e, ERR_NO_MEMORY, "the link to the helper");
	}
	*l = (struct helper_link){
		.to_fd = to_fd, .from_fd = from_fd, .wake_fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER
	};
	outgoing_init(&l->queue, costs_requests);
	kind = start(l, e);
	if (kind != ERR_OK) {
		close_stream(l);
		release(l);
		return kind;
	}
	*out = l;
	return ERR_OK;
}

void helper_link_free(struct helper_link *l)
{
	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	assert(!l->exchanges);
	l->is_closing = true;
	pthread_mutex_unlock(&l->lock);
	wake(l->wake_fd);
	pthread_join(l->thread, NULL);
	release(l);
}

/* ---- Exchanges ---- */

/* Ids repeat after four thousand million; 0 is for the stream itself. */
static uint32_t next_id_locked(struct helper_link *l)
{
	do
		l->last_id++;
	while (!l->last_id || find_exchange_locked(l, l->last_id) ||
		outgoing_find(&l->queue, l->last_id));
	return l->last_id;
}

static enum err submit_locked(
	struct helper_link *l, struct exchange *x, struct outgoing *request, struct error *e)
{
	if (l->broken.kind != ERR_OK)
		return error_set(e, l->broken.kind, "%s", l->broken.text);
	x->id = request->id = x->cancel->id = next_id_locked(l);
	x->next = l->exchanges;
	l->exchanges = x;
	outgoing_add(&l->queue, request);
	return ERR_OK;
}

/*
 * The caller's thread writes what a socket takes at once, which saves a switch to the link's. That
 * thread does the rest, finds out what is wrong with the stream, and takes no signal of a pipe.
 */
static enum err submit(struct exchange *x, struct outgoing *request, struct error *e)
{
	struct helper_link *l = x->link;
	enum err kind;

	pthread_mutex_lock(&l->lock);
	kind = submit_locked(l, x, request, e);
	if (kind == ERR_OK && l->to_fd == l->from_fd)
		write_some_locked(l, NULL);
	if (l->queue.first)
		wake(l->wake_fd);
	pthread_mutex_unlock(&l->lock);
	return kind;
}

enum err exchange_begin(struct exchange *x, struct helper_link *l, enum frame_type type,
	struct buf *payload, struct error *e)
{
	struct outgoing *request = outgoing_new(type, payload);
	enum err kind = ERR_OK;

	*x = (struct exchange){ .link = l, .cancel = outgoing_new(FRAME_CANCEL, NULL) };
	x->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (x->wake_fd < 0)
		kind = error_errno(e, errno, "eventfd");
	if (!request || !x->cancel)
		kind = error_set(e, ERR_NO_MEMORY, "a request");
	if (kind == ERR_OK)
		kind = submit(x, request, e);
	if (kind == ERR_OK)
		return ERR_OK;
	outgoing_free(request);
	outgoing_free(x->cancel);
	cleanup_close(&x->wake_fd);
	return kind;
}

static struct arrival *pop_locked(struct exchange *x)
{
	struct arrival *a = x->first;

	if (!a)
		return NULL;
	x->first = a->next;
	if (!x->first)
		x->last = NULL;
	x->unread_bytes -= cost_of(a->len);
	if (x->link->is_held)
		wake(x->link->wake_fd);
	return a;
}

/* ERR_OK and NULL: no frame yet. */
static enum err try_next(
	struct exchange *x, const struct call *call, struct arrival **out, struct error *e)
{
	enum err kind = ERR_OK;
	uint64_t sent;

	pthread_mutex_lock(&x->link->lock);
	sent = x->sent;
	x->sent = 0;
	*out = pop_locked(x);
	if (!*out && x->link->broken.kind != ERR_OK)
		kind = error_set(e, x->link->broken.kind, "%s", x->link->broken.text);
	pthread_mutex_unlock(&x->link->lock);
	if (sent)
		call_sent(call, sent);
	return kind;
}

enum err exchange_next(
	struct exchange *x, const struct call *call, struct arrival **out, struct error *e)
{
	for (bool has_moved = false;; has_moved = true) {
		eventfd_t ignored;
		enum err kind;

		if (call && call->cancel && cancel_thrown(call->cancel))
			return error_set(e, ERR_INTERRUPTED, "interrupted");
		kind = try_next(x, call, out, e);
		if (*out || (kind == ERR_OK && has_moved))
			call_moved(call);
		if (kind != ERR_OK || *out)
			return kind;
		kind = call_wait_fd(call, x->wake_fd, POLLIN, e);
		if (kind != ERR_OK)
			return kind;
		eventfd_read(x->wake_fd, &ignored);
	}
}

/*
 * A request of which no byte was sent is dropped. Otherwise the helper gets a cancel, before any
 * other request.
 */
static void give_up_locked(struct exchange *x)
{
	struct outgoing *request = outgoing_find(&x->link->queue, x->id);

	if (request && !request->is_begun) {
		outgoing_remove(&x->link->queue, request);
		return;
	}
	if (request && request != x->link->queue.present)
		outgoing_remove(&x->link->queue, take(request));
	if (request)
		request->is_dropped = true;
	outgoing_add_cancel(&x->link->queue, take(x->cancel));
	wake(x->link->wake_fd);
}

static void leave_locked(struct exchange *x)
{
	struct exchange **at = &x->link->exchanges;

	while (*at != x)
		at = &(*at)->next;
	*at = x->next;
	if (!x->is_over && x->link->broken.kind == ERR_OK)
		give_up_locked(x);
	if (x->link->is_held)
		wake(x->link->wake_fd);
}

void exchange_end(struct exchange *x)
{
	pthread_mutex_lock(&x->link->lock);
	leave_locked(x);
	pthread_mutex_unlock(&x->link->lock);
	while (x->first) {
		struct arrival *a = x->first;

		x->first = a->next;
		free(a);
	}
	outgoing_free(x->cancel);
	close(x->wake_fd);
}
