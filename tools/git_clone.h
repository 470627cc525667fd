/*
 * git_clone.h - clones a repository into a new sandbox, with the sandbox's own git.
 *
 * A token travels as the input of the command: no list of processes, no log and no remote of the
 * clone has it. The sandbox's git asks a credential helper for it, which ends with the command.
 */
#pragma once

#include "providers/provider.h"

#include <stdbool.h>

struct git_request {
	char *url;        /* "URL" or "URL#REF"; NULL: none */
	char *token_file; /* file of mode 0600, with the token in its first line; NULL: none */
};

void git_request_release(struct git_request *r);

/*
 * To be called before the sandbox is made. ERR_INVALID: no URL, or one with a password in it;
 * ERR_AUTH: no token.
 */
enum err git_request_check(const struct git_request *r, struct error *e);

/*
 * Connects to the sandbox cfg->id and clones: into the working directory where `is_empty`,
 * otherwise into a directory below it with the repository's name. git's output goes to standard
 * error. ERR_IO: git failed.
 */
enum err git_clone(const struct git_request *r, const struct provider_ops *ops,
	const struct provider_config *cfg, const struct call *call, bool is_empty, struct error *e);
