#include "providers/e2b/envd_process.h"

#include "providers/e2b/envd.pb-c.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* ---- Requests ---- */

static enum err check_argument(const char *text, struct error *e)
{
	size_t len = strlen(text);

	if (len > ENVD_ARGUMENT_MAX)
		return error_set(e, ERR_TOO_LARGE,
			"an argument has %zu bytes, and a program in the sandbox takes %d of each",
			len, ENVD_ARGUMENT_MAX);
	return envd_check_text(text, "an argument", e);
}

static enum err check_arguments(const char *const *argv, struct error *e)
{
	enum err kind = argv[0] ? ERR_OK : error_set(e, ERR_INVALID, "no command");

	for (; kind == ERR_OK && *argv; argv++)
		kind = check_argument(*argv, e);
	return kind;
}

static size_t count_of(const char *const *list)
{
	size_t count = 0;

	while (list && list[count])
		count++;
	return count;
}

static enum err pack_start(struct buf *out, const struct envd_command *command, struct error *e)
{
	Envd__ProcessConfig process = ENVD__PROCESS_CONFIG__INIT;
	Envd__StartRequest request = ENVD__START_REQUEST__INIT;

	process.cmd = (char *)command->argv[0];
	process.args = (char **)command->argv + 1;
	process.n_args = count_of(command->argv) - 1;
	process.cwd = (char *)command->cwd;
	request.process = &process;
	/*
	 * An absent field means true, and nothing would ever close the standard input. Daemons
	 * before 0.3.0 know no such field and leave the input open, but no program that is run here
	 * reads it.
	 */
	request.has_wants_input = true;
	request.wants_input = false;
	return envd_pack(out, &request.base, "the command", e);
}

enum err envd_start_request(struct buf *out, const struct envd_command *command, struct error *e)
{
	enum err kind = check_arguments(command->argv, e);

	if (kind == ERR_OK && command->cwd)
		kind = envd_check_text(command->cwd, "a working directory", e);
	return kind == ERR_OK ? pack_start(out, command, e) : kind;
}

/* ---- Answers ---- */

/* Go's words for Linux's signals (syscall.Signal.String); others are "signal 16". */
static const struct {
	const char *words;
	int number;
} signals[] = {
	{ "hangup", SIGHUP },
	{ "interrupt", SIGINT },
	{ "quit", SIGQUIT },
	{ "illegal instruction", SIGILL },
	{ "trace/breakpoint trap", SIGTRAP },
	{ "aborted", SIGABRT },
	{ "bus error", SIGBUS },
	{ "floating point exception", SIGFPE },
	{ "killed", SIGKILL },
	{ "user defined signal 1", SIGUSR1 },
	{ "segmentation fault", SIGSEGV },
	{ "user defined signal 2", SIGUSR2 },
	{ "broken pipe", SIGPIPE },
	{ "alarm clock", SIGALRM },
	{ "terminated", SIGTERM },
};

#define SIGNAL_SAID "signal: "
#define CORE_SAID   " (core dumped)"

static bool is_words(const char *text, const char *words)
{
	size_t len = strlen(words);

	return !strncmp(text, words, len) && (!text[len] || !strcmp(text + len, CORE_SAID));
}

int envd_signal_of(const char *status)
{
	const char *text;
	int number = 0;

	if (!status || strncmp(status, SIGNAL_SAID, strlen(SIGNAL_SAID)))
		return 0;
	text = status + strlen(SIGNAL_SAID);
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		if (is_words(text, signals[i].words))
			return signals[i].number;
	if (!strncmp(text, "signal ", 7))
		number = atoi(text + 7);
	return number > 0 && number < NSIG ? number : 0;
}

static void understand_end(struct envd_process_event *event, const Envd__EndEvent *end)
{
	int number = envd_signal_of(end->status);

	if (!number)
		number = envd_signal_of(end->error);
	event->kind = ENVD_ENDED;
	event->has_exit_code = number || end->exit_code >= 0;
	event->exit_code = number ? 128 + number : end->exit_code;
}

static void understand_data(struct envd_process_event *event, const Envd__DataEvent *data)
{
	const ProtobufCBinaryData *bytes;

	switch (data->output_case) {
	case ENVD__DATA_EVENT__OUTPUT_OUT:
		event->stream = STREAM_OUT;
		bytes = &data->out;
		break;
	case ENVD__DATA_EVENT__OUTPUT_ERR:
		event->stream = STREAM_ERR;
		bytes = &data->err;
		break;
	default: return; /* a terminal's output: no request asks for a terminal */
	}
	event->kind = ENVD_OUTPUT;
	event->bytes = bytes->data;
	event->len = bytes->len;
}

static void understand(struct envd_process_event *event, const Envd__ProcessEvent *said)
{
	switch (said->event_case) {
	case ENVD__PROCESS_EVENT__EVENT_START:
		event->kind = ENVD_STARTED;
		event->pid = said->start->pid;
		break;
	case ENVD__PROCESS_EVENT__EVENT_DATA: understand_data(event, said->data); break;
	case ENVD__PROCESS_EVENT__EVENT_END: understand_end(event, said->end); break;
	default: break;
	}
}

enum err envd_process_decode(
	const void *message, size_t len, envd_process_sink sink, void *context, struct error *e)
{
	Envd__StartResponse *response = envd__start_response__unpack(NULL, len, message);
	struct envd_process_event event = { 0 };
	enum err kind;

	if (!response)
		return error_set(e, ERR_PROTOCOL, "E2B: a command's event makes no sense");
	if (response->event)
		understand(&event, response->event);
	kind = sink(context, &event, e);
	envd__start_response__free_unpacked(response, NULL);
	return kind;
}
