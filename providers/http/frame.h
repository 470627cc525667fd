/*
 * frame.h - whether an answer has the form of its service's answers; for http's own files.
 *
 * The status, the type and, except for good answers, the whole body show whether an answer is the
 * service's. So an answer that may be foreign is held until it is whole, and checked before it is
 * read.
 */
#pragma once

#include "providers/http/exchange.h"

/* Whether the body is held to be checked. `frame` and `type` may be NULL. */
bool frame_holds(const struct http_frame *frame, int status, const char *type);
/* Turns a whole answer that is not the service's into a failure. */
void frame_conclude(struct http_exchange *x, const struct call *call);
/* As frame_conclude(), for an answer that does not end: ERR_UNREACHABLE. */
enum err frame_refuse(struct http_exchange *x, struct error *e);
/*
 * Whether a good answer that was read whole is the service's; else it is recorded: ERR_UNREACHABLE.
 */
enum err frame_check_whole(
	struct http_exchange *x, const struct http_answer *answer, struct error *e);
