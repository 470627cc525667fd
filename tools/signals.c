#include "tools/signals.h"

#include "fs/audit.h"
#include "fs/mount.h"
#include "providers/base/cleanup.h"
#include "providers/base/log.h"
#include "providers/base/thread.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

struct signals {
	pthread_t thread;
	sigset_t set;
	struct cancel cancel;
	atomic_int taken;
	pthread_mutex_t lock;
	struct mount *mount; /* lock */
	struct audit *audit; /* lock; NULL: HUP ends the mount */
	bool ignores_hup;    /* HUP must not end this process */
	bool ending;         /* lock */
};

const struct cancel *signals_cancel(const struct signals *s)
{
	return &s->cancel;
}

int signals_taken(const struct signals *s)
{
	return atomic_load(&s->taken);
}

_Noreturn void signals_die(int number)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, number);
	signal(number, SIG_DFL);
	raise(number);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	_exit(128 + number);
}

/*
 * A terminal that has gone cannot be opened. A mount in the foreground of an existing terminal ends
 * with HUP.
 */
static bool has_terminal(void)
{
	AUTO_CLOSE int fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);

	return fd >= 0;
}

/* Returns false for the signal of signals_free(). */
static bool handle(struct signals *s, int number)
{
	pthread_mutex_lock(&s->lock);
	bool ending = s->ending;

	if (!ending && number == SIGHUP && s->audit && (s->ignores_hup || !has_terminal())) {
		audit_reopen(s->audit);
	} else if (!ending && !(number == SIGHUP && s->ignores_hup)) {
		log_info(LOG_TOOLS, "ending: %s", strsignal(number));
		atomic_store(&s->taken, number);
		cancel_throw(&s->cancel);
		if (s->mount)
			mount_stop(s->mount);
	}
	pthread_mutex_unlock(&s->lock);
	return !ending;
}

static void *wait_for_signals(void *context)
{
	struct signals *s = context;
	int number;

	while (sigwait(&s->set, &number) || handle(s, number))
		;
	return NULL;
}

void signals_reopen(struct signals *s, struct audit *audit)
{
	pthread_mutex_lock(&s->lock);
	s->audit = audit;
	pthread_mutex_unlock(&s->lock);
}

void signals_stop(struct signals *s, struct mount *mount)
{
	pthread_mutex_lock(&s->lock);
	s->mount = mount;
	if (mount && cancel_thrown(&s->cancel))
		mount_stop(mount);
	pthread_mutex_unlock(&s->lock);
}

static bool is_ignored(int number)
{
	struct sigaction action;

	return !sigaction(number, NULL, &action) && action.sa_handler == SIG_IGN;
}

/* The caller may want INT and HUP ignored: nohup(1), a shell script's `&`. */
static void choose(struct signals *s)
{
	sigemptyset(&s->set);
	sigaddset(&s->set, SIGTERM);
	if (!is_ignored(SIGINT))
		sigaddset(&s->set, SIGINT);
	/* A blocked signal arrives although it is ignored: HUP may mean to open a file again. */
	sigaddset(&s->set, SIGHUP);
	s->ignores_hup = is_ignored(SIGHUP);
}

enum err signals_new(struct signals **out, struct error *e)
{
	AUTO_FREE struct signals *s = calloc(1, sizeof *s);

	if (!s)
		return error_set(e, ERR_NO_MEMORY, "signals");

	enum err kind = cancel_init(&s->cancel, e);

	if (kind)
		return kind;
	pthread_mutex_init(&s->lock, NULL);
	choose(s);
	pthread_sigmask(SIG_BLOCK, &s->set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ,
		/*
		 * a file too large for our limit is an error of one write, and must not end the
		 * process
		 */
		SIG_IGN);

	int failure = thread_start(&s->thread, wait_for_signals, s);

	if (failure) {
		cancel_release(&s->cancel);
		return error_errno(e, failure, "cannot start a thread");
	}
	*out = take(s);
	return ERR_OK;
}

void signals_free(struct signals *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->ending = true;
	pthread_mutex_unlock(&s->lock);
	pthread_kill(s->thread, SIGTERM);
	pthread_join(s->thread, NULL);
	cancel_release(&s->cancel);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
