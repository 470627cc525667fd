/*
 * box.h - a sandbox as the control plane shows it, and the control plane's requests. The API calls
 * a sandbox a box.
 *
 * Source for the wire in this folder: npm langsmith 0.10.5 (dist/sandbox, and dist/_openapi_client,
 * which is generated from the service's own description). A box is named by its id or its name.
 */
#pragma once

#include "providers/provider.h"
#include "providers/rest/rest.h"

enum box_status {
	BOX_PROVISIONING,
	BOX_READY,   /* also a status that is unknown here: a request shows whether the box runs */
	BOX_FAILED,  /* the box may be started again */
	BOX_STOPPED, /* the disk is kept; a request on the data plane starts the box */
	BOX_DELETING,
};

struct box {
	char id[128];
	enum box_status status;
	char message[200];       /* the reason for the status; "": none is given */
	char dataplane_url[512]; /* "": none, or none yet */
	char work_dir[1024];     /* work_dir of the run_config; "": none */
	int64_t idle_s;          /* the time without use until the box stops; 0: never */
	int64_t ends_s;          /* seconds until a stopped box is deleted; -1: never */
	bool is_disposable;      /* all that was written is discarded when the box stops */
};

/* ERR_PROTOCOL: the box has no usable id. `now_s`: seconds since 1970. */
enum err box_parse(struct box *out, struct json_object *json, int64_t now_s, struct error *e);

/* Sets `status` and `message`. */
void box_read_status(struct box *out, struct json_object *json);

/* Whether an id or a name may stand in a URL. ERR_INVALID: it may not; the error names it. */
enum err box_check_id(const char *id, struct error *e);

enum err box_get(const struct rest *r, const struct call *call, const char *id, struct box *out,
	struct error *e);
/* Sets `status` and `message` alone, and costs less than box_get(). */
enum err box_get_status(const struct rest *r, const struct call *call, const char *id,
	struct box *out, struct error *e);
/*
 * Waits until the box is ready. ERR_OK: *out says whether the box is ready, failed or is being
 * deleted. ERR_TIMEOUT after call_ready_ms().
 */
enum err box_wait(const struct rest *r, const struct call *call, const char *id, struct box *out,
	struct error *e);

/* Whether a request to make a sandbox made one, also where the request failed. */
enum box_trace {
	BOX_NOT_MADE,
	BOX_MAY_BE_MADE, /* the answer was lost */
	BOX_WAS_MADE,    /* the answer said so */
};

/*
 * Returns as soon as the box has an id. The service could wait for the box within this request, but
 * a box that is late would then be left behind with an unknown id. *trace is set also on failure.
 */
enum err box_create(const struct rest *r, const struct call *call,
	const struct provider_config *cfg, const char *name, struct box *out, enum box_trace *trace,
	struct error *e);
/* "start" or "stop". Neither is idempotent: ERR_INVALID or ERR_BUSY for a box in that state. */
enum err box_act(const struct rest *r, const struct call *call, const char *id, const char *action,
	struct error *e);
enum err box_set_idle(const struct rest *r, const struct call *call, const char *id, int64_t idle_s,
	struct error *e);
/* Adds a URL for `port` to `out`. The URL is valid for a day, the service's longest time. */
enum err box_port_url(const struct rest *r, const struct call *call, const char *id, unsigned port,
	struct buf *out, struct error *e);
/* A box that does not exist is success. */
enum err box_delete(const struct rest *r, const struct call *call, const char *id, struct error *e);
/* Lists all pages. */
enum err box_list(const struct rest *r, const struct call *call, sandbox_sink sink, void *context,
	struct error *e);

/* `seconds`, rounded up to a multiple of 60: the API takes no others. */
int64_t box_whole_minutes(int64_t seconds);
/* The box's state as a provider reports it. */
enum sandbox_state box_state(const struct box *b);
/* Sets the state and warning of a struct sandbox_info (provider.h). */
void box_describe(const struct box *b, struct sandbox_info *out);
/* Seconds until a stopped box is deleted, or another box stops without use; -1: never. */
int64_t box_ends_s(const struct box *b);
