#include "providers/e2b/e2b.h"

static enum err upload_step(
	struct envd *d, const struct call *call, void *context, bool *is_done, struct error *e)
{
	*is_done = false;
	return envd_store(d, call, context, e);
}

enum err e2b_upload(
	struct e2b *b, const struct call *call, const struct envd_upload *upload, struct error *e)
{
	return e2b_reach(b, call, upload_step, (void *)upload, e);
}
