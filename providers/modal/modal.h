/*
 * modal.h - Modal (https://modal.com): the vendor's struct, shared by the files of this folder.
 *
 * Layers within: toml, settings; grpc; control (the control plane), worker (the machine that runs
 * the sandbox) and sandbox (the calls about one sandbox); over them the provider: running programs,
 * a program that is kept, the lifecycle.
 */
#pragma once

#include "providers/remote/attachment.h"
#include "providers/modal/sandbox.h"

extern const struct provider_ops modal_provider;

struct channels;

struct modal {
	struct attachment at;
	char app[SANDBOX_APP_MAX]; /* in which a name is looked up */
	struct modal_settings settings;
	struct http *http;
	struct modal_control *control;
	struct worker *worker; /* once attached */
	struct channels *channels;
	char *task_id;
	bool has_asked; /* at.lock; the list was asked for ends_s */
	int64_t ends_s; /* at.lock; by the service's clock; 0: not known */
};

static inline struct modal *modal_of(struct provider *p)
{
	return (struct modal *)p;
}

/* ---- modal.c ---- */

/* The account; m->at.id is cfg->id, which may be a name. */
enum err modal_new(struct modal **out, const struct provider_config *cfg, struct error *e);
void modal_release(struct provider *p);
/*
 * Makes m->at.id an ID where it is a name. ERR_NOT_FOUND: no sandbox that runs in the app has that
 * name. ERR_INVALID: the name is empty.
 */
enum err modal_resolve(struct modal *m, const struct call *call, struct error *e);
enum err modal_attach(struct modal *m, const struct provider_config *cfg, const struct call *call,
	struct error *e);

/* Remembers that the sandbox is gone, and why: ERR_GONE. */
enum err modal_note_gone(struct modal *m, const struct error *why, struct error *e);
/*
 * Explains a failure at the worker. Where an ended sandbox would explain it, the control plane is
 * asked once; a sandbox that is gone is remembered: ERR_GONE. Once the sandbox is attached,
 * ERR_NOT_FOUND is never returned, since callers take that error for a missing file.
 */
enum err modal_explain(struct modal *m, const struct call *call, enum err kind,
	enum grpc_status status, struct error *e);

/* ---- run.c: the functions for remote.h, whose context is the struct modal ---- */

enum err modal_run(void *context, const struct call *call, const char *const *argv, unsigned flags,
	const struct remote_upload *upload, execute_sink sink, void *sink_context, int *exit_code,
	struct error *e);
enum err modal_upload(void *context, const struct call *call, const struct remote_upload *upload,
	struct error *e);

/* ---- channel.c: a program whose input and output are a descriptor ---- */

enum err channels_new(struct channels **out, struct error *e);
/* Gives the remaining channels a moment to end, and then gives them up. */
void channels_free(struct channels *c);
/* As remote.h says of `keep`. */
enum err modal_keep(
	void *context, const struct call *call, const char *const *argv, int *fd, struct error *e);
