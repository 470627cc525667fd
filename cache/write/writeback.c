#include "cache/write/writeback.h"

#include "cache/session/session.h"
#include "cache/write/writeback_inside.h"

#include "providers/base/cleanup.h"
#include "providers/base/condition.h"
#include "providers/base/log.h"
#include "providers/change_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- Life ---- */

/* A clock beyond this is wrong. Numbers have a limit (record.h). */
#define CLOCK_MOST_S ((int64_t)1 << 31)

/*
 * The last number that was given out and that the sandbox may know. A loss of power may lose the
 * notes of some numbers, and a change that gets one of these again would count as applied. So the
 * numbers go on from the clock, which is ahead of them unless it was set back.
 */
static uint64_t last_given_out(struct journal *j)
{
	struct timespec now = time_of_day();
	uint64_t last = journal_next_sequence(j) - 1, now_ns = 0;

	if (now.tv_sec > 0 && now.tv_sec < CLOCK_MOST_S)
		now_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	return last > now_ns ? last : now_ns;
}

static enum err open_journal(struct writeback *p, const struct call *call, struct error *e)
{
	const struct cache *c = p->cache;
	char source[JOURNAL_SOURCE_MAX];
	const struct journal_options options = { .dir = c->options.journal_dir,
		.size_max = c->options.journal_max,
		.mount = c->options.mount,
		.source = source,
		.call = call };

	snprintf(source, sizeof source, "%s:%s:%s", c->provider->ops->name, c->sandbox.id,
		c->sandbox.root);
	enum err kind = journal_open(&p->journal, &options, e);

	if (!kind && options.dir && !(p->journal_path = strdup(options.dir)))
		kind = error_set(e, ERR_NO_MEMORY, "the journal");
	p->journal_max = options.size_max ? options.size_max : JOURNAL_SIZE_DEFAULT;
	if (!kind)
		p->sequences = p->asked = last_given_out(p->journal);
	return kind;
}

enum err writeback_new(
	struct writeback **out, struct cache *c, const struct call *call, struct error *e)
{
	AUTO_FREE struct writeback *p = calloc(1, sizeof *p);

	if (!p)
		return error_set(e, ERR_NO_MEMORY, "cache");
	p->cache = c;
	p->pause_ms = WRITEBACK_PAUSE_MS;
	p->open_ms = WRITEBACK_OPEN_MS;
	p->wait_ms = WRITEBACK_WAIT_MS;
	p->wait_most_ms = WRITEBACK_WAIT_MOST_MS;
	p->may_wait_ms = WRITEBACK_MAY_WAIT_MS;
	TAILQ_INIT(&p->queue);
	TAILQ_INIT(&p->deferred);
	TAILQ_INIT(&p->all_inode_ops);
	TAILQ_INIT(&p->plain);
	TAILQ_INIT(&p->inherited.untold);
	enum err kind = open_journal(p, call, e);

	if (!kind)
		kind = cancel_init(&p->cancel, e);
	if (kind) {
		journal_close(p->journal);
		free(p->journal_path);
		return kind;
	}
	pthread_mutex_init(&p->lock, NULL);
	condition_init(&p->changed);
	kind = writeback_recover(p, e);
	pthread_mutex_lock(&p->lock);
	senders_wake_locked(p);
	bool has_sender = p->senders_count > 0;

	pthread_mutex_unlock(&p->lock);
	if (!kind && !has_sender)
		kind = error_set(e, ERR_NO_MEMORY, "a thread for sending changes");
	if (kind) {
		writeback_free(take(p));
		return kind;
	}
	*out = take(p);
	return ERR_OK;
}

static void leave_locked(struct writeback *p)
{
	writeback_release_all_locked(p);
	if (p->is_recovering)
		inherited_log_locked(p);
	if (p->changes)
		log_warn(LOG_CACHE,
			"the mount ended before everything was sent: %llu changes are kept in %s",
			(unsigned long long)p->changes,
			p->journal_path ? p->journal_path : "memory");
	while (!TAILQ_EMPTY(&p->queue))
		writeback_remove_locked(p, TAILQ_FIRST(&p->queue), OP_KEPT, "the mount ends");
	for (struct inode_ops *b = TAILQ_FIRST(&p->all_inode_ops), *next; b; b = next) {
		next = TAILQ_NEXT(b, link);
		b->for_handle = false;
		inode_ops_rest_locked(p, b);
	}
}

void writeback_stop(struct writeback *p)
{
	if (p)
		senders_stop(p);
}

bool writeback_free(struct writeback *p)
{
	if (!p)
		return false;
	senders_stop(p);
	pthread_mutex_lock(&p->lock);
	leave_locked(p);
	pthread_mutex_unlock(&p->lock);
	bool is_done = journal_close(p->journal);

	inherited_release(&p->inherited);
	free(p->named);
	free(p->journal_path);
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	cancel_release(&p->cancel);
	free(p);
	return is_done;
}

const unsigned char *writeback_journal(const struct writeback *p)
{
	return p ? journal_id(p->journal) : NULL;
}

bool writeback_took_up(const struct writeback *p)
{
	return p && journal_was_there(p->journal);
}

/* ---- Status ---- */

void writeback_count(struct writeback *p, struct cache_status *out)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	out->pending_changes = p->changes;
	out->pending_bytes = p->bytes;
	out->failed_changes = p->failed;
	out->refused_inherited = p->inherited.refused;
	/* Requests have more bytes than their contents, or fewer where they are compressed. */
	uint64_t sent = p->moved.sent, sent_most = p->bytes - p->unsent_bytes;

	out->leaving_bytes = sent < sent_most ? sent : sent_most;
	pthread_mutex_unlock(&p->lock);
}

struct failed_list {
	struct cache_failed_change *out;
	size_t count, room;
};

static enum err add_failed(void *context, const struct journal_entry *entry, struct error *e)
{
	struct failed_list *t = context;

	(void)e;
	if (!entry->has_failed || entry->is_part || change_is_in_staging(&entry->change) ||
		t->count == t->room)
		return ERR_OK;
	struct cache_failed_change *out = &t->out[t->count++];

	out->op = entry->change.op;
	snprintf(out->path, sizeof out->path, "%s", change_shown_path(&entry->change));
	snprintf(out->error, sizeof out->error, "%s", entry->why);
	return ERR_OK;
}

size_t writeback_failed(struct writeback *p, struct cache_failed_change *out, size_t room)
{
	struct failed_list t = { .out = out, .room = room };

	if (p && p->failed)
		journal_each(p->journal, add_failed, &t, NULL);
	return t.count;
}

const char *writeback_place(const struct writeback *p)
{
	return p ? p->journal_path : NULL;
}
