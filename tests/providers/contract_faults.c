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
