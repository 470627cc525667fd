/*
 * exec_command.h - one command from its text to its response.
 */
#pragma once

#include "fs/audit.h"
#include "fs/control/exec_response.h"
#include "providers/base/call.h"

struct cache;
struct exec_command;

/* How commands run. */
struct exec_terms {
	int64_t timeout_ms;  /* 0: none */
	const char *shell;   /* providers/user_shell.h; NULL: auto */
	const char *session; /* providers/user_session.h; NULL: no session */
	struct audit *audit; /* has a record of each command; NULL: none */
};

/* A longer text is not run: half a command must never run. */
#define EXEC_TEXT_MAX ((size_t)16 * 1024 * 1024)

/*
 * Takes the bytes of `text`; `text->failed` means that the command was too long. NULL: no memory,
 * and nothing taken.
 */
struct exec_command *exec_command_new(struct buf *text, const struct audit_who *who);
void exec_command_free(struct exec_command *command);

/*
 * Runs the command in the sandbox, from one thread. ERR_OK: the command ran, however it ended. Any
 * other error says why not, and so does the response. The caller owns *response; NULL where
 * exec_command_give_up() came first.
 */
enum err exec_command_run(struct exec_command *command, struct cache *cache,
	const struct exec_terms *terms, const struct cancel *cancel,
	struct exec_response **response, struct error *e);

/*
 * From another thread, or instead of a run: a response with the error `why` and the output so far.
 * NULL: the command has its response already. Later output is dropped.
 */
struct exec_response *exec_command_give_up(struct exec_command *command, const char *why);
