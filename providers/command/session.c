#include "providers/command/session.h"

#include "providers/base/cleanup.h"
#include "providers/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/*
 * A program ends when its input does: after this time SIGTERM is sent, and after this time again
 * SIGKILL.
 */
#define END_MS 2000
/* The most output of start-up files before a shell begins, and the most kept standard error. */
#define NOISE_MAX ((size_t)1024 * 1024)
#define PIECE     ((size_t)16 * 1024)

#define MARK_BEGIN "sandboxfs:"

enum session_fd { SESSION_IN, SESSION_OUT, SESSION_ERR, SESSION_FILE, SESSION_FDS };

/* ---- Starting a program ---- */

/* The program's end of the socket blocks, as programs expect. */
static enum err open_socket(int *ours, int *theirs, struct error *e)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return error_errno(e, errno, "a socket for a program");
	*ours = ends[0];
	*theirs = spawn_fd(ends[1]);
	if (*theirs < 0 || fcntl(*ours, F_SETFL, O_NONBLOCK))
		return error_errno(e, errno, "a socket for a program");
	return ERR_OK;
}

/*
 * The text has no reader once the helper runs. So the program has both ends of the pipe, which
 * never breaks, and a write that finds no room fails. A program may also open the pipe again, by
 * /dev/stderr.
 */
static enum err hold_both_ends(int *theirs, struct error *e)
{
	char path[32];
	int both;

	snprintf(path, sizeof path, "/proc/self/fd/%d", *theirs);
	both = spawn_fd(open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC));
	close(take_fd(theirs));
	*theirs = both;
	if (both < 0)
		return error_errno(e, errno, "a program's standard error");
	/* The kernel may keep the size that pipes have. */
	fcntl(both, F_SETPIPE_SZ, (int)NOISE_MAX);
	return ERR_OK;
}

static enum err open_error(struct session *s, int *theirs, struct error *e)
{
	enum err kind = spawn_pipe(&s->err, theirs, "a program", e);

	if (!kind && fcntl(s->err, F_SETFL, O_NONBLOCK))
		kind = error_errno(e, errno, "a pipe for a program");
	return kind || !s->is_kept ? kind : hold_both_ends(theirs, e);
}

enum err session_pair(struct session *s, unsigned flags, int *in, int *err, struct error *e)
{
	enum err kind = open_socket(&s->fd, in, e);

	s->is_kept = flags & SESSION_KEPT;
	s->is_apart = flags & SESSION_APART;
	return kind ? kind : open_error(s, err, e);
}

enum err session_start(
	struct session *s, const struct words *words, unsigned flags, struct error *e)
{
	unsigned how = SPAWN_INHERITS | (flags & SESSION_APART ? SPAWN_APART : 0);
	AUTO_CLOSE int in = -1;
	AUTO_CLOSE int err = -1;
	enum err kind = words_check(words, e);

	if (!kind)
		kind = session_pair(s, flags, &in, &err, e);
	if (kind)
		return kind;
	return spawn_client(&s->pid, how, words->argv,
		(const int[SESSION_FDS]){ in, in, err, s->file },
		s->file < 0 ? SESSION_FILE : SESSION_FDS, e);
}

/* ---- Kept output ---- */

/* Appends, and keeps the last SESSION_SAID_MAX bytes. */
static void keep_last(struct buf *b, const void *bytes, size_t len)
{
	const char *from = bytes;
	size_t skipped = len > SESSION_SAID_MAX ? len - SESSION_SAID_MAX : 0;

	buf_add(b, from + skipped, len - skipped);
	if (b->len > SESSION_SAID_MAX)
		buf_consume(b, b->len - SESSION_SAID_MAX);
}

static enum err too_noisy(struct error *e)
{
	return error_set(
		e, ERR_PROTOCOL, "more than %zu bytes came before its shell began", NOISE_MAX);
}

static enum err keep_output(
	void *context, bool is_error, const void *bytes, size_t len, struct error *e)
{
	struct session *s = context;

	keep_last(is_error ? &s->said : &s->noise, bytes, len);
	s->noise_len += len;
	return s->noise_len > NOISE_MAX ? too_noisy(e) : ERR_OK;
}

/* Reads no more than is there: the program may go on writing. */
static void read_kept(struct session *s)
{
	char text[PIECE];
	int left = 0;

	ioctl(s->err, FIONREAD, &left);
	while (left > 0) {
		ssize_t got = read(s->err, text, sizeof text);

		if (got <= 0)
			return;
		keep_last(&s->said, text, (size_t)got);
		left -= (int)got;
	}
}

static bool is_blank(const struct buf *b)
{
	const char *text = buf_text(b);

	return !text[strspn(text, " \t\r\n")];
}

const char *session_words(struct session *s)
{
	if (s->is_kept && s->err >= 0)
		read_kept(s);
	return buf_text(is_blank(&s->said) ? &s->noise : &s->said);
}

/* ---- Waiting ---- */

/* Waits until a descriptor is ready: the socket for `events`. */
static enum err wait_for(struct session *s, const struct call *call, short events,
	struct pollfd p[3], struct error *e)
{
	int64_t left_ms = call_left_ms(call);
	int found;

	p[0] = (struct pollfd){ .fd = s->fd, .events = events };
	p[1] = (struct pollfd){ .fd = s->is_kept ? -1 : s->err, .events = POLLIN };
	p[2] = (struct pollfd){ .fd = call && call->cancel ? call->cancel->fd : -1,
		.events = POLLIN };
	if (left_ms < 0)
		left_ms = 0;
	found = poll(p, 3, left_ms > 24 * 3600 * 1000 ? -1 : (int)left_ms);
	if (found < 0 && errno != EINTR)
		return error_errno(e, errno, "waiting for a program");
	if (found == 0)
		return error_set(e, ERR_TIMEOUT, "no answer within %d s",
			(int)(call_progress_ms(call) / 1000));
	return found > 0 && p[2].revents ? error_set(e, ERR_INTERRUPTED, "interrupted") : ERR_OK;
}

/* One read(2); *fd becomes -1 at the end. */
static enum err read_from(int *fd, bool is_error, const struct call *call, session_sink sink,
	void *context, struct error *e)
{
	char bytes[PIECE];
	ssize_t got = read(*fd, bytes, sizeof bytes);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return ERR_OK;
	if (got <= 0) {
		close(take_fd(fd));
		return ERR_OK;
	}
	call_moved(call);
	return sink(context, is_error, bytes, (size_t)got, e);
}

static enum err read_errors(struct session *s, const struct call *call, const struct pollfd *p,
	session_sink sink, void *context, struct error *e)
{
	return p->fd >= 0 && p->revents ? read_from(&s->err, true, call, sink, context, e) : ERR_OK;
}

/* ---- Sending ---- */

enum err session_send(
	struct session *s, const struct call *call, const void *bytes, size_t len, struct error *e)
{
	const char *from = bytes;
	enum err kind = ERR_OK;

	while (len && !kind) {
		struct pollfd p[3];
		ssize_t sent = send(s->fd, from, len, MSG_NOSIGNAL);

		if (sent > 0) {
			from += sent;
			len -= (size_t)sent;
			call_sent(call, (uint64_t)sent);
			call_moved(call);
			continue;
		}
		if (errno != EAGAIN && errno != EINTR)
			return error_set(e, ERR_UNREACHABLE, "it takes no input");
		kind = wait_for(s, call, POLLOUT, p, e);
		if (!kind)
			kind = read_errors(s, call, &p[1], keep_output, s, e);
	}
	return kind;
}

void session_send_end(struct session *s)
{
	shutdown(s->fd, SHUT_WR);
}

/* ---- The mark ---- */

struct mark {
	char text[48]; /* with its end of line */
	size_t len;
	char number[17];
};

static enum err make_mark(struct mark *m, struct error *e)
{
	uint64_t random;

	if (getrandom(&random, sizeof random, 0) != sizeof random)
		return error_errno(e, errno, "a random number");
	snprintf(m->number, sizeof m->number, "%016" PRIx64, random);
	m->len = (size_t)snprintf(m->text, sizeof m->text, MARK_BEGIN "%s\n", m->number);
	return ERR_OK;
}

/*
 * Peeks at the available output and takes it up to the end of the mark: the rest is for the next
 * reader. *taken 0: the output has ended.
 */
static bool take_up_to_mark(
	struct session *s, const struct mark *m, struct buf *before, size_t *taken)
{
	char bytes[PIECE];
	ssize_t got = recv(s->fd, bytes, sizeof bytes, MSG_PEEK);
	size_t had = before->len;
	const char *found;

	*taken = got > 0 ? (size_t)got : 0;
	if (got <= 0)
		return false;
	buf_add(before, bytes, (size_t)got);
	found = memmem(before->bytes, before->len, m->text, m->len);
	if (found)
		*taken = (size_t)(found - (char *)before->bytes) + m->len - had;
	recv(s->fd, bytes, *taken, 0);
	return found;
}

static enum err ended_early(struct session *s, const struct call *call, struct error *e)
{
	int exit_code;
	enum err kind = session_follow(s, call, keep_output, s, &exit_code, e);

	return kind ? kind
		    : error_set(e, ERR_UNREACHABLE, "it ended (exit code %d) without a shell",
			      exit_code);
}

static enum err await_mark(
	struct session *s, const struct call *call, const struct mark *m, struct error *e)
{
	AUTO_BUF struct buf before = BUF_INIT(NOISE_MAX);
	struct pollfd p[3];
	enum err kind = ERR_OK;

	while (!kind && !before.failed) {
		size_t taken = 1;

		kind = wait_for(s, call, POLLIN, p, e);
		/* Errors behind the mark are of what runs then, so the mark is sought first. */
		if (!kind && p[1].revents)
			poll(p, 1, 0);
		if (!kind && p[0].revents && take_up_to_mark(s, m, &before, &taken))
			return ERR_OK;
		if (!kind)
			kind = read_errors(s, call, &p[1], keep_output, s, e);
		if (kind || !p[0].revents)
			continue;
		call_moved(call);
		if (taken)
			continue;
		keep_last(&s->noise, before.bytes, before.len);
		return ended_early(s, call, e);
	}
	keep_last(&s->noise, before.bytes, before.len);
	return kind ? kind : too_noisy(e);
}

/* The mark is sent in two words, so that an echo of the line is no mark. */
enum err session_open(
	struct session *s, const struct call *call, const struct buf *text, struct error *e)
{
	AUTO_BUF struct buf line = BUF_INIT(text->len + 200);
	struct mark m;
	struct error why = { 0 };
	enum err kind = make_mark(&m, e);

	buf_printf(&line, "printf '%%s%%s\\n' '" MARK_BEGIN "' %s; ", m.number);
	buf_add(&line, text->bytes, text->len);
	buf_add_byte(&line, '\n');
	if (!kind)
		kind = buf_check(&line, "a line for a shell", e);
	if (kind)
		return kind;
	kind = session_send(s, call, line.bytes, line.len, &why);
	if (kind == ERR_UNREACHABLE)
		return ended_early(s, call, e);
	return kind ? error_set(e, kind, "%s", why.text) : await_mark(s, call, &m, e);
}

/* ---- The end of a program ---- */

static bool ends_within(pid_t pid, int64_t ms)
{
	AUTO_CLOSE int pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd ended = { .fd = pid_fd, .events = POLLIN };

	return pid_fd >= 0 && poll(&ended, 1, (int)ms) > 0;
}

static int wait_for_end(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 128;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static enum err await_end(
	struct session *s, const struct call *call, int *exit_code, struct error *e)
{
	AUTO_CLOSE int pid_fd = (int)syscall(SYS_pidfd_open, s->pid, 0);
	enum err kind = pid_fd < 0 ? error_errno(e, errno, "a program's end")
				   : call_wait_fd(call, pid_fd, POLLIN, e);

	if (!kind)
		*exit_code = wait_for_end(s->pid);
	if (!kind)
		s->pid = 0;
	return kind;
}

/* Reads what the pipe holds after the program has ended: other processes may keep writing to it. */
static enum err read_rest(struct session *s, const struct call *call, session_sink sink,
	void *context, struct error *e)
{
	enum err kind = ERR_OK;
	int left = 0;

	if (s->err >= 0)
		ioctl(s->err, FIONREAD, &left);
	for (; !kind && left > 0 && s->err >= 0; left -= (int)PIECE)
		kind = read_from(&s->err, true, call, sink, context, e);
	return kind;
}

/*
 * A background process of the sandbox may hold both outputs open: the program's end is enough for
 * standard error.
 */
enum err session_follow(struct session *s, const struct call *call, session_sink sink,
	void *context, int *exit_code, struct error *e)
{
	struct pollfd p[3];
	enum err kind = ERR_OK;

	while (!kind && s->fd >= 0) {
		kind = wait_for(s, call, POLLIN, p, e);
		if (!kind)
			kind = read_errors(s, call, &p[1], sink, context, e);
		if (!kind && p[0].revents)
			kind = read_from(&s->fd, false, call, sink, context, e);
	}
	if (!kind)
		kind = s->exit_of ? s->exit_of(s, call, exit_code, e)
				  : await_end(s, call, exit_code, e);
	return kind || s->is_kept ? kind : read_rest(s, call, sink, context, e);
}

void session_take(struct session *s, int *fd, pid_t *pid)
{
	*fd = take_fd(&s->fd);
	*pid = s->pid;
	s->pid = 0;
}

void session_reap(pid_t pid)
{
	if (!ends_within(pid, END_MS))
		kill(pid, SIGTERM);
	if (!ends_within(pid, END_MS))
		kill(pid, SIGKILL);
	wait_for_end(pid);
}

void session_release(struct session *s)
{
	cleanup_close(&s->fd);
	cleanup_close(&s->err);
	if (s->pid) {
		kill(s->is_apart ? -s->pid : s->pid, SIGTERM);
		session_reap(s->pid);
	}
	buf_release(&s->said);
	buf_release(&s->noise);
	*s = (struct session)SESSION_NONE;
}
