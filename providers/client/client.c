#include "providers/client/client.h"

#include "providers/base/cleanup.h"
#include "providers/client/transport.h"

struct helper_client {
	struct helper_transport *transport;
	struct hello hello;
	bool is_late;
};

static enum err ask(struct helper_client *h, const struct call *call, enum frame_type type,
	struct buf *payload, struct listener listener, struct error *e)
{
	enum err kind = buf_check(payload, "a batch for the helper", e);

	if (kind != ERR_OK)
		return kind;
	return h->transport->ask(h->transport, call, type, payload, &listener, e);
}

/* ---- Life of a client ---- */

/* Takes the transport, also on failure. */
static enum err client_new(
	struct helper_client **out, struct helper_transport *transport, struct error *e)
{
	*out = calloc(1, sizeof **out);
	if (!*out) {
		transport->free(transport);
		return error_set(e, ERR_NO_MEMORY, "the helper's client");
	}
	(*out)->transport = transport;
	return ERR_OK;
}

enum err helper_say_hello(
	struct helper_transport *t, const struct call *call, struct hello *out, struct error *e)
{
	struct hello_state state = { .hello = out };
	const struct listener listener = hello_listener(&state);
	struct buf nothing = { 0 };
	enum err kind = t->ask(t, call, FRAME_HELLO, &nothing, &listener, e);

	return kind == ERR_OK ? check_hello(out, e) : kind;
}

enum err helper_client_new(struct helper_client **out, int to_fd, int from_fd,
	const struct call *call, struct error *e)
{
	struct helper_transport *stream;
	struct helper_client *h;
	enum err kind = helper_stream_new(&stream, to_fd, from_fd, false, e);

	if (kind == ERR_OK)
		kind = client_new(&h, stream, e);
	if (kind != ERR_OK)
		return kind;
	kind = helper_say_hello(stream, call, &h->hello, e);
	if (kind != ERR_OK) {
		helper_client_free(h);
		return kind;
	}
	*out = h;
	return ERR_OK;
}

enum err helper_client_new_runs(struct helper_client **out, const struct helper_runner *runner,
	const struct hello *hello, struct error *e)
{
	struct helper_transport *runs;
	enum err kind = check_hello(hello, e);

	if (kind == ERR_OK)
		kind = helper_runs_new(&runs, runner, e);
	if (kind == ERR_OK)
		kind = client_new(out, runs, e);
	if (kind != ERR_OK)
		return kind;
	(*out)->hello = *hello;
	(*out)->is_late = runner->is_late;
	return ERR_OK;
}

enum err helper_client_new_kept(struct helper_client **out, const struct helper_keeper *keeper,
	const struct hello *hello, struct error *e)
{
	struct helper_transport *kept;
	enum err kind = check_hello(hello, e);

	if (kind == ERR_OK)
		kind = helper_kept_new(&kept, keeper, e);
	if (kind == ERR_OK)
		kind = client_new(out, kept, e);
	if (kind == ERR_OK)
		(*out)->hello = *hello;
	return kind;
}

void helper_client_free(struct helper_client *h)
{
	if (h)
		h->transport->free(h->transport);
	free(h);
}

const struct hello *helper_client_hello(const struct helper_client *h)
{
	return &h->hello;
}

/* ---- Verbs ---- */

bool helper_client_is_late(const struct helper_client *h)
{
	return h->is_late;
}

enum err helper_client_list(struct helper_client *h, const struct call *call,
	const struct list_request *request, list_sink sink, void *context, struct error *e)
{
	AUTO_LIST_STATE struct list_state state = {
		.check.request = request, .sink = sink, .context = context
	};
	AUTO_BUF struct buf out = BUF_INIT(WIRE_REQUEST_MAX);

	wire_put_list(&out, request);
	return ask(h, call, FRAME_LIST, &out, list_listener(&state), e);
}

enum err helper_client_fetch(struct helper_client *h, const struct call *call,
	const struct fetch_item *items, size_t items_count, fetch_sink sink, void *context,
	struct error *e)
{
	struct fetch_state state = {
		.items = items, .items_count = items_count, .sink = sink, .context = context
	};
	AUTO_BUF struct buf out = BUF_INIT(WIRE_REQUEST_MAX);

	wire_put_fetch(&out, items, items_count);
	return ask(h, call, FRAME_FETCH, &out, fetch_listener(&state), e);
}

enum err helper_client_apply(struct helper_client *h, const struct call *call,
	const struct apply_request *request, struct change_result *results, struct error *e)
{
	struct apply_state state = {
		.changes = request->changes, .results = results, .count = request->changes_count
	};
	AUTO_BUF struct buf out = BUF_INIT(WIRE_REQUEST_MAX);

	wire_put_apply(&out, request);
	return ask(h, call, FRAME_APPLY, &out, apply_listener(&state), e);
}

enum err helper_client_watch(struct helper_client *h, const struct call *call,
	const struct watch_request *request, watch_sink sink, void *context, struct error *e)
{
	const struct call patient = watch_call(call);
	AUTO_WATCH_STATE struct watch_state state = {
		.first.check.request = request->first, .sink = sink, .context = context
	};
	AUTO_BUF struct buf out = BUF_INIT(WIRE_REQUEST_MAX);

	wire_put_watch(&out, request);
	return ask(h, &patient, FRAME_WATCH, &out, watch_listener(&state), e);
}

enum err helper_client_command(struct helper_client *h, const struct call *call,
	const struct command_request *request, command_sink sink, void *context, struct error *e)
{
	struct command_state state = { .sink = sink, .context = context, .next = request->from };
	AUTO_BUF struct buf out = BUF_INIT(WIRE_REQUEST_MAX);

	wire_put_command(&out, request);
	return ask(h, call, FRAME_COMMAND, &out, command_listener(&state), e);
}

enum err helper_client_stop(struct helper_client *h, const struct call *call, const char *marker,
	bool now, struct error *e)
{
	AUTO_BUF struct buf out = BUF_INIT(WIRE_REQUEST_MAX);

	wire_put_stop(&out, marker, now);
	return ask(h, call, FRAME_STOP, &out, silent_listener(), e);
}
