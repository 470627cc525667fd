#include "tools/workdir.h"

#include "providers/shell_quote.h"

#include <string.h>

#define TEXT_MAX ((size_t)16 * 1024)

static enum err keep(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	(void)stream, (void)e;
	buf_add(context, bytes, len);
	return ERR_OK;
}

enum err workdir_make(const struct provider_ops *ops, const struct provider_config *cfg,
	const struct call *call, const char *dir, struct error *e)
{
	AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX), said = BUF_INIT(TEXT_MAX);
	struct provider_config parent = *cfg;
	struct execute_request request = { 0 };
	struct execute_result result = { 0 };
	struct provider *p = NULL;
	enum err kind;

	/* A vendor's working directory may be missing, too. The embedded sandbox has no other. */
	parent.path = *dir == '/' && !(ops->caps & PROVIDER_EMBEDDED) ? "/" : NULL;
	parent.opening = NULL;
	buf_add_string(&text, "mkdir -p --");
	shell_argument(&text, dir);
	request.command = buf_text(&text);
	kind = buf_check(&text, "the working directory", e);
	if (!kind)
		kind = provider_connect(ops, &parent, call, &p, e);
	if (!kind)
		kind = provider_execute(p, call, &request, keep, &said, &result, e);
	provider_release(p);
	if (kind || (result.has_exit_code && !result.exit_code))
		return kind;
	return error_set(e, ERR_IO, "working directory %s: %.*s", dir,
		(int)strcspn(buf_text(&said), "\n"), buf_text(&said));
}
