/*
 * snapshot.h - the snapshot that stands for a container image.
 *
 * The service makes sandboxes from snapshots alone, and a snapshot from an image on request.
 */
#pragma once

#include "providers/provider.h"
#include "providers/rest/rest.h"

/* Room for a UUID with its NUL, and more. */
#define SNAPSHOT_ID_SIZE 64

/*
 * The snapshot of cfg->image, with a file system of cfg->disk_mb; 0: 8 GiB. Waits until the
 * snapshot is ready. ERR_INVALID: the image's name. ERR_IO: the snapshot could not be made, with
 * the service's words.
 */
enum err snapshot_of_image(const struct rest *r, const struct call *call,
	const struct provider_config *cfg, char id[SNAPSHOT_ID_SIZE], struct error *e);
