#include "providers/langsmith/account.h"

#include "providers/langsmith/verdict.h"

#include <string.h>

/* An endpoint may end with the older API's prefix, which is removed. */
static char *root_of(const char *endpoint)
{
	static const char *const prefixes[] = { "/api/v1", "/api" };
	char *root = rest_without_slashes(endpoint);
	size_t len = root ? strlen(root) : 0;

	for (size_t i = 0; root && i < sizeof prefixes / sizeof *prefixes; i++) {
		size_t end = strlen(prefixes[i]);

		if (len > end && !strcmp(root + len - end, prefixes[i])) {
			root[len - end] = 0;
			break;
		}
	}
	return root;
}

/* The SDK's two clients read one of these names each. */
static const char *workspace(void)
{
	const char *tenant = variable("LANGSMITH_TENANT_ID");

	return tenant ? tenant : variable("LANGSMITH_WORKSPACE_ID");
}

enum err langsmith_account_open(
	struct rest_account *out, const struct provider_config *cfg, struct error *e)
{
	const struct http_header tenant = { .name = "X-Tenant-Id", .value = workspace() };
	const struct rest_account_facts facts = {
		.vendor = "langsmith",
		.root = root_of,
		.login = &langsmith_login,
		.header = "X-Api-Key",
		.scheme = "",
		.below = "/api/v2/sandboxes",
		.more = &tenant,
		.more_count = tenant.value ? 1 : 0,
		.verdict = langsmith_verdict,
		.frame = &langsmith_frame,
	};

	return rest_account_open(out, &facts, cfg, e);
}
