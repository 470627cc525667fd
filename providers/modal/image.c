/* The image that a sandbox is made from. Modal builds a missing one, which may take any time. */
#include "providers/base/cleanup.h"
#include "providers/modal/sandbox_create.h"
#include "providers/modal/modal.pb-c.h"
#include "providers/modal/modal_answer.h"

#include <stdio.h>
#include <string.h>

#define STATUS_SUCCESS 1
/* Python and a GNU userland: the image that Modal's own guide begins with. */
#define DEFAULT_IMAGE "python:3.13-slim"
/* The longest time that the server holds an answer while it builds. */
#define BUILD_WAIT_S 55
/* As other calls of the control plane are repeated. */
#define REJOINS_MAX     3
#define REJOIN_PAUSE_MS 500

/* A template is an image that was built, or the name of one. */
static const char *image_name(const struct sandbox_create *m)
{
	if (m->cfg->image)
		return m->cfg->image;
	return m->cfg->template ? m->cfg->template : DEFAULT_IMAGE;
}

static enum err find_builder(struct sandbox_create *m, struct error *e)
{
	Modal__EnvironmentGetOrCreateRequest request =
		MODAL__ENVIRONMENT_GET_OR_CREATE_REQUEST__INIT;
	AUTO_ANSWER ProtobufCMessage *answer = NULL;
	const Modal__EnvironmentMetadata *said;
	enum err kind;

	if (*m->settings->builder_version)
		return sandbox_create_keep(
			&m->builder_version, m->settings->builder_version, "version", e);
	request.deployment_name = m->settings->environment;
	kind = sandbox_create_ask(m, "EnvironmentGetOrCreate", &request.base,
		&modal__environment_get_or_create_response__descriptor, &answer, e);
	if (kind)
		return kind;
	said = ((Modal__EnvironmentGetOrCreateResponse *)answer)->metadata;
	return sandbox_create_keep(&m->builder_version,
		said && said->settings ? said->settings->image_builder_version : NULL,
		"version of the image builder", e);
}

static enum err build_verdict(
	const struct sandbox_create *m, const Modal__GenericResult *result, struct error *e)
{
	if (result->status == STATUS_SUCCESS)
		return ERR_OK;
	return error_set(e, ERR_INVALID, "modal: the image %.100s cannot be built: %.200s",
		image_name(m),
		result->exception && *result->exception ? result->exception
							: "Modal does not say why");
}

struct build {
	struct sandbox_create *m;
	char *last_entry; /* owned; the id of the last entry that was received */
	bool is_over;
	unsigned failures; /* in a row */
};

static void tell(const struct build *b, const char *text)
{
	if (text)
		build_log_tell(b->m->cfg->build_log, text);
}

static enum err take_news(struct build *b, const unsigned char *bytes, size_t len, struct error *e)
{
	Modal__ImageJoinStreamingResponse *news =
		modal__image_join_streaming_response__unpack(NULL, len, bytes);
	enum err kind = ERR_OK;

	if (!news)
		return error_set(e, ERR_PROTOCOL, "modal: news of a build that make no sense");
	b->failures = 0;
	for (size_t i = 0; i < news->n_task_logs; i++)
		tell(b, news->task_logs[i]->data);
	if (news->entry_id && *news->entry_id) {
		free(b->last_entry);
		b->last_entry = strdup(news->entry_id);
	}
	b->is_over = news->result && news->result->status;
	if (b->is_over)
		kind = build_verdict(b->m, news->result, e);
	modal__image_join_streaming_response__free_unpacked(news, NULL);
	return kind;
}

/* Reads one stream of the build's entries; the stream may end before the build does. */
static enum err follow_build(
	struct build *b, struct grpc_stream *stream, struct grpc_outcome *out, struct error *e)
{
	const struct call patient = { .progress_ms = 2 * BUILD_WAIT_S * 1000,
		.cancel = b->m->call ? b->m->call->cancel : NULL };
	const unsigned char *bytes;
	size_t len;
	enum err kind = ERR_OK;

	while (!kind && !b->is_over) {
		kind = grpc_next(stream, &patient, &bytes, &len, out, e);
		if (kind || !bytes)
			break;
		kind = take_news(b, bytes, len, e);
	}
	return kind;
}

static enum err join_once(struct build *b, struct grpc_outcome *out, struct error *e)
{
	Modal__ImageJoinStreamingRequest request = MODAL__IMAGE_JOIN_STREAMING_REQUEST__INIT;
	const struct control_ask wanted = { .method = "ImageJoinStreaming",
		.message = &request.base,
		.wait_ms = BUILD_WAIT_S * 1000,
		.what = "building the image" };
	struct grpc_stream *stream;
	enum err kind;

	*out = (struct grpc_outcome){ .status = GRPC_LOCAL };
	request.image_id = b->m->image_id;
	request.has_timeout = 1;
	request.timeout = BUILD_WAIT_S;
	request.last_entry_id = b->last_entry;
	kind = modal_control_begin(b->m->c, b->m->call, &wanted, &stream, e);
	if (kind)
		return kind;
	kind = follow_build(b, stream, out, e);
	grpc_end(stream);
	return kind;
}

/* A stream that breaks is opened again behind its last entry. */
static enum err join_build(struct sandbox_create *m, struct error *e)
{
	struct build b = { .m = m };
	enum err kind = ERR_OK;

	while (!kind && !b.is_over) {
		struct grpc_outcome out;
		struct error why = { 0 };

		kind = join_once(&b, &out, &why);
		if (kind && !(grpc_is_passing(out.status) && b.failures++ < REJOINS_MAX))
			kind = error_set(e, kind, "%s", why.text);
		else if (!b.is_over)
			kind = grpc_pause(m->call, REJOIN_PAUSE_MS, e);
	}
	free(b.last_entry);
	return kind;
}

static enum err build_image(struct sandbox_create *m, const char *name, struct error *e)
{
	Modal__ImageGetOrCreateRequest request = MODAL__IMAGE_GET_OR_CREATE_REQUEST__INIT;
	Modal__Image image = MODAL__IMAGE__INIT;
	AUTO_ANSWER ProtobufCMessage *answer = NULL;
	const Modal__ImageGetOrCreateResponse *said;
	char command[300], *commands[] = { command };
	enum err kind;

	snprintf(command, sizeof command, "FROM %.280s", name);
	image.n_dockerfile_commands = 1;
	image.dockerfile_commands = commands;
	request.image = &image;
	request.app_id = m->app_id;
	request.builder_version = m->builder_version;
	kind = sandbox_create_ask(m, "ImageGetOrCreate", &request.base,
		&modal__image_get_or_create_response__descriptor, &answer, e);
	if (kind)
		return kind;
	said = (const Modal__ImageGetOrCreateResponse *)answer;
	kind = sandbox_create_keep(&m->image_id, said->image_id, "image", e);
	if (kind)
		return kind;
	return said->result && said->result->status ? build_verdict(m, said->result, e)
						    : join_build(m, e);
}

enum err sandbox_create_image(struct sandbox_create *m, struct error *e)
{
	const char *name = image_name(m);
	enum err kind;

	if (!strncmp(name, "im-", 3))
		return sandbox_create_keep(&m->image_id, name, "image", e);
	kind = find_builder(m, e);
	return kind ? kind : build_image(m, name, e);
}
