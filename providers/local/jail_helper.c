#include "providers/local/jail_helper.h"

#include "providers/base/cleanup.h"
#include "providers/local/jail_options.h"
#include "providers/spawn.h"

#include <fcntl.h>

struct starting {
	const struct jail *jail;
	const char *dir;
};

static enum err start_bwrap(const struct starting *s, const struct helper_ends *ends,
	int fds[JAIL_FDS], pid_t *pid, struct error *e)
{
	static const char *const own[] = { "--remount-ro", "/dev", "--remount-ro", "/run", NULL };
	const char *const argv[] = { "bwrap", "--args", "3", "--", "/proc/self/fd/5", "serve",
		s->dir, JAIL_STAGING, NULL };
	enum err kind = jail_options_open(s->jail, own, NULL, fds, e);
	const int theirs[] = { ends->to_helper, ends->from_helper, fds[JAIL_ERR], fds[JAIL_ARGS],
		fds[JAIL_ERR], ends->program, fds[JAIL_FILTER], fds[JAIL_ERR], fds[JAIL_RESOLV] };

	return kind ? kind : jail_start(pid, argv, theirs, sizeof theirs / sizeof *theirs, e);
}
_Static_assert(JAIL_ARGS == 3 && JAIL_REPORT == 5 && JAIL_FILTER == 6 && JAIL_RESOLV == 8,
	"start_bwrap() names them");

static enum err start(void *context, const struct helper_ends *ends, pid_t *pid, struct error *e)
{
	int fds[JAIL_FDS] = JAIL_FDS_NONE;
	enum err kind;

	fds[JAIL_ERR] = spawn_fd(open("/dev/null", O_RDWR | O_CLOEXEC));
	kind = fds[JAIL_ERR] < 0 ? error_errno(e, errno, "/dev/null")
				 : start_bwrap(context, ends, fds, pid, e);
	for (int i = 0; i < JAIL_FDS; i++)
		cleanup_close(&fds[i]);
	return kind;
}

static enum err discard(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	(void)context, (void)stream, (void)bytes, (void)len, (void)e;
	return ERR_OK;
}

/* A helper that hung up without an answer: a command in such a jail says what bwrap lacks. */
static enum err explain(
	const struct jail *jail, const struct call *call, const struct error *said, struct error *e)
{
	const struct execute_request nothing = { .command = ":" };
	struct execute_result result;
	enum err kind = bubblewrap_run(jail, call, &nothing, "/", discard, NULL, &result, e);

	return kind ? kind : error_set(e, said->kind, "local: the helper: %s", said->text);
}

enum err jail_helper_start(struct helper_process *h, const struct jail *jail, const char *dir,
	const struct call *call, struct error *e)
{
	struct starting s = { .jail = jail, .dir = dir };
	struct error why = { 0 };
	enum err kind = helper_process_start_by(h, start, &s, call, &why);

	if (kind == ERR_UNREACHABLE || kind == ERR_PROTOCOL)
		return explain(jail, call, &why, e);
	return kind ? error_set(e, kind, "local: %s", why.text) : ERR_OK;
}
