/*
 * control_plane_json.h - what E2B's control plane writes and reads: all that knows json-c there.
 *
 * An answer is distrusted: its strings end up in URLs and headers, so each is checked for its length and its characters.
 * Fields that are absent or null are "".
 */
#pragma once

#include "providers/base/buf.h"
#include "providers/e2b/control_plane.h"

/* ---- Answers ---- */

/*
 * One sandbox: of create, connect or info. `now_s`: the time by the service's clock. ERR_PROTOCOL: the
 * answer makes no sense.
 */
enum err plane_json_sandbox(
	const struct buf *body, int64_t now_s, struct plane_sandbox *out, struct error *e);

/* An array of sandboxes, one page; what the sink returns ends it. */
enum err plane_json_list(
	const struct buf *body, int64_t now_s, sandbox_sink sink, void *context, struct error *e);

/* The vendor's words in the body of an error, "" when there are none: bodies may be empty or another server's HTML. */
void plane_json_message(const struct buf *body, char *out, size_t room);

/* ---- Requests ---- */

/* In seconds, as an int32: what the vendor's servers read. */
int64_t plane_timeout_s(int64_t seconds);

/* `is_v1`: of POST /sandboxes, where a token must be asked for and the default lifetime is another. */
void plane_json_create(struct buf *out, const struct plane_new_sandbox *wanted, bool is_v1);
/* {"timeout": N}; `seconds` 0: {}. */
void plane_json_timeout(struct buf *out, const char *field, int64_t seconds);
