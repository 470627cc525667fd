/*
 * container.h - containers as container.c, container_ask.c, container_create.c and container_life.c
 * see them.
 */
#pragma once

#include "providers/command/command.h"
#include "providers/provider_inside.h"

struct json_object;

struct container {
	char id[128];
	char word[32]; /* the state, in the program's word */
	enum sandbox_state state;
	char image[128]; /* the ID; "": none */
	char mark[64];   /* the label PROVIDER_MARK, of the container or the image; "": none */
};

/* The state of the program's word. */
enum sandbox_state container_state(const char *word);

/* ---- container_ask.c: questions, as of command_ask(), of the daemon or by the program ---- */

enum container_of { OF_CONTAINERS, OF_IMAGES };

/* The most text about containers. */
#define CONTAINER_LIST_MAX ((size_t)1024 * 1024)

/*
 * The facts about the IDs, which NULL ends, as GET /containers/ID/json has them: a list for
 * json_object_put(), also with an error. ERR_NOT_FOUND: one is missing, and the list has the rest.
 */
enum err container_look(struct command *c, const struct call *call, enum container_of of,
	const char *const *ids, struct json_object **out, struct error *e);
/* The IDs of those that have the label PROVIDER_MARK, a line each. */
enum err container_ids(struct command *c, const struct call *call, enum container_of of,
	struct buf *out, struct error *e);
/* The names of all containers, a line each, possibly with a slash before. */
enum err container_names(
	struct command *c, const struct call *call, struct buf *out, struct error *e);
/* "start", "pause", "unpause" or "rm", which also ends it and removes its volumes. */
enum err container_act(struct command *c, const struct call *call, const char *verb, const char *id,
	struct error *e);

/* ---- Facts ---- */

/* Reads one of container_look(). ERR_PROTOCOL: an ID or a state is missing. */
enum err container_read(
	struct command *c, struct json_object *json, struct container *out, struct error *e);
/* The facts about c->at.id, a name or an ID. */
enum err container_inspect(
	struct command *c, const struct call *call, struct container *out, struct error *e);

/*
 * container_create.c: makes a container that does not run yet, of a name that is free, and tells
 * its ID.
 */
enum err container_make(struct command *c, const struct provider_config *cfg,
	const struct call *call, const char *name, char made[128], struct error *e);

/* ---- Slots of struct provider_ops, some with the entries of both tables before ---- */

/* The options that container_create() takes. */
#define CONTAINER_OPTIONS                                                                          \
	(OPTION_IMAGE | OPTION_ENV | OPTION_LABELS | OPTION_NAME | OPTION_CPUS | OPTION_MEMORY |   \
		OPTION_PIDS | OPTION_NETWORK | OPTION_BLOCK_NETWORK | OPTION_PORTS)

/*
 * `id` is a name that no other container gets, or the ID where the user chose the name: another may
 * have that name by the time when this one is to be deleted.
 */
enum err container_create(const struct provider_ops *ops, const struct transport *transport,
	const struct provider_config *cfg, const struct call *call, char id[128], struct error *e);
enum err container_offer_ids(const struct provider_ops *ops, const struct transport *transport,
	const struct call *call, id_sink sink, void *context, struct error *e);
/* The containers that sandboxfs made. */
enum err container_list(const struct provider_ops *ops, const struct transport *transport,
	const struct provider_config *cfg, const struct call *call, sandbox_sink sink,
	void *context, struct error *e);
/* ERR_DENIED: sandboxfs did not make it. */
enum err container_delete(const struct provider_ops *ops, const struct transport *transport,
	const struct provider_config *cfg, const struct call *call, struct error *e);
enum err container_pause(struct provider *p, const struct call *call, struct error *e);
enum err container_resume(struct provider *p, const struct call *call, struct error *e);
/* `id`: `name`, or else the ID of the image that was made. */
enum err container_snapshot(struct provider *p, const struct call *call, const char *name,
	char id[SNAPSHOT_ID_SIZE], struct error *e);
/* logs.c */
enum err container_logs(
	struct provider *p, const struct call *call, log_sink sink, void *context, struct error *e);
enum err container_url(struct provider *p, const struct call *call, unsigned port, struct buf *out,
	struct error *e);
