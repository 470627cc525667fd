/*
 * source.h - the source of a mount: PROVIDER:[ID][:PATH].
 *
 * Without an ID a new sandbox is made. PATH is the remote directory that becomes the root of the
 * mount.
 */
#pragma once

#include "providers/base/error.h"

struct provider_ops;

struct source {
	const struct provider_ops *ops;
	char *id;   /* NULL: none given */
	char *path; /* NULL: the provider's working directory */
};

#define AUTO_SOURCE __attribute__((cleanup(source_release)))

/* ERR_INVALID: malformed, or no such provider (the sentence names all providers). */
enum err source_parse(struct source *out, const char *text, struct error *e);
/* ERR_INVALID: a source cannot have this path: empty, too long, or with a "..". */
enum err source_check_path(const char *path, struct error *e);
void source_release(struct source *s);

/*
 * The source as the mount table shows it, with `id` for the sandbox. Allocated; NULL without
 * memory.
 */
char *source_text(const struct source *s, const char *id);
