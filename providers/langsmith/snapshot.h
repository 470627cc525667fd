/*
 * snapshot.h - the snapshot that stands for a container image.
 *
 * The service makes sandboxes from snapshots alone, and a snapshot from an image on request.
 */
#pragma once

#include "providers/rest/image.h"

/* A new one has a file system of cfg->disk_mb; 0: 8 GiB. */
extern const struct image_base langsmith_image;

/* Waits until the snapshot of a sandbox is ready. ERR_IO: it failed, with the service's words. */
enum err snapshot_wait(
	const struct rest *r, const struct call *call, const char *id, struct error *e);
