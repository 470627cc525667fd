/*
 * new_sandbox.h - a new sandbox with the options of a command's words.
 *
 *      create.c leaves it behind, with.c deletes it when its command has ended
 */
#pragma once

#include "tools/config.h"
#include "tools/ctl/guard.h"
#include "tools/git_clone.h"
#include "tools/setup_script.h"
#include "tools/ctl/target.h"

/* The request; all of it is owned. */
struct new_sandbox {
	struct creation creation;
	struct setup_request setup;
	int reuse; /* an existing sandbox with these labels is used */
	struct git_request git;
	char *workdir; /* made in the sandbox, and shown; NULL: the sandbox's own */
};

#define NEW_SANDBOX_INIT                                                                           \
	{                                                                                          \
		.setup = SETUP_REQUEST_INIT                                                        \
	}
#define AUTO_NEW_SANDBOX __attribute__((cleanup(new_sandbox_release)))

/* The options; the parser's input is a struct new_sandbox. */
extern const struct argp new_sandbox_argp;
void new_sandbox_release(struct new_sandbox *m);

/*
 * Makes a sandbox of `provider`, or finds one to reuse, and runs the setup script in it. Faults of
 * the script's file are found before the sandbox is made. `t` is then parsed, with the sandbox's
 * id, and not connected. On failure no sandbox is left behind, except one that is to stay when its
 * script failed: the sentence names it. Until the caller ends `guard`, the sandbox is deleted when
 * this process is killed.
 */
enum err new_sandbox_do(const struct new_sandbox *m, const char *provider,
	const struct ctl_common *common, struct target *t, struct guard *guard, struct error *e);

/*
 * Deletes the new sandbox, also when the call was cancelled, and prints an error when it cannot. A
 * sandbox that was only found (PROVIDER_SINGLE) stays. Returns whether it was deleted.
 */
bool new_sandbox_undo(const struct target *t);
