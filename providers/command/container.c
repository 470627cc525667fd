/*
 * docker:CONTAINER[:PATH] and podman:CONTAINER[:PATH]: by the daemon's socket on this machine, else
 * by their own programs, so that contexts, DOCKER_HOST and rootless daemons are the user's own.
 *
 * A name is looked up once: another container that gets the name later is another sandbox. A
 * container that is stopped and started again stays the same sandbox.
 */
#include "providers/base/cleanup.h"
#include "providers/command/container.h"
#include "providers/command/engine.h"

#include <string.h>

static const struct complaint complaints[] = {
	{ "No such image", ERR_NOT_FOUND, NULL },
	{ "image not known", ERR_NOT_FOUND, NULL },
	{ "is already in use", ERR_EXISTS, NULL },
	{ "No such container", ERR_NOT_FOUND, NULL },
	{ "no such container", ERR_NOT_FOUND, NULL },
	{ "No such object", ERR_NOT_FOUND, NULL },
	{ "no such object", ERR_NOT_FOUND, NULL },
	{ "no container with name or ID", ERR_NOT_FOUND, NULL },
	{ "is paused", ERR_UNREACHABLE, "unpause it" },
	{ "is not running", ERR_UNREACHABLE, "start it" },
	{ "can only create exec sessions on running containers", ERR_UNREACHABLE, "start it" },
	{ "permission denied while trying to connect", ERR_DENIED,
		"is this user in the daemon's group?" },
	{ "Cannot connect to the Docker daemon", ERR_UNREACHABLE, NULL },
	{ "\"/bin/sh\": stat /bin/sh: no such file", ERR_UNSUPPORTED,
		"its image has no /bin/sh, which is needed" },
	{ 0 },
};

/* ---- Facts about a container ---- */

enum sandbox_state container_state(const char *word)
{
	return !strcmp(word, "running")   ? SANDBOX_RUNNING
		: !strcmp(word, "paused") ? SANDBOX_PAUSED
					  : SANDBOX_STOPPED;
}

/* A text that does not fit is no ID. */
static void take_text(char *out, size_t room, const char *text)
{
	if (strlen(text) < room)
		strcpy(out, text);
}

enum err container_read(
	struct command *c, struct json_object *json, struct container *out, struct error *e)
{
	struct json_object *labels = rest_member(rest_member(json, "Config"), "Labels");

	*out = (struct container){ 0 };
	take_text(out->id, sizeof out->id, rest_text(json, "Id", ""));
	take_text(out->word, sizeof out->word, rest_text(rest_member(json, "State"), "Status", ""));
	take_text(out->image, sizeof out->image, rest_text(json, "Image", ""));
	take_text(out->mark, sizeof out->mark, rest_text(labels, PROVIDER_MARK, ""));
	out->state = container_state(out->word);
	if (*out->id && *out->word)
		return ERR_OK;
	return error_set(e, ERR_PROTOCOL, "%s:%s: it tells no ID or no state of a container",
		c->at.base.ops->name, c->given);
}

enum err container_inspect(
	struct command *c, const struct call *call, struct container *out, struct error *e)
{
	AUTO_JSON struct json_object *list = NULL;
	enum err kind = container_look(
		c, call, OF_CONTAINERS, (const char *const[]){ c->at.id, NULL }, &list, e);

	return kind ? kind : container_read(c, rest_item(list, 0), out, e);
}

static enum err tell_state(
	struct command *c, const struct call *call, struct sandbox_info *out, struct error *e)
{
	struct container found;
	enum err kind = container_inspect(c, call, &found, e);

	if (!kind)
		out->state = found.state;
	return kind;
}

/* The ID is used instead of the name from now on. */
static enum err find(struct command *c, const struct provider_config *cfg, const struct call *call,
	struct error *e)
{
	struct container found;
	enum err kind = container_inspect(c, call, &found, e);

	if (kind)
		return kind;
	strcpy(c->at.id, found.id);
	if (cfg->account_only || found.state == SANDBOX_RUNNING)
		return ERR_OK;
	if (found.state == SANDBOX_PAUSED)
		return error_set(e, ERR_UNREACHABLE, "%s:%s is paused; wake it with: %s unpause %s",
			c->at.base.ops->name, c->given, c->transport->program, c->given);
	return error_set(e, ERR_UNREACHABLE, "%s:%s is %s; start it with: %s start %s",
		c->at.base.ops->name, c->given, found.word, c->transport->program, c->given);
}

/* ---- Arguments of the program ---- */

static void put_words(const struct command *c, bool asks, struct words *out)
{
	(void)asks;
	words_add_all(out, (const char *const[]){ c->transport->program, "exec", "-i", NULL });
	if (c->at.user)
		words_add(out, "--user=%s", c->at.user);
	words_add_all(out, (const char *const[]){ c->at.id, "/bin/sh", NULL });
}

/* ---- The tables ---- */

#define CONTAINERS(engine, of)                                                                     \
	static const struct transport engine##_transport = {                                       \
		.program = #engine,                                                                \
		.working_dir = ".",                                                                \
		.complaints = complaints,                                                          \
		.socket = engine_socket_##engine,                                                  \
		.open = find,                                                                      \
		.put_words = put_words,                                                            \
		.state = tell_state,                                                               \
	};                                                                                         \
	static enum err engine##_connect(const struct provider_config *cfg,                        \
		const struct call *call, struct provider **out, struct error *e)                   \
	{                                                                                          \
		return command_connect(                                                            \
			&engine##_provider, &engine##_transport, cfg, call, out, e);               \
	}                                                                                          \
	static enum err engine##_create(const struct provider_config *cfg,                         \
		const struct call *call, char id[128], struct error *e)                            \
	{                                                                                          \
		return container_create(                                                           \
			&engine##_provider, &engine##_transport, cfg, call, id, e);                \
	}                                                                                          \
	static enum err engine##_list(const struct provider_config *cfg, const struct call *call,  \
		sandbox_sink sink, void *context, struct error *e)                                 \
	{                                                                                          \
		return container_list(                                                             \
			&engine##_provider, &engine##_transport, cfg, call, sink, context, e);     \
	}                                                                                          \
	static enum err engine##_delete(                                                           \
		const struct provider_config *cfg, const struct call *call, struct error *e)       \
	{                                                                                          \
		return container_delete(&engine##_provider, &engine##_transport, cfg, call, e);    \
	}                                                                                          \
	static enum err engine##_offer_ids(                                                        \
		const struct call *call, id_sink sink, void *context, struct error *e)             \
	{                                                                                          \
		return container_offer_ids(                                                        \
			&engine##_provider, &engine##_transport, call, sink, context, e);          \
	}                                                                                          \
	const struct provider_ops engine##_provider = {                                            \
		.name = #engine,                                                                   \
		.title = of,                                                                       \
		.key_names = "",                                                                   \
		.caps = PROVIDER_KEEPS_HELPER | PROVIDER_COMMANDS_PULSE | PROVIDER_FINDS_NAMES,    \
		.create_options = CONTAINER_OPTIONS,                                               \
		.connect_options = OPTION_USER | OPTION_RESUME_NEVER,                              \
		.create = engine##_create,                                                         \
		.connect = engine##_connect,                                                       \
		.release = command_release,                                                        \
		.info = command_info,                                                              \
		.list_sandboxes = engine##_list,                                                   \
		.offer_ids = engine##_offer_ids,                                                   \
		.delete = engine##_delete,                                                         \
		.pause = container_pause,                                                          \
		.resume = container_resume,                                                        \
		.snapshot = container_snapshot,                                                    \
		.logs = container_logs,                                                            \
		.url = container_url,                                                              \
		.execute = attachment_execute,                                                     \
	}

CONTAINERS(docker, "Docker");
CONTAINERS(podman, "Podman");
