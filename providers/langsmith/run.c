/* Programs: POST /execute takes shell text, and answers with text when the program has ended. */
#include "providers/base/cleanup.h"
#include "providers/json.h"
#include "providers/langsmith/files.h"
#include "providers/langsmith/langsmith.h"
#include "providers/remote/text.h"

#include <string.h>

/*
 * The longest shell text. A shell gets the text as one argument, of which Linux takes 131071 bytes.
 * JSON adds escapes, but the text needs few.
 */
#define TEXT_MAX ((size_t)131071)
#define BODY_MAX ((size_t)512 * 1024)
/*
 * The service's time limit for a program, which answers before the router gives up the request,
 * after about 310 s (langsmith-sdk issue 3266).
 */
#define TIMEOUT_S 300
/* 128 + SIGKILL. No other signal ends programs; its cause is a limit of time or memory. */
#define KILLED 137

struct running {
	const char *user;
	const char *const *argv;
	unsigned flags; /* enum run_flags */
	const struct remote_upload *upload;
	struct json_object *answer; /* owned */
};

/* Any shell would do; every image has /bin/sh. */
static void put_body(struct json_writer *w, const char *text, const char *user)
{
	json_put_open(w, NULL);
	json_put_text(w, "command", text);
	json_put_integer(w, "timeout", TIMEOUT_S);
	json_put_text(w, "shell", "/bin/sh");
	if (user) {
		json_put_open(w, "run_config");
		json_put_text(w, "user", user);
		json_put_close(w);
	}
	json_put_close(w);
}

static enum err make_body(
	struct buf *out, const struct langsmith *l, const struct running *r, struct error *e)
{
	AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);

	if (!remote_text_add(&text, r->argv))
		return error_set(e, ERR_TOO_LARGE, "langsmith:%s: a command of more than %zu bytes",
			l->at.id, TEXT_MAX);
	put_body(&(struct json_writer){ .out = out }, buf_text(&text), r->user);
	return buf_check(out, "a command", e);
}

static enum err ask_with_upload(struct langsmith *l, const struct call *call,
	const struct rest_ask *ask, struct running *r, struct error *e)
{
	const struct rest_ask upload = file_upload_ask(l->at.id, r->upload);
	bool has_arrived;

	return rest_perform_both(&l->data, call, ask, &r->answer, &has_arrived, &upload, e);
}

static enum err step(struct langsmith *l, const struct call *call, void *context, struct error *e)
{
	struct running *r = context;
	AUTO_BUF struct buf body = BUF_INIT(BODY_MAX);
	struct rest_ask ask = { .method = HTTP_POST,
		.flags = HTTP_INTERNAL_ERROR_IS_FINAL,
		.path = "/execute",
		.what = "running a program",
		.id = l->at.id };
	enum err kind = make_body(&body, l, r, e);

	if (kind)
		return kind;
	ask.body = buf_text(&body);
	/*
	 * A stop cuts a request off, and a repetition would start the sandbox, which a background
	 * call must not.
	 */
	if (r->flags & RUN_REPEATABLE && !(call && call->is_background))
		ask.flags |= HTTP_REPEATABLE;
	return r->upload ? ask_with_upload(l, call, &ask, r, e)
			 : rest_perform_large(&l->data, call, &ask, &r->answer, e);
}

static enum err pass_on(struct json_object *answer, const char *name, enum stream stream,
	execute_sink sink, void *context, struct error *e)
{
	const char *text = rest_text(answer, name, "");

	return *text ? sink(context, stream, text, strlen(text), e) : ERR_OK;
}

static enum err run_as(struct langsmith *l, const struct call *call, const char *user,
	const char *const *argv, unsigned flags, const struct remote_upload *upload,
	execute_sink sink, void *sink_context, int *exit_code, struct error *e)
{
	struct running r = { .user = user, .argv = argv, .flags = flags, .upload = upload };
	enum err kind = langsmith_reach(l, call, step, &r, e);
	AUTO_JSON struct json_object *answer = r.answer;
	int64_t code = rest_integer(answer, "exit_code", INT64_MIN);

	if (!kind && code == INT64_MIN)
		kind = error_set(e, ERR_PROTOCOL,
			"langsmith:%s: the service does not say how a program ended", l->at.id);
	if (!kind)
		kind = pass_on(answer, "stderr", STREAM_ERR, sink, sink_context, e);
	if (!kind)
		kind = pass_on(answer, "stdout", STREAM_OUT, sink, sink_context, e);
	*exit_code = code < 0 ? KILLED : (int)code;
	return kind;
}

enum err langsmith_run(void *context, const struct call *call, const char *const *argv,
	unsigned flags, const struct remote_upload *upload, execute_sink sink, void *sink_context,
	int *exit_code, struct error *e)
{
	struct langsmith *l = context;

	return run_as(l, call, l->at.user, argv, flags, upload, sink, sink_context, exit_code, e);
}

static enum err ignore(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	(void)context, (void)stream, (void)bytes, (void)len, (void)e;
	return ERR_OK;
}

enum err langsmith_do(struct langsmith *l, const struct call *call, const char *const *argv,
	int *exit_code, struct error *e)
{
	return run_as(l, call, NULL, argv, RUN_REPEATABLE, NULL, ignore, NULL, exit_code, e);
}
