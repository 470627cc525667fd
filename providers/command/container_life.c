/* The life of containers that sandboxfs makes. */
#include "providers/base/cleanup.h"
#include "providers/command/container.h"
#include "providers/command/engine.h"
#include "providers/command/life.h"
#include "providers/labels.h"
#include "providers/provider_inside.h"
#include "providers/rest/rest.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* The containers in one question, below WORDS_MAX. */
#define ASKED_MAX 100
/* A container's labels, with the mark, and ports: words below WORDS_MAX. */
#define WISHES_MAX 100

/* ---- A new one ---- */

static enum err check_wanted(
	const struct provider_ops *ops, const struct provider_config *cfg, struct error *e)
{
	size_t labels = 0, ports = 0;
	bool is_none = cfg->block_network || cfg->network == NETWORK_NONE;

	while (cfg->labels && cfg->labels[labels])
		labels++;
	while (cfg->ports && cfg->ports[ports])
		ports++;
	if (ports && (is_none || cfg->network == NETWORK_HOST))
		return error_set(e, ERR_INVALID,
			"%s: a container %s publishes no port; leave '%s' out", ops->name,
			is_none ? "without a network" : "in this machine's network",
			provider_option_name(cfg, OPTION_PORTS));
	if (labels + ports > WISHES_MAX)
		return error_set(e, ERR_INVALID,
			"%s: a new container takes up to %d labels and ports together, and the "
			"label of sandboxfs is one of them",
			ops->name, WISHES_MAX);
	return life_check_image(ops, cfg, e);
}

enum err container_create(const struct provider_ops *ops, const struct transport *transport,
	const struct provider_config *cfg, const struct call *call, char id[128], struct error *e)
{
	AUTO_ATTACHMENT struct command *c = NULL;
	char made[128];
	enum err kind = life_open(&c, ops, transport, cfg, e);

	if (!kind)
		kind = check_wanted(ops, cfg, e);
	if (!kind)
		kind = life_choose_name(ops, cfg->name, id, e);
	if (!kind)
		kind = container_make(c, cfg, call, id, made, e);
	if (kind)
		return kind;
	if (cfg->name)
		strcpy(id, made);
	kind = container_act(c, call, "start", made, e);
	if (kind)
		attachment_discard(ops, cfg, made);
	return kind;
}

/* ---- Whether sandboxfs made it ---- */

/*
 * `docker commit` puts the labels of a container into an image, and from there they come into that
 * image's containers: the very mark of its image proves nothing.
 */
static enum err is_made(struct command *c, const struct call *call, const struct container *found,
	bool *out, struct error *e)
{
	AUTO_JSON struct json_object *list = NULL;
	struct json_object *labels;
	enum err kind;

	*out = *found->mark && *found->image;
	if (!*out)
		return ERR_OK;
	kind = container_look(
		c, call, OF_IMAGES, (const char *const[]){ found->image, NULL }, &list, e);
	if (kind)
		return kind == ERR_NOT_FOUND ? ERR_OK : kind;
	labels = rest_member(rest_member(rest_item(list, 0), "Config"), "Labels");
	*out = strcmp(rest_text(labels, PROVIDER_MARK, ""), found->mark) != 0;
	return ERR_OK;
}

/* ---- All ---- */

struct listing {
	struct command *c;
	const struct call *call;
	const char *marked; /* the IDs of the images that have a mark, which are few */
	sandbox_sink sink;
	void *context;
};

/* docker has a slash before a name. */
static enum err tell(const struct listing *l, struct json_object *json, struct error *e)
{
	AUTO_LABELS struct labels labels = { 0 };
	struct container found;
	const char *name = rest_text(json, "Name", "");
	bool is_ours = true;
	enum err kind = container_read(l->c, json, &found, e);

	if (!kind && (!*found.mark || strstr(l->marked, found.image)))
		kind = is_made(l->c, l->call, &found, &is_ours, e);
	if (kind || !is_ours)
		return kind;
	labels_add_object(&labels, rest_member(rest_member(json, "Config"), "Labels"));

	struct sandbox_entry entry = { .id = name + (*name == '/'),
		.expires_s = -1,
		.age_s = rest_seconds_since(rest_text(json, "Created", ""), time(NULL)) };

	entry.labels = labels_list(&labels);
	entry.state = found.state;
	return l->sink(l->context, &entry, e);
}

/* Tells of the first IDs, and moves *ids behind them. One that is gone by now is left out. */
static enum err tell_some(const struct listing *l, char **ids, struct error *e)
{
	const char *some[ASKED_MAX + 1] = { 0 };
	AUTO_JSON struct json_object *list = NULL;
	struct json_object *json;
	char *id;
	enum err kind;

	for (size_t n = 0; n < ASKED_MAX && (id = strsep(ids, "\n"));)
		if (*id)
			some[n++] = id;
	if (!*some)
		return ERR_OK;
	kind = container_look(l->c, l->call, OF_CONTAINERS, some, &list, e);
	if (kind && kind != ERR_NOT_FOUND)
		return kind;
	kind = ERR_OK;
	for (size_t i = 0; !kind && (json = rest_item(list, i)); i++)
		kind = tell(l, json, e);
	return kind;
}

enum err container_list(const struct provider_ops *ops, const struct transport *transport,
	const struct provider_config *cfg, const struct call *call, sandbox_sink sink,
	void *context, struct error *e)
{
	AUTO_ATTACHMENT struct command *c = NULL;
	AUTO_BUF struct buf ids = { 0 };
	AUTO_BUF struct buf marked = { 0 };
	enum err kind = life_open(&c, ops, transport, cfg, e);

	if (!kind)
		kind = container_ids(c, call, OF_CONTAINERS, &ids, e);
	if (!kind)
		kind = container_ids(c, call, OF_IMAGES, &marked, e);
	if (kind)
		return kind;
	const struct listing l = { c, call, buf_text(&marked), sink, context };

	buf_text(&ids);
	for (char *rest = (char *)ids.bytes; !kind && rest && *rest;)
		kind = tell_some(&l, &rest, e);
	return kind;
}

enum err container_offer_ids(const struct provider_ops *ops, const struct transport *transport,
	const struct call *call, id_sink sink, void *context, struct error *e)
{
	const struct provider_config all = { .id = "", .asks_nobody = true };
	AUTO_ATTACHMENT struct command *c = NULL;
	AUTO_BUF struct buf names = { 0 };
	enum err kind = command_new(&c, ops, transport, &all, e);
	char *name, *rest;

	if (!kind)
		kind = container_names(c, call, &names, e);
	if (kind)
		return kind;
	buf_text(&names);
	rest = (char *)names.bytes;
	while ((name = strsep(&rest, "\n")))
		if (*name)
			sink(context, name + (*name == '/'));
	return ERR_OK;
}

enum err container_delete(const struct provider_ops *ops, const struct transport *transport,
	const struct provider_config *cfg, const struct call *call, struct error *e)
{
	AUTO_ATTACHMENT struct command *c = NULL;
	struct container found;
	bool is_ours = false;
	enum err kind = command_new(&c, ops, transport, cfg, e);

	if (!kind)
		kind = container_inspect(c, call, &found, e);
	if (!kind)
		kind = is_made(c, call, &found, &is_ours, e);
	if (!kind && !is_ours)
		return error_set(e, ERR_DENIED,
			"%s:%s was not made by sandboxfs; remove it with: %s rm --force %s",
			ops->name, cfg->id, transport->program, cfg->id);
	if (!kind)
		kind = container_act(c, call, "rm", found.id, e);
	return kind == ERR_NOT_FOUND ? ERR_OK : kind;
}

/* ---- One that is attached ---- */

enum err container_pause(struct provider *p, const struct call *call, struct error *e)
{
	struct command *c = (struct command *)p;
	struct container found;
	enum err kind = container_inspect(c, call, &found, e);

	return kind || found.state != SANDBOX_RUNNING
		? kind
		: container_act(c, call, "pause", found.id, e);
}

enum err container_resume(struct provider *p, const struct call *call, struct error *e)
{
	struct command *c = (struct command *)p;
	struct container found;
	enum err kind = container_inspect(c, call, &found, e);

	if (kind || found.state == SANDBOX_RUNNING)
		return kind;
	return container_act(
		c, call, found.state == SANDBOX_PAUSED ? "unpause" : "start", found.id, e);
}

/* ---- Snapshots: images ---- */

/* podman wants a body, the tag by itself, and to be told that the container is to wait. */
static enum err commit_by_engine(struct command *c, const struct call *call, const char *name,
	struct buf *id, struct error *e)
{
	const char *slash = strrchr(name, '/'), *tag = strchr(slash ? slash : name, ':');
	AUTO_FREE char *repo = strndup(name, tag ? (size_t)(tag - name) : strlen(name));
	AUTO_BUF struct buf path = BUF_INIT(2048);
	AUTO_JSON struct json_object *json = NULL;
	enum err kind;

	buf_printf(&path, "/commit?container=%s&pause=1&repo=", c->at.id);
	http_escape(&path, repo ? repo : "", NULL);
	buf_add_string(&path, "&tag=");
	http_escape(&path, tag ? tag + 1 : "", NULL);
	kind = repo ? buf_check(&path, "a name", e) : error_set(e, ERR_NO_MEMORY, "a name");
	if (!kind)
		kind = engine_ask(c, call, HTTP_POST, buf_text(&path), "{}", &json, e);
	buf_add_string(id, rest_text(json, "Id", ""));
	return kind;
}

static enum err commit_by_program(struct command *c, const struct call *call, const char *name,
	struct buf *id, struct error *e)
{
	AUTO_WORDS struct words words = { 0 };

	words_add_all(
		&words, (const char *const[]){ c->transport->program, "commit", c->at.id, NULL });
	if (*name)
		words_add(&words, "%s", name);
	return command_ask(c, call, &words, id, e);
}

enum err container_snapshot(struct provider *p, const struct call *call, const char *name,
	char id[SNAPSHOT_ID_SIZE], struct error *e)
{
	struct command *c = (struct command *)p;
	AUTO_BUF struct buf made = BUF_INIT(CONTAINER_LIST_MAX);
	enum err kind = (c->engine ? commit_by_engine : commit_by_program)(
		c, call, name ? name : "", &made, e);

	if (!name)
		name = buf_text(&made);
	if (!kind)
		snprintf(id, SNAPSHOT_ID_SIZE, "%.*s", (int)strcspn(name, "\n"), name);
	return kind;
}

/* ---- Ports ---- */

/* An address of all of the machine's is this machine's own here. */
static bool is_any(const char *address)
{
	return !*address || !strcmp(address, "0.0.0.0") || !strcmp(address, "::");
}

enum err container_url(struct provider *p, const struct call *call, unsigned port, struct buf *out,
	struct error *e)
{
	struct command *c = (struct command *)p;
	AUTO_JSON struct json_object *list = NULL;
	struct json_object *at;
	const char *address, *there;
	char name[16];
	enum err kind = container_look(
		c, call, OF_CONTAINERS, (const char *const[]){ c->at.id, NULL }, &list, e);

	if (kind)
		return kind;
	snprintf(name, sizeof name, "%u/tcp", port);
	at = rest_member(rest_member(rest_item(list, 0), "NetworkSettings"), "Ports");
	at = rest_item(rest_member(at, name), 0);
	there = rest_text(at, "HostPort", "");
	if (!*there)
		return error_set(e, ERR_UNSUPPORTED,
			"%s:%s does not publish port %u; give it when the container is made, as in "
			"sandboxctl create %s --port %u",
			p->ops->name, c->given, port, p->ops->name, port);
	address = rest_text(at, "HostIp", "");
	buf_printf(out,
		strchr(address, ':') && !is_any(address) ? "http://[%s]:%s" : "http://%s:%s",
		is_any(address) ? "127.0.0.1" : address, there);
	return ERR_OK;
}
