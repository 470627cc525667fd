/*
 * new_sandbox.h - a sandbox that is made as the words of a command ask for it.
 *
 *      create.c leaves it behind, with.c deletes it when its command has ended
 */
#pragma once

#include "tools/config.h"
#include "tools/ctl/guard.h"
#include "tools/git_clone.h"
#include "tools/setup_script.h"
#include "tools/ctl/target.h"

/* What is asked for; all is owned. */
struct new_sandbox {
	struct creation creation;
	struct setup_request setup;
	int reuse; /* the sandbox that has its labels will do */
	struct git_request git;
	char *workdir; /* made in it, and shown; NULL: its own */
};

#define NEW_SANDBOX_INIT                                                                           \
	{                                                                                          \
		.setup = SETUP_REQUEST_INIT                                                        \
	}
#define AUTO_NEW_SANDBOX __attribute__((cleanup(new_sandbox_release)))

/* Its options; the parser's input is a struct new_sandbox. */
extern const struct argp new_sandbox_argp;
void new_sandbox_release(struct new_sandbox *m);

/*
 * Makes a sandbox of `provider`, or finds one that will do, and runs the setup script in it; what is wrong with the script's file is known before
 * anything is made. `t` is then parsed, with the new one's id, and not connected. On failure nothing is left behind, but
 * for a sandbox that is to stay when its script failed: the sentence names it.
 * Until `guard` is ended, as the caller does in the end, the sandbox goes when this process is killed.
 */
enum err new_sandbox_do(const struct new_sandbox *m, const char *provider,
	const struct ctl_common *common, struct target *t, struct guard *guard, struct error *e);

/*
 * Deletes what was made, also when the call was cancelled, and says so when it cannot. One that was only found
 * (PROVIDER_SINGLE) stays. Whether it was deleted.
 */
bool new_sandbox_undo(const struct target *t);
