#include "fs/control/exec_command.h"

#include "cache/cache.h"
#include "providers/base/cleanup.h"
#include "providers/base/log.h"
#include "providers/user_session.h"
#include "providers/user_shell.h"

#include <pthread.h>
#include <string.h>

/* A command with the session's text before it. */
#define WHOLE_MAX (EXEC_TEXT_MAX + USER_SESSION_TEXT_MAX)

struct exec_command {
	struct buf text;
	struct audit_who who; /* the process that asked for the command */
	int64_t start_ms;
	pthread_mutex_t lock; /* guards the fields below */
	struct exec_capture out, err;
	bool responded;
};

struct exec_command *exec_command_new(struct buf *text, const struct audit_who *who)
{
	struct exec_command *command = calloc(1, sizeof *command);

	if (!command)
		return NULL;
	*command = (struct exec_command){
		.text = *text,
		.who = *who,
		.start_ms = monotonic_ms(),
		.out = EXEC_CAPTURE_INIT(EXEC_CAPTURE_MAX),
		.err = EXEC_CAPTURE_INIT(EXEC_CAPTURE_MAX),
	};
	pthread_mutex_init(&command->lock, NULL);
	*text = (struct buf)BUF_INIT(text->max);
	return command;
}

void exec_command_free(struct exec_command *command)
{
	if (!command)
		return;
	buf_release(&command->text);
	exec_capture_release(&command->out);
	exec_capture_release(&command->err);
	pthread_mutex_destroy(&command->lock);
	free(command);
}

/* The one response of a command; NULL for the second thread that asks. */
static struct exec_response *respond(struct exec_command *command, struct exec_outcome outcome)
{
	struct exec_response *response = NULL;

	outcome.duration_ms = monotonic_ms() - command->start_ms;
	pthread_mutex_lock(&command->lock);
	if (!command->responded) {
		exec_capture_end(&command->out);
		exec_capture_end(&command->err);
		response = exec_response_new(&outcome, &command->out, &command->err);
		exec_capture_release(&command->out);
		exec_capture_release(&command->err);
		command->responded = true;
	}
	pthread_mutex_unlock(&command->lock);
	return response;
}

static enum err keep_output(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	struct exec_command *command = context;
	bool responded;

	pthread_mutex_lock(&command->lock);
	responded = command->responded;
	if (!responded)
		exec_capture_add(stream == STREAM_ERR ? &command->err : &command->out, bytes, len);
	pthread_mutex_unlock(&command->lock);
	return responded ? error_set(e, ERR_INTERRUPTED, "interrupted") : ERR_OK;
}

static bool is_blank(const struct buf *text)
{
	return strspn(buf_text(text), " \t\n\v\f\r") == text->len;
}

/* Why a text is no command. */
static enum err check_text(const struct buf *text, struct error *e)
{
	if (text->failed)
		return error_set(
			e, ERR_TOO_LARGE, "the command has more than %zu bytes", text->max);
	if (text->len && memchr(text->bytes, 0, text->len))
		return error_set(e, ERR_INVALID, "the command contains a NUL byte");
	return ERR_OK;
}

static enum err execute(struct exec_command *command, struct cache *cache,
	const struct exec_terms *terms, const struct cancel *cancel, struct exec_outcome *outcome,
	struct error *e)
{
	/* A command may be silent without limit: only its own time limit counts. */
	const struct call call = { .progress_ms = -1, .cancel = cancel };
	AUTO_BUF struct buf whole = BUF_INIT(WHOLE_MAX), text = BUF_INIT(USER_SHELL_MAX(WHOLE_MAX));
	struct execute_request request = { .timeout_ms = terms->timeout_ms };
	struct execute_result result = { 0 };
	enum err kind;

	if (terms->session)
		user_session_begin(&whole, terms->session, NULL);
	buf_add_string(&whole, buf_text(&command->text));
	user_shell_add(&text, terms->shell, cache_provider(cache)->caps, false, buf_text(&whole));
	request.command = buf_text(&text);
	kind = buf_check(whole.failed ? &whole : &text, "the command", e);
	if (!kind)
		kind = cache_execute(cache, &call, &request, keep_output, command, &result, e);
	outcome->has_exit_code = kind == ERR_OK && result.has_exit_code;
	outcome->exit_code = result.exit_code;
	outcome->timed_out = result.timed_out;
	if (kind == ERR_OK && !result.has_exit_code)
		outcome->error = "it ran, but its exit code could not be determined";
	return kind;
}

static enum err run(struct exec_command *command, struct cache *cache,
	const struct exec_terms *terms, const struct cancel *cancel, struct exec_outcome *outcome,
	struct error *e)
{
	enum err kind = check_text(&command->text, e);

	if (kind != ERR_OK)
		return kind;
	if (is_blank(&command->text)) {
		*outcome = (struct exec_outcome){
			.has_exit_code = true, .exit_code = 1, .error = "empty command"
		};
		return ERR_OK;
	}
	/* The command may have been given up before its turn came. */
	if (cancel_thrown(cancel))
		return error_set(e, ERR_INTERRUPTED, "interrupted");
	return execute(command, cache, terms, cancel, outcome, e);
}

enum err exec_command_run(struct exec_command *command, struct cache *cache,
	const struct exec_terms *terms, const struct cancel *cancel,
	struct exec_response **response, struct error *e)
{
	struct exec_outcome outcome = { 0 };
	struct error why = { 0 };
	enum err kind;

	command->start_ms = monotonic_ms();
	kind = run(command, cache, terms, cancel, &outcome, &why);
	if (kind != ERR_OK)
		outcome.error = kind == ERR_INTERRUPTED ? "interrupted" : why.text;
	*response = respond(command, outcome);
	audit_command(terms->audit, &command->who, buf_text(&command->text),
		&(struct audit_end){ .has_exit_code = outcome.has_exit_code,
			.exit_code = outcome.exit_code,
			.timed_out = outcome.timed_out,
			.error = outcome.error,
			.duration_ms = monotonic_ms() - command->start_ms });
	log_debug(LOG_CONTROL, "exec: %s", outcome.error ? outcome.error : "done");
	return kind == ERR_OK ? ERR_OK : error_set(e, kind, "%s", why.text);
}

struct exec_response *exec_command_give_up(struct exec_command *command, const char *why)
{
	return respond(command, (struct exec_outcome){ .error = why });
}
