/* The meaning of an answer of gRPC's, or of none. */
#include "providers/base/base64.h"
#include "providers/modal/grpc.h"
#include "providers/modal/modal.pb-c.h"

#include <stdlib.h>
#include <string.h>

/* Modal's wish for another time is a few bytes. */
#define DETAILS_MAX 4096
#define WORDS_MAX   300

bool grpc_is_passing(enum grpc_status status)
{
	switch (status) {
	case GRPC_CANCELLED:
	case GRPC_UNKNOWN:
	case GRPC_DEADLINE_EXCEEDED:
	case GRPC_RESOURCE_EXHAUSTED:
	case GRPC_INTERNAL:
	case GRPC_UNAVAILABLE: return true;
	default: return false;
	}
}

static enum err kind_of(enum grpc_status status)
{
	switch (status) {
	case GRPC_OK: return ERR_OK;
	case GRPC_INVALID_ARGUMENT:
	case GRPC_OUT_OF_RANGE: return ERR_INVALID;
	case GRPC_DEADLINE_EXCEEDED: return ERR_TIMEOUT;
	case GRPC_NOT_FOUND: return ERR_NOT_FOUND;
	case GRPC_ALREADY_EXISTS: return ERR_EXISTS;
	case GRPC_PERMISSION_DENIED:
	case GRPC_UNAUTHENTICATED: return ERR_AUTH;
	case GRPC_FAILED_PRECONDITION:
	case GRPC_ABORTED: return ERR_BUSY;
	case GRPC_UNIMPLEMENTED: return ERR_UNSUPPORTED;
	case GRPC_DATA_LOSS: return ERR_IO;
	default: return ERR_UNREACHABLE;
	}
}

static int hex(char c)
{
	return c >= '0' && c <= '9'    ? c - '0'
		: c >= 'A' && c <= 'F' ? c - 'A' + 10
		: c >= 'a' && c <= 'f' ? c - 'a' + 10
				       : -1;
}

size_t grpc_decode(char *out, size_t max, const char *in, size_t len)
{
	size_t made = 0;

	for (size_t i = 0; i < len && made < max; i++) {
		bool is_escape =
			in[i] == '%' && i + 2 < len && hex(in[i + 1]) >= 0 && hex(in[i + 2]) >= 0;

		out[made++] = is_escape ? (char)(hex(in[i + 1]) * 16 + hex(in[i + 2])) : in[i];
		i += is_escape ? 2 : 0;
	}
	out[made] = 0;
	return made;
}

static void put_words(const struct http_exchange *x, char words[WORDS_MAX + 1])
{
	const char *in = http_header(x, "grpc-message");
	size_t len = grpc_decode(words, WORDS_MAX, in ? in : "", in ? strlen(in) : 0);

	http_blot_secrets(x, words, len);
}

/* At least a tenth of a second, as in Modal's clients, and at most a day. */
static int64_t bounded_ms(float seconds)
{
	if (!(seconds >= 0.1F))
		return 100;
	return seconds > 86400 ? 86400000 : (int64_t)(seconds * 1000);
}

static int64_t policy_ms(const Modal__RpcStatus *status)
{
	static const char name[] = "/modal.client.RPCRetryPolicy";
	int64_t ms = -1;

	for (size_t i = 0; i < status->n_details; i++) {
		const Modal__Any *any = status->details[i];
		size_t len = any->type_url ? strlen(any->type_url) : 0;
		Modal__RpcRetryPolicy *policy;

		if (len < sizeof name - 1 || strcmp(any->type_url + len - (sizeof name - 1), name))
			continue;
		policy = modal__rpc_retry_policy__unpack(NULL, any->value.len, any->value.data);
		if (policy)
			ms = bounded_ms(policy->retry_after_secs);
		if (policy)
			modal__rpc_retry_policy__free_unpacked(policy, NULL);
	}
	return ms;
}

/* In base64 whose padding may be missing. */
int64_t grpc_retry_after_ms(const char *details)
{
	AUTO_BUF struct buf text = BUF_INIT(DETAILS_MAX), bytes = BUF_INIT(DETAILS_MAX);
	Modal__RpcStatus *status = NULL;
	int64_t ms = -1;

	buf_add_string(&text, details);
	while (!text.failed && text.len % 4)
		buf_add_byte(&text, '=');
	if (!text.failed &&
		base64_decode(&bytes, (const char *)text.bytes, text.len, NULL) == ERR_OK)
		status = modal__rpc_status__unpack(NULL, bytes.len, bytes.bytes);
	if (status) {
		ms = policy_ms(status);
		modal__rpc_status__free_unpacked(status, NULL);
	}
	return ms;
}

static bool parse_status(const char *text, enum grpc_status *out)
{
	char *end;
	long number = strtol(text, &end, 10);

	if (end == text || *end || number < 0 || number > GRPC_UNAUTHENTICATED)
		return false;
	*out = (enum grpc_status)number;
	return true;
}

/* A limit on requests, or no server at all: a gateway before Modal's servers also says these. */
static bool is_of_a_gateway(const struct grpc_outcome *out)
{
	return out->retry_after_ms < 0 &&
		(out->status == GRPC_RESOURCE_EXHAUSTED || out->status == GRPC_UNAVAILABLE);
}

static enum err say_status(const struct http_exchange *x, const char *what, const char *words,
	const struct grpc_outcome *out, struct error *e)
{
	enum err kind = kind_of(out->status);
	struct error said = { 0 };

	error_set(&said, kind, "modal: %s: %s", what, *words ? words : error_words(kind));
	if (is_of_a_gateway(out))
		foreign_note(http_foreign_of(x), said.text);
	return error_set(e, kind, "%s", said.text);
}

/* The transport's failure counts only where the server did not say how it ended. */
enum err grpc_conclude(struct http_exchange *x, const char *what, const struct error *transport,
	struct grpc_outcome *out, struct error *e)
{
	const char *status = http_header(x, "grpc-status");
	const char *details = http_header(x, "grpc-status-details-bin");
	char words[WORDS_MAX + 1];

	*out = (struct grpc_outcome){ .retry_after_ms = details ? grpc_retry_after_ms(details) : -1,
		.date_s = http_date_s(x),
		.may_have_arrived = http_may_have_arrived(x) };
	if (status && !parse_status(status, &out->status))
		out->status = GRPC_UNKNOWN;
	else if (!status && transport->kind) {
		out->status = transport->kind == ERR_UNREACHABLE ? GRPC_UNAVAILABLE : GRPC_LOCAL;
		return error_set(e, transport->kind, "%s", transport->text);
	} else if (!status)
		out->status = GRPC_UNKNOWN;
	put_words(x, words);
	if (status)
		return out->status ? say_status(x, what, words, out, e) : ERR_OK;
	return error_set(e, kind_of(out->status), "modal: %s: HTTP status %d without gRPC's own",
		what, http_status(x));
}
