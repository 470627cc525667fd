/*
 * sandbox_create.h - a sandbox that is being made; for sandbox_create.c and image.c.
 */
#pragma once

#include "providers/modal/sandbox.h"

struct sandbox_create {
	struct modal_control *c;
	const struct call *call;
	const struct modal_settings *settings;
	const struct provider_config *cfg;
	bool is_v1;
	char *app_id, *image_id, *builder_version, *secret_id; /* owned */
};

/* Copies a text that an answer must have. */
enum err sandbox_create_keep(char **out, const char *text, const char *what, struct error *e);
enum err sandbox_create_ask(struct sandbox_create *m, const char *method,
	const ProtobufCMessage *message, const ProtobufCMessageDescriptor *type,
	ProtobufCMessage **answer, struct error *e);

/* Fills image_id in: by cfg->template, an image of a registry or the id of one that is built. */
enum err sandbox_create_image(struct sandbox_create *m, struct error *e);
