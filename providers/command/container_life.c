/* Containers that sandboxfs makes, by the same words for docker and podman. */
#include "providers/base/cleanup.h"
#include "providers/command/container.h"
#include "providers/labels.h"
#include "providers/provider_inside.h"
#include "providers/remote/names.h"
#include "providers/rest/rest.h"
#include "providers/spawn.h"

#include <stdio.h>
#include <string.h>

/*
 * The container's only program: it ends at once when it is told to, and reaps what other programs
 * leave behind. Where there is no sleep(1) it ends instead of spinning; one that was killed, whose
 * exit code is above 128, ends nothing.
 */
#define STAY_ALIVE "trap 'exit 0' TERM; while sleep 1000 & wait $! || [ $? -gt 128 ]; do :; done"

/* The containers in one question, below WORDS_MAX. */
#define ASKED_MAX 100
/* A container's variables. */
#define VARIABLES_MAX ((size_t)1024 * 1024)
/* A container's labels, with the mark, and ports: words below WORDS_MAX. */
#define WISHES_MAX 100
/* How long a daemon may go on with a container whose maker was ended, and how often it is asked. */
#define LATE_MS  5000
#define LATER_MS 100

static enum err open_all(struct command **out, const struct provider_ops *ops,
	const struct transport *transport, const struct provider_config *cfg, struct error *e)
{
	struct provider_config all = *cfg;

	all.id = "";
	return command_new(out, ops, transport, &all, e);
}

/* Runs the program with these words, of which the last ends in NULL, and drops its output. */
static enum err act(
	struct command *c, const struct call *call, const char *const *verb, struct error *e)
{
	AUTO_WORDS struct words words = { 0 };
	AUTO_BUF struct buf answer = { 0 };

	words_add(&words, "%s", c->transport->program);
	words_add_all(&words, verb);
	return command_ask(c, call, &words, &answer, e);
}
#define ACT(c, call, e, ...) act(c, call, (const char *const[]){ __VA_ARGS__, NULL }, e)

/* ---- A new one ---- */

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
	static const char *const names[] = {
		[NETWORK_HOST] = "host",
		[NETWORK_NONE] = "none",
		[NETWORK_NAT] = "bridge",
	};
	enum network network = cfg->block_network ? NETWORK_NONE : cfg->network;

	if (network)
		words_add(w, "--network=%s", names[network]);
	for (const uint16_t *port = cfg->ports; port && *port; port++)
		words_add(w, "--publish=127.0.0.1::%u", *port);
}

static enum err check_wanted(
	const struct provider_ops *ops, const struct provider_config *cfg, struct error *e)
{
	size_t labels = 0, ports = 0;
	bool is_none = cfg->block_network || cfg->network == NETWORK_NONE;

	while (cfg->labels && cfg->labels[labels])
		labels++;
	while (cfg->ports && cfg->ports[ports])
		ports++;
	if (!cfg->image)
		return error_set(e, ERR_INVALID, "%s: '%sNAME' is missing, as in %sdebian:12",
			ops->name, provider_option_name(cfg, OPTION_IMAGE),
			provider_option_name(cfg, OPTION_IMAGE));
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
	return ERR_OK;
}

static void put_create(struct words *w, const struct transport *t,
	const struct provider_config *cfg, const char *name)
{
	words_add_all(w,
		(const char *const[]){
			t->program, "create", "--pull=never", "--entrypoint=/bin/sh", NULL });
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

/*
 * The daemon goes on with what its ended program asked for. The container is to be there when the
 * caller looks for what may have been made.
 */
static void await_late(struct command *c, const char *name)
{
	const struct call call = { .progress_ms = LATE_MS };
	const int64_t end_ms = monotonic_ms() + LATE_MS;
	struct container found;

	strcpy(c->at.id, name);
	while (container_inspect(c, &call, &found, NULL) == ERR_NOT_FOUND &&
		monotonic_ms() < end_ms)
		call_sleep(&call, LATER_MS, NULL);
}

static enum err make(struct command *c, const struct provider_config *cfg, const struct call *call,
	const char *name, char made[128], struct error *e)
{
	AUTO_WORDS struct words words = { 0 };
	AUTO_BUF struct buf answer = { 0 };
	AUTO_CLOSE int variables = -1;
	const char *engine = c->transport->program;
	enum err kind = put_variables(c->at.base.ops, cfg->env, &variables, e);

	put_create(&words, c->transport, cfg, name);
	if (!kind)
		kind = command_ask_with(c, call, &words, variables, &answer, e);
	if (kind == ERR_INTERRUPTED || kind == ERR_TIMEOUT)
		await_late(c, name);
	if (kind == ERR_NOT_FOUND)
		return error_set(e, kind,
			"%s: the image %.200s is not here; fetch it with: %s pull %.200s", engine,
			cfg->image, engine, cfg->image);
	if (!kind && sscanf(buf_text(&answer), "%127s", made) != 1)
		return error_set(e, ERR_PROTOCOL, "%s: it tells no ID of a container", engine);
	return kind;
}

static enum err choose_name(
	const struct provider_ops *ops, const char *wanted, char id[128], struct error *e)
{
	char name[REMOTE_NAME_SIZE];
	enum err kind = wanted ? ERR_OK : remote_new_name("sandboxfs-", name, e);

	if (kind || snprintf(id, 128, "%s", wanted ? wanted : name) < 128)
		return kind;
	return error_set(e, ERR_INVALID, "%s: the name '%.60s...' is too long", ops->name, wanted);
}

enum err container_create(const struct provider_ops *ops, const struct transport *transport,
	const struct provider_config *cfg, const struct call *call, char id[128], struct error *e)
{
	AUTO_ATTACHMENT struct command *c = NULL;
	char made[128];
	enum err kind = open_all(&c, ops, transport, cfg, e);

	if (!kind)
		kind = check_wanted(ops, cfg, e);
	if (!kind)
		kind = choose_name(ops, cfg->name, id, e);
	if (!kind)
		kind = make(c, cfg, call, id, made, e);
	if (kind)
		return kind;
	if (cfg->name)
		strcpy(id, made);
	kind = ACT(c, call, e, "start", made);
	if (kind)
		attachment_discard(ops, cfg, made);
	return kind;
}

/* ---- Whether sandboxfs made it ---- */

/*
 * `docker commit` puts the labels of a container into an image, and from there they come into that
 * image's containers: the very mark of its image proves nothing.
 */
static enum err is_made(struct command *c, const struct call *call, const char *image,
	const char *mark, bool *out, struct error *e)
{
	AUTO_WORDS struct words words = { 0 };
	AUTO_BUF struct buf answer = { 0 };
	enum err kind;

	*out = *mark && *image;
	if (!*out)
		return ERR_OK;
	words_add_all(&words,
		(const char *const[]){ c->transport->program, "image", "inspect", "--format",
			CONTAINER_MARK, "--", image, NULL });
	kind = command_ask(c, call, &words, &answer, e);
	if (kind)
		return kind == ERR_NOT_FOUND ? ERR_OK : kind;
	*out = strncmp(buf_text(&answer), mark, strlen(mark)) != 0;
	return ERR_OK;
}

/* The IDs of the images that have a mark, which are few. */
static enum err find_marked(
	struct command *c, const struct call *call, struct buf *images, struct error *e)
{
	AUTO_WORDS struct words words = { 0 };

	words_add_all(&words,
		(const char *const[]){ c->transport->program, "images", "--all", "--quiet",
			"--no-trunc", "--filter=label=" PROVIDER_MARK, NULL });
	return command_ask(c, call, &words, images, e);
}

/* ---- All ---- */

struct listing {
	struct command *c;
	const struct call *call;
	const char *marked; /* the argument of find_marked() */
	sandbox_sink sink;
	void *context;
};

/* "NAME STATE IMAGE MARK LABELS": docker has a slash before a name. */
static enum err tell(const struct listing *l, char *line, struct error *e)
{
	AUTO_LABELS struct labels labels = { 0 };
	char *name = strsep(&line, " "), *state = line ? strsep(&line, " ") : NULL;
	char *image = line ? strsep(&line, " ") : NULL, *mark = line ? strsep(&line, " ") : NULL;
	bool is_ours = true;
	enum err kind = mark && (!*mark || strstr(l->marked, image))
		? is_made(l->c, l->call, image, mark, &is_ours, e)
		: ERR_OK;

	if (kind || !is_ours)
		return kind;
	struct json_object *json = line ? json_tokener_parse(line) : NULL;
	struct sandbox_entry entry = { .id = name + (*name == '/'), .expires_s = -1, .age_s = -1 };

	labels_add_object(&labels, json);
	json_object_put(json);
	entry.labels = labels_list(&labels);
	entry.state = container_state(state ? state : "");
	if (!json)
		entry.unread = "a line about a container cannot be read";
	return l->sink(l->context, &entry, e);
}

/* Tells of the first IDs, and moves *ids behind them. One that is gone by now is left out. */
static enum err tell_some(const struct listing *l, char **ids, struct error *e)
{
	struct command *c = l->c;
	AUTO_WORDS struct words words = { 0 };
	AUTO_BUF struct buf answer = { 0 };
	char *id, *line, *rest;
	enum err kind;

	words_add_all(&words,
		(const char *const[]){ c->transport->program, "container", "inspect", "--format",
			"{{.Name}} {{.State.Status}} {{.Image}} " CONTAINER_MARK
			" {{json .Config.Labels}}",
			"--", NULL });
	for (size_t n = 0; n < ASKED_MAX && (id = strsep(ids, "\n")); n++)
		if (*id)
			words_add(&words, "%s", id);
	kind = command_ask(c, l->call, &words, &answer, e);
	if (kind && kind != ERR_NOT_FOUND)
		return kind;
	kind = ERR_OK;
	buf_text(&answer);
	rest = (char *)answer.bytes;
	while (!kind && (line = strsep(&rest, "\n")))
		if (*line)
			kind = tell(l, line, e);
	return kind;
}

enum err container_list(const struct provider_ops *ops, const struct transport *transport,
	const struct provider_config *cfg, const struct call *call, sandbox_sink sink,
	void *context, struct error *e)
{
	AUTO_ATTACHMENT struct command *c = NULL;
	AUTO_WORDS struct words words = { 0 };
	AUTO_BUF struct buf answer = { 0 };
	AUTO_BUF struct buf marked = { 0 };
	enum err kind = open_all(&c, ops, transport, cfg, e);

	words_add_all(&words,
		(const char *const[]){ transport->program, "ps", "--all", "--quiet", "--no-trunc",
			"--filter=label=" PROVIDER_MARK, NULL });
	if (!kind)
		kind = command_ask(c, call, &words, &answer, e);
	if (!kind)
		kind = find_marked(c, call, &marked, e);
	if (kind)
		return kind;
	const struct listing l = { c, call, buf_text(&marked), sink, context };

	buf_text(&answer);
	for (char *ids = (char *)answer.bytes; !kind && ids && *ids;)
		kind = tell_some(&l, &ids, e);
	return kind;
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
		kind = is_made(c, call, found.image, found.mark, &is_ours, e);
	if (!kind && !is_ours)
		return error_set(e, ERR_DENIED,
			"%s:%s was not made by sandboxfs; remove it with: %s rm --force %s",
			ops->name, cfg->id, transport->program, cfg->id);
	if (!kind)
		kind = ACT(c, call, e, "rm", "--force", "--volumes", found.id);
	return kind == ERR_NOT_FOUND ? ERR_OK : kind;
}

/* ---- One that is attached ---- */

enum err container_pause(struct provider *p, const struct call *call, struct error *e)
{
	struct command *c = (struct command *)p;
	struct container found;
	enum err kind = container_inspect(c, call, &found, e);

	return kind || found.state != SANDBOX_RUNNING ? kind : ACT(c, call, e, "pause", found.id);
}

enum err container_resume(struct provider *p, const struct call *call, struct error *e)
{
	struct command *c = (struct command *)p;
	struct container found;
	enum err kind = container_inspect(c, call, &found, e);

	if (kind || found.state == SANDBOX_RUNNING)
		return kind;
	return ACT(c, call, e, found.state == SANDBOX_PAUSED ? "unpause" : "start", found.id);
}

/* The program prints "ADDRESS:PORT", once for each address. */
enum err container_url(struct provider *p, const struct call *call, unsigned port, struct buf *out,
	struct error *e)
{
	struct command *c = (struct command *)p;
	AUTO_WORDS struct words words = { 0 };
	AUTO_BUF struct buf answer = { 0 };
	const char *text, *colon;
	enum err kind;

	words_add_all(
		&words, (const char *const[]){ c->transport->program, "port", c->at.id, NULL });
	words_add(&words, "%u/tcp", port);
	kind = command_ask(c, call, &words, &answer, e);
	text = buf_text(&answer);
	colon = memrchr(text, ':', strcspn(text, "\n"));
	if (kind == ERR_UNSUPPORTED || (!kind && !colon))
		return error_set(e, ERR_UNSUPPORTED,
			"%s:%s does not publish port %u; give it when the container is made, as in "
			"sandboxctl create %s --port %u",
			p->ops->name, c->given, port, p->ops->name, port);
	if (kind)
		return kind;
	if (!strncmp(text, "0.0.0.0:", 8) || !strncmp(text, "[::]:", 5) || !strncmp(text, ":::", 3))
		buf_add_string(out, "http://127.0.0.1");
	else
		buf_printf(out, "http://%.*s", (int)(colon - text), text);
	buf_add(out, colon, strcspn(colon, "\n"));
	return ERR_OK;
}
