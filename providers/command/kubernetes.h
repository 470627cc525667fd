/*
 * kubernetes.h - pods as the files kubernetes*.c see them.
 *
 *      kubernetes.c           sources, facts about a pod, attaching
 *      kubernetes_life.c      making, listing, removing
 *      kubernetes_manifest.c  the object that is made
 *      kubernetes_ready.c     waiting until a new pod runs
 *
 * A Sandbox is the custom resource of agents.x-k8s.io, whose controller makes a pod of its name.
 */
#pragma once

#include "providers/command/command.h"
#include "providers/provider_inside.h"

struct json_object;

#define NAME_BYTES    "abcdefghijklmnopqrstuvwxyz0123456789.-"
#define CONTEXT_BYTES NAME_BYTES "ABCDEFGHIJKLMNOPQRSTUVWXYZ_@"
#define PARTS_MAX     4

/* The length of the context that `text` begins with. */
size_t kubernetes_context_len(const char *text);

/* The name of Sandboxes for kubectl. */
#define SANDBOXES "sandboxes.agents.x-k8s.io"

/* The annotation that has the time, of RFC 3339, at which a sandbox with a lifetime ends. */
#define KUBERNETES_ENDS "sandboxfs-ends"

extern const struct transport kubernetes_transport;

/* ---- The source ---- */

struct part {
	const char *text;
	int len;
};

struct source {
	struct part parts[PARTS_MAX];
	size_t count;
	struct part uid; /* the UID asked for; length 0: any */
	size_t len;
};

/*
 * Reads c->given, and sets c->options: the context, the namespace and, without dashes, the name.
 * The result points into c->given. A container of length 0 was not given.
 */
enum err kubernetes_locate(struct command *c, const struct call *call, struct source *s,
	struct part *container, struct error *e);

/* ---- Asking ---- */

/*
 * Runs kubectl with the words of `verb`, which NULL ends, and c->options, of which the name only if
 * `is_named` and the container never. `input`: what kubectl reads; NULL: nothing.
 */
enum err kubernetes_ask(struct command *c, const struct call *call, bool is_named,
	const struct buf *input, struct buf *out, const char *const *verb, struct error *e);

/* The facts about an object, in the order in which kubectl prints them. */
enum fact {
	FACT_UID,
	FACT_PHASE,
	FACT_CONTAINERS,
	FACT_MARK,
	FACT_OWNERS,
	FACT_REASON,
	FACT_ENDS,
	FACT_DEFAULT,
	FACTS
};

struct pod {
	struct buf answer;
	char *facts[FACTS]; /* texts of `answer`, "" where the object has no such; NULL: no pod */
};

#define AUTO_POD __attribute__((cleanup(pod_release)))
void pod_release(struct pod *p);

/* `what`: "pod", or SANDBOXES, whose objects have no phase and no containers. */
enum err kubernetes_inspect(struct command *c, const struct call *call, const char *what,
	struct pod *out, struct error *e);

/* Whether a UID is among those between blanks. */
bool kubernetes_has_uid(const char *uids, struct part uid);

/* ---- Making ---- */

/*
 * The object to make, which the caller releases with json_object_put(): of cfg->image a Sandbox
 * where the cluster has such and a Pod elsewhere; of cfg->template what that file has.
 */
enum err kubernetes_manifest(struct command *c, const struct provider_config *cfg,
	const struct call *call, const char *name, struct json_object **out, struct error *e);

/*
 * Returns when the pod that c->options name runs. `log` receives its states. ERR_TIMEOUT: it did
 * not within call_ready_ms(); another error: it will not.
 */
enum err kubernetes_await_ready(
	struct command *c, const struct call *call, struct build_log *log, struct error *e);

/* ---- Slots of struct provider_ops ---- */

/* `id` has a UID where the user chose the name: of the Sandbox, or else of the pod. */
enum err kubernetes_create(
	const struct provider_config *cfg, const struct call *call, char id[128], struct error *e);
/* The pods and Sandboxes that sandboxfs made. */
enum err kubernetes_list(const struct provider_config *cfg, const struct call *call,
	sandbox_sink sink, void *context, struct error *e);
/* ERR_DENIED: sandboxfs did not make it. */
enum err kubernetes_delete(
	const struct provider_config *cfg, const struct call *call, struct error *e);
/* logs.c */
enum err kubernetes_logs(
	struct provider *p, const struct call *call, log_sink sink, void *context, struct error *e);
/* ERR_UNSUPPORTED: the pod ends before that. */
enum err kubernetes_extend(
	struct provider *p, const struct call *call, int64_t seconds, struct error *e);
