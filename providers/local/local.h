/*
 * local.h - the embedded sandbox: a directory of this machine, commands in a jail.
 *
 * In process the verbs are direct calls of the helper's functions, which makes this provider the
 * reference for the contract. The functions expect umask 0. With HELPER_PROCESS the helper program
 * serves the verbs over two pipes.
 */
#pragma once

#include "providers/provider.h"

extern const struct provider_ops local_provider;
