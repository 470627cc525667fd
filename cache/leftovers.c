#include "cache/leftovers.h"

#include "cache/cache_inside.h"
#include "cache/lease.h"
#include "providers/base/cleanup.h"
#include "providers/base/hex.h"
#include "providers/base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Paths that one request removes. */
#define NAMES_MAX 1024

/* Paths in staging. */
struct leftovers {
	struct cache *cache;
	char *paths[NAMES_MAX];
	size_t count;
};

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
		changes[i] = (struct change){ .op = CHANGE_UNLINK, .path = l->paths[i] };
	if (changes && results && l->count &&
		metered_apply(&l->cache->metered, &call, &request, results, &e))
		log_info(LOG_CACHE, "%zu files stay in the sandbox's staging directory: %s",
			l->count, e.text);
	while (l->count)
		free(l->paths[--l->count]);
}

/* Takes `path`; NULL: there was no memory for it. */
static void add(struct leftovers *l, char *path)
{
	if (path)
		l->paths[l->count++] = path;
	if (l->count == NAMES_MAX)
		send(l);
}

static void add_file_of(struct leftovers *l, const char *prefix, const unsigned char *id)
{
	char hex[2 * JOURNAL_ID_SIZE + 1], *path;

	hex_encode(hex, id, JOURNAL_ID_SIZE);
	add(l, asprintf(&path, "/%s-%s", prefix, hex) < 0 ? NULL : path);
}

/* ---- The leftovers of a mount ---- */

static void add_open_ones(struct leftovers *l)
{
	char *staged;

	while ((staged = tree_take_staged(l->cache->tree)))
		add(l, staged);
}

/* Whether the sandbox has answered every change; *has_some: there were any. */
static bool is_all_answered(struct cache *c, bool *has_some)
{
	uint64_t unanswered = 0, all = 0;

	for (size_t kind = 0; kind < STATS_OUTCOMES; kind++) {
		uint64_t count = atomic_load(&c->stats.calls[STATS_APPLY].outcomes[kind]);

		all += count;
		unanswered += kind == ERR_OK ? 0 : count;
	}
	*has_some = all;
	return !unanswered;
}

static void add_records(struct leftovers *l, const unsigned char *journal)
{
	bool has_some, is_safe = is_all_answered(l->cache, &has_some);

	if (!is_safe || !has_some)
		return;
	add_file_of(l, STAGED_SEQUENCE, journal);
	add_file_of(l, STAGED_FENCE, journal);
	add_file_of(l, STAGED_ONCE, journal);
}

_Static_assert(JOURNAL_ID_SIZE == WATCHER_ID_SIZE, "files of either are named alike");

void leftovers_remove(struct cache *c, const unsigned char *journal, bool is_all_sent)
{
	static const unsigned char nobody[WATCHER_ID_SIZE];
	struct leftovers l = { .cache = c };

	if (journal && is_all_sent)
		add_records(&l, journal);
	add_open_ones(&l);
	if ((c->provider->is_opened || lease_has_begun(c->lease)) &&
		memcmp(c->options.watcher, nobody, sizeof nobody))
		add_file_of(&l, STAGED_WATCH, c->options.watcher);
	send(&l);
}
