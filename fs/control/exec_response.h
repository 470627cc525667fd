/*
 * exec_response.h - a finished command as JSON, one line: what reading `.sandbox/exec` gives.
 */
#pragma once

#include "fs/control/exec_capture.h"

struct exec_outcome {
	bool has_exit_code;
	int exit_code;
	bool timed_out;
	const char *error; /* NULL: none */
	int64_t duration_ms;
};

/*
 * A sandbox's output must not choose how much memory a mount takes. JSON has up to sixteen bytes
 * for each printed byte, and the last response is kept.
 */
#define EXEC_RESPONSE_MAX ((size_t)64 * 1024 * 1024)

/*
 * Shared by the handle that wrote the command and all readers of the last response; never changed.
 */
struct exec_response;

/*
 * {"output", "stdout", "stderr", "exit_code", "truncated", "timed_out", "error", "duration_ms"}.
 * Output that is not UTF-8 is also given as exact bytes: {"output_b64", "stdout_b64",
 * "stderr_b64"}.
 *
 * The captures must have ended. Output that would take more than EXEC_RESPONSE_MAX is cut, and the
 * captures are marked as truncated. Without memory for the output the response has none and says
 * so. NULL: no memory even for that.
 */
struct exec_response *exec_response_new(const struct exec_outcome *outcome,
	struct exec_capture *stdout_bytes, struct exec_capture *stderr_bytes);

/* `r` may be NULL: no response. */
struct exec_response *exec_response_get(struct exec_response *r);
void exec_response_put(struct exec_response *r);

const struct buf *exec_response_text(const struct exec_response *r);
