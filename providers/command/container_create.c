/*
 * A new container, made by the Engine API or by the program, in the same way: of an image that is
 * here, with a shell that sleeps in place of the image's program.
 */
#include "providers/base/cleanup.h"
#include "providers/command/container.h"
#include "providers/command/engine.h"
#include "providers/command/life.h"
#include "providers/spawn.h"

#include <stdio.h>
#include <string.h>

#define SHELL "/bin/sh"
/* Ports are published here. */
#define HOST_IP "127.0.0.1"
/* A container's variables, and all that is said of it. */
#define VARIABLES_MAX ((size_t)1024 * 1024)
#define WISH_MAX      (2 * VARIABLES_MAX)

/* NULL: the engine's own choice. */
static const char *network_of(const struct provider_config *cfg)
{
	static const char *const names[] = {
		[NETWORK_HOST] = "host",
		[NETWORK_NONE] = "none",
		[NETWORK_NAT] = "bridge",
	};

	return names[cfg->block_network ? NETWORK_NONE : cfg->network];
}

/* ---- By the Engine API ---- */

static void put_list(struct json_writer *w, const char *key, const char *const *texts)
{
	json_put_open_list(w, key);
	for (; texts && *texts; texts++)
		json_put_text(w, NULL, *texts);
	json_put_close_list(w);
}

/* `is_host`: with the addresses of this machine, where the engine chooses free ports. */
static void put_ports(
	struct json_writer *w, const char *key, const struct provider_config *cfg, bool is_host)
{
	json_put_open(w, key);
	for (const uint16_t *port = cfg->ports; port && *port; port++) {
		char name[16];

		snprintf(name, sizeof name, "%u/tcp", *port);
		json_put_raw(w, name, is_host ? "[{\"HostIp\":\"" HOST_IP "\"}]" : "{}");
	}
	json_put_close(w);
}

static void put_host(struct json_writer *w, const struct provider_config *cfg)
{
	const char *network = network_of(cfg);

	json_put_open(w, "HostConfig");
	if (cfg->cpus > 0)
		json_put_integer(w, "NanoCpus", (int64_t)(cfg->cpus * 1e9));
	if (cfg->memory_mb)
		json_put_integer(w, "Memory", (int64_t)cfg->memory_mb << 20);
	if (cfg->pids)
		json_put_integer(w, "PidsLimit", (int64_t)cfg->pids);
	if (network)
		json_put_text(w, "NetworkMode", network);
	put_ports(w, "PortBindings", cfg, true);
	json_put_close(w);
}

static void put_wish(struct json_writer *w, const struct provider_config *cfg)
{
	json_put_open(w, NULL);
	json_put_text(w, "Image", cfg->image);
	put_list(w, "Entrypoint", (const char *const[]){ SHELL, NULL });
	put_list(w, "Cmd", (const char *const[]){ "-c", STAY_ALIVE, NULL });
	put_list(w, "Env", cfg->env);
	if (cfg->labels)
		json_put_pairs(w, "Labels", cfg->labels);
	put_ports(w, "ExposedPorts", cfg, false);
	put_host(w, cfg);
	json_put_close(w);
}

static enum err make_by_engine(struct command *c, const struct provider_config *cfg,
	const struct call *call, const char *name, char made[128], struct error *e)
{
	AUTO_BUF struct buf path = BUF_INIT(WISH_MAX);
	AUTO_BUF struct buf wish = BUF_INIT(WISH_MAX);
	AUTO_JSON struct json_object *json = NULL;
	struct json_writer w = { .out = &wish };
	enum err kind;

	buf_add_string(&path, "/containers/create?name=");
	http_escape(&path, name, NULL);
	put_wish(&w, cfg);
	kind = buf_check(&wish, "a container's variables", e);
	if (!kind)
		kind = engine_ask(c, call, HTTP_POST, buf_text(&path), buf_text(&wish), &json, e);
	if (!kind)
		snprintf(made, 128, "%s", rest_text(json, "Id", ""));
	return kind;
}

/* ---- By the program ---- */

static void put_limits(struct words *w, const struct provider_config *cfg)
{
	if (cfg->cpus > 0)
		words_add(w, "--cpus=%g", cfg->cpus);
	if (cfg->memory_mb)
		words_add(w, "--memory=%lldm", (long long)cfg->memory_mb);
	if (cfg->pids)
		words_add(w, "--pids-limit=%lld", (long long)cfg->pids);
}

static void put_network(struct words *w, const struct provider_config *cfg)
{
	const char *network = network_of(cfg);

	if (network)
		words_add(w, "--network=%s", network);
	for (const uint16_t *port = cfg->ports; port && *port; port++)
		words_add(w, "--publish=" HOST_IP "::%u", *port);
}

static void put_create(struct words *w, const struct transport *t,
	const struct provider_config *cfg, const char *name)
{
	words_add_all(w,
		(const char *const[]){
			t->program, "create", "--pull=never", "--entrypoint=" SHELL, NULL });
	words_add(w, "--name=%s", name);
	for (const char *const *label = cfg->labels; label && *label; label++)
		words_add(w, "--label=%s", *label);
	put_limits(w, cfg);
	put_network(w, cfg);
	if (cfg->env)
		words_add(w, "--env-file=/proc/self/fd/3");
	words_add_all(w, (const char *const[]){ "--", cfg->image, "-c", STAY_ALIVE, NULL });
}

/* The variables are in a file of memory: every user of this machine can read a program's words. */
static enum err put_variables(
	const struct provider_ops *ops, const char *const *env, int *fd, struct error *e)
{
	AUTO_BUF struct buf text = BUF_INIT(VARIABLES_MAX);
	enum err kind;

	for (; env && *env; env++) {
		if (strpbrk(*env, "\r\n"))
			return error_set(e, ERR_INVALID,
				"%s: the variable %.*s has an end of line, which it cannot be "
				"given",
				ops->name, (int)strcspn(*env, "="), *env);
		buf_printf(&text, "%s\n", *env);
	}
	kind = buf_check(&text, "a container's variables", e);
	if (!kind)
		kind = spawn_memory(text.bytes, text.len, "a container's variables", fd, e);
	if (kind)
		return kind;
	*fd = spawn_fd(*fd);
	return *fd < 0 ? error_errno(e, errno, "a container's variables") : ERR_OK;
}

static enum err make_by_program(struct command *c, const struct provider_config *cfg,
	const struct call *call, const char *name, char made[128], struct error *e)
{
	AUTO_WORDS struct words words = { 0 };
	AUTO_BUF struct buf answer = { 0 };
	AUTO_CLOSE int variables = -1;
	enum err kind = put_variables(c->at.base.ops, cfg->env, &variables, e);

	put_create(&words, c->transport, cfg, name);
	if (!kind)
		kind = command_ask_with(c, call, &words, variables, &answer, e);
	if (!kind)
		sscanf(buf_text(&answer), "%127s", made);
	return kind;
}

/* ---- In either way ---- */

enum err container_make(struct command *c, const struct provider_config *cfg,
	const struct call *call, const char *name, char made[128], struct error *e)
{
	const char *engine = c->transport->program;
	enum err kind;

	*made = '\0';
	kind = c->engine ? make_by_engine(c, cfg, call, name, made, e)
			 : make_by_program(c, cfg, call, name, made, e);
	if (kind == ERR_INTERRUPTED || kind == ERR_TIMEOUT) {
		strcpy(c->at.id, name);
		life_await_late(c);
	}
	if (kind == ERR_NOT_FOUND)
		return error_set(e, kind,
			"%s: the image %.200s is not here; fetch it with: %s pull %.200s", engine,
			cfg->image, engine, cfg->image);
	if (!kind && !*made)
		return error_set(e, ERR_PROTOCOL, "%s: it tells no ID of a container", engine);
	return kind;
}
