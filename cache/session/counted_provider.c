#include "cache/session/counted_provider.h"

#include "providers/base/log.h"

#include <string.h>
#include <time.h>

/* `bytes`: the size of the contents, command or output of the call. */
static enum err note(const struct counted_provider *m, enum stats_verb verb, enum err outcome,
	int64_t began_us, uint64_t bytes)
{
	int64_t took_us = monotonic_us() - began_us;

	log_debug(LOG_PROVIDER, "%s: %s, %llu bytes, %lld.%03lld ms", stats_verb_name(verb),
		outcome ? error_name(outcome) : "done", (unsigned long long)bytes,
		(long long)took_us / 1000, (long long)took_us % 1000);
	stats_add_call(m->stats, verb, outcome, took_us);
	return outcome;
}

/*
 * A caller whose time is over sends no request: the answer would come too late, and the outcome of
 * a change would be unknown. The refusal says nothing of the sandbox.
 */
static bool is_late(const struct call *call, struct error *e)
{
	return call && call->progress && call_check_time(call, e);
}

/* As note(), for a request to the sandbox itself. */
static enum err note_asked(const struct counted_provider *m, enum stats_verb verb, enum err outcome,
	int64_t began_us, uint64_t bytes)
{
	if (m->link_failed && (outcome == ERR_UNREACHABLE || outcome == ERR_TIMEOUT))
		m->link_failed(m->lease);
	return note(m, verb, outcome, began_us, bytes);
}

enum err counted_info(const struct counted_provider *m, const struct call *call,
	struct sandbox_info *out, struct error *e)
{
	int64_t began_us = monotonic_us();

	return note(m, STATS_INFO, provider_info(m->provider, call, out, e), began_us, 0);
}

enum err counted_extend(
	const struct counted_provider *m, const struct call *call, int64_t seconds, struct error *e)
{
	int64_t began_us = monotonic_us();

	return note(m, STATS_EXTEND, provider_extend(m->provider, call, seconds, e), began_us, 0);
}

enum err counted_list(const struct counted_provider *m, const struct call *call,
	const struct list_request *request, list_sink sink, void *context, struct error *e)
{
	int64_t began_us = monotonic_us();

	if (is_late(call, e))
		return ERR_TIMEOUT;
	return note_asked(m, STATS_LIST,
		provider_list(m->provider, call, request, sink, context, e), began_us, 0);
}

static uint64_t data_of(const struct apply_request *request)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < request->changes_count; i++)
		sum += request->changes[i].data_len;
	return sum;
}

enum err counted_apply(const struct counted_provider *m, const struct call *call,
	const struct apply_request *request, struct change_result *results, struct error *e)
{
	int64_t began_us = monotonic_us();

	if (is_late(call, e))
		return ERR_TIMEOUT;
	stats_add_sent(m->stats, STATS_APPLY, data_of(request));
	enum err kind = provider_apply(m->provider, call, request, results, e);

	if (kind && m->unanswered_ms)
		atomic_store(m->unanswered_ms, monotonic_ms());
	return note_asked(m, STATS_APPLY, kind, began_us, data_of(request));
}

/* ---- Answers in pieces ---- */

struct fetching {
	const struct counted_provider *counted;
	fetch_sink sink;
	void *context;
	int64_t began_us, first_us, last_us; /* the call, its first bytes and its last so far */
	uint64_t received;                   /* bytes */
	uint64_t bytes;                      /* since the first bytes */
};

static void note_bytes(struct fetching *f, size_t len)
{
	f->last_us = monotonic_us();
	f->received += len;
	if (f->first_us)
		f->bytes += len;
	else
		f->first_us = f->last_us;
}

static void note_bandwidth(const struct fetching *f)
{
	if (f->counted->bandwidth && f->first_us)
		bandwidth_note(f->counted->bandwidth, f->first_us - f->began_us, f->bytes,
			f->last_us - f->first_us);
}

static enum err pass_piece(void *context, const struct fetch_piece *piece, struct error *e)
{
	struct fetching *f = context;

	if (piece->kind == FETCH_DATA) {
		stats_add_received(f->counted->stats, STATS_FETCH, piece->len);
		note_bytes(f, piece->len);
	}
	return f->sink(f->context, piece, e);
}

enum err counted_fetch(const struct counted_provider *m, const struct call *call,
	const struct fetch_item *items, size_t items_count, fetch_sink sink, void *context,
	struct error *e)
{
	struct fetching f = {
		.counted = m, .sink = sink, .context = context, .began_us = monotonic_us()
	};

	if (is_late(call, e))
		return ERR_TIMEOUT;
	enum err kind = provider_fetch(m->provider, call, items, items_count, pass_piece, &f, e);

	note_bandwidth(&f);
	return note_asked(m, STATS_FETCH, kind, f.began_us, f.received);
}

struct executing {
	const struct counted_provider *counted;
	execute_sink sink;
	void *context;
};

static enum err pass_output(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	struct executing *x = context;

	stats_add_received(x->counted->stats, STATS_EXECUTE, len);
	return x->sink(x->context, stream, bytes, len, e);
}

enum err counted_execute(const struct counted_provider *m, const struct call *call,
	const struct execute_request *request, execute_sink sink, void *context,
	struct execute_result *result, struct error *e)
{
	struct executing x = { .counted = m, .sink = sink, .context = context };
	int64_t began_us = monotonic_us();

	stats_add_sent(m->stats, STATS_EXECUTE, strlen(request->command) + request->input_len);
	return note_asked(m, STATS_EXECUTE,
		provider_execute(m->provider, call, request, pass_output, &x, result, e), began_us,
		strlen(request->command) + request->input_len);
}
