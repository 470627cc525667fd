/* The sandboxes of an app, and of all apps. */
#include "providers/base/cleanup.h"
#include "providers/labels.h"
#include "providers/modal/modal.pb-c.h"
#include "providers/modal/modal_answer.h"
#include "providers/modal/sandbox.h"
#include "providers/server_clock.h"

#include <string.h>

/* A kernel's clock ends in 2232. */
#define CLOCK_MAX_S 8277292036.0
/* No account has so many sandboxes: a server that goes on is astray. */
#define PAGES_MAX 1000
/* Values of enum AppState. Such an app has no sandboxes, and stays in the list for weeks. */
#define APP_STOPPED  5
#define APP_DISABLED 7

/* ---- One app ---- */

static const char *present(const char *text)
{
	return text ? text : "";
}

/* Seconds since 1970 that a clock can show; not of a NaN. */
static bool is_clock(double seconds)
{
	return seconds >= 0 && seconds <= CLOCK_MAX_S;
}

static enum err tell_unread(sandbox_sink sink, void *context, struct error *e)
{
	const struct sandbox_entry entry = { .unread = "modal: listing sandboxes: one was made at "
						       "a time that is none" };

	return sink(context, &entry, e);
}

static enum err tell(const Modal__SandboxInfo *info, int64_t now_s, sandbox_sink sink,
	void *context, struct error *e)
{
	if (!is_clock(info->created_at))
		return tell_unread(sink, context, e);

	int64_t ends_s = (int64_t)info->created_at + info->timeout_secs;
	AUTO_LABELS struct labels labels = { 0 };
	struct sandbox_entry entry = { .id = info->id,
		.state = SANDBOX_RUNNING,
		.expires_s = !info->timeout_secs ? -1
			: ends_s > now_s         ? ends_s - now_s
						 : 0,
		.age_s = now_s > info->created_at ? now_s - (int64_t)info->created_at : 0 };

	for (size_t i = 0; i < info->n_tags; i++)
		labels_add(&labels, present(info->tags[i]->key), present(info->tags[i]->value));
	entry.labels = labels_list(&labels);
	return info->id && *info->id ? sink(context, &entry, e) : ERR_OK;
}

/* The newest first. *before: the oldest of this page; 0: there was none. */
static enum err list_page(struct modal_control *c, const struct call *call, const char *app_id,
	double *before, sandbox_sink sink, void *context, struct error *e)
{
	Modal__SandboxListRequest request = MODAL__SANDBOX_LIST_REQUEST__INIT;
	AUTO_ANSWER ProtobufCMessage *answer = NULL;
	const Modal__SandboxListResponse *said;
	const struct control_ask ask = { .method = "SandboxListV2",
		.message = &request.base,
		.type = &modal__sandbox_list_response__descriptor,
		.what = "listing sandboxes" };
	enum err kind;

	request.app_id = (char *)app_id;
	request.has_before_timestamp = *before > 0;
	request.before_timestamp = *before;
	kind = modal_control_call(c, call, &ask, &answer, NULL, e);
	said = (const Modal__SandboxListResponse *)answer;
	*before = 0;
	for (size_t i = 0; !kind && i < said->n_sandboxes; i++) {
		*before = said->sandboxes[i]->created_at;
		kind = tell(said->sandboxes[i], server_clock_now_s(modal_control_clock(c)), sink,
			context, e);
	}
	return kind;
}

enum err sandbox_list(struct modal_control *c, const struct call *call, const char *app_id,
	sandbox_sink sink, void *context, struct error *e)
{
	double before = 0, earlier;
	unsigned pages = 0;
	enum err kind;

	do {
		earlier = before;
		kind = list_page(c, call, app_id, &before, sink, context, e);
		if (!kind && earlier > 0 && (before >= earlier || ++pages == PAGES_MAX))
			return error_set(e, ERR_PROTOCOL, "modal: a list of sandboxes without end");
	} while (!kind && before > 0);
	return kind;
}

/* ---- All apps ---- */

static bool may_have_sandboxes(const Modal__AppListItem *app)
{
	return app->app_id && app->state != APP_STOPPED && app->state != APP_DISABLED;
}

/* An app that ends meanwhile has no sandboxes any more. */
static enum err list_app(struct modal_control *c, const struct call *call, const char *app_id,
	sandbox_sink sink, void *context, struct error *e)
{
	struct error why = { 0 };
	enum err kind = sandbox_list(c, call, app_id, sink, context, &why);

	return kind && kind != ERR_NOT_FOUND ? error_set(e, kind, "%s", why.text) : ERR_OK;
}

enum err sandbox_list_all(struct modal_control *c, const struct call *call, const char *environment,
	sandbox_sink sink, void *context, struct error *e)
{
	Modal__AppListRequest request = MODAL__APP_LIST_REQUEST__INIT;
	AUTO_ANSWER ProtobufCMessage *answer = NULL;
	const Modal__AppListResponse *said;
	const struct control_ask ask = { .method = "AppList",
		.message = &request.base,
		.type = &modal__app_list_response__descriptor,
		.what = "listing sandboxes" };
	enum err kind;

	request.environment_name = (char *)environment;
	kind = modal_control_call(c, call, &ask, &answer, NULL, e);
	said = (const Modal__AppListResponse *)answer;
	for (size_t i = 0; !kind && i < said->n_apps; i++)
		if (may_have_sandboxes(said->apps[i]))
			kind = list_app(c, call, said->apps[i]->app_id, sink, context, e);
	return kind;
}
