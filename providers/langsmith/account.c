#include "providers/langsmith/account.h"

#include "providers/base/cleanup.h"
#include "providers/key.h"
#include "providers/langsmith/verdict.h"

#include <stdio.h>
#include <string.h>

#define BELOW "/v2/sandboxes"

static int length_without_slashes(const char *url)
{
	size_t len = strlen(url);

	while (len && url[len - 1] == '/')
		len--;
	return (int)len;
}

enum err langsmith_account_reach(
	const struct langsmith_account *a, const char *url, struct rest *out, struct error *e)
{
	const struct http_header header = {
		.name = "X-Api-Key", .value = a->key, .is_secret = true
	};

	return rest_init(out, a->http, "langsmith", url, &header, 1, langsmith_judge, e);
}

static enum err open_control(struct langsmith_account *a, struct error *e)
{
	const char *base = variable_first("langsmith", VARIABLE_URL);
	AUTO_FREE char *url = NULL;

	if (asprintf(&url, "%.*s" BELOW, length_without_slashes(base), base) < 0) {
		url = NULL;
		return error_set(e, ERR_NO_MEMORY, "langsmith");
	}
	return langsmith_account_reach(a, url, &a->control, e);
}

enum err langsmith_account_open(
	struct langsmith_account *out, const struct provider_config *cfg, struct error *e)
{
	struct langsmith_account a = { 0 };
	enum err kind = key_read(&a.key, cfg->key_file, "langsmith", VARIABLE_KEY, e);

	if (kind)
		return kind;
	kind = http_new(&a.http, "sandboxfs/" SANDBOXFS_VERSION, e);
	if (!kind)
		kind = open_control(&a, e);
	if (kind)
		langsmith_account_close(&a);
	else
		*out = a;
	return kind;
}

void langsmith_account_close(struct langsmith_account *a)
{
	rest_release(&a->control);
	if (a->http)
		http_free(a->http);
	key_free(a->key);
	*a = (struct langsmith_account){ 0 };
}
