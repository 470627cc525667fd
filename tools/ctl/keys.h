/*
 * keys.h - whether the user has set up a provider, for commands that go over all providers.
 */
#pragma once

#include "providers/base/buf.h"

#include <stdbool.h>

struct provider_ops;

/* Room for a variable's name and the path of a file. */
#define KEY_SOURCE_MAX 8192

/*
 * The source of the key, for people, without the key. ERR_NOT_FOUND: there is none. Other errors:
 * the source cannot be used.
 */
enum err provider_key_source(const struct provider_ops *ops, struct buf *out, struct error *e);

/* Whether there is a key, or a source that cannot be used. */
bool provider_key_is_set(const struct provider_ops *ops);

/* With all providers: how long a program of the user's own may be silent. */
#define PROGRAM_MS 5000
/* Whether a program of the user's own reaches the sandboxes: it may be set up or not. */
bool provider_is_program(const struct provider_ops *ops);
