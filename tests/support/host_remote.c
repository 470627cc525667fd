#include "tests/support/host_remote.h"

#include "providers/base/cleanup.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* The limit of every wait. */
#define DEADLINE_MS 60000
#define PIECES      5
/* The most output of one program that is kept. */
#define KEPT_MAX ((size_t)256 * 1024 * 1024)

/* ---- Uploads ---- */

struct uploading {
	const struct remote_upload *upload;
	bool has_holes;
	pthread_t thread;
	int stop_fd; /* readable: the program has ended */
	enum err kind;
};

static enum err write_piece(int fd, const struct remote_upload *u, size_t at, size_t len)
{
	return write(fd, (const char *)u->bytes + at, len) == (ssize_t)len ? ERR_OK : ERR_IO;
}

/* False: the program has ended, or does not look at the file any more. */
static bool wait_look(int watch_fd, int stop_fd)
{
	struct pollfd p[] = { { .fd = watch_fd, .events = POLLIN },
		{ .fd = stop_fd, .events = POLLIN } };
	char events[4096];

	return poll(p, 2, DEADLINE_MS) > 0 && !p[1].revents &&
		read(watch_fd, events, sizeof events) > 0;
}

static void *write_slowly(void *context)
{
	struct uploading *up = context;
	const struct remote_upload *u = up->upload;
	AUTO_CLOSE int fd = open(u->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	AUTO_CLOSE int watch_fd = inotify_init1(IN_CLOEXEC);
	size_t step = u->len / PIECES + 1;

	if (fd < 0) {
		up->kind = error_from_errno(errno);
		return NULL;
	}
	if (up->has_holes && ftruncate(fd, (off_t)u->len))
		up->kind = error_from_errno(errno);
	inotify_add_watch(watch_fd, u->path, IN_OPEN);
	for (size_t at = 0; at < u->len && up->kind == ERR_OK; at += step) {
		if (!wait_look(watch_fd, up->stop_fd))
			break;
		up->kind = write_piece(fd, u, at, u->len - at < step ? u->len - at : step);
	}
	return NULL;
}

static enum err upload(
	void *context, const struct call *call, const struct remote_upload *u, struct error *e)
{
	struct host_remote *h = context;
	AUTO_CLOSE int fd = open(u->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	(void)call;
	h->uploads++;
	if (fd < 0 || write_piece(fd, u, 0, u->len - atomic_exchange(&h->lost, 0)) != ERR_OK)
		return error_errno(e, errno, "%s", u->path);
	return ERR_OK;
}

/* ---- Downloads ---- */

static enum err pass_file(struct host_remote *h, int fd, off_t size, execute_sink sink,
	void *sink_context, struct error *e)
{
	char bytes[65536];
	enum err kind = ERR_OK;

	for (off_t at = 0; at < size && kind == ERR_OK;) {
		size_t left = (size_t)(size - at);
		ssize_t got = pread(fd, bytes, left < sizeof bytes ? left : sizeof bytes, at);

		if (got <= 0)
			return error_errno(e, got ? errno : EIO, "a download");
		kind = sink(sink_context, STREAM_OUT, bytes, (size_t)got, e);
		at += got;
	}
	h->downloaded += (size_t)size;
	return kind;
}

static enum err download(void *context, const struct call *call, const char *path,
	execute_sink sink, void *sink_context, struct error *e)
{
	struct host_remote *h = context;
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	(void)call;
	h->downloads++;
	if (h->loses_downloads)
		return error_set(e, ERR_NOT_FOUND, "%s", path);
	if (fd < 0 || fstat(fd, &st))
		return error_errno(e, errno, "%s", path);
	st.st_size -= (off_t)atomic_exchange(&h->download_lost, 0);
	return pass_file(h, fd, st.st_size, sink, sink_context, e);
}

/* ---- Programs ---- */

struct program {
	pid_t pid;
	int out, err; /* our ends */
};

/* Spawned, not forked: under a sanitizer a process is costly to copy. */
static int spawn(const struct host_remote *h, const char *const *argv, const int fds[3], pid_t *pid)
{
	bool is_shell = strcmp(argv[0], "/bin/sh") == 0 && h->shell;
	char home[160], path[160];
	char *const environment[] = { home, path, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t defaults;
	int number;

	snprintf(home, sizeof home, "HOME=%s", h->home);
	snprintf(path, sizeof path, "PATH=%s", h->path ? h->path : "/usr/bin:/bin");
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigdefault(&attr, &defaults);
	posix_spawn_file_actions_init(&actions);
	for (int i = 0; i < 3; i++)
		posix_spawn_file_actions_adddup2(&actions, fds[i], i);
	number = posix_spawn(pid, is_shell ? h->shell : argv[0], &actions, &attr,
		(char *const *)argv, environment);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	return number;
}

/* Starts the program. Returns the errno of a failure, or 0. */
static int start(const struct host_remote *h, const char *const *argv, struct program *p)
{
	AUTO_CLOSE int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int out[2], err[2], number;

	if (pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
		return errno;
	number = spawn(h, argv, (const int[]){ nothing, out[1], err[1] }, &p->pid);
	close(out[1]);
	close(err[1]);
	p->out = out[0];
	p->err = err[0];
	return number;
}

struct carrying {
	struct host_remote *h;
	const struct call *call;
	execute_sink sink;
	void *context;
	size_t carried;
	struct buf kept; /* is_late: until the end */
};

static enum err hand_on(
	struct carrying *c, enum stream stream, const char *bytes, size_t len, struct error *e)
{
	size_t step = c->h->piece ? c->h->piece : len;
	enum err kind = ERR_OK;

	for (size_t at = 0; at < len && kind == ERR_OK; at += step)
		kind = c->sink(
			c->context, stream, bytes + at, len - at < step ? len - at : step, e);
	return kind;
}

static enum err hand_on_output(struct carrying *c, const char *bytes, size_t len, struct error *e)
{
	size_t cut_after = c->h->cut_after;
	bool is_cut = cut_after && c->carried + len > cut_after;
	size_t whole = is_cut ? cut_after - c->carried : len;
	enum err kind = hand_on(c, STREAM_OUT, bytes, whole, e);

	c->carried += whole;
	c->h->output += whole;
	return kind == ERR_OK && is_cut ? error_set(e, ERR_UNREACHABLE, "the line is cut") : kind;
}

/* One read's worth of a stream. */
static enum err take_some(struct carrying *c, int *fd, enum stream stream, struct error *e)
{
	char bytes[65536];
	ssize_t got = read(*fd, bytes, sizeof bytes);

	if (got <= 0) {
		close(*fd);
		*fd = -1;
		return ERR_OK;
	}
	if (c->h->is_merged)
		stream = STREAM_OUT;
	if (c->h->is_late && stream == STREAM_OUT)
		return buf_add(&c->kept, bytes, (size_t)got) ? ERR_OK
							     : buf_check(&c->kept, "output", e);
	return stream == STREAM_OUT ? hand_on_output(c, bytes, (size_t)got, e)
				    : hand_on(c, stream, bytes, (size_t)got, e);
}

static enum err carry(struct carrying *c, struct program *p, struct error *e)
{
	const struct cancel *cancel = c->call ? c->call->cancel : NULL;
	enum err kind = ERR_OK;

	while (kind == ERR_OK && (p->out >= 0 || p->err >= 0)) {
		struct pollfd fds[] = { { .fd = p->out, .events = POLLIN },
			{ .fd = p->err, .events = POLLIN },
			{ .fd = cancel ? cancel->fd : -1, .events = POLLIN } };

		if (poll(fds, 3, DEADLINE_MS) <= 0)
			return error_set(e, ERR_TIMEOUT, "the program is silent");
		if (fds[2].revents)
			return error_set(e, ERR_INTERRUPTED, "interrupted");
		if (fds[0].revents)
			kind = take_some(c, &p->out, STREAM_OUT, e);
		if (kind == ERR_OK && fds[1].revents)
			kind = take_some(c, &p->err, STREAM_ERR, e);
	}
	return kind;
}

static enum err run_program(
	struct carrying *c, const char *const *argv, int *exit_code, struct error *e)
{
	struct program p = { .out = -1, .err = -1 };
	int status = 0, number = start(c->h, argv, &p);
	enum err kind = ERR_OK;

	if (c->h->greeting)
		kind = hand_on_output(c, c->h->greeting, strlen(c->h->greeting), e);
	if (kind == ERR_OK && !number)
		kind = carry(c, &p, e);
	cleanup_close(&p.out);
	cleanup_close(&p.err);
	/* The exit code that a shell reports. */
	*exit_code = number == ENOENT ? 127 : 126;
	if (number)
		return kind;
	if (kind != ERR_OK)
		kill(p.pid, SIGKILL);
	waitpid(p.pid, &status, 0);
	*exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return kind;
}

static enum err run(void *context, const struct call *call, const char *const *argv, unsigned flags,
	const struct remote_upload *u, execute_sink sink, void *sink_context, int *exit_code,
	struct error *e)
{
	struct host_remote *h = context;
	struct carrying c = { .h = h,
		.call = call,
		.sink = sink,
		.context = sink_context,
		.kept = BUF_INIT(KEPT_MAX) };
	struct uploading up = {
		.upload = u, .has_holes = h->has_holes, .stop_fd = eventfd(0, EFD_CLOEXEC)
	};
	enum err kind;

	h->runs++;
	h->flags = flags;
	h->uploads_in_runs += u != NULL;
	h->uploaded += u ? u->len : 0;
	if (u && pthread_create(&up.thread, NULL, write_slowly, &up))
		return error_set(e, ERR_NO_MEMORY, "a thread");
	kind = run_program(&c, argv, exit_code, e);
	if (kind == ERR_OK && c.kept.len)
		kind = hand_on_output(&c, buf_text(&c.kept), c.kept.len, e);
	buf_release(&c.kept);
	eventfd_write(up.stop_fd, 1);
	if (u)
		pthread_join(up.thread, NULL);
	close(up.stop_fd);
	return !u || up.kind == ERR_OK ? kind : error_set(e, up.kind, "%s", u->path);
}

static enum err listen(void *context, const struct call *call, const char *const *argv,
	execute_sink sink, void *sink_context, int *exit_code, struct error *e)
{
	return run(context, call, argv, 0, NULL, sink, sink_context, exit_code, e);
}

/* ---- The whole ---- */

void host_remote_init(struct host_remote *h, const char *home)
{
	*h = (struct host_remote){ .inline_max = 32768 };
	snprintf(h->home, sizeof h->home, "%s", home);
}

struct remote_ops host_remote_ops(struct host_remote *h)
{
	return (struct remote_ops){ .run = run,
		.upload = upload,
		.argument_max = 4096,
		.inline_max = h->inline_max,
		.inline_packed_max = h->inline_packed_max,
		.download = h->download_min ? download : NULL,
		.download_min = h->download_min,
		.is_text = h->is_text,
		.is_live = !h->is_late,
		.listen = h->is_late ? NULL : listen,
		.context = h };
}
