/*
 * sandbox.h - the calls of Modal's control plane about sandboxes.
 *
 * There are two versions of sandboxes. Each has its own form of id and its own calls. A GPU exists
 * only in the first.
 */
#pragma once

#include "providers/modal/control.h"
#include "providers/modal/worker.h"

#define SANDBOX_ID_MAX 128

/*
 * The app of the sandboxes that sandboxfs makes, where the user names no other app. A missing app
 * is made; names are unique in an app.
 */
#define SANDBOX_APP        "sandboxfs"
#define SANDBOX_APP_MAX    64
#define SANDBOX_APP_ID_MAX 64

/* ERR_INVALID: `id` does not have the form of an id. */
enum err sandbox_check_id(const char *id, struct error *e);
/*
 * The id of the sandbox of this name that runs in `app`. ERR_NOT_FOUND: there is none. ERR_INVALID:
 * `name` is no possible name.
 */
enum err sandbox_find_named(struct modal_control *c, const struct call *call,
	const char *environment, const char *app, const char *name, char id[SANDBOX_ID_MAX],
	struct error *e);
bool sandbox_is_v1(const char *id);

/*
 * The task that the sandbox runs as; waits until there is one. ERR_NOT_FOUND: no such sandbox, or
 * it has ended, and the text says how. *task_id is allocated.
 */
enum err sandbox_task(struct modal_control *c, const struct call *call, const char *id,
	char **task_id, struct error *e);
/* The access to the sandbox's worker. ERR_NOT_FOUND: the sandbox has ended. */
enum err sandbox_access(struct modal_control *c, const struct call *call, const char *id,
	const char *task_id, struct worker_access *out, struct error *e);
/*
 * ERR_NOT_FOUND: no such sandbox, or it has ended. `app_id` may be NULL; else it becomes the app's
 * id, or "" where the answer has none.
 */
enum err sandbox_check_runs(struct modal_control *c, const struct call *call, const char *id,
	char app_id[SANDBOX_APP_ID_MAX], struct error *e);
/*
 * Adds the URL of a port. ERR_UNSUPPORTED: the sandbox was not made with this port open.
 * ERR_NOT_FOUND as above.
 */
enum err sandbox_port_url(struct modal_control *c, const struct call *call, const char *id,
	unsigned port, struct buf *out, struct error *e);
/* A sandbox that does not exist is a success. */
enum err sandbox_terminate(
	struct modal_control *c, const struct call *call, const char *id, struct error *e);

/* sandbox_list.c: the sandboxes of an app that run, of both versions, all pages. */
enum err sandbox_list(struct modal_control *c, const struct call *call, const char *app_id,
	sandbox_sink sink, void *context, struct error *e);
/*
 * The sandboxes of all apps, app by app, since Modal deprecates a list without an app.
 * `environment`: "": the default.
 */
enum err sandbox_list_all(struct modal_control *c, const struct call *call, const char *environment,
	sandbox_sink sink, void *context, struct error *e);

/*
 * sandbox_create.c: makes a sandbox from cfg->template, an image of a registry or the id of one
 * that is built. The sandbox may not run yet when this returns.
 */
enum err sandbox_create(struct modal_control *c, const struct call *call,
	const struct modal_settings *settings, const struct provider_config *cfg,
	char id[SANDBOX_ID_MAX], struct error *e);
