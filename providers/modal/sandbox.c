#include "providers/modal/sandbox.h"

#include "providers/base/cleanup.h"
#include "providers/base/wait.h"
#include "providers/labels.h"
#include "providers/modal/modal_answer.h"
#include "providers/modal/modal.pb-c.h"
#include "providers/rest/rest.h"
#include "providers/server_clock.h"

#include <stdio.h>
#include <string.h>

#define BASE62    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define V1_RANDOM 22
/* Names are shorter. */
#define NAME_ROOM 64
/* The longest time that the server holds an answer while there is no task. */
#define TASK_WAIT_S 30

bool sandbox_is_v1(const char *id)
{
	return !strncmp(id, "sb-", 3) && strlen(id) == 3 + V1_RANDOM &&
		strspn(id + 3, BASE62) == V1_RANDOM;
}

enum err sandbox_check_id(const char *id, struct error *e)
{
	bool is_id = !strncmp(id, "sb-", 3) && id[3] && !id[strspn(id, BASE62 "-_")] &&
		strlen(id) < SANDBOX_ID_MAX;

	return is_id
		? ERR_OK
		: error_set(e, ERR_INVALID,
			  "modal: '%.100s' is no sandbox ID: they are sb- and letters and digits",
			  id);
}

static const char *versioned(const char *id, const char *v1, const char *v2)
{
	return sandbox_is_v1(id) ? v1 : v2;
}

/* ---- Names ---- */

static enum err ask_named(struct modal_control *c, const struct call *call, const char *method,
	const Modal__SandboxGetFromNameRequest *request, char id[SANDBOX_ID_MAX], struct error *e)
{
	AUTO_ANSWER ProtobufCMessage *answer = NULL;
	const struct control_ask ask = { .method = method,
		.message = &request->base,
		.type = &modal__sandbox_get_from_name_response__descriptor,
		.what = "looking for a name" };
	const char *found;
	enum err kind = modal_control_call(c, call, &ask, &answer, NULL, e);

	if (kind)
		return kind;
	found = ((const Modal__SandboxGetFromNameResponse *)answer)->sandbox_id;
	kind = sandbox_check_id(found ? found : "", e);
	if (!kind)
		snprintf(id, SANDBOX_ID_MAX, "%s", found);
	return kind == ERR_INVALID ? error_set(e, ERR_PROTOCOL, "modal: a name without an ID")
				   : kind;
}

/* Modal's own rule. */
static bool is_name(const char *text)
{
	size_t len = strspn(text, BASE62 "._-");

	return len && !text[len] && len < NAME_ROOM;
}

/* A name does not say which version its sandbox is of. */
enum err sandbox_find_named(struct modal_control *c, const struct call *call,
	const char *environment, const char *app, const char *name, char id[SANDBOX_ID_MAX],
	struct error *e)
{
	Modal__SandboxGetFromNameRequest request = MODAL__SANDBOX_GET_FROM_NAME_REQUEST__INIT;
	struct error why = { 0 };
	enum err kind;

	if (!is_name(name))
		return error_set(e, ERR_INVALID,
			"modal: '%.100s' is no sandbox's ID, which begins with sb-, and no name",
			name);
	request.sandbox_name = (char *)name;
	request.environment_name = (char *)environment;
	request.app_name = (char *)app;
	kind = ask_named(c, call, "SandboxGetFromNameV2", &request, id, &why);
	if (kind == ERR_NOT_FOUND)
		kind = ask_named(c, call, "SandboxGetFromName", &request, id, &why);
	return kind ? error_set(e, kind, "%s", why.text) : ERR_OK;
}

/* ---- The end of a sandbox ---- */

/* Source: api.proto, GenericResult.GenericStatus. */
static const char *ending(const Modal__GenericResult *result)
{
	static const char *const words[] = { "runs", "ended by itself", "failed", "was terminated",
		"came to the end of its time", "could not be started", "failed inside Modal",
		"was idle for too long", "ran out of memory" };
	size_t status = result->status >= 0 ? (size_t)result->status : 0;

	return status < sizeof words / sizeof *words ? words[status] : "has ended";
}

static enum err say_ended(const char *id, const Modal__GenericResult *result, struct error *e)
{
	return error_set(e, ERR_NOT_FOUND, "sandbox modal:%s %s%s%.150s", id, ending(result),
		result->exception && *result->exception ? ": " : "",
		result->exception ? result->exception : "");
}

static bool has_ended(const Modal__GenericResult *result)
{
	return result && result->status != 0;
}

/* ---- The task ---- */

struct search {
	struct modal_control *c;
	const char *id;
	char *task_id;
};

static enum err look_for_task(
	void *context, const struct call *call, bool *is_done, struct error *e)
{
	struct search *s = context;
	Modal__SandboxRequest request = MODAL__SANDBOX_REQUEST__INIT;
	AUTO_ANSWER ProtobufCMessage *answer = NULL;
	const Modal__SandboxGetTaskIdResponse *said;
	const struct control_ask ask = { .method = versioned(
						 s->id, "SandboxGetTaskId", "SandboxGetTaskIdV2"),
		.message = &request.base,
		.type = &modal__sandbox_get_task_id_response__descriptor,
		.wait_ms = TASK_WAIT_S * 1000,
		.what = "looking for the sandbox" };
	enum err kind;

	request.sandbox_id = (char *)s->id;
	request.has_timeout = 1;
	request.timeout = TASK_WAIT_S;
	kind = modal_control_call(s->c, call, &ask, &answer, NULL, e);
	if (kind)
		return kind;
	said = (const Modal__SandboxGetTaskIdResponse *)answer;
	if (has_ended(said->task_result))
		return say_ended(s->id, said->task_result, e);
	*is_done = said->task_id && *said->task_id;
	if (*is_done)
		s->task_id = strdup(said->task_id);
	return *is_done && !s->task_id ? error_set(e, ERR_NO_MEMORY, "modal") : ERR_OK;
}

enum err sandbox_task(struct modal_control *c, const struct call *call, const char *id,
	char **task_id, struct error *e)
{
	struct search search = { .c = c, .id = id };
	enum err kind = wait_for_state(
		call, call_ready_ms(call), "the sandbox to be started", look_for_task, &search, e);

	*task_id = search.task_id;
	return kind;
}

enum err sandbox_access(struct modal_control *c, const struct call *call, const char *id,
	const char *task_id, struct worker_access *out, struct error *e)
{
	Modal__SandboxRequest by_sandbox = MODAL__SANDBOX_REQUEST__INIT;
	Modal__TaskRequest by_task = MODAL__TASK_REQUEST__INIT;
	AUTO_ANSWER ProtobufCMessage *answer = NULL;
	const Modal__Access *said;
	bool is_v1 = sandbox_is_v1(id);
	const struct control_ask ask = { .method = is_v1 ? "TaskGetCommandRouterAccess"
							 : "SandboxGetCommandRouterAccess",
		.message = is_v1 ? &by_task.base : &by_sandbox.base,
		.type = &modal__access__descriptor,
		.what = "asking the way to the sandbox's worker" };
	enum err kind;

	by_sandbox.sandbox_id = (char *)id;
	by_task.task_id = (char *)task_id;
	kind = modal_control_call(c, call, &ask, &answer, NULL, e);
	if (kind)
		return kind;
	said = (const Modal__Access *)answer;
	out->jwt = said->jwt ? strdup(said->jwt) : NULL;
	out->url = said->url ? strdup(said->url) : NULL;
	if (said->worker_ipv4_address && *said->worker_ipv4_address)
		out->address = strdup(said->worker_ipv4_address);
	if (!out->jwt || !out->url)
		return error_set(
			e, ERR_PROTOCOL, "modal: no way to the sandbox's worker in the answer");
	kind = modal_control_check_named(c, out->url, e);
	return kind || !out->address ? kind : modal_control_check_named_host(c, out->address, e);
}

/* An app's id that does not fit counts as none. */
static void take_app_id(char out[SANDBOX_APP_ID_MAX], const Modal__SandboxHandleMetadata *metadata)
{
	const char *id = metadata && metadata->app_id ? metadata->app_id : "";

	strcpy(out, strlen(id) < SANDBOX_APP_ID_MAX ? id : "");
}

enum err sandbox_check_runs(struct modal_control *c, const struct call *call, const char *id,
	char app_id[SANDBOX_APP_ID_MAX], struct error *e)
{
	Modal__SandboxRequest request = MODAL__SANDBOX_REQUEST__INIT;
	AUTO_ANSWER ProtobufCMessage *answer = NULL;
	const Modal__SandboxWaitResponse *said;
	const struct control_ask ask = { .method = versioned(id, "SandboxWait", "SandboxWaitV2"),
		.message = &request.base,
		.type = &modal__sandbox_wait_response__descriptor,
		.what = "looking at the sandbox" };
	enum err kind;

	request.sandbox_id = (char *)id;
	request.has_timeout = 1;
	kind = modal_control_call(c, call, &ask, &answer, NULL, e);
	if (kind)
		return kind;
	said = (const Modal__SandboxWaitResponse *)answer;
	if (app_id)
		take_app_id(app_id, said->metadata);
	return has_ended(said->result) ? say_ended(id, said->result, e) : ERR_OK;
}

enum err sandbox_terminate(
	struct modal_control *c, const struct call *call, const char *id, struct error *e)
{
	Modal__SandboxRequest request = MODAL__SANDBOX_REQUEST__INIT;
	AUTO_ANSWER ProtobufCMessage *answer = NULL;
	const struct control_ask ask = { .method = versioned(
						 id, "SandboxTerminate", "SandboxTerminateV2"),
		.message = &request.base,
		.type = &modal__empty__descriptor,
		.what = "deleting the sandbox" };
	struct error why = { 0 };
	enum err kind;

	request.sandbox_id = (char *)id;
	kind = modal_control_call(c, call, &ask, &answer, NULL, &why);
	return kind && kind != ERR_NOT_FOUND ? error_set(e, kind, "%s", why.text) : ERR_OK;
}

/* ---- Ports ---- */

/* 443 is a browser's own. */
static enum err put_url(
	struct buf *out, struct modal_control *c, const Modal__TunnelData *tunnel, struct error *e)
{
	enum err kind = modal_control_check_named_host(c, tunnel->host, e);

	if (kind)
		return kind;
	buf_printf(out, "https://%s", tunnel->host);
	if (tunnel->port != 443)
		buf_printf(out, ":%u", tunnel->port);
	return ERR_OK;
}

enum err sandbox_port_url(struct modal_control *c, const struct call *call, const char *id,
	unsigned port, struct buf *out, struct error *e)
{
	Modal__SandboxRequest request = MODAL__SANDBOX_REQUEST__INIT;
	AUTO_ANSWER ProtobufCMessage *answer = NULL;
	const Modal__SandboxGetTunnelsResponse *said;
	const struct control_ask ask = { .method = versioned(
						 id, "SandboxGetTunnels", "SandboxGetTunnelsV2"),
		.message = &request.base,
		.type = &modal__sandbox_get_tunnels_response__descriptor,
		.wait_ms = TASK_WAIT_S * 1000,
		.what = "asking for its ports" };
	enum err kind;

	request.sandbox_id = (char *)id;
	request.has_timeout = true;
	request.timeout = TASK_WAIT_S;
	kind = modal_control_call(c, call, &ask, &answer, NULL, e);
	if (kind)
		return kind;
	said = (const Modal__SandboxGetTunnelsResponse *)answer;
	for (size_t i = 0; i < said->n_tunnels; i++)
		if (said->tunnels[i]->container_port == port && said->tunnels[i]->host)
			return put_url(out, c, said->tunnels[i], e);
	return error_set(e, ERR_UNSUPPORTED,
		"modal:%s: port %u was not opened when it was made, and Modal opens none later; "
		"sandboxctl create modal --port %u makes one that has it",
		id, port, port);
}
