/*
 * making.h - a sandbox that is being made; for sandbox_create.c and image.c.
 */
#pragma once

#include "providers/modal/sandbox.h"

struct making {
	struct modal_control *c;
	const struct call *call;
	const struct modal_settings *settings;
	const struct provider_config *cfg;
	bool is_v1;
	char *app_id, *image_id, *builder_version, *secret_id; /* owned */
};

/* What an answer must say: copied. */
enum err making_keep(char **out, const char *text, const char *what, struct error *e);
enum err making_ask(struct making *m, const char *method, const ProtobufCMessage *message,
	const ProtobufCMessageDescriptor *type, ProtobufCMessage **answer, struct error *e);

/* Fills image_id in: by cfg->template, an image of a registry or the id of one that is built. */
enum err making_image(struct making *m, struct error *e);
