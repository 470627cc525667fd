#include "providers/reaper.h"

#include "providers/base/cleanup.h"
#include "providers/base/hex.h"
#include "providers/base/condition.h"
#include "providers/base/log.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/random.h>
#include <time.h>

/* Between TERM and KILL: provider.h. */
#define GRACE_MS 5000
/* From KILL to the end of the stream: a round trip and some. */
#define LAST_WORDS_MS 1000
/* A signal that makes no progress for so long is given up. */
#define SEND_MS 10000
/* How long the last signals may take when the provider is let go: an unmount is to be over in 5 s, whatever is broken. */
#define FAREWELL_MS 4000

enum stage { STAGE_RUNNING, STAGE_TERM, STAGE_KILL, STAGE_LAST_WORDS, STAGE_OVER };

/* All fields but the marker: reaper.lock. */
struct quarry {
	TAILQ_ENTRY(quarry) link;
	char marker[MARKER_SIZE];
	uint32_t pid;
	enum stage stage;
	int64_t due_ms;               /* when the stage ends; -1: never */
	const struct cancel *abandon; /* NULL: nobody listens */
	bool came_to_its_time;
	bool is_orphan; /* nobody holds it but the list */
	bool is_busy;   /* a signal is on its way to it */
};

struct reaper {
	reaper_send send;
	void *context;
	struct cancel give_up; /* thrown when the farewell lasts too long */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	TAILQ_HEAD(, quarry) quarries; /* lock */
	bool is_closing, has_ended;    /* lock */
	bool has_thread;               /* lock */
	pthread_t thread;
};

/* ---- Finding the processes of a command ---- */

/*
 * $1: the signal, $2: the marker, $3: how often to look, since what is killed may just have started another. Prints the
 * processes it found. Its own environment has no marker. What the command started with an environment of its own choice
 * (env -i) or as another user (sudo) is not found.
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

/* ---- Which is due ---- */

static bool is_doomed(const struct quarry *q)
{
	return q->stage == STAGE_TERM || q->stage == STAGE_KILL;
}

static struct quarry *first_due_locked(struct reaper *r)
{
	struct quarry *first = NULL, *q;

	TAILQ_FOREACH(q, &r->quarries, link)
	if (q->due_ms >= 0 && (!first || q->due_ms < first->due_ms) &&
		(!r->is_closing || is_doomed(q)))
		first = q;
	return first;
}

static void drop_if_over_locked(struct reaper *r, struct quarry *q)
{
	if (!q->is_orphan || q->is_busy || q->stage != STAGE_OVER)
		return;
	TAILQ_REMOVE(&r->quarries, q, link);
	free(q);
}

static void enter_locked(struct quarry *q, enum stage stage, int64_t wait_ms)
{
	q->stage = stage;
	q->due_ms = wait_ms < 0 ? -1 : monotonic_ms() + wait_ms;
}

/* ---- Signals ---- */

static bool send_locked(struct reaper *r, struct quarry *q, int signal)
{
	const struct call call = {
		.progress_ms = SEND_MS, .cancel = &r->give_up, .is_background = true
	};
	uint32_t pid = q->pid;
	struct error e = { 0 };
	bool found = true;
	enum err kind;

	q->is_busy = true;
	pthread_mutex_unlock(&r->lock);
	kind = r->send(r->context, &call, q->marker, pid, signal, &found, &e);
	if (kind)
		log_warn(LOG_PROVIDER, "a command could not be ended: %s", e.text);
	pthread_mutex_lock(&r->lock);
	q->is_busy = false;
	return kind || found;
}

/* Nothing to wait for: it started, nobody listens to it, and it is not there any more. */
static bool is_finished_locked(const struct quarry *q, bool found)
{
	return !found && q->is_orphan && q->pid;
}

static void send_term_locked(struct reaper *r, struct quarry *q)
{
	bool found = send_locked(r, q, SIGTERM);

	if (is_finished_locked(q, found))
		enter_locked(q, STAGE_OVER, -1);
	else
		enter_locked(q, STAGE_KILL, GRACE_MS);
}

static void send_kill_locked(struct reaper *r, struct quarry *q)
{
	send_locked(r, q, SIGKILL);
	if (q->is_orphan)
		enter_locked(q, STAGE_OVER, -1);
	else
		enter_locked(q, STAGE_LAST_WORDS, LAST_WORDS_MS);
}

static void end_stage_locked(struct reaper *r, struct quarry *q)
{
	switch (q->stage) {
	case STAGE_RUNNING:
		q->came_to_its_time = true;
		enter_locked(q, STAGE_TERM, 0);
		return;
	case STAGE_TERM:
		if (r->is_closing)
			enter_locked(q, STAGE_KILL, 0);
		else
			send_term_locked(r, q);
		return;
	case STAGE_KILL: send_kill_locked(r, q); return;
	case STAGE_LAST_WORDS:
		cancel_throw(q->abandon);
		enter_locked(q, STAGE_OVER, -1);
		return;
	case STAGE_OVER: return;
	}
}

/* ---- The thread ---- */

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
	struct quarry *q;

	pthread_mutex_lock(&r->lock);
	while ((q = first_due_locked(r)) || !r->is_closing) {
		if (!q || (!r->is_closing && q->due_ms > monotonic_ms())) {
			wait_locked(r, q ? q->due_ms : -1);
			continue;
		}
		end_stage_locked(r, q);
		drop_if_over_locked(r, q);
	}
	r->has_ended = true;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

/* Signals are for the threads of whoever started us. */
static enum err start_locked(struct reaper *r, struct error *e)
{
	sigset_t all, before;
	int number;

	if (r->has_thread)
		return ERR_OK;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	number = pthread_create(&r->thread, NULL, run, r);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	r->has_thread = !number;
	return number ? error_errno(e, number, "a thread") : ERR_OK;
}

/* ---- A command ---- */

static enum err make_marker(char marker[MARKER_SIZE], struct error *e)
{
	unsigned char bytes[(MARKER_SIZE - 1) / 2];

	if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
		return error_errno(e, errno, "random numbers");
	hex_encode(marker, bytes, sizeof bytes);
	return ERR_OK;
}

static enum err quarry_new(struct quarry **out, const struct cancel *abandon, struct error *e)
{
	struct quarry *q = calloc(1, sizeof *q);
	enum err kind = q ? make_marker(q->marker, e) : error_set(e, ERR_NO_MEMORY, "a command");

	if (kind) {
		free(q);
		return kind;
	}
	q->abandon = abandon;
	*out = q;
	return ERR_OK;
}

enum err reaper_watch(struct reaper *r, int64_t timeout_ms, const struct cancel *abandon,
	struct quarry **out, struct error *e)
{
	struct quarry *q;
	enum err kind = quarry_new(&q, abandon, e);

	if (kind)
		return kind;
	enter_locked(q, STAGE_RUNNING, timeout_ms ? timeout_ms : -1);
	pthread_mutex_lock(&r->lock);
	kind = start_locked(r, e);
	if (kind) {
		free(q);
	} else {
		TAILQ_INSERT_TAIL(&r->quarries, q, link);
		pthread_cond_broadcast(&r->changed);
		*out = q;
	}
	pthread_mutex_unlock(&r->lock);
	return kind;
}

const char *quarry_marker(const struct quarry *q)
{
	return q->marker;
}

void quarry_set_pid(struct reaper *r, struct quarry *q, uint32_t pid)
{
	pthread_mutex_lock(&r->lock);
	q->pid = pid;
	pthread_mutex_unlock(&r->lock);
}

bool quarry_leave(struct reaper *r, struct quarry *q, enum quarry_end how)
{
	bool came_to_its_time;

	pthread_mutex_lock(&r->lock);
	came_to_its_time = q->came_to_its_time;
	q->abandon = NULL;
	q->is_orphan = true;
	if (how == QUARRY_DOOMED && q->stage == STAGE_RUNNING)
		enter_locked(q, STAGE_TERM, 0);
	else if (q->stage == STAGE_LAST_WORDS ||
		(q->stage == STAGE_RUNNING && (how == QUARRY_ENDED || q->due_ms < 0)))
		enter_locked(q, STAGE_OVER, -1);
	pthread_cond_broadcast(&r->changed);
	drop_if_over_locked(r, q);
	pthread_mutex_unlock(&r->lock);
	return came_to_its_time;
}

/* ---- Its life ---- */

enum err reaper_new(struct reaper **out, reaper_send send, void *context, struct error *e)
{
	AUTO_FREE struct reaper *r = calloc(1, sizeof *r);
	enum err kind = r ? cancel_init(&r->give_up, e) : error_set(e, ERR_NO_MEMORY, "commands");

	if (kind)
		return kind;
	r->send = send;
	r->context = context;
	TAILQ_INIT(&r->quarries);
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
	struct quarry *q;

	if (!r)
		return;
	say_farewell(r);
	while ((q = TAILQ_FIRST(&r->quarries))) {
		TAILQ_REMOVE(&r->quarries, q, link);
		free(q);
	}
	pthread_cond_destroy(&r->changed);
	pthread_mutex_destroy(&r->lock);
	cancel_release(&r->give_up);
	free(r);
}
