#include "providers/runloop/runloop.h"

#include "providers/base/cleanup.h"

#include <stdio.h>
#include <string.h>

void runloop_release(struct provider *p)
{
	struct runloop *b = runloop_of(p);

	evictions_free(b->evictions);
	attachment_detach(&b->at);
	rest_account_close(&b->api);
	attachment_free(&b->at);
}

static enum err name(struct runloop *b, const char *id, struct error *e)
{
	if (strlen(id) >= sizeof b->at.id)
		return error_set(e, ERR_INVALID,
			"runloop: '%.100s...' is too long for a devbox's ID or name", id);
	strcpy(b->at.id, id);
	return ERR_OK;
}

enum err runloop_new(struct runloop **out, const struct provider_config *cfg, struct error *e)
{
	AUTO_ATTACHMENT struct runloop *b = attachment_new(sizeof *b, &runloop_provider, cfg, e);
	enum err kind = b ? devbox_api_open(&b->api, cfg, e) : ERR_NO_MEMORY;

	if (!kind)
		kind = name(b, cfg->id ? cfg->id : "", e);
	if (kind)
		return kind;
	b->at.ops = &runloop_attachment;
	b->at.base.foreign = http_foreign(b->api.http);
	*out = take(b);
	return ERR_OK;
}
