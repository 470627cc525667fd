#include "providers/modal/control.h"

#include "providers/base/cleanup.h"
#include "providers/key.h"
#include "providers/modal/jwt.h"
#include "providers/modal/modal.pb-c.h"
#include "providers/modal/uuid.h"
#include "providers/modal/warnings.h"
#include "providers/server_clock.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define SERVICE "modal.client.ModalClient/"
/*
 * The name of this client: Modal knows no third party, and these two name the calls as its
 * JavaScript SDK makes them. Source: api.proto, enum ClientType; SDK 0.11.1, src/client.ts. The
 * user agent names sandboxfs.
 */
#define CLIENT_TYPE    "8"
#define CLIENT_VERSION "1.0.0"

/* The lifetime of a token that does not say when it expires: the one in Modal's clients. */
#define TOKEN_LIFE_S      1200
#define TOKEN_PAUSE_MAX_S 60
/* The time for the network, beyond the server's own time for an answer. */
#define SLACK_MS 10000

static const struct grpc_policy retries = {
	.retries = 3, .pause_ms = 100, .pause_max_ms = 1000, .throttle_max_ms = -1
};

struct modal_control {
	struct http *http;
	const struct modal_settings *settings;
	char *host;
	struct warnings *warnings;
	struct server_clock clock;
	pthread_mutex_t lock;
	char *token;           /* lock; NULL: none yet */
	int64_t token_renew_s; /* lock; by the server's clock; the token is renewed from then on */
	int64_t token_ends_s;  /* lock */
	/* lock; the pause after the last renewal, which failed; 0: it did not fail */
	int64_t token_pause_s;
};

/* ---- Start and end ---- */

/* "https://HOST:PORT/..." */
static char *host_of(const char *url)
{
	const char *at = strstr(url, "://");

	at = at ? at + 3 : url;
	return *at == '[' ? strndup(at + 1, strcspn(at + 1, "]")) : strndup(at, strcspn(at, ":/"));
}

enum err modal_control_check_named(const struct modal_control *c, const char *url, struct error *e)
{
	struct error why = { 0 };
	enum err kind = http_check_named_url(url, c->settings->server_url, &why);

	return kind ? error_set(e, kind, "modal: %s", why.text) : ERR_OK;
}

enum err modal_control_check_named_host(
	const struct modal_control *c, const char *host, struct error *e)
{
	AUTO_FREE char *url = NULL;

	if (asprintf(&url, "https://%s", host) < 0) {
		url = NULL;
		return error_set(e, ERR_NO_MEMORY, "modal");
	}
	return modal_control_check_named(c, url, e);
}

enum err modal_control_new(struct modal_control **out, struct http *http,
	const struct modal_settings *settings, struct error *e)
{
	struct modal_control *c;
	enum err kind = http_check_url(settings->server_url, e);

	if (kind)
		return kind;
	if (strncmp(settings->server_url, "https://", 8) != 0)
		return error_set(e, ERR_INVALID,
			"MODAL_SERVER_URL %.100s: it has to be https, or there is no HTTP/2",
			settings->server_url);
	c = calloc(1, sizeof *c);
	if (!c)
		return error_set(e, ERR_NO_MEMORY, "modal");
	*c = (struct modal_control){ .http = http, .settings = settings };
	pthread_mutex_init(&c->lock, NULL);
	c->host = host_of(settings->server_url);
	kind = c->host ? warnings_new(&c->warnings, e) : error_set(e, ERR_NO_MEMORY, "modal");
	if (kind)
		modal_control_free(c);
	else
		*out = c;
	return kind;
}

void modal_control_free(struct modal_control *c)
{
	if (!c)
		return;
	key_free(c->token);
	warnings_free(c->warnings);
	free(c->host);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

const struct server_clock *modal_control_clock(const struct modal_control *c)
{
	return &c->clock;
}

/* ---- A call ---- */

struct attempt {
	struct modal_control *c;
	const struct control_ask *ask;
	const char *token;   /* NULL: the call asks for a token itself */
	char key[UUID_SIZE]; /* "": the call is not repeated */
	ProtobufCMessage **answer;
};

struct metadata {
	struct http_header list[GRPC_HEADERS_MAX];
	size_t count;
	char number[16], method[80];
};

static void add(struct metadata *m, const char *name, const char *value, bool is_secret)
{
	m->list[m->count++] = (struct http_header){ name, value, is_secret };
}

static void add_credentials(struct metadata *m, const struct modal_settings *s)
{
	if (s->is_oauth) {
		add(m, "x-modal-refresh-token", s->refresh_token, true);
		add(m, "x-modal-oauth-client-id", s->client_id, true);
		add(m, "x-modal-oauth-client-secret", s->client_secret, true);
	} else {
		add(m, "x-modal-token-id", s->token_id, true);
		add(m, "x-modal-token-secret", s->token_secret, true);
	}
}

static void fill_metadata(struct metadata *m, const struct attempt *a, unsigned number)
{
	const struct modal_settings *s = a->c->settings;

	m->count = 0;
	snprintf(m->number, sizeof m->number, "%u", number);
	snprintf(m->method, sizeof m->method, SERVICE "%s", a->ask->method);
	add(m, "x-modal-client-type", CLIENT_TYPE, false);
	add(m, "x-modal-client-version", CLIENT_VERSION, false);
	add(m, "x-modal-host", a->c->host, false);
	add_credentials(m, s);
	if (a->token)
		add(m, "x-modal-auth-token", a->token, true);
	if (!*a->key)
		return;
	add(m, "x-idempotency-key", a->key, false);
	add(m, "x-retry-attempt", m->number, false);
	add(m, "x-throttle-retry-attempt", "0", false);
}

static struct grpc_request request_of(struct metadata *m, const struct attempt *a, unsigned number)
{
	fill_metadata(m, a, number);
	return (struct grpc_request){ .base_url = a->c->settings->server_url,
		.method = m->method,
		.headers = m->list,
		.headers_count = m->count,
		.message = a->ask->message,
		.timeout_ms = a->ask->wait_ms ? a->ask->wait_ms + SLACK_MS : 0,
		.warnings = a->c->warnings,
		.what = a->ask->what };
}

static enum err attempt_call(void *context, const struct call *call, unsigned number,
	struct grpc_outcome *out, struct error *e)
{
	struct attempt *a = context;
	struct metadata metadata;
	const struct grpc_request request = request_of(&metadata, a, number);
	struct call patient = call ? *call : (struct call){ 0 };

	/* While the server waits nothing moves. */
	if (a->ask->wait_ms && call_progress_ms(call) >= 0)
		patient.progress_ms = call_progress_ms(call) + a->ask->wait_ms + SLACK_MS;
	enum err kind = grpc_call(a->c->http, &patient, &request, a->ask->type, a->answer, out, e);

	server_clock_note(&a->c->clock, out->date_s);
	return kind;
}

static enum err explain(const struct modal_settings *s, const struct grpc_outcome *out,
	enum err kind, const struct error *why, struct error *e)
{
	if (out->status != GRPC_UNAUTHENTICATED)
		return error_set(e, kind, "%s", why->text);
	if (s->is_oauth)
		return error_set(e, ERR_AUTH,
			"Modal does not accept MODAL_OAUTH_REFRESH_TOKEN with "
			"MODAL_OAUTH_CLIENT_ID and "
			"MODAL_OAUTH_CLIENT_SECRET (%s)",
			why->text);
	return error_set(e, ERR_AUTH,
		"Modal does not accept MODAL_TOKEN_ID and MODAL_TOKEN_SECRET (%s); `modal token "
		"new` makes others",
		why->text);
}

static enum err perform(
	struct attempt *a, const struct call *call, struct grpc_outcome *out, struct error *e)
{
	struct grpc_policy policy = retries;
	struct error why = { 0 };
	enum err kind = uuid_new(a->key, e);

	if (kind)
		return kind;
	policy.throttle_max_ms = a->c->settings->throttle_max_ms;
	kind = grpc_retry(&policy, call, attempt_call, a, out, &why);
	return kind ? explain(a->c->settings, out, kind, &why, e) : ERR_OK;
}

/* ---- The token ---- */

/* A token is renewed once half of its life is over. */
static void keep_token(struct modal_control *c, const char *token, char **copy)
{
	int64_t now_s = server_clock_now_s(&c->clock), ends_s = jwt_expires_s(token);

	if (!ends_s)
		ends_s = now_s + TOKEN_LIFE_S;
	key_free(c->token);
	c->token = strdup(token);
	c->token_renew_s = now_s + (ends_s - now_s) / 2;
	c->token_ends_s = ends_s;
	c->token_pause_s = 0;
	*copy = c->token ? strdup(c->token) : NULL;
}

static enum err ask_token_locked(
	struct modal_control *c, const struct call *call, char **out, struct error *e)
{
	const Modal__Empty nothing = MODAL__EMPTY__INIT;
	const struct control_ask ask = { .method = "AuthTokenGet",
		.message = &nothing.base,
		.type = &modal__auth_token_get_response__descriptor,
		.what = "signing in" };
	ProtobufCMessage *answer = NULL;
	struct attempt a = { .c = c, .ask = &ask, .answer = &answer };
	struct grpc_outcome outcome;
	enum err kind = perform(&a, call, &outcome, e);
	const char *token;

	if (kind)
		return kind;
	token = ((Modal__AuthTokenGetResponse *)answer)->token;
	if (token)
		keep_token(c, token, out);
	protobuf_c_message_free_unpacked(answer, NULL);
	if (!token)
		return error_set(e, ERR_PROTOCOL, "modal: signing in: no token in the answer");
	return *out ? ERR_OK : error_set(e, ERR_NO_MEMORY, "modal");
}

/* As Modal's own clients do: a failing renewal must not delay every call. */
static void put_off_locked(struct modal_control *c)
{
	int64_t pause_s = c->token_pause_s ? c->token_pause_s * 2 : 1;

	c->token_pause_s = pause_s < TOKEN_PAUSE_MAX_S ? pause_s : TOKEN_PAUSE_MAX_S;
	c->token_renew_s = server_clock_now_s(&c->clock) + c->token_pause_s;
}

/* A copy of a valid token. While renewals fail, the last token serves until it expires. */
static enum err get_token(
	struct modal_control *c, const struct call *call, char **out, struct error *e)
{
	enum err kind = ERR_OK;

	*out = NULL;
	pthread_mutex_lock(&c->lock);
	if (!c->token || server_clock_now_s(&c->clock) >= c->token_renew_s)
		kind = ask_token_locked(c, call, out, e);
	if (!*out && c->token && server_clock_now_s(&c->clock) < c->token_ends_s) {
		*out = strdup(c->token);
		if (kind)
			put_off_locked(c);
		kind = *out ? ERR_OK : error_set(e, ERR_NO_MEMORY, "modal");
	}
	pthread_mutex_unlock(&c->lock);
	return kind;
}

/* ---- Every other call ---- */

enum err modal_control_call(struct modal_control *c, const struct call *call,
	const struct control_ask *ask, ProtobufCMessage **answer, enum grpc_status *status,
	struct error *e)
{
	struct attempt a = { .c = c, .ask = ask, .answer = answer };
	struct grpc_outcome outcome = { .status = GRPC_LOCAL };
	char *token;
	enum err kind = get_token(c, call, &token, e);

	a.token = token;
	if (!kind)
		kind = perform(&a, call, &outcome, e);
	if (status)
		*status = outcome.status;
	key_free(token);
	return kind;
}

enum err modal_control_begin(struct modal_control *c, const struct call *call,
	const struct control_ask *ask, struct grpc_stream **out, struct error *e)
{
	struct attempt a = { .c = c, .ask = ask };
	struct metadata metadata;
	struct grpc_request request;
	char *token;
	enum err kind = get_token(c, call, &token, e);

	if (kind)
		return kind;
	a.token = token;
	request = request_of(&metadata, &a, 0);
	kind = grpc_begin(c->http, &request, out, e);
	key_free(token);
	return kind;
}
