/*
 * git_clone.h - a repository that is cloned into a sandbox that was just made, by the sandbox's own
 * git.
 *
 * A token travels as the input of the command: it stands in no list of processes, no log and not in
 * the clone's remote. git of the sandbox asks a credential helper for it, which ends with the
 * command.
 */
#pragma once

#include "providers/provider.h"

#include <stdbool.h>

struct git_request {
	char *url;        /* "URL" or "URL#REF"; NULL: none */
	char *token_file; /* of mode 0600, with the token in its first line; NULL: none */
};

void git_request_release(struct git_request *r);

/*
 * Before anything is made. ERR_INVALID: the URL has a password in it, or is none; ERR_AUTH: no
 * token.
 */
enum err git_request_check(const struct git_request *r, struct error *e);

/*
 * Connects to the sandbox cfg->id and clones: into the working directory where `is_empty`, else
 * into one below it that has the repository's name. What git prints comes on standard error.
 * ERR_IO: it failed.
 */
enum err git_clone(const struct git_request *r, const struct provider_ops *ops,
	const struct provider_config *cfg, const struct call *call, bool is_empty, struct error *e);
