/*
 * control_plane_json.h - the JSON of E2B's control plane, both ways. Only this part of the control
 * plane uses json-c.
 *
 * An answer's strings end up in URLs and headers, so each is checked for its length and its
 * characters. A field that is absent or null is "".
 */
#pragma once

#include "providers/base/buf.h"
#include "providers/e2b/control_plane.h"

/* ---- Answers ---- */

/*
 * One sandbox: the answer of create, connect or info. `now_s`: the time by the service's clock.
 * ERR_PROTOCOL: the answer makes no sense.
 */
enum err plane_json_sandbox(
	const struct buf *body, int64_t now_s, struct plane_sandbox *out, struct error *e);

/* One page, an array of sandboxes. An error of the sink ends the reading with that error. */
enum err plane_json_list(
	const struct buf *body, int64_t now_s, sandbox_sink sink, void *context, struct error *e);

/*
 * The vendor's words in the body of an error. "": the body has none, since it is empty or another
 * server's HTML.
 */
void plane_json_message(const struct buf *body, char *out, size_t room);

/* ---- Requests ---- */

/* Seconds, limited to an int32: the vendor's servers read no more. */
int64_t plane_timeout_s(int64_t seconds);

/*
 * `is_v1`: the body is for POST /sandboxes, where a token must be asked for and the default
 * lifetime differs.
 */
void plane_json_create(struct buf *out, const struct plane_new_sandbox *wanted, bool is_v1);
/* Writes {FIELD: N}, as {"timeout": 300}; `seconds` 0: {}. */
void plane_json_timeout(struct buf *out, const char *field, int64_t seconds);
/* The rules for the network of a sandbox that exists, as of provider_ops.set_network. */
void plane_json_network(struct buf *out, bool blocked, const char *const *allowed);
