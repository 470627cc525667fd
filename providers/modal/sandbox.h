/*
 * sandbox.h - what Modal's control plane says of sandboxes and does to them.
 *
 * There are two versions of sandboxes, told apart by their ids, with calls of their own; a GPU exists only in the first.
 */
#pragma once

#include "providers/modal/control.h"
#include "providers/modal/worker.h"

#define SANDBOX_ID_MAX 128

/*
 * What sandboxfs makes belongs to this app, where nobody names another. An app is made where it is
 * missing; names are unique in it.
 */
#define SANDBOX_APP        "sandboxfs"
#define SANDBOX_APP_MAX    64
#define SANDBOX_APP_ID_MAX 64

/* ERR_INVALID: that is no id. */
enum err sandbox_check_id(const char *id, struct error *e);
/*
 * The id of the one of that name which runs in `app`. ERR_NOT_FOUND: none does. ERR_INVALID: that
 * is no name.
 */
enum err sandbox_find_named(struct modal_control *c, const struct call *call,
	const char *environment, const char *app, const char *name, char id[SANDBOX_ID_MAX],
	struct error *e);
bool sandbox_is_v1(const char *id);

/*
 * The task that it runs as, waiting until it has one. ERR_NOT_FOUND: no such sandbox, or it has ended, and the text says
 * how. *task_id is allocated.
 */
enum err sandbox_task(struct modal_control *c, const struct call *call, const char *id,
	char **task_id, struct error *e);
/* The way to its worker. ERR_NOT_FOUND: it has ended. */
enum err sandbox_access(struct modal_control *c, const struct call *call, const char *id,
	const char *task_id, struct worker_access *out, struct error *e);
/* ERR_NOT_FOUND: no such sandbox, or it has ended. *app_id, or NULL: the app's id; "": it is not told. */
enum err sandbox_check_runs(struct modal_control *c, const struct call *call, const char *id,
	char app_id[SANDBOX_APP_ID_MAX], struct error *e);
/* Adds the URL of a port that it was made with as open. ERR_UNSUPPORTED: it was not. ERR_NOT_FOUND as above. */
enum err sandbox_port_url(struct modal_control *c, const struct call *call, const char *id,
	unsigned port, struct buf *out, struct error *e);
/* One that is not there is success. */
enum err sandbox_terminate(
	struct modal_control *c, const struct call *call, const char *id, struct error *e);

/* sandbox_list.c: the sandboxes of an app that run, of both versions, all pages. */
enum err sandbox_list(struct modal_control *c, const struct call *call, const char *app_id,
	sandbox_sink sink, void *context, struct error *e);
/*
 * The sandboxes of all apps, app by app: Modal deprecates a list without one. `environment`: "": the
 * default.
 */
enum err sandbox_list_all(struct modal_control *c, const struct call *call, const char *environment,
	sandbox_sink sink, void *context, struct error *e);

/* sandbox_create.c: from cfg->template, an image of a registry or the id of one that is built. It may not run yet. */
enum err sandbox_create(struct modal_control *c, const struct call *call,
	const struct modal_settings *settings, const struct provider_config *cfg,
	char id[SANDBOX_ID_MAX], struct error *e);
