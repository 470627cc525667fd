#include "providers/command/kubernetes.h"

#include "providers/base/cleanup.h"
#include "providers/command/life.h"
#include "providers/rest/rest.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define GROUP "agents.x-k8s.io"

/* The label that says who made it. */
#define USER_LABEL "sandboxfs-user"
/* The longest value of a label. */
#define LABEL_MAX 63
#define ALNUM     "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

/* Nothing is started again: the files of a container end with it. */
static const char image_spec[] =
	"{\"restartPolicy\":\"Never\",\"automountServiceAccountToken\":false,"
	"\"containers\":[{\"name\":\"sandbox\",\"command\":[\"/bin/sh\",\"-c\"]}]}";

/* ---- JSON ---- */

static void put_text(struct json_object *o, const char *key, const char *text)
{
	json_object_object_add(o, key, json_object_new_string(text));
}

static void put_pair(struct json_object *o, const char *pair)
{
	size_t len = strcspn(pair, "=");
	AUTO_FREE char *key = strndup(pair, len);

	if (key)
		put_text(o, key, pair + len + (pair[len] == '='));
}

/* The object of that name, which is made where it is missing or something else. */
static struct json_object *within(struct json_object *o, const char *key)
{
	struct json_object *found = rest_member(o, key);

	if (!json_object_is_type(found, json_type_object)) {
		found = json_object_new_object();
		json_object_object_add(o, key, found);
	}
	return found;
}

static bool is_sandbox(struct json_object *object)
{
	return !strcmp(rest_text(object, "kind", ""), "Sandbox");
}

/* The pod of a Sandbox, or the object itself. */
static struct json_object *pod_of(struct json_object *object)
{
	return is_sandbox(object) ? within(within(object, "spec"), "podTemplate") : object;
}

/* ---- A pod of an image ---- */

/*
 * The version of Sandboxes that the cluster prefers; "": it has none. kubectl fails behind its
 * output where some other group does not answer.
 */
static enum err find_version(
	struct command *c, const struct call *call, char out[64], struct error *e)
{
	AUTO_BUF struct buf answer = { 0 };
	enum err kind = kubernetes_ask(c, call, false, NULL, &answer,
		(const char *const[]){
			"api-resources", "--api-group=" GROUP, "--no-headers", NULL },
		e);
	const char *found = strstr(buf_text(&answer), GROUP "/");

	*out = 0;
	if (found)
		snprintf(out, 64, "%.*s", (int)strcspn(found, " \n"), found);
	return found || kind == ERR_NOT_FOUND ? ERR_OK : kind;
}

static enum err of_image(struct command *c, const struct provider_config *cfg,
	const struct call *call, struct json_object **out, struct error *e)
{
	struct json_object *spec, *container;
	char version[64];
	enum err kind = life_check_image(c->at.base.ops, cfg, e);

	if (!kind)
		kind = find_version(c, call, version, e);
	if (kind)
		return kind;
	*out = json_object_new_object();
	put_text(*out, "apiVersion", *version ? version : "v1");
	put_text(*out, "kind", *version ? "Sandbox" : "Pod");
	spec = json_tokener_parse(image_spec);
	container = rest_item(rest_member(spec, "containers"), 0);
	put_text(container, "image", cfg->image);
	json_object_array_add(
		rest_member(container, "command"), json_object_new_string(STAY_ALIVE));
	json_object_object_add(pod_of(*out), "spec", spec);
	return ERR_OK;
}

/* ---- A manifest in a file ---- */

static enum err of_file(struct command *c, const struct provider_config *cfg,
	const struct call *call, struct json_object **out, struct error *e)
{
	AUTO_BUF struct buf answer = { 0 };
	enum err kind = kubernetes_ask(c, call, false, NULL, &answer,
		(const char *const[]){
			"create", "--dry-run=client", "-ojson", "-f", cfg->template, NULL },
		e);
	const char *version;

	if (kind)
		return kind;
	rest_parse(&answer, out);
	version = rest_text(*out, "apiVersion", "");
	if (is_sandbox(*out) ? !strncmp(version, GROUP "/", sizeof GROUP)
			     : !strcmp(rest_text(*out, "kind", ""), "Pod"))
		return ERR_OK;
	return error_set(e, ERR_INVALID,
		"kubernetes: '%.200s' is to have one object, a Pod or a Sandbox of "
		"agents.x-k8s.io",
		cfg->template);
}

/* ---- The members of both ---- */

static void put_user(struct json_object *labels)
{
	char row[4096], text[LABEL_MAX + 1];
	struct passwd user, *found = NULL;
	size_t len = 0;

	getpwuid_r(geteuid(), &user, row, sizeof row, &found);
	if (found)
		len = strspn(found->pw_name, ALNUM "-_.");
	if (len && len <= LABEL_MAX && !found->pw_name[len] && strchr(ALNUM, *found->pw_name) &&
		strchr(ALNUM, found->pw_name[len - 1]))
		strcpy(text, found->pw_name);
	else
		snprintf(text, sizeof text, "uid-%u", geteuid());
	put_text(labels, USER_LABEL, text);
}

/* A Sandbox alone has the mark: its pod goes with it. */
static void put_labels(struct json_object *object, const char *const *labels)
{
	struct json_object *own = within(within(object, "metadata"), "labels");
	struct json_object *pods = within(within(pod_of(object), "metadata"), "labels");

	put_user(own);
	put_user(pods);
	for (; labels && *labels; labels++) {
		put_pair(own, *labels);
		if (strncmp(*labels, PROVIDER_MARK "=", sizeof PROVIDER_MARK) != 0)
			put_pair(pods, *labels);
	}
}

/* A variable takes the place of one of its name. */
static void put_variable(struct json_object *env, const char *pair)
{
	struct json_object *variable = json_object_new_object(), *old;
	size_t len = strcspn(pair, "=");

	json_object_object_add(variable, "name", json_object_new_string_len(pair, (int)len));
	put_text(variable, "value", pair + len + (pair[len] == '='));
	for (size_t n = 0; (old = rest_item(env, n)); n++)
		if (!strcmp(rest_text(old, "name", ""), rest_text(variable, "name", ""))) {
			json_object_array_put_idx(env, n, variable);
			return;
		}
	json_object_array_add(env, variable);
}

static void put_variables(struct json_object *container, const char *const *env)
{
	if (env && !json_object_is_type(rest_member(container, "env"), json_type_array))
		json_object_object_add(container, "env", json_object_new_array());
	for (; env && *env; env++)
		put_variable(rest_member(container, "env"), *env);
}

static void put_limits(struct json_object *container, const struct provider_config *cfg)
{
	char text[40];

	if (cfg->cpus > 0) {
		snprintf(text, sizeof text, "%.0fm", cfg->cpus * 1000);
		put_text(within(within(container, "resources"), "limits"), "cpu", text);
	}
	if (cfg->memory_mb) {
		snprintf(text, sizeof text, "%lldMi", (long long)cfg->memory_mb);
		put_text(within(within(container, "resources"), "limits"), "memory", text);
	}
}

/* A Sandbox is deleted at its end. A pod is ended, and stays in lists. */
static void put_lifetime(struct json_object *object, int64_t seconds)
{
	struct json_object *spec = within(object, "spec");
	time_t end = time(NULL) + seconds;
	char text[40];
	struct tm tm;

	strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&end, &tm));
	put_text(within(within(object, "metadata"), "annotations"), KUBERNETES_ENDS, text);
	put_text(within(within(pod_of(object), "metadata"), "annotations"), KUBERNETES_ENDS, text);
	if (!is_sandbox(object)) {
		json_object_object_add(
			spec, "activeDeadlineSeconds", json_object_new_int64(seconds));
		return;
	}
	put_text(spec, "shutdownTime", text);
	put_text(spec, "shutdownPolicy", "Delete");
}

enum err kubernetes_manifest(struct command *c, const struct provider_config *cfg,
	const struct call *call, const char *name, struct json_object **out, struct error *e)
{
	AUTO_JSON struct json_object *object = NULL;
	struct json_object *container;
	enum err kind = (cfg->template ? of_file : of_image)(c, cfg, call, &object, e);

	if (kind)
		return kind;
	container = rest_item(rest_member(within(pod_of(object), "spec"), "containers"), 0);
	if (!json_object_is_type(container, json_type_object))
		return error_set(
			e, ERR_INVALID, "kubernetes: '%.200s' has no container", cfg->template);
	put_text(within(object, "metadata"), "name", name);
	put_labels(object, cfg->labels);
	put_variables(container, cfg->env);
	put_limits(container, cfg);
	if (cfg->lifetime_s)
		put_lifetime(object, cfg->lifetime_s);
	*out = take(object);
	return ERR_OK;
}
