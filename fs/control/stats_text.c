#include "fs/control/stats_text.h"

typedef unsigned long long number;

static void begin(struct buf *out, const char *name, const char *type, const char *help)
{
	buf_printf(out, "# HELP sandboxfs_%s %s\n# TYPE sandboxfs_%s %s\n", name, help, name, type);
}

/* ---- Single numbers ---- */

static void put_counters(const struct stats *s, struct buf *out)
{
	for (enum stats_counter n = 0; n < STATS_COUNTERS; n++) {
		const char *name = stats_counter_name(n);

		begin(out, name, "counter", stats_counter_help(n));
		buf_printf(out, "sandboxfs_%s %llu\n", name, (number)s->counters[n]);
	}
}

static void put_gauge(struct buf *out, const char *name, const char *help, uint64_t value)
{
	begin(out, name, "gauge", help);
	buf_printf(out, "sandboxfs_%s %llu\n", name, (number)value);
}

static void put_status(const struct cache_status *status, struct buf *out)
{
	put_gauge(out, "inodes", "Files and directories that are known.", status->inodes_known);
	put_gauge(out, "names", "Names that are known.", status->names_known);
	put_gauge(out, "stream_live",
		"1: the sandbox tells of its changes, and what is known is believed meanwhile; 0: "
		"it is asked again.",
		status->stream == CACHE_STREAM_LIVE);
	put_gauge(out, "stream_broken",
		"1: there is no stream of changes because it failed: the status says for what.",
		status->stream == CACHE_STREAM_BROKEN);
	put_gauge(out, "unwatched_directories",
		"Directories of whose changes the sandbox does not tell: what is in them is asked "
		"again.",
		status->unwatched_dirs);
	put_gauge(out, "pending_changes", "Changes that the sandbox does not have yet.",
		status->pending_changes);
	put_gauge(out, "pending_bytes", "Bytes of contents that the sandbox does not have yet.",
		status->pending_bytes);
	put_gauge(
		out, "parked_changes", "Changes that the sandbox refused.", status->failed_changes);
	if (status->expires_s >= 0)
		put_gauge(out, "lifetime_seconds", "Until the sandbox ends by itself.",
			(uint64_t)status->expires_s);
}

/* ---- By verb ---- */

/*
 * Outcomes that did not happen are left out. A verb that was never asked still has a count, of 0.
 */
static void put_outcomes(const struct stats *s, struct buf *out)
{
	begin(out, "calls_total", "counter", "Calls to the provider, by how they ended.");
	for (enum stats_verb v = 0; v < STATS_VERBS; v++)
		for (enum err kind = ERR_OK; kind < STATS_OUTCOMES; kind++) {
			number count = s->calls[v].outcomes[kind];

			if (count || kind == ERR_OK)
				buf_printf(out,
					"sandboxfs_calls_total{verb=\"%s\",outcome=\"%s\"} %llu\n",
					stats_verb_name(v), error_name(kind), count);
		}
}

static void put_bytes(const struct stats *s, struct buf *out)
{
	begin(out, "sent_bytes_total", "counter", "Contents and commands that calls carried.");
	for (enum stats_verb v = 0; v < STATS_VERBS; v++)
		buf_printf(out, "sandboxfs_sent_bytes_total{verb=\"%s\"} %llu\n",
			stats_verb_name(v), (number)s->calls[v].sent);
	begin(out, "received_bytes_total", "counter", "Contents and output that calls brought.");
	for (enum stats_verb v = 0; v < STATS_VERBS; v++)
		buf_printf(out, "sandboxfs_received_bytes_total{verb=\"%s\"} %llu\n",
			stats_verb_name(v), (number)s->calls[v].received);
}

static void put_bucket(struct buf *out, const char *verb, int64_t bound_ms, number count)
{
	buf_printf(out, "sandboxfs_call_duration_seconds_bucket{verb=\"%s\",le=\"", verb);
	if (bound_ms < 0)
		buf_add_string(out, "+Inf");
	else
		buf_printf(out, "%llu.%03llu", (number)bound_ms / 1000, (number)bound_ms % 1000);
	buf_printf(out, "\"} %llu\n", count);
}

/* Each bucket includes the buckets before it. The last is the count, which may change meanwhile. */
static void put_duration(const struct stats_calls *calls, const char *verb, struct buf *out)
{
	number count = 0, time_us = calls->time_us;

	for (size_t b = 0; b < STATS_BUCKETS; b++) {
		count += calls->buckets[b];
		put_bucket(out, verb, stats_bound_ms(b), count);
	}
	buf_printf(out, "sandboxfs_call_duration_seconds_sum{verb=\"%s\"} %llu.%06llu\n", verb,
		time_us / 1000000, time_us % 1000000);
	buf_printf(out, "sandboxfs_call_duration_seconds_count{verb=\"%s\"} %llu\n", verb, count);
}

static void put_durations(const struct stats *s, struct buf *out)
{
	begin(out, "call_duration_seconds", "histogram", "How long calls to the provider took.");
	for (enum stats_verb v = 0; v < STATS_VERBS; v++)
		put_duration(&s->calls[v], stats_verb_name(v), out);
}

void stats_text(const struct stats *stats, const struct cache_status *status, struct buf *out)
{
	put_outcomes(stats, out);
	put_durations(stats, out);
	put_bytes(stats, out);
	put_counters(stats, out);
	put_status(status, out);
}
