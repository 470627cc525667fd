/*
 * kubernetes:[CONTEXT/]NAMESPACE/POD[/CONTAINER][:PATH] by kubectl(1), so that the kubeconfig and
 * its logins are the user's.
 *
 * kubectl reaches a pod by its name. The pod's UID is looked up once and compared before each
 * session: another pod of that name is another sandbox. The ID that is shown is the source's with
 * "@UID" behind it, and is accepted as a source, too.
 */
#include "providers/base/cleanup.h"
#include "providers/command/kubernetes.h"
#include "providers/rest/rest.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const struct complaint complaints[] = {
	{ "(NotFound)", ERR_NOT_FOUND, NULL },
	{ "the server doesn't have a resource type", ERR_NOT_FOUND, NULL },
	{ "complete list of server APIs", ERR_NOT_FOUND, NULL },
	{ "(AlreadyExists)", ERR_EXISTS, NULL },
	{ "exceeded quota", ERR_QUOTA, NULL },
	{ "violates PodSecurity", ERR_DENIED, "a manifest may be as it demands: --template=FILE" },
	{ "cannot create resource \"pods\"", ERR_DENIED,
		"a role is needed that may create, get, list and delete pods" },
	{ "cannot create resource \"sandboxes\"", ERR_DENIED,
		"a role is needed that may; or give a manifest of a Pod: --template=FILE" },
	{ "(Forbidden)", ERR_DENIED, "a role is needed that may get pods and create pods/exec" },
	{ "(Unauthorized)", ERR_AUTH, "log in as for kubectl" },
	{ "getting credentials", ERR_AUTH, "log in as for kubectl" },
	{ "error: context ", ERR_INVALID, "see: kubectl config get-contexts" },
	{ "error: the path ", ERR_INVALID, NULL },
	{ "error validating", ERR_INVALID, NULL },
	{ "no objects passed to create", ERR_INVALID, "--template takes a file with a manifest" },
	{ "no matches for kind", ERR_INVALID, NULL },
	{ "error parsing", ERR_INVALID, NULL },
	{ "strict decoding error", ERR_INVALID, NULL },
	{ "is invalid:", ERR_INVALID, NULL },
	{ "stat /bin/sh: no such file", ERR_UNSUPPORTED,
		"its image has no /bin/sh, which is needed" },
	{ "container not found", ERR_UNREACHABLE, "does the container run?" },
	{ "in a completed pod", ERR_UNREACHABLE, NULL },
	{ "did you specify the right host or port", ERR_UNREACHABLE,
		"see: kubectl config current-context" },
	{ "no such host", ERR_UNREACHABLE, "see: kubectl config current-context" },
	{ 0 },
};

/* ---- The source ---- */

static bool read_part(struct source *s, const char *text, const char *bytes)
{
	struct part *p = &s->parts[s->count++];

	*p = (struct part){ text + s->len, (int)strspn(text + s->len, bytes) };
	s->len += (size_t)p->len;
	return p->len && !strchr("-.@", *p->text);
}

/* AWS calls its contexts arn:aws:eks:REGION:ACCOUNT:cluster/NAME. */
size_t kubernetes_context_len(const char *text)
{
	size_t arn = strspn(text, CONTEXT_BYTES ":");
	size_t before = !strncmp(text, "arn:", 4) && text[arn] == '/' ? arn + 1 : 0;

	return before + strspn(text + before, CONTEXT_BYTES);
}

/* An "@" belongs to a context, or to the text behind the last name. */
static bool read_source(struct source *s, const char *text)
{
	size_t len = kubernetes_context_len(text);
	bool is_good = len && !strchr("-.@", *text);

	*s = (struct source){ .parts = { { text, (int)len } }, .count = 1, .len = len };
	while (is_good && text[s->len] == '/' && s->count < PARTS_MAX) {
		s->len++;
		is_good = read_part(s, text, NAME_BYTES);
	}
	if (is_good && s->count > 1 && text[s->len] == '@') {
		s->uid.text = text + s->len + 1;
		s->uid.len = (int)strspn(s->uid.text, NAME_BYTES);
		s->len += 1 + (size_t)s->uid.len;
		is_good = s->uid.len;
	}
	return is_good && s->count > 1 && (!text[s->len] || text[s->len] == ':');
}

static enum err take_id(const char *text, size_t *len, struct error *e)
{
	struct source s;

	*len = 0;
	if (!*text)
		return ERR_OK;
	if (!read_source(&s, text))
		return error_set(e, ERR_INVALID,
			"'kubernetes:%.120s': a source is "
			"kubernetes:[CONTEXT/]NAMESPACE/POD[/CONTAINER][:PATH], as in "
			"kubernetes:default/web-0:/srv",
			text);
	*len = s.len;
	return ERR_OK;
}

static bool has_line(const char *text, struct part wanted)
{
	size_t len = (size_t)wanted.len;

	for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
		if (strcspn(text, "\n") == len && !memcmp(text, wanted.text, len))
			return true;
	return false;
}

/* The first of three names is a context if the user has one of that name. */
static enum err begins_with_context(struct command *c, const struct source *s,
	const struct call *call, bool *out, struct error *e)
{
	AUTO_WORDS struct words words = { 0 };
	AUTO_BUF struct buf answer = { 0 };
	enum err kind = ERR_OK;

	*out = s->count == PARTS_MAX;
	if (s->count != PARTS_MAX - 1)
		return ERR_OK;
	words_add_all(&words,
		(const char *const[]){ "kubectl", "config", "get-contexts", "-oname", NULL });
	kind = command_ask(c, call, &words, &answer, e);
	*out = !kind && has_line(buf_text(&answer), s->parts[0]);
	return kind;
}

/* ---- Facts about a pod ---- */

/* Texts that may have lines of their own come last: they forge nothing before them. */
static const char facts_wanted[] =
	"-ojsonpath={.metadata.uid}{\"\\n\"}{.status.phase}{\"\\n\"}"
	"{.spec.containers[*].name}{\"\\n\"}{.metadata.labels." PROVIDER_MARK "}{\"\\n\"}"
	"{.metadata.ownerReferences[*].uid}{\"\\n\"}{.status.reason}{\"\\n\"}"
	"{.metadata.annotations." KUBERNETES_ENDS "}{\"\\n\"}"
	"{.metadata.annotations.kubectl\\.kubernetes\\.io/default-container}{\"\\n\"}";

void pod_release(struct pod *p)
{
	buf_release(&p->answer);
}

static bool split(struct pod *p)
{
	char *at = (char *)p->answer.bytes;

	for (size_t n = 0; n < FACTS; n++) {
		char *end = strchr(at, '\n');

		if (!end)
			return false;
		*end = 0;
		p->facts[n] = at;
		at = end + 1;
	}
	return *p->facts[FACT_UID];
}

enum err kubernetes_ask(struct command *c, const struct call *call, bool is_named,
	const struct buf *input, struct buf *out, const char *const *verb, struct error *e)
{
	AUTO_WORDS struct words words = { 0 };

	words_add(&words, "kubectl");
	words_add_all(&words, verb);
	for (size_t n = 0; n < c->options.count; n++) {
		const char *word = c->options.argv[n];
		bool is_name = strncmp(word, "--", 2) != 0;

		if (is_name ? is_named : strncmp(word, "--container=", 12) != 0)
			words_add(&words, "%s", word);
	}
	return input ? command_ask_fed(c, call, &words, input, out, e)
		     : command_ask(c, call, &words, out, e);
}

enum err kubernetes_inspect(struct command *c, const struct call *call, const char *what,
	struct pod *out, struct error *e)
{
	enum err kind = kubernetes_ask(c, call, true, NULL, &out->answer,
		(const char *const[]){ "get", what, facts_wanted, NULL }, e);

	if (kind)
		return kind;
	buf_text(&out->answer);
	return split(out) ? ERR_OK
			  : error_set(e, ERR_PROTOCOL, "kubernetes:%s: what kubectl says is no pod",
				    c->given);
}

static enum err tell_state(
	struct command *c, const struct call *call, struct sandbox_info *out, struct error *e)
{
	AUTO_POD struct pod pod = { 0 };
	enum err kind = kubernetes_inspect(c, call, "pod", &pod, e);

	if (kind)
		return kind;
	out->state = strcmp(pod.facts[FACT_PHASE], "Running") ? SANDBOX_STOPPED : SANDBOX_RUNNING;
	out->expires_s = rest_seconds_until(pod.facts[FACT_ENDS], time(NULL));
	return ERR_OK;
}

/* ---- Finding a pod ---- */

static enum err check_running(struct command *c, const struct pod *pod, struct error *e)
{
	const char *reason = pod->facts[FACT_REASON];

	if (!strcmp(pod->facts[FACT_PHASE], "Running"))
		return ERR_OK;
	return error_set(e, ERR_UNREACHABLE, "kubernetes:%s is %s%s%s; see: kubectl describe pod",
		c->given, pod->facts[FACT_PHASE], *reason ? ": " : "", reason);
}

/* Chooses as kubectl does, but avoids its remark about the choice. */
static enum err choose_container(
	struct command *c, const struct pod *pod, struct part given, struct error *e)
{
	const char *all = pod->facts[FACT_CONTAINERS];
	const char *usual = pod->facts[FACT_DEFAULT];
	size_t len;

	if (!given.len)
		given = *usual ? (struct part){ usual, (int)strlen(usual) }
			       : (struct part){ all, (int)strcspn(all, " ") };
	for (const char *at = all; *at; at += len + (at[len] == ' ')) {
		len = strcspn(at, " ");
		if (len != (size_t)given.len || memcmp(at, given.text, len) != 0)
			continue;
		words_add(&c->options, "--container=%.*s", given.len, given.text);
		return words_check(&c->options, e);
	}
	return error_set(e, ERR_NOT_FOUND,
		"kubernetes:%s: the pod has no container '%.*s'; it has: %s", c->given, given.len,
		given.text, all);
}

bool kubernetes_has_uid(const char *uids, struct part uid)
{
	size_t len;

	for (; *uids; uids += len + (uids[len] == ' ')) {
		len = strcspn(uids, " ");
		if (len == (size_t)uid.len && !memcmp(uids, uid.text, len))
			return true;
	}
	return false;
}

/* The pod's UID is part of the ID from now on. A source may have that of the pod's Sandbox. */
static enum err take_uid(
	struct command *c, const struct source *s, const struct pod *pod, struct error *e)
{
	int len = (int)(s->len - (s->uid.len ? (size_t)s->uid.len + 1 : 0));
	const char *uid = pod->facts[FACT_UID];

	if (s->uid.len && !kubernetes_has_uid(uid, s->uid) &&
		!kubernetes_has_uid(pod->facts[FACT_OWNERS], s->uid))
		return error_set(e, ERR_NOT_FOUND,
			"kubernetes:%s: the pod of this name is another one by now", c->given);
	if (snprintf(c->at.id, sizeof c->at.id, "%.*s@%s", len, c->given, uid) <
		(int)sizeof c->at.id)
		return ERR_OK;
	return error_set(e, ERR_INVALID, "kubernetes:%s: its name is too long", c->given);
}

enum err kubernetes_locate(struct command *c, const struct call *call, struct source *s,
	struct part *container, struct error *e)
{
	bool has_context = false;
	enum err kind;

	if (!read_source(s, c->given))
		return error_set(e, ERR_INVALID, "kubernetes: '%s' is no pod", c->given);
	kind = begins_with_context(c, s, call, &has_context, e);
	if (kind)
		return kind;
	const struct part *names = s->parts + has_context;

	if (has_context)
		words_add(&c->options, "--context=%.*s", s->parts[0].len, s->parts[0].text);
	words_add(&c->options, "--namespace=%.*s", names[0].len, names[0].text);
	words_add(&c->options, "%.*s", names[1].len, names[1].text);
	*container = s->count - has_context > 2 ? names[2] : (struct part){ 0 };
	return words_check(&c->options, e);
}

static enum err find(struct command *c, const struct provider_config *cfg, const struct call *call,
	struct error *e)
{
	AUTO_POD struct pod pod = { 0 };
	struct source s;
	struct part container;
	enum err kind = kubernetes_locate(c, call, &s, &container, e);

	if (!kind)
		kind = kubernetes_inspect(c, call, "pod", &pod, e);
	if (!kind)
		kind = take_uid(c, &s, &pod, e);
	if (!kind)
		kind = choose_container(c, &pod, container, e);
	return kind || cfg->account_only ? kind : check_running(c, &pod, e);
}

/* ---- Arguments of kubectl ---- */

static enum err check(struct command *c, const struct call *call, struct error *e)
{
	AUTO_POD struct pod pod = { 0 };
	enum err kind = kubernetes_inspect(c, call, "pod", &pod, e);

	if (kind)
		return kind;
	if (!strcmp(pod.facts[FACT_UID], strrchr(c->at.id, '@') + 1))
		return check_running(c, &pod, e);
	attachment_note_gone(&c->at);
	return attachment_check(&c->at, e);
}

static void put_words(const struct command *c, bool asks, struct words *out)
{
	(void)asks;
	words_add_all(out, (const char *const[]){ "kubectl", "exec", "-i", NULL });
	words_add_all(out, (const char *const *)c->options.argv);
	words_add_all(out, (const char *const[]){ "--", "/bin/sh", NULL });
}

/* ---- The tables ---- */

/* A role that may not list all namespaces may list the one in use. */
static const char *const names[] = { "/bin/sh", "-c",
	"kubectl get pods --all-namespaces \"$0\" 2>/dev/null || kubectl get pods \"$0\"",
	"-ojsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name}{\"\\n\"}{end}", NULL };

const struct transport kubernetes_transport = {
	.program = "kubectl",
	.working_dir = ".",
	.complaints = complaints,
	.open = find,
	.check = check,
	.put_words = put_words,
	.state = tell_state,
	.names = names,
};

static enum err connect(const struct provider_config *cfg, const struct call *call,
	struct provider **out, struct error *e)
{
	return command_connect(&kubernetes_provider, &kubernetes_transport, cfg, call, out, e);
}

static enum err offer_ids(const struct call *call, id_sink sink, void *context, struct error *e)
{
	return command_offer_ids(
		&kubernetes_provider, &kubernetes_transport, call, sink, context, e);
}

const struct provider_ops kubernetes_provider = {
	.name = "kubernetes",
	.title = "Kubernetes",
	.key_names = "",
	.caps = PROVIDER_KEEPS_HELPER | PROVIDER_COMMANDS_PULSE,
	.create_options = OPTION_IMAGE | OPTION_TEMPLATE | OPTION_ENV | OPTION_LABELS |
		OPTION_NAME | OPTION_CPUS | OPTION_MEMORY | OPTION_LIFETIME | OPTION_APP,
	.connect_options = OPTION_RESUME_NEVER,
	.take_id = take_id,
	.create = kubernetes_create,
	.connect = connect,
	.release = command_release,
	.info = command_info,
	.list_sandboxes = kubernetes_list,
	.offer_ids = offer_ids,
	.delete = kubernetes_delete,
	.extend = kubernetes_extend,
	.logs = kubernetes_logs,
	.execute = attachment_execute,
};
