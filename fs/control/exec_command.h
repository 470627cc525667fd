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
	const char *session; /* providers/user_session.h; NULL: in none */
	struct audit *audit; /* has a record of each; NULL: there is none */
};

/* A longer text is not run: nobody wants half a command. */
#define EXEC_TEXT_MAX ((size_t)16 * 1024 * 1024)

/* Takes the bytes of `text`, whose `failed` says that it was longer. NULL: no memory, and nothing taken. */
struct exec_command *exec_command_new(struct buf *text, const struct audit_who *who);
void exec_command_free(struct exec_command *command);

/*
 * Runs it in the sandbox, from one thread. ERR_OK: it ran, however it ended; else why not, which the response says too.
 * *response is the caller's, NULL where exec_command_give_up() came first.
 */
enum err exec_command_run(struct exec_command *command, struct cache *cache,
	const struct exec_terms *terms, const struct cancel *cancel,
	struct exec_response **response, struct error *e);

/*
 * From another thread, or instead of a run: a response with the error `why` and what was printed so far; NULL: it has its
 * response already. What still comes is dropped.
 */
struct exec_response *exec_command_give_up(struct exec_command *command, const char *why);
