/*
 * toolbox_inside.h - what requests of programs and of files share; internal to toolbox*.c.
 */
#pragma once

#include "providers/daytona/toolbox.h"
#include "providers/http/multipart.h"

/* Work that nobody waits for does not keep the sandbox from stopping: says so in the headers. */
struct rest_ask toolbox_as_asked(struct rest_ask ask, const struct call *call);

/* An upload; `ask` points into it. */
struct toolbox_form {
	struct multipart body;
	char content_type[96];
	struct rest_ask ask;
};

/* To be released in any case. ERR_INVALID: a path that the daemon would trim. */
enum err toolbox_form_make(
	struct toolbox_form *f, const struct remote_upload *upload, struct error *e);
void toolbox_form_release(struct toolbox_form *f);
#define AUTO_TOOLBOX_FORM __attribute__((cleanup(toolbox_form_release)))
