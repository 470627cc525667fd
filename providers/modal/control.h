/*
 * control.h - Modal's control plane (modal.client.ModalClient): calls with the account's
 * credentials, repeated as Modal's own clients repeat them.
 *
 * Besides the account's token most calls need a second one, which is asked for first and renewed
 * long before it expires. After modal_control_new() all functions may be called from any thread.
 */
#pragma once

#include "providers/modal/grpc.h"
#include "providers/modal/account.h"

struct modal_control;
struct server_clock;

/* `settings` must outlive the struct. ERR_INVALID: the server's URL. */
enum err modal_control_new(struct modal_control **out, struct http *http,
	const struct modal_settings *settings, struct error *e);
void modal_control_free(struct modal_control *c);

/* The clock by which tokens expire and sandboxes end; valid as long as `c`. */
const struct server_clock *modal_control_clock(const struct modal_control *c);

struct control_ask {
	const char *method; /* "SandboxListV2" */
	const ProtobufCMessage *message;
	const ProtobufCMessageDescriptor *type; /* the answer's type */
	/* the time that the server may take for an answer; 0: it answers at once */
	int64_t wait_ms;
	const char *what; /* for people: "listing sandboxes" */
};

/* http_check_named_url() for a URL, or a URL's host, in an answer of the control plane. */
enum err modal_control_check_named(const struct modal_control *c, const char *url, struct error *e);
enum err modal_control_check_named_host(
	const struct modal_control *c, const char *host, struct error *e);

/*
 * *answer must be freed with protobuf_c_message_free_unpacked(). ERR_AUTH: the text says which
 * variables are wrong.
 */
enum err modal_control_call(struct modal_control *c, const struct call *call,
	const struct control_ask *ask, ProtobufCMessage **answer, enum grpc_status *status,
	struct error *e);

/* Starts a call with many answers; the call is not repeated. */
enum err modal_control_begin(struct modal_control *c, const struct call *call,
	const struct control_ask *ask, struct grpc_stream **out, struct error *e);
