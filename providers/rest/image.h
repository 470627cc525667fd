/*
 * image.h - a container image from which a vendor makes a snapshot, a template or a blueprint, the
 * base of sandboxes.
 *
 * A base that was made once is found again by its name, which is derived from the image's.
 */
#pragma once

#include "providers/base/wait.h"
#include "providers/rest/rest.h"

#define IMAGE_NAME_SIZE 160
/* The time to pull and unpack a large image. Design decision. */
#define IMAGE_READY_MS (20 * 60 * 1000)

/* ERR_INVALID: not the name of an image. */
enum err image_check(const char *vendor, const char *image, struct error *e);
/* The name of the base: small letters, digits and '-'. */
void image_name(const char *image, char name[IMAGE_NAME_SIZE]);
/* Polls until the base is built. ERR_TIMEOUT: not within IMAGE_READY_MS. */
enum err image_wait(const struct rest *r, const struct call *call, const char *image,
	wait_look poll, void *context, struct error *e);
/* ERR_IO: the build failed, with the vendor's `words`; "": the vendor gives no reason. */
enum err image_failed(const char *vendor, const char *image, const char *words, struct error *e);
