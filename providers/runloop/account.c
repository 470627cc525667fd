#include "providers/runloop/devbox_api.h"

enum err devbox_api_open(
	struct rest_account *out, const struct provider_config *cfg, struct error *e)
{
	const struct rest_account_facts facts = { .vendor = "runloop",
		.header = "Authorization",
		.scheme = "Bearer ",
		.headers_variable = "RUNLOOP_CUSTOM_HEADERS",
		.verdict = devbox_verdict,
		.frame = &devbox_frame };

	return rest_account_open(out, &facts, cfg, e);
}
