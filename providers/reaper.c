#include "providers/reaper.h"

#include "providers/base/cleanup.h"
#include "providers/base/condition.h"
#include "providers/base/hex.h"
#include "providers/base/log.h"
#include "providers/base/thread.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/random.h>
#include <time.h>

/* Between TERM and KILL: provider.h. */
#define GRACE_MS 5000
/* A signal that makes no progress for so long is given up. */
#define SEND_MS 10000
/*
 * The longest time for the last signals when the provider is released: an unmount is to be over in
 * 5 s, whatever is broken.
 */
#define FAREWELL_MS 4000

/* A command that is being ended. */
struct doomed {
	TAILQ_ENTRY(doomed) link; /* reaper.lock */
	char marker[MARKER_SIZE];
	unsigned started;
	int signal;     /* the next signal */
	int64_t due_ms; /* the time of the next signal */
};

struct reaper {
	reaper_send send;
	void *context;
	struct cancel give_up; /* thrown when the farewell lasts too long */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* lock; without the command whose signal is on its way */
	TAILQ_HEAD(, doomed) doomed;
	bool is_closing, has_ended, has_thread; /* lock */
	pthread_t thread;
};

/* ---- Finding the processes of a command ---- */

/*
 * $1: the signal, $2: the marker, $3: the number of rounds, since a process that is killed may just
 * have started another. Prints the processes it found. The script's own environment has no marker.
 * A process that the command started with another environment (env -i) or as another user (sudo) is
 * not found.
 */
static const char signal_script[] =
	"rounds=$3\n"
	"while [ \"$rounds\" -gt 0 ]; do\n"
	"	found=\n"
	"	for file in $(grep -lF \"" MARKER_NAME "=$2\" /proc/[0-9]*/environ); do\n"
	"		pid=${file#/proc/} pid=${pid%/environ}\n"
	"		kill -s \"$1\" \"$pid\" && echo \"$pid\" && found=yes\n"
	"	done\n"
	"	[ \"$found\" ] || break\n"
	"	rounds=$((rounds - 1))\n"
	"done 2>/dev/null\n"
	"exit 0\n";

#define KILL_ROUNDS "10"

void reaper_argv(const char *argv[REAPER_ARGC], const char *marker, int signal)
{
	const char *const words[REAPER_ARGC] = { "/bin/sh", "-c", signal_script, "sh",
		signal == SIGKILL ? "KILL" : "TERM", marker, signal == SIGKILL ? KILL_ROUNDS : "1",
		NULL };

	memcpy(argv, words, sizeof words);
}

/* ---- Signals ---- */

static bool send_signal(struct reaper *r, const struct doomed *d)
{
	const struct call call = {
		.progress_ms = SEND_MS, .cancel = &r->give_up, .is_background = true
	};
	struct error e = { 0 };
	bool found = true;
	enum err kind = r->send(r->context, &call, d->marker, d->started, d->signal, &found, &e);

	if (kind)
		log_warn(LOG_PROVIDER, "a command could not be ended: %s", e.text);
	return kind || found;
}

/* Whether KILL must follow: not after a TERM that found no process of a command that began. */
static bool needs_kill(const struct doomed *d, bool found)
{
	return d->signal == SIGTERM && (found || !d->started);
}

/* Drops the lock while the signal is on its way. */
static void handle_locked(struct reaper *r, struct doomed *d)
{
	bool needs_more;

	TAILQ_REMOVE(&r->doomed, d, link);
	if (r->is_closing)
		d->signal = SIGKILL;
	pthread_mutex_unlock(&r->lock);
	needs_more = needs_kill(d, send_signal(r, d));
	pthread_mutex_lock(&r->lock);
	if (!needs_more) {
		free(d);
		return;
	}
	d->signal = SIGKILL;
	d->due_ms = monotonic_ms() + GRACE_MS;
	TAILQ_INSERT_TAIL(&r->doomed, d, link);
}

/* ---- The thread ---- */

static struct doomed *first_due_locked(const struct reaper *r)
{
	struct doomed *first = NULL, *d;

	TAILQ_FOREACH(d, &r->doomed, link)
	if (!first || d->due_ms < first->due_ms)
		first = d;
	return first;
}

static void wait_locked(struct reaper *r, int64_t until_ms)
{
	if (until_ms < 0)
		pthread_cond_wait(&r->changed, &r->lock);
	else
		condition_wait_until(&r->changed, &r->lock, until_ms);
}

static void *run(void *context)
{
	struct reaper *r = context;
	struct doomed *d;

	pthread_mutex_lock(&r->lock);
	while ((d = first_due_locked(r)) || !r->is_closing)
		if (d && (r->is_closing || d->due_ms <= monotonic_ms()))
			handle_locked(r, d);
		else
			wait_locked(r, d ? d->due_ms : -1);
	r->has_ended = true;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

static enum err start_locked(struct reaper *r, struct error *e)
{
	int number;

	if (r->has_thread)
		return ERR_OK;
	number = thread_start(&r->thread, run, r);
	r->has_thread = !number;
	return number ? error_errno(e, number, "a thread") : ERR_OK;
}

/* ---- A command ---- */

enum err reaper_mark(struct reaper *r, char marker[MARKER_SIZE], struct error *e)
{
	unsigned char bytes[(MARKER_SIZE - 1) / 2];
	enum err kind;

	if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
		return error_errno(e, errno, "random numbers");
	hex_encode(marker, bytes, sizeof bytes);
	pthread_mutex_lock(&r->lock);
	kind = start_locked(r, e);
	pthread_mutex_unlock(&r->lock);
	return kind;
}

void reaper_end(struct reaper *r, const char marker[MARKER_SIZE], unsigned started)
{
	struct doomed *d = calloc(1, sizeof *d);

	if (!d) {
		log_warn(LOG_PROVIDER, "a command could not be ended: no memory");
		return;
	}
	memcpy(d->marker, marker, MARKER_SIZE);
	d->started = started;
	d->signal = SIGTERM;
	d->due_ms = monotonic_ms();
	pthread_mutex_lock(&r->lock);
	TAILQ_INSERT_TAIL(&r->doomed, d, link);
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

/* ---- Start and end ---- */

enum err reaper_new(struct reaper **out, reaper_send send, void *context, struct error *e)
{
	AUTO_FREE struct reaper *r = calloc(1, sizeof *r);
	enum err kind = r ? cancel_init(&r->give_up, e) : error_set(e, ERR_NO_MEMORY, "commands");

	if (kind)
		return kind;
	r->send = send;
	r->context = context;
	TAILQ_INIT(&r->doomed);
	condition_init(&r->changed);
	pthread_mutex_init(&r->lock, NULL);
	*out = take(r);
	return ERR_OK;
}

static void say_farewell(struct reaper *r)
{
	int64_t end_ms = monotonic_ms() + FAREWELL_MS;

	pthread_mutex_lock(&r->lock);
	r->is_closing = true;
	pthread_cond_broadcast(&r->changed);
	while (r->has_thread && !r->has_ended && monotonic_ms() < end_ms)
		wait_locked(r, end_ms);
	pthread_mutex_unlock(&r->lock);
	cancel_throw(&r->give_up);
	if (r->has_thread)
		pthread_join(r->thread, NULL);
}

void reaper_free(struct reaper *r)
{
	if (!r)
		return;
	say_farewell(r);
	pthread_cond_destroy(&r->changed);
	pthread_mutex_destroy(&r->lock);
	cancel_release(&r->give_up);
	free(r);
}
