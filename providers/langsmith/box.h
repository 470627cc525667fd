/*
 * box.h - a sandbox as the control plane shows it, and what can be done to one. The API calls it a box.
 *
 * Source of what is said of the wire in this folder: npm langsmith 0.10.5 (dist/sandbox, and dist/_openapi_client, which is
 * generated from the service's own description). A box is named by its id or its name.
 */
#pragma once

#include "providers/provider.h"
#include "providers/rest/rest.h"

enum box_status {
	BOX_PROVISIONING,
	BOX_READY,   /* also what we do not know: requests tell */
	BOX_FAILED,  /* may be started again */
	BOX_STOPPED, /* its disk is kept; a request on the data plane starts it */
	BOX_DELETING,
};

struct box {
	char id[128];
	enum box_status status;
	char message[200];       /* why it is so; "": it does not say */
	char dataplane_url[512]; /* "": none, or not yet */
	char work_dir[1024];     /* of its run_config; "": none */
	int64_t idle_s;          /* it stops after so long without use; 0: never */
	int64_t ends_s;     /* of one that is stopped: seconds until it is deleted; -1: never */
	bool is_disposable; /* what was written is discarded when it stops */
};

/* ERR_PROTOCOL: it has no id that can be used. `now_s`: since 1970. */
enum err box_parse(struct box *out, struct json_object *json, int64_t now_s, struct error *e);

/* Sets `status` and `message`. */
void box_read_status(struct box *out, struct json_object *json);

/* Either may stand in a URL. ERR_INVALID names what can not. */
enum err box_check_id(const char *id, struct error *e);

enum err box_get(const struct rest *r, const struct call *call, const char *id, struct box *out,
	struct error *e);
/* Cheaper than the whole: sets `status` and `message`. */
enum err box_get_status(const struct rest *r, const struct call *call, const char *id,
	struct box *out, struct error *e);
/*
 * Waits until it is BOX_READY. ERR_OK: it is that, failed or is being deleted, as *out says. ERR_TIMEOUT after
 * call_ready_ms().
 */
enum err box_wait(const struct rest *r, const struct call *call, const char *id, struct box *out,
	struct error *e);

/* How a request to make a sandbox ended, also a request that failed. */
enum box_trace {
	BOX_NOT_MADE,
	BOX_MAY_BE_MADE, /* the answer was lost */
	BOX_WAS_MADE,    /* the answer said so */
};

/*
 * Returns as soon as it has an id: one that is waited for there and is late is left behind without anybody knowing its
 * id. *trace is set also on failure.
 */
enum err box_create(const struct rest *r, const struct call *call,
	const struct provider_config *cfg, const char *name, struct box *out, enum box_trace *trace,
	struct error *e);
/* "start" or "stop". Neither is idempotent: ERR_INVALID or ERR_BUSY where it is so already. */
enum err box_act(const struct rest *r, const struct call *call, const char *id, const char *action,
	struct error *e);
enum err box_set_idle(const struct rest *r, const struct call *call, const char *id, int64_t idle_s,
	struct error *e);
/* A URL for `port` that holds for a day, the longest that there is. Adds it to `out`. */
enum err box_port_url(const struct rest *r, const struct call *call, const char *id, unsigned port,
	struct buf *out, struct error *e);
/* One that is not there is success. */
enum err box_delete(const struct rest *r, const struct call *call, const char *id, struct error *e);
/* All pages. */
enum err box_list(const struct rest *r, const struct call *call, sandbox_sink sink, void *context,
	struct error *e);

/* The API takes multiples of 60 s: not less than `seconds`. */
int64_t box_whole_minutes(int64_t seconds);
/* What a provider says of it: how it is, and how long it lives where nobody uses it. */
enum sandbox_state box_state(const struct box *b);
/* As provider.h describes a sandbox: state and warning. */
void box_describe(const struct box *b, struct sandbox_info *out);
int64_t box_ends_s(const struct box *b);
