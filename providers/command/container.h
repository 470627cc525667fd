/*
 * container.h - containers as container.c and container_life.c see them.
 */
#pragma once

#include "providers/command/command.h"
#include "providers/provider_inside.h"

struct container {
	char id[128];
	char word[32]; /* the state, in the program's word */
	enum sandbox_state state;
	char image[128]; /* the ID; "": none */
	char mark[64];   /* the label PROVIDER_MARK, of the container or the image; "": none */
};

/* The word of a template for the label PROVIDER_MARK, "" where there is none. */
#define CONTAINER_MARK                                                                             \
	"{{with .Config}}{{with index .Labels \"" PROVIDER_MARK "\"}}{{.}}{{end}}{{end}}"

/* The state of the program's word. */
enum sandbox_state container_state(const char *word);
/* The facts about c->at.id, a name or an ID. */
enum err container_inspect(
	struct command *c, const struct call *call, struct container *out, struct error *e);

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
/* The containers that sandboxfs made. */
enum err container_list(const struct provider_ops *ops, const struct transport *transport,
	const struct provider_config *cfg, const struct call *call, sandbox_sink sink,
	void *context, struct error *e);
/* ERR_DENIED: sandboxfs did not make it. */
enum err container_delete(const struct provider_ops *ops, const struct transport *transport,
	const struct provider_config *cfg, const struct call *call, struct error *e);
enum err container_pause(struct provider *p, const struct call *call, struct error *e);
enum err container_resume(struct provider *p, const struct call *call, struct error *e);
enum err container_url(struct provider *p, const struct call *call, unsigned port, struct buf *out,
	struct error *e);
