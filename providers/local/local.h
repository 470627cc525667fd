/*
 * local.h - the embedded sandbox: a directory of this machine, commands in a jail.
 *
 * In process the verbs are the helper's functions called directly, which makes it the reference for the contract. They
 * expect umask 0. With HELPER_PROCESS the helper program serves them over two pipes.
 */
#pragma once

#include "providers/provider.h"

extern const struct provider_ops local_provider;
