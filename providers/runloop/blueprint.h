/*
 * blueprint.h - the blueprint that stands for a container image.
 *
 * The service makes devboxes from blueprints, and blueprints from Dockerfiles on request.
 */
#pragma once

#include "providers/rest/image.h"

extern const struct image_base runloop_blueprint;
