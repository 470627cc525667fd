/*
 * image.h - a container image of which a vendor makes what sandboxes are made from: a snapshot, a
 * template, a blueprint.
 *
 * What was made once is found again by its name, which is made of the image's.
 */
#pragma once

#include "providers/rest/rest.h"

#define IMAGE_NAME_SIZE 160
/* A large image is pulled and unpacked. Design decision. */
#define IMAGE_READY_MS (20 * 60 * 1000)

/* ERR_INVALID: that is no image. */
enum err image_check(const char *vendor, const char *image, struct error *e);
/* Small letters, digits and '-'. */
void image_name(const char *image, char name[IMAGE_NAME_SIZE]);
/* Asks until it is built. ERR_TIMEOUT: not within IMAGE_READY_MS. */
enum err image_wait(const struct rest *r, const struct call *call, const char *image,
	rest_poll poll, void *context, struct error *e);
/* ERR_IO: it cannot be built, in the vendor's words; "": it does not say why. */
enum err image_failed(const char *vendor, const char *image, const char *words, struct error *e);
