/* What must hold on every vendor while its server, or a gateway before the server, is in trouble. */
#include "providers/base/cleanup.h"
#include "tests/providers/contract.h"

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

/* The requests that carry contents. */
#define CARRIES "POST .*(files|upload|write)|PUT|[Ee]xec(ute)?$|Input$|StdinWrite$"
#define LARGE   ((size_t)2 * 1024 * 1024)

static enum err read_pattern(void *context, uint64_t offset, void *dst, size_t len, struct error *e)
{
	unsigned char *bytes = dst;

	(void)context, (void)e;
	for (size_t i = 0; i < len; i++)
		bytes[i] = (unsigned char)((offset + i) * 2654435761U >> 13);
	return ERR_OK;
}

static bool has_pattern(const struct subject *s, const char *path)
{
	AUTO_FREE unsigned char *want = malloc(LARGE);
	size_t len;
	AUTO_FREE char *there = outside_read(s, path, &len);

	read_pattern(NULL, 0, want, LARGE, NULL);
	return len == LARGE && !memcmp(there, want, len);
}

BEHAVIOUR_OF_VENDORS(faults, a_store_that_arrives_one_byte_short_is_not_put_in_place)
{
	const struct store_item item = {
		.path = "file", .mode = 0644, .size = LARGE, .read = read_pattern
	};
	struct store_result result = { 0 };
	struct error e = { 0 };
	enum err kind;

	contract_use_own_server(s);
	outside_write_text(s, "file", "before");
	contract_fault(CARRIES, "{\"type\":\"shorten_request\"}", 1);
	kind = provider_store(s->p, NULL, &item, 1, &result, &e);
	cr_expect(eq(int, contract_mend(), 1), "nothing arrived short");
	if (!kind)
		kind = result.err;
	cr_expect(kind == ERR_OK ? has_pattern(s, "file") : outside_holds(s, "file", "before"),
		"%s%s", e.text, result.why);
}
