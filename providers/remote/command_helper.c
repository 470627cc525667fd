/* A command that the helper program records; this side follows the record request by request. */
#include "providers/asking.h"
#include "providers/base/cleanup.h"
#include "providers/remote/command_inside.h"

#include <string.h>

/* The longest duration of a request: proxies on the way may give up longer ones. */
#define WAIT_MAX_MS 20000
/*
 * Where output comes only with the end of a request, requests must end soon, and with answers of a
 * size that any transport takes.
 */
#define MORE_MS         1000
#define PROMPT_MS       100
#define ANSWER_MAX      ((uint32_t)4 * 1024 * 1024)
#define LIVE_ANSWER_MAX ((uint32_t)1024 * 1024 * 1024)
struct following {
	struct remote_run *run;
	struct command_request request;
	const char **forget;
	char records[REMOTE_NAMES_MAX][REMOTE_NAME_SIZE]; /* the strings of `forget` */
	struct command_piece last;                        /* the last piece that came */
	/* for sending the request again, from where the answer ended */
	struct asking asking;
	int64_t pause_ms; /* before the next request, where output is wanted promptly */
};

static size_t count_words(const char *const *words)
{
	size_t count = 0;

	while (words && words[count])
		count++;
	return count;
}

/* Well within the deadline on progress, which a silent command must not miss. */
static uint32_t wait_ms(const struct call *call)
{
	int64_t limit_ms = call_progress_ms(call);

	return limit_ms < 0 || limit_ms / 2 > WAIT_MAX_MS ? WAIT_MAX_MS : (uint32_t)(limit_ms / 2);
}

/*
 * A helper that is kept gets the records to remove with this request. A helper that is started for
 * each request gets them with any request (runner.c).
 */
static size_t take_records(struct following *f)
{
	const struct remote *r = f->run->r;
	size_t count =
		r->ops.keep ? remote_names_take(r->leftovers, f->records, REMOTE_NAMES_MAX) : 0;

	for (size_t i = 0; i < count; i++)
		f->forget[i] = f->records[i] + strlen(REMOTE_RECORD);
	return count;
}

static void put_records_back(struct following *f)
{
	for (size_t i = 0; i < f->request.forget_count; i++)
		remote_names_add(f->run->r->leftovers, f->records[i]);
}

static void make_request(struct following *f, const struct call *call)
{
	const struct remote_run *run = f->run;
	const struct execute_request *asked = run->request;
	bool is_live = run->r->ops.is_live;

	f->request = (struct command_request){ .marker = run->marker,
		.text = asked->command,
		.cwd = run->cwd,
		.env = asked->env,
		.env_count = count_words(asked->env),
		.input = asked->input,
		.input_len = asked->input ? asked->input_len : 0,
		.timeout_ms = asked->timeout_ms > 0 ? (uint64_t)asked->timeout_ms : 0,
		.wait_ms = wait_ms(call),
		.more_ms = is_live ? WAIT_MAX_MS : MORE_MS,
		.answer_max = is_live ? LIVE_ANSWER_MAX : ANSWER_MAX,
		.forget = f->forget,
		.forget_count = take_records(f) };
}

/* The command was started, or never will be: later requests ask only for its result. */
static void follow_from(struct following *f, uint64_t next)
{
	f->asking.failures = 0;
	f->request.from = next;
	f->request.text = NULL;
	f->request.input_len = f->request.env_count = f->request.forget_count = 0;
}

static enum err take_piece(void *context, const struct command_piece *piece, struct error *e)
{
	struct following *f = context;

	f->last = *piece;
	if (piece->kind == COMMAND_REFUSED)
		return ERR_OK;
	f->run->has_started = true;
	follow_from(f, piece->next);
	switch (piece->kind) {
	case COMMAND_OUT: return remote_run_output(f->run, STREAM_OUT, piece->bytes, piece->len, e);
	case COMMAND_ERR: return remote_run_output(f->run, STREAM_ERR, piece->bytes, piece->len, e);
	default: return ERR_OK;
	}
}

/* After a last piece the end of the answer does not matter. */
static bool is_over(const struct following *f)
{
	return f->last.kind >= COMMAND_ENDED;
}

/*
 * Output after a silence is passed on at once; while output goes on, one request a second is
 * enough. The first request brings the beginning, which is long.
 */
static enum err keep_pace(
	struct following *f, int64_t began_ms, const struct call *call, struct error *e)
{
	int64_t pause_ms = f->pause_ms;

	f->request.more_ms = PROMPT_MS;
	f->pause_ms = 2 * pause_ms + PROMPT_MS < MORE_MS ? 2 * pause_ms + PROMPT_MS : MORE_MS;
	if (monotonic_ms() - began_ms >= MORE_MS)
		f->pause_ms = pause_ms = 0;
	return call_sleep(call, pause_ms, e);
}

static enum err follow(struct following *f, const struct call *call, struct error *e)
{
	struct helper_client *helper = f->run->r->helper;
	struct error why;
	enum err kind;

	f->run->result->may_have_run = true;
	f->asking.call = call;
	do {
		int64_t began_ms = monotonic_ms();

		why = (struct error){ 0 };
		f->last.kind = COMMAND_RUNNING;
		kind = helper_client_command(helper, call, &f->request, take_piece, f, &why);
		if (kind == ERR_OK && f->run->is_prompt && !is_over(f))
			kind = keep_pace(f, began_ms, call, &why);
		f->asking.is_answered = f->run->has_refused;
	} while (!is_over(f) && (kind == ERR_OK || asking_goes_on(&f->asking, &kind)));
	return is_over(f) ? ERR_OK : error_set(e, kind, "%s", why.text);
}

/*
 * The request that was given up had output that comes only with its end, or that was still on its
 * way.
 */
static void look_once_more(struct following *f)
{
	const struct call brief = { .progress_ms = REMOTE_LAST_LOOK_MS, .is_background = true };

	follow_from(f, f->request.from);
	f->request.wait_ms = 0;
	helper_client_command(f->run->r->helper, &brief, &f->request, take_piece, f, NULL);
}

static enum err check_end(const struct following *f, struct error *e)
{
	struct execute_result *result = f->run->result;
	const struct command_piece *last = &f->last;

	remote_command_forget(f->run->r, f->run->marker);
	if (last->kind == COMMAND_LOST)
		return error_set(e, ERR_IO,
			"what became of the command is not known: who recorded it in the sandbox "
			"was killed, or its disk is full");
	if (last->kind == COMMAND_REFUSED) {
		result->may_have_run = false;
		return error_set(e, last->err, "%s", last->why);
	}
	result->has_exit_code = true;
	result->exit_code = (int)last->exit_code;
	result->timed_out = last->timed_out;
	result->root = last->root;
	return ERR_OK;
}

enum err remote_run_helper(struct remote_run *run, const struct call *call, struct error *e)
{
	const char *forget[REMOTE_NAMES_MAX];
	struct following f = { .run = run, .forget = forget };
	enum err kind;

	make_request(&f, call);
	kind = follow(&f, call, e);
	if (kind == ERR_INTERRUPTED && !run->has_refused && !run->is_prompt)
		look_once_more(&f);
	put_records_back(&f);
	return kind == ERR_OK ? check_end(&f, e) : kind;
}
