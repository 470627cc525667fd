#include "providers/langsmith/langsmith.h"

#include "providers/base/cleanup.h"

#include <string.h>

/*
 * A request is text within a command, a third longer than its bytes, and stays below 96 KiB. The
 * command is one argument, of which Linux takes 131071 bytes.
 */
#define ARGUMENT_MAX 65536
#define INLINE_MAX   ((size_t)60 * 1024)
/* Whether the service cuts large outputs is unknown, and an output as text is a third longer. */
#define DOWNLOAD_MIN ((size_t)256 * 1024)

const struct remote_ops langsmith_remote = {
	.run = langsmith_run,
	.upload = langsmith_upload,
	.download = langsmith_download,
	.download_min = DOWNLOAD_MIN,
	.argument_max = ARGUMENT_MAX,
	.inline_max = INLINE_MAX,
	.is_text = true,
};

void langsmith_release(struct provider *p)
{
	struct langsmith *l = langsmith_of(p);

	attachment_detach(&l->at);
	rest_release(&l->data);
	rest_account_close(&l->account);
	attachment_free(&l->at);
}

enum err langsmith_new(struct langsmith **out, const struct provider_config *cfg, struct error *e)
{
	const char *id = cfg->id ? cfg->id : "";
	AUTO_ATTACHMENT struct langsmith *l =
		attachment_new(sizeof *l, &langsmith_provider, cfg, e);
	enum err kind = l ? box_check_id(id, e) : ERR_NO_MEMORY;

	if (!kind)
		kind = langsmith_account_open(&l->account, cfg, e);
	if (kind)
		return kind;
	l->at.ops = &langsmith_attachment;
	l->at.base.foreign = http_foreign(l->account.http);
	strcpy(l->at.id, id);
	*out = take(l);
	return ERR_OK;
}
