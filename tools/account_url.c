#include "tools/account_url.h"

#include "providers/base/cleanup.h"
#include "providers/variables.h"

#include <string.h>

/* The most that a server takes of all headers together. */
#define HEADERS_MAX 16384

static bool is_url(const char *text)
{
	static const char *const schemes[] = { "https://", "http://" };

	for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
		size_t len = strlen(schemes[i]);

		if (!strncmp(text, schemes[i], len))
			return text[len] && !text[strcspn(text, " \t\r\n?#")];
	}
	return false;
}

enum err account_url_use(
	const struct provider_ops *ops, const char *id, const char *url, struct error *e)
{
	const struct variable *v = variable_of(ops->name, VARIABLE_URL, 0);
	const struct variable *port = variable_of(ops->name, VARIABLE_PORT, 0);

	if (!url)
		return ERR_OK;
	if (!v)
		return error_set(
			e, ERR_INVALID, "%s: there is no URL to choose; leave it out", ops->name);
	if (!is_url(url))
		return error_set(e, ERR_INVALID,
			"%s: '%.150s' is no base URL, as in https://HOST/PATH", ops->name, url);
	if (id && ops->caps & PROVIDER_SINGLE)
		return error_set(e, ERR_INVALID,
			"option 'url': %s:%.120s is an address already; leave one of the two out",
			ops->name, id);
	/* A port of the environment does not belong to this URL. */
	return variable_choose(v, url) && (!port || variable_choose(port, ""))
		? ERR_OK
		: error_set(e, ERR_NO_MEMORY, "%s", v->name);
}

enum err account_insecure_use(bool is_insecure, struct error *e)
{
	return !is_insecure || variable_choose_named("SANDBOXFS_INSECURE_HTTP", "1")
		? ERR_OK
		: error_set(e, ERR_NO_MEMORY, "insecure_http");
}

enum err account_headers_use(
	const struct provider_ops *ops, const char *const *headers, struct error *e)
{
	AUTO_BUF struct buf lines = BUF_INIT(HEADERS_MAX);

	if (!headers)
		return ERR_OK;
	if (!(ops->caps & PROVIDER_TAKES_HEADERS))
		return error_set(e, ERR_INVALID,
			"%s: its requests have no headers of one's own; leave header= out",
			ops->name);
	for (; *headers; headers++)
		buf_printf(&lines, "%s\n", *headers);
	if (buf_check(&lines, "headers", e))
		return e->kind;
	return variable_choose_named("SANDBOXFS_HEADERS", buf_text(&lines))
		? ERR_OK
		: error_set(e, ERR_NO_MEMORY, "headers");
}
