/*
 * template.h - the template that stands for a container image.
 *
 * The service makes sandboxes from templates, and a template from an image on request. Facts are
 * those of the e2b SDK 2.51.
 */
#pragma once

#include "providers/e2b/control_plane.h"

#define TEMPLATE_ID_SIZE 64

/*
 * The template of cfg->image. The call waits until the template is built, and passes the service's
 * log to cfg->build_log. ERR_INVALID: the image's name. ERR_IO: the template cannot be built, with
 * the service's words.
 */
enum err template_of_image(struct plane *c, const struct call *call,
	const struct provider_config *cfg, char id[TEMPLATE_ID_SIZE], struct error *e);
