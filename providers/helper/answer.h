/*
 * answer.h - does what one request asks and sends the answer.
 */
#pragma once

#include "providers/base/call.h"
#include "providers/helper/helper.h"
#include "providers/helper/stream.h"

#include <stdatomic.h>

struct answer {
	const struct root *root;
	struct outlet *out;
	const atomic_bool *is_stopped; /* set from any thread: the verb ends at its next item */
	const struct call *call;       /* what stops a watch */
};

/* Decodes, works, sends the records and the end. What goes wrong is said in the end; ERR_UNREACHABLE: nobody reads. */
enum err answer_request(
	const struct answer *a, const struct stream_request *request, struct error *e);

/* Sends only the end. Id 0 speaks of the stream itself. */
enum err answer_end(struct outlet *out, uint32_t id, enum err kind, const char *text);
