#include "providers/langsmith/account.h"

#include "providers/langsmith/verdict.h"

enum err langsmith_account_open(
	struct rest_account *out, const struct provider_config *cfg, struct error *e)
{
	static const struct rest_account_facts facts = {
		.vendor = "langsmith",
		.header = "X-Api-Key",
		.scheme = "",
		.below = "/v2/sandboxes",
		.judge = langsmith_judge,
		.frame = &langsmith_frame,
	};

	return rest_account_open(out, &facts, cfg, e);
}
