#include "providers/modal/worker.h"

#include "providers/base/cleanup.h"
#include "providers/key.h"
#include "providers/modal/jwt.h"
#include "providers/modal/modal.pb-c.h"
#include "providers/server_clock.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define SERVICE "modal.task_command_router.TaskCommandRouter/"

/*
 * A token with less time left is renewed, or with less than half of its time. Source: SDK 0.11.1,
 * which renews no token that has more.
 */
#define RENEW_S 30

/*
 * Repeated as Modal's own clients do, but not for ten seconds. Source: SDK 0.11.1,
 * src/task_command_router_client.ts.
 */
static const struct grpc_policy retries = {
	.retries = 6, .pause_ms = 10, .pause_max_ms = 1000, .throttle_max_ms = -1
};

static const struct {
	const char *method, *what;
	const ProtobufCMessageDescriptor *answer; /* NULL: many */
} methods[] = {
	[WORKER_START] = { SERVICE "TaskExecStart", "starting a program",
		&modal__empty__descriptor },
	[WORKER_READ] = { SERVICE "TaskExecStdioRead", "reading a program's output", NULL },
	[WORKER_WAIT] = { SERVICE "TaskExecWait", "waiting for a program",
		&modal__exec_wait_response__descriptor },
	[WORKER_POLL] = { SERVICE "TaskExecPoll", "looking after a program",
		&modal__exec_wait_response__descriptor },
	[WORKER_WRITE] = { SERVICE "TaskExecStdinWrite", "feeding a program",
		&modal__empty__descriptor },
	[WORKER_STDIN_STATUS] = { SERVICE "TaskExecStdinStatus", "feeding a program",
		&modal__exec_stdin_status_response__descriptor },
};

struct worker {
	struct http *http;
	const struct server_clock *clock;
	char *task_id;
	worker_renew renew;
	void *context;
	pthread_mutex_t renewing; /* held while another token is asked for */
	pthread_mutex_t lock;
	struct worker_access access; /* lock */
	int64_t renew_s;             /* lock; from then on, by the clock; 0: not known */
	unsigned generation;         /* lock; of the token */
};

/* ---- Start and end ---- */

void worker_access_release(struct worker_access *a)
{
	key_free(a->jwt);
	free(a->url);
	free(a->address);
	*a = (struct worker_access){ 0 };
}

static enum err check_access(const struct worker_access *a, struct error *e)
{
	struct in_addr ignored;

	if (!a->url || !a->jwt || strncmp(a->url, "https://", 8))
		return error_set(e, ERR_PROTOCOL,
			"modal: the worker's address '%.100s' is not https", a->url ? a->url : "");
	if (a->address && inet_pton(AF_INET, a->address, &ignored) != 1)
		return error_set(e, ERR_PROTOCOL,
			"modal: the worker's address '%.100s' is not one of IPv4", a->address);
	return http_check_url(a->url, e);
}

static int64_t when_to_renew(const struct server_clock *clock, const char *jwt)
{
	int64_t expires_s = jwt_expires_s(jwt);
	int64_t half_s = (expires_s - server_clock_now_s(clock)) / 2;

	return expires_s ? expires_s - (half_s < RENEW_S ? half_s : RENEW_S) : 0;
}

enum err worker_new(struct worker **out, struct http *http, const struct server_clock *clock,
	const char *task_id, struct worker_access *access, worker_renew renew, void *context,
	struct error *e)
{
	struct worker *w = calloc(1, sizeof *w);
	enum err kind = check_access(access, e);

	if (w) {
		*w = (struct worker){ .http = http,
			.clock = clock,
			.task_id = strdup(task_id),
			.renew = renew,
			.context = context,
			.access = *access,
			.renew_s = access->jwt ? when_to_renew(clock, access->jwt) : 0 };
		*access = (struct worker_access){ 0 };
		pthread_mutex_init(&w->lock, NULL);
		pthread_mutex_init(&w->renewing, NULL);
	}
	if (!kind && (!w || !w->task_id))
		kind = error_set(e, ERR_NO_MEMORY, "modal");
	worker_access_release(access);
	if (kind)
		worker_free(w);
	else
		*out = w;
	return kind;
}

void worker_free(struct worker *w)
{
	if (!w)
		return;
	worker_access_release(&w->access);
	pthread_mutex_destroy(&w->lock);
	pthread_mutex_destroy(&w->renewing);
	free(w->task_id);
	free(w);
}

const char *worker_task(const struct worker *w)
{
	return w->task_id;
}

/* ---- The token ---- */

struct ticket {
	char *url, *address, *authorization;
	unsigned generation;
};

static void ticket_release(struct ticket *t)
{
	key_free(t->authorization);
	free(t->url);
	free(t->address);
}
#define AUTO_TICKET __attribute__((cleanup(ticket_release)))

/* Only the token changes: the address of the first access stays the sandbox's. */
static enum err renew(struct worker *w, const struct call *call, struct error *e)
{
	struct worker_access access = { 0 };
	enum err kind = w->renew(w->context, call, &access, e);

	if (!kind)
		kind = check_access(&access, e);
	if (!kind) {
		pthread_mutex_lock(&w->lock);
		key_free(w->access.jwt);
		w->access.jwt = take(access.jwt);
		w->renew_s = when_to_renew(w->clock, w->access.jwt);
		w->generation++;
		pthread_mutex_unlock(&w->lock);
	}
	worker_access_release(&access);
	return kind;
}

static unsigned generation_of(struct worker *w)
{
	unsigned generation;

	pthread_mutex_lock(&w->lock);
	generation = w->generation;
	pthread_mutex_unlock(&w->lock);
	return generation;
}

enum err worker_renew_access(
	struct worker *w, const struct call *call, unsigned refused, struct error *e)
{
	enum err kind = ERR_OK;

	pthread_mutex_lock(&w->renewing);
	if (generation_of(w) == refused)
		kind = renew(w, call, e);
	pthread_mutex_unlock(&w->renewing);
	return kind;
}

/* ---- Calls ---- */

/*
 * An aged token is renewed before it is refused, where its age is known: a large request that is
 * refused early may take long to end.
 */
static bool is_aged(struct worker *w, unsigned *generation)
{
	bool is_aged;

	pthread_mutex_lock(&w->lock);
	*generation = w->generation;
	is_aged = w->renew_s && server_clock_now_s(w->clock) >= w->renew_s;
	pthread_mutex_unlock(&w->lock);
	return is_aged;
}

static bool fill_ticket_locked(const struct worker *w, struct ticket *out)
{
	const struct worker_access *access = &w->access;

	*out = (struct ticket){ .url = strdup(access->url),
		.address = access->address ? strdup(access->address) : NULL,
		.generation = w->generation };
	if (asprintf(&out->authorization, "Bearer %s", access->jwt) < 0)
		out->authorization = NULL;
	return out->url && out->authorization && (out->address || !access->address);
}

static enum err take_ticket(
	struct worker *w, const struct call *call, struct ticket *out, struct error *e)
{
	unsigned generation;
	bool is_filled;
	enum err kind =
		is_aged(w, &generation) ? worker_renew_access(w, call, generation, e) : ERR_OK;

	if (kind)
		return kind;
	pthread_mutex_lock(&w->lock);
	is_filled = fill_ticket_locked(w, out);
	pthread_mutex_unlock(&w->lock);
	return is_filled ? ERR_OK : error_set(e, ERR_NO_MEMORY, "modal");
}

static struct grpc_request request_of(const struct ticket *t, struct http_header *authorization,
	enum worker_method method, const ProtobufCMessage *message)
{
	*authorization = (struct http_header){
		.name = "authorization", .value = t->authorization, .is_secret = true
	};
	return (struct grpc_request){ .base_url = t->url,
		.address = t->address,
		.method = methods[method].method,
		.headers = authorization,
		.headers_count = 1,
		.message = message,
		.what = methods[method].what };
}

enum err worker_begin(struct worker *w, const struct call *call, enum worker_method method,
	const ProtobufCMessage *message, unsigned *generation, struct grpc_stream **out,
	struct error *e)
{
	AUTO_TICKET struct ticket ticket = { 0 };
	struct http_header authorization;
	struct grpc_request request;
	enum err kind = take_ticket(w, call, &ticket, e);

	if (kind)
		return kind;
	*generation = ticket.generation;
	request = request_of(&ticket, &authorization, method, message);
	return grpc_begin(w->http, &request, out, e);
}

static enum err call_with(struct worker *w, const struct call *call, enum worker_method method,
	const ProtobufCMessage *message, unsigned *generation, ProtobufCMessage **answer,
	struct grpc_outcome *out, struct error *e)
{
	AUTO_TICKET struct ticket ticket = { 0 };
	struct http_header authorization;
	struct grpc_request request;
	enum err kind = take_ticket(w, call, &ticket, e);

	*out = (struct grpc_outcome){ .status = GRPC_LOCAL, .retry_after_ms = -1 };
	if (kind)
		return kind;
	*generation = ticket.generation;
	request = request_of(&ticket, &authorization, method, message);
	return grpc_call(w->http, call, &request, methods[method].answer, answer, out, e);
}

enum err worker_call_once(struct worker *w, const struct call *call, enum worker_method method,
	const ProtobufCMessage *message, ProtobufCMessage **answer, struct grpc_outcome *out,
	struct error *e)
{
	unsigned generation;
	struct error why = { 0 };
	enum err kind = call_with(w, call, method, message, &generation, answer, out, &why);

	if (kind && out->status == GRPC_UNAUTHENTICATED) {
		kind = worker_renew_access(w, call, generation, e);
		return kind ? kind
			    : call_with(w, call, method, message, &generation, answer, out, e);
	}
	return kind ? error_set(e, kind, "%s", why.text) : ERR_OK;
}

struct attempt {
	struct worker *w;
	enum worker_method method;
	const ProtobufCMessage *message;
	ProtobufCMessage **answer;
};

static enum err attempt_call(void *context, const struct call *call, unsigned number,
	struct grpc_outcome *out, struct error *e)
{
	const struct attempt *a = context;

	(void)number;
	return worker_call_once(a->w, call, a->method, a->message, a->answer, out, e);
}

enum err worker_call(struct worker *w, const struct call *call, enum worker_method method,
	const ProtobufCMessage *message, ProtobufCMessage **answer, enum grpc_status *status,
	struct error *e)
{
	struct attempt a = { w, method, message, answer };
	struct grpc_outcome out = { .status = GRPC_LOCAL };
	enum err kind = grpc_retry(&retries, call, attempt_call, &a, &out, e);

	*status = out.status;
	return kind;
}
