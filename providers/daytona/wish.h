/*
 * wish.h - the request for a new sandbox, as Daytona's control plane reads it.
 */
#pragma once

#include "providers/base/buf.h"
#include "providers/provider.h"

#define WISH_MAX ((size_t)1024 * 1024)

/* Bits of enum provider_option: the options that daytona_wish() reads. */
#define WISH_OPTIONS                                                                               \
	(OPTION_TEMPLATE | OPTION_IMAGE | OPTION_ENV | OPTION_LABELS | OPTION_NAME | OPTION_CPUS | \
		OPTION_MEMORY | OPTION_DISK | OPTION_REGION | OPTION_IDLE | OPTION_DELETE_AFTER |  \
		OPTION_BLOCK_NETWORK | OPTION_ALLOW | OPTION_ARCHIVE_AFTER | OPTION_LANGUAGE |     \
		OPTION_LIFETIME | OPTION_USER)

/*
 * Adds the JSON. cfg->template is the name of a snapshot, or, behind "image:", of a container
 * image. `target`: the region where cfg names none, or NULL. ERR_INVALID: cpus, memory or disk
 * without an image, which the vendor refuses.
 */
enum err daytona_wish(
	struct buf *out, const struct provider_config *cfg, const char *target, struct error *e);

/* The JSON for the network of a sandbox that exists, as of provider_ops.set_network. */
enum err daytona_network(
	struct buf *out, bool blocked, const char *const *allowed, struct error *e);

/* Minutes, rounded up. */
int64_t daytona_minutes(int64_t seconds);
