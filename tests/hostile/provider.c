/*
 * The provider of sandboxfs-hostile, which stands where `local:` does (tests/check.mk): its helper
 * lies (liar.c), and so do the answers to commands. All else is sandboxfs as it is.
 *
 * The environment says how: LIAR, the program; LIAR_HELPER, the honest one; LIAR_DIR, which has the
 * directories tree and staging, and the file counts; LIAR_SECRET; LIAR_SEED.
 */
#include "providers/base/cleanup.h"
#include "providers/client/client.h"
#include "providers/provider.h"
#include "tests/hostile/chance.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define IDLE_MS 5000

struct hostile {
	struct provider base;
	char root[1024], staging[1024], counts_file[1024];
	_Atomic uint64_t *counts;
	_Atomic unsigned starts, commands;
	_Atomic pid_t pid; /* the helper that was started last */
};

extern const struct provider_ops hostile_provider;

static uint64_t seed(void)
{
	return strtoull(getenv("LIAR_SEED"), NULL, 0);
}

/* ---- The helper ---- */

static void end_before(struct hostile *h)
{
	pid_t pid = atomic_exchange(&h->pid, 0);

	if (pid <= 0)
		return;
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static enum err spawn_liar(struct hostile *h, int fd, struct error *e)
{
	char number[32];
	char *const argv[] = { "liar", number, getenv("LIAR_HELPER"), h->root, h->staging,
		getenv("LIAR_SECRET"), h->counts_file, NULL };
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int failure;

	snprintf(number, sizeof number, "%llu",
		(unsigned long long)(seed() * 1000 + atomic_fetch_add(&h->starts, 1)));
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fd, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, fd, STDOUT_FILENO);
	posix_spawn_file_actions_addclosefrom_np(&actions, 3);
	failure = posix_spawn(&pid, getenv("LIAR"), &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (failure)
		return error_errno(e, failure, "%s", getenv("LIAR"));
	atomic_store(&h->pid, pid);
	return ERR_OK;
}

static enum err start(void *context, const struct call *call, int *fd, struct error *e)
{
	struct hostile *h = context;
	int ends[2];
	enum err kind;

	(void)call;
	end_before(h);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return error_errno(e, errno, "socketpair");
	kind = spawn_liar(h, ends[1], e);
	close(ends[1]);
	if (kind)
		close(ends[0]);
	else
		*fd = ends[0];
	return kind;
}

static enum err mend(void *context, const struct call *call, struct error *e)
{
	(void)context, (void)call, (void)e;
	return ERR_OK;
}

/* Starts the liar again until its hello can be read: its stream may lie from the beginning. */
static enum err learn_hello(
	struct hostile *h, const struct call *call, struct hello *hello, struct error *e)
{
	struct helper_client *first;
	enum err kind = ERR_IO;
	int fd, other;

	for (int n = 0; n < 20 && kind; n++) {
		kind = start(h, call, &fd, e);
		other = kind ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
		if (!kind)
			kind = helper_client_new(&first, fd, other, call, e);
	}
	if (kind)
		return kind;
	*hello = *helper_client_hello(first);
	helper_client_free(first);
	return ERR_OK;
}

/* ---- The provider's life ---- */

static void hostile_release(struct provider *p)
{
	struct hostile *h = (struct hostile *)p;

	if (p->helper)
		helper_client_free(p->helper);
	end_before(h);
	if (h->counts)
		munmap((void *)(uintptr_t)h->counts, COUNTS * sizeof *h->counts);
	free(h);
}

static enum err open_counts(struct hostile *h, struct error *e)
{
	AUTO_CLOSE int fd = open(h->counts_file, O_RDWR | O_CLOEXEC);

	void *counts = fd < 0
		? MAP_FAILED
		: mmap(NULL, COUNTS * sizeof *h->counts, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (counts == MAP_FAILED)
		return error_errno(e, errno, "%s", h->counts_file);
	h->counts = counts;
	return ERR_OK;
}

static enum err hostile_connect(const struct provider_config *cfg, const struct call *call,
	struct provider **out, struct error *e)
{
	struct hostile *h = calloc(1, sizeof *h);
	struct hello hello;
	enum err kind;

	(void)cfg;
	if (!h)
		return error_set(e, ERR_NO_MEMORY, "hostile");
	h->base.ops = &hostile_provider;
	snprintf(h->root, sizeof h->root, "%s/tree", getenv("LIAR_DIR"));
	snprintf(h->staging, sizeof h->staging, "%s/staging", getenv("LIAR_DIR"));
	snprintf(h->counts_file, sizeof h->counts_file, "%s/counts", getenv("LIAR_DIR"));
	h->base.root = h->root;
	h->base.staging = h->staging;
	kind = open_counts(h, e);
	if (!kind)
		kind = learn_hello(h, call, &hello, e);
	const struct helper_keeper keeper = {
		.start = start, .mend = mend, .idle_ms = IDLE_MS, .context = h
	};
	if (!kind)
		kind = helper_client_new_kept(&h->base.helper, &keeper, &hello, e);
	if (kind)
		hostile_release(&h->base);
	else
		*out = &h->base;
	return kind;
}

static enum err hostile_info(
	struct provider *p, const struct call *call, struct sandbox_info *out, struct error *e)
{
	struct hostile *h = (struct hostile *)p;

	(void)call, (void)e;
	*out = (struct sandbox_info){ .state = SANDBOX_RUNNING,
		.expires_s = -1,
		.id = "hostile",
		.identity = { .uid = geteuid(), .gid = getegid() } };
	snprintf(out->root, sizeof out->root, "%s", h->root);
	return ERR_OK;
}

/* ---- Commands ---- */

static enum err say(struct chance *c, execute_sink sink, void *context, struct error *e)
{
	static const char text[] = "{\"exit_code\": 7}\n\xc2\x9b[2J\xff\xfe\0\r\n../../secret";
	char bytes[65536];
	size_t len = chance_below(c, sizeof bytes);

	for (size_t n = 0; n < len; n++)
		bytes[n] = chance_once_in(c, 9) ? (char)chance_any(c) : text[n % sizeof text];
	return sink(context, chance_once_in(c, 3) ? STREAM_ERR : STREAM_OUT, bytes, len, e);
}

/* No command is run. */
static enum err hostile_execute(struct provider *p, const struct call *call,
	const struct execute_request *request, execute_sink sink, void *context,
	struct execute_result *result, struct error *e)
{
	struct hostile *h = (struct hostile *)p;
	struct chance c = chance_of(seed() + 77 * atomic_fetch_add(&h->commands, 1));
	uint64_t pieces = chance_once_in(&c, 20) ? 600 : chance_below(&c, 4);
	enum err kind = ERR_OK;

	(void)request;
	atomic_fetch_add(&h->counts[COUNT_COMMANDS], 1);
	*result = (struct execute_result){ .has_exit_code = chance_once_in(&c, 2),
		.exit_code = (int)chance_any(&c),
		.timed_out = chance_once_in(&c, 5),
		.may_have_run = chance_once_in(&c, 2) };
	for (uint64_t n = 0; !kind && n < pieces; n++)
		kind = say(&c, sink, context, e);
	if (!kind && call && call->cancel && cancel_thrown(call->cancel))
		kind = error_set(e, ERR_INTERRUPTED, "cancelled");
	if (!kind && chance_once_in(&c, 4))
		kind = error_set(e, (enum err)(1 + chance_below(&c, ERR_OVERFLOW)),
			"no such command\n\x1b[31m");
	return kind;
}

const struct provider_ops hostile_provider = {
	.name = "local",
	.title = "A hostile sandbox",
	.key_names = "",
	.caps = PROVIDER_NAMES_IDS | PROVIDER_KEEPS_HELPER,
	.connect_options = OPTION_USER | OPTION_RESUME_NEVER,
	.connect = hostile_connect,
	.release = hostile_release,
	.info = hostile_info,
	.execute = hostile_execute,
};
