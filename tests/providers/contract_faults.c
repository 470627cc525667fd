/* The contract of every vendor while its server, or a gateway before the server, is in trouble. */
#include "providers/base/cleanup.h"
#include "tests/providers/contract.h"
#include "tests/support/changes.h"

#include <stdio.h>

/* The requests that start a command, or hand one to the helper. */
#define STARTS "[Ee]xec(ute)?$|ExecStart$|Process.Start$|Input$|StdinWrite$"

BEHAVIOUR_OF_VENDORS(faults, a_command_whose_answer_a_gateway_loses_runs_once)
{
	static const char *const actions[] = { "{\"type\":\"lose_answer\",\"status\":500}",
		"{\"type\":\"lose_answer\",\"status\":502}",
		"{\"type\":\"lose_answer\",\"status\":503}",
		"{\"type\":\"lose_answer\",\"status\":504}" };

	contract_use_own_server(s);
	for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
		struct execute_request request = { .command = "echo ran >>log" };
		AUTO_FREE char *log = NULL;

		outside_write_text(s, "log", "");
		contract_fault(STARTS, actions[i], 1);
		AUTO_RAN struct ran r = run_request(s, NULL, &request);

		cr_expect(eq(int, contract_mend(), 1), "%s: no answer was lost", actions[i]);
		log = outside_read(s, "log", NULL);
		cr_expect(eq(str, log, "ran\n"), "%s: %s", actions[i], r.why.text);
		cr_expect(r.result.may_have_run, "%s", actions[i]);
	}
}

/*
 * Each byte of the beginning of an answer, and then one in STRIDE, at other places of each frame.
 */
#define EVERY_BYTE 16
#define STRIDE     23
#define ANSWER_MAX 65536

static void expect_its_end(struct subject *s, size_t at, const struct ran *r)
{
	AUTO_FREE char *log = outside_read(s, "log", NULL);

	cr_expect(eq(int, r->err, ERR_OK), "after %zu bytes: %s", at, r->why.text);
	cr_expect(eq(int, r->result.exit_code, 3), "after %zu bytes", at);
	cr_expect(
		eq(str, (char *)buf_text(&((struct ran *)r)->out), "out\n"), "after %zu bytes", at);
	cr_expect(eq(str, (char *)buf_text(&r->err_out), "err\n"), "after %zu bytes", at);
	cr_expect(eq(str, log, "ran\n"), "after %zu bytes", at);
}

/*
 * Cuts answers to requests of this `kind`, at one place after another. `connects`: each of these
 * requests is on a new connection.
 */
static void cut_everywhere(struct subject *s, const char *kind, bool connects)
{
	struct execute_request request = {
		.command = "echo ran >>log; echo out; echo err >&2; exit 3"
	};
	bool is_cut = true;
	char id[sizeof s->id];

	snprintf(id, sizeof id, "%s", s->id);
	for (size_t at = 0; is_cut && at < ANSWER_MAX; at += at < EVERY_BYTE ? 1 : STRIDE) {
		char action[64];

		snprintf(action, sizeof action, "{\"type\":\"cut_after\",\"bytes\":%zu}", at);
		outside_write_text(s, "log", "");
		contract_fault(kind, action, 1);
		if (connects) {
			provider_release(take(s->p));
			contract_connect(s, id);
		}
		AUTO_RAN struct ran r = run_request(s, NULL, &request);

		is_cut = contract_mend() == 1;
		expect_its_end(s, at, &r);
	}
}

/*
 * On Modal one answer, which began with the connection, reports the ends of commands, one after the
 * other.
 */
BEHAVIOUR_OF_VENDORS(faults, a_command_whose_answer_is_cut_anywhere_runs_once_and_tells_its_end)
{
	contract_use_own_server(s);
	cut_everywhere(s, STARTS, false);
	if (!strcmp(s->name, "modal"))
		cut_everywhere(s, "StdioRead$", true);
}

/* The requests that carry contents. */
#define CARRIES "POST .*(files|upload|write)|PUT|[Ee]xec(ute)?$|Input$|StdinWrite$"
#define LARGE   ((size_t)VERB_DATA_MAX)

static unsigned char *pattern(void)
{
	unsigned char *bytes = malloc(LARGE);

	for (size_t i = 0; i < LARGE; i++)
		bytes[i] = (unsigned char)(i * 2654435761U >> 13);
	return bytes;
}

static bool has_pattern(const struct subject *s, const char *path)
{
	AUTO_FREE unsigned char *want = pattern();
	size_t len;
	AUTO_FREE char *there = outside_read(s, path, &len);

	return len == LARGE && !memcmp(there, want, len);
}

static enum err write_pattern(
	struct subject *s, const struct call *call, struct change_result *result, struct error *e)
{
	AUTO_FREE unsigned char *bytes = pattern();
	const struct change change = CHANGE(WRITE, "file", .data = bytes, .data_len = LARGE);
	const struct apply_request request = { .changes = &change, .changes_count = 1 };

	return provider_apply(s->p, call, &request, result, e);
}

BEHAVIOUR_OF_VENDORS(faults, a_write_that_arrives_one_byte_short_is_not_done)
{
	struct change_result result = { 0 };
	struct error e = { 0 };
	enum err kind;

	contract_use_own_server(s);
	outside_write_text(s, "file", "before");
	contract_fault(CARRIES, "{\"type\":\"shorten_request\"}", 1);
	kind = write_pattern(s, NULL, &result, &e);
	cr_expect(eq(int, contract_mend(), 1), "nothing arrived short");
	if (!kind)
		kind = result.err;
	cr_expect(kind == ERR_OK ? has_pattern(s, "file") : outside_holds(s, "file", "before"),
		"%s%s", e.text, result.why);
}

/* ---- Secrets ---- */

static void expect_no_secret(const char *text, const char *during)
{
	const char *secret;

	for (size_t i = 0; (secret = contract_secret(i)); i++)
		cr_expect(eq(ptr, strstr(text, secret), NULL), "%s: %s", during, text);
}

/* A request without an answer is repeated for so long. */
static const struct call brief = { .progress_ms = 1000 };

static void run_with_input(struct subject *s)
{
	AUTO_FREE char *input = calloc(1, LARGE);
	struct execute_request request = { .command = "cat", .input = input, .input_len = LARGE };
	AUTO_RAN struct ran r = run_request(s, &brief, &request);

	expect_no_secret(r.why.text, "execute");
}

static void write_one(struct subject *s)
{
	struct change_result result = { 0 };
	struct error e = { 0 };

	write_pattern(s, &brief, &result, &e);
	expect_no_secret(e.text, "apply");
	expect_no_secret(result.why, "apply");
}

static enum err take_nothing(void *context, const struct fetch_piece *piece, struct error *e)
{
	(void)context, (void)piece, (void)e;
	return ERR_OK;
}

static void fetch_one(struct subject *s)
{
	const struct fetch_item item = { .path = "file", .kind = FETCH_BYTES, .length = LARGE };
	struct error e = { 0 };

	provider_fetch(s->p, &brief, &item, 1, take_nothing, NULL, &e);
	expect_no_secret(e.text, "fetch");
}

static void connect_again(struct subject *s)
{
	const struct provider_config cfg = contract_config(s, s->id);
	struct provider *p = NULL;
	struct error e = { 0 };

	provider_connect(s->ops, &cfg, &brief, &p, &e);
	provider_release(p);
	expect_no_secret(e.text, "connect");
}

static enum err list_nothing(void *context, const struct list_item *item, struct error *e)
{
	(void)context, (void)item, (void)e;
	return ERR_OK;
}

static void list_all(struct subject *s)
{
	const char *start = "";
	const struct list_request request = { .starts = &start, .starts_count = 1, .depth = 1 };
	struct error e = { 0 };

	provider_list(s->p, &brief, &request, list_nothing, NULL, &e);
	expect_no_secret(e.text, "list");
}

static void let_all_go_wrong(struct subject *s, const char *action)
{
	contract_fault(".", action, 0);
	run_with_input(s);
	write_one(s);
	fetch_one(s);
	list_all(s);
	connect_again(s);
	cr_expect(lt(int, 0, contract_mend()), "%s", action);
}

/* A refusal in the words of gRPC, in a header. */
static void refuse_in_a_header(struct subject *s)
{
	AUTO_BUF struct buf action = BUF_INIT(4096);

	buf_add_string(&action, "{\"type\":\"grpc_status\",\"status\":16,\"message\":\"wrong:");
	for (size_t i = 0; contract_secret(i); i++)
		buf_printf(&action, " %s", contract_secret(i));
	buf_add_string(&action, "\"}");
	cr_assert(not(action.failed));
	let_all_go_wrong(s, buf_text(&action));
}

BEHAVIOUR_OF_VENDORS(faults, no_error_has_a_secret_that_a_refusal_repeats)
{
	static const int statuses[] = { 400, 401, 404, 500 };

	contract_use_own_server(s);
	outside_write_text(s, "file", "contents");
	cr_assert(contract_secret(0) != NULL);
	for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
		char action[64];

		snprintf(action, sizeof action, "{\"type\":\"say_back\",\"status\":%d}",
			statuses[i]);
		let_all_go_wrong(s, action);
	}
	if (!strcmp(s->name, "modal"))
		refuse_in_a_header(s);
}
