/*
 * devbox.h - a devbox as Runloop's API shows it, and the calls about one.
 *
 * Suspending keeps a devbox's disk and ends its processes. A devbox that has ended stays in the
 * account, as "shutdown" or "failure".
 */
#pragma once

#include "providers/rest/list.h"
#include "providers/runloop/devbox_api.h"

enum devbox_phase {
	DEVBOX_STARTING, /* queued, provisioning, resuming, ... */
	DEVBOX_RUNNING,
	DEVBOX_SUSPENDING,
	DEVBOX_SUSPENDED,
	DEVBOX_ENDED,
};

struct devbox {
	char id[128];
	char name[128]; /* "": none, or longer */
	enum devbox_phase phase;
	char status[32]; /* the API's word for the phase */
	/* why the devbox has ended, in the API's words; "": the API does not say */
	char reason[40];
	/* the start of the last run, in milliseconds since 1970 by the service's clock */
	int64_t running_ms;
	/* from running_ms; with is_idle_counted, from the last use; -1: not known */
	int64_t lifetime_s;
	bool is_idle_counted;
	char tunnel[128]; /* the key in the URLs of the devbox's ports; "": no tunnel is open */
};

/*
 * ERR_PROTOCOL: the devbox has no id that can be used. A devbox of unknown status is taken for
 * running: the next request fails if it is not.
 */
enum err devbox_parse(struct devbox *out, struct json_object *json, struct error *e);

enum err devbox_look(const struct rest *r, const struct call *call, const char *id,
	struct devbox *out, struct error *e);
/*
 * Waits until the devbox is `wanted`: DEVBOX_RUNNING, DEVBOX_SUSPENDED. ERR_OK: it is, or it has
 * ended, as *out says. ERR_TIMEOUT after call_ready_ms().
 */
enum err devbox_wait(const struct rest *r, const struct call *call, const char *id,
	enum devbox_phase wanted, struct devbox *out, struct error *e);
/*
 * `action`: suspend, resume, keep_alive, shutdown. ERR_INVALID: not possible in the devbox's state.
 */
enum err devbox_act(const struct rest *r, const struct call *call, const char *id,
	const char *action, struct error *e);
/*
 * Opens the tunnel of a running devbox. The tunnel is one for all ports, and it stays. The key
 * gives access to the ports to anyone who has it.
 */
enum err devbox_open_tunnel(const struct rest *r, const struct call *call, const char *id,
	char key[128], struct error *e);
/* Adds the URL of a port. */
void devbox_port_url(struct buf *out, const struct rest *r, const char *tunnel, unsigned port);
/*
 * `json`: the body. The devbox is on its way to running when this returns. On failure out->id is
 * the ID of a devbox that was made all the same; "": no such devbox is known.
 */
enum err devbox_create(const struct rest *r, const struct call *call, const char *json,
	struct devbox *out, struct error *e);
enum sandbox_state devbox_state(const struct devbox *d);
/*
 * Seconds until the devbox ends or is suspended by itself, or more, since uses by others are not
 * known; -1: neither happens. `kept_ms`: the time of the last keep_alive, of the monotonic clock;
 * 0: never.
 */
int64_t devbox_left_s(const struct devbox *d, int64_t now_s, int64_t kept_ms);

/* All pages, without devboxes that have ended. */
enum err devbox_list(const struct rest *r, const struct call *call, rest_listed_sink sink,
	void *context, struct error *e);
