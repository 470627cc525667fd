/*
 * modal_answer.h - an answer that frees itself.
 */
#pragma once

#include <protobuf-c/protobuf-c.h>

static inline void answer_release(ProtobufCMessage **answer)
{
	if (*answer)
		protobuf_c_message_free_unpacked(*answer, NULL);
	*answer = NULL;
}
#define AUTO_ANSWER __attribute__((cleanup(answer_release)))
