/*
 * keys.h - whether somebody means to use a provider, for commands that go over all of them.
 */
#pragma once

#include <stdbool.h>

struct provider_ops;

/*
 * The environment has a key of it. Where it has none and the provider refuses the key (ERR_AUTH), that is no failure: a
 * vendor's own file may hold one as well, which only the provider knows to look for.
 */
bool provider_key_is_set(const struct provider_ops *ops);
