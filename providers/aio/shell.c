/*
 * Running a program by /v1/shell, in an image without /v1/bash (before version 1.3.0 of the
 * interface).
 *
 * A shell session is a terminal: one output for both streams, a history that ends, and a longest
 * line that no document tells. So the program's text travels as a script by /v1/file/upload, and
 * each line of output is
 *
 *      NONCEo BASE64     a piece of the program's output; of its errors with "e"
 *      NONCEo=COUNT      the end of a stream, and how many characters its BASE64 had
 *      NONCExCODE        how the program ended
 *
 * which fits a terminal of 80 columns. Missing output is an error; output is never cut short.
 */
#include "providers/aio/aio.h"
#include "providers/aio/run.h"
#include "providers/aio/verdict.h"
#include "providers/base/base64.h"
#include "providers/base/cleanup.h"
#include "providers/base/hex.h"
#include "providers/json.h"
#include "providers/remote/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define NONCE_BYTES 4
#define NONCE_LEN   ((size_t)2 * NONCE_BYTES)
/* The random part of the script's name, which no other user of /tmp may guess. */
#define NAME_BYTES  8
#define SCRIPT_SIZE 512
/* The script removes itself, so that nothing stays in the sandbox. $P begins each line. */
#define SCRIPT_BEGIN                                                                               \
	"rm -f -- \"$0\"; P=%s\n"                                                                  \
	"lines() { base64 -w 68 | { n=0; while read -r l; do echo \"$P$1$l\"; n=$((n + ${#l})); "  \
	"done; echo \"$P$1=$n\"; }; }\n"                                                           \
	"{ { { "
#define SCRIPT_END " 3>&-; echo \"${P}x$?\" >&3; } | lines o >&3; } 2>&1 | lines e >&3; } 3>&1\n"
/* The bytes of a line before its base64, and of a whole line decoded. */
#define PIECE_MAX 256

struct shell_run {
	struct aio_run_request *asked;
	char nonce[NONCE_LEN + 1], script[SCRIPT_SIZE], session[SESSION_ID_SIZE];
	bool is_reused, is_running;
	/*
	 * by stream, output and errors: characters that came, and the count that the end line has;
	 * -1: no end line came
	 */
	long characters[2], said[2];
	int exit_code; /* -1: no line of the exit code came */
};

/* ---- The requests ---- */

static enum err upload_script(const struct shell_run *run, struct error *e)
{
	const struct aio_run_request *asked = run->asked;
	AUTO_BUF struct buf text = BUF_INIT(AIO_TEXT_MAX + 1024);

	buf_printf(&text, SCRIPT_BEGIN, run->nonce);
	buf_add(&text, asked->text.bytes, asked->text.len);
	buf_add_string(&text, SCRIPT_END);

	const struct remote_upload upload = { run->script, text.bytes, text.len };
	enum err kind = buf_check(&text, "a command", e);

	return kind ? kind : aio_upload(asked->a, asked->call, &upload, e);
}

static enum err put_exec(const struct shell_run *run, struct buf *body, struct error *e)
{
	AUTO_BUF struct buf command = BUF_INIT(8 * SCRIPT_SIZE);
	struct json_writer w = { .out = body };

	remote_text_add(&command, (const char *const[]){ "bash", run->script, NULL });
	json_put_open(&w, NULL);
	json_put_text(&w, "id", run->session);
	json_put_text(&w, "command", buf_text(&command));
	json_put_integer(&w, "timeout", aio_answer_ms(run->asked->call) / 1000 + 1);
	json_put_boolean(&w, "truncate", false);
	json_put_close(&w);
	return buf_check(body, "a command", e);
}

/* `seconds`: 0: does not wait. */
static enum err put_session(
	const struct shell_run *run, int64_t seconds, struct buf *body, struct error *e)
{
	struct json_writer w = { .out = body };

	json_put_open(&w, NULL);
	json_put_text(&w, "id", run->session);
	if (seconds)
		json_put_integer(&w, "seconds", seconds);
	json_put_close(&w);
	return buf_check(body, "a question", e);
}

/* ---- The answers ---- */

static enum err pass_piece(
	struct shell_run *run, enum stream stream, const char *text, size_t len, struct error *e)
{
	AUTO_BUF struct buf piece = BUF_INIT(PIECE_MAX);
	bool is_error = stream == STREAM_ERR;
	enum err kind;

	if (*text == '=') {
		run->said[is_error] = strtol(text + 1, NULL, 10);
		return ERR_OK;
	}
	run->characters[is_error] += (long)len;
	kind = base64_decode(&piece, text, len, e);
	return kind ? kind
		    : run->asked->sink(run->asked->sink_context, stream, piece.bytes, piece.len, e);
}

/* Takes a line of the terminal, without its end. */
static enum err take_line(struct shell_run *run, const char *line, size_t len, struct error *e)
{
	if (len < NONCE_LEN + 2 || strncmp(line, run->nonce, NONCE_LEN))
		return ERR_OK;
	line += NONCE_LEN + 1;
	len -= NONCE_LEN + 1;
	switch (line[-1]) {
	case 'o': return pass_piece(run, STREAM_OUT, line, len, e);
	case 'e': return pass_piece(run, STREAM_ERR, line, len, e);
	case 'x': run->exit_code = (int)strtol(line, NULL, 10); return ERR_OK;
	default: return ERR_OK;
	}
}

static enum err check_whole(const struct shell_run *run, struct error *e)
{
	bool is_whole = run->exit_code >= 0 && run->exit_code <= 255;

	for (int i = 0; i < 2; i++)
		is_whole = is_whole && run->said[i] == run->characters[i];
	return is_whole ? ERR_OK
			: error_set(e, ERR_PROTOCOL,
				  "aio:%s: running a program: its output came back from the "
				  "terminal of /v1/shell with pieces missing; an image with "
				  "/v1/bash has none of that (1.9 and later)",
				  run->asked->a->address.id);
}

static enum err take_output(struct shell_run *run, const char *text, struct error *e)
{
	enum err kind = ERR_OK;

	while (!kind && *text) {
		size_t len = strcspn(text, "\r\n");

		kind = take_line(run, text, len, e);
		text += len;
		text += *text != 0;
	}
	return kind ? kind : check_whole(run, e);
}

/*
 * `data`: the answer to an exec or a view, both of which have the output once the program has
 * ended.
 */
static enum err take_result(struct shell_run *run, struct json_object *data, struct error *e)
{
	const char *status = rest_text(data, "status", "");

	run->is_running = !strcmp(status, "running") || !strcmp(status, "no_change_timeout");
	if (run->is_running)
		return ERR_OK;
	if (strcmp(status, "completed"))
		return error_set(e, ERR_IO,
			"aio:%s: the service ended a program, or could not start it: '%.40s'",
			run->asked->a->address.id, status);
	return take_output(run, rest_text(data, "output", ""), e);
}

/* ---- A run ---- */

static enum err ask_result(struct shell_run *run, const struct rest_ask *ask, struct error *e)
{
	const struct rest *r = &run->asked->a->account.rest;
	AUTO_JSON struct json_object *answer = NULL;
	enum err kind = rest_perform_large(r, run->asked->call, ask, &answer, e);

	if (!kind)
		kind = aio_verdict(r, ask, 200, answer, NULL, e);
	return kind ? kind : take_result(run, rest_member(answer, "data"), e);
}

/* Waits some seconds for the program's end, and asks. */
static enum err look_again(struct shell_run *run, struct error *e)
{
	AUTO_BUF struct buf wait = BUF_INIT(1024), view = BUF_INIT(1024);
	int64_t seconds = aio_answer_ms(run->asked->call) / 1000;
	enum err kind = put_session(run, seconds ? seconds : 1, &wait, e);
	struct rest_ask ask = aio_run_ask(run->asked, "/v1/shell/wait", &wait);

	ask.flags = HTTP_REPEATABLE;
	if (!kind)
		kind = rest_perform(&run->asked->a->account.rest, run->asked->call, &ask, NULL, e);
	if (!kind)
		kind = put_session(run, 0, &view, e);
	ask = aio_run_ask(run->asked, "/v1/shell/view", &view);
	ask.flags = HTTP_REPEATABLE;
	return kind ? kind : ask_result(run, &ask, e);
}

static enum err exec(struct shell_run *run, struct error *e)
{
	AUTO_BUF struct buf body = BUF_INIT(1024);
	enum err kind = put_exec(run, &body, e);
	struct rest_ask ask = aio_run_ask(run->asked, "/v1/shell/exec", &body);

	if (!kind)
		kind = ask_result(run, &ask, e);
	while (!kind && run->is_running)
		kind = look_again(run, e);
	return kind;
}

static enum err run_once(struct shell_run *run, struct error *e)
{
	struct sessions *sessions = &run->asked->a->sessions;
	enum err kind = sessions_take(sessions, run->asked->call, run->session, e);

	if (kind)
		return kind;
	run->is_reused = *run->session;
	if (!run->is_reused)
		kind = sessions_make(sessions, run->asked->call, run->session, e);
	if (!kind)
		kind = exec(run, e);
	if (kind)
		sessions_drop(sessions, run->session);
	else
		sessions_put(sessions, run->session);
	return kind;
}

static enum err name_it(struct shell_run *run, const char *dir, struct error *e)
{
	unsigned char random[NONCE_BYTES + NAME_BYTES];
	char name[2 * NAME_BYTES + 1];

	if (getrandom(random, sizeof random, 0) != sizeof random)
		return error_errno(e, errno, "getrandom");
	hex_encode(run->nonce, random, NONCE_BYTES);
	hex_encode(name, random + NONCE_BYTES, NAME_BYTES);
	snprintf(run->script, sizeof run->script, "%s/.sandboxfs-%s", dir, name);
	return ERR_OK;
}

static enum err bring_to(struct shell_run *run, const char *dir, struct error *e)
{
	enum err kind = name_it(run, dir, e);

	return kind ? kind : upload_script(run, e);
}

/*
 * The script has the command and its environment, so it goes to staging, which only its owner can
 * read. Before the attach, and in a container that was made anew, there is no staging.
 */
static enum err bring_script(struct shell_run *run, struct error *e)
{
	const struct attachment *at = &run->asked->a->at;
	const char *staging = at->has_remote ? at->remote.staging : NULL;
	struct error why = { 0 };
	enum err kind = ERR_NOT_FOUND;

	if (staging && strlen(staging) < SCRIPT_SIZE / 2)
		kind = bring_to(run, staging, &why);
	if (kind == ERR_NOT_FOUND)
		return bring_to(run, "/tmp", e);
	return kind ? error_set(e, kind, "%s", why.text) : ERR_OK;
}

enum err aio_shell_run(struct aio_run_request *asked, int *exit_code, struct error *e)
{
	struct shell_run run = { .asked = asked, .said = { -1, -1 }, .exit_code = -1 };
	struct error why = { 0 };
	enum err kind = ERR_OK;

	if (asked->upload)
		kind = aio_upload(asked->a, asked->call, asked->upload, &why);
	if (!kind)
		kind = bring_script(&run, &why);
	if (!kind)
		kind = run_once(&run, &why);
	/* The service's refusals of a session: nothing was run. */
	while (run.is_reused && (kind == ERR_STALE || kind == ERR_BUSY))
		kind = run_once(&run, &why);
	*exit_code = run.exit_code;
	if (kind == ERR_STALE)
		return error_set(e, ERR_UNSUPPORTED,
			"aio:%s: its image has neither /v1/bash nor /v1/shell; start the "
			"container from a newer one (1.9 and later have both)",
			asked->a->address.id);
	return kind ? error_set(e, kind, "%s", why.text) : ERR_OK;
}
