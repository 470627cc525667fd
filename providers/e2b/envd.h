/*
 * envd.h - E2B's data plane: what the daemon in a sandbox can do, over its /files endpoint and its RPC services.
 *
 * The RPC services speak the Connect protocol with the binary protobuf codec (connect.h,
 * envd.proto). Facts are those of envd 0.6.13 and of the e2b SDK 2.51; envd_version.h says what older
 * daemons lack. envd does all file work as root: the user only owns what is made, and runs commands.
 * Paths here are absolute ones of the sandbox, cleaned.
 *
 * Errors: ERR_AUTH (401: the access token), ERR_GONE (502: no such sandbox behind the proxy, or one that is not running;
 * the control plane knows more), ERR_BUSY (409, 429 after repetitions), ERR_NO_SPACE (507), ERR_PROTOCOL, and those of
 * http.h. Functions may be called from any thread, several at once.
 */
#pragma once

#include "providers/e2b/envd_version.h"
#include "providers/http/http.h"
#include "providers/remote/remote.h"

struct envd;

/* Copied. Secrets: `token`. */
struct envd_address {
	const char *
		base_url; /* "https://sandbox.e2b.app", or what E2B_SANDBOX_URL says; no slash at the end */
	const char *sandbox_id; /* sent as E2b-Sandbox-Id beside E2b-Sandbox-Port: 49983 */
	const char *token;      /* X-Access-Token; NULL: the sandbox is not secured */
	const char
		*user; /* commands run and new files belong to; NULL: the sandbox's default user */
	unsigned features; /* enum envd_feature */
};

enum err envd_new(
	struct envd **out, struct http *http, const struct envd_address *address, struct error *e);
void envd_free(struct envd *d);

/* ---- Commands: process.Process ---- */

struct envd_command {
	const char *const
		*argv;   /* argv[0] is found by the daemon's PATH; at most 131071 bytes each */
	const char *cwd; /* NULL: the user's home */
	unsigned flags;  /* enum run_flags of client.h */
	/*
	 * The daemon says something at least so often, which is what keeps a silent command from looking like a dead
	 * connection; 0: 10, or a third of the call's deadline where that is less.
	 */
	int64_t keepalive_s;
	bool is_lasting; /* goes on for as long as somebody listens: it has a connection of its own */
	const struct remote_upload
		*upload; /* stored while the command runs and waits for it; or NULL */
};

/* As much as was heard, also on an error. */
struct envd_outcome {
	bool has_exit_code;
	int exit_code;     /* 128 + the signal's number when one ended it; 127: no such program */
	uint32_t pid;      /* 0: the start was not heard of */
	bool may_have_run; /* false: it certainly did not */
};

/*
 * Runs a command to its end, with nothing to read from. `started`, or NULL, is called with the process's number before any
 * output, and once more for each repetition: with RUN_REPEATABLE a stream that broke before it had any output is begun
 * anew, at most twice. A call that is cancelled or whose sink refuses ends the stream but not the process: see
 * envd_kill(). So does an upload that fails, whose error is then the result.
 *
 * ERR_INVALID: an argument or a directory that is not UTF-8, or no directory. ERR_TOO_LARGE: an
 * argument.
 */
enum err envd_run(struct envd *d, const struct call *call, const struct envd_command *command,
	void (*started)(void *context, uint32_t pid), execute_sink sink, void *context,
	struct envd_outcome *out, struct error *e);

/* SIGKILL to one process; one that has ended is success. */
enum err envd_kill(struct envd *d, const struct call *call, uint32_t pid, struct error *e);

/* ---- Files: /files ---- */

/* A whole file. envd writes in place, not atomically; it makes parents, keeps an existing mode, and the owner is the user. */
enum err envd_store(struct envd *d, const struct call *call, const struct remote_upload *upload,
	struct error *e);
