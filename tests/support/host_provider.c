#include "tests/support/host_provider.h"

#include "providers/base/cleanup.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* One command's ends of its pipes. */
struct pipes {
	int in, out, err;
};

/* Spawned, not forked: under a sanitizer a process is costly to copy. */
static pid_t spawn_shell(const struct host_provider *h, const char *command, const int fds[3])
{
	char *const argv[] = { "sh", "-c", (char *)command, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t defaults;
	pid_t pid = -1;

	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigdefault(&attr, &defaults);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addchdir_np(&actions, h->root);
	for (int i = 0; i < 3; i++)
		posix_spawn_file_actions_adddup2(&actions, fds[i], i);
	errno = posix_spawn(&pid, "/bin/sh", &actions, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	return errno ? -1 : pid;
}

static pid_t start(
	const struct host_provider *h, const struct execute_request *r, struct pipes *ours)
{
	int in[2], out[2], err[2];
	pid_t pid;

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
		return -1;
	pid = spawn_shell(h, r->command, (const int[]){ in[0], out[1], err[1] });
	close(in[0]);
	close(out[1]);
	close(err[1]);
	*ours = (struct pipes){ .in = in[1], .out = out[0], .err = err[0] };
	fcntl(ours->in, F_SETFL, O_NONBLOCK);
	return pid;
}

static void give_input(struct pipes *p, const struct execute_request *r, size_t *given)
{
	ssize_t n = write(p->in, (const char *)r->input + *given, r->input_len - *given);

	*given += n > 0 ? (size_t)n : 0;
	if (*given < r->input_len && (n >= 0 || errno == EAGAIN))
		return;
	close(p->in);
	p->in = -1;
}

/* One read's worth of a stream; false at its end. */
static bool take_output(
	int fd, enum stream stream, execute_sink sink, void *context, enum err *k, struct error *e)
{
	char bytes[65536];
	ssize_t n = read(fd, bytes, sizeof bytes);

	if (n <= 0)
		return false;
	*k = sink(context, stream, bytes, (size_t)n, e);
	return true;
}

static enum err carry(struct pipes *p, const struct execute_request *r, execute_sink sink,
	void *context, struct error *e)
{
	size_t given = 0;
	enum err k = ERR_OK;

	while (k == ERR_OK && (p->out >= 0 || p->err >= 0)) {
		struct pollfd fds[] = { { .fd = p->in, .events = POLLOUT },
			{ .fd = p->out, .events = POLLIN }, { .fd = p->err, .events = POLLIN } };

		if (poll(fds, 3, 60000) <= 0)
			return error_set(e, ERR_TIMEOUT, "the command is silent");
		if (fds[0].revents)
			give_input(p, r, &given);
		if (fds[1].revents && !take_output(p->out, STREAM_OUT, sink, context, &k, e)) {
			close(p->out);
			p->out = -1;
		}
		if (k == ERR_OK && fds[2].revents &&
			!take_output(p->err, STREAM_ERR, sink, context, &k, e)) {
			close(p->err);
			p->err = -1;
		}
	}
	return k;
}

static enum err execute(struct provider *p, const struct call *call,
	const struct execute_request *request, execute_sink sink, void *context,
	struct execute_result *result, struct error *e)
{
	struct host_provider *h = (struct host_provider *)p;
	struct pipes pipes = { -1, -1, -1 };
	enum err k = ERR_OK;
	int status;
	pid_t pid;

	(void)call;
	h->executed++;
	signal(SIGPIPE, SIG_IGN);
	pid = start(h, request, &pipes);
	if (pid < 0)
		return error_errno(e, errno, "fork");
	k = carry(&pipes, request, sink, context, e);
	cleanup_close(&pipes.in);
	cleanup_close(&pipes.out);
	cleanup_close(&pipes.err);
	if (k != ERR_OK)
		kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	*result = (struct execute_result){ .has_exit_code = true,
		.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status) };
	return k;
}

/* ---- Files ---- */

static struct root *files_of(struct provider *p)
{
	return &((struct host_provider *)p)->files;
}

static enum err list(struct provider *p, const struct call *call,
	const struct list_request *request, list_sink sink, void *context, struct error *e)
{
	(void)call;
	return helper_list(files_of(p), request, sink, context, e);
}

static enum err fetch(struct provider *p, const struct call *call, const struct fetch_item *items,
	size_t items_count, fetch_sink sink, void *context, struct error *e)
{
	(void)call;
	return helper_fetch(files_of(p), items, items_count, sink, context, e);
}

static enum err apply(struct provider *p, const struct call *call,
	const struct apply_request *request, struct change_result *results, struct error *e)
{
	return helper_apply(files_of(p), call, request, results, e);
}

/* ---- Beginning and end ---- */

static const struct provider_ops host_ops = {
	.name = "host", .execute = execute, .list = list, .fetch = fetch, .apply = apply
};

void host_provider_init(struct host_provider *h, const char *dir)
{
	*h = (struct host_provider){ .base = { .ops = &host_ops } };
	snprintf(h->root, sizeof h->root, "%s/tree", dir);
	snprintf(h->staging, sizeof h->staging, "%s/staging", dir);
	mkdir(h->root, 0755);
	mkdir(h->staging, 0700);
	h->base.root = h->root;
	h->base.staging = h->staging;
	cr_assert(eq(int, root_open(&h->files, h->root, h->staging, NULL), ERR_OK));
}

void host_provider_end(struct host_provider *h)
{
	root_close(&h->files);
}
