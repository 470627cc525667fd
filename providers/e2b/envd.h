/*
 * envd.h - E2B's data plane: what the daemon in a sandbox can do, over its /files endpoint and its
 * RPC services.
 *
 * The RPC services speak the Connect protocol with the binary protobuf codec (connect.h,
 * envd.proto). Facts are those of envd 0.6.13 and of the e2b SDK 2.51; envd_version.h says what
 * older daemons lack. envd does all file work as root: the user owns new files, and runs commands.
 * Paths are absolute paths of the sandbox, cleaned.
 *
 * Errors: ERR_AUTH (401: the access token), ERR_GONE (502: no such sandbox behind the proxy, or a
 * sandbox that is not running; the control plane knows more), ERR_BUSY (409, 429 after
 * repetitions), ERR_NO_SPACE (507), ERR_PROTOCOL, and those of http.h. Functions may be called from
 * any thread, several at once.
 */
#pragma once

#include "providers/e2b/envd_version.h"
#include "providers/http/http.h"
#include "providers/remote/remote.h"

struct envd;

/* envd_new() copies the strings. `token` is secret. */
struct envd_address {
	/* "https://sandbox.e2b.app", or E2B_SANDBOX_URL; no slash at the end. */
	const char *base_url;
	const char *sandbox_id; /* sent as E2b-Sandbox-Id, with E2b-Sandbox-Port: 49983 */
	const char *token;      /* X-Access-Token; NULL: the sandbox is not secured */
	/* The user who runs commands and owns new files; NULL: the sandbox's default user. */
	const char *user;
	unsigned features; /* enum envd_feature */
};

enum err envd_new(
	struct envd **out, struct http *http, const struct envd_address *address, struct error *e);
void envd_free(struct envd *d);

/* ---- Commands: process.Process ---- */

struct envd_command {
	/* argv[0] is found by the daemon's PATH. An argument has at most 131071 bytes. */
	const char *const *argv;
	const char *cwd; /* NULL: the user's home */
	unsigned flags;  /* enum run_flags of client.h */
	/*
	 * The longest silence before the daemon sends a message, so that a silent command does not
	 * look like a dead connection; 0: 10, or a third of the call's deadline where that is less.
	 */
	int64_t keepalive_s;
	bool is_lasting; /* the command runs as long as its stream is read, on its own connection */
	/* A file that is stored while the command runs and waits for it; or NULL. */
	const struct remote_upload *upload;
};

/* The command as the stream reported it, also where the stream ended with an error. */
struct envd_outcome {
	bool has_exit_code;
	int exit_code;     /* 128 + the signal's number when one ended it; 127: no such program */
	uint32_t pid;      /* 0: the start was not reported */
	bool may_have_run; /* false: the command certainly did not run */
};

/* Whether a call that nobody asked for would wake the sandbox, if it is paused. */
bool envd_must_not_wake(const struct envd *d, const struct call *call);

/*
 * Runs a command to its end, with an empty standard input. `started`, or NULL, is called with the
 * process's number before any output, and once more for each repetition: with RUN_REPEATABLE a
 * stream that broke before any output is begun anew, at most twice. A call that is cancelled, or
 * whose sink refuses, ends the stream but not the process: see envd_kill(). An upload that fails
 * does the same, and its error is then the result.
 *
 * ERR_INVALID: an argument or a directory that is not UTF-8, or no directory. ERR_TOO_LARGE: an
 * argument.
 */
enum err envd_run(struct envd *d, const struct call *call, const struct envd_command *command,
	void (*started)(void *context, uint32_t pid), execute_sink sink, void *context,
	struct envd_outcome *out, struct error *e);

/* SIGKILL to one process. A process that has ended is success. */
enum err envd_kill(struct envd *d, const struct call *call, uint32_t pid, struct error *e);

/* ---- Files: /files ---- */

/*
 * Stores a whole file. envd writes in place, not atomically, makes parents, and keeps the mode of
 * an existing file. The user owns the file.
 */
enum err envd_store(struct envd *d, const struct call *call, const struct remote_upload *upload,
	struct error *e);
