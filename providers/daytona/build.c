/* A sandbox of an image: the vendor builds the image first, and reports the progress on request. */
#include "providers/base/cleanup.h"
#include "providers/daytona/daytona.h"
#include "providers/rest/image.h"

#include <string.h>

/* The most of a log that is kept, from its beginning. */
#define LOG_MAX ((size_t)256 * 1024)

struct building {
	struct daytona *d;
	const struct provider_config *cfg;
};

/* A log longer than LOG_MAX is cut. */
static enum err keep(void *context, const void *bytes, size_t len, struct error *e)
{
	(void)e;
	buf_add(context, bytes, len);
	return ERR_OK;
}

/* A log that cannot be read is no failure of its own. */
static void tell_log(const struct building *b, const struct call *call)
{
	const struct rest_ask ask = { .method = HTTP_GET, .path = "", .what = "reading a log" };
	AUTO_BUF struct buf text = BUF_INIT(LOG_MAX);
	char url[DAYTONA_TEXT_MAX];
	struct rest server = { 0 };

	if (!b->cfg->build_log ||
		daytona_build_log_url(&b->d->account.rest, call, b->d->at.id, url, NULL) ||
		rest_account_reach(&b->d->account, url, toolbox_verdict, NULL, &server, NULL))
		return;
	rest_stream(&server, call, &ask, keep, &text, NULL);
	rest_release(&server);
	build_log_tell(b->cfg->build_log, buf_text(&text));
}

static bool is_building(const char *state)
{
	return !strcmp(state, "pending_build") || !strcmp(state, "building_snapshot") ||
		!strcmp(state, "pulling_snapshot");
}

static enum err poll_state(void *context, const struct call *call, bool *is_done, struct error *e)
{
	const struct building *b = context;
	struct daytona_sandbox sandbox;
	enum err kind = daytona_see(b->d, call, &sandbox, e);

	if (kind)
		return kind;
	build_log_tell(b->cfg->build_log, sandbox.state);
	*is_done = !is_building(sandbox.state);
	if (sandbox.life != DAYTONA_FAILED)
		return ERR_OK;
	tell_log(b, call);
	return image_failed("daytona", b->cfg->image, sandbox.why, e);
}

enum err daytona_wait_for_build(struct daytona *d, const struct provider_config *cfg,
	const struct call *call, struct error *e)
{
	struct building b = { d, cfg };

	return image_wait(&d->account.rest, call, cfg->image, poll_state, &b, e);
}
