/*
 * answer.h - carries out one request and sends the answer.
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
	const struct call *call;       /* the call of a watch, which ends with it */
};

/*
 * Decodes the request, carries it out, sends the records and the end. An error of the request
 * stands in the end. The result is that of sending; ERR_UNREACHABLE: no process reads the answers.
 */
enum err answer_request(
	const struct answer *a, const struct stream_request *request, struct error *e);

/* Sends only the end. An end of id 0 is about the stream itself. */
enum err answer_end(struct outlet *out, uint32_t id, enum err kind, const char *text);
