/*
 * keys.h - whether somebody means to use a provider, for commands that go over all of them.
 */
#pragma once

#include "providers/base/buf.h"

#include <stdbool.h>

struct provider_ops;

/* A variable's name and the path of a file. */
#define KEY_SOURCE_MAX 8192

/*
 * Which source of a key counts, for people; the key is not in it. ERR_NOT_FOUND: there is none.
 * Other errors: the one that counts cannot be used.
 */
enum err provider_key_source(const struct provider_ops *ops, struct buf *out, struct error *e);

/* Whether there is a key, or what should have one and cannot be used. */
bool provider_key_is_set(const struct provider_ops *ops);
