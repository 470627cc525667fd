/*
 * blueprint.h - the blueprint that stands for a container image.
 *
 * The service makes devboxes from blueprints, and blueprints from Dockerfiles on request.
 */
#pragma once

#include "providers/provider.h"
#include "providers/rest/rest.h"

/*
 * The blueprint of cfg->image; waits until it is built. ERR_INVALID: the image's name; ERR_IO: the
 * build failed, and cfg->build_log has the service's log.
 */
enum err blueprint_of_image(const struct rest *r, const struct call *call,
	const struct provider_config *cfg, char id[128], struct error *e);
