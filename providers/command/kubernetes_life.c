/* Pods and Sandboxes that sandboxfs makes. */
#include "providers/command/kubernetes.h"

#include "providers/base/cleanup.h"
#include "providers/command/life.h"
#include "providers/labels.h"
#include "providers/remote/names.h"
#include "providers/rest/rest.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* The largest object that a cluster takes is smaller. */
#define OBJECT_MAX ((size_t)2 * 1024 * 1024)
/* More than what is asked of each pod. */
#define QUESTION_MAX ((size_t)1024)
/* "@" and a UID, which is a UUID. */
#define UID_LEN 37
/* A context and a slash in an ID; a longer one is left out. */
#define CONTEXT_MAX 128
/* How long kubectl may be silent that deletes what was just made. */
#define REFUSE_MS 10000

/*
 * The user's context of this moment serves the whole call, and is part of new IDs: later it may be
 * another one.
 */
static enum err enter(struct command *c, const struct provider_config *cfg, const struct call *call,
	char context[CONTEXT_MAX], struct error *e)
{
	AUTO_BUF struct buf answer = { 0 };
	enum err kind = kubernetes_ask(c, call, false, NULL, &answer,
		(const char *const[]){ "config", "view", "-ojsonpath={.current-context}", NULL },
		e);
	const char *text = buf_text(&answer);
	bool is_part = !text[kubernetes_context_len(text)];

	if (kind)
		return kind;
	if (*text)
		words_add(&c->options, "--context=%s", text);
	if (cfg->app)
		words_add(&c->options, "--namespace=%s", cfg->app);
	if (!is_part ||
		snprintf(context, CONTEXT_MAX, "%s%s", text, *text ? "/" : "") >= CONTEXT_MAX)
		*context = 0;
	return words_check(&c->options, e);
}

/* ---- A new one ---- */

/*
 * A context that makes the ID too long is left out. false: the ID is too long even so. `uid`:
 * "@UID" or "", which leaves room for the pod's, which a connection adds.
 */
static bool put_id(
	char id[128], const char *context, const char *place, const char *name, const char *uid)
{
	int room = 128 - (*uid ? 0 : UID_LEN);

	return snprintf(id, 128, "%s%s/%s%s", context, place, name, uid) < room ||
		snprintf(id, 128, "%s/%s%s", place, name, uid) < room;
}

/* A list cannot show what has too long a name, so that it is deleted here. */
static enum err refuse_long(
	struct command *c, struct json_object *object, const char *name, struct error *e)
{
	const struct call call = { .progress_ms = REFUSE_MS };
	bool is_pod = !strcmp(rest_text(object, "kind", ""), "Pod");
	AUTO_BUF struct buf answer = { 0 };
	struct error why = { 0 };

	if (kubernetes_ask(c, &call, true, NULL, &answer,
		    (const char *const[]){ "delete", is_pod ? "pod" : SANDBOXES,
			    "--ignore-not-found", "--wait=false", NULL },
		    &why))
		return error_set(e, ERR_INVALID,
			"kubernetes: the name '%.60s...' is too long; one was made, and could not "
			"be deleted: %s",
			name, why.text);
	return error_set(e, ERR_INVALID, "kubernetes: the name '%.60s...' is too long", name);
}

/*
 * `answer` is "NAMESPACE UID". ERR_PROTOCOL: the caller looks for what was made, and deletes it.
 * ERR_INVALID: the name is too long for an ID.
 */
static enum err take_answer(const struct provider_config *cfg, const char *context,
	const char *name, const char *answer, char id[128], struct error *e)
{
	char place[64], uid[UID_LEN + 1] = "@";

	if (sscanf(answer, "%63s %36s", place, uid + 1) != 2)
		return error_set(e, ERR_PROTOCOL, "kubernetes: '%.100s' is no pod", answer);
	return put_id(id, context, place, name, cfg->name ? uid : "") ? ERR_OK : ERR_INVALID;
}

static enum err make(struct command *c, const struct provider_config *cfg, const struct call *call,
	struct json_object *object, const char *name, struct buf *answer, struct error *e)
{
	AUTO_BUF struct buf text = BUF_INIT(OBJECT_MAX);
	const char *place = rest_text(rest_member(object, "metadata"), "namespace", "");
	enum err kind;

	if (*place && !cfg->app)
		words_add(&c->options, "--namespace=%s", place);
	buf_add_string(&text, json_object_to_json_string(object));
	kind = buf_check(&text, "a manifest", e);
	if (kind)
		return kind;
	kind = kubernetes_ask(c, call, false, &text, answer,
		(const char *const[]){ "create", "-f", "-",
			"-ojsonpath={.metadata.namespace} {.metadata.uid}", NULL },
		e);
	words_add(&c->options, "%s", name);
	if (kind == ERR_INTERRUPTED || kind == ERR_TIMEOUT)
		life_await_late(c);
	return kind;
}

enum err kubernetes_create(
	const struct provider_config *cfg, const struct call *call, char id[128], struct error *e)
{
	AUTO_ATTACHMENT struct command *c = NULL;
	AUTO_JSON struct json_object *object = NULL;
	AUTO_BUF struct buf answer = { 0 };
	char name[128], context[CONTEXT_MAX];
	enum err kind = life_open(&c, &kubernetes_provider, &kubernetes_transport, cfg, e);

	if (!kind)
		kind = life_choose_name(&kubernetes_provider, cfg->name, name, e);
	if (!kind)
		kind = enter(c, cfg, call, context, e);
	if (!kind)
		kind = kubernetes_manifest(c, cfg, call, name, &object, e);
	if (!kind)
		kind = make(c, cfg, call, object, name, &answer, e);
	if (kind)
		return kind;
	kind = take_answer(cfg, context, name, buf_text(&answer), id, e);
	if (kind)
		return kind == ERR_INVALID ? refuse_long(c, object, name, e) : kind;
	kind = kubernetes_await_ready(c, call, cfg->build_log, e);
	if (kind)
		attachment_discard(&kubernetes_provider, cfg, id);
	return kind;
}

/* ---- All ---- */

struct listing {
	const char *context;
	sandbox_sink sink;
	void *sink_context;
};

/* The columns of a line, in this order; the labels are the rest of it. */
enum column {
	COLUMN_PLACE,
	COLUMN_NAME,
	COLUMN_RUNS,
	COLUMN_OWNER,
	COLUMN_DELETED,
	COLUMN_MADE,
	COLUMN_ENDS,
	COLUMNS
};

/* An object with an owner is that one's, which copied the labels. */
static enum err tell(const struct listing *l, char *line, struct error *e)
{
	AUTO_LABELS struct labels labels = { 0 };
	AUTO_JSON struct json_object *json = NULL;
	struct sandbox_entry entry = { .state = SANDBOX_STOPPED };
	char *columns[COLUMNS], id[128] = "";

	for (size_t n = 0; n < COLUMNS; n++)
		columns[n] = line ? strsep(&line, " ") : "";
	if (*columns[COLUMN_OWNER] || *columns[COLUMN_DELETED])
		return ERR_OK;
	entry.id = id;
	if (!strcmp(columns[COLUMN_RUNS], "Running") || !strcmp(columns[COLUMN_RUNS], "True"))
		entry.state = SANDBOX_RUNNING;
	entry.expires_s = rest_seconds_until(columns[COLUMN_ENDS], time(NULL));
	entry.age_s = rest_seconds_since(columns[COLUMN_MADE], time(NULL));
	json = line ? json_tokener_parse(line) : NULL;
	labels_add_object(&labels, json);
	entry.labels = labels_list(&labels);
	if (!json || !put_id(id, l->context, columns[COLUMN_PLACE], columns[COLUMN_NAME], ""))
		entry.unread = "a line about a pod cannot be read";
	return l->sink(l->sink_context, &entry, e);
}

/* A role that may not list all namespaces may list the one in use. */
static enum err ask_all(struct command *c, const struct provider_config *cfg,
	const struct call *call, const char *what, const char *line, struct buf *out,
	struct error *e)
{
	const char *verb[] = { "get", what, "--selector=" PROVIDER_MARK, line,
		cfg->app ? NULL : "--all-namespaces", NULL };
	enum err kind = kubernetes_ask(c, call, false, NULL, out, verb, e);

	if (kind != ERR_DENIED || cfg->app)
		return kind;
	verb[4] = NULL;
	buf_reset(out);
	return kubernetes_ask(c, call, false, NULL, out, verb, e);
}

/* `begin` stands before each line: a text in an object may have lines of its own. */
static void put_question(struct buf *out, const char *begin, const char *runs)
{
	buf_printf(out,
		"-ojsonpath={range .items[*]}%s {.metadata.namespace} {.metadata.name} {%s} "
		"{.metadata.ownerReferences[*].uid} {.metadata.deletionTimestamp} "
		"{.metadata.creationTimestamp} {.metadata.annotations." KUBERNETES_ENDS
		"} {.metadata.labels}{\"\\n\"}{end}",
		begin, runs);
}

static enum err tell_all(struct command *c, const struct provider_config *cfg,
	const struct call *call, const char *what, const char *runs, const struct listing *l,
	struct error *e)
{
	AUTO_BUF struct buf answer = { 0 };
	AUTO_BUF struct buf question = BUF_INIT(QUESTION_MAX);
	char begin[REMOTE_NAME_SIZE], *one, *rest;
	enum err kind = remote_new_name("", begin, e);

	put_question(&question, begin, runs);
	if (!kind)
		kind = ask_all(c, cfg, call, what, buf_text(&question), &answer, e);
	buf_text(&answer);
	rest = (char *)answer.bytes;
	while (!kind && (one = strsep(&rest, "\n")))
		if (!strncmp(one, begin, strlen(begin)))
			kind = tell(l, one + strlen(begin) + 1, e);
	return kind;
}

enum err kubernetes_list(const struct provider_config *cfg, const struct call *call,
	sandbox_sink sink, void *context, struct error *e)
{
	AUTO_ATTACHMENT struct command *c = NULL;
	char place[CONTEXT_MAX];
	const struct listing l = { place, sink, context };
	enum err kind = life_open(&c, &kubernetes_provider, &kubernetes_transport, cfg, e);

	if (!kind)
		kind = enter(c, cfg, call, place, e);
	if (!kind)
		kind = tell_all(c, cfg, call, "pods", ".status.phase", &l, e);
	if (kind)
		return kind;
	kind = tell_all(
		c, cfg, call, SANDBOXES, ".status.conditions[?(@.type==\"Ready\")].status", &l, e);
	return kind == ERR_NOT_FOUND ? ERR_OK : kind;
}

/* ---- The end of one ---- */

static enum err look(struct command *c, const struct call *call, const char *what, struct pod *out,
	struct error *e)
{
	enum err kind = kubernetes_inspect(c, call, what, out, e);

	return kind == ERR_NOT_FOUND ? ERR_OK : kind;
}

static bool is_meant(const struct source *s, const struct pod *pod)
{
	return pod->facts[FACT_UID] &&
		(!s->uid.len || kubernetes_has_uid(pod->facts[FACT_UID], s->uid));
}

static enum err end(struct command *c, const struct call *call, const char *what,
	const struct pod *found, struct error *e)
{
	AUTO_BUF struct buf answer = { 0 };

	char *const *place = c->options.argv + c->options.count - 2; /* "--namespace=...", NAME */

	if (!*found->facts[FACT_MARK] || *found->facts[FACT_OWNERS])
		return error_set(e, ERR_DENIED,
			"kubernetes:%s was not made by sandboxfs; remove it with: kubectl delete "
			"%s %s %s",
			c->given, what, place[0], place[1]);
	return kubernetes_ask(c, call, true, NULL, &answer,
		(const char *const[]){ "delete", what, "--ignore-not-found", "--wait=false", NULL },
		e);
}

/* A pod that has an owner goes with its Sandbox; one that has none is itself what was made. */
static enum err end_either(
	struct command *c, const struct call *call, const struct source *s, struct error *e)
{
	AUTO_POD struct pod pod = { 0 };
	AUTO_POD struct pod sandbox = { 0 };
	enum err kind = look(c, call, "pod", &pod, e);
	bool is_its_pod;

	if (kind || (is_meant(s, &pod) && !*pod.facts[FACT_OWNERS]))
		return kind ? kind : end(c, call, "pod", &pod, e);
	kind = look(c, call, SANDBOXES, &sandbox, e);
	if (kind)
		return kind;
	is_its_pod = is_meant(s, &pod) && sandbox.facts[FACT_UID] &&
		strstr(pod.facts[FACT_OWNERS], sandbox.facts[FACT_UID]);
	if (is_its_pod || is_meant(s, &sandbox))
		return end(c, call, SANDBOXES, &sandbox, e);
	return is_meant(s, &pod) ? end(c, call, "pod", &pod, e) : ERR_OK;
}

enum err kubernetes_delete(
	const struct provider_config *cfg, const struct call *call, struct error *e)
{
	AUTO_ATTACHMENT struct command *c = NULL;
	struct source s;
	struct part container;
	enum err kind = command_new(&c, &kubernetes_provider, &kubernetes_transport, cfg, e);

	if (!kind)
		kind = kubernetes_locate(c, call, &s, &container, e);
	return kind ? kind : end_either(c, call, &s, e);
}

enum err kubernetes_extend(
	struct provider *p, const struct call *call, int64_t seconds, struct error *e)
{
	struct sandbox_info info = { .expires_s = -1 };
	enum err kind = kubernetes_transport.state((struct command *)p, call, &info, e);

	if (kind || info.expires_s < 0 || info.expires_s >= seconds)
		return kind;
	return error_set(e, ERR_UNSUPPORTED,
		"kubernetes:%s ends in %lld s, as was said when it was made: lifetime=, or "
		"--timeout of sandboxctl create",
		((struct command *)p)->given, (long long)info.expires_s);
}
