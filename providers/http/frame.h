/*
 * frame.h - whether an answer is in the form that its service gives answers; for http's own files.
 *
 * Whose an answer is, is seen in its status, its type and, of all but good ones, in its whole body.
 * So what may be somebody else's is held until it is whole, and settled before it is read.
 */
#pragma once

#include "providers/http/exchange.h"

/* Whether the body is only to be judged. `frame` and `type` may be NULL. */
bool frame_holds(const struct http_frame *frame, int status, const char *type);
/* Makes a failure of an answer that came whole and is not the service's. */
void frame_settle(struct http_exchange *x, const struct call *call);
/* The same of one that does not end: ERR_UNREACHABLE. */
enum err frame_refuse(struct http_exchange *x, struct error *e);
/* Whether a good answer that was read whole is the service's; else it is noted: ERR_UNREACHABLE. */
enum err frame_check_whole(
	struct http_exchange *x, const struct http_answer *answer, struct error *e);
