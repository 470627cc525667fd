#include "providers/command/engine.h"

#include "providers/base/cleanup.h"
#include "providers/command/engine_stream.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

/* How long a program that has closed its outputs may take to end, until it is asked for again. */
#define ENDING_MS 20
/* More than the description of a container to be made: labels and variables have bounds. */
#define BODY_MAX ((size_t)4 * 1024)

struct engine {
	struct http *http;
	char *path;
};

/* ---- Opening ---- */

/* 0: a daemon accepts connections there; otherwise errno. */
static int probe(const char *path)
{
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un to = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof to.sun_path)
		return ENAMETOOLONG;
	strcpy(to.sun_path, path);
	/* EAGAIN: it has many callers. */
	return fd < 0 || !connect(fd, (struct sockaddr *)&to, sizeof to) || errno == EAGAIN ? 0
											    : errno;
}

enum err engine_open(struct command *c, char *path, struct error *e)
{
	AUTO_FREE char *socket = path;
	int failure = path ? probe(path) : ENOENT;
	enum err kind;

	if (failure == EACCES)
		c->denied = take(socket);
	if (failure)
		return ERR_OK;
	c->engine = calloc(1, sizeof *c->engine);
	if (!c->engine)
		return error_set(e, ERR_NO_MEMORY, "a daemon");
	c->engine->path = take(socket);
	kind = http_new(&c->engine->http, "sandboxfs/" SANDBOXFS_VERSION, e);
	return kind ? kind : http_use_socket(c->engine->http, c->engine->path, e);
}

void engine_close(struct engine *engine)
{
	if (!engine)
		return;
	http_free(engine->http);
	free(engine->path);
	free(engine);
}

/* ---- Requests ---- */

static enum err perform(struct command *c, const struct call *call,
	const struct http_request *request, struct http_answer *answer, struct error *e)
{
	/* A daemon that has ended is not waited for. */
	int failure = probe(c->engine->path);
	struct error why = { 0 };
	struct error at = { 0 };
	enum err kind = failure ? error_errno(&why, failure, "connecting")
				: http_perform(c->engine->http, call, request, answer, &why);

	if (failure)
		kind = ERR_UNREACHABLE;
	if (!kind)
		return ERR_OK;
	error_set(&at, kind, "the daemon at %s: %s", c->engine->path, why.text);
	return command_verdict_of(c, "", &at, e);
}

/*
 * The words alone say what is not there: a container that is gone ends a mount, and a program that
 * the daemon forgot does not.
 */
static enum err check_answer(
	struct command *c, int status, struct json_object *json, bool wants, struct error *e)
{
	struct error why = { 0 };

	if (status >= 400)
		error_set(&why, ERR_UNREACHABLE, "the daemon at %s answers with status %d",
			c->engine->path, status);
	else if (wants && !json)
		error_set(&why, ERR_PROTOCOL, "the daemon at %s answers without JSON",
			c->engine->path);
	else
		return ERR_OK;
	return command_verdict_of(c, rest_text(json, "message", ""), &why, e);
}

static enum err engine_send(struct command *c, const struct call *call, enum http_method method,
	const char *path, const char *body, struct http_answer *answer, struct error *e)
{
	const struct http_header type = { .name = "Content-Type", .value = "application/json" };
	AUTO_FREE char *url = NULL;

	if (asprintf(&url, "http://localhost%s", path) < 0) {
		url = NULL;
		return error_set(e, ERR_NO_MEMORY, "a request");
	}
	const struct http_request request = { .method = method,
		/* A failure of the daemon is as final as the program's. */
		.flags = method == HTTP_GET ? HTTP_REPEATABLE | HTTP_INTERNAL_ERROR_IS_FINAL : 0,
		.url = url,
		.headers = &type,
		.headers_count = body ? 1 : 0,
		.body = body,
		.body_len = body ? strlen(body) : 0 };

	return perform(c, call, &request, answer, e);
}

enum err engine_ask(struct command *c, const struct call *call, enum http_method method,
	const char *path, const char *body, struct json_object **out, struct error *e)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	AUTO_JSON struct json_object *json = NULL;
	enum err kind = engine_send(c, call, method, path, body, &answer, e);

	if (kind)
		return kind;
	rest_parse(&answer.body, &json);
	kind = check_answer(c, answer.status, json, out, e);
	if (!kind && out)
		*out = take(json);
	return kind;
}

/* The bytes of all frames. The output of a terminal has none, and no byte of text begins one. */
static enum err unframe(const struct buf *body, struct buf *out, struct error *e)
{
	struct engine_frames frames = { 0 };
	const unsigned char *bytes = body->bytes;
	size_t len = body->len;
	struct engine_piece piece;
	enum err kind = ERR_OK;

	if (len && *bytes >= ' ')
		buf_add(out, bytes, len);
	while (len && *(const unsigned char *)body->bytes < ' ' && !kind) {
		kind = engine_frames_next(&frames, &bytes, &len, &piece, e);
		if (!kind && piece.len)
			buf_add(out, piece.bytes, piece.len);
	}
	return kind ? kind : buf_check(out, "an answer", e);
}

enum err engine_read(struct command *c, const struct call *call, const char *path, struct buf *out,
	struct error *e)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	AUTO_JSON struct json_object *json = NULL;
	enum err kind = engine_send(c, call, HTTP_GET, path, NULL, &answer, e);

	if (kind)
		return kind;
	if (answer.status >= 400)
		rest_parse(&answer.body, &json);
	kind = check_answer(c, answer.status, json, false, e);
	return kind ? kind : unframe(&answer.body, out, e);
}

/* ---- Programs ---- */

/* The daemon notes a program's end after it has closed the stream. */
static enum err exit_of(struct session *s, const struct call *call, int *exit_code, struct error *e)
{
	char path[128];
	enum err kind = ERR_OK;

	snprintf(path, sizeof path, "/exec/%s/json", s->exit_id);
	while (!kind) {
		AUTO_JSON struct json_object *json = NULL;

		kind = engine_ask(s->exit_context, call, HTTP_GET, path, NULL, &json, e);
		*exit_code = (int)rest_integer(json, "ExitCode", 0);
		if (kind || !rest_flag(json, "Running", false))
			return kind;
		kind = call_check_time(call, e);
		if (!kind)
			kind = call_sleep(call, ENDING_MS, e);
	}
	return kind;
}

static void put_exec(struct buf *body, const char *user)
{
	struct json_writer w = { .out = body };

	json_put_open(&w, NULL);
	json_put_boolean(&w, "AttachStdin", true);
	json_put_boolean(&w, "AttachStdout", true);
	json_put_boolean(&w, "AttachStderr", true);
	if (user)
		json_put_text(&w, "User", user);
	json_put_open_list(&w, "Cmd");
	json_put_text(&w, NULL, "/bin/sh");
	json_put_close_list(&w);
	json_put_close(&w);
}

static enum err create(struct command *c, const struct call *call, char id[80], struct error *e)
{
	AUTO_BUF struct buf path = BUF_INIT(BODY_MAX);
	AUTO_BUF struct buf body = BUF_INIT(BODY_MAX);
	AUTO_JSON struct json_object *json = NULL;
	const char *found;
	enum err kind;

	buf_add_string(&path, "/containers/");
	http_escape(&path, c->at.id, NULL);
	buf_add_string(&path, "/exec");
	put_exec(&body, c->at.user);
	kind = buf_check(&body, "a request", e);
	if (!kind)
		kind = engine_ask(c, call, HTTP_POST, buf_text(&path), buf_text(&body), &json, e);
	if (kind)
		return kind;
	found = rest_text(json, "Id", "");
	if (!*found || found[strspn(found, "0123456789abcdef")] || strlen(found) >= 80)
		return error_set(e, ERR_PROTOCOL, "%s: the daemon tells no ID of a program",
			c->at.base.ops->name);
	strcpy(id, found);
	return ERR_OK;
}

/* Connects the session with the program's stream. */
static enum err join(struct command *c, struct session *s, unsigned flags, const struct call *call,
	struct error *e)
{
	AUTO_BUF struct buf received = BUF_INIT(HTTP_WINDOW);
	AUTO_CLOSE int in = -1;
	AUTO_CLOSE int err = -1;
	AUTO_CLOSE int daemon = -1;
	char path[128];
	enum err kind = session_pair(s, flags, &in, &err, e);

	snprintf(path, sizeof path, "/exec/%s/start", s->exit_id);
	if (!kind && fcntl(in, F_SETFL, O_NONBLOCK))
		kind = error_errno(e, errno, "a socket for a program");
	if (!kind)
		kind = http_upgrade(c->engine->http, call, path, "{\"Detach\":false,\"Tty\":false}",
			&daemon, &received, e);
	return kind
		? kind
		: engine_stream_start(take_fd(&daemon), take_fd(&in), take_fd(&err), &received, e);
}

enum err engine_exec(struct command *c, struct session *s, unsigned flags, const struct call *call,
	struct error *e)
{
	struct error why = { 0 };
	enum err kind = create(c, call, s->exit_id, e);

	if (kind)
		return kind;
	s->exit_of = exit_of;
	s->exit_context = c;
	kind = join(c, s, flags, call, &why);
	return kind ? command_verdict_of(c, "", &why, e) : ERR_OK;
}
