#include "providers/command/kubernetes.h"

#include "providers/base/cleanup.h"
#include "providers/base/wait.h"
#include "providers/rest/rest.h"

#include <stdio.h>
#include <string.h>

/* Reasons for which the kubelet tries again without a change of the pod that could help. */
static const char *const hopeless[] = { "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull",
	"CreateContainerConfigError", "CreateContainerError", "RunContainerError",
	"CrashLoopBackOff", NULL };

struct waiting {
	struct command *c;
	struct build_log *log;
	char last[400]; /* why the pod does not run yet, as the log has it */
	/* why the image could not be pulled: the next state says only that it could not */
	char pull[400];
};

static void note(struct waiting *w, const char *reason, const char *message)
{
	char text[sizeof w->last];

	snprintf(text, sizeof text, "%s%s%s", reason, *message ? ": " : "", message);
	text[strcspn(text, "\r\n")] = 0;
	build_log_tell_state(w->log, text);
	strcpy(w->last, text);
	if (!strcmp(reason, "ErrImagePull"))
		strcpy(w->pull, text);
}

static enum err refuse(const struct waiting *w, enum err kind, struct error *e)
{
	bool is_pull = strstr(w->last, "ImagePull") && *w->pull;
	bool has_no_shell = strstr(w->last, "/bin/sh: no such file");

	return error_set(e, kind, "kubernetes: the new pod does not run: %s%s",
		is_pull ? w->pull : w->last,
		has_no_shell ? "; its image has no /bin/sh, which is needed" : "");
}

static bool is_hopeless(const char *reason)
{
	const char *const *known = hopeless;

	while (*known && strcmp(reason, *known) != 0)
		known++;
	return *known;
}

/* *is_waiting: a container does not run yet. */
static enum err read_containers(
	struct waiting *w, struct json_object *all, bool *is_waiting, struct error *e)
{
	struct json_object *one;

	for (size_t n = 0; (one = rest_item(all, n)); n++) {
		struct json_object *why = rest_member(rest_member(one, "state"), "waiting");
		const char *reason = rest_text(why, "reason", "");

		if (!why)
			continue;
		*is_waiting = true;
		note(w, reason, rest_text(why, "message", ""));
		if (is_hopeless(reason))
			return refuse(w, ERR_INVALID, e);
	}
	return ERR_OK;
}

/* The first condition that does not hold and says why: no node takes the pod, for example. */
static void read_conditions(struct waiting *w, struct json_object *all)
{
	struct json_object *one;

	for (size_t n = 0; (one = rest_item(all, n)); n++)
		if (!strcmp(rest_text(one, "status", ""), "False") &&
			!strcmp(rest_text(one, "type", ""), "PodScheduled")) {
			note(w, rest_text(one, "reason", ""), rest_text(one, "message", ""));
			return;
		}
}

static enum err refuse_ended(struct waiting *w, struct json_object *status, struct error *e)
{
	struct json_object *one = rest_item(rest_member(status, "containerStatuses"), 0);
	struct json_object *end = rest_member(rest_member(one, "state"), "terminated");
	const char *reason = rest_text(status, "reason", "");

	if (*reason)
		note(w, reason, rest_text(status, "message", ""));
	else
		note(w, rest_text(end, "reason", rest_text(status, "phase", "")),
			rest_text(end, "message", ""));
	return refuse(w, ERR_INVALID, e);
}

static enum err read_pod(
	struct waiting *w, struct json_object *status, bool *is_done, struct error *e)
{
	const char *phase = rest_text(status, "phase", "");
	bool is_waiting = false;
	enum err kind;

	if (!strcmp(phase, "Failed") || !strcmp(phase, "Succeeded"))
		return refuse_ended(w, status, e);
	read_conditions(w, rest_member(status, "conditions"));
	kind = read_containers(w, rest_member(status, "initContainerStatuses"), &is_waiting, e);
	if (!kind)
		kind = read_containers(w, rest_member(status, "containerStatuses"), &is_waiting, e);
	*is_done = !kind && !is_waiting && !strcmp(phase, "Running");
	return kind;
}

/* The controller tries again what was refused; a quota, or a rule, refuses it again. */
static enum err read_sandbox(struct waiting *w, struct json_object *status, struct error *e)
{
	struct json_object *all = rest_member(status, "conditions"), *one;

	for (size_t n = 0; (one = rest_item(all, n)); n++)
		if (!strcmp(rest_text(one, "reason", ""), "ReconcilerError"))
			note(w, "ReconcilerError", rest_text(one, "message", ""));
	return strstr(w->last, "exceeded quota")  ? refuse(w, ERR_QUOTA, e)
		: strstr(w->last, "is forbidden") ? refuse(w, ERR_DENIED, e)
						  : ERR_OK;
}

static enum err ask_status(struct waiting *w, const struct call *call, const char *what,
	struct json_object **out, struct error *e)
{
	AUTO_BUF struct buf answer = { 0 };
	enum err kind = kubernetes_ask(w->c, call, true, NULL, &answer,
		(const char *const[]){ "get", what, "-ojsonpath={.status}", NULL }, e);

	if (!kind)
		rest_parse(&answer, out);
	return kind;
}

static enum err look(void *context, const struct call *call, bool *is_done, struct error *e)
{
	struct waiting *w = context;
	AUTO_JSON struct json_object *pod = NULL;
	AUTO_JSON struct json_object *sandbox = NULL;
	enum err kind = ask_status(w, call, "pod", &pod, e);

	if (!kind)
		return read_pod(w, pod, is_done, e);
	if (kind == ERR_NOT_FOUND)
		kind = ask_status(w, call, SANDBOXES, &sandbox, e);
	if (kind == ERR_NOT_FOUND)
		return error_set(e, ERR_UNREACHABLE, "kubernetes: the new pod was deleted");
	return kind ? kind : read_sandbox(w, sandbox, e);
}

enum err kubernetes_await_ready(
	struct command *c, const struct call *call, struct build_log *log, struct error *e)
{
	struct waiting w = { .c = c, .log = log };
	enum err kind =
		wait_for_state(call, call_ready_ms(call), "kubernetes: the new pod", look, &w, e);

	if (kind != ERR_TIMEOUT || !*w.last)
		return kind;
	return error_set(e, kind, "kubernetes: the new pod does not run after %g s: %s",
		(double)call_ready_ms(call) / 1000, w.last);
}
