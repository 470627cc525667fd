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
 * What a sandbox prints must not choose how much memory a mount takes: JSON has up to sixteen bytes
 * for one that was printed, and the last response is kept.
 */
#define EXEC_RESPONSE_MAX ((size_t)64 * 1024 * 1024)

/* Shared by the handle that wrote the command and everyone who reads the last one; never changed. */
struct exec_response;

/*
 * {"output", "stdout", "stderr", "exit_code", "truncated", "timed_out", "error", "duration_ms"} and, when what was printed
 * is not UTF-8, its exact bytes as {"output_b64", "stdout_b64", "stderr_b64"}. The captures must have ended; of
 * output that takes more than EXEC_RESPONSE_MAX they keep less, and are truncated. Without memory for
 * the output it is one without output that says so; NULL: not even for that.
 */
struct exec_response *exec_response_new(const struct exec_outcome *outcome,
	struct exec_capture *stdout_bytes, struct exec_capture *stderr_bytes);

/* NULL is none, and allowed. */
struct exec_response *exec_response_get(struct exec_response *r);
void exec_response_put(struct exec_response *r);

const struct buf *exec_response_text(const struct exec_response *r);
