#include "providers/local/nat.h"

#include "providers/base/cleanup.h"
#include "providers/spawn.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/wait.h>

#define PROGRAM "slirp4netns"
/* The descriptors of slirp4netns. */
enum nat_fd { NAT_IN, NAT_OUT, NAT_ERR, NAT_READY, NAT_EXIT, NAT_FDS };

static enum err refuse(const char *why, struct error *e)
{
	return error_set(e, ERR_UNSUPPORTED,
		"local: a network behind an address translation needs " PROGRAM ", %s", why);
}

static enum err launch(struct nat *n, char *const *argv, const int fds[NAT_FDS], struct error *e)
{
	enum err kind = spawn_client(&n->pid, SPAWN_INHERITS | SPAWN_APART, argv, fds, NAT_FDS, e);

	return kind ? refuse("which is not installed: apt install " PROGRAM, e) : ERR_OK;
}

/*
 * Waits for the byte that the program writes when ready; an end of file means that the program has
 * ended.
 */
static enum err await_ready(int ready, const struct call *call, struct error *e)
{
	char byte;
	enum err kind = call_wait_fd(call, ready, POLLIN, e);

	if (kind || read(ready, &byte, 1) == 1)
		return kind;
	return refuse("which could not make one here", e);
}

static enum err open_fds(int fds[NAT_FDS], int *ready, int *exit_fd, struct error *e)
{
	enum err kind;

	for (int i = NAT_IN; i <= NAT_ERR; i++)
		fds[i] = spawn_fd(open("/dev/null", O_RDWR | O_CLOEXEC));
	if (fds[NAT_ERR] < 0)
		return error_errno(e, errno, "/dev/null");
	kind = spawn_pipe(ready, &fds[NAT_READY], PROGRAM, e);
	return kind ? kind : spawn_pipe(&fds[NAT_EXIT], exit_fd, PROGRAM, e);
}

static enum err start(struct nat *n, char *const *argv, const struct call *call, struct error *e)
{
	int fds[NAT_FDS] = { -1, -1, -1, -1, -1 };
	AUTO_CLOSE int ready = -1;
	enum err kind = open_fds(fds, &ready, &n->exit_fd, e);

	if (!kind)
		kind = launch(n, argv, fds, e);
	for (int i = 0; i < NAT_FDS; i++)
		cleanup_close(&fds[i]);
	return kind || !call ? kind : await_ready(ready, call, e);
}

enum err nat_check(struct error *e)
{
	char *const argv[] = { PROGRAM, "--version", NULL };
	struct nat n = NAT_NONE;
	enum err kind = start(&n, argv, NULL, e);

	nat_stop(&n);
	if (!kind && access("/dev/net/tun", R_OK | W_OK))
		kind = refuse("which could not make one here: /dev/net/tun cannot be opened", e);
	return kind;
}

/* The program parses a command's packets, so it gives up its rights first, where it can. */
enum err nat_start(struct nat *n, pid_t jailed, const struct call *call, struct error *e)
{
	const struct call plain = { 0 };
	char pid[16];
	char *argv[] = { PROGRAM, "--enable-sandbox", "--configure", "--disable-host-loopback",
		"--ready-fd=3", "--exit-fd=4", pid, "tap0", NULL };
	struct error why = { 0 };
	enum err kind;

	snprintf(pid, sizeof pid, "%d", (int)jailed);
	kind = start(n, argv, call ? call : &plain, &why);
	if (kind != ERR_UNSUPPORTED)
		return kind ? error_set(e, kind, "%s", why.text) : ERR_OK;
	nat_stop(n);
	argv[1] = PROGRAM;
	return start(n, argv + 1, call ? call : &plain, e);
}
_Static_assert(NAT_READY == 3 && NAT_EXIT == 4, "nat_start() names them");

void nat_stop(struct nat *n)
{
	cleanup_close(&n->exit_fd);
	while (n->pid && waitpid(n->pid, NULL, 0) < 0 && errno == EINTR)
		;
	*n = NAT_NONE;
}
