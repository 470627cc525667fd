/*
 * snapshot.h - the snapshot that stands for a container image.
 *
 * The service makes sandboxes from snapshots alone, and a snapshot from an image when it is asked to.
 * What was made once is found again by its name, which is made of the image's.
 */
#pragma once

#include "providers/rest/rest.h"

/* Of a UUID with its NUL, and more. */
#define SNAPSHOT_ID_SIZE 64

/*
 * `disk_mb`: how large its file system is; 0: 8 GiB. Waits until it is ready. ERR_INVALID: the image's
 * name; ERR_IO: it could not be made, with the service's words.
 */
enum err snapshot_of_image(const struct rest *r, const struct call *call, const char *image,
	int64_t disk_mb, char id[SNAPSHOT_ID_SIZE], struct error *e);
