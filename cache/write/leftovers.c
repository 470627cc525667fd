#include "cache/write/leftovers.h"

#include "cache/lease/lease.h"
#include "cache/session/counted_provider.h"
#include "cache/session/session.h"
#include "cache/tree/tree.h"

#include "providers/base/cleanup.h"
#include "providers/base/hex.h"
#include "providers/base/log.h"
#include "providers/helper/staging.h"
#include "providers/shell_quote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The most paths of one request. */
#define NAMES_MAX 1024

/* Paths in staging. */
struct leftovers {
	struct cache *cache;
	char *paths[NAMES_MAX];
	bool expires[NAMES_MAX]; /* expire instead of being removed */
	size_t count;
};

/*
 * Sets the time of a record so that it is removed LEFTOVERS_LATE_MS from now: staging_clean() goes
 * by its time.
 */
static struct change expire(struct leftovers *l, const char *path)
{
	struct timespec time = cache_clock(l->cache);

	time.tv_sec -= STAGING_UNSYNCED_S - LEFTOVERS_LATE_MS / 1000;
	return (struct change){
		.op = CHANGE_SETATTR, .set = SET_MTIME, .path = path, .mtime = time
	};
}

static void send(struct leftovers *l)
{
	const struct call call = { .progress_ms = CALL_LAST_MS, .is_background = true };
	AUTO_FREE struct change *changes = calloc(l->count + 1, sizeof *changes);
	AUTO_FREE struct change_result *results = calloc(l->count + 1, sizeof *results);
	const struct apply_request request = {
		.is_plain = true, .changes = changes, .changes_count = l->count
	};
	struct error e = { 0 };

	for (size_t i = 0; changes && i < l->count; i++)
		changes[i] = l->expires[i]
			? expire(l, l->paths[i])
			: (struct change){ .op = CHANGE_UNLINK, .path = l->paths[i] };
	if (changes && results && l->count &&
		counted_apply(&l->cache->counted, &call, &request, results, &e))
		log_info(LOG_CACHE, "%zu files stay in the sandbox's staging directory: %s",
			l->count, e.text);
	while (l->count)
		free(l->paths[--l->count]);
}

/* Takes `path`. NULL: there was no memory for the path. */
static void add(struct leftovers *l, char *path, bool expires)
{
	if (path) {
		l->expires[l->count] = expires;
		l->paths[l->count++] = path;
	}
	if (l->count == NAMES_MAX)
		send(l);
}

static void add_file_of(
	struct leftovers *l, const char *prefix, const unsigned char *id, bool expires)
{
	char hex[2 * JOURNAL_ID_SIZE + 1], *path;

	hex_encode(hex, id, JOURNAL_ID_SIZE);
	add(l, asprintf(&path, "/%s-%s", prefix, hex) < 0 ? NULL : path, expires);
}

/* ---- The leftovers of a mount ---- */

static void add_open_ones(struct leftovers *l)
{
	char *staged;

	while ((staged = tree_take_staged(l->cache->tree)))
		add(l, staged, false);
}

static bool has_asked_for_changes(struct cache *c)
{
	for (size_t kind = 0; kind < STATS_OUTCOMES; kind++)
		if (atomic_load(&c->stats.calls[STATS_APPLY].outcomes[kind]))
			return true;
	return false;
}

static void add_records(struct leftovers *l, const struct leftovers_journal *journal)
{
	int64_t unanswered_ms = atomic_load(&l->cache->unanswered_ms);
	bool expires = unanswered_ms && monotonic_ms() - unanswered_ms < LEFTOVERS_LATE_MS;

	if (!journal->was_there && !has_asked_for_changes(l->cache))
		return;
	add_file_of(l, STAGED_SEQUENCE, journal->id, expires);
	add_file_of(l, STAGED_ASIDE, journal->id, expires);
	add_file_of(l, STAGED_FENCE, journal->id, expires);
	add_file_of(l, STAGED_ONCE, journal->id, expires);
}

_Static_assert(JOURNAL_ID_SIZE == WATCHER_ID_SIZE, "files of either are named alike");

static enum err ignore_output(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	(void)context, (void)stream, (void)bytes, (void)len, (void)e;
	return ERR_OK;
}

/* Removes the journal's files whose names only the killed mount knew. */
static void remove_of_killed(struct cache *c, const struct leftovers_journal *journal)
{
	const struct call call = { .progress_ms = CALL_LAST_MS, .is_background = true };
	AUTO_BUF struct buf script = BUF_INIT(64 * 1024);
	struct execute_request request = { .timeout_ms = CALL_LAST_MS };
	struct execute_result result;
	char hex[2 * JOURNAL_ID_SIZE + 1];
	struct error e = { 0 };

	hex_encode(hex, journal->id, JOURNAL_ID_SIZE);
	buf_add_string(&script, "find");
	shell_argument(&script, cache_staging(c));
	buf_printf(&script, " -maxdepth 1 -name '" STAGED_UNLINKED "%s-*' -exec rm -f {} +\n", hex);
	request.command = buf_text(&script);
	if (buf_check(&script, "a script", &e) ||
		counted_execute(&c->counted, &call, &request, ignore_output, NULL, &result, &e))
		log_info(LOG_CACHE, "files of a mount that was killed stay in staging: %s", e.text);
}

void leftovers_remove(struct cache *c, const struct leftovers_journal *journal)
{
	static const unsigned char nobody[WATCHER_ID_SIZE];
	struct leftovers l = { .cache = c };

	if (journal && journal->is_all_sent)
		add_records(&l, journal);
	add_open_ones(&l);
	if ((c->provider->is_opened || lease_has_begun(c->lease)) &&
		memcmp(c->options.watcher, nobody, sizeof nobody))
		add_file_of(&l, STAGED_WATCH, c->options.watcher, false);
	send(&l);
	if (journal && journal->was_there && cache_staging(c))
		remove_of_killed(c, journal);
}
