/*
 * links.h - where a symbolic link of the sandbox may lead on this machine: nowhere outside the
 * mount.
 *
 * The kernel here follows a link's text, so a hostile sandbox could point it anywhere. A shown text
 * has ".." only as its leading components, and at most as many as the link is deep. The rule also
 * holds in two steps: a link whose text goes down through another link cannot then go up past it.
 */
#pragma once

#include "providers/base/error.h"

#include <stddef.h>

/*
 * Room for a rewritten text: the longest text, and a "../" for each component of the longest path.
 */
#define LINKS_TEXT_MAX (4096 + 3 * 2048)

/*
 * Writes the text to show for a link that stands `depth` directories below the root of the mount.
 * `root` is the absolute path, in the sandbox, of the shown directory. An absolute target below
 * `root` becomes a relative one. Any other absolute target is taken as if the mount's root were the
 * file system's. ERR_NAME_TOO_LONG: the text does not fit.
 */
enum err links_rewrite(const char *text, unsigned depth, const char *root, char *out, size_t room,
	struct error *e);

/* Whether the text may be shown unchanged. */
int links_is_contained(const char *text, unsigned depth);
