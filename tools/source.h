/*
 * source.h - what is mounted: PROVIDER:[ID][:PATH].
 *
 * No ID: a sandbox is to be made. PATH is the remote directory that becomes the root of the mount.
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

/* ERR_INVALID: malformed, or no such provider (the sentence names those there are). */
enum err source_parse(struct source *out, const char *text, struct error *e);
/* ERR_INVALID: `path` is none that a source may have: empty, too long, or with a "..". */
enum err source_check_path(const char *path, struct error *e);
void source_release(struct source *s);

/* The source as the mount table shows it, with `id` for the sandbox. Allocated; NULL without memory. */
char *source_text(const struct source *s, const char *id);
