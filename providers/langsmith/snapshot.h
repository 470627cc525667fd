/*
 * snapshot.h - the snapshot that stands for a container image.
 *
 * The service makes sandboxes from snapshots alone, and a snapshot from an image on request.
 */
#pragma once

#include "providers/rest/image.h"

/* A new one has a file system of cfg->disk_mb; 0: 8 GiB. */
extern const struct image_base langsmith_snapshot;
