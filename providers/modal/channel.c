/*
 * A program that is kept. One end of a socket pair is the program's input and output. Two threads
 * serve the other end here and carry bytes between it and the worker. The owner of the first end
 * does not notice a broken connection, since both directions go on at their offsets. When the
 * program ends, or the worker has lost it, that end hangs up.
 */
#include "providers/base/cleanup.h"
#include "providers/base/condition.h"
#include "providers/base/log.h"
#include "providers/base/thread.h"
#include "providers/modal/modal.h"
#include "providers/remote/text.h"

#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

/* The most bytes in one write. */
#define PIECE_MAX ((size_t)4 * 1024 * 1024)
/*
 * A piece is sent as soon as it has arrived. A piece of BULK bytes may be followed by more, which
 * the socket's size holds back: that waits BULK_MS.
 */
#define BULK    ((size_t)64 * 1024)
#define BULK_MS 10
/* The longest wait for the worker when the channels are released. */
#define FAREWELL_MS 3000
/* The input of a lost program is ended: repeated for LOST_MS, with a pause between. */
#define LOST_MS       60000
#define LOST_PAUSE_MS 500

struct channels {
	pthread_mutex_t lock;
	pthread_cond_t ended;
	size_t count; /* lock */
	struct cancel give_up;
};

struct channel {
	struct channels *all;
	struct modal *m;
	struct worker_exec exec;
	/* the limit for each write, from the call that started the program */
	int64_t progress_ms;
	int fd;
	unsigned users;      /* all->lock; threads that have not ended */
	atomic_bool is_over; /* the program has ended, or is lost: its input need not be ended */
};

enum err channels_new(struct channels **out, struct error *e)
{
	struct channels *c = calloc(1, sizeof *c);
	enum err kind;

	if (!c)
		return error_set(e, ERR_NO_MEMORY, "modal");
	kind = cancel_init(&c->give_up, e);
	if (kind) {
		free(c);
		return kind;
	}
	pthread_mutex_init(&c->lock, NULL);
	condition_init(&c->ended);
	*out = c;
	return ERR_OK;
}

void channels_free(struct channels *c)
{
	int64_t end_ms = monotonic_ms() + FAREWELL_MS;

	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	while (c->count && condition_wait_until(&c->ended, &c->lock, end_ms))
		continue;
	cancel_throw(&c->give_up);
	while (c->count)
		pthread_cond_wait(&c->ended, &c->lock);
	pthread_mutex_unlock(&c->lock);
	cancel_release(&c->give_up);
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->ended);
	free(c);
}

/* ---- The two threads ---- */

/* Ends the waiting of the other thread and of the first end's owner. */
static void hang_up(const struct channel *ch)
{
	shutdown(ch->fd, SHUT_RDWR);
}

/* The last thread of the two frees the channel. */
static void leave(struct channel *ch)
{
	struct channels *all = ch->all;
	bool is_last;

	hang_up(ch);
	pthread_mutex_lock(&all->lock);
	is_last = --ch->users == 0;
	pthread_mutex_unlock(&all->lock);
	if (!is_last)
		return;
	close(ch->fd);
	free(ch);
	pthread_mutex_lock(&all->lock);
	all->count--;
	pthread_cond_broadcast(&all->ended);
	pthread_mutex_unlock(&all->lock);
}

static void note_end(const struct channel *ch, enum err kind, const struct error *e)
{
	if (kind && kind != ERR_INTERRUPTED)
		log_info(LOG_PROVIDER, "modal:%s: a program that was kept is lost: %s",
			ch->m->at.id, e->text);
}

/* Without a request there is no deadline: only a call under way has one. */
static struct call call_of(const struct channel *ch, bool is_asking)
{
	return (struct call){ .progress_ms = is_asking ? ch->progress_ms : -1,
		.cancel = &ch->all->give_up };
}

/*
 * Waits for the first byte, and after a large part for more. *is_end: the input ends after this
 * piece.
 */
static size_t take_piece(const struct channel *ch, unsigned char *piece, bool *is_end)
{
	struct pollfd p = { .fd = ch->fd, .events = POLLIN };
	size_t len = 0;
	ssize_t got;

	do {
		got = recv(ch->fd, piece + len, PIECE_MAX - len, 0);
		len += got > 0 ? (size_t)got : 0;
	} while (got >= (ssize_t)BULK && len < PIECE_MAX && poll(&p, 1, BULK_MS) > 0);
	*is_end = got <= 0;
	return len;
}

static enum err feed_on(struct channel *ch, unsigned char *piece, struct error *e)
{
	const struct call call = call_of(ch, true);
	bool is_end = false;
	enum err kind = ERR_OK;

	while (!kind && !is_end) {
		size_t len = take_piece(ch, piece, &is_end);

		if (ch->is_over)
			break;
		kind = exec_write(&ch->exec, &call, piece, len, is_end, e);
	}
	return kind;
}

static bool is_passing(enum err kind)
{
	return kind == ERR_TIMEOUT || kind == ERR_UNREACHABLE || kind == ERR_IO;
}

/* Without an end of its input a lost program runs on, and its sandbox is never idle. */
static void end_lost(struct channel *ch)
{
	const struct call call = call_of(ch, true);
	const int64_t end_ms = monotonic_ms() + LOST_MS;
	struct error ignored;

	while (!ch->is_over && monotonic_ms() < end_ms &&
		is_passing(exec_end_input(&ch->exec, &call, &ignored)) &&
		!grpc_pause(&call, LOST_PAUSE_MS, &ignored))
		continue;
}

static void *feed(void *context)
{
	struct channel *ch = context;
	AUTO_FREE unsigned char *piece = malloc(PIECE_MAX);
	struct error e = { 0 };
	enum err kind = piece ? feed_on(ch, piece, &e) : error_set(&e, ERR_NO_MEMORY, "modal");

	note_end(ch, kind, &e);
	/* The program ends now, and its remaining output is not read. */
	hang_up(ch);
	if (kind)
		end_lost(ch);
	leave(ch);
	return NULL;
}

static enum err pass_on(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	const struct channel *ch = context;
	const unsigned char *at = bytes;

	if (stream != STREAM_OUT)
		return ERR_OK;
	while (len) {
		ssize_t sent = send(ch->fd, at, len, MSG_NOSIGNAL);

		if (sent <= 0)
			return error_set(e, ERR_INTERRUPTED, "nobody listens any more");
		at += sent;
		len -= (size_t)sent;
	}
	return ERR_OK;
}

/* Waits until there is output, or the channels are given up; false: the first end is closed. */
static bool await_output(const struct channel *ch, const struct follower *out)
{
	struct pollfd fds[] = { { .fd = follower_fd(out), .events = POLLIN },
		{ .fd = ch->all->give_up.fd, .events = POLLIN }, { .fd = ch->fd } };

	return poll(fds, 3, -1) < 0 || !fds[2].revents;
}

static void *listen_to(void *context)
{
	struct channel *ch = context;
	const struct call call = call_of(ch, false);
	struct follower out = { .exec = &ch->exec, .kind = FOLLOW_OUT };
	enum grpc_status status;
	struct error e = { 0 };
	enum err kind = follow_begin(&out, &call, &e);

	while (!kind && !out.is_over && await_output(ch, &out))
		kind = follow(&out, &call, pass_on, ch, &status, &e);
	follow_end(&out);
	ch->is_over = kind || out.is_over;
	note_end(ch, kind, &e);
	leave(ch);
	return NULL;
}

/* ---- Opening a channel ---- */

static bool start_thread(void *(*run)(void *), struct channel *ch)
{
	pthread_t thread;
	bool is_started = !thread_start(&thread, run, ch);

	if (is_started)
		pthread_detach(thread);
	else
		leave(ch);
	return is_started;
}

static enum err serve(struct channel *ch, struct error *e)
{
	struct channels *all = ch->all;
	bool feeds, listens;

	pthread_mutex_lock(&all->lock);
	all->count++;
	ch->users = 2;
	pthread_mutex_unlock(&all->lock);
	feeds = start_thread(feed, ch);
	listens = start_thread(listen_to, ch);
	return feeds && listens ? ERR_OK : error_set(e, ERR_NO_MEMORY, "modal: threads");
}

static enum err open_channel(struct channel *ch, const struct call *call, const char *const *argv,
	int *fd, struct error *e)
{
	AUTO_BUF struct buf text = BUF_INIT(WORKER_ARGUMENTS_MAX);
	const char *shell[] = { "/bin/sh", "-c", NULL, NULL };
	enum grpc_status status;
	int ends[2];
	enum err kind;

	/* Modal's arguments are UTF-8, and paths need not be. */
	remote_text_add(&text, argv);
	kind = buf_check(&text, "a command", e);
	if (kind)
		return kind;
	shell[2] = buf_text(&text);
	kind = exec_start(&ch->exec, ch->m->worker, call, shell, &status, e);
	if (kind)
		return modal_explain(ch->m, call, kind, status, e);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return error_errno(e, errno, "a socket");
	*fd = ends[0];
	ch->fd = ends[1];
	return ERR_OK;
}

enum err modal_keep(
	void *context, const struct call *call, const char *const *argv, int *fd, struct error *e)
{
	struct modal *m = context;
	struct channel *ch;
	enum err kind = attachment_check(&m->at, e);

	if (kind)
		return kind;
	ch = malloc(sizeof *ch);
	if (!ch)
		return error_set(e, ERR_NO_MEMORY, "modal");
	*ch = (struct channel){
		.all = m->channels, .m = m, .progress_ms = call_progress_ms(call), .fd = -1
	};
	kind = open_channel(ch, call, argv, fd, e);
	if (kind) {
		free(ch);
		return kind;
	}
	kind = serve(ch, e);
	if (kind)
		close(*fd);
	return kind;
}
